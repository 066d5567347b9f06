// Package room is the pure rule of a room: given a command and the facts about its
// key and its room it says what becomes of it.
//
// It knows no clock, disk, network, lock or logger, and imports the standard library
// and package idem only. Same facts, same command, same outcome.
//
// Invariants: a known key answers with its first result, whatever else holds; a delta is given only from a cursor
// whose row is this history's own, with nothing missing after it.
//
// Read next: decide.go (sends and status), resume.go (cursors), then package store, which gathers the facts
// and applies what was decided in one transaction.
package room
