package settlement

import (
	"context"
	"os"
	"slices"

	"hapax/internal/settle"
)

// Advice is what windows would have done to the events of a folder. A repeat is an event with a predecessor and,
// where SCOPE_STRICT is 1, of its scope; the windows decide only whether it is deduped or let through, so the gaps
// between events are the same under every window.
type Advice struct {
	Configured int64 // BLOCK_WINDOW_S
	Repeats    Flow
	// LetThrough is what the windows of policy.tsv and dedupe.tsv let through.
	LetThrough Flow
	// LongestGapS is the smallest single window that would let nothing through; meaningful where there are repeats.
	LongestGapS   int64
	LongestGapKey [3]string // tenant, source, dedupe_key of it
	Windows       []WindowAdvice
}

// Flow is a number of events and the sum of their amounts.
type Flow struct {
	Events int64
	Amount settle.Sum
}

func (f *Flow) add(a settle.Amount) {
	f.Events++
	f.Amount.Add(a)
}

func (f *Flow) merge(other *Flow) {
	f.Events += other.Events
	f.Amount.Merge(&other.Amount)
}

// WindowAdvice is what one window for all keys would have let through.
type WindowAdvice struct {
	WindowS    int64
	LetThrough Flow
}

// UsualWindows are tried where none are named: a minute, 5 and 15 minutes, 1 and 6 hours, a day, a week.
var UsualWindows = []int64{60, 300, 900, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600}

// Advise settles a folder without writing anything and tells what other windows would have done. The configured
// default window is always among them. Memory as in Options.
func Advise(ctx context.Context, dir string, windows []int64, memory int64) (advice *Advice, err error) {
	if dir == "" {
		return nil, usageFault("no folder of inputs is named")
	}
	err = guard(func() error {
		advice, err = advise(ctx, dir, windows, memory)
		return err
	})
	return advice, asFault(err)
}

func advise(ctx context.Context, dir string, windows []int64, memory int64) (*Advice, error) {
	in, err := openInputs(dir, func(int64, string) {})
	if err != nil {
		return nil, err
	}
	defer in.events.Close()
	windows = slices.Clone(append(windows, in.policy.BlockWindowS))
	slices.Sort(windows)
	windows = slices.Compact(windows)
	var studies []*gapStudy
	_, err = in.books(ctx, reading{
		memory: memory, scratch: os.TempDir(),
		broken: func(int64, reason) error { return nil },
		observe: func(j *judge) observer {
			s := &gapStudy{judge: j, windows: windows, beyond: make([]Flow, len(windows)+1)}
			studies = append(studies, s)
			return s.see
		},
	})
	if err != nil {
		return nil, err
	}
	return in.advice(windows, studies), nil
}

// gapStudy is one worker's view of the repeats.
type gapStudy struct {
	judge      *judge
	windows    []int64 // ascending
	beyond     []Flow  // [i]: repeats with a gap beyond windows[i-1] and not beyond windows[i]
	repeats    Flow
	letThrough Flow
	longest    int64
	longestKey uint32
}

func (s *gapStudy) see(o settle.Outcome, before *settle.KeyBook, e *settle.Event) {
	if !before.Known || s.judge.policy.ScopeStrict && before.Predecessor.Scope != o.Scope {
		return
	}
	if s.repeats.Events == 0 || o.GapS > s.longest || o.GapS == s.longest && s.judge.key < s.longestKey {
		s.longest, s.longestKey = o.GapS, s.judge.key
	}
	s.repeats.add(e.Amount)
	if o.Decision == settle.Accept {
		s.letThrough.add(e.Amount)
	}
	at, _ := slices.BinarySearch(s.windows, o.GapS)
	s.beyond[at].add(e.Amount)
}

func (in *inputs) advice(windows []int64, studies []*gapStudy) *Advice {
	a := &Advice{Configured: in.policy.BlockWindowS, Windows: make([]WindowAdvice, len(windows))}
	longestKey := uint32(0)
	beyond := make([]Flow, len(windows)+1)
	for _, s := range studies {
		if s.repeats.Events == 0 {
			continue
		}
		if a.Repeats.Events == 0 || s.longest > a.LongestGapS || s.longest == a.LongestGapS && s.longestKey < longestKey {
			a.LongestGapS, longestKey = s.longest, s.longestKey
		}
		a.Repeats.merge(&s.repeats)
		a.LetThrough.merge(&s.letThrough)
		for i := range beyond {
			beyond[i].merge(&s.beyond[i])
		}
	}
	if a.Repeats.Events > 0 {
		record := in.registry.keys.record(longestKey)
		p := in.registry.keys.pairs.list[pairOf(record)]
		a.LongestGapKey = [3]string{in.registry.keys.pairs.names[p.tenant], p.source, nameOf(record)}
	}
	var through Flow
	for i := len(windows) - 1; i >= 0; i-- {
		through.merge(&beyond[i+1])
		a.Windows[i] = WindowAdvice{WindowS: windows[i], LetThrough: through}
	}
	return a
}
