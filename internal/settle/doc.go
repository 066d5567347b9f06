// Package settle owns the rule of the settlement contract (docs/spec/contract.md): how one event is judged,
// what a decision does to the books, and the exact bytes of the report.
//
// It is pure: no clock, disk, network, lock or logger. The batch run over files (internal/settlement) and the
// online gateway call the same Judge and the same folds, so that an export settles to the online figures.
//
// Invariant: the outcome of an event depends on the policy, the standing registration of its key, and the
// key's predecessor, and on nothing else. Keys are therefore independent of each other: a caller may judge
// them in any interleaving as long as each key's own events come in the order of (seen_at, seq, place).
//
// Money is exact: whole units and hundred-millionths as integers, never binary floating point.
//
// Read next: judge.go (the rule), book.go (the folds), report.go (the bytes).
package settle
