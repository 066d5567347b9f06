// Package session is the client's mind: a single-threaded machine that decides what a client does next. Given what
// happened (a tick, a frame, a lost connection, a stored row) it says what to do (store this, write that, dial, wake me
// then). It knows no clock, disk, network, goroutine or source of randomness: all of them come in as values.
//
// It owns the life of an outbox row between the store and the wire, the connection's states and delays, and what a room's
// view holds without a gap. It owns no bytes: a row's body never passes through it.
//
// # How it is driven
//
// Step(now, inputs...) returns effects, to be carried out in their order. Store effects (Bind, Add, Apply, Evict) come
// last in a list: the next Step must bring their result as Stored or StoreFailed, and only then does the machine give out
// what depended on them. So nothing leaves before it is stored, and a crash between any two effects is a
// case that the next start handles.
//
// # Invariants
//
//   - An attempt and first_sent_at are stored before the frame leaves.
//   - A row leaves the outbox only by an ack, by its own content arriving with a seq, or by the app's word.
//   - Rows of a room go in order: none is sent while an earlier one waits.
//   - A cursor moves by rows only, in the transaction that stores them.
//   - The same inputs, moments and random numbers give the same effects.
//
// Read next: input.go and effect.go (the border), machine.go (Step), pump.go (which row goes next), window.go (how many), answer.go (the
// table of docs/spec/client.md, 3), flight.go (rows in doubt), connect.go (the connection's states), token.go, view.go and place.go (rooms).
package session
