package forward

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hapax/internal/gateway"
)

// The example of the Standard Webhooks specification.
func TestSignatureVector(t *testing.T) {
	key, err := parseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := signature([][]byte{key}, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWhatAnAnswerMeans(t *testing.T) {
	for code, want := range map[int]verdict{
		200: delivered, 201: delivered, 204: delivered, 299: delivered,
		300: final, 301: final, 302: final, 304: final, 307: final, 308: final,
		400: final, 401: final, 403: final, 404: final, 408: retry, 409: retry, 410: final, 413: final, 422: final, 425: retry, 429: retry, 499: final,
		101: retry, 500: retry, 501: retry, 502: retry, 503: retry, 504: retry, 599: retry, 600: retry, 999: retry,
	} {
		if a := answered(status(code), 0); a.verdict != want {
			t.Errorf("%d: %s, want %s", code, verdictNames[a.verdict], verdictNames[want])
		}
	}
}

// The request as the other end reads it off the wire.
func TestTheRequest(t *testing.T) {
	got := make(chan *http.Request, 1)
	bodies := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- r
		bodies <- string(b)
		_, _ = io.WriteString(w, "\x00\xff no JSON, and none needed")
	}))
	defer server.Close()
	to := aim(t, server.URL+"/a%2Fb?c=d", func(d *Destination) {
		d.Extra = []gateway.Header{{Name: "X-Team", Value: "ours"}, {Name: "X-Team", Value: "yours"}}
		d.Secrets = []string{"whsec_AAAA", "whsec_BBBB"}
	}, nil)
	b := &gateway.Body{ContentType: "application/json; charset=utf-8", Bytes: []byte("{\"a\":1.0}\n"), Headers: []gateway.Header{
		{Name: "X-GitHub-Event", Value: "push"}, {Name: "X-Team", Value: "forged"}, {Name: "idempotency-key", Value: "forged"}, {Name: "Webhook-Id", Value: "forged"},
		{Name: "Transfer-Encoding", Value: "chunked"}, {Name: "Host", Value: "elsewhere"}, {Name: "hapax-number", Value: "9"},
	}}
	a := to.send(t.Context(), &gateway.Delivery{ID: "ev_7", Sends: 3, Ordinal: 5}, b, standing(1_700_000_000_999))
	if a.verdict != delivered {
		t.Fatalf("%+v", a)
	}
	r, body := <-got, <-bodies
	if r.Method != "POST" || r.RequestURI != "/a%2Fb?c=d" || "http://"+r.Host != server.URL || body != "{\"a\":1.0}\n" || r.ContentLength != 10 || len(r.TransferEncoding) != 0 {
		t.Errorf("%s %s %s %q %d %v", r.Method, r.RequestURI, r.Host, body, r.ContentLength, r.TransferEncoding)
	}
	for name, want := range map[string]string{
		"Idempotency-Key": "ev_7", "Hapax-Attempt": "3", "Hapax-Number": "5", "Content-Type": b.ContentType, "X-Github-Event": "push", "X-Team": "ours,yours",
		"Webhook-Id": "ev_7", "Webhook-Timestamp": "1700000000", "User-Agent": "Hapax", "Accept-Encoding": "",
		"Webhook-Signature": signature(to.keys, "ev_7", 1_700_000_000, b.Bytes),
	} {
		if v := strings.Join(r.Header.Values(name), ","); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if n := len(strings.Fields(r.Header.Get("Webhook-Signature"))); n != 2 {
		t.Errorf("%d signatures", n)
	}
}

func TestAnEmptyBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 || len(r.TransferEncoding) != 0 || r.Header.Get("Content-Type") != "" {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	a := aim(t, server.URL, nil, nil).send(t.Context(), &gateway.Delivery{ID: "ev_1"}, &gateway.Body{}, standing(0))
	if a.verdict != delivered {
		t.Errorf("%+v", a)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := &counting{then: func(http.ResponseWriter, *http.Request) {}}
	e := httptest.NewServer(elsewhere)
	defer e.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(e.URL, code))
		if a := trying(t, aim(t, server.URL, nil, nil), "x"); a.verdict != final || a.reason != fmt.Sprintf("status %d", code) {
			t.Errorf("%d: %+v", code, a)
		}
		server.Close()
	}
	if elsewhere.count() != 0 {
		t.Error("a redirect was followed")
	}
}

