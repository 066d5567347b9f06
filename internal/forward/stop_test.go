package forward

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// At the end requests under way may finish; one that takes longer than the grace is cut off, and its try stands.
func TestStopping(t *testing.T) {
	for _, takes := range []time.Duration{3 * time.Second, 8 * time.Second} {
		bubble(t, func(t *testing.T, r *rig) {
			r.source("acme", "shop", nil)
			r.answers(func(_ sent, ctx context.Context) (*http.Response, error) {
				select {
				case <-time.After(takes):
					return status(200), nil
				case <-ctx.Done():
					return nil, fmt.Errorf("cut: %w", ctx.Err())
				}
			})
			r.start()
			o := r.event("a")
			synctest.Wait()
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			r.stop = nil
			d := r.row(o.Number)
			switch {
			case takes < DefaultGrace && d != nil:
				t.Errorf("not delivered: %+v", d)
			case takes > DefaultGrace && (d == nil || d.State != gateway.Waiting || d.Attempts != 1 || d.Reason != shutdown):
				t.Errorf("cut off: %+v", d)
			}
		})
	}
}

// A try that was entered while the forwarder was told to stop never leaves, and isn't counted.
func TestStoppedWhileEntering(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		entering, goOn := make(chan struct{}), make(chan struct{})
		r.books.refuse = func(commands []gateway.Command) error {
			if _, is := commands[0].(*gateway.Attempt); is {
				close(entering)
				<-goOn
			}
			return nil
		}
		r.start()
		o := r.event("a")
		<-entering
		ended := make(chan error)
		go func() { ended <- r.stop() }()
		synctest.Wait()
		close(goOn)
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if d := r.row(o.Number); len(r.sends()) != 0 || d.Attempts != 0 || d.Sends != 0 || d.LastMs != 0 {
			t.Errorf("%d sends, %+v", len(r.sends()), d)
		}
		r.books.refuse = nil
		r.start()
		synctest.Wait()
		if all := r.sends(); len(all) != 1 || all[0].attempt != "1" {
			t.Errorf("%+v", all)
		}
	})
}

// No request leaves before its try is stored, and an outcome that can't be stored is stored later, without another request.
func TestAStoreThatFailsForAWhile(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		failing := ""
		r.books.refuse = func(commands []gateway.Command) error {
			switch commands[0].(type) {
			case *gateway.Attempt:
				if failing == "attempts" {
					return intake.ErrBusy
				}
			case *gateway.Settled:
				if failing == "outcomes" {
					return intake.ErrUnavailable
				}
			}
			return nil
		}
		set := func(what string) {
			r.books.mu.Lock()
			defer r.books.mu.Unlock()
			failing = what
		}
		r.start()
		set("attempts")
		r.event("a")
		pass(time.Minute)
		if n := len(r.sends()); n != 0 {
			t.Fatalf("%d requests left without a stored try", n)
		}
		set("outcomes")
		pass(10 * time.Minute)
		if n := len(r.sends()); n != 1 {
			t.Fatalf("%d requests", n)
		}
		set("")
		pass(10 * time.Second)
		if waiting, _ := r.outbox(); waiting != 0 || len(r.sends()) != 1 {
			t.Errorf("%d waiting, %d requests", waiting, len(r.sends()))
		}
	})
}

func TestAStoreThatCantGoOn(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		r.start()
		close(r.books.failed)
		synctest.Wait()
		if err := r.stop(); !errors.Is(err, intake.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		r.stop = nil
	})
}

