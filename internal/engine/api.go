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

// Flusher is what a Completion may be besides: it names the connection that is to be flushed after the commit's answers
// and rows have been handed over. Connections are compared by ==, so let them be pointers.
type Flusher interface {
	Flusher() Subscriber // nil: none
}

// Subscriber is a connection as the engine sees it. Its methods must not block nor call the engine: they append to a bounded
// buffer; a subscriber whose buffer is full closes itself (slow_reader) from another goroutine. Subscribers are map keys
// and compared by ==, so let them be pointers.
type Subscriber interface {
	// Actor decides which copy of a row it gets.
	Actor() string
	// Rows hands over live rows of a room in the order of seq. The encoded forms are shared by all subscribers and
	// must not be changed, nor rows kept.
	Rows(name string, rows []Row)
	// Flush is called once after a commit's completions and rows have been handed over, if anything was. Rows read from the
	// store are flushed by themselves, so it may be called with nothing new.
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

// Page bounds the rows of an answer beside the engine's own bounds. The zero Page asks for no rows where none are owed.
type Page struct {
	Rows  int // below 0: the most
	Bytes int // of the rows as encoded, though always one row; 0: the most
}

// Whole is the largest page.
var Whole = Page{Rows: -1}

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
	// Send queues a command. The completion is called before Send returns only where the command isn't queued: the queue is full
	// or draining, the store is down, the actor is over its look-ups.
	Send(cmd room.Command, done Completion)
	// Status looks a key up: Duplicate (with the result), NotFound, OutcomeUnknown, RateLimited, Unavailable, or InProgress
	// where a send of that key is under way and isn't decided in time.
	Status(ctx context.Context, key idem.Key, sentAt int64) room.Outcome
	// Subscribe answers a cursor (nil: none) and, unless Catchup.More, joins the live stream in the same step: deliver
	// is called with the answer exactly once before any row of the room reaches sub. A second Subscribe of the same room
	// stops its live rows first. Page.Rows counts for a snapshot only. After an error (ErrUnavailable, ErrBehind,
	// ErrUnsubscribed, ctx's) sub isn't subscribed, and deliver wasn't called.
	Subscribe(ctx context.Context, sub Subscriber, name string, c *Cursor, p Page, deliver func(Catchup)) error
	// Unsubscribe stops live rows. After it returns no row of the room reaches sub.
	Unsubscribe(sub Subscriber, name string)
	// Leave drops the subscriber from all rooms.
	Leave(sub Subscriber)
	// History returns rows below before, rising.
	History(ctx context.Context, name string, before int64, p Page) (rows []room.Message, more bool, err error)
	// Read answers a cursor once, as Subscribe would, without joining the live stream (for HTTP).
	Read(ctx context.Context, name string, c *Cursor, p Page) (Catchup, error)
	// List returns rooms by rising name (bytes), those after the given one, at most limit.
	List(ctx context.Context, after string, limit int) ([]RoomHead, error)
	// Identity is told in each welcome.
	Identity() Identity
	// Failed is closed once the store can't go on (a failed commit or sync): from then on every command is answered
	// Unavailable, and the process is to end so that the store is opened anew.
	Failed() <-chan struct{}
}
