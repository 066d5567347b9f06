package check

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var log = []Row{
	{Seq: 1, MessageID: "m1", Actor: "ann", ID: "a", Text: "one"},
	{Seq: 2, MessageID: "m2", Actor: "ben", ID: "a", Text: "two"},
	{Seq: 3, MessageID: "m3", Actor: "ann", ID: "b", Text: "three"},
}

func changed(f func(rows []Row) []Row) []Row { return f(slices.Clone(log)) }

func expect(t *testing.T, name string, faults []string, want string) {
	t.Helper()
	if want == "" && len(faults) > 0 || want != "" && !strings.Contains(strings.Join(faults, "\n"), want) {
		t.Errorf("%s: faults %q, want %q", name, faults, want)
	}
}

func TestLogNamesEachFault(t *testing.T) {
	expect(t, "good", Log("r", 1, log), "")
	expect(t, "hole", Log("r", 1, changed(func(r []Row) []Row { return slices.Delete(r, 1, 2) })), "seq 3 where 2 was due")
	expect(t, "low end lost", Log("r", 1, log[1:]), "seq 2 where 1 was due")
	expect(t, "key twice", Log("r", 1, changed(func(r []Row) []Row { r[2].ID = "a"; return r })), "key (ann, a) at seq 1 and again at 3")
	expect(t, "messageId twice", Log("r", 1, changed(func(r []Row) []Row { r[2].MessageID = "m1"; return r })), `messageId "m1"`)
}

func TestAcksNamesEachFault(t *testing.T) {
	logs := map[string][]Row{"r": log}
	good := Ack{Room: "r", Actor: "ann", ID: "a", Text: "one", MessageID: "m1", Seq: 1}
	repeat := good
	repeat.Duplicate = true
	expect(t, "good", Acks(logs, []Ack{good, repeat, repeat}), "")
	lost, other, text := good, good, good
	lost.ID, other.Seq, text.Text = "z", 2, "else"
	expect(t, "lost", Acks(logs, []Ack{lost}), "is lost")
	expect(t, "other seq", Acks(logs, []Ack{other}), "acknowledged as seq 2")
	expect(t, "other content", Acks(logs, []Ack{text}), "another content")
	expect(t, "first twice", Acks(logs, []Ack{good, good}), "first 2 times")
}

func TestViewNamesEachFault(t *testing.T) {
	expect(t, "good", View("x", "r", log, log, true), "")
	expect(t, "a part from the middle", View("x", "r", log, log[1:2], false), "")
	expect(t, "short", View("x", "r", log, log[:2], true), "doesn't reach seq 3")
	expect(t, "hole", View("x", "r", log, changed(func(r []Row) []Row { return slices.Delete(r, 1, 2) }), true), "row 3 comes after row 1")
	expect(t, "twice", View("x", "r", log, append(slices.Clone(log), log[2]), true), "row 3 comes after row 3")
	expect(t, "never stored", View("x", "r", log[:2], log, false), "which the log doesn't hold")
	expect(t, "differs", View("x", "r", log, changed(func(r []Row) []Row { r[0].Text = "else"; return r }), true), "seq 1 differs")
}

func TestLinearizable(t *testing.T) {
	logs := map[string][]Row{"r": log}
	first := func(actor, id string, seq, call, ret int64) Op {
		return Op{Room: "r", Kind: First, Actor: actor, ID: id, Seq: seq, Call: call, Return: ret}
	}
	cases := []struct {
		name string
		ops  []Op
		ok   bool
	}{
		{"one after the other", []Op{first("ann", "a", 1, 0, 1), first("ben", "a", 2, 2, 3), first("ann", "b", 3, 4, 5)}, true},
		{"overlapping in another order", []Op{first("ann", "b", 3, 0, 9), first("ben", "a", 2, 0, 9), first("ann", "a", 1, 0, 9)}, true},
		{"order against real time", []Op{first("ben", "a", 2, 0, 1), first("ann", "a", 1, 2, 3)}, false},
		{"unanswered, then a repeat", []Op{
			{Room: "r", Kind: Unknown, Actor: "ann", ID: "a", Call: 0},
			{Room: "r", Kind: Duplicate, Actor: "ann", ID: "a", Seq: 1, Call: 5, Return: 6},
		}, true},
		{"a repeat before there was a first", []Op{
			{Room: "r", Kind: Duplicate, Actor: "ann", ID: "a", Seq: 1, Call: 0, Return: 1},
			first("ann", "a", 1, 2, 3),
		}, false},
		{"two firsts of one key", []Op{first("ann", "a", 1, 0, 9), first("ann", "a", 1, 0, 9)}, false},
		{"a read that goes back", []Op{
			first("ann", "a", 1, 0, 1),
			{Room: "r", Kind: Read, Seq: 0, Call: 2, Return: 3},
		}, false},
		{"a read before the ack", []Op{
			first("ann", "a", 1, 0, 9),
			{Room: "r", Kind: Read, Seq: 1, Call: 2, Return: 3},
			{Room: "r", Kind: Read, Seq: 0, Call: 0, Return: 1},
		}, true},
		{"unanswered and never stored", []Op{{Room: "r", Kind: Unknown, Actor: "eve", ID: "x", Call: 0}}, true},
	}
	for i := range cases {
		for j := range cases[i].ops {
			cases[i].ops[j].Client = j
		}
		faults := Linearizable(logs, cases[i].ops, 10*time.Second)
		if (len(faults) == 0) != cases[i].ok {
			t.Errorf("%s: faults %q, want ok %v", cases[i].name, faults, cases[i].ok)
		}
	}
}

// TestExplainedAgreesWithPorcupine draws small histories, honest ones and ones with an answer changed, and wants one verdict of both.
func TestExplainedAgreesWithPorcupine(t *testing.T) {
	verdicts := map[bool]int{}
	for seed := range uint64(4000) {
		random := rand.New(rand.NewPCG(seed, 1))
		rows := log[:random.IntN(len(log)+1)]
		var ops []Op
		for i := range 1 + random.IntN(6) {
			call := random.Int64N(10)
			op := Op{Client: i, Room: "r", Kind: Kind(random.IntN(5)), Call: call, Return: call + random.Int64N(6)}
			if op.Kind == Read {
				op.Seq = random.Int64N(int64(len(rows) + 1))
			} else {
				r := log[random.IntN(len(log))]
				op.Actor, op.ID, op.Seq = r.Actor, r.ID, r.Seq
			}
			ops = append(ops, op)
		}
		// Rows that nobody sent are no matter of order: both judges get a sender for each.
		for i, r := range rows {
			ops = append(ops, Op{Client: 10 + i, Room: "r", Kind: Unknown, Actor: r.Actor, ID: r.ID, Call: random.Int64N(6)})
		}
		logs := map[string][]Row{"r": rows}
		slow, fast := Linearizable(logs, ops, 10*time.Second), Explained(logs, ops)
		if (len(slow) == 0) != (len(fast) == 0) {
			t.Fatalf("seed %d: porcupine says %q, Explained %q\n%+v", seed, slow, fast, ops)
		}
		verdicts[len(slow) == 0]++
		if short, few := Prefix(logs, ops, 2); len(fast) == 0 && len(Linearizable(short, few, 10*time.Second)) > 0 {
			t.Fatalf("seed %d: explained, but not its prefix\n%+v", seed, ops)
		}
	}
	if verdicts[true] < 200 || verdicts[false] < 200 {
		t.Errorf("the histories are one-sided: %v", verdicts)
	}
}
