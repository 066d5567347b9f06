package crash

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// destination is a flaky one: it fails, stalls, resets, and loses answers to what it took. It deduplicates by Idempotency-Key, as a
// destination is told to.
type destination struct {
	url  string
	calm atomic.Bool

	mu       sync.Mutex
	random   *rand.Rand
	arrivals map[string]*arrival // by id
	keys     map[string][]string // ids of a key in the order of first arrival
	bySerial map[string]string   // id under which a delivery arrived
	effects  map[string]int      // of each id: 1, or the destination itself is wrong
	requests int
	stormy   int // of them, those that came while servers were killed
	down     int // so many requests from now on are answered 503
	faults   []string
}

// arrival is an event as it arrived first.
type arrival struct {
	event
	number  int64
	attempt int64
	body    string
}

func newDestination(t *testing.T, seed uint64) *destination {
	t.Helper()
	d := &destination{random: rand.New(rand.NewPCG(seed, 99)), arrivals: map[string]*arrival{}, keys: map[string][]string{}, bySerial: map[string]string{}, effects: map[string]int{}}
	s := httptest.NewServer(d)
	t.Cleanup(s.Close)
	d.url = s.URL
	return d
}

// ServeHTTP notes what comes, and then may take it, fail, or take it and fail to say so.
func (d *destination) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the server was killed while it sent: nothing of it counts
	}
	id := r.Header.Get("Idempotency-Key")
	d.mu.Lock()
	d.note(id, r.Header, string(body))
	luck := d.random.IntN(20)
	switch {
	case d.calm.Load():
		luck = 19
	case d.down > 0:
		d.down--
		luck = 0
	case luck == 1:
		d.down = d.random.IntN(8)
	}
	if luck >= 2 {
		d.effects[id] = 1 // once, however often it comes: that is what the id is for
	}
	d.mu.Unlock()
	switch luck {
	case 0, 1:
		w.WriteHeader(http.StatusServiceUnavailable)
	case 2: // taken, and the answer lost
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	case 3: // taken, and answered too late
		select {
		case <-r.Context().Done():
		case <-time.After(2 * time.Second):
		}
	}
}

// note holds a request against those before it.
func (d *destination) note(id string, h http.Header, body string) {
	d.requests++
	if !d.calm.Load() {
		d.stormy++
	}
	number, _ := strconv.ParseInt(h.Get("Hapax-Number"), 10, 64)
	attempt, _ := strconv.ParseInt(h.Get("Hapax-Attempt"), 10, 64)
	a := d.arrivals[id]
	if a == nil {
		a = &arrival{number: number, attempt: attempt - 1, body: body}
		if err := json.Unmarshal([]byte(body), &a.event); err != nil {
			d.faults = append(d.faults, "no event arrived: "+body)
		}
		if other := d.bySerial[a.Serial]; other != "" {
			d.faults = append(d.faults, "delivery "+a.Serial+" arrived as "+other+" and as "+id)
		}
		d.arrivals[id] = a
		d.bySerial[a.Serial] = id
		d.keys[a.Key] = append(d.keys[a.Key], id)
	}
	if a.number != number || a.body != body {
		d.faults = append(d.faults, id+" arrived as two different events")
	}
	if attempt <= a.attempt {
		d.faults = append(d.faults, id+" came twice as attempt "+h.Get("Hapax-Attempt"))
	}
	a.attempt = attempt
}

// judge holds what arrived against what the upstreams were told.
func (d *destination) judge(t *testing.T, all []*upstream) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, f := range d.faults {
		if t.Error(f); i == 20 {
			t.Fatalf("and %d more", len(d.faults)-i)
		}
	}
	for key, ids := range d.keys {
		for i, id := range ids {
			if a := d.arrivals[id]; a.number != int64(i+1) {
				t.Errorf("key %s: event %d of it arrived in place %d", key, a.number, i+1)
			}
		}
	}
	for id := range d.arrivals {
		if d.effects[id] != 1 {
			t.Errorf("%s arrived and never took effect", id)
		}
	}
	deliveries, accepts, again := 0, 0, 0
	for _, u := range all {
		for _, told := range u.told {
			deliveries++
			if told.again {
				again++
			}
			a := d.arrivals[told.id]
			if a == nil {
				t.Errorf("%s was told %s of %s, which never arrived", told.Serial, told.outcome, told.id)
				continue
			}
			if told.outcome == "accept" {
				accepts++
				if a.Serial != told.Serial {
					t.Errorf("%s was accepted as %s, which arrived as %s", told.Serial, told.id, a.Serial)
				}
			}
		}
	}
	t.Logf("%d kills, %d deliveries (%d sent again), %d accepted to their face, %d arrived in %d requests, %d of these between kills",
		kills, deliveries, again, accepts, len(d.arrivals), d.requests, d.stormy)
	if deliveries < kills*5 || again == 0 || d.stormy < kills*5 || d.requests == len(d.arrivals) {
		t.Error("the kills met no load")
	}
}
