package online

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
)

// script is a gateway's store driven by hand.
type script struct {
	t   *testing.T
	st  Store
	now int64 // Unix seconds
	ids int
}

var caseKey = gateway.Name{Tenant: "acme", Source: "pay", Key: "k"}

func newScript(t *testing.T, policy settle.Policy, settings gateway.Settings) *script {
	t.Helper()
	st, err := NewOnPebble().Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	s := &script{t: t, st: st, now: 1_700_000_000}
	settings.Parts = 1
	s.do(&gateway.SetPolicy{Policy: policy}, &gateway.SetSource{Tenant: "acme", Source: "pay", Settings: settings})
	return s
}

func (s *script) do(commands ...gateway.Command) []gateway.Outcome {
	s.t.Helper()
	outcomes, err := s.st.Enter(s.t.Context(), s.now*1000, commands)
	if err != nil {
		s.t.Fatal(err)
	}
	return outcomes
}

// event enters an event of the key and wants a decision, or "refused".
func (s *script) event(want string, change func(*gateway.Event)) gateway.Outcome {
	s.t.Helper()
	s.ids++
	e := &gateway.Event{
		Name: caseKey, ID: fmt.Sprintf("ev_%032d", s.ids), Amount: "1.00", AmountOK: true, Currency: "USD", Body: &gateway.Body{}, Digest: sha256.Sum256(nil),
	}
	if change != nil {
		change(e)
	}
	e.Value, _ = settle.ParseAmount([]byte(e.Amount))
	o := s.do(e)[0]
	got := "refused"
	if o.Kind == gateway.Done {
		got = o.Decision.String()
	}
	if got != want {
		s.t.Errorf("event %d: %s, want %s", s.ids, got, want)
	}
	return o
}

// equal exports, settles three ways, proves, and wants books of these currencies.
func (s *script) equal(currencies ...string) {
	s.t.Helper()
	err := s.st.ViewBooks(s.t.Context(), func(v store.BooksView) error {
		folders, err := Export(v, filepath.Join(s.t.TempDir(), "out"))
		if err != nil {
			return err
		}
		var names []string
		for i := range folders {
			names = append(names, filepath.Base(folders[i].Dir))
			if err := folders[i].Settle(); err != nil {
				return err
			}
		}
		if !slices.Equal(names, currencies) {
			s.t.Errorf("folders %v, want %v", names, currencies)
		}
		byProbe(s.t, folders)
		return Prove(v, nil)
	})
	if err != nil {
		s.t.Error(err)
	}
}

func TestG27RegisteredAfterARejectedEventAndChangedMidway(t *testing.T) {
	s := newScript(t, settle.Policy{BlockWindowS: 60}, gateway.Settings{Scope: settle.ScopeWire})
	s.event("unknown_key", nil)
	s.do(&gateway.Register{Name: caseKey, Scope: settle.ScopeWire, WindowS: 10, LRUCapacity: 1, By: "ops"})
	s.event("accept", nil)
	s.now += 11
	s.event("accept", nil)
	s.do(&gateway.Register{Name: caseKey, Scope: settle.ScopeSchema, LRUCapacity: 1, By: "ops"}) // inherits now
	s.now += 60
	s.event("duplicate_done", nil)
	s.do(&gateway.SetSource{Tenant: "acme", Source: "pay", Settings: gateway.Settings{Scope: settle.ScopeWire, WindowS: 5, Parts: 1}})
	s.now += 6
	s.event("accept", nil)
	s.equal("USD")
}

func TestG28DeliveredBetweenTwoRepeats(t *testing.T) {
	s := newScript(t, settle.Policy{BlockWindowS: 60}, gateway.Settings{Scope: settle.ScopeWire, Open: true, Forward: true})
	a := s.event("accept", nil)
	s.now++
	s.event("duplicate_pending", nil)
	s.do(&gateway.Attempt{Number: a.Number, IntervalMs: 1000}, &gateway.Settled{Number: a.Number, OK: true})
	s.now++
	s.event("duplicate_done", nil)
	s.equal("USD")
}

func TestG29TwoCurrenciesAreTwoBooks(t *testing.T) {
	s := newScript(t, settle.Policy{BlockWindowS: 60}, gateway.Settings{Scope: settle.ScopeWire, Open: true})
	s.event("accept", nil)
	yen := func(e *gateway.Event) { e.Currency, e.Amount = "JPY", "500" }
	s.now += 60
	s.event("mismatch", yen)
	s.now++ // beyond the window of the accepted one: a mismatch is no predecessor
	s.event("accept", yen)
	s.event("mismatch", nil)
	s.equal("JPY", "USD")
}

func TestG22LateAndEarlyTimes(t *testing.T) {
	s := newScript(t, settle.Policy{BlockWindowS: 60}, gateway.Settings{Scope: settle.ScopeWire, Open: true})
	at := func(seconds int64) func(*gateway.Event) {
		return func(e *gateway.Event) { e.Named, e.SeenAt = true, s.now+seconds }
	}
	s.event("accept", at(-1000))
	if o := s.event("duplicate_done", at(-2000)); !o.Raised || o.SeenAt != s.now-1000 {
		t.Errorf("a time before the predecessor's: %+v", o)
	}
	s.event("accept", at(300))
	s.event("refused", at(301))
	s.event("refused", at(32_503_680_000-s.now)) // the year 3000
	s.now -= 3600                                // the clock goes back
	if o := s.event("duplicate_done", nil); !o.Raised || o.SeenAt != s.now+3600+300 {
		t.Errorf("after the clock went back: %+v", o)
	}
	s.equal("USD")
}
