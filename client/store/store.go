package store

import (
	"context"
	"errors"

	"hapax/client/ids"
	"hapax/protocol"
)

// Errors of every store. Test with errors.Is. Others mean that the machine failed (disk full, I/O).
var (
	ErrClosed          = errors.New("store: closed")
	ErrCorrupt         = errors.New("store: damaged; nothing was changed")
	ErrIncompatible    = errors.New("store: written by a newer version; Reset makes it usable")
	ErrWrongStore      = errors.New("store: belongs to another actor or server")
	ErrUnowned         = errors.New("store: it holds rows that name no actor; only the app can say whose they are")
	ErrWrongKey        = errors.New("store: its bodies are encrypted with another key")
	ErrNotEncrypted    = errors.New("store: it holds bodies that are not encrypted, and a key was given")
	ErrBusy            = errors.New("store: another process holds its lock")
	ErrDraining        = errors.New("store: another handle drains it")
	ErrFenced          = errors.New("store: this handle no longer drains it")
	ErrNoRow           = errors.New("store: no such row in the outbox")
	ErrMayHaveBeenSent = errors.New("store: the row may have been sent")
	ErrInFlight        = errors.New("store: the row is being sent")
	ErrUnreadable      = errors.New("store: the row can't be read and was set aside")
	ErrBadChange       = errors.New("store: not a valid change")
)

// Limits bound what a store keeps (docs/spec/client.md, 3). The zero value of a field means its default.
type Limits struct {
	Queued   int   // rows queued or sending; 10,000, so that an outage can't fill the disk
	Aside    int   // rows parked or uncertain together; 1,000
	AsideAge int64 // ms of server time that such a row lives; 7 days

	// RoomRows and RoomBytes bound the messages kept of each room, the newest ones staying; negative: no bound. By default a memory
	// store keeps 10,000 rows and 16 MiB of each, as it would grow without end, and a file keeps all.
	RoomRows  int
	RoomBytes int64
	// Receipts is how many receipts of confirmed rows are kept, the last ones; by default 100,000, ten times a full outbox.
	Receipts int
}

// DefaultRoomRows and DefaultRoomBytes bound a room in a memory store.
const (
	DefaultRoomRows  = 10_000
	DefaultRoomBytes = 16 << 20
)

// Size is what a message counts in Limits.RoomBytes: its content and names, and an allowance for what keeps it.
func (m *Message) Size() int64 {
	return int64(len(m.Text)+len(m.Data)+len(m.Actor)+len(m.MessageID)+len(m.ClientMessageID)) + 256
}

// DefaultLimits are those of docs/spec/client.md.
var DefaultLimits = Limits{Queued: 10_000, Aside: 1_000, AsideAge: 7 * 24 * 3600 * 1000, Receipts: 100_000}

// OrDefault fills the zero fields.
func (l Limits) OrDefault() Limits {
	if l.Queued == 0 {
		l.Queued = DefaultLimits.Queued
	}
	if l.Receipts == 0 {
		l.Receipts = DefaultLimits.Receipts
	}
	if l.Aside == 0 {
		l.Aside = DefaultLimits.Aside
	}
	if l.AsideAge == 0 {
		l.AsideAge = DefaultLimits.AsideAge
	}
	return l
}

// Owner is to whom a store belongs. The zero Owner is that of a store that is nobody's yet.
type Owner struct {
	Actor  string
	Server string // the welcome's `server`; "" for a store that was opened for the actor and had no welcome yet
}

// Is reports whether what a welcome says is the owner, where the store knows one.
func (o Owner) Is(welcome Owner) bool {
	return (o.Actor == "" || o.Actor == welcome.Actor) && (o.Server == "" || o.Server == welcome.Server)
}

// Claimant is what an app says of itself when it opens a store that outlives its process (docs/spec/client.md, 2).
type Claimant struct {
	// Actor is whom the app is signed in as. A store of another one is refused with ErrWrongStore before anything of it is read or
	// written, also without a network; one that is nobody's is this actor's from then on. "": the owner is compared at the first
	// welcome, and rows that were there before and name nobody are not sent (ErrUnowned).
	Actor string
	// Claim takes a store whose rows are nobody's: without it that is ErrUnowned, as they may be another actor's.
	Claim bool
}

