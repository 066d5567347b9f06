package audit

import "iter"

// Log is a gateway's log and what its store states of it: one consistent reading. The texts of scopes, states and decisions
// are those of docs/log.md. Slices are valid until the next call.
type Log interface {
	Head() StatedHead
	// Records gives the bytes of the records after a number, in rising order of where they lie.
	Records(after int64) iter.Seq2[[]byte, error]
	// Record gives the bytes of one record, nil where there is none.
	Record(number int64) ([]byte, error)
	Sources() ([]StatedSource, error)
	// Keys gives all keys of which something is kept.
	Keys() iter.Seq2[*StatedKey, error]
	// Key is what is kept of one key, the zero StatedKey where nothing is.
	Key(tenant, source, key string) (*StatedKey, error)
	Books() ([]StatedBook, error)
	// Capacity is the largest lru_capacity among the registered keys of a source.
	Capacity(tenant, source string) (int64, error)
	// Ledger gives the repeated keys of a source in a currency, the most recent first, at most limit.
	Ledger(currency, tenant, source string, limit int64) ([]StatedEntry, error)
	// Outbox gives all rows of the outbox.
	Outbox() iter.Seq2[*StatedRow, error]
	// Index gives all rows that the store keeps to find or count others by, but those of IDs.
	Index() iter.Seq2[*StatedIndex, error]
	// IDs gives all rows that events are found by.
	IDs() iter.Seq2[*StatedID, error]
	// Bodies gives all bodies that are kept.
	Bodies() iter.Seq2[*StatedBody, error]
}

// StatedHead is the end of the log as the store has it.
type StatedHead struct {
	Number int64
	Hash   [32]byte
	Ruled  bool // there is a policy
	Policy StatedPolicy
	// Accepted is the number of the last record by which a loss was accepted; 0: none.
	Accepted int64
}

// StatedPolicy is the policy that all is judged by.
type StatedPolicy struct {
	BlockWindowS int64
	ScopeStrict  bool
	LRUMinHits   int64
}

// StatedSettings are what stands for a source.
type StatedSettings struct {
	WindowS, LRUCapacity, Parts int64
	Scope                       string
	Open, Forward               bool
	Guard                       string // off, flag or reject
	GuardS                      int64
}

// StatedSource is a source, and how many events it had.
type StatedSource struct {
	Tenant, Source string
	StatedSettings
	Events     int64
	Generation int64 // of the guard
}

// StatedKey is what is kept of a key.
type StatedKey struct {
	Tenant, Source, Key string

	Registered            bool
	Scope                 string // as registered
	WindowS, LRUCapacity  int64
	Since                 int64
	LastEvent             int64
	Events                int64
	Accepted              int64
	Waiting               int64
	Repeats               int64
	Last, LastSeenAt      int64 // the last accepted or deduped event
	LastScope             string
	LastCurrency          string
	LastSaid              string
	Root                  int64
	RootID                string
	RootPrint             [32]byte
	RootForwarded, RootOK bool // RootOK: a destination took it
	Hits                  []StatedHits
}

// StatedHits are a key's repeats in one currency.
type StatedHits struct {
	Currency                   string
	Count                      int64
	LRURank, SeenAt, LastEvent int64
}

// StatedBook holds the sums of a source in a currency; sums are texts as the contract writes them.
type StatedBook struct {
	Currency, Tenant, Source string

	UnknownKey, BadAmount, Mismatches, DuplicatePending, DuplicateDone, Accept int64

	Accepted, Deduped string
	TenantAccepted    int64
	TenantTotal       string
}

// StatedEntry is an entry of a ledger.
type StatedEntry struct {
	Tenant, Source, Key  string
	Hits                 int64
	LRURank, SeenAt, Seq int64
}

// StatedRow is a row of the outbox.
type StatedRow struct {
	Number              int64
	ID                  string
	Tenant, Source, Key string
	Ordinal             int64
	Dead                bool   // a dead letter; else it waits
	Held                bool   // it waits for no time: for an earlier one of its key, or as it is dead
	Due                 int64  // Unix ms, where it isn't held
	Reason              string // of a dead letter: why
	Since               int64  // Unix ms at which its present tries began
	Attempts, Sends     int64  // tries since then, and ever
	IntervalMs, LastMs  int64  // to the next try, from the last one
}

// The kinds of rows by which others are found or counted.
const (
	IndexDue        = "due"         // tenant, source, At, Number: a row of the outbox that is due at a time
	IndexHeld       = "held"        // tenant, source, Key, Number: one that is held
	IndexDead       = "dead"        // tenant, source, Number: a dead letter
	IndexTenantDead = "tenant dead" // tenant, Number: a dead letter
	IndexQueued     = "queued"      // tenant, source: Waiting and Dead count rows of the outbox
	IndexCapacity   = "capacity"    // tenant, source, Number: Count registered keys have that lru_capacity
	IndexTwin       = "twins"       // tenant, source, Generation, Digest: the accepted event of a guarded source with that body: Number, At, Key, ID
	IndexRepeats    = "repeats"     // Currency, tenant, source, Number: the last repeat of Key, its time At, the Count of its repeats
)

// StatedIndex is a row by which others are found or counted; its kind says which fields it has.
type StatedIndex struct {
	Kind                          string
	Tenant, Source, Key, Currency string
	Number, At                    int64
	Count, Waiting, Dead          int64
	Generation                    int64
	Digest                        [32]byte
	ID                            string
}

// StatedID is a row by which an event is found.
type StatedID struct {
	ID     string
	Number int64
}

// StatedBody is what was received with an event.
type StatedBody struct {
	Number         int64
	Tenant, Source string
	At             int64 // Unix ms of its record
	Bytes          []byte
}

// Anchored is a head noted outside of the store.
type Anchored struct {
	Number int64
	Hash   [32]byte
	At     int64  // Unix seconds at which it was noted
	When   string // the same, for people
}