// What waits for a source without a destination is held, says so, and goes on when it has one again.
func TestADestinationGoneFromTheConfiguration(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		d := r.dests
		r.dests = nil
		r.start()
		r.event("a")
		pass(2 * time.Second)
		if stuck := r.service.Stuck(); len(r.sends()) != 0 || len(stuck) != 1 || !stuck[0].Held {
			t.Fatalf("%d sends, %+v", len(r.sends()), stuck)
		}
		if err := r.service.Set(append(d, d...)); err == nil || !strings.Contains(err.Error(), "two destinations") {
			t.Fatal(err)
		}
		if err := r.service.Set(d); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		if stuck := r.service.Stuck(); len(r.sends()) != 1 || len(stuck) != 0 {
			t.Fatalf("%d sends, %+v", len(r.sends()), stuck)
		}
		// Gone while a request is under way: it ends as it began.
		goOn := make(chan struct{})
		r.answers(func(sent, context.Context) (*http.Response, error) {
			<-goOn
			return status(200), nil
		})
		r.event("b")
		synctest.Wait()
		if err := r.service.Set(nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		close(goOn)
		synctest.Wait()
		if waiting, dead := r.outbox(); waiting+dead != 0 {
			t.Errorf("%d waiting, %d dead", waiting, dead)
		}
	})
}

// bodiless is a store that lost its bodies.
type bodiless struct{ *plainBooks }

func (b bodiless) View(ctx context.Context, f func(intake.View) error) error {
	return b.plainBooks.View(ctx, func(v intake.View) error { return f(bodilessView{v}) })
}

type bodilessView struct{ intake.View }

func (bodilessView) Body(int64) (*gateway.Body, error) { return nil, nil }

func TestAnErasedBody(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", nil)
		s := New(bodiless{r.books}, r.options)
		if err := s.Set(r.dests); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		o := r.event("a")
		synctest.Wait()
		if d := r.row(o.Number); d == nil || d.State != gateway.Dead || d.Reason != "body erased" {
			t.Errorf("%+v", d)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// changedView shows bodies other than those that were accepted, as a store does that was written to from outside.
type changedView struct {
	intake.View
	change func(b *gateway.Body) error
}

func (c changedView) Body(number int64) (*gateway.Body, error) {
	b, err := c.View.Body(number)
	if b != nil {
		b = &gateway.Body{ContentType: b.ContentType, Headers: b.Headers, Bytes: bytes.Clone(b.Bytes)}
		if err := c.change(b); err != nil {
			return nil, err
		}
	}
	return b, err
}

type changed struct {
	*plainBooks
	change func(b *gateway.Body) error
}

func (c changed) View(ctx context.Context, f func(intake.View) error) error {
	return c.plainBooks.View(ctx, func(v intake.View) error { return f(changedView{v, c.change}) })
}

// B4: a body that isn't the one that was recorded never leaves, neither at first nor by a replay; the events behind it go on.
func TestAChangedBodyIsNeverForwarded(t *testing.T) {
	for name, change := range map[string]func(b *gateway.Body){
		"one byte": func(b *gateway.Body) { b.Bytes[9] ^= 1 }, "cut": func(b *gateway.Body) { b.Bytes = b.Bytes[:3] }, "longer": func(b *gateway.Body) { b.Bytes = append(b.Bytes, ' ') },
		"empty": func(b *gateway.Body) { b.Bytes = nil }, "a row that can't be read": nil,
	} {
		bubble(t, func(t *testing.T, r *rig) {
			r.source("acme", "shop", nil)
			s := New(changed{r.books, func(b *gateway.Body) error {
				switch {
				case strings.Contains(string(b.Bytes), "good"):
				case change == nil:
					return intake.ErrDamage
				default:
					change(b)
				}
				return nil
			}}, r.options)
			s.connect = r.connect
			if err := s.Set(r.dests); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error)
			go func() { done <- s.Run(ctx) }()
			o := r.event("a")
			r.event("good")
			pass(time.Minute)
			if all, d := r.sends(), r.row(o.Number); len(all) != 1 || all[0].body != `{"key":"good"}` || d == nil || d.State != gateway.Dead || d.Reason != "body" {
				t.Errorf("%s: %v, %+v", name, all, d)
			}
			r.enter(&gateway.Replay{Tenant: "acme", ID: o.ID, Key: 1})
			pass(time.Minute)
			if d := r.row(o.Number); len(r.sends()) != 1 || d == nil || d.State != gateway.Dead || d.Reason != "body" {
				t.Errorf("%s, replayed: %v, %+v", name, r.sends(), d)
			}
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
