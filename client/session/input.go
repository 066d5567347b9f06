package session

import (
	"hapax/client/store"
	"hapax/protocol"
)

// Now is a moment of one clock, in ms: Wall is Unix time and may jump, Mono only rises.
type Now struct{ Wall, Mono int64 }

// Input is something that happened.
type Input interface{ input() }

// Inputs of the connection. Conn is the number that Dial gave; inputs of an earlier connection are ignored.
type (
	// Connect is the app's wish to be connected: at the start, after gave_up, or at once where the machine waits.
	Connect struct{}
	// Disconnect is its wish not to be.
	Disconnect struct{}
	// Token answers AskToken. Err tells why there is none.
	Token struct {
		Token string
		Err   error
	}
	// NewToken says that the app has another token to give: rooms held by `forbidden` and a state of auth_required end by it.
	NewToken struct{}
	// Connected says that a dial led to an open connection.
	Connected struct{ Conn int64 }
	// Wrote says that the frames up to number N were handed to the network.
	Wrote struct {
		Conn int64
		N    int64
	}
	// Received is a frame of the server.
	Received struct {
		Conn  int64
		Event protocol.Event
	}
	// Garbled is a frame that couldn't be decoded: it moves nothing, and counts.
	Garbled struct {
		Conn int64
		Err  error
	}
	// Lost ends a connection: a failed dial, a cut, or the answer to Close. Frames up to Written were handed to the network, wholly or in part.
	Lost struct {
		Conn    int64
		Written int64
		Err     error
	}
	// Visible says that the app came back to the front, or its network did: a wait to reconnect ends now, no counter goes back, and an
	// open connection is asked for a sign of life.
	Visible struct{}
)

// Inputs of the outbox.
type (
	// Send is a new row. It is stored by Add; the answer to Ticket is the store's.
	Send struct {
		Ticket      int64
		Key         store.Key
		Fingerprint string
		Size        int
	}
	// RowIs tells how the store has a row now that something other than Apply moved it: a Resend, a Retry, another process.
	RowIs struct{ Row store.Row }
	// RowGone says that a row was cancelled or discarded.
	RowGone struct{ Row store.Row }
	// Rows is a complete reading of the store's rows, after another handle changed it.
	Rows struct{ Rows []store.Row }
	// TryNow lifts the waiting times of one room; attempts stay as they are.
	TryNow struct{ Room string }
	// Unreadable says that a row's body couldn't be read for its frame, which was not written.
	Unreadable struct {
		Key    store.Key
		Reason string
	}
)

// Inputs of rooms and questions.
type (
	// Subscribe asks for a room's rows from now on. Limit is the rows of a snapshot, -1 for the server's own number.
	Subscribe struct {
		Room  string
		Limit int
	}
	// Unsubscribe ends it. What is stored stays.
	Unsubscribe struct{ Room string }
	// Forgot says that the store dropped a room's cursor with its rows.
	Forgot struct{ Room string }
	// Ask sends a status or history command, now or when there is a connection, again on the next one if that is lost, until it is answered.
	Ask struct {
		Ticket  int64
		Command protocol.Command
	}
	// Unask forgets the question.
	Unask struct{ Ticket int64 }
)

// Inputs of the store. Exactly one of them must follow a Step that returned store effects.
type (
	// Stored brings the results of all store effects of the last Step.
	Stored struct {
		Added   []store.Added  // of Add
		Results []store.Result // of Apply
		Evicted []store.Row    // of Evict
	}
	// StoreFailed says that one failed, and those after it were not tried. Added is what Add had done before.
	StoreFailed struct {
		Err   error
		Added []store.Added
	}
)

func (Connect) input()     {}
func (Disconnect) input()  {}
func (Token) input()       {}
func (NewToken) input()    {}
func (Connected) input()   {}
func (Wrote) input()       {}
func (Received) input()    {}
func (Garbled) input()     {}
func (Lost) input()        {}
func (Visible) input()     {}
func (Send) input()        {}
func (RowIs) input()       {}
func (RowGone) input()     {}
func (Rows) input()        {}
func (TryNow) input()      {}
func (Unreadable) input()  {}
func (Subscribe) input()   {}
func (Unsubscribe) input() {}
func (Forgot) input()      {}
func (Ask) input()         {}
func (Unask) input()       {}
func (Stored) input()      {}
func (StoreFailed) input() {}
