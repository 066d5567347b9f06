package client

import (
	"errors"
	"fmt"

	"hapax/client/ids"
	"hapax/client/session"
	"hapax/client/store"
)

// Errors of the client. Test with errors.Is; a *ServerError (errors.As) is what the server itself said.
var (
	// ErrZeroID: the id 0, which NextMessageID gives where none can be had.
	ErrZeroID = ids.ErrZeroID
	// ErrNotIssued: an id that NextMessageID of this client didn't give, or that was used or released before.
	ErrNotIssued = ids.ErrUnissued
	// ErrBadID: not 1 to 128 bytes of printable ASCII without quote and backslash.
	ErrBadID = ids.ErrBadID
	// ErrBadRoom: not 1 to 128 bytes of UTF-8 without control characters.
	ErrBadRoom = errors.New("client: not a room's name")
	// ErrBadBody: text that isn't UTF-8, or data that isn't JSON.
	ErrBadBody = errors.New("client: not a body")
	// ErrTooLarge: a body that the server's limits don't let through. Nothing was stored.
	ErrTooLarge = errors.New("client: too large for the server")
	// ErrFull: the outbox holds as many queued rows as it may. Nothing was stored; the id may be used again.
	ErrFull = errors.New("client: the outbox is full")
	// ErrConflict: a row of this key with other content is in the outbox, or stored by the server.
	ErrConflict = errors.New("client: the id names another message")
	// ErrMayHaveBeenSent: Cancel of a row that may have reached the server.
	ErrMayHaveBeenSent = store.ErrMayHaveBeenSent
	// ErrInFlight: Retry of a row whose answer is awaited.
	ErrInFlight = store.ErrInFlight
	// ErrNoRow: no such row in the outbox.
	ErrNoRow = store.ErrNoRow
	// ErrGone: the row left the outbox without an ack: cancelled, discarded or evicted.
	ErrGone = errors.New("client: the row was cancelled, discarded or evicted")
	// ErrParked: the row has stepped aside, or holds its room; see the *RowError for the reason.
	ErrParked = errors.New("client: the row is parked")
	// ErrUncertain: nobody can tell whether the row was accepted; Retry risks a second copy.
	ErrUncertain = errors.New("client: nobody can tell whether the row was accepted")
	// ErrNotFound: the server has no result of this key.
	ErrNotFound = errors.New("client: the server knows no such message")
	// ErrWrongStore: the store belongs to another actor or server.
	ErrWrongStore = store.ErrWrongStore
	// ErrClosed: the client is closed.
	ErrClosed = errors.New("client: closed")
	// ErrClosing: Close has waited for a second for a store that doesn't answer. It is closed once it does.
	ErrClosing = errors.New("client: the store is still at work")
	// ErrSignedOut is for Options.Token to return: there is no token, and none is asked for until NewToken or Connect.
	ErrSignedOut = session.ErrSignedOut
	// ErrTokenSlow: Options.Token takes longer than it may. Its answer is still waited for.
	ErrTokenSlow = session.ErrTokenSlow
	// ErrBroken: the store failed. Nothing is sent until Connect has opened it anew.
	ErrBroken = session.ErrBroken
)

// ServerError is what the server said to a question.
type ServerError = session.ServerError

// RowError says how a row stands that will not be confirmed by itself. It is ErrParked or ErrUncertain.
type RowError struct{ Row Row }

func (e *RowError) Error() string {
	return fmt.Sprintf("client: row %s in room %q is %s: %s", e.Row.ID, e.Row.Room, e.Row.State, e.Row.Reason)
}

// Is makes the error ErrParked or ErrUncertain.
func (e *RowError) Is(target error) bool {
	if e.Row.State == store.Uncertain {
		return target == ErrUncertain
	}
	return target == ErrParked
}

// TrimmedError names messages of a room that the store's bound (store.Limits) dropped before the caller had read them: seqs From to To.
// They are with the server still: History has them. Reading on from Position misses nothing else of the room.
type TrimmedError struct{ store.Trimmed }

func (e *TrimmedError) Error() string {
	return fmt.Sprintf("client: messages %d to %d of room %q were dropped by the store's bound before they were read; history has them",
		e.From, e.To, e.Room)
}