// A gigabyte is answered, once with its length told and once without: neither is read, and the answer's status stands.
func TestAnEndlessAnswer(t *testing.T) {
	const size = 1 << 30
	var written atomic.Int64
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/told" {
			w.Header().Set("Content-Length", fmt.Sprint(size))
		}
		for range size / len(chunk) {
			n, err := w.Write(chunk)
			written.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer server.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, path := range []string{"/told", "/untold"} {
		if a := trying(t, aim(t, server.URL+path, nil, nil), "x"); a.verdict != delivered {
			t.Errorf("%s: %+v", path, a)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("%d bytes allocated", n)
	}
	if n := written.Load(); n > 64<<20 {
		t.Errorf("%d bytes were taken", n)
	}
}

// HTTP/2 where the destination speaks it: requests side by side on one connection, an endless answer bounded there too.
func TestHTTP2(t *testing.T) {
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); r.ProtoMajor != 2 || string(body) != "x" || r.Header.Get("Idempotency-Key") != "ev_1" {
			w.WriteHeader(http.StatusBadRequest)
		}
		if r.URL.Path == "/endless" {
			for {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	for _, path := range []string{"/", "/endless"} {
		to := aim(t, server.URL+path, nil, nil)
		to.trips.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
		answers := make(chan answer, 20)
		for range cap(answers) {
			go func() { answers <- trying(t, to, "x") }()
		}
		for range cap(answers) {
			if a := <-answers; a.verdict != delivered {
				t.Errorf("%s: %+v", path, a)
			}
		}
	}
}

// A body that never ends its drip doesn't hold the slot: the status is known.
func TestADrippingAnswer(t *testing.T) {
	url := rawServer(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx")
		_, _ = r.ReadByte() // until the other end hangs up
	})
	began := time.Now()
	to := aim(t, url, func(d *Destination) { d.Timeout = MaxTimeout }, nil)
	if a := trying(t, to, ""); a.verdict != delivered {
		t.Errorf("%+v", a)
	}
	if took := time.Since(began); took > MaxTimeout/2 { // far more than a slow machine takes, far less than the drip
		t.Errorf("it took %v", took)
	}
}

func TestFaultsOfTheNetwork(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	request := func(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) }
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	for _, c := range []struct {
		name, url, reason string
		unreached         bool
	}{
		{"nobody listens", "http://" + closed.Addr().String(), "connection refused", true},
		{"an authority that nobody knows", secure.URL, "tls", true},
		{"closed at once", rawServer(t, func(net.Conn) {}), "", false},
		{"reset", rawServer(t, func(c net.Conn) {
			request(c)
			_ = c.(*net.TCPConn).SetLinger(0)
		}), "connection reset", false},
		{"closed without an answer", rawServer(t, request), "connection closed", false},
		{"cut within the header", rawServer(t, func(c net.Conn) {
			request(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-")
		}), "", false},
		{"no HTTP", rawServer(t, func(c net.Conn) {
			request(c)
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH\r\n")
		}), "network", false},
		{"a header without end", rawServer(t, func(c net.Conn) {
			request(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(c, "X-A: "+strings.Repeat("a", 1000)+"\r\n"); err != nil {
					return
				}
			}
		}), "network", false},
		{"no answer", rawServer(t, func(c net.Conn) {
			r := bufio.NewReader(c)
			_, _ = http.ReadRequest(r)
			_, _ = io.Copy(io.Discard, r)
		}), "timeout", false},
	} {
		to := aim(t, c.url, func(d *Destination) { d.Timeout = 500 * time.Millisecond }, nil)
		a := trying(t, to, "x")
		if a.verdict != retry || c.reason != "" && a.reason != c.reason || a.unreached != c.unreached || a.alive {
			t.Errorf("%s: %+v", c.name, a)
		}
	}
	n := &nameServer{answers: func(int) []netip.Addr { return nil }}
	if a := trying(t, aim(t, "http://nowhere.example.com/", nil, n.resolver(t)), "x"); a.verdict != retry || a.reason != "name not resolved" {
		t.Errorf("a name that leads nowhere: %+v", a)
	}
}

// A machine out of descriptors or ports uses up nobody's tries.
func TestThisMachinesFaultIsNoTry(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL} {
		err := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", errno)}
		if a := unanswered(err, &way{}); a.verdict != untried {
			t.Errorf("%v: %+v", errno, a)
		}
	}
	bubble(t, func(t *testing.T, r *rig) {
		r.source("acme", "shop", func(d *Destination) { d.MaxTries = 1 })
		r.start()
		r.isDown(syscall.EMFILE)
		o := r.event("a")
		pass(time.Minute)
		if n := len(r.sends()); n < 30 || n > 62 {
			t.Errorf("%d requests in a minute", n)
		}
		if d := r.row(o.Number); d == nil || d.State != gateway.Waiting || d.Attempts != 0 {
			t.Errorf("%+v", d)
		}
		r.isDown(nil)
		pass(2 * time.Second)
		if d := r.row(o.Number); d != nil {
			t.Errorf("%+v", d)
		}
	})
}

