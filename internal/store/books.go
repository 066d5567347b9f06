package store

import (
	"context"
	"iter"

	"hapax/internal/gateway"
	"hapax/internal/settle"
)

// Books is the gateway's half of a store: the log, the books that follow from it, the outbox and the bodies. It lies in the same
// database as the rooms, under the same rules of durability and visibility (see the package comment).
//
// Enter carries commands out one after the other by gateway.Take, all in one transaction. What Take changed and appended is
// written in one synced batch, together with what a store derives for its readers: event ids, the due times of the outbox, the
// recency of a key's repeats, the capacities registered.
type Books interface {
	// Enter carries out a batch. outcomes[i] answers commands[i]. now is Unix ms. An error means that nothing of the batch
	// may be told; errors as of Store.Commit.
	Enter(ctx context.Context, now int64, commands []gateway.Command) (outcomes []gateway.Outcome, err error)
	// ViewBooks calls f with a consistent reading of synced rows.
	ViewBooks(ctx context.Context, f func(BooksView) error) error
	// EraseBodies erases the bodies of a source's events received before a moment (Unix ms), in steps that don't hold up commits, and
	// returns how many. The body of an event that is still in the outbox stays.
	EraseBodies(ctx context.Context, tenant, source string, before int64) (int64, error)
}

// BooksView is a consistent reading. It is valid only inside the function that it is given to. Slices and pointers that it returns are the
// caller's own.
type BooksView interface {
	Head() gateway.Head
	// Records yields the records after a number, rising, as bytes that are valid until the next one is asked for.
	// The first error ends it.
	Records(after int64) iter.Seq2[[]byte, error]
	// TenantEvents yields the numbers of a tenant's events before a number, falling. Its cost doesn't depend on other tenants.
	TenantEvents(tenant string, before int64) iter.Seq2[int64, error]
	// Record returns the bytes of one record, nil where there is none of that number.
	Record(number int64) ([]byte, error)
	// Number returns the number of the event with that id, 0 where there is none.
	Number(id string) (int64, error)
	// Body returns the body of an event, nil where it was erased or never was.
	Body(number int64) (*gateway.Body, error)

	// Sources returns all sources that have settings, by tenant and name.
	Sources() ([]NamedSource, error)
	// Key returns what is kept of a key, the zero Key where nothing is.
	Key(n gateway.Name) (gateway.Key, error)
	// Keys yields the keys of a source after a given one, by rising bytes, registered or not. With tenant and source empty: all keys.
	Keys(tenant, source, after string) iter.Seq2[NamedKey, error]
	// Capacity returns the largest lru_capacity among the registered keys of a source, 0 where none is.
	Capacity(tenant, source string) (int64, error)
	// Books returns all books, by currency, tenant and source.
	Books() ([]NamedBook, error)
	// Repeated returns the keys of a source with repeats in a currency, the most recent first, at most limit.
	// Only keys that qualify for the ledger (settle.Policy.Qualifies) are in it.
	Repeated(currency, tenant, source string, limit int64) ([]settle.Entry, error)

	// Delivery returns the outbox row of an event, nil where none is.
	Delivery(number int64) (*gateway.Delivery, error)
	// Due returns waiting rows of a source due at a moment (Unix ms) or before, by due time, at most limit; next is the due time of the
	// first row beyond those (gateway.Held where none waits for a time).
	Due(tenant, source string, at int64, limit int) (rows []gateway.Delivery, next int64, err error)
	// DeadLetters returns dead letters of a tenant's source (of all its sources, for "") after a number, rising, at most limit.
	DeadLetters(tenant, source string, after int64, limit int) ([]gateway.Delivery, error)
	// Outbox counts the outbox rows of each source that has any.
	Outbox() ([]OutboxCount, error)
	// LastDue returns the due time (Unix ms) of the row of a source that is due last; 0 where none waits for a time.
	LastDue(tenant, source string) (int64, error)
	// Deliveries yields all outbox rows by rising number.
	Deliveries() iter.Seq2[gateway.Delivery, error]

	// What the readings above are found by, as it is kept, for those who hold it against what it is of.

	// Index yields all rows that others are found or counted by, but those of IDs and TenantEvents. One is valid until the next is asked for.
	Index() iter.Seq2[*IndexRow, error]
	// IDs yields the ids that events are found by, each with the number.
	IDs() iter.Seq2[EventID, error]
	// Bodies yields all bodies that are kept.
	Bodies() iter.Seq2[*KeptBody, error]
}

// IndexKind is what a row finds or counts.
type IndexKind uint8

// The kinds of index rows, and their fields.
const (
	IndexDue        IndexKind = iota + 1 // Tenant, Source, At, Number: an outbox row that waits for a time
	IndexHeld                            // Tenant, Source, Key, Number: one that is held
	IndexDead                            // Tenant, Source, Number: a dead letter
	IndexTenantDead                      // Tenant, Number: a dead letter
	IndexQueued                          // Tenant, Source: Waiting and Dead outbox rows
	IndexCapacity                        // Tenant, Source, Number: an lru_capacity that Count registered keys have
	IndexTwin                            // Tenant, Source, Generation, Digest: the accepted event of a guarded source with that body: Number, At, Key, ID
	IndexRepeats                         // Currency, Tenant, Source, Number: the last repeat of Key, at the time At, its Count so far
)

// IndexRow is a row that others are found or counted by.
type IndexRow struct {
	Kind                          IndexKind
	Tenant, Source, Key, Currency string
	Number, At                    int64
	Count, Waiting, Dead          int64
	Generation                    int64
	Digest                        gateway.Hash
	ID                            string
}

// EventID is an id and the number of its event.
type EventID struct {
	ID     string
	Number int64
}

// KeptBody is the body of an event, as it lies there: by the event's source and the moment of its record (Unix ms).
type KeptBody struct {
	Number         int64
	Tenant, Source string
	At             int64
	Body           *gateway.Body
}

// NamedSource is a source and its row.
type NamedSource struct {
	Tenant, Name string
	gateway.Source
}

// NamedKey is a key and its row.
type NamedKey struct {
	gateway.Name
	gateway.Key
}

// NamedBook is a book and its name.
type NamedBook struct {
	gateway.BookName
	gateway.Book
}

// OutboxCount counts a source's outbox rows.
type OutboxCount struct {
	Tenant, Source string
	Waiting, Dead  int64
}
