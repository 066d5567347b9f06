package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"hapax/internal/auth"
	"hapax/internal/config"
	"hapax/internal/room"
	"hapax/internal/serve"
	"hapax/internal/store"
	"hapax/protocol"
)

// seen notes every code that a server answered in this package's tests, over which wire.
var seen sync.Map

// TestMain holds the whole run to two things that no single test can: every code of the protocol was really answered, and no
// goroutine is left.
func TestMain(m *testing.M) {
	flag.Parse()
	status := m.Run()
	if f := flag.Lookup("test.run"); status == 0 && f.Value.String() == "" {
		for _, r := range protocol.Rules() {
			if _, ok := seen.Load(r.Code); !ok {
				fmt.Printf("FAIL: no test made the server answer %s\n", r.Code)
				status = 1
			}
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); status == 0 && err != nil {
		fmt.Println("FAIL:", err)
		status = 1
	}
	os.Exit(status)
}

// patience bounds every wait of a test; it is never waited out where the server is right.
const patience = 2 * time.Minute

// running is a server under test, reached by its addresses only.
type running struct {
	t       *testing.T
	config  config.Config
	at      serve.Addresses
	key     *auth.LocalKey
	link    *auth.Link
	signals chan os.Signal
	reloads chan os.Signal
	ended   chan error
	once    sync.Once
	err     error
}

// kinds are the stores that the black-box tests run on.
var kinds = []string{"memory", "pebble"}

func onEveryStore(t *testing.T, f func(t *testing.T, kind string)) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) { f(t, kind) })
	}
}

type setup struct {
	kind   string
	change func(*config.Config)
	wrap   func(store.Store) store.Store
	reload func() (config.Config, error)
	log    slog.Handler // nil: nowhere
}

func start(t *testing.T, o setup) *running {
	t.Helper()
	c := config.Default()
	c.Data, c.Listen, c.Admin.Listen, c.Store = filepath.Join(t.TempDir(), "data"), "127.0.0.1:0", "127.0.0.1:0", "memory"
	c.Drain = config.Drain{Spread: 5 * time.Second, Wait: 5 * time.Second, Grace: 100 * time.Millisecond}
	if o.kind != "" {
		c.Store = o.kind
	}
	if o.change != nil {
		o.change(&c)
	}
	r := &running{t: t, config: c, signals: make(chan os.Signal, 2), reloads: make(chan os.Signal, 1), ended: make(chan error, 1)}
	started := make(chan serve.Addresses, 1)
	host := serve.Host{
		Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), Signals: r.signals, Started: func(a serve.Addresses) { started <- a },
		Reloads: r.reloads, Reload: o.reload,
	}
	if o.log != nil {
		host.Log = slog.New(o.log)
	}
	if o.wrap != nil {
		host.Store = func(c config.Config, log *slog.Logger) (store.Store, error) {
			st, err := serve.OpenStore(c, log)
			if err != nil {
				return nil, err
			}
			return o.wrap(st), nil
		}
	}
	go func() { r.ended <- serve.Run(context.Background(), c, host) }()
	select {
	case r.at = <-started:
	case err := <-r.ended:
		t.Fatalf("the server didn't start: %v", err)
	case <-time.After(patience):
		t.Fatal("the server doesn't start")
	}
	if c.DevMode() {
		key, err := auth.OpenLocalKey(c.Data)
		if err != nil {
			t.Fatal(err)
		}
		r.key = key
		if r.link, err = auth.OpenLink(c.Data); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil && !errors.Is(err, serve.ErrStoreFailed) && !errors.Is(err, serve.ErrKilled) && !errors.Is(err, serve.ErrUnproved) {
			t.Errorf("the server ended with %v", err)
		}
	})
	return r
}

// stop drains the server and returns what Run returned.
func (r *running) stop() error {
	r.signals <- syscall.SIGTERM
	return r.wait()
}

func (r *running) wait() error {
	r.once.Do(func() {
		select {
		case r.err = <-r.ended:
		case <-time.After(patience):
			r.err = errors.New("the server doesn't end")
		}
	})
	return r.err
}

// token signs for an actor; grants are PATTERN=RIGHTS, everything where there is none.
func (r *running) token(actor string, grants ...string) string {
	return r.tokenFor(actor, time.Hour, grants...)
}