// A try is one request: the transport doesn't send it again by itself after it may have arrived, though it has an Idempotency-Key.
func TestATryIsOneRequest(t *testing.T) {
	var requests atomic.Int64
	url := rawServer(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			if requests.Add(1); req.Header.Get("Hapax-Attempt") == "2" {
				return // taken, and no answer
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	for _, body := range []string{"x", ""} {
		to := aim(t, url, nil, nil)
		requests.Store(0)
		for attempt, want := range []verdict{delivered, retry} {
			d := &gateway.Delivery{ID: "ev_1", Sends: int64(attempt + 1), Ordinal: 1}
			if a := to.send(t.Context(), d, &gateway.Body{Bytes: []byte(body)}, standing(0)); a.verdict != want {
				t.Fatalf("try %d: %+v", attempt+1, a)
			}
		}
		if n := requests.Load(); n != 2 {
			t.Errorf("%d requests in two tries", n)
		}
	}
}

// A kept connection that the other end has closed costs no try where nothing of the request left; where some of it may have, it does.
func TestAConnectionClosedWhileKept(t *testing.T) {
	for _, c := range []struct {
		reused, left bool
		want         verdict
		requests     int
	}{{true, false, delivered, 2}, {true, true, retry, 1}, {false, false, retry, 1}} {
		here, there := net.Pipe()
		conn := &counted{Conn: here}
		requests := 0
		to := aim(t, "http://example.com/", nil, nil)
		to.trips = trips(func(req *http.Request) (*http.Response, error) {
			if requests++; requests > 1 {
				return status(200), nil
			}
			httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{Conn: conn, Reused: c.reused})
			if c.left {
				go func() { _, _ = io.CopyN(io.Discard, there, 1) }()
				_, _ = conn.Write([]byte("P"))
			}
			return nil, io.EOF
		})
		if a := trying(t, to, "x"); a.verdict != c.want || requests != c.requests {
			t.Errorf("%+v: %+v after %d requests", c, a, requests)
		}
		_, _ = here.Close(), there.Close()
	}
}

// A try cut off before it left is told apart from one that may have arrived.
func TestCutOff(t *testing.T) {
	arrived := make(chan struct{})
	url := rawServer(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		close(arrived)
		_, _ = io.Copy(io.Discard, r)
	})
	ctx, cut := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cut()
	}()
	to := aim(t, url, nil, nil)
	if a := to.send(ctx, &gateway.Delivery{ID: "ev_1"}, &gateway.Body{Bytes: []byte("x")}, standing(0)); a.verdict != retry || a.reason != shutdown {
		t.Errorf("it had arrived: %+v", a)
	}
	if a := to.send(ctx, &gateway.Delivery{ID: "ev_1"}, &gateway.Body{Bytes: []byte("x")}, standing(0)); a.verdict != untried {
		t.Errorf("it never left: %+v", a)
	}
}
