package serve

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
	"hapax/internal/store/memory"
)

// setClock is a wall clock that can be set; the other one only goes on.
type setClock struct {
	began time.Time
	ahead atomic.Int64 // ms
}

func (c *setClock) Now() (int64, time.Duration) {
	return time.Now().UnixMilli() + c.ahead.Load(), time.Since(c.began)
}

// TestErasingWaitsForTheHourOfTrust: a start with the clock years ahead, and a clock that is set while the server runs, erase nothing until the clock
// has agreed with itself for an hour.
func TestErasingWaitsForTheHourOfTrust(t *testing.T) {
	const keep, year = time.Hour, 365 * 24 * time.Hour
	for _, c := range []struct {
		name      string
		start     time.Duration // how far the clock is ahead at the start
		setAfter  time.Duration // when it is set; 0: never
		set       time.Duration // to how far ahead
		kept      time.Duration // after the start the body is still there
		gone      time.Duration // and here no more
		delivered time.Duration // how long before the start the event came
	}{
		{name: "a body that is due, and a clock that is right", delivered: 2 * keep, kept: time.Hour - time.Second, gone: time.Hour + time.Second},
		{name: "a start with the clock years ahead", start: 14 * year, kept: time.Hour - time.Second, gone: time.Hour + time.Second},
		{name: "set ahead within the first hour", setAfter: 30 * time.Minute, set: 14 * year, kept: 2*time.Hour - time.Second, gone: 2*time.Hour + time.Second},
		{name: "set back to what is right within the hour", start: 14 * year, setAfter: 59 * time.Minute, kept: 2*time.Hour - time.Second, gone: 3*time.Hour + time.Second},
		{name: "set ahead while it is trusted", setAfter: 90 * time.Minute, set: 14 * year, delivered: -time.Hour, kept: 3*time.Hour - time.Second, gone: 3*time.Hour + time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := &setClock{began: time.Now()}
				clock.ahead.Store(c.start.Milliseconds())
				books := memory.New()
				deliverAt(t, books, clock.began.Add(-c.delivered).UnixMilli())
				in, err := intake.New(books, intake.DefaultOptions())
				if err != nil {
					t.Fatal(err)
				}
				g := &gatewayHouse{intake: in, clocks: clock, log: slog.New(slog.DiscardHandler), forwarding: newParts()}
				g.standing.Store(&plan{retentions: []retention{{"a", "s", keep}}})
				g.forwarding.group.Go(func() { g.eraseBodies(g.forwarding.ctx) })
				defer func() {
					if err := g.forwarding.end(t.Context(), "erasing"); err != nil {
						t.Error(err)
					}
					if err := in.Close(t.Context()); err != nil {
						t.Error(err)
					}
				}()
				if c.setAfter > 0 {
					time.Sleep(c.setAfter)
					clock.ahead.Store(c.set.Milliseconds())
				}
				time.Sleep(c.kept - c.setAfter)
				synctest.Wait()
				if !hasBody(t, books) {
					t.Fatalf("erased within %v", c.kept)
				}
				time.Sleep(c.gone - c.kept)
				synctest.Wait()
				if hasBody(t, books) {
					t.Errorf("kept for %v", c.gone)
				}
			})
		})
	}
}

// theEvent is the number of the event that deliverAt enters: its policy, source and key come before it.
const theEvent = 4

func deliverAt(t *testing.T, books store.Books, at int64) {
	t.Helper()
	outcomes, err := books.Enter(t.Context(), at, []gateway.Command{
		&gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 100, LRUMinHits: 2}},
		&gateway.SetSource{Tenant: "a", Source: "s", Settings: gateway.Settings{Scope: settle.ScopeWire, LRUCapacity: 2, Open: true, Parts: 1}},
		&gateway.Event{
			Name: gateway.Name{Tenant: "a", Source: "s", Key: "k"}, ID: "ev_1", Amount: "1.50", AmountOK: true,
			Value: settle.Amount{Whole: 1, Fraction: 50_000_000}, Currency: "USD", Body: &gateway.Body{Bytes: []byte("{}")},
		},
	})
	if err != nil || outcomes[2].Number != theEvent {
		t.Fatalf("%+v, %v", outcomes, err)
	}
}

func hasBody(t *testing.T, books store.Books) (has bool) {
	t.Helper()
	err := books.ViewBooks(t.Context(), func(v store.BooksView) error {
		body, err := v.Body(theEvent)
		has = body != nil
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return has
}
