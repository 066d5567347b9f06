//go:build !js

package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"hapax/client/store"
	"hapax/client/store/memory"
)

// The workload: this seed does each of the eight kinds of things within so many steps, which the test makes sure of.
const (
	faultSeed  = 329
	faultSteps = 13
	faultKinds = 8
)

// day runs the workload on a disk, going on after every failure as a client does: what failed may be there or not, but
// whole, and what comes after works. It returns how many things failed.
func day(w *twin, d *disk) (failed int, err error) {
	again := func(err error) error {
		if errors.Is(err, store.ErrCorrupt) {
			return err
		}
		failed++
		d.heal()
		return nil
	}
	st, err := Open(w.ctx, "outbox.db", d.options(w.pragma))
	if err != nil {
		if err := again(err); err != nil {
			return failed, err
		}
		if st, err = Open(w.ctx, "outbox.db", d.options(w.pragma)); err != nil {
			return failed, fmt.Errorf("after a failed opening: %w", err)
		}
	}
	w.disk, w.st, w.device = d, st, st.Device()
	defer func() { w.st.Close() }()
	w.become(memory.NewMediumOf(w.device))
	for n := 0; n < faultSteps; n++ {
		step := w.step
		if w.st.closed { // closing failed: the handle is gone, its file is not
			step = w.reopen
		} else if w.st.fence == 0 {
			step = w.drain
		}
		err := step()
		if err == nil {
			continue
		}
		if err := again(err); err != nil {
			return failed, err
		}
		if w.st.closed {
			continue
		}
		fence := w.st.fence
		if err := w.settle(); err != nil {
			return failed, fmt.Errorf("after %d failures: %w", failed, err)
		}
		if fence != 0 { // the twin starts anew, so both do
			if err := errors.Join(w.st.Undrain(w.ctx), w.drain()); err != nil {
				return failed, err
			}
		}
	}
	if err := w.settle(); err == nil || errors.Is(err, errLost) {
		return failed, err
	} else if err := again(err); err != nil { // it was this reading that failed
		return failed, err
	}
	return failed, w.settle()
}

// heal lets the disk work again.
func (d *disk) heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failAt = 0
}

// TestFaultAtEveryOperation: an I/O error at the n-th operation of the disk, and a full disk from there on, for every n.
// Then the power goes, with all that wasn't synced, and what was accepted is there.
func TestFaultAtEveryOperation(t *testing.T) {
	w := newTwin(t, faultSeed)
	d := newDisk(t, nil)
	if failed, err := day(w, d); err != nil || failed != 0 {
		t.Fatalf("without faults: %d failed, %v", failed, err)
	}
	if d.ops < 200 || len(w.kinds) != faultKinds {
		t.Fatalf("the workload needs %d operations for %v", d.ops, w.kinds)
	}
	for _, fault := range []error{sqlite3.IOERR, sqlite3.FULL} {
		t.Run(fault.Error(), func(t *testing.T) {
			t.Parallel()
			stride := 1
			if testing.Short() { // as under the race detector, which slows SQLite by an order
				stride = 16
			}
			tried, noticed := 0, 0
			for n := 1; n <= d.ops; n += stride {
				tried++
				noticed += faultAt(t, n, fault)
			}
			// Reads ahead, and what a checkpoint does after a commit, may fail without anybody losing anything.
			if 3*noticed < tried {
				t.Errorf("only %d of %d were noticed", noticed, tried)
			}
		})
	}
}

// faultAt lives a day with a fault at the n-th operation, and returns 1 where it was noticed.
func faultAt(t *testing.T, n int, fault error) int {
	t.Helper()
	w := newTwin(t, faultSeed)
	d := newDisk(t, nil)
	d.failAt, d.failWith = n, fault
	failed, err := day(w, d)
	if err != nil {
		t.Fatalf("operation %d: %v", n, err)
	}
	w.power(t, d)
	return min(failed, 1)
}

// power cuts the power with all that wasn't synced, and compares.
func (w *twin) power(t *testing.T, d *disk) {
	t.Helper()
	w.before = w.after
	files := d.afterCut(rand.New(rand.NewPCG(0, 0)))
	w.disk = newDisk(t, files)
	st, err := Open(w.ctx, "outbox.db", w.disk.options(w.pragma))
	if err != nil {
		t.Fatalf("after the cut: %v", err)
	}
	defer st.Close()
	w.st = st
	if err := w.settle(); err != nil {
		t.Fatalf("after the cut: %v", err)
	}
}
