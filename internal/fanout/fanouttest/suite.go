// Package fanouttest is the one conformance suite for every hint bus.
//
// A bus may lose hints, so the suite asks only for what the engine builds on: that a hint published again and again
// arrives at last, unchanged, at every process; and that a stopped listener is left alone.
//
// Read next: package local, the plainest bus that passes.
package fanouttest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"hapax/internal/fanout"
)

// Open returns two ends of one new bus, as two server processes hold them. Both may be the same value. The suite closes them.
type Open func(t *testing.T) (here, there fanout.Bus)

// patience is how long a hint, published again every pause, may take to arrive.
const (
	patience = 10 * time.Second
	pause    = 20 * time.Millisecond
)

// Run holds a bus against the contract of package fanout.
func Run(t *testing.T, open Open) {
	for name, f := range map[string]func(*testing.T, fanout.Bus, fanout.Bus){
		"a hint arrives at both ends":        arrives,
		"a hint arrives unchanged":           unchanged,
		"every listener hears":               every,
		"nobody listens":                     nobody,
		"a stopped listener is left alone":   stopped,
		"publishers side by side":            sideBySide,
		"close is safe twice, then silence":  closed,
		"stop after close is without effect": stopAfterClose,
	} {
		t.Run(name, func(t *testing.T) {
			here, there := open(t)
			defer func() {
				for _, b := range []fanout.Bus{here, there} {
					if err := b.Close(); err != nil {
						t.Errorf("close: %v", err)
					}
				}
			}()
			f(t, here, there)
		})
	}
}

func arrives(t *testing.T, here, there fanout.Bus) {
	for _, from := range []fanout.Bus{here, there} {
		a, b := listen(here), listen(there)
		want := fanout.Hint{Room: "r", Seq: 7}
		a.awaits(t, from, want)
		b.awaits(t, from, want)
		a.stop()
		b.stop()
	}
}

// Rooms are compared byte for byte, and a seq may be as great as a room's last.
func unchanged(t *testing.T, here, there fanout.Bus) {
	long := make([]byte, 128)
	for i := range long {
		long[i] = 'a' + byte(i%26)
	}
	l := listen(there)
	defer l.stop()
	for _, name := range []string{"r", "R", "a b", `a"b\c`, "a,b:c/d|e", "ἅπαξ", "e\u0301", "é", string(long)} {
		for _, seq := range []int64{1, 1 << 31, 1<<53 - 1} {
			l.awaits(t, here, fanout.Hint{Room: name, Seq: seq})
		}
	}
	for _, h := range l.all() {
		if h.Seq != 1 && h.Seq != 1<<31 && h.Seq != 1<<53-1 {
			t.Errorf("a hint that nobody published: %+v", h)
		}
	}
}

func every(t *testing.T, here, there fanout.Bus) {
	var ears []*ear
	for range 5 {
		ears = append(ears, listen(here), listen(there))
	}
	for _, l := range ears {
		l.awaits(t, there, fanout.Hint{Room: "r", Seq: 1})
		l.stop()
	}
}

func nobody(_ *testing.T, here, there fanout.Bus) {
	for range 1000 {
		here.Publish(fanout.Hint{Room: "r", Seq: 1})
		there.Publish(fanout.Hint{Room: "r", Seq: 2})
	}
}

func stopped(t *testing.T, here, there fanout.Bus) {
	gone, stays := listen(there), listen(there)
	gone.awaits(t, here, fanout.Hint{Room: "r", Seq: 1})
	gone.stop()
	gone.stop() // twice does no harm
	stays.awaits(t, here, fanout.Hint{Room: "r", Seq: 2})
	if slices.Contains(gone.all(), fanout.Hint{Room: "r", Seq: 2}) {
		t.Error("a listener was called after its stop had returned")
	}
	stays.stop()
}

func sideBySide(t *testing.T, here, there fanout.Bus) {
	l := listen(here)
	defer l.stop()
	var wg sync.WaitGroup
	for i := range 8 {
		from := []fanout.Bus{here, there}[i%2]
		wg.Go(func() {
			for seq := range int64(100) {
				from.Publish(fanout.Hint{Room: "r", Seq: seq + 1})
			}
			stop := from.Listen(func(fanout.Hint) {})
			stop()
		})
	}
	wg.Wait()
	l.awaits(t, there, fanout.Hint{Room: "last", Seq: 1})
}

func closed(t *testing.T, here, _ fanout.Bus) {
	l := listen(here)
	l.awaits(t, here, fanout.Hint{Room: "r", Seq: 1})
	for range 2 {
		if err := here.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	before := len(l.all())
	here.Publish(fanout.Hint{Room: "r", Seq: 2})
	stop := here.Listen(l.hear)
	here.Publish(fanout.Hint{Room: "r", Seq: 3})
	stop()
	if after := len(l.all()); after != before {
		t.Errorf("a closed bus still carried %d hints", after-before)
	}
}

func stopAfterClose(t *testing.T, here, _ fanout.Bus) {
	l := listen(here)
	if err := here.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	l.stop()
}
