package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"hapax/internal/room"
	"hapax/internal/store"
)

// viewsAreWholeCommits reads while others write and purge: each commit puts a row into both rooms, so a view that shows
// different heads saw half of one; and within a view all ways of reading agree.
func viewsAreWholeCommits(t *testing.T, p Place) {
	k := open(t, p)
	const commits, keep = 150, 20
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			last := int64(0)
			for {
				err := k.s.View(context.Background(), func(v store.View) error {
					var err error
					last, err = checkView(v, last)
					return err
				})
				if err != nil {
					t.Errorf("view: %v", err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	wg.Go(func() {
		for {
			if _, err := k.s.Purge(context.Background(), store.Policy{JournalRows: keep, ResultRows: 2 * keep}, 2*Start); err != nil {
				t.Errorf("purge: %v", err)
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for i := range commits {
		id := fmt.Sprint("id", i)
		out, err := k.s.Commit(t.Context(), &store.Batch{Now: Start + int64(i), RetentionMs: Retention, Judge: room.Decide, Commands: []room.Command{Send("a", "ann", id, id), Send("b", "ann", id, id)}})
		if err != nil || out[0].Result.Seq != int64(i+1) || out[1].Result.Seq != int64(i+1) {
			t.Errorf("commit %d: %+v, %v", i, out, err)
			break
		}
		if st := k.state("a"); st.Head != int64(i+1) {
			t.Errorf("an acknowledged row can't be read: head %d, want %d", st.Head, i+1)
		}
	}
	close(stop)
	wg.Wait()
}

func checkView(v store.View, last int64) (int64, error) {
	a, errA := v.Room("a")
	b, errB := v.Room("b")
	rows, more, errRows := v.After("a", 0, 1<<20, 1<<30)
	tail, _, errTail := v.Before("a", a.Head+1, 5, 1<<30)
	if err := errors.Join(errA, errB, errRows, errTail); err != nil {
		return last, err
	}
	switch {
	case a.Head != b.Head:
		return last, fmt.Errorf("heads %d and %d of one commit", a.Head, b.Head)
	case a.Head < last:
		return last, fmt.Errorf("head %d after %d", a.Head, last)
	case more || int64(len(rows)) != a.Head-a.Low:
		return last, fmt.Errorf("%d rows between low %d and head %d", len(rows), a.Low, a.Head)
	}
	for i, m := range rows {
		if m.Seq != a.Low+int64(i)+1 {
			return last, fmt.Errorf("row %d at place %d above low %d", m.Seq, i, a.Low)
		}
	}
	if len(tail) > 0 && (tail[len(tail)-1].MessageID != a.HeadID || rows[len(rows)-1].MessageID != a.HeadID) {
		return last, errors.New("the last row isn't the head")
	}
	return a.Head, nil
}

// commitsFromManyGoroutines: every goroutine sends the same ids, so that each key is first somewhere and a duplicate elsewhere.
func commitsFromManyGoroutines(t *testing.T, p Place) {
	k := open(t, p)
	const writers, sends = 6, 40
	seqs := make([][sends]int64, writers)
	firsts := make([]int, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range sends {
				n := (i + w*7) % sends
				out, err := k.s.Commit(context.Background(), &store.Batch{Now: Start, RetentionMs: Retention, Judge: room.Decide, Commands: []room.Command{Send("r", "ann", fmt.Sprint("id", n), "x")}})
				if err != nil {
					t.Errorf("commit: %v", err)
					return
				}
				if out[0].Kind == room.Accepted {
					firsts[w]++
				}
				seqs[w][n] = out[0].Result.Seq
			}
		})
	}
	wg.Wait()
	total := 0
	for w := range writers {
		total += firsts[w]
		if seqs[w] != seqs[0] {
			t.Errorf("writers 0 and %d were told different seqs", w)
		}
	}
	if total != sends {
		t.Errorf("%d firsts of %d keys", total, sends)
	}
	if st := k.state("r"); st.Head != sends {
		t.Errorf("head %d, want %d", st.Head, sends)
	}
}
