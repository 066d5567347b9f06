// Package ids makes client message ids: 128 bits that are never issued twice, not after a restart in the same
// millisecond, not after the clock went back, not by two processes on one store, not by a copy of a store.
//
// It owns the derivation of an id from (device, ordinal), the arithmetic of ordinals and leases, and the Issuer, which
// hands ids out of leases without disk or network. It keeps no mark itself: a store does, by the rule Reserve.
//
// Invariant: an ordinal belongs to one lease of one device, and the Issuer passes each ordinal once.
//
// The same vectors (testdata/vectors.json) bind Go, Go on wasm and TypeScript. On wasm, under Node:
//
//	GOOS=js GOARCH=wasm go test -exec "$(go env GOROOT)/lib/wasm/go_js_wasm_exec" ./client/ids
//
// Read next: id.go (the derivation), lease.go (the rule of reserving), issuer.go (handing out).
// The source of the rules is docs/spec/client.md, 1.
package ids
