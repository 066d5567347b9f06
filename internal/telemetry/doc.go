// Package telemetry is what the server tells of itself: structured logs and Prometheus metrics on a registry of its own.
//
// It owns the metrics' names and the loggers' form. Invariant: no body of a message, no token and no key is ever logged,
// and nothing ends silently: each refusal, cut and alarm has a counter.
//
// Read next: metrics.go (the names), log.go.
package telemetry
