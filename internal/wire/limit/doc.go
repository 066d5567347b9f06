// Package limit owns admission: what a stranger may take of the server before it is known who asks, and an actor after.
//
// A connection counts for its address (an IPv4 address, or the /64 of an IPv6 one) until its first authorised request, and for its actor from
// then on; a body counts by the bytes that have arrived, an answer by the bytes that wait. What comes from loopback or from a proxy that the
// configuration names is bounded in sum only, since many stand behind it; a named proxy's header tells for whom it speaks. Invariant: everything
// here is bounded in its own memory, nothing is taken without being given back, and every close has a counter and a sampled line.
//
// Read next: client.go (whose limit it is), conn.go (connections), budget.go (bytes), slots.go (work), bucket.go (rates), body.go.
package limit
