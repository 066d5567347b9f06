package forward

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store/memory"
)

// wallClock is time.Now, which stands still in a bubble until all sleep; a test moves its wall half.
type wallClock struct {
	mu    sync.Mutex
	start time.Time
	moved int64 // ms
}

func (c *wallClock) Now() (int64, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().UnixMilli() + c.moved, time.Since(c.start)
}

func (c *wallClock) move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += by.Milliseconds()
}

// plainBooks is intake.Books over the oracle of all stores, one commit a call.
type plainBooks struct {
	store  *memory.Store
	clock  *wallClock
	queued chan struct{}
	failed chan struct{}

	mu     sync.Mutex
	looks  int                                    // calls of View
	refuse func(commands []gateway.Command) error // stands in for a commit that fails
}

func (b *plainBooks) Enter(ctx context.Context, commands ...gateway.Command) ([]gateway.Outcome, error) {
	b.mu.Lock()
	refuse := b.refuse
	b.mu.Unlock()
	if refuse != nil {
		if err := refuse(commands); err != nil {
			return nil, err
		}
	}
	now, _ := b.clock.Now()
	outcomes, err := b.store.Enter(ctx, now, commands)
	select {
	case b.queued <- struct{}{}:
	default:
	}
	return outcomes, err
}

func (b *plainBooks) View(ctx context.Context, f func(intake.View) error) error {
	b.mu.Lock()
	b.looks++
	b.mu.Unlock()
	return b.store.ViewBooks(ctx, f)
}

func (b *plainBooks) looked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.looks
}

func (b *plainBooks) EraseBodies(ctx context.Context, tenant, source string, before int64) (int64, error) {
	return b.store.EraseBodies(ctx, tenant, source, before)
}
func (b *plainBooks) Queued() <-chan struct{} { return b.queued }
func (b *plainBooks) Failed() <-chan struct{} { return b.failed }

// sent is a request as a destination saw it.
type sent struct {
	at      time.Duration // since the rig began
	url     string
	id      string // Idempotency-Key
	attempt string
	number  string
	body    string
	header  http.Header
}

// rig is a forwarder over the memory store, and destinations that are functions.
type rig struct {
	t       *testing.T
	books   *plainBooks
	clock   *wallClock
	log     *strings.Builder
	options Options
	dests   []Destination
	begun   time.Time

	service *Service
	stop    func() error

	mu     sync.Mutex
	answer func(s sent, ctx context.Context) (*http.Response, error)
	down   error // no connection can be made
	seen   []sent
	events int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s, err := memory.Open(memory.NewDisk(nil))
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, clock: &wallClock{start: time.Now()}, begun: time.Now(), log: &strings.Builder{}}
	r.books = &plainBooks{store: s, clock: r.clock, queued: make(chan struct{}, 1), failed: make(chan struct{})}
	r.options = Options{Clock: r.clock}
	r.answer = func(sent, context.Context) (*http.Response, error) { return status(204), nil }
	r.enter(&gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 3600}})
	return r
}

// source makes a source that forwards, with a destination.
func (r *rig) source(tenant, source string, change func(*Destination)) {
	r.t.Helper()
	r.enter(&gateway.SetSource{Tenant: tenant, Source: source, Settings: gateway.Settings{
		WindowS: 3600, Scope: settle.ScopeSchema, LRUCapacity: 10, Open: true, Forward: true, Parts: 1,
	}})
	d := Destination{Tenant: tenant, Source: source, URL: "http://" + source + "." + tenant + ".test/hook"}
	if change != nil {
		change(&d)
	}
	r.dests = append(r.dests, d)
}

func (r *rig) enter(c gateway.Command) gateway.Outcome {
	r.t.Helper()
	o, err := r.books.Enter(context.Background(), c)
	if err != nil {
		r.t.Fatal(err)
	}
	return o[0]
}

// event accepts an event, or a repeat of one, of the first source where none is named.
func (r *rig) event(key string, at ...string) gateway.Outcome {
	r.t.Helper()
	name := gateway.Name{Tenant: "acme", Source: "shop", Key: key}
	if len(at) > 0 {
		name.Source = at[0]
	}
	r.events++
	amount, _ := settle.ParseAmount([]byte("1"))
	body := fmt.Appendf(nil, `{"key":%q}`, key)
	o := r.enter(&gateway.Event{
		Name: name, ID: fmt.Sprintf("ev_%d", r.events), Amount: "1", AmountOK: true, Value: amount, Currency: "USD",
		Body: &gateway.Body{ContentType: "application/json", Bytes: body}, Digest: sha256.Sum256(body),
	})
	if o.Kind != gateway.Done {
		r.t.Fatalf("event %q: %+v", key, o)
	}
	return o
}

// start runs a forwarder; r.stop ends it as a server does.
func (r *rig) start() {
	r.t.Helper()
	r.service = New(r.books, r.options)
	r.service.connect = r.connect
	if err := r.service.Set(r.dests); err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.service.Run(ctx) }()
	r.stop = func() error {
		cancel()
		return <-done
	}
}

// connect makes a target whose requests the rig answers.
func (r *rig) connect(d Destination) *target {
	t := newTarget(d, nil, context.Background())
	t.trips = trips(r.trip)
	return t
}

type trips func(*http.Request) (*http.Response, error)

func (f trips) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (r *rig) trip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	h := req.Header
	s := sent{
		at: time.Since(r.begun), url: req.URL.String(), id: h.Get("Idempotency-Key"), attempt: h.Get("Hapax-Attempt"), number: h.Get("Hapax-Number"),
		body: string(body), header: h,
	}
	r.mu.Lock()
	r.seen = append(r.seen, s)
	answer, down := r.answer, r.down
	r.mu.Unlock()
	if down != nil {
		return nil, down
	}
	httptrace.ContextClientTrace(req.Context()).GotConn(httptrace.GotConnInfo{})
	return answer(s, req.Context())
}

// sends returns what arrived so far.
func (r *rig) sends() []sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sent(nil), r.seen...)
}

func (r *rig) answers(f func(s sent, ctx context.Context) (*http.Response, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

// always answers everything with one status.
func always(code int) func(sent, context.Context) (*http.Response, error) {
	return func(sent, context.Context) (*http.Response, error) { return status(code), nil }
}

var errDown = errors.New("nobody listens")

// isDown lets no connection be made, or with nil lets them again.
func (r *rig) isDown(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = why
}

func status(code int, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: code, Header: h, Body: http.NoBody}
}

// row reads an outbox row, nil where none is.
func (r *rig) row(number int64) (d *gateway.Delivery) {
	r.t.Helper()
	r.view(func(v intake.View) (err error) {
		d, err = v.Delivery(number)
		return err
	})
	return d
}

func (r *rig) view(f func(intake.View) error) {
	r.t.Helper()
	if err := r.books.store.ViewBooks(context.Background(), f); err != nil {
		r.t.Fatal(err)
	}
}

// outbox counts rows that wait and that are dead.
func (r *rig) outbox() (waiting, dead int) {
	r.t.Helper()
	r.view(func(v intake.View) error {
		for d, err := range v.Deliveries() {
			if err != nil {
				return err
			}
			if d.State == gateway.Dead {
				dead++
			} else {
				waiting++
			}
		}
		return nil
	})
	return waiting, dead
}

func (r *rig) waiting() int {
	r.t.Helper()
	n, _ := r.outbox()
	return n
}

// bubble runs a test in virtual time, and ends its forwarder.
func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		f(t, r)
		if r.stop != nil {
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// pass lets time pass, and then all settle.
func pass(d time.Duration) {
	time.Sleep(d) // virtual
	synctest.Wait()
}
