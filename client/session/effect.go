package session

import (
	"hapax/client/store"
	"hapax/protocol"
)

// Effect is something to be done.
type Effect interface{ effect() }

// Effects on the store. They are the last of a list; see the package comment.
type (
	// Bind notes the store's owner, at its first welcome.
	Bind struct{ Owner store.Owner }
	// Add stores new rows in their order. The driver puts in the bodies.
	Add struct{ Rows []NewRow }
	// Apply stores changes in one transaction.
	Apply struct{ Changes []store.Change }
	// Evict removes the rows that have stepped aside for too long, or are too many, as of a server time.
	Evict struct{ Now int64 }
)

// NewRow is a row of Add. Its Entry has no body yet.
type NewRow struct {
	Ticket int64
	Entry  store.Entry
}

// Effects on the connection.
type (
	// AskToken asks the app for a token, to be answered by Token.
	AskToken struct{}
	// Dial opens a connection, to be answered by Connected or Lost.
	Dial struct{ Conn int64 }
	// Write sends frames in their order.
	Write struct {
		Conn   int64
		Frames []Frame
	}
	// Close ends a connection at once, also one still being dialled, to be answered by Lost.
	Close struct{ Conn int64 }
)

// Frame is a numbered frame of a connection: 1, 2, 3 … For a send, Row names the row whose body the driver puts in.
type Frame struct {
	N       int64
	Command protocol.Command
	Row     store.Row // of a send
}

// Other effects.
type (
	// Wake asks for a Step at a monotonic time at the latest; a later Wake replaces it. 0 asks for none.
	Wake struct{ At int64 }
	// Emit tells the app.
	Emit struct{ Event Event }
	// Answer answers an Ask or a Send. For a question Event is the server's frame, an ack, a page or an error; for a Send, Added is the
	// store's word. Err is set where neither could be had.
	Answer struct {
		Ticket int64
		Event  protocol.Event
		Added  store.Added
		Err    error
	}
	// Reread asks for a Rows input, read now: the store differs from what the machine knew.
	Reread struct{}
)

func (Bind) effect()     {}
func (Add) effect()      {}
func (Apply) effect()    {}
func (Evict) effect()    {}
func (AskToken) effect() {}
func (Dial) effect()     {}
func (Write) effect()    {}
func (Close) effect()    {}
func (Wake) effect()     {}
func (Emit) effect()     {}
func (Answer) effect()   {}
func (Reread) effect()   {}
