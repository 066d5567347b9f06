package ingest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hapax/internal/wire/ingest"
)

// signing is a source of GitHub's scheme with narrow limits of its own, and sign what its deliveries are signed by.
func signing(s *ingest.Source) {
	s.Verify = ingest.Verify{Scheme: ingest.SchemeGitHub, Secrets: []ingest.Secret{{Label: "a", Value: "hush"}}}
	s.MaxBody, s.Rate, s.Burst = 200, 1, 20
}

func sign(body string) string { return "X-Hub-Signature-256: sha256=" + hexHMAC("hush", body) }

// from delivers from an address.
func (g *gate) from(address, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/v1/ingest/acme/pay", strings.NewReader(body))
	r.RemoteAddr = address
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	g.mux.ServeHTTP(w, r)
	return w
}

// D3: 20 wrong ones beside 20 good ones, from one address and from another.
func TestUnsignedDeliveriesUseUpNothingOfASource(t *testing.T) {
	g := openWith(t, ingest.Options{Rate: 30, Burst: 30}, nil, plain(signing))
	for i := range 20 {
		body := fmt.Sprintf(`{"id":"%d","amount":"1"}`, i)
		for _, address := range []string{"192.0.2.1:1", "198.51.100.7:1"} {
			if w := g.from(address, body, sign("other")); w.Code != http.StatusUnauthorized {
				t.Fatalf("unsigned: %d %s", w.Code, w.Body)
			}
		}
		if w := g.from("192.0.2.1:1", body, sign(body)); w.Code != http.StatusAccepted {
			t.Fatalf("good one %d: %d %s", i, w.Code, w.Body)
		}
	}
	if w := g.from("192.0.2.1:1", "{}", sign("{}")); w.Code != http.StatusTooManyRequests {
		t.Errorf("signed ones count for the source: %d", w.Code)
	}
}

// D3: whatever is sent, and whether the source is there or not.
func TestWhoCantSignIsAlwaysToldTheSame(t *testing.T) {
	g := openWith(t, ingest.Options{MaxBody: 100}, nil, plain(signing), plain(func(s *ingest.Source) { signing(s); s.Name, s.MaxBody = "large", 5000 }))
	var first string
	for range 30 { // more than the source's burst
		for _, body := range []string{"", "{}", "\xff", strings.Repeat(" ", 150), strings.Repeat(" ", 201), strings.Repeat(" ", 5000)} {
			for _, source := range []string{"pay", "large", "nowhere"} {
				for _, headers := range [][]string{nil, {"Content-Type: text/plain"}, {"Content-Encoding: gzip"}, {sign("x")}, {sign("x"), sign("y")}, {"X-Hub-Signature-256: ?"}} {
					w := g.deliver("acme", source, body, headers...)
					if answer := fmt.Sprint(w.Code, w.Header(), w.Body); first == "" && w.Code == http.StatusUnauthorized {
						first = answer
					} else if answer != first {
						t.Fatalf("%s, %d bytes, %v: %s\nnot %s", source, len(body), headers, answer, first)
					}
				}
			}
		}
	}
	for _, source := range []string{"pay", "large", "nowhere"} {
		if w := g.deliver("acme", source, strings.Repeat(" ", 5001)); w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: larger than any source takes: %d", source, w.Code)
		}
	}
}

// D3: a flood is turned away unread, its neighbours and those who can sign aren't.
func TestStrangersOfOneAddressAreBounded(t *testing.T) {
	g := openWith(t, ingest.Options{Rate: 1, Burst: 5}, nil, plain(signing))
	count := func(address string, n int) (refused int) {
		for range n {
			switch w := g.from(address, "{}"); {
			case w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") != "":
				refused++
			case w.Code != http.StatusUnauthorized:
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		return refused
	}
	for _, addresses := range [][2]string{{"192.0.2.1:1", "192.0.2.1:2"}, {"[2001:db8::1]:1", "[2001:db8::ffff:2]:1"}} {
		if n := count(addresses[0], 5) + count(addresses[1], 5); n != 5 {
			t.Errorf("%v: %d of 10 refused", addresses, n)
		}
	}
	for _, address := range []string{"192.0.2.2:1", "[2001:db8:0:1::1]:1", "127.0.0.1:1", "127.0.0.1:2", "@"} {
		if n := count(address, 5); n != 0 {
			t.Errorf("%s: %d refused", address, n)
		}
	}
	body := `{"id":"a","amount":"1"}`
	if w := g.from("192.0.2.1:1", body, sign(body)); w.Code != http.StatusTooManyRequests {
		t.Errorf("nothing signed came from there: %d", w.Code)
	}
	g.pass(time.Second)
	if w := g.from("192.0.2.1:1", body, sign(body)); w.Code != http.StatusAccepted {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := count("192.0.2.1:1", 20); n != 0 {
		t.Errorf("one that can sign: %d refused", n)
	}
	g.pass(2 * time.Hour)
	count("192.0.2.1:1", 1)
	g.pass(2 * time.Hour)
	if n := count("192.0.2.1:1", 10); n != 5 {
		t.Errorf("nothing signed for hours: %d refused", n)
	}
}

// B13: by a length that isn't reached, within a chunk, between chunks, by a sender that stalls.
func TestABodyCutOffOnItsWayIsSentAgain(t *testing.T) {
	g := openWith(t, ingest.Options{ReadTime: 300 * time.Millisecond}, nil, plain())
	server := httptest.NewServer(g.mux)
	defer server.Close()
	before := g.head()
	const head = "POST /v1/ingest/acme/pay HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for name, rest := range map[string]string{
		"a length": "Content-Length: 90\r\n\r\n{\"id\":\"a\"", "a length, nothing": "Content-Length: 90\r\n\r\n", "a chunk": "Transfer-Encoding: chunked\r\n\r\nff\r\n{\"id\":",
		"after a chunk": "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", "before a chunk": "Transfer-Encoding: chunked\r\n\r\n", "no last chunk": "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
		"no chunk": "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		for _, stalls := range []bool{false, true} {
			c, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.WriteString(c, head+rest)
			if err == nil && !stalls {
				err = c.(*net.TCPConn).CloseWrite()
			}
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatalf("%s, stalls %v: %v", name, stalls, err)
			}
			text, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), `"retry":"same_key"`) || !strings.Contains(string(text), `"incomplete_body"`) {
				t.Errorf("%s, stalls %v: %d %s", name, stalls, resp.StatusCode, text)
			}
			_ = c.Close()
		}
	}
	if g.head() != before {
		t.Error("something was stored")
	}
}
