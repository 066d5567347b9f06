// Package prove holds a gateway's log against itself while the server runs (docs/spec/gateway.md, Proof). It shows the independent audit what a
// store holds, paces it, and keeps the result; it judges nothing.
//
// It owns when proofs run and what blocks the gateway. Invariants: nothing is let in before the records since the last proof have been
// checked; a failed proof blocks until one succeeds; a machine that can't be read is no proof, neither good nor bad.
//
// How serve wires it, where a gateway is configured:
//
//	p := prove.New(prove.Options{Books: intake, Log: log, Every: c.Gateway.Proof.Every, Pace: c.Gateway.Proof.Pace, Anchor: c.Gateway.Anchor,
//		Changed: func(reason string, blocked bool) { health.Down("proof", reason) or health.Up("proof") }})
//	go p.Run(ctx)             // returns once ctx ends and the last head has been anchored: end ctx when the intake has drained, wait for it, then close the store
//	reason, blocked := p.Blocked() // asked for each delivery: ingest answers 503 while blocked
//	p.Failed()                // at the end: serve exits 1 where the last proof failed
//
// Read next: prover.go (when), once.go (a proof), stated.go (what is shown to the audit).
package prove
