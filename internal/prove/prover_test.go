package prove

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hapax/internal/anchor"
	"hapax/internal/gateway"
	"hapax/internal/store"
)

// headOf is the head of the log.
func headOf(t *testing.T, d *direct) (h gateway.Head) {
	t.Helper()
	if err := d.ViewBooks(t.Context(), func(v store.BooksView) error { h = v.Head(); return nil }); err != nil {
		t.Fatal(err)
	}
	return h
}

// running starts a Prover; end stops it and waits.
func running(t *testing.T, d *direct, o Options) (p *Prover, end func()) {
	o.Books, o.Log = d, quiet()
	p = New(o)
	p.Tell()
	if _, blocked := p.Blocked(); !blocked {
		t.Error("not blocked before anything was checked")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	synctest.Wait()
	return p, func() { cancel(); <-done }
}

func TestTheLogIsProvedAtTheStartAndEverySoOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := filled(t, 10)
		p, end := running(t, d, Options{Every: time.Hour})
		defer end()
		if reason, blocked := p.Blocked(); blocked || p.Failed() {
			t.Fatal(reason)
		}
		first := headOf(t, d)
		if pr := first.Proof; !pr.OK || pr.Number != first.Number || pr.Hash != first.Hash || pr.Events != 10 || pr.At != time.Now().UnixMilli() {
			t.Fatalf("%+v", pr)
		}
		d.enter(t, event(11))
		time.Sleep(time.Hour - time.Second)
		synctest.Wait()
		if h := headOf(t, d); h.Proof.Number != first.Number {
			t.Error("proved before it is time")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if h := headOf(t, d); h.Proof.Number != h.Number || h.Proof.Events != 11 {
			t.Errorf("not proved after an hour: %+v", h.Proof)
		}
	})
}

func TestAfterARestartTheTailIsChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := filled(t, 10)
		_, end := running(t, d, Options{Every: time.Hour})
		end()
		proved := headOf(t, d).Proof
		for i := range 5 {
			d.enter(t, event(20+i))
		}
		p, end := running(t, d, Options{Every: time.Hour})
		if reason, blocked := p.Blocked(); blocked {
			t.Error(reason)
		}
		end()
		if h := headOf(t, d); h.Proof.Number != proved.Number {
			t.Error("a good tail is no full proof")
		}
		d.twist(flip(headOf(t, d).Number))
		p, end = running(t, d, Options{Every: time.Hour})
		defer end()
		if reason, blocked := p.Blocked(); !blocked || !p.Failed() || !strings.Contains(reason, "record ") {
			t.Errorf("%q, %t", reason, blocked)
		}
		if h := headOf(t, d); h.Proof.OK || len(h.Proof.Issues) == 0 {
			t.Errorf("%+v", h.Proof)
		}
	})
}

func TestAFailedProofBlocksUntilOneSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := filled(t, 10)
		d.twist(flip(4))
		var told []bool
		p, end := running(t, d, Options{Every: time.Hour, Changed: func(_ string, blocked bool) { told = append(told, blocked) }})
		if reason, blocked := p.Blocked(); !blocked || !p.Failed() || !strings.Contains(reason, "record 4: ") {
			t.Errorf("%q, %t", reason, blocked)
		}
		end()
		// A failed proof is remembered: a restart doesn't open the gateway.
		p, end = running(t, d, Options{Every: time.Hour})
		defer end()
		if _, blocked := p.Blocked(); !blocked {
			t.Error("open after a restart")
		}
		d.twist(nil)
		time.Sleep(retryEvery)
		synctest.Wait()
		if reason, blocked := p.Blocked(); blocked || p.Failed() {
			t.Errorf("still blocked: %s", reason)
		}
		if len(told) != 2 || !told[0] || !told[1] {
			t.Errorf("told %v", told)
		}
	})
}

func TestAMachineThatFailsIsNoProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := filled(t, 3)
		sick := errors.New("the disk is away")
		d.fail.Store(&sick)
		p, end := running(t, d, Options{Every: time.Hour})
		defer end()
		if _, blocked := p.Blocked(); !blocked || p.Failed() {
			t.Error("open, or a proof that failed")
		}
		d.fail.Store(nil)
		time.Sleep(retryEvery)
		synctest.Wait()
		if reason, blocked := p.Blocked(); blocked {
			t.Error(reason)
		}
	})
}

func TestTheHeadIsAnchoredEveryMinuteAndAtTheEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "anchor")
	synctest.Test(t, func(t *testing.T) {
		d := filled(t, 3)
		_, end := running(t, d, Options{Every: time.Hour, Anchor: file})
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Error("anchored at once:", err)
		}
		time.Sleep(10*time.Minute + time.Second) // nothing changes: one line
		synctest.Wait()
		first := headOf(t, d)
		d.enter(t, event(4))
		end()
		last := headOf(t, d)
		heads, err := anchor.Read(file)
		if err != nil || len(heads) != 2 || heads[0].Number != first.Number || heads[0].Hash != first.Hash || heads[1].Number != last.Number || heads[1].Hash != last.Hash {
			t.Errorf("%+v, %v", heads, err)
		}
	})
}

func TestAProofKeepsItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := steps(2560) // a tenth of a second for each 256 records
		began := time.Now()
		for range 50 {
			if err := step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("50 steps took %v", took)
		}
		time.Sleep(time.Minute) // held up: no rush to make it good
		began = time.Now()
		for range 11 {
			_ = step(t.Context())
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("11 steps after a pause took %v", took)
		}
		if steps(0) != nil {
			t.Error("a pace of none")
		}
	})
}

// flip shows a record with one bit changed.
func flip(number int64) func(store.BooksView) store.BooksView {
	return func(v store.BooksView) store.BooksView { return flipped{v, number} }
}

type flipped struct {
	store.BooksView
	number int64
}

func (f flipped) spoil(number int64, raw []byte) []byte {
	if number == f.number && raw != nil {
		raw = bytes.Clone(raw)
		raw[len(raw)-1] ^= 1
	}
	return raw
}

func (f flipped) Record(number int64) ([]byte, error) {
	raw, err := f.BooksView.Record(number)
	return f.spoil(number, raw), err
}

func (f flipped) Records(after int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		number := after
		for raw, err := range f.BooksView.Records(after) {
			number++
			if !yield(f.spoil(number, raw), err) {
				return
			}
		}
	}
}

// TestManyRecordsAreCheckedAtOnce: under load the records that a start after a crash has to check are bounded by number too.
func TestManyRecordsAreCheckedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := filled(t, 10)
		_, end := running(t, d, Options{Every: 6 * time.Hour})
		defer end()
		var many []gateway.Command
		for i := range checkRecords {
			many = append(many, event(20+i))
		}
		d.enter(t, many[:checkRecords-1]...)
		time.Sleep(lookEvery)
		synctest.Wait()
		if h := headOf(t, d); h.Checked.Number != 0 {
			t.Errorf("checked before there are so many: %+v", h.Checked)
		}
		d.enter(t, many[checkRecords-1])
		time.Sleep(lookEvery)
		synctest.Wait()
		if h := headOf(t, d); h.Checked.Number != h.Number {
			t.Errorf("not checked: %+v", h)
		}
	})
}

// TestAStartGoesOnFromTheLastCheck: what came is checked every few minutes and at a clean stop, and the next start looks at nothing twice.
func TestAStartGoesOnFromTheLastCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := filled(t, 10)
		p, end := running(t, d, Options{Every: 6 * time.Hour})
		d.enter(t, event(11))
		time.Sleep(checkEvery + time.Second)
		synctest.Wait()
		if h := headOf(t, d); h.Checked.Number != h.Number || h.Checked.Hash != h.Hash || h.Proof.Number == h.Number {
			t.Errorf("after some minutes: %+v", h)
		}
		d.enter(t, event(12))
		if err := p.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		end()
		if h := headOf(t, d); h.Checked.Number != h.Number {
			t.Errorf("after a clean stop: %+v", h)
		}
		p = New(Options{Books: d, Log: quiet()})
		if proof, err := p.tail(t.Context()); err != nil || !proof.OK() || proof.Records != 0 {
			t.Errorf("%+v %v", proof, err)
		}
	})
}

// TestAProofOfTheFutureDoesntPutProofsOff: where the stored moment lies ahead of the clock, the next proof comes after one interval.
func TestAProofOfTheFutureDoesntPutProofsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := filled(t, 10)
		_, end := running(t, d, Options{Every: time.Hour})
		end()
		proof := headOf(t, d).Proof
		proof.At += (100 * 365 * 24 * time.Hour).Milliseconds()
		if _, err := d.Enter(t.Context(), &gateway.Proven{Proof: proof}); err != nil {
			t.Fatal(err)
		}
		_, end = running(t, d, Options{Every: time.Hour})
		defer end()
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		if h := headOf(t, d); h.Proof.At > time.Now().UnixMilli() {
			t.Errorf("not proved after an interval: %+v", h.Proof)
		}
	})
}

// TestWhatFailsItsCheckIsNotedAsNothing: else the next start would go on behind it.
func TestWhatFailsItsCheckIsNotedAsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := filled(t, 10)
		p, end := running(t, d, Options{Every: time.Hour})
		defer end()
		d.enter(t, event(11))
		before := headOf(t, d)
		d.twist(flip(before.Number))
		if err := p.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if h := headOf(t, d); h.Checked != before.Checked {
			t.Errorf("a record that isn't what the head says: %+v", h.Checked)
		}
		d.twist(nil)
		if err := p.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if h := headOf(t, d); h.Checked.Number != before.Number {
			t.Errorf("once it is good: %+v", h.Checked)
		}
	})
}
