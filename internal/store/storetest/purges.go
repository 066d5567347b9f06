package storetest

import (
	"fmt"
	"testing"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// resultOutlivesMessage is case R01.
func resultOutlivesMessage(t *testing.T, p Place) {
	k := open(t, p)
	a := Send("r", "ann", "A", "a")
	first := k.send(Start, room.Accepted, a).Result
	k.fill("r", 0, 4, Start)
	if done := k.purge(store.Policy{JournalRows: 2}, Start); done != (store.Purged{Messages: 3}) {
		t.Fatalf("purged %+v", done)
	}
	k.reopen()
	k.seqs("r", 4, 5)
	if again := k.send(Start, room.Duplicate, a).Result; again != first {
		t.Fatalf("duplicate %+v, want %+v", again, first)
	}
	if st := k.state("r"); st.Low != 3 || st.LowID == "" || st.LowID == first.MessageID || st.Horizon != 0 {
		t.Fatalf("state %+v", st)
	}
	if st := must(k.s.Stats(t.Context()))(t); st.Messages != 2 || st.Results != 5 {
		t.Fatalf("stats %+v", st)
	}
}

func purgeByNumber(t *testing.T, p Place) {
	k := open(t, p)
	k.fill("r", 1, 10, Start) // row n is stored at Start+n-1
	ids := map[int64]string{}
	for _, m := range k.rows("r") {
		ids[m.Seq] = m.MessageID
	}
	k.fill("small", 1, 2, Start)
	if done := k.purge(store.Policy{JournalRows: 6, ResultRows: 3}, Start+50); done != (store.Purged{Messages: 4, Results: 7}) {
		t.Fatalf("purged %+v", done)
	}
	want := room.State{Head: 10, HeadID: ids[10], Low: 4, LowID: ids[4], Horizon: Start + 6}
	if st := k.state("r"); st != want {
		t.Fatalf("state %+v, want %+v", st, want)
	}
	if done := k.purge(store.Policy{JournalRows: 6, ResultRows: 3}, Start+50); done != (store.Purged{}) {
		t.Fatalf("again: %+v", done)
	}
	k.purge(store.Policy{JournalRows: 2}, Start+50) // rows 5 to 8 age out; of 8 the result stays
	k.reopen()
	k.seqs("r", 9, 10)
	if st := k.state("r"); st.Low != 8 || st.LowID != ids[8] || st.Horizon != Start+6 {
		t.Fatalf("state %+v", st)
	}
	for n := 1; n <= 10; n++ {
		c := Send("r", "ann", fmt.Sprintf("id-%d", n), fmt.Sprintf("text %d", n))
		c.SentAt = Start + int64(n) - 1
		want := room.OutcomeUnknown
		if n >= 8 {
			want = room.Duplicate
		}
		k.send(Start+60, want, c)
	}
	k.purge(store.Policy{JournalRows: 1, ResultRows: 1}, Start+50)
	k.purge(store.Policy{ResultRows: 1, JournalRows: 1}, Start+50)
	k.seqs("r", 10)
	k.fill("r", 11, 1, Start+70)
	k.seqs("r", 10, 11)
}

func purgeByAgeAndHorizon(t *testing.T, p Place) {
	k := open(t, p)
	k.fill("r", 1, 5, Start)       // at Start … Start+4
	k.fill("r", 6, 5, Start+1_000) // at Start+1000 … Start+1004
	policy := store.Policy{ResultAgeMs: 500, JournalAgeMs: 700}
	if done := k.purge(policy, Start+499); done != (store.Purged{}) {
		t.Fatalf("too early: %+v", done)
	}
	if done := k.purge(policy, Start+502); done != (store.Purged{Results: 3}) {
		t.Fatalf("purged %+v", done)
	}
	if st := k.state("r"); st.Horizon != Start+2 || st.Low != 0 || st.LowID != "" {
		t.Fatalf("state %+v", st)
	}
	if done := k.purge(policy, Start+702); done != (store.Purged{Results: 2, Messages: 3}) {
		t.Fatalf("purged %+v", done)
	}
	k.reopen()
	if st := k.state("r"); st.Horizon != Start+4 || st.Low != 3 {
		t.Fatalf("state %+v", st)
	}
	if done := k.purge(policy, Start+50_000); done != (store.Purged{Results: 5, Messages: 7}) {
		t.Fatalf("purged %+v", done)
	}
	k.reopen()
	st := k.state("r") // an empty journal still knows its head
	if st.Head != 10 || st.Low != 10 || st.LowID != st.HeadID || st.HeadID == "" || st.Horizon != Start+1_004 {
		t.Fatalf("state %+v", st)
	}
	k.seqs("r")
	k.fill("r", 11, 1, Start+50_000)
	k.seqs("r", 11)
}

// purgeKeepsDecisions sends, purges with the policy of the protocol, and repeats: inside the retention each repeat is a duplicate, and
// past it never a second row.
func purgeKeepsDecisions(t *testing.T, p Place) {
	k := open(t, p)
	policy := store.Policy{ResultAgeMs: Retention + Retention/10, JournalRows: 3}
	const n = 30
	cmd := func(i int) room.Command {
		c := Send("r", "ann", fmt.Sprint("id", i), fmt.Sprint(i))
		c.SentAt = Start + int64(i)*1_000
		return c
	}
	for i := range n {
		now := Start + int64(i)*1_000
		k.send(now, room.Accepted, cmd(i))
		k.purge(policy, now)
		for j := range i {
			out := k.commit(now, cmd(j))[0]
			if age := now - (Start + int64(j)*1_000); age <= Retention && out.Kind != room.Duplicate {
				t.Fatalf("repeat of %d after %d ms: %v", j, age, out.Kind)
			}
			if out.Kind != room.Duplicate && out.Kind != room.OutcomeUnknown {
				t.Fatalf("repeat of %d: %v", j, out.Kind)
			}
		}
	}
	k.seqs("r", n-2, n-1, n)
}

// purgeOfFutureRows: the clock stood far ahead for a while. The rows of that time go with the next old one, the horizon isn't
// raised past the drop, and a clock that stood too low takes no young result along.
func purgeOfFutureRows(t *testing.T, p Place) {
	k := open(t, p)
	k.send(Start, room.Accepted, Send("r", "ann", "1", "1"))
	k.send(Start+1_000_000, room.Accepted, Send("r", "ann", "2", "2"))
	k.send(Start+10, room.Accepted, Send("r", "ann", "3", "3"))
	k.send(Start+900, room.Accepted, Send("r", "ann", "4", "4"))
	k.send(0, room.Accepted, Send("r", "ann", "5", "5"))
	policy := store.Policy{ResultAgeMs: 500, JournalAgeMs: 500}
	if done := k.purge(policy, Start+1_000); done != (store.Purged{Results: 3, Messages: 3}) {
		t.Fatalf("purged %+v", done)
	}
	if st := k.state("r"); st.Horizon != Start+1_000 || st.Low != 3 {
		t.Fatalf("state %+v", st)
	}
	if _, known := k.result(idem.Key{Room: "r", Actor: "ann", ID: "4"}); !known {
		t.Fatal("a young result went along with one that only looks old")
	}
	if done := k.purge(policy, Start+1_400); done != (store.Purged{Results: 2, Messages: 2}) {
		t.Fatalf("purged %+v", done)
	}
}
