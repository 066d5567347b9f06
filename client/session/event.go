package session

import (
	"errors"

	"hapax/client/store"
	"hapax/protocol"
)

// State of the connection.
type State string

// The states of docs/spec/client.md, 4.
const (
	Offline      State = "offline"
	Connecting   State = "connecting"
	Online       State = "online"
	AuthRequired State = "auth_required"
	GaveUp       State = "gave_up"
)

// Errors that a state or a failure can carry. Test with errors.Is.
var (
	ErrWrongStore     = store.ErrWrongStore
	ErrActorMismatch  = errors.New("session: the token is another actor's")
	ErrSessionInvalid = errors.New("session: the server doesn't accept the token")
	ErrNoAnswer       = errors.New("session: no answer in time")
	ErrBroken         = errors.New("session: the store failed; nothing is sent until it is opened anew")
	ErrDraining       = errors.New("session: the server is going away")
	ErrProtocol       = errors.New("session: the server broke the protocol")
)

// Event is a hint to the app: what is true stands in the store.
type Event interface{ event() }

// The events.
type (
	// ConnectionChanged tells the connection's state. RetryIn is the time to the next try in ms, 0 where none is planned.
	ConnectionChanged struct {
		State   State
		Err     error
		RetryIn int64
	}
	// RowConfirmed says that a row is stored by the server, and gone from the outbox.
	RowConfirmed struct {
		Key       store.Key
		MessageID string
		Seq       int64
		Epoch     string
		At        int64
		Duplicate bool // the server had it already; where the row came another way than by an ack: it was sent more than once
	}
	// RowChanged says that a row was parked, became uncertain, is held or will be tried again. NextIn is the time to its next try in ms,
	// where it waits for one.
	RowChanged struct {
		Row    store.Row
		NextIn int64
	}
	// RowEvicted says that a row was dropped unasked, as it had stepped aside too long ago or too many had.
	RowEvicted struct{ Row store.Row }
	// RoomChanged says that a room's view holds more, or other rows.
	RoomChanged struct {
		Room     string
		Cursor   protocol.Cursor
		Replaced bool // by a snapshot
	}
	// RoomDenied says that the server refuses a subscription, or ended it, or refused for the second time in a row what is
	// needed to send to the room. RetryIn is the time to the next try in ms, 0 where none is planned.
	RoomDenied struct {
		Room    string
		Reason  string
		RetryIn int64
	}
	// Failed says that something of the machine failed and what it can't go on with.
	Failed struct{ Err error }
)

func (ConnectionChanged) event() {}
func (RowConfirmed) event()      {}
func (RowChanged) event()        {}
func (RowEvicted) event()        {}
func (RoomChanged) event()       {}
func (RoomDenied) event()        {}
func (Failed) event()            {}

// Stats count what a machine has seen since it was made.
type Stats struct {
	Queued, Sending, Parked, Uncertain int // rows now; Queued counts those being sent too

	Sends      int64 // send frames given out
	Acks       int64
	Retryable  int64 // retryable answers
	TimedOut   int64 // answers that didn't come
	Evicted    int64
	Drops      int64 // rows not past the cursor, dropped
	Gaps       int64 // times a room was subscribed again over a gap
	Snapshots  int64
	Garbled    int64 // frames that couldn't be decoded, or broke the protocol
	Connects   int64 // connections dialled
	ClockBacks int64 // rows mended as the clock went back
}

// Hints that a client adds to those of its machine.
type (
	// Missed says that N events were not given to a listener that was too slow. What is true stands in the store.
	Missed struct{ N int }
	// Panicked says that a listener or a handler of rows panicked. It goes on with the next event or row.
	Panicked struct{ Value any }
	// Drains says whether this client now sends what the store holds, or another handle does.
	Drains struct{ Here bool }
)

func (Missed) event()   {}
func (Panicked) event() {}
func (Drains) event()   {}
