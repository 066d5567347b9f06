// Package memory keeps rooms and the gateway's books in maps: the oracle of the store contract, and a store for tests and simulations.
//
// It owns no file. A Disk stands for what a folder would hold: it survives Close, so that a restart is Open on the same
// Disk, and Copy and Restored make what a backup and a restore would leave.
//
// Invariant: the plainest code that keeps the contract of package store. Where another store answers differently, one of
// the two is wrong, and storetest says so.
//
// Read next: store.go (commit, view), purge.go, books.go (the gateway's half), then package storetest.
package memory
