// Package store is the contract between the engine and whatever keeps its rows.
//
// # The contract in words
//
// Durability. When Commit returns without an error, all that it accepted is synced to disk: it survives kill -9 and
// power loss. When it returns an error, nothing of the batch may be acknowledged: the disk holds the message and its
// key both, or neither. After a failed sync every call answers ErrBroken until the store is opened anew; what the
// disk kept decides.
//
// Visibility. Nothing that isn't synced can be read through View: a reader sees whole commits, in commit order.
//
// Order. A room's seqs are dense, 1, 2, 3 …, and are given inside the commit, never before. Whoever sees n + 1 sees n.
// Several processes may commit to one store at the same time (PostgreSQL); so facts are gathered, judged and applied
// inside one transaction of the store, and the engine assumes nothing about other writers. An embedded store takes a
// lock on its folder and is the only process.
//
// Judging. The store gathers room.Facts for each command in turn (earlier commands of the same batch count as stored),
// calls the judge, and applies what was Accepted. The judge is pure but for a rate bucket; it may be called again for
// the same command where a transaction has to be repeated.
//
// Retention. Results and journal are kept by rules of their own. A purge never changes a decision inside the retention, and
// raises the room's horizon in the same transaction in which it drops a result. It works in small steps beside commits.
//
// Identity. A store has a server id, kept by backup and restore, and an epoch, which changes by itself with a new store, a restore,
// or a store found behind the last head noted after a sync.
package store