func (r *running) tokenFor(actor string, ttl time.Duration, grants ...string) string {
	r.t.Helper()
	rooms := []auth.Grant{auth.All}
	if len(grants) > 0 {
		rooms = nil
	}
	for _, g := range grants {
		grant, err := auth.ParseGrant(g)
		if err != nil {
			r.t.Fatal(err)
		}
		rooms = append(rooms, grant)
	}
	token, err := r.key.Sign(actor, rooms, ttl, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}

// object is a frame or a body as a client without our codec would read it.
type object map[string]any

func (o object) str(name string) string { s, _ := o[name].(string); return s }
func (o object) num(name string) int64  { n, _ := o[name].(float64); return int64(n) }
func (o object) is(name string) bool    { b, _ := o[name].(bool); return b }
func (o object) rows(name string) (rows []object) {
	list, _ := o[name].([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		rows = append(rows, m)
	}
	return rows
}

// socket is a client's connection, by another library than the server's.
type socket struct {
	t    *testing.T
	conn *websocket.Conn
}

func (r *running) dial(header http.Header) (*socket, *http.Response, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, "ws://"+r.at.Clients+"/v1/ws", &websocket.DialOptions{Subprotocols: []string{protocol.Subprotocol}, HTTPHeader: header})
	if err != nil {
		return nil, resp, err
	}
	conn.SetReadLimit(16 << 20)
	r.t.Cleanup(func() { _ = conn.CloseNow() })
	return &socket{r.t, conn}, resp, nil
}

func (r *running) connect() *socket {
	r.t.Helper()
	s, _, err := r.dial(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// enter connects and says hello.
func (r *running) enter(actor string, grants ...string) *socket {
	r.t.Helper()
	s := r.connect()
	s.send(object{"type": "hello", "token": r.token(actor, grants...)})
	s.want("welcome")
	return s
}

func (s *socket) send(o object) {
	s.t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(websocket.MessageText, b)
}

func (s *socket) write(kind websocket.MessageType, b []byte) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.conn.Write(ctx, kind, b); err != nil {
		s.t.Fatalf("write: %v", err)
	}
}

func (s *socket) read() (object, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, b, err := s.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	var o object
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, fmt.Errorf("%s: %w", b, err)
	}
	if o.str("type") == "error" {
		seen.Store(protocol.Code(o.str("code")), "ws")
		if want := protocol.Code(o.str("code")).Rule(); o.is("retryable") != want.Retryable || (o.num("retryAfterMs") > 0) != want.Retryable {
			return o, fmt.Errorf("retry advice of %v", o)
		}
	}
	return o, nil
}

// want returns the next frame, which must be of a type.
func (s *socket) want(kind string) object {
	s.t.Helper()
	o, err := s.read()
	if err != nil {
		s.t.Fatalf("waiting for %s: %v", kind, err)
	}
	if o.str("type") != kind {
		s.t.Fatalf("want %s, got %v", kind, o)
	}
	return o
}

// skipTo passes over rows to the next frame of a type.
func (s *socket) skipTo(kind string) object {
	s.t.Helper()
	for {
		o, err := s.read()
		if err != nil {
			s.t.Fatalf("waiting for %s: %v", kind, err)
		}
		if o.str("type") == kind {
			return o
		}
		if o.str("type") != "message" {
			s.t.Fatalf("want %s, got %v", kind, o)
		}
	}
}

func (s *socket) wantError(code protocol.Code) object {
	s.t.Helper()
	o := s.want("error")
	if o.str("code") != string(code) {
		s.t.Fatalf("want %s, got %v", code, o)
	}
	return o
}

// wantClose reads on to the close frame.
func (s *socket) wantClose(code int) {
	s.t.Helper()
	for {
		o, err := s.read()
		if err == nil {
			s.t.Logf("before the close: %v", o)
			continue
		}
		if got := websocket.CloseStatus(err); int(got) != code {
			s.t.Fatalf("closed with %d, want %d (%v)", got, code, err)
		}
		return
	}
}

func (s *socket) subscribe(room string) object {
	s.t.Helper()
	s.send(object{"type": "subscribe", "room": room})
	return s.want("snapshot")
}

func (s *socket) say(room, id, text string) {
	s.t.Helper()
	s.send(object{"type": "send", "room": room, "clientMessageId": id, "text": text})
}

// answer is an HTTP answer.
type answer struct {
	status int
	header http.Header
	body   object
	raw    string
}

func (r *running) request(method, path, token string, body io.Reader, header http.Header) answer {
	r.t.Helper()
	req, err := http.NewRequest(method, "http://"+r.at.Clients+path, body)
	if err != nil {
		r.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Host = req.Header.Get("Host") // "": the address that is asked
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	a := answer{status: resp.StatusCode, header: resp.Header, raw: string(raw)}
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		if err := json.Unmarshal(raw, &a.body); err != nil {
			r.t.Fatalf("%s: %v", raw, err)
		}
	}
	if code := a.body.str("code"); code != "" {
		seen.Store(protocol.Code(code), "http")
	}
	return a
}

func (r *running) get(path, token string) answer {
	r.t.Helper()
	return r.request("GET", path, token, nil, nil)
}

func (r *running) post(room, token, id, body string) answer {
	r.t.Helper()
	return r.request("POST", "/v1/rooms/"+room+"/messages", token, strings.NewReader(body), http.Header{"Idempotency-Key": {id}})
}

// postLater posts beside the test. A post that fails closes the channel empty.
func (r *running) postLater(room, token, id, body string) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		defer close(done)
		done <- r.post(room, token, id, body)
	}()
	return done
}

// gate is a store whose commits can be held or made to fail.
type gate struct {
	store.Store
	mu      sync.Mutex
	held    chan struct{} // while not nil commits wait for its close
	failing bool
	entered chan struct{} // gets one for each commit that is held
}

func newGate(st store.Store) *gate { return &gate{Store: st, entered: make(chan struct{}, 1000)} }

func (g *gate) hold() (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := make(chan struct{})
	g.held = held
	return sync.OnceFunc(func() {
		g.mu.Lock()
		g.held = nil
		g.mu.Unlock()
		close(held)
	})
}

func (g *gate) fail() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failing = true
}

// Commit implements store.Store.
func (g *gate) Commit(ctx context.Context, b *store.Batch) ([]room.Outcome, error) {
	g.mu.Lock()
	held, failing := g.held, g.failing
	g.mu.Unlock()
	if failing {
		return nil, store.ErrBroken
	}
	if held != nil {
		g.entered <- struct{}{}
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return g.Store.Commit(ctx, b)
}
