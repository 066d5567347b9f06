// Package badnet is a network that misbehaves on purpose: a proxy in front of a room server that drops acks,
// cuts connections and delays frames, with every choice drawn from a seed.
//
// It speaks only as much WebSocket as it needs to see where a frame ends and what type it has. `hapax demo` and the
// tests of whole processes put it between clients and server. It never invents, repeats or reorders a byte of a
// connection: what it lets through is what was sent.
package badnet
