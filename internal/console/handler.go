package console

import (
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
)

// Policy is what the page may load and do (Content-Security-Policy): files of this origin only, no code or style in the
// markup, no frames either way, and no text turned into code or markup (Trusted Types; the page has no policy that could).
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; manifest-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Handler serves the page, and hands on what isn't its.
type Handler struct {
	files map[string]*file
	next  http.Handler
}

// New returns a handler of the embedded build. next answers every request that no file is for: the API, and its 404.
func New(next http.Handler) (*Handler, error) {
	dist, err := fs.Sub(built, "dist")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return of(dist, next)
}

func of(dist fs.FS, next http.Handler) (*Handler, error) {
	files, err := load(dist)
	return &Handler{files: files, next: next}, err
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Also for the API: a message must never be taken for a page of this origin.
	w.Header().Set("X-Content-Type-Options", "nosniff")
	f, ok := h.files[r.URL.Path]
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.next.ServeHTTP(w, r)
		return
	}
	f.serve(w, r)
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	for name, value := range map[string]string{
		"Content-Type":                 f.contentType,
		"Cache-Control":                f.cache,
		"Content-Security-Policy":      Policy,
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy":           "camera=(), microphone=(), geolocation=(), payment=()",
		"Vary":                         "Accept-Encoding",
	} {
		header.Set(name, value)
	}
	body, tag := f.body, `"`+f.tag+`"`
	if f.packed != nil && accepts(r.Header.Values("Accept-Encoding"), "gzip") {
		body, tag = f.packed, `"`+f.tag+`-gzip"`
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("ETag", tag)
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	// A browser that has gone reads nothing.
	_, _ = w.Write(body)
}

// accepts says whether an Accept-Encoding names a coding without forbidding it (q=0).
func accepts(values []string, coding string) bool {
	for _, line := range values {
		for part := range strings.SplitSeq(line, ",") {
			name, parameter, _ := strings.Cut(part, ";")
			if !strings.EqualFold(strings.TrimSpace(name), coding) {
				continue
			}
			q, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
			weight, err := strconv.ParseFloat(q, 64)
			return !ok || err == nil && weight > 0
		}
	}
	return false
}

// matches says whether an If-None-Match names a tag. Weak and strong ones are one here (RFC 9110, 13.1.2).
func matches(values []string, tag string) bool {
	for _, line := range values {
		for part := range strings.SplitSeq(line, ",") {
			if part = strings.TrimPrefix(strings.TrimSpace(part), "W/"); part == tag || part == "*" {
				return true
			}
		}
	}
	return false
}
