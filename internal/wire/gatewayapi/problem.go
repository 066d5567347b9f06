package gatewayapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"hapax/internal/wire"
	"hapax/protocol"
)

// code is a problem's stable name; its type is the URI urn:hapax:problem:CODE.
type code string

const (
	codeBadRequest  = code(protocol.BadRequest)
	codeForbidden   = code(protocol.Forbidden)
	codeNotFound    = code(protocol.NotFound)
	codeTooLarge    = code(protocol.TooLarge)
	codeUnavailable = code(protocol.Unavailable)
	codeRateLimited = code(protocol.RateLimited)
	codeSession     = code(protocol.SessionInvalid)
	codeHasEvent    = code("has_event")
	codeNotDead     = code("not_dead")
)

// rules is the one table of the management's codes.
var rules = map[code]struct {
	title     string
	status    int
	retryable bool
}{
	codeBadRequest:  {"The request is malformed", http.StatusBadRequest, false},
	codeForbidden:   {"The actor has no right to this", http.StatusForbidden, false},
	codeNotFound:    {"Not found", http.StatusNotFound, false},
	codeTooLarge:    {"The request is over a limit", http.StatusRequestEntityTooLarge, false},
	codeUnavailable: {"The server can't answer now", http.StatusServiceUnavailable, true},
	codeRateLimited: {"Too many commands", http.StatusTooManyRequests, true},
	codeSession:     {"No valid session", http.StatusUnauthorized, false},
	codeHasEvent:    {"The key has an event", http.StatusConflict, false},
	codeNotDead:     {"The event is no dead letter", http.StatusConflict, false},
}

// GatewayProblem is an error as a problem document (RFC 9457).
type GatewayProblem struct {
	Type         string `json:"type" format:"uri"`
	Title        string `json:"title"`
	Status       int    `json:"status"`
	Detail       string `json:"detail" doc:"For people."`
	Code         string `json:"code" enum:"bad_request,forbidden,not_found,too_large,unavailable,rate_limited,draining,session_invalid,has_event,not_dead"`
	Retryable    bool   `json:"retryable" doc:"The same request may succeed later, without the client doing anything about it."`
	RetryAfterMs int64  `json:"retryAfterMs,omitempty" minimum:"1"`
}

func problem(c code, detail string) *GatewayProblem {
	r := rules[c]
	p := &GatewayProblem{Type: "urn:hapax:problem:" + string(c), Title: r.title, Status: r.status, Detail: detail, Code: string(c), Retryable: r.retryable}
	if r.retryable {
		p.RetryAfterMs = wire.RetryAfterMs
	}
	return p
}

// Error implements error.
func (p *GatewayProblem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus implements huma.StatusError.
func (p *GatewayProblem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *GatewayProblem) ContentType(string) string { return protocol.MediaProblem }

// GetHeaders implements huma.HeadersError.
func (p *GatewayProblem) GetHeaders() http.Header {
	if p.RetryAfterMs == 0 {
		return nil
	}
	return http.Header{"Retry-After": {protocol.RetryAfter(p.RetryAfterMs)}}
}

// problemOf makes a problem of what the framework finds wrong with a request. It names the place and never shows the value there: a body may
// hold what nobody is to read in a log.
func problemOf(status int, message string, errs ...error) huma.StatusError {
	details := make([]string, 0, len(errs))
	for _, err := range errs {
		detail := err.Error()
		if d := new(huma.ErrorDetail); errors.As(err, &d) {
			detail = d.Message
			if d.Location != "" {
				detail += " (" + d.Location + ")"
			}
		}
		details = append(details, detail)
	}
	if len(details) > 0 {
		message = strings.Join(details, "; ")
	}
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return problem(codeTooLarge, message)
	case status >= http.StatusInternalServerError:
		return problem(codeUnavailable, "the store can't answer now")
	}
	return problem(codeBadRequest, message)
}
