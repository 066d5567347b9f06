package wire

import (
	"net/http"

	"hapax/protocol"
)

// WriteProblem answers an HTTP request with an error event as a problem document (RFC 9457), with Retry-After where the
// event says when to come back.
func WriteProblem(w http.ResponseWriter, e protocol.Event) {
	WriteStatus(w, e.Code.Rule().Status, e)
}

// WriteStatus is WriteProblem for a status that isn't the code's own. The document carries the status too.
func WriteStatus(w http.ResponseWriter, status int, e protocol.Event) {
	body := protocol.AppendProblemStatus(nil, &e, status)
	h := w.Header()
	h.Set("Content-Type", protocol.MediaProblem)
	h.Set("Cache-Control", "no-store")
	if e.RetryAfterMs > 0 {
		h.Set("Retry-After", protocol.RetryAfter(e.RetryAfterMs))
	}
	if status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="hapax"`)
	}
	w.WriteHeader(status)
	// A client that has gone doesn't read the problem either.
	_, _ = w.Write(body)
}
