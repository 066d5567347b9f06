// Package storetest is the conformance suite of the store contract: every store runs it, and a promise of package store that
// isn't checked here isn't kept.
//
// It owns the checks and a plain model of what a store answers (model.go). A store brings a Place: somewhere that outlives
// closing, so that the suite can open it again.
//
// Read next: suite.go (the list of checks), model.go, property.go.
package storetest
