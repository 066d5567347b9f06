//go:build !js

package ws

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"hapax/client/transport"
)

// unopened finds out why a dial failed before there was an answer.
func unopened(address string, err error) error {
	e := &transport.DialError{URL: redact(address), Cause: transport.Other, Err: bare(err)}
	var (
		name        *net.DNSError
		authority   x509.UnknownAuthorityError
		host        x509.HostnameError
		invalid     x509.CertificateInvalidError
		plain       tls.RecordHeaderError
		alert       tls.AlertError
		verify      *tls.CertificateVerificationError
		interrupted net.Error
	)
	switch {
	case errors.As(err, &name):
		e.Cause, e.Advice = transport.NoName, "is the name right, and is there a network?"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Cause, e.Advice = transport.Refused, "nothing listens at this address; is the server running, and the port right?"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		e.Cause, e.Advice = transport.Unreachable, "is there a network?"
	case errors.As(err, &authority):
		e.Cause, e.Advice = transport.Untrusted, "if its certificate is of an authority of your own, trust that (--cacert FILE, or ws.Dialer.Roots)"
	case errors.As(err, &host), errors.As(err, &invalid):
		e.Cause, e.Advice = transport.Certificate, "the server's certificate doesn't hold for this name now"
	case errors.As(err, &plain), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.Cause, e.Advice = transport.PlainPort, "the port doesn't speak TLS; is it ws:// or http://?"
	case spokeTLS(err):
		e.Cause, e.Advice = transport.TLSWanted, "the port speaks TLS; is it wss:// or https://?"
	case errors.As(err, &alert), errors.As(err, &verify):
		e.Cause = transport.TLSFailed
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &interrupted) && interrupted.Timeout():
		e.Cause = transport.TimedOut
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		e.Advice = "it closed the connection without an answer; does the port speak TLS, or something else than HTTP?"
	}
	return e
}

// spokeTLS recognises the answer of a TLS port to plain text where it is an alert record, which net/http quotes as a malformed response.
func spokeTLS(err error) bool {
	return strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`)
}

// plainRefused recognises the answer of TLS servers that tell a plain request so over plain HTTP (Go's, nginx, Apache).
func plainRefused(resp *http.Response, head string) bool {
	head = strings.ToLower(head)
	return resp.StatusCode == http.StatusBadRequest &&
		(strings.Contains(head, "http request to an https server") || strings.Contains(head, "plain http request was sent to https port") ||
			strings.Contains(head, "speaking plain http to an ssl-enabled server port"))
}

// bare takes off the words of the layers above: which request it was is known.
func bare(err error) error {
	if request := new(url.Error); errors.As(err, &request) {
		return request.Err
	}
	return err
}
