// Package gatewayapi is the management of the gateway over HTTP: registry, ledger, events with their reasons, report, dead letters,
// proof, and what a page draws of them.
//
// It owns the routes and the forms of their answers; api/openapi.yaml is generated from them (document.go). It reads and enters by package
// intake and judges nothing.
//
// Invariants: what a token may not see answers exactly like what doesn't exist; a tenant sees opaque ids and cursors, never a
// record's number or hash, as they would tell how much others do; no request reads more than a bounded number of records, and
// says where to go on.
//
// Read next: api.go (how a request is let in), access.go, then the file named like the route.
package gatewayapi
