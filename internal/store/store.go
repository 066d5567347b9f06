package store

import (
	"context"
	"errors"

	"hapax/internal/idem"
	"hapax/internal/room"
)

// Errors of every store. Others mean that the machine failed.
var (
	ErrBroken = errors.New("store: a sync failed; it must be opened anew") // after a failed commit
	ErrClosed = errors.New("store: closed")
	ErrLocked = errors.New("store: in use by another process")
	ErrNewer  = errors.New("store: written by a newer version")
	ErrDamage = errors.New("store: damaged")
	ErrFull   = errors.New("store: the disk is full")                     // with ErrAgain: nothing was stored, and what is stored can be read
	ErrAgain  = errors.New("store: the commit failed, the store goes on") // nothing may be acknowledged; later commits may succeed
)

// Identity names a store and its present history.
type Identity struct {
	Server string // random, made with the store, kept by a restore
	Epoch  string // names one history
}

// Judge says what becomes of a command. Accepted lets the store apply it.
// It is called inside the transaction, in the order of the commands, each a pointer into Batch.Commands.
type Judge func(room.Facts, *room.Command) room.Outcome

// Batch is what one commit stores. Commands are judged in their order.
type Batch struct {
	Now         int64 // Unix ms: the `at` of what is stored
	RetentionMs int64
	Commands    []room.Command
	Judge       Judge
}

// View is a consistent reading of synced rows. It is valid only inside the function that it is given to.
type View interface {
	// Result returns what is held of a key.
	Result(key idem.Key) (idem.Result, bool, error)
	// Room returns the state of a room, the zero State where nobody ever wrote to it.
	Room(name string) (room.State, error)
	// MessageID returns the messageId at a seq still in the journal.
	MessageID(name string, seq int64) (string, bool, error)
	// After returns rows with a seq above after, rising, at most limit rows, and at most maxBytes of text and data
	// (but at least one row where there is one). more says that further rows exist.
	After(name string, after int64, limit, maxBytes int) (rows []room.Message, more bool, err error)
	// Before returns the last rows with a seq below before, rising, bounded in the same way.
	Before(name string, before int64, limit, maxBytes int) (rows []room.Message, more bool, err error)
	// Rooms returns rooms by rising name (bytes), those after the given one, at most limit.
	Rooms(after string, limit int) ([]RoomHead, error)
}

// RoomHead is a room and its state.
type RoomHead struct {
	Name  string
	State room.State
}

// Policy bounds what is kept. Zero means without bound.
type Policy struct {
	ResultAgeMs  int64 // drop results older than this (retention plus a day)
	ResultRows   int64 // keep at most the last so many results of a room
	JournalAgeMs int64 // age messages out of the journal
	JournalRows  int64 // keep at most the last so many messages of a room
}

// Purged counts what a purge dropped.
type Purged struct {
	Results  int64
	Messages int64
}

// Disk is how much room there is where a store lies, in bytes.
type Disk struct {
	Free     int64
	Total    int64 // 0: it can't be told
	LowWater int64 // below so much free nothing new is stored
	Low      bool  // that is so now
}

// Stats are figures for metrics. Bytes are those on disk.
type Stats struct {
	Bytes    int64
	Messages int64 // an estimate is allowed
	Results  int64 // likewise
	Rooms    int64
}

// Store keeps rooms. All methods may be called from several goroutines.
type Store interface {
	Identity() Identity
	// Commit judges and applies a batch in one transaction. outcomes[i] answers Commands[i].
	Commit(ctx context.Context, b *Batch) (outcomes []room.Outcome, err error)
	// View calls f with a consistent reading.
	View(ctx context.Context, f func(View) error) error
	// Purge drops what the policy no longer keeps, as of now (Unix ms), in steps that don't hold up commits.
	Purge(ctx context.Context, p Policy, now int64) (Purged, error)
	// Stats is cheap enough to be asked every few seconds.
	Stats(ctx context.Context) (Stats, error)
	// Close waits for a commit under way. It is safe to call twice.
	Close() error
}
