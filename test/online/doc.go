// Package online shows that the gateway and the batch are one rule with two doors (docs/spec/gateway.md): random streams of deliveries go into
// a store, with registry changes, late and early clocks, raised times, mismatches, several currencies, deliveries that finish midway, replays,
// changes of a source's window, deletions, restarts and power cuts between them; what is exported is then settled by the settlement, by the audit
// and by the probe, and each gives the online report of each currency to the byte, and so the checksum.
//
// Each log is also proved by the audit, whole and in shares, and its tail from a point midway.
//
// Read next: world.go (a store and its troubles), stream.go (what happens), online_test.go (what must hold).
package online
