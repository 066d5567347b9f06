// Package workload makes folders for measuring the settlement: millions of delivered events with the faults of real
// feeds in known shares. Row number j of a seed is a pure function of (seed, j), so that files are made by all
// processors at once, come out the same everywhere, and can be shuffled without being held in memory.
//
// Read next: row.go (what a row is), write.go (the files).
package workload
