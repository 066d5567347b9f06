//go:build unix

package prove

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"runtime"
	"syscall"
	"testing"
	"time"

	"hapax/internal/audit"
	"hapax/internal/gateway"
	"hapax/internal/settle"
)

// The log of the benchmark: all keys register themselves by an accepted event, then each repeats twice, far from the order of the first ones, so that
// each look-up misses the processor's caches.
const (
	benchKeys    = 2_000_000
	benchRepeats = 2
	benchEvents  = (1 + benchRepeats) * benchKeys
)

// madeLog is a log in memory, and what a store would state of it.
type madeLog struct {
	audit.Log // the rest is never asked for: calling it fails
	records   []byte
	ends      []int64
	head      gateway.Head
	keys      int
}

func benchName(i int) gateway.Name {
	return gateway.Name{Tenant: "acme", Source: "payments", Key: benchText("evt_", uint64(i)*0x9E3779B97F4A7C15)}
}

// benchText is a prefix and 16 hexadecimal digits; fmt would take longer than the proof.
func benchText(prefix string, n uint64) string {
	var bytes [8]byte
	binary.BigEndian.PutUint64(bytes[:], n)
	return string(hex.AppendEncode([]byte(prefix), bytes[:]))
}

func makeLog(keys int) *madeLog {
	m := &madeLog{keys: keys, records: make([]byte, 0, keys*(200+(1+benchRepeats)*400)), ends: make([]int64, 0, (2+benchRepeats)*keys+2)}
	settings := gateway.Settings{WindowS: 1000, Scope: settle.ScopeSchema, LRUCapacity: 100, Open: true, Parts: 1}
	m.head.Policy, m.head.Ruled = settle.Policy{BlockWindowS: 60, ScopeStrict: true, LRUMinHits: benchRepeats + 1}, true
	m.write(&gateway.PolicyRecord{Policy: m.head.Policy})
	m.write(&gateway.SourceRecord{Tenant: "acme", Source: "payments", Settings: settings})
	for i := range keys {
		n := benchName(i)
		m.write(&gateway.RegisterRecord{Name: n, Scope: settle.ScopeSchema, LRUCapacity: 100, Origin: gateway.OriginOpen})
		m.write(benchEvent(n, i, 0, m.firstOf(i)))
	}
	for repeat := range benchRepeats {
		for at := range keys {
			i := m.keyAt(at)
			before := m.firstOf(i)
			if repeat > 0 {
				before = m.head.Number + 1 - int64(keys)
			}
			m.write(benchEvent(benchName(i), i, before, m.firstOf(i)))
		}
	}
	return m
}

// firstOf is the number of a key's first event; its registration stands before it.
func (m *madeLog) firstOf(i int) int64 { return int64(2*i + 4) }

// keyAt is the key at a place of the repeats.
func (m *madeLog) keyAt(place int) int { return place * 999_983 % m.keys }

func (m *madeLog) write(r gateway.Record) {
	m.head.Number++
	from := len(m.records)
	m.records = gateway.AppendRecord(m.records, m.head.Number, m.head.Hash, benchAt, r)
	m.head.Hash = gateway.HashOf(m.records[from:])
	m.ends = append(m.ends, int64(len(m.records)))
}

const benchAt = 1_800_000_000_000

func benchEvent(n gateway.Name, i int, before, root int64) *gateway.EventRecord {
	e := &gateway.EventRecord{
		Name: n, ID: benchText("ev_", uint64(i)), Decision: gateway.Accept, Currency: "EUR", Amount: "12.34", AmountOK: true,
		Scope: settle.ScopeSchema, SeenAt: benchAt / 1000, WindowS: 1000,
	}
	binary.BigEndian.PutUint64(e.Fingerprint[:], uint64(i))
	if before > 0 {
		e.Decision, e.Prior, e.Predecessor, e.Root = gateway.DuplicateDone, before, before, root
	}
	return e
}

func (m *madeLog) Head() audit.StatedHead {
	return audit.StatedHead{Number: m.head.Number, Hash: m.head.Hash, Ruled: true, Policy: audit.StatedPolicy{BlockWindowS: 60, ScopeStrict: true, LRUMinHits: benchRepeats + 1}}
}

func (m *madeLog) Records(int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		from := int64(0)
		for _, end := range m.ends {
			if !yield(m.records[from:end:end], nil) {
				return
			}
			from = end
		}
	}
}

