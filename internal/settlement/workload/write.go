package workload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// batchRows is how many rows a worker makes at a time.
const batchRows = 8192

// Write makes policy.tsv, dedupe.tsv and events.tsv in dir, which is made where it is missing. Files that are there
// are replaced.
func Write(ctx context.Context, dir string, s Shape) error {
	if s.Events == 0 || s.Keys == 0 || s.Tenants == 0 {
		return fmt.Errorf("need at least one event, one key and one tenant")
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	policy := fmt.Sprintf("BLOCK_WINDOW_S\t%d\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t%d\n", windowS, minLedgerHits)
	if err := os.WriteFile(filepath.Join(dir, "policy.tsv"), []byte(policy), 0o666); err != nil {
		return err
	}
	if err := writeRows(ctx, filepath.Join(dir, "dedupe.tsv"), s.Keys, s.appendRegistration); err != nil {
		return err
	}
	return writeRows(ctx, filepath.Join(dir, "events.tsv"), s.Events, func(dst []byte, i uint64) []byte {
		return s.appendEvent(dst, s.place(i))
	})
}

// writeRows makes batches of rows in several goroutines and writes them in order.
func writeRows(ctx context.Context, path string, rows uint64, appendRow func(dst []byte, i uint64) []byte) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}()
	group, ctx := errgroup.WithContext(ctx)
	type batch struct {
		first uint64
		made  chan []byte
	}
	workers := runtime.GOMAXPROCS(0)
	todo, inOrder := make(chan batch), make(chan batch, 2*workers)
	group.Go(func() error {
		defer close(todo)
		defer close(inOrder)
		for first := uint64(0); first < rows; first += batchRows {
			b := batch{first: first, made: make(chan []byte, 1)}
			for _, to := range []chan batch{inOrder, todo} {
				select {
				case to <- b:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		return nil
	})
	for range workers {
		group.Go(func() error {
			for b := range todo {
				var text []byte
				for i := b.first; i < min(b.first+batchRows, rows); i++ {
					text = appendRow(text, i)
				}
				b.made <- text
			}
			return nil
		})
	}
	group.Go(func() error {
		for b := range inOrder {
			select {
			case text := <-b.made:
				if _, err := file.Write(text); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return group.Wait()
}
