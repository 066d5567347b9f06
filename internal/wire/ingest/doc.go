// Package ingest takes deliveries of upstreams over HTTP (docs/spec/gateway.md, Sources and Ingest): it finds the source, checks the
// signature over the raw bytes, reads key, amount and the rest, hands the events to the intake, and answers with what became of them.
//
// It owns what a source is (Source, Compile), the schemes of verification, the reading of bodies, and the table of problems. Invariant: a
// request that is refused changes no state; one that is answered with a decision has been synced; and no answer, log line or metric tells a tenant
// of another one, nor whoever can't sign that a source exists.
//
// Read next: source.go (what is configured), server.go and delivery.go (the way of a request), event.go (how one event is read), verify.go, problem.go.
package ingest