// Notes judges whether the actor is to be noted, as the store is nobody's yet. ErrWrongStore, ErrUnowned.
func (c Claimant) Notes(o Owner, rows bool) (bool, error) {
	switch {
	case c.Actor == "" || c.Actor == o.Actor:
		return false, nil
	case o.Actor != "":
		return false, ErrWrongStore
	case rows && !c.Claim:
		return false, ErrUnowned
	}
	return true, nil
}

// Report tells what opening a store found and did.
type Report struct {
	Created  bool // the store was made by this opening
	From, To int  // schema versions before and after
	SetAside int  // unreadable rows that this opening set aside
}

// Counts are figures of an outbox.
type Counts struct {
	Queued    int   // including those being sent
	Sending   int   // of them, being sent
	Parked    int   // with a reason
	Uncertain int   // may have been accepted; never re-sent unasked
	SetAside  int   // unreadable rows kept with their bytes
	Evicted   int64 // rows that Evict ever removed
}

// Receipt is what the server made of a message of this store's outbox.
type Receipt struct {
	MessageID string
	Seq       int64
	Epoch     string
	At        int64 // server time
}

// Aside is an unreadable row as it was found.
type Aside struct {
	Table string // of which table
	Why   string // what could not be read
	Row   []byte // the row's columns as JSON; blobs in base64
}

// Store keeps what a client must not forget. All methods may be called from several goroutines. A method ends early
// with the context's error only before it has changed anything.
type Store interface {
	// Device returns the 128 random bits made with the store.
	Device() ids.Device
	// Report tells what opening found.
	Report() Report
	// Owner returns whom the store belongs to, zero while that is nobody; without a server before the first Bind.
	Owner(ctx context.Context) (Owner, error)
	// Bind notes the owner at the first welcome. With the same owner it changes nothing; with another: ErrWrongStore.
	Bind(ctx context.Context, o Owner) error

	// Reserve reserves n ordinals of a device by ids.Reserve, raising its mark in the same transaction. jump is 48 fresh
	// random bits. A device seen for the first time starts at mark 0; the store's own without a mark, or a mark of
	// any length but 16 bytes: ErrCorrupt, now and from then on. Errors also as of ids.Reserve. A failed reservation
	// may have raised the mark, but gives no lease.
	Reserve(ctx context.Context, d ids.Device, n, jump uint64) (ids.Lease, error)

	// Add stores new rows in their order in one transaction, giving them rising positions, and returns an Added for
	// each. Entries with a State of Sending need the caller's fence (ErrFenced: add them as Queued); others take fence 0.
	// An entry that Entry.Check refuses fails the call with ErrBadChange, nothing stored.
	Add(ctx context.Context, fence int64, entries []Entry) ([]Added, error)
	// List returns rows without bodies, by rising position, those after the given one, at most limit.
	List(ctx context.Context, after int64, limit int) ([]Row, error)
	// Find returns a row by its key.
	Find(ctx context.Context, k Key) (Row, bool, error)
	// Receipt returns what the server made of a row that was confirmed, false where none was, or too many after it (Limits.Receipts).
	// It doesn't depend on the message's own row.
	Receipt(ctx context.Context, k Key) (Receipt, bool, error)
	// Body reads the content of a row. ErrNoRow, or ErrUnreadable for a body that the key doesn't open.
	Body(ctx context.Context, position int64) (Body, error)
	// Export calls f with every row of the outbox and its body by rising position, as of one moment; f's error ends it.
	// f must not call the store.
	Export(ctx context.Context, f func(Row, Body) error) error
	// SetAside calls f with the unreadable rows, oldest first. f must not call the store.
	SetAside(ctx context.Context, f func(Aside) error) error
	// Counts returns figures.
	Counts(ctx context.Context) (Counts, error)

	// Cancel removes a row that was never sent; one with FirstSentAt: ErrMayHaveBeenSent. It returns the row removed.
	Cancel(ctx context.Context, k Key) (Row, error)
	// Retry puts a parked, uncertain, held or waiting row to Queued, due now, same id, attempts 0, no reason. An uncertain
	// row gets FirstSentAt = sentAt (server time, more than 0, else ErrBadChange): the app accepts a possible second copy.
	// ErrInFlight for a row being sent.
	Retry(ctx context.Context, k Key, sentAt int64) (Row, error)
	// Discard removes a row in whatever state, also one that may have been accepted. It returns the row removed.
	Discard(ctx context.Context, k Key) (Row, error)

	// Drain takes the drainer's lock without waiting and raises the fence. ErrDraining where another handle holds it.
	// The handle that drains already gets ErrDraining too.
	Drain(ctx context.Context) (fence int64, err error)
	// InDoubt returns the positions of the rows that this handle's last Drain found Sending: frames of them may have reached the
	// server, and nobody heard an answer. None before a Drain.
	InDoubt() []int64
	// Undrain frees the lock. Changes that name its fence fail from then on. No error where the handle doesn't drain.
	Undrain(ctx context.Context) error
	// Apply applies the drainer's changes in their order in one transaction, and returns a Result for each. A change whose
	// guard fails is not applied, the others are. ErrFenced, and ErrBadChange for one that no state could allow, apply none.
	Apply(ctx context.Context, fence int64, changes []Change) ([]Result, error)
	// Evict removes parked and uncertain rows older than Limits.AsideAge as of now (server time), and the oldest of those
	// above Limits.Aside, wiping their bodies, and returns them. It never touches queued rows. Call it only with server time.
	Evict(ctx context.Context, fence, now int64) ([]Row, error)
	// Changed reports whether another handle changed the store since the last call on this one. It is cheap enough to be
	// asked several times a second; after true, List shows what is there now.
	Changed(ctx context.Context) (bool, error)

	// Want notes the rooms of which this handle wants rows, with the number of rows that a view begins with, in place of those that it
	// noted before: for the handle that drains the store, which alone has a connection. beat rises from call to call, so that a
	// handle that died can be told. No rooms: nothing is wanted any more.
	Want(ctx context.Context, beat int64, rooms map[string]int) error
	// Wanted returns what other handles want.
	Wanted(ctx context.Context) ([]Wish, error)
	// Unwant forgets what a handle that died wanted.
	Unwant(ctx context.Context, handle Handle) error

	// Room returns a room's view, false where none is held.
	Room(ctx context.Context, room string) (Room, bool, error)
	// Rooms returns all views by rising name.
	Rooms(ctx context.Context) ([]Room, error)
	// Feed returns messages of a room (of all, for "") with a position after the given one, rising, at most limit; and which of these
	// rooms dropped messages with a position after the given one (Limits.RoomRows), as of the same moment.
	Feed(ctx context.Context, room string, after int64, limit int) ([]Message, []Trimmed, error)
	// View returns the last messages of a room with a seq below before (0: the last of all), by rising seq, at most limit;
	// also those that an ack stored ahead of the cursor.
	View(ctx context.Context, room string, before int64, limit int) ([]Message, error)
	// Forget drops a room's cursor together with its messages, never one without the other. Outbox rows stay.
	Forget(ctx context.Context, room string) error

	// Close frees the drainer's lock and the store. It is safe to call twice. Methods that wait for another process end with ErrClosed.
	Close() error
}

