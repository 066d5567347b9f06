// Package export writes what the gateway judged as files of the settlement contract: a folder per currency, which settles to the online report
// (docs/spec/gateway.md, The log and the books).
//
// It reads one view of a store and holds no rule of judging. Invariant: a folder appears whole or not at all; the same view gives the same
// bytes; for each currency they settle to intake.Report of that view.
//
// The log is read twice. The first time tells what an event can't say of itself: the state that its successor found it in, which
// registrations were deleted later, which sources changed their window (scan.go). The second time writes the rows (rows.go, registry.go).
//
// Read next: export.go, scan.go, chain.go (one key's events, for people).
package export
