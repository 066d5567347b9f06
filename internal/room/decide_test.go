package room

import (
	"testing"

	"pgregory.net/rapid"

	"hapax/internal/idem"
)

const (
	tNow  = int64(10_000_000)
	tKeep = int64(1_000_000)
)

var (
	fpA   = idem.Fingerprint{1, 'a'}
	fpB   = idem.Fingerprint{1, 'b'}
	first = idem.Result{Fingerprint: fpA, MessageID: "m7", Seq: 7, Epoch: "e0", At: tNow - 5}
)

// TestDecide walks all combinations of what the steps ask, and holds each outcome against the first step of the
// protocol that applies, written down here as the plain list it is.
func TestDecide(t *testing.T) {
	type fact struct{ known, same, old, behind, follows, held, full bool }
	yes := []bool{false, true}
	n := 0
	for _, f := range all(yes) {
		c := fact{f[0], f[1], f[2], f[3], f[4], f[5], f[6]}
		want := Accepted
		switch {
		case c.known && !c.same: // 4
			want = Conflict
		case c.known: // 5
			want = Duplicate
		case c.old || c.behind: // 7
			want = OutcomeUnknown
		case c.follows && !c.held: // 8
			want = OutOfOrder
		case c.full:
			want = Full
		}
		facts := Facts{Now: tNow, RetentionMs: tKeep, Known: c.known, Head: 41, FollowsHeld: c.held, Horizon: tNow - 500}
		cmd := Command{Fingerprint: fpB, SentAt: tNow - 100}
		if c.known {
			facts.Prior = first
		}
		if c.same {
			cmd.Fingerprint = fpA
		}
		if c.old {
			cmd.SentAt = tNow - tKeep - 1
		}
		if c.behind {
			facts.Horizon = tNow - 100
		}
		if c.follows {
			cmd.Follows = "before"
		}
		if c.full {
			facts.Head = MaxSeq
		}
		got := Decide(facts, &cmd)
		if got.Kind != want {
			t.Errorf("%+v: %v, want %v", c, got.Kind, want)
		}
		checkResult(t, got, facts, &cmd)
		n++
	}
	if n != 128 {
		t.Fatalf("%d combinations, want 128", n)
	}
}

// checkResult: a known key's result comes back to the byte, a new row's follows the head, a refusal has none.
func checkResult(t *testing.T, got Outcome, f Facts, c *Command) {
	t.Helper()
	want := idem.Result{}
	switch got.Kind {
	case Duplicate, Conflict:
		want = f.Prior
	case Accepted:
		want = idem.Result{Fingerprint: c.Fingerprint, Seq: f.Head + 1, At: f.Now}
	}
	if got.Result != want {
		t.Errorf("%v: result %+v, want %+v", got.Kind, got.Result, want)
	}
	if got.RetryAfterMs != 0 {
		t.Errorf("%v: a rule knows no waiting time", got.Kind)
	}
}

func all(v []bool) [][7]bool {
	var out [][7]bool
	for i := range 1 << 7 {
		var row [7]bool
		for b := range row {
			row[b] = v[i>>b&1]
		}
		out = append(out, row)
	}
	return out
}

func TestDecideReachesTheLastSeq(t *testing.T) {
	got := Decide(Facts{Now: tNow, RetentionMs: tKeep, Head: MaxSeq - 1}, &Command{})
	if got.Kind != Accepted || got.Result.Seq != MaxSeq {
		t.Errorf("got %v seq %d, want the last seq accepted", got.Kind, got.Result.Seq)
	}
}

func TestLook(t *testing.T) {
	base := Facts{Now: tNow, RetentionMs: tKeep, Horizon: tNow - 500}
	known := base
	known.Known, known.Prior = true, first
	for _, c := range []struct {
		name   string
		f      Facts
		sentAt int64
		want   Outcome
	}{
		{"held", known, 0, Outcome{Kind: Duplicate, Result: first}},
		{"held, however old the claim", known, 1, Outcome{Kind: Duplicate, Result: first}},
		{"not held, young", base, tNow - 499, Outcome{Kind: NotFound}},
		{"not held, no claim", base, 0, Outcome{Kind: NotFound}},
		{"not held, at the horizon", base, tNow - 500, Outcome{Kind: OutcomeUnknown}},
		{"not held, past the retention", Facts{Now: tNow, RetentionMs: tKeep}, tNow - tKeep - 1, Outcome{Kind: OutcomeUnknown}},
	} {
		if got := Look(c.f, c.sentAt); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// What status says of a key and what a send of it would come to never contradict each other.
func TestLookAgreesWithDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		c := drawCommand(t)
		look, send := Look(f, c.SentAt), Decide(f, &c)
		want := map[Kind][]Kind{
			Duplicate:      {Duplicate, Conflict},
			OutcomeUnknown: {OutcomeUnknown},
			NotFound:       {Accepted, OutOfOrder, Full},
		}[look.Kind]
		for _, k := range want {
			if send.Kind == k {
				if look.Kind == Duplicate && look.Result != send.Result {
					t.Fatalf("status names %+v, send %+v", look.Result, send.Result)
				}
				return
			}
		}
		t.Fatalf("status says %v, a send %v", look.Kind, send.Kind)
	})
}

// Storing what was accepted and judging the same command again gives the first result; the same facts give the same outcome.
func TestDecideThenAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, c := drawFacts(t), drawCommand(t)
		got := Decide(f, &c)
		if again := Decide(f, &c); again != got {
			t.Fatalf("same facts: %+v, then %+v", got, again)
		}
		if got.Kind != Accepted {
			return
		}
		got.Result.MessageID, got.Result.Epoch = "m", "e"
		later := f
		later.Known, later.Prior, later.Head = true, got.Result, f.Head+1
		later.Now += rapid.Int64Range(0, 1<<40).Draw(t, "wait")
		later.Horizon = later.Now
		want := Outcome{Kind: Duplicate, Result: got.Result}
		if again := Decide(later, &c); again != want {
			t.Fatalf("again: %+v, want %+v", again, want)
		}
	})
}

func drawFacts(t *rapid.T) Facts {
	f := Facts{
		Now:         rapid.Int64Range(1, 40).Draw(t, "now"),
		RetentionMs: rapid.Int64Range(0, 20).Draw(t, "retention"),
		Known:       rapid.Bool().Draw(t, "known"),
		Horizon:     rapid.Int64Range(0, 40).Draw(t, "horizon"),
		Head:        rapid.SampledFrom([]int64{0, 1, 41, MaxSeq - 1, MaxSeq}).Draw(t, "head"),
		FollowsHeld: rapid.Bool().Draw(t, "held"),
	}
	if f.Known {
		f.Prior = first
	}
	return f
}

func drawCommand(t *rapid.T) Command {
	return Command{
		Fingerprint: rapid.SampledFrom([]idem.Fingerprint{fpA, fpB}).Draw(t, "fingerprint"),
		SentAt:      rapid.Int64Range(0, 45).Draw(t, "sentAt"),
		Follows:     rapid.SampledFrom([]string{"", "x"}).Draw(t, "follows"),
	}
}
