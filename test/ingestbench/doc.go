// Command ingestbench measures ingest over HTTP with HMAC, durable before each answer, paired in one run with the naive way: the same handler, with a row
// a transaction in PostgreSQL (`synchronous_commit=on`, `INSERT … ON CONFLICT`) in the place of the books, on the same disk. The load
// generator is part of the process and of the figure.
//
// Both keep the event and its body and tell a repeat from a first delivery. The books keep a hash chain, sums per currency and the ledger
// besides; the naive way doesn't, which is in its favour.
//
// It brings PostgreSQL up by itself, from the programs that Debian's package postgresql installs, in a temporary folder and on a Unix
// socket. `make bench-ingest` runs it; let nothing else run meanwhile.
//
// Read next: main.go (the pairs), load.go (the generator), naive.go and postgres.go (what it is held against).
package main
