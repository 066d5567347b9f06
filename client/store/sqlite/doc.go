// Package sqlite is the store of a Go client: one SQLite file in WAL mode with synchronous=FULL, so that what a method
// reported as done survives kill -9 and power loss. It uses no cgo, and is built everywhere but on js.
//
// It owns the schema, its versions and its migrations, and the lock file beside the store. The rules by which rows move
// are those of package store; this package reads a row, asks the rule, and writes what it says, in one transaction.
//
// # Versions
//
// PRAGMA user_version numbers the schema, PRAGMA application_id marks the file as one of ours. schema.go lists the steps, each
// run in a transaction of its own. The list is a dozen lines, so it needs no migration library: such a one brings a
// table of its own, database/sql, and a way back, and a store must never go back. v1: outbox, messages, cursors; v2 adds
// the device and its marks; v3 what a bounded room dropped, which rooms other processes want, and for whom the store was opened. Files of
// v1 and v2 lie in testdata.
//
// # Encryption
//
// With a key, text, data and fingerprint of outbox rows and text and data of messages are sealed with AES-256-GCM, a random
// nonce for each, bound to their room and id, so that bodies can't be swapped between rows. The fingerprint is sealed as
// well: it is a plain hash of the content, from which a short text can be guessed. Rooms, ids, actors, times, sizes and
// states stay readable. An empty store is sealed by its first key. One that holds bodies in the clear is sealed, as a whole in one
// transaction, only where Options.Encrypt says so; else it answers store.ErrNotEncrypted. Opened with another key, or without one, a sealed
// store answers store.ErrWrongKey. Neither changes anything.
//
// # Damage
//
// A file that isn't a store, or that SQLite finds damaged, gives store.ErrCorrupt; nothing is overwritten. A single row that
// can't be read is moved to the table aside with its bytes, counted and reported.
//
// Read next: open.go (what opening checks, in which order), schema.go, db.go (transactions), outbox.go, apply.go, view.go.
package sqlite
