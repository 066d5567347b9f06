// Package anchor notes the head of a log in a file outside of its store: who keeps that file elsewhere finds a log that was cut, rewritten,
// or replaced by an older copy (docs/log.md, Anchors).
//
// It owns the file's form: lines of a time, a record's number and its hash, appended and synced, never changed. A line that was cut off by a
// crash is told from a whole one, since the hash ends it: reading passes it by, appending begins a new line behind it.
package anchor
