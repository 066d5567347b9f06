//go:build !js

package sqlite

import (
	"fmt"
	"testing"

	"hapax/client/store"
)

// filled opens a store with rows queued.
func filled(b *testing.B, rows int) *Store {
	b.Helper()
	s := open(b, newFile(b).path, Options{})
	for at := 0; at < rows; at += 500 {
		entries := make([]store.Entry, min(500, rows-at))
		for i := range entries {
			entries[i] = benchEntry(at + i)
		}
		if _, err := s.Add(b.Context(), 0, entries); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func benchEntry(n int) store.Entry {
	return store.Entry{
		Key: store.Key{Room: "r", ID: fmt.Sprintf("%032x", n+1)}, Body: store.Body{Text: fmt.Sprintf("%0200d", n)},
		Fingerprint: fmt.Sprintf("v1:%064x", n), State: store.Queued,
	}
}

// BenchmarkAdd is one synced send beside rows that wait.
func BenchmarkAdd(b *testing.B) {
	for _, rows := range []int{0, 9000} {
		b.Run(fmt.Sprint(rows, " waiting"), func(b *testing.B) {
			s := filled(b, rows)
			n := rows
			for b.Loop() {
				n++
				e := benchEntry(n)
				if _, err := s.Add(b.Context(), 0, []store.Entry{e}); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Discard(b.Context(), e.Key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkList is what a drainer reads of a full outbox when it starts.
func BenchmarkList(b *testing.B) {
	s := filled(b, 10_000)
	for b.Loop() {
		rows, err := s.List(b.Context(), 0, 20_000)
		if err != nil || len(rows) != 10_000 {
			b.Fatal(len(rows), err)
		}
	}
}

// BenchmarkOpen is the opening of a full outbox.
func BenchmarkOpen(b *testing.B) {
	path := filled(b, 10_000).path
	for b.Loop() {
		s, err := Open(b.Context(), path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
