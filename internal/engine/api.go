package engine

import (
	"context"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
)

// Completion gets the answer to one command.
type Completion interface {
	// Complete is called exactly once, from the engine's goroutine, in the order of the commit. It must not
	// block: it appends to a buffer.
	Complete(room.Outcome)
}

// Subscriber is a connection as the engine sees it. Its methods must not block: they append to a bounded buffer;
// a subscriber whose buffer is full closes itself (slow_reader).
type Subscriber interface {
	// Actor decides which copy of a row it gets.
	Actor() string
	// Rows hands over live rows of a room in the order of seq. The encoded forms are shared by all subscribers and
	// must not be changed.
	Rows(name string, rows []Row)
	// Flush is called once after a commit's completions and rows have been handed over, if anything was.
	Flush()
}

// Row is a committed row with its frames, encoded at most twice: with the clientMessageId for its author, and without for others.
type Row struct {
	room.Message
	Own    []byte // a whole `message` frame (JSON) for the author
	Others []byte // the same without clientMessageId
}

// Catchup is the answer to a subscribe.
type Catchup struct {
	Reset    bool // a snapshot: the reader replaces its view; else a delta
	Alarm    bool // the cursor could not have been right
	Epoch    string
	Head     int64
	HeadID   string
	Messages []room.Message
	More     bool // delta only: nothing live follows until the reader asks again
}

// Cursor is a reader's position; see protocol.Cursor.
type Cursor = room.Cursor

// Identity names the store and its present history; RoomHead is a room and its state. The wire imports no store, so
// it knows them by these names.
type (
	Identity = store.Identity
	RoomHead = store.RoomHead
)

// Rooms is what the wire needs of the engine. *Engine is the implementation.
type Rooms interface {
	// Send queues a command. The completion may be called before Send returns only where the engine is down.
	Send(cmd room.Command, done Completion)
	// Status looks a key up: Duplicate (with the result), NotFound, OutcomeUnknown, RateLimited, Unavailable.
	Status(ctx context.Context, key idem.Key, sentAt int64) room.Outcome
	// Subscribe answers a cursor (nil: none) and, unless Catchup.More, joins the live stream in the same step: deliver
	// is called with the answer exactly once before any row of the room reaches sub. A second Subscribe of the same room
	// stops its live rows first.
	Subscribe(ctx context.Context, sub Subscriber, name string, c *Cursor, limit int, deliver func(Catchup)) error
	// Unsubscribe stops live rows. After it returns no row of the room reaches sub.
	Unsubscribe(sub Subscriber, name string)
	// Leave drops the subscriber from all rooms.
	Leave(sub Subscriber)
	// History returns rows below before, rising.
	History(ctx context.Context, name string, before int64, limit int) (rows []room.Message, more bool, err error)
	// Read answers a cursor once, as Subscribe would, without joining the live stream (for HTTP).
	Read(ctx context.Context, name string, c *Cursor, limit int) (Catchup, error)
	// List returns rooms by rising name (bytes), those after the given one, at most limit.
	List(ctx context.Context, after string, limit int) ([]RoomHead, error)
	// Identity is told in each welcome.
	Identity() Identity
	// Failed is closed once the store can't go on (a failed commit or sync): from then on every command is answered
	// Unavailable, and the process is to end so that the store is opened anew.
	Failed() <-chan struct{}
}
