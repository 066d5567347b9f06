package prove

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"hapax/internal/audit"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store"
	"hapax/internal/store/memory"
)

// TestGuardedBodies: what was signed once and is sent again under other unsigned keys is told, or rejected; and proved, in one pass and in many.
func TestGuardedBodies(t *testing.T) {
	for _, guard := range []gateway.Guard{gateway.GuardOff, gateway.GuardFlag, gateway.GuardReject} {
		d := &direct{Books: memory.New()}
		settings := gateway.Settings{Scope: settle.ScopeWire, LRUCapacity: 2, Open: true, Parts: 1, Guard: guard, GuardS: 3600}
		if guard == gateway.GuardOff {
			settings.GuardS = 0
		}
		d.enter(t, &gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 100, LRUMinHits: 2}}, &gateway.SetSource{Tenant: "a", Source: "s", Settings: settings})
		body := []byte(`{"pull_request": 7}`)
		twins, accepted := 0, 0
		for i := range 200 {
			e := event(i)
			e.Key, e.Body.Bytes = fmt.Sprint("delivery-", i), body
			if i%4 == 0 {
				e.Body.Bytes = fmt.Append(nil, i)
			}
			e.Digest = sha256.Sum256(e.Body.Bytes)
			o := d.enter(t, e)[0]
			if o.TwinNumber > 0 {
				twins++
			}
			if o.Decision == gateway.Accept {
				accepted++
			}
		}
		if want := map[gateway.Guard][2]int{gateway.GuardOff: {0, 200}, gateway.GuardFlag: {149, 200}, gateway.GuardReject: {149, 51}}[guard]; want != [2]int{twins, accepted} {
			t.Errorf("%v: %d told, %d accepted, want %v", guard, twins, accepted, want)
		}
		for _, keys := range []int{0, 20} {
			if err := d.ViewBooks(t.Context(), func(v store.BooksView) error {
				proof, err := audit.ProveLog(t.Context(), Stated(v), audit.ProofOptions{Keys: keys, Whole: true})
				if err == nil && (!proof.OK() || proof.Passes > 1 != (keys > 0)) {
					t.Errorf("%v, %d keys at a time: %+v", guard, keys, proof)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
