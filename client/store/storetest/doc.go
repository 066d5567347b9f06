// Package storetest is the conformance suite of client stores: whatever passes Run keeps the contract of package store.
//
// Read next: suite.go (how a store joins), then the file of the promise in question. model.go holds a plain model
// that random histories are compared with.
package storetest
