// Package e2e holds the Go SDK against the real server: real sockets, the embedded store, SQLite outboxes and a network
// that loses acks and cuts connections. It owns no code but tests.
package e2e
