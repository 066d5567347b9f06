package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// verdict is what a try came to.
type verdict uint8

const (
	delivered verdict = iota + 1
	final             // a dead letter at once
	retry             // again by the delay law, until tries or time are used up
	untried           // the request never left, and that by this machine's fault: it ends, or has no descriptors left
)

var verdictNames = [...]string{delivered: "delivered", final: "final", retry: "retry", untried: "untried"}

// answer is a try's result.
type answer struct {
	verdict   verdict
	reason    string // of a fixed set: no byte of an answer's or a request's
	retryAtMs int64  // Unix ms before which the destination wants no other try; 0: it didn't say
	alive     bool   // the destination works, whatever it thinks of this event
	unreached bool   // there was no connection: no event's fault
}

// shutdown is the reason of a try that the forwarder's end cut off: whether it arrived isn't known.
const shutdown = "shutdown"

// maxRetryAfter is how long a Retry-After is believed (docs/spec/gateway.md, Forwarding).
const maxRetryAfter = 24 * time.Hour

// answered reads an answer that was heard at a moment in Unix ms.
func answered(resp *http.Response, wall int64) answer {
	s := resp.StatusCode
	a := answer{verdict: retry, reason: fmt.Sprintf("status %d", s), retryAtMs: retryAfter(resp.Header.Get("Retry-After"), wall)}
	switch {
	case s >= 200 && s < 300:
		return answer{verdict: delivered, alive: true}
	case s == http.StatusRequestTimeout || s == http.StatusConflict || s == http.StatusTooEarly || s == http.StatusTooManyRequests:
		a.alive = s == http.StatusConflict || s == http.StatusTooEarly // of this event only
	case s >= 300 && s < 500:
		a.verdict, a.alive = final, true
	}
	return a
}

// retryAfter reads seconds or a date, as Unix ms; 0 for what is neither, or lies in the past.
func retryAfter(text string, wall int64) int64 {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0
	}
	wait := int64(0)
	if strings.Trim(text, "0123456789") == "" {
		s, err := strconv.ParseInt(text, 10, 64)
		if err != nil || s > int64(maxRetryAfter/time.Second) {
			s = int64(maxRetryAfter / time.Second)
		}
		wait = s * 1000
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.UnixMilli() - wall
	}
	if wait <= 0 {
		return 0
	}
	return wall + min(wait, maxRetryAfter.Milliseconds())
}

// unanswered names a fault of the network. A request that never left is told apart where the forwarder itself cut it off.
func unanswered(err error, w *way) answer {
	if errors.Is(err, errAddress) {
		return answer{verdict: final, reason: "address"}
	}
	if (errors.Is(err, context.Canceled) || ours(err)) && !w.left() {
		return answer{verdict: untried}
	}
	return answer{verdict: retry, reason: networkReason(err), unreached: !w.reached}
}

var errnoReasons = map[syscall.Errno]string{
	syscall.ECONNREFUSED: "connection refused", syscall.ECONNRESET: "connection reset", syscall.EPIPE: "connection reset",
	syscall.EHOSTUNREACH: "unreachable", syscall.ENETUNREACH: "unreachable", syscall.ENETDOWN: "unreachable",
	syscall.ETIMEDOUT: "timeout",
}

// ours reports a fault of this machine, which is no try of any event.
func ours(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EADDRNOTAVAIL)
}

func networkReason(err error) string {
	var (
		errno   syscall.Errno
		dns     *net.DNSError
		netErr  net.Error
		unknown *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return shutdown
	case errors.As(err, &dns):
		return "name not resolved"
	case errors.As(err, &unknown), errors.As(err, &record), errors.As(err, &alert):
		return "tls"
	case errors.As(err, &errno) && errnoReasons[errno] != "":
		return errnoReasons[errno]
	case errors.As(err, &netErr) && netErr.Timeout():
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed"
	case errors.Is(err, errUnanswered):
		return "unreachable"
	}
	return "network" // among them an answer that is no HTTP
}
