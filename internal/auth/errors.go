package auth

import (
	"errors"
	"log/slog"

	"hapax/protocol"
)

// Reason says why there is no session.
type Reason string

// All reasons there are. Their texts go to clients: they help whoever made the token, and tell nobody which keys are held.
const (
	TooLarge       Reason = "the token is too large"
	Malformed      Reason = "the token is malformed"
	WrongAlgorithm Reason = "the token's algorithm is not accepted"
	WrongKey       Reason = "the token is not signed by a known key"
	Expired        Reason = "the token has expired"
	NotYet         Reason = "the token is not valid yet"
	WrongIssuer    Reason = "the token is not from the right issuer"
	WrongAudience  Reason = "the token is not meant for this server"
	BadClaims      Reason = "the token's claims are not valid"
	KeysMissing    Reason = "the keys can't be read now"
)

// Error is what Verify fails with. Error() is fit for a client, Cause for the log only.
type Error struct {
	Reason Reason
	Cause  error // never shown to a client
}

func (e *Error) Error() string { return string(e.Reason) }

func (e *Error) Unwrap() error { return e.Cause }

// LogValue shows the cause too.
func (e *Error) LogValue() slog.Value {
	if e.Cause == nil {
		return slog.StringValue(e.Error())
	}
	return slog.StringValue(e.Error() + ": " + e.Cause.Error())
}

// Code is the code that answers the command: session_invalid, or unavailable where nothing is known against the token.
func (e *Error) Code() protocol.Code {
	if e.Reason == KeysMissing {
		return protocol.Unavailable
	}
	return protocol.SessionInvalid
}

// CodeOf is the code for any error of Verify.
func CodeOf(err error) protocol.Code {
	if e := new(Error); errors.As(err, &e) {
		return e.Code()
	}
	return protocol.Unavailable
}