// Handle is a random name of an open handle.
type Handle [16]byte

// Wish is a room of which a handle wants rows.
type Wish struct {
	Handle Handle
	Beat   int64
	Room   string
	Rows   int // of a snapshot; -1 leaves it to the server
}

// Room is the view of a room: its cursor, and where the view was last replaced.
type Room struct {
	Room   string
	Cursor protocol.Cursor
	// Replaced is the position that the last Snapshot took. An app whose own position is below it holds rows of a view
	// that was replaced, and reads the room anew by View.
	Replaced int64
	// Trimmed is what the bound of a room's messages dropped since then; the zero Trimmed where nothing.
	Trimmed Trimmed
}

// Trimmed names messages that the bound of their room dropped, oldest first: those of a seq from From to To, the last of which had
// the position Position.
type Trimmed struct {
	Room     string
	Position int64
	From, To int64
}

// Drop adds a message to those dropped. They are dropped by rising seq.
func (t *Trimmed) Drop(room string, position, seq int64) {
	if t.Position == 0 {
		t.Room, t.From = room, seq
	}
	t.Position, t.To = max(t.Position, position), seq
}

// Message is a stored row of a room.
type Message struct {
	Position int64 // in this store's Feed; 0 while only an ack has told of it
	protocol.Message
}

// Version is the schema version that this SDK reads and writes.
const Version = 3