func (m *madeLog) Sources() ([]audit.StatedSource, error) {
	return []audit.StatedSource{{Tenant: "acme", Source: "payments", Events: int64((1 + benchRepeats) * m.keys), StatedSettings: audit.StatedSettings{
		WindowS: 1000, LRUCapacity: 100, Parts: 1, Scope: "schema", Open: true, Guard: "off",
	}}}, nil
}

func (m *madeLog) Keys() iter.Seq2[*audit.StatedKey, error] {
	repeats := make([]int64, m.keys)
	for place := range m.keys {
		repeats[m.keyAt(place)] = int64((1+benchRepeats)*m.keys + 3 + place)
	}
	return func(yield func(*audit.StatedKey, error) bool) {
		k := audit.StatedKey{Tenant: "acme", Source: "payments", Registered: true, Scope: "schema", LRUCapacity: 100, Events: 1 + benchRepeats, Accepted: 1, Repeats: benchRepeats,
			LastSeenAt: benchAt / 1000, LastScope: "schema", LastCurrency: "EUR", LastSaid: "done", Hits: make([]audit.StatedHits, 1)}
		for i := range m.keys {
			k.Key, k.RootID, k.Since, k.LastEvent = benchName(i).Key, benchText("ev_", uint64(i)), m.firstOf(i)-1, repeats[i]
			k.Last, k.Root = k.LastEvent, m.firstOf(i)
			k.Hits[0] = audit.StatedHits{Currency: "EUR", Count: benchRepeats, LRURank: k.Last, SeenAt: k.LastSeenAt, LastEvent: k.Last}
			binary.BigEndian.PutUint64(k.RootPrint[:], uint64(i))
			if !yield(&k, nil) {
				return
			}
		}
	}
}

func (m *madeLog) Books() ([]audit.StatedBook, error) {
	var accepted, deduped settle.Sum
	for range m.keys {
		accepted.Add(settle.Amount{Whole: 12, Fraction: 34_000_000})
		for range benchRepeats {
			deduped.Add(settle.Amount{Whole: 12, Fraction: 34_000_000})
		}
	}
	return []audit.StatedBook{{Currency: "EUR", Tenant: "acme", Source: "payments", Accept: int64(m.keys), DuplicateDone: int64(benchRepeats * m.keys),
		Accepted: accepted.String(), Deduped: deduped.String(), TenantAccepted: int64(m.keys), TenantTotal: accepted.String()}}, nil
}

func (m *madeLog) Capacity(string, string) (int64, error) { return 100, nil }

func (m *madeLog) Ledger(string, string, string, int64) ([]audit.StatedEntry, error) { return nil, nil } // no key has repeats enough

func (m *madeLog) Outbox() iter.Seq2[*audit.StatedRow, error] {
	return func(func(*audit.StatedRow, error) bool) {}
}

func (m *madeLog) Index() iter.Seq2[*audit.StatedIndex, error] {
	return func(yield func(*audit.StatedIndex, error) bool) {
		yield(&audit.StatedIndex{Kind: audit.IndexCapacity, Tenant: "acme", Source: "payments", Number: 100, Count: int64(m.keys)}, nil)
	}
}

// BenchmarkProof proves a log of 6 million events of 2 million keys on one core, all held at once and in passes of half a million.
func BenchmarkProof(b *testing.B) {
	m := makeLog(benchKeys)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, keys := range []int{audit.DefaultProofKeys, 1 << 20, 1 << 19} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			began, cpu := time.Now(), processorTime(b)
			for range b.N {
				proof, err := audit.ProveLog(b.Context(), m, audit.ProofOptions{Keys: keys})
				if err != nil || !proof.OK() || proof.Events != benchEvents {
					b.Fatal(err, proof)
				}
				b.ReportMetric(float64(proof.Passes), "passes")
			}
			b.ReportMetric(float64(b.N)*benchEvents/time.Since(began).Seconds(), "events/s")
			b.ReportMetric(float64(b.N)*benchEvents/(processorTime(b)-cpu).Seconds(), "events/cpu-s") // where others use the machine too
		})
	}
}

// processorTime is what this process has used of its processors.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestPassesAgree proves a small log in one pass and in many.
func TestPassesAgree(t *testing.T) {
	m := makeLog(2_000)
	for _, keys := range []int{5_000, 1_500, 400, 50} {
		proof, err := audit.ProveLog(t.Context(), m, audit.ProofOptions{Keys: keys})
		if err != nil || !proof.OK() || proof.Events != 2_000*(1+benchRepeats) || proof.Keys != 2_000 || (keys < 2_000) != (proof.Passes > 1) {
			t.Errorf("%d keys at a time: %+v, %v", keys, proof, err)
		}
	}
}
