package wire

import (
	"bufio"
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"hapax/internal/wire/limit"
)

const (
	// RequestIDHeader names a request: a client's own, or one that is made. The answer carries it.
	RequestIDHeader = "X-Request-Id"
	// maxRequestID bounds a client's id, in bytes: it stands in log lines.
	maxRequestID = 128
	// traceparentLength is that of W3C's traceparent, version 00; later versions may be longer and begin with the same.
	traceparentLength = 55
)

type requestIDKey struct{}

// RequestID returns the id of the request that a context is of, "" where it has none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// Traced has h answer requests that each have an id: the client's X-Request-Id, of which only harmless characters are kept, or a new one. The answer
// carries it, and so does the access line, which the log has at the level debug.
func Traced(h http.Handler, log *slog.Logger, proxies *limit.Proxies) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := requestID(r.Header.Get(RequestIDHeader))
		w.Header().Set(RequestIDHeader, id)
		r = r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id))
		if !log.Enabled(r.Context(), slog.LevelDebug) {
			h.ServeHTTP(w, r)
			return
		}
		seen, started := &accessed{ResponseWriter: w, status: http.StatusOK}, time.Now()
		defer func() {
			about := []any{"request", id, "method", r.Method, "path", r.URL.Path, "route", r.Pattern, "status", seen.status, "bytes", seen.bytes,
				"ms", time.Since(started).Milliseconds(), "address", proxies.Of(r).String()}
			if parent := traceparent(r.Header.Get("traceparent")); parent != "" {
				about = append(about, "traceparent", parent)
			}
			log.Debug("request", about...)
		}()
		h.ServeHTTP(seen, r)
	})
}

// requestID keeps of a client's id what can stand anywhere, and makes one where nothing is left.
func requestID(given string) string {
	if len(given) > maxRequestID {
		given = given[:maxRequestID]
	}
	given = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("-_.:/+=@~", r) {
			return r
		}
		return -1
	}, given)
	if given == "" {
		return rand.Text()
	}
	return given
}

// traceparent returns the header where it has the form of W3C's Trace Context, else "".
func traceparent(given string) string {
	if len(given) < traceparentLength {
		return ""
	}
	given = given[:traceparentLength]
	for i, c := range []byte(given) {
		dash := i == 2 || i == 35 || i == 52
		if dash != (c == '-') || !dash && !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return ""
		}
	}
	return given
}

// accessed remembers status and size of an answer for the access line.
type accessed struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (a *accessed) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

func (a *accessed) Write(b []byte) (int, error) {
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// Hijack lets a WebSocket be made of the connection. What it writes is not counted.
func (a *accessed) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(a.ResponseWriter).Hijack()
	if err == nil {
		a.status = http.StatusSwitchingProtocols
	}
	return c, rw, err
}

// Unwrap lets http.ResponseController reach the connection.
func (a *accessed) Unwrap() http.ResponseWriter { return a.ResponseWriter }
