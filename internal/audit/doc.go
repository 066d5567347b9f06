// Package audit recomputes the books from the input files and holds a report against them: `hapax health`.
//
// It owns its own reading of the contract (docs/spec/contract.md): own line rules, own grammar, own judging, own
// money, own JSON. It imports the standard library and nothing of Hapax, so that a fault in the settlement can't
// hide in code that both share; a test over imports keeps it so.
//
// Its style differs on purpose. The settlement folds events one by one in the order of time. The audit loads
// everything into columns, groups the rows by key, sorts and judges each key's chain on its own, and puts the
// report together at the end: a key's decisions depend on no other key, which is what makes this legal.
//
//	policy → registry → opening ┐
//	                            ├→ chains by key → tallies → ledger → fields ─┐
//	events (parsed in parallel) ┘                                             ├→ verdict
//	report.json (strict JSON) ────────────────────────────────────────────────┘
//
// The invariant: the same files give the same fields, byte for byte, whatever the number of processors; and what
// can't be read is an error, never a figure.
//
// Read next: health.go, recompute.go, chain.go.
package audit
