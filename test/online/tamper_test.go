package online

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	lsm "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/audit"
	"hapax/internal/gateway"
	"hapax/internal/prove"
	"hapax/internal/settle"
	"hapax/internal/store"
	"hapax/internal/store/pebble"
)

// raw is a store's database, opened behind the store's back.
type raw struct {
	t  *testing.T
	db *lsm.DB
}

func openRaw(t *testing.T, fs vfs.FS, dir string) *raw {
	t.Helper()
	comparer := *lsm.DefaultComparer
	comparer.Name = "hapax.v1"
	comparer.Split = func(key []byte) int { return len(key) }
	db, err := lsm.Open(dir, &lsm.Options{FS: fs, Comparer: &comparer, FormatMajorVersion: lsm.FormatValueSeparation, Logger: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	return &raw{t, db}
}

// silent keeps what the database says of itself out of the test's output; what it can't go on from ends the test.
type silent struct{}

func (silent) Infof(string, ...any)              {}
func (silent) Errorf(string, ...any)             {}
func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func logKey(number int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{'l'}, uint64(number)^1<<63)
}

var headKey = []byte{'g'}

func (r *raw) get(key []byte) []byte {
	r.t.Helper()
	value, closer, err := r.db.Get(key)
	if err != nil {
		r.t.Fatal(err)
	}
	defer closer.Close()
	return bytes.Clone(value)
}

func (r *raw) set(key, value []byte) {
	r.t.Helper()
	if err := r.db.Set(key, value, lsm.Sync); err != nil {
		r.t.Fatal(err)
	}
}

func (r *raw) remove(key []byte) {
	r.t.Helper()
	if err := r.db.Delete(key, lsm.Sync); err != nil {
		r.t.Fatal(err)
	}
}

// forge changes a record as someone would who knows the form: all later ones and the head get the hashes that follow.
func (r *raw) forge(number, last int64, change func(gateway.Record)) {
	r.t.Helper()
	var before gateway.Hash
	for n := number; n <= last; n++ {
		old := r.get(logKey(n))
		e, err := gateway.ReadRecord(old)
		if err != nil {
			r.t.Fatal(err)
		}
		if n == number {
			change(e.Record)
			before = e.Before
		}
		forged := gateway.AppendRecord(nil, n, before, e.At, e.Record)
		r.set(logKey(n), forged)
		before = gateway.HashOf(forged)
		if n == last {
			was := gateway.HashOf(old)
			head := r.get(headKey)
			if !bytes.Contains(head, was[:]) {
				r.t.Fatal("the head doesn't hold the hash of the last record")
			}
			r.set(headKey, bytes.Replace(head, was[:], before[:], 1))
		}
	}
}

// victim is a store to be tampered with, and what its log holds.
type victim struct {
	fs     *vfs.MemFS
	last   int64
	events map[int64]*gateway.EventRecord
	kinds  map[string]int
}

// newVictim lets a world run and closes it.
func newVictim(t *testing.T) *victim {
	t.Helper()
	w, err := NewWorld(11, NewOnPebble())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(45); err != nil {
		t.Fatal(err)
	}
	v := &victim{events: map[int64]*gateway.EventRecord{}, kinds: map[string]int{}}
	err = w.view(func(view store.BooksView) error {
		for raw, err := range view.Records(0) {
			if err != nil {
				return err
			}
			v.last++
			e, err := gateway.ReadRecord(raw)
			if err != nil {
				return err
			}
			v.kinds[fmt.Sprintf("%T", e.Record)]++
			if r, ok := e.Record.(*gateway.EventRecord); ok {
				v.events[v.last] = r
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	v.fs = w.medium.(OnPebble).fs
	return v
}

// tampered proves the log of a copy that was tampered with.
func (v *victim) tampered(t *testing.T, change func(*raw)) *audit.LogProof {
	t.Helper()
	fs := v.fs.CrashClone(vfs.CrashCloneCfg{})
	r := openRaw(t, fs, dataFolder+"/db")
	change(r)
	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	var proof *audit.LogProof
	err := pebble.ReadBooks(t.Context(), dataFolder, pebble.Options{FS: fs, CacheBytes: 1 << 20}, func(view store.BooksView) (err error) {
		proof, err = audit.ProveLog(t.Context(), prove.Stated(view), audit.ProofOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return proof
}

// names tells whether a proof names a record.
func names(p *audit.LogProof, number int64) bool {
	for _, issue := range p.Issues {
		if strings.HasPrefix(issue, fmt.Sprintf("record %d: ", number)) {
			return true
		}
	}
	return false
}

// TestAnyRecordTamperedWithIsNamed changes, removes and swaps each record of a log on disk, and adds one, behind the store's back.
func TestAnyRecordTamperedWithIsNamed(t *testing.T) {
	v := newVictim(t)
	for _, kind := range []string{"PolicyRecord", "SourceRecord", "RegisterRecord", "EventRecord", "DeliveryRecord"} {
		if v.kinds["*gateway."+kind] == 0 {
			t.Fatalf("the log has no %s: %v", kind, v.kinds)
		}
	}
	if p := v.tampered(t, func(*raw) {}); !p.OK() || p.Number != v.last {
		t.Fatalf("untouched: %+v", p)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for n := int64(1); n <= v.last; n++ {
		wrong := map[string]*audit.LogProof{
			"changed": v.tampered(t, func(r *raw) {
				value := r.get(logKey(n))
				value[rng.IntN(len(value))] ^= 1 << rng.IntN(8)
				r.set(logKey(n), value)
			}),
			"removed": v.tampered(t, func(r *raw) { r.remove(logKey(n)) }),
		}
		if n < v.last {
			wrong["swapped with the next"] = v.tampered(t, func(r *raw) {
				a, b := r.get(logKey(n)), r.get(logKey(n+1))
				r.set(logKey(n), b)
				r.set(logKey(n+1), a)
			})
		}
		for what, p := range wrong {
			if p.OK() || !names(p, n) {
				t.Errorf("record %d %s: %q", n, what, p.Issues)
			}
		}
	}
	added := v.tampered(t, func(r *raw) {
		last := r.get(logKey(v.last))
		e, err := gateway.ReadRecord(last)
		if err != nil {
			t.Fatal(err)
		}
		r.set(logKey(v.last+1), gateway.AppendRecord(nil, v.last+1, gateway.HashOf(last), e.At, e.Record))
	})
	if added.OK() || !names(added, v.last+1) {
		t.Errorf("added: %q", added.Issues)
	}
}

// TestAForgedDecisionIsNamed forges one field after another of each event, with all hashes made to fit: the rule alone tells.
func TestAForgedDecisionIsNamed(t *testing.T) {
	v := newVictim(t)
	forgeries := map[string]func(r *gateway.EventRecord){
		"decision": func(r *gateway.EventRecord) {
			if r.Decision = gateway.Accept; r.Root > 0 {
				r.Decision = gateway.DuplicateDone
			}
		},
		"seen_at":             func(r *gateway.EventRecord) { r.SeenAt++ },
		"window":              func(r *gateway.EventRecord) { r.WindowS++ },
		"predecessor":         func(r *gateway.EventRecord) { r.Predecessor-- },
		"prior":               func(r *gateway.EventRecord) { r.Prior++ },
		"root":                func(r *gateway.EventRecord) { r.Root++ },
		"predecessor's state": func(r *gateway.EventRecord) { r.PredecessorState = 1 - r.PredecessorState },
		"forwarded":           func(r *gateway.EventRecord) { r.Forwarded = !r.Forwarded },
		"scope":               func(r *gateway.EventRecord) { r.Scope = (r.Scope + 1) % 3 },
		"currency":            func(r *gateway.EventRecord) { r.Currency = "us" },
		"an amount":           func(r *gateway.EventRecord) { r.Amount, r.AmountOK = "1e3", true },
		"a time ahead":        func(r *gateway.EventRecord) { r.Named, r.NamedAt = true, r.SeenAt+10_000_000 },
	}
	done := map[string]int{}
	for number, event := range v.events {
		for what, forge := range forgeries {
			if was := *event; done[what] < 6 {
				forged := was
				if forge(&forged); forged == was || forged.Predecessor < 0 {
					continue
				}
				done[what]++
				p := v.tampered(t, func(r *raw) {
					r.forge(number, v.last, func(rec gateway.Record) { forge(rec.(*gateway.EventRecord)) })
				})
				if p.OK() || !names(p, number) {
					t.Errorf("record %d, %s forged: %q", number, what, p.Issues)
				}
			}
		}
	}
	for what := range forgeries {
		if done[what] == 0 {
			t.Errorf("%s was never forged", what)
		}
	}
}

// TestForgedRegistryAndDeliveries forges what isn't a decision.
func TestForgedRegistryAndDeliveries(t *testing.T) {
	v := newVictim(t)
	tried := 0
	for n := int64(1); n <= v.last; n++ {
		wanted := false
		p := v.tampered(t, func(r *raw) {
			e, err := gateway.ReadRecord(r.get(logKey(n)))
			if err != nil {
				t.Fatal(err)
			}
			switch rec := e.Record.(type) {
			case *gateway.RegisterRecord:
				wanted = rec.Origin != gateway.OriginOpen // its own event, and those after it, tell of another window
				if wanted {
					r.forge(n, v.last, func(rec gateway.Record) { rec.(*gateway.RegisterRecord).Scope = settle.ScopeNone })
				}
			case *gateway.DeliveryRecord:
				wanted = true
				r.forge(n, v.last, func(rec gateway.Record) { rec.(*gateway.DeliveryRecord).Event = n + 1000 })
			case *gateway.SourceRecord:
				wanted = true
				r.forge(n, v.last, func(rec gateway.Record) { rec.(*gateway.SourceRecord).Source = " " })
			}
		})
		if wanted {
			tried++
			if p.OK() || !names(p, n) {
				t.Errorf("record %d: %q", n, p.Issues)
			}
		}
	}
	if tried < 10 {
		t.Errorf("only %d records were forged", tried)
	}
}

// TestTheTailIsCheckedAtTheStart tampers with each record behind a proof: what the start checks names it.
func TestTheTailIsCheckedAtTheStart(t *testing.T) {
	v := newVictim(t)
	since := v.last / 2
	tail := func(change func(*raw)) *audit.LogProof {
		t.Helper()
		fs := v.fs.CrashClone(vfs.CrashCloneCfg{})
		r := openRaw(t, fs, dataFolder+"/db")
		hash := gateway.HashOf(r.get(logKey(since)))
		change(r)
		if err := r.db.Close(); err != nil {
			t.Fatal(err)
		}
		var proof *audit.LogProof
		err := pebble.ReadBooks(t.Context(), dataFolder, pebble.Options{FS: fs, CacheBytes: 1 << 20}, func(view store.BooksView) (err error) {
			proof, err = audit.ProveTail(t.Context(), prove.Stated(view), since, hash)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return proof
	}
	if p := tail(func(*raw) {}); !p.OK() || p.Records != v.last-since {
		t.Fatalf("untouched: %+v", p)
	}
	for n := since; n <= v.last; n++ {
		for what, change := range map[string]func(*raw){
			"changed": func(r *raw) {
				value := r.get(logKey(n))
				value[len(value)-1] ^= 1
				r.set(logKey(n), value)
			},
			"removed": func(r *raw) { r.remove(logKey(n)) },
		} {
			if p := tail(change); p.OK() || !names(p, n) {
				t.Errorf("record %d %s: %q", n, what, p.Issues)
			}
		}
	}
	forged := 0
	for number, event := range v.events {
		if number <= since || event.Decision.Rejected() {
			continue
		}
		for what, forge := range map[string]func(r *gateway.EventRecord){
			"decision": func(r *gateway.EventRecord) {
				r.Decision = map[gateway.Decision]gateway.Decision{
					gateway.Accept: gateway.DuplicateDone, gateway.DuplicateDone: gateway.DuplicatePending, gateway.DuplicatePending: gateway.Accept,
				}[r.Decision]
			},
			"predecessor": func(r *gateway.EventRecord) { r.Predecessor++ },
			"root":        func(r *gateway.EventRecord) { r.Root++ },
			"seen_at":     func(r *gateway.EventRecord) { r.SeenAt++ },
			"prior":       func(r *gateway.EventRecord) { r.Prior++ },
		} {
			forged++
			p := tail(func(r *raw) {
				r.forge(number, v.last, func(rec gateway.Record) { forge(rec.(*gateway.EventRecord)) })
			})
			if p.OK() || !names(p, number) {
				t.Errorf("record %d, %s forged: %q", number, what, p.Issues)
			}
		}
	}
	if forged < 10 {
		t.Errorf("only %d records were forged", forged)
	}
}
