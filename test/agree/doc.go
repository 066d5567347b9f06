// Package agree holds the three readings of the settlement contract against each other, from outside: the settlement
// (`hapax settle`, by its files and statuses only), the audit (internal/audit) and the probe (probe/probe.mjs, run by
// Node). It owns the generator of scenarios that aim at the contract's edges, and the shrinking of those that part them.
//
// The invariant: for any folder, the three give the same report to the byte, the same malformed rows and the same status.
//
// Read next: generate.go for what is aimed at, agree_test.go for what is compared.
package agree
