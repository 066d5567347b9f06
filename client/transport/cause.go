package transport

import "fmt"

// Cause says in a word why there is no connection. Words are added, so a switch over them needs a default.
type Cause string

// The causes.
const (
	BadURL      Cause = "bad_url"     // no address of a server, or a scheme that the transport doesn't speak
	NoName      Cause = "name"        // the host's name has no address
	Refused     Cause = "refused"     // nothing listens there
	Unreachable Cause = "unreachable" // no way to the host
	TimedOut    Cause = "timeout"     // no answer in time
	Untrusted   Cause = "untrusted"   // the certificate is signed by nobody who is trusted here
	Certificate Cause = "certificate" // the certificate is of another name, or out of its time
	TLSWanted   Cause = "tls_wanted"  // plain text was spoken to a port that wants TLS
	PlainPort   Cause = "plain_port"  // TLS was spoken to a port that doesn't
	TLSFailed   Cause = "tls"         // TLS failed otherwise
	Status      Cause = "status"      // the server answered over HTTP, and not with a WebSocket; DialError.Status
	Subprotocol Cause = "subprotocol" // a WebSocket, but not of Hapax
	Other       Cause = "other"       // see DialError.Err
)

// DialError tells why a dial led to no connection. No frame has left by it.
type DialError struct {
	URL    string // without its query
	Cause  Cause
	Status int    // of Status: what the server answered
	Advice string // what to look at, for people; may be empty
	Err    error
}

func (e *DialError) Error() string {
	text := fmt.Sprintf("connect to %s: %v", e.URL, e.Err)
	if e.Advice != "" {
		text += ": " + e.Advice
	}
	return text
}

func (e *DialError) Unwrap() error { return e.Err }

// Checker is a Dialer that can tell an URL that it will never dial. client.Open asks it, so that such an URL isn't tried for ever.
type Checker interface {
	// Check returns a *DialError of BadURL, or nil.
	Check(url string) error
}
