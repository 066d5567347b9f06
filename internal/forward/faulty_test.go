package forward

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// faulty are destinations that do wrong, each in its way, over the real network; there is one that does right.
func faulty(t *testing.T) map[string]string {
	t.Helper()
	served := func(f http.HandlerFunc) string {
		s := httptest.NewServer(f)
		t.Cleanup(s.Close)
		return s.URL
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	hung := make(chan struct{})
	t.Cleanup(func() { close(hung) }) // before the server is closed
	return map[string]string{
		"right": served(func(http.ResponseWriter, *http.Request) {}),
		"slow": served(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-r.Context().Done():
			case <-hung:
			}
		}),
		"down":     "http://" + gone.Addr().String(),
		"redirect": served(http.RedirectHandler("http://169.254.169.254/", http.StatusFound).ServeHTTP),
		"garbage": rawServer(t, func(c net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\x00\xff{]\x00and more that nobody asked for")
			}
		}),
		"gigabyte": served(func(w http.ResponseWriter, _ *http.Request) {
			for range 1024 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}),
		"reset": rawServer(t, func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_ = c.(*net.TCPConn).SetLinger(0)
		}),
		"poisoned": served(func(w http.ResponseWriter, r *http.Request) {
			if raw, _ := io.ReadAll(r.Body); strings.Contains(string(raw), `"k0"`) {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}),
	}
}

// All faults side by side: each is dealt with by itself, and what can arrive does, with bounded memory and goroutines.
func TestFaultyDestinationsSideBySide(t *testing.T) {
	const events = 40
	r := newRig(t)
	urls := faulty(t)
	for name, url := range urls {
		r.source("acme", name, func(d *Destination) { d.URL, d.Allow, d.InFlight = url, loopback, 8 })
		for i := range events {
			r.event(fmt.Sprint("k", i), name)
		}
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	s := New(r.books, Options{Clock: r.clock, Grace: time.Millisecond})
	if err := s.Set(r.dests); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()

	want := map[string][2]int{ // waiting and dead, once all has come that can
		"slow": {events, 0}, "down": {events, 0}, "reset": {events, 0}, "redirect": {0, events}, "poisoned": {1, 0},
	}
	for deadline := time.Now().Add(5 * time.Minute); fmt.Sprint(r.left()) != fmt.Sprint(want); {
		if time.Now().After(deadline) {
			t.Fatalf("left: %v", r.left())
		}
		select {
		case <-r.books.queued: // the forwarder may miss it, and looks again within a second
		case <-time.After(20 * time.Millisecond):
		}
	}
	// A request of ours has three goroutines, its server's connection one.
	if n := runtime.NumGoroutine() - goroutines; n > 8*8*4 {
		t.Errorf("%d goroutines more", n)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > 32<<20 {
		t.Errorf("%d bytes more are held", n)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 256<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// left counts what waits and what is dead, by source.
func (r *rig) left() map[string][2]int {
	all := map[string][2]int{}
	r.view(func(v intake.View) error {
		for d, err := range v.Deliveries() {
			if err != nil {
				return err
			}
			n := all[d.Name.Source]
			if d.State == gateway.Dead {
				n[1]++
			} else {
				n[0]++
			}
			all[d.Name.Source] = n
		}
		return nil
	})
	return all
}
