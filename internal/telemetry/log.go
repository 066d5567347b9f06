package telemetry

import (
	"io"
	"log/slog"
	"strings"
)

// NewLogger returns a logger that writes to w. level is debug, info, warn or error (anything else is info); format
// is json or text.
func NewLogger(w io.Writer, level, format string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: l}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// Libraries takes what libraries write to the standard logger into l, at debug. What net/http quotes of an answer that nobody asked for is
// left out: a destination may have put a tenant's body into it.
func Libraries(l *slog.Logger) io.Writer { return libraries{l} }

type libraries struct{ log *slog.Logger }

func (w libraries) Write(line []byte) (int, error) {
	text, _, _ := strings.Cut(string(line), " starting with ")
	w.log.Debug("a library says", "text", strings.TrimRight(text, "\n"))
	return len(line), nil
}
