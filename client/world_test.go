package client_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hapax/client"
	"hapax/client/ids"
	"hapax/client/session"
	"hapax/client/store/memory"
)

// On wasm the runtime itself keeps a goroutine for the host's events.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("runtime.handleEvent"))
}

func token(context.Context) (string, error) { return "tok", nil }

// world is a server and a store's medium, in a bubble with a clock of its own.
type world struct {
	t *testing.T
	*server
	medium *memory.Medium
}

// inWorld runs f in a bubble; what it opens by open must be closed when it returns, or is closed for it.
func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, server: newServer(), medium: memory.NewMediumOf(ids.Device{7})}
		defer w.close()
		f(t, w)
	})
}

func (w *world) options() client.Options {
	return client.Options{
		URL: "ws://test", Token: token, Store: memory.Open(w.medium, memory.Options{}), Transport: w.net,
		Session: session.Config{Rand: func() float64 { return 1 }},
	}
}

func (w *world) open(change ...func(*client.Options)) *client.Client {
	w.t.Helper()
	o := w.options()
	for _, f := range change {
		f(&o)
	}
	c, err := client.Open(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

// end closes a client and checks that it took no longer than a second.
func (w *world) end(c *client.Client) {
	w.t.Helper()
	start := time.Now()
	if err := c.Close(); err != nil {
		w.t.Fatal(err)
	}
	if d := time.Since(start); d > time.Second {
		w.t.Fatalf("Close took %v", d)
	}
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) is(err, want error) {
	w.t.Helper()
	if !errors.Is(err, want) {
		w.t.Fatalf("error %v, want %v", err, want)
	}
}

// say sends texts in their order and returns the ids.
func (w *world) sayAs(c *client.Client, room string, texts ...string) (out []string) {
	w.t.Helper()
	for _, text := range texts {
		id := c.NextMessageID()
		w.ok(c.Send(w.t.Context(), room, id, client.Body{Text: text}))
		out = append(out, id.String())
	}
	return out
}

func (w *world) wantTexts(room string, want ...string) {
	w.t.Helper()
	if got := w.texts(room); !slices.Equal(got, want) {
		w.t.Fatalf("room %s holds %q, want %q", room, got, want)
	}
}

// pass lets time pass on the bubble's clock.
func pass(d time.Duration) { <-time.After(d) }

func outbox(t *testing.T, c *client.Client) (rows []client.Row) {
	t.Helper()
	for r, err := range c.Outbox(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}
