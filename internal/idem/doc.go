// Package idem is the pure rule of a key: what names an action, what makes two
// actions the same, and what is remembered of the first.
//
// It knows no clock, disk, network or lock, and imports the standard library only.
// Invariant: the parts of a key are never joined into one string.
// Read next: judge.go, then package room, which judges a send by these.
package idem
