// Package storetest is the conformance suite of the store contract: every store runs it, and a promise of package store that
// isn't checked here isn't kept.
//
// It owns the checks and a plain model of what a store answers (model.go). A store brings a Place: somewhere that outlives
// closing, so that the suite can open it again.
//
// The gateway's half is held against package memory, against a fold over its own records (booksfold.go), and against a settlement of the events in
// them (bookssettle.go).
//
// Read next: suite.go and booksuite.go (the lists of checks), model.go, property.go and booksproperty.go.
package storetest
