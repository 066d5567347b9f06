package idem

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestJudge(t *testing.T) {
	a, b := Fingerprint{1, 'a'}, Fingerprint{1, 'b'}
	older := Fingerprint{0, 'a'} // the same hash under another version is another content
	for _, c := range []struct {
		name  string
		known bool
		prior Fingerprint
		fp    Fingerprint
		want  Verdict
	}{
		{"nothing held", false, Fingerprint{}, a, Unknown},
		{"nothing held, though prior equals by chance", false, a, a, Unknown},
		{"same content", true, a, a, Same},
		{"other content", true, a, b, Other},
		{"other version", true, older, a, Other},
	} {
		if got := Judge(c.known, &Result{Fingerprint: c.prior}, &c.fp); got != c.want {
			t.Errorf("%s: verdict %d, want %d", c.name, got, c.want)
		}
	}
}

func TestJudgeSeesEveryByte(t *testing.T) {
	var fp Fingerprint
	for i := range fp {
		other := fp
		other[i] ^= 0x80
		if Judge(true, &Result{Fingerprint: fp}, &other) != Other {
			t.Errorf("byte %d of a fingerprint isn't compared", i)
		}
	}
}

func TestLapsed(t *testing.T) {
	const now, keep = 1_000_000, 1_000
	for _, c := range []struct {
		name            string
		sentAt, horizon int64
		want            bool
	}{
		{"no claim", 0, 0, false},
		{"now", now, 0, false},
		{"ahead counts as now", now + 500, 0, false},
		{"far ahead", math.MaxInt64, 0, false},
		{"exactly the retention ago", now - keep, 0, false},
		{"one ms more", now - keep - 1, 0, true},
		{"negative claim", -1, 0, true},
		{"the least claim", math.MinInt64, 0, true},
		{"after the horizon", now - 10, now - 11, false},
		{"at the horizon", now - 10, now - 10, true},
		{"before the horizon", now - 10, now - 9, true},
		{"no claim, horizon at now", 0, now, true},
		{"no claim, horizon ahead (the clock went back)", 0, now + 5, true},
		{"ahead, horizon below now", now + 5, now - 1, false},
		{"ahead can't jump over a horizon at now", now + 5, now, true},
	} {
		if got := Lapsed(now, keep, c.sentAt, c.horizon); got != c.want {
			t.Errorf("%s: lapsed %v, want %v", c.name, got, c.want)
		}
	}
}

// An older claim or a later horizon never brings an action back, and later never helps either.
func TestLapsedIsMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(1, 1<<45)
		now, keep := ms.Draw(t, "now"), ms.Draw(t, "keep")
		sent, horizon, d := ms.Draw(t, "sent"), rapid.Int64Range(0, 1<<45).Draw(t, "horizon"), ms.Draw(t, "d")
		if !Lapsed(now, keep, sent, horizon) {
			return
		}
		if older := min(sent, now) - d; older != 0 && !Lapsed(now, keep, older, horizon) {
			t.Fatalf("an older claim %d came back", older)
		}
		if !Lapsed(now, keep, sent, max(horizon, 1)+d) {
			t.Fatal("a later horizon brought it back")
		}
		if sent <= now && !Lapsed(now+d, keep, sent, horizon) {
			t.Fatal("waiting brought it back")
		}
	})
}
