package workload

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func rows(t *testing.T, s Shape, name string) []string {
	t.Helper()
	dir := t.TempDir()
	if err := Write(context.Background(), dir, s); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(data, []byte("\n")) {
		t.Fatal("no last newline")
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

var shape = Shape{Events: 60_000, Keys: 200_000, Tenants: 100, Seed: 7}

// TestShares counts what the help of `hapax settle generate` promises.
func TestShares(t *testing.T) {
	registered := map[string]bool{}
	tenants := map[string]bool{}
	for _, row := range rows(t, shape, "dedupe.tsv") {
		c := strings.Split(row, "\t")
		for _, name := range c[:3] {
			if len(name) < 20 || len(name) > 40 {
				t.Fatalf("%q has %d bytes", name, len(name))
			}
		}
		registered[strings.Join(c[:3], "\t")] = true
		tenants[c[0]] = true
	}
	if len(registered) != int(shape.Keys) || len(tenants) != int(shape.Tenants) {
		t.Errorf("%d keys of %d tenants", len(registered), len(tenants))
	}
	seen, last := map[string]bool{}, ""
	unknown, late, repeats := 0, 0, 0
	for _, row := range rows(t, shape, "events.tsv") {
		c := strings.Split(row, "\t")
		key := strings.Join(c[1:4], "\t")
		if !registered[key] {
			unknown++
		}
		if c[5] < last {
			late++
		} else {
			last = c[5]
		}
		if seen[key] {
			repeats++
		}
		seen[key] = true
	}
	for name, share := range map[string][3]int{"unknown keys": {unknown, 3, 7}, "late rows": {late, 7, 13}, "repeats": {repeats, 250, 450}} {
		if permille := share[0] * 1000 / int(shape.Events); permille < share[1] || permille > share[2] {
			t.Errorf("%d ‰ %s, want %d to %d", permille, name, share[1], share[2])
		}
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	small := Shape{Events: 20_000, Keys: 500, Tenants: 3, Seed: 1}
	first := strings.Join(rows(t, small, "events.tsv"), "\n")
	if again := strings.Join(rows(t, small, "events.tsv"), "\n"); again != first {
		t.Error("the same seed gives other rows")
	}
	small.Seed = 2
	if other := strings.Join(rows(t, small, "events.tsv"), "\n"); other == first {
		t.Error("another seed gives the same rows")
	}
}

// TestShuffleMovesRowsOnly: every row is there once, hardly one in its place.
func TestShuffleMovesRowsOnly(t *testing.T) {
	for _, events := range []uint64{1, 2, 5, 4096, 10_001} {
		s := Shape{Events: events, Shuffle: true, Seed: 3}
		met := make([]bool, events)
		fixed := 0
		for i := range events {
			at := s.place(i)
			if met[at] {
				t.Fatalf("%d events: row %d stands twice", events, at)
			}
			met[at] = true
			if at == i {
				fixed++
			}
		}
		if events > 100 && fixed > 10 {
			t.Errorf("%d events: %d rows stay", events, fixed)
		}
	}
}

func TestNothingToMake(t *testing.T) {
	for _, s := range []Shape{{Keys: 1, Tenants: 1}, {Events: 1, Tenants: 1}, {Events: 1, Keys: 1}} {
		if err := Write(context.Background(), t.TempDir(), s); err == nil {
			t.Errorf("%+v is made", s)
		}
	}
}
