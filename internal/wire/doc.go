// Package wire holds what the transports share: who is who, which outcome is which code, and the answers' fields.
//
// It owns the table from outcomes to codes. Invariant: over every transport one outcome has one code, and every outcome has one.
//
// Read next: answer.go, then packages ws, http and admin.
package wire
