// Package bench measures a server for anybody, on the machine where it runs: durable sends through the engine against a plain
// synced log, sends through WebSocket, fan-out, the memory of idle connections, and the rate with many keys stored.
//
// It owns the load generator (raw clients that do as little as they can, so that the server is measured and not they) and the
// figures. Invariant: a ratio is of two measurements made one after the other in one run, and what is shown is the median
// of several such pairs; every send counted was acknowledged as first, every row counted arrived in order.
//
// Read next: plan.go and measures.go (what is measured), client.go, window.go (the load), result.go (the figures).
package bench
