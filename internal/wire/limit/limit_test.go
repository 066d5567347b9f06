package limit

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

func proxiesOf(t *testing.T, header string, named ...string) (*Proxies, *[]string) {
	t.Helper()
	var nets []netip.Prefix
	for _, n := range named {
		nets = append(nets, netip.MustParsePrefix(n))
	}
	var told []string
	return NewProxies(nets, header, func(peer Client, h string) { told = append(told, peer.String()+" "+h) }), &told
}

func requestFrom(remote string, headers ...string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = remote
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestWhoAsksThroughProxies(t *testing.T) {
	const named = "10.0.0.0/8"
	for _, c := range []struct {
		name, remote, header string
		headers              []string
		want                 string
		shared               bool
	}{
		{"no proxy", "192.0.2.7:1", XForwardedFor, nil, "192.0.2.7", false},
		{"a whole /64 is one", "[2001:db8::7]:1", XForwardedFor, nil, "2001:db8::/64", false},
		{"IPv4 written as IPv6", "[::ffff:192.0.2.7]:1", XForwardedFor, nil, "192.0.2.7", false},
		{"loopback is shared", "127.0.0.1:1", XForwardedFor, nil, "127.0.0.1", true},
		{"loopback of IPv6", "[::1]:1", XForwardedFor, nil, "::/64", true},
		{"no address", "@", XForwardedFor, nil, "local", true},
		{"who isn't named isn't believed", "192.0.2.7:1", XForwardedFor, []string{XForwardedFor, "198.51.100.1"}, "192.0.2.7", false},
		{"loopback that isn't named isn't either", "127.0.0.1:1", XForwardedFor, []string{XForwardedFor, "198.51.100.1"}, "127.0.0.1", true},
		{"a named proxy is believed", "10.1.2.3:1", XForwardedFor, []string{XForwardedFor, "198.51.100.1"}, "198.51.100.1", false},
		{"the nearest unnamed counts, not what it said", "10.1.2.3:1", XForwardedFor, []string{XForwardedFor, "203.0.113.9, 198.51.100.1, 10.9.9.9"}, "198.51.100.1", false},
		{"over several lines", "10.1.2.3:1", XForwardedFor, []string{XForwardedFor, "203.0.113.9", XForwardedFor, "198.51.100.1"}, "198.51.100.1", false},
		{"with a port", "10.1.2.3:1", XForwardedFor, []string{XForwardedFor, "[2001:db8::7]:99"}, "2001:db8::/64", false},
		{"a proxy that doesn't tell is shared", "10.1.2.3:1", XForwardedFor, nil, "10.1.2.3", true},
		{"one that can't tell", "10.1.2.3:1", XForwardedFor, []string{XForwardedFor, "198.51.100.1, unknown"}, "10.1.2.3", true},
		{"the other header isn't read", "10.1.2.3:1", XForwardedFor, []string{Forwarded, "for=198.51.100.1"}, "10.1.2.3", true},
		{"Forwarded", "10.1.2.3:1", Forwarded, []string{Forwarded, `for=203.0.113.9, For="[2001:db8:cafe::17]:4711";proto=https`}, "2001:db8:cafe::/64", false},
		{"Forwarded without for", "10.1.2.3:1", Forwarded, []string{Forwarded, "proto=https"}, "10.1.2.3", true},
		{"only named ones", "10.1.2.3:1", XForwardedFor, []string{XForwardedFor, "10.4.4.4"}, "10.1.2.3", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := proxiesOf(t, c.header, named)
			if got := p.Of(requestFrom(c.remote, c.headers...)); got.String() != c.want || got.Shared() != c.shared {
				t.Errorf("%s, shared %v; want %s, %v", got, got.Shared(), c.want, c.shared)
			}
		})
	}
}

func TestAForwardedHeaderOfOthersIsToldOnce(t *testing.T) {
	p, told := proxiesOf(t, XForwardedFor, "10.0.0.0/8")
	for range 3 {
		p.Of(requestFrom("192.0.2.7:1", XForwardedFor, "198.51.100.1"))
		p.Of(requestFrom("10.1.2.3:1", XForwardedFor, "198.51.100.1"))
	}
	if len(*told) != 1 || (*told)[0] != "192.0.2.7 X-Forwarded-For" {
		t.Errorf("%q", *told)
	}
}

func TestEachAddressHasABucketAndFewAreRemembered(t *testing.T) {
	b := AddressBuckets{NewBuckets[Client](1, 2, 8)}
	now := time.Unix(1000, 0)
	stranger := ClientOf(netip.MustParseAddr("192.0.2.7"))
	for i := range 3 {
		wait, ok := b.Allow(stranger, now)
		if ok != (i < 2) || ok != (wait == 0) {
			t.Errorf("%d: %v after %v", i, ok, wait)
		}
	}
	if _, ok := b.Allow(ClientOf(netip.MustParseAddr("192.0.2.8")), now); !ok {
		t.Error("another address paid for it")
	}
	if _, ok := b.Allow(stranger, now.Add(time.Second)); !ok {
		t.Error("a second doesn't fill one")
	}
	for range 100 {
		if _, ok := b.Allow(ClientOf(netip.MustParseAddr("::1")), now); !ok {
			t.Fatal("loopback has a bucket")
		}
	}
	for i := range 100 {
		b.Allow(ClientOf(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)})), now)
	}
	if n := b.buckets.Len(); n != 8 || len(b.buckets.known) != 8 {
		t.Errorf("%d are remembered", n)
	}
}

func TestNobodyHasMoreThanAQuarterOfABudget(t *testing.T) {
	b := NewBudget(400)
	ann, ben := b.Open(ByActor("ann")), b.Open(ByActor("ben"))
	if !ann.Take(100) || ann.Take(1) {
		t.Error("ann has more than a quarter, or less")
	}
	if !ben.Take(100) {
		t.Error("ben paid for it")
	}
	local := b.Open(ByClient(ClientOf(netip.MustParseAddr("127.0.0.1"))))
	if !local.Take(200) || local.Take(1) {
		t.Error("loopback is bounded in sum only, and in sum")
	}
	again := b.Open(ByActor("ann"))
	if again.Take(1) {
		t.Error("a second account of one actor is another")
	}
	ann.Give(100)
	ben.Give(100)
	local.Give(200)
	for _, a := range []*Account{ann, ben, local, again} {
		a.Close()
	}
	if b.Used() != 0 || len(b.accounts) != 0 {
		t.Errorf("%d bytes and %d accounts are left", b.Used(), len(b.accounts))
	}
}

func TestSlotsAreForAllAndForEach(t *testing.T) {
	s := NewSlots(5, 2)
	ann, ben := ByActor("ann"), ByActor("ben")
	for i, want := range []string{"", "", OverShare} {
		if got := s.Take(ann); got != want {
			t.Errorf("%d: %q", i, got)
		}
	}
	local := ByClient(ClientOf(netip.MustParseAddr("127.0.0.1")))
	for i, want := range []string{"", "", "", OverSum} {
		if got := s.Take(local); got != want {
			t.Errorf("loopback %d: %q", i, got)
		}
	}
	if got := s.Take(ben); got != OverSum {
		t.Errorf("%q", got)
	}
	s.Give(ann)
	if got := s.Take(ben); got != "" {
		t.Errorf("%q", got)
	}
	for _, h := range []Holder{ann, ben, local, local, local} {
		s.Give(h)
	}
	if n, holders := s.Taken(); n != 0 || holders != 0 {
		t.Errorf("%d slots of %d holders are left", n, holders)
	}
}

// pipe is a connection from an address that the test chooses.
type pipe struct {
	net.Conn
	from   net.Addr
	closed chan struct{}
	once   sync.Once
}

func (p *pipe) RemoteAddr() net.Addr { return p.from }
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Conn.Close()
}

func pipeFrom(t *testing.T, address string) *pipe {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _ = far.Close() })
	return &pipe{Conn: near, from: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)), closed: make(chan struct{})}
}

func gateOf(t *testing.T, l ConnLimits) (*Gate, *map[string]int) {
	t.Helper()
	p, _ := proxiesOf(t, XForwardedFor, "10.0.0.0/8")
	var mu sync.Mutex
	counted := map[string]int{}
	return NewGate(l, p, NewTeller(slog.New(slog.DiscardHandler), func(reason string) {
		mu.Lock()
		counted[reason]++
		mu.Unlock()
	})), &counted
}

func TestConnectionsOfAnAddressUntilItSignsIn(t *testing.T) {
	for _, c := range []struct {
		name, address string
		most          int
	}{{"an address", "192.0.2.7:1", 3}, {"a /64", "[2001:db8::7]:1", 3}, {"loopback", "127.0.0.1:1", 10}, {"a named proxy", "10.0.0.1:1", 10}} {
		t.Run(c.name, func(t *testing.T) {
			g, counted := gateOf(t, ConnLimits{Total: 10, PerAddress: 3, PerActor: 10, Idle: time.Second})
			var in []*Conn
			for range c.most {
				in = append(in, g.admit(pipeFrom(t, c.address)))
			}
			for i, one := range in {
				if one == nil {
					t.Fatalf("number %d of %d was turned away", i+1, c.most)
				}
			}
			if c.most == 10 {
				return
			}
			over := pipeFrom(t, c.address)
			if g.admit(over) != nil || (*counted)[ReasonAddress] != 1 {
				t.Fatal("one more than may be", *counted)
			}
			<-over.closed
			if g.admit(pipeFrom(t, "192.0.2.99:1")) == nil {
				t.Error("another address paid for it")
			}
			if !in[0].SignedIn("ann", false) {
				t.Error("ann can't sign in")
			}
			if g.admit(pipeFrom(t, c.address)) == nil {
				t.Error("a connection that signed in still counts for its address")
			}
		})
	}
}

// Where as many are open as may be, a newcomer takes the place of who has idled longest without signing in; who signed in stays.
func TestANewcomerTakesTheOldestStrangersPlace(t *testing.T) {
	g, _ := gateOf(t, ConnLimits{Total: 3, PerAddress: 9, PerActor: 9, Idle: time.Second})
	known, busy, idle := pipeFrom(t, "127.0.0.1:1"), pipeFrom(t, "127.0.0.1:2"), pipeFrom(t, "127.0.0.1:3")
	g.admit(known).SignedIn("ann", false)
	g.admit(busy).resting.Store(false)
	g.admit(idle)
	if g.admit(pipeFrom(t, "127.0.0.1:4")) == nil {
		t.Fatal("there is no room for a newcomer")
	}
	<-idle.closed
	if open, strange := g.Counts(); open != 3 || strange != 2 {
		t.Error(open, strange)
	}
	select {
	case <-known.closed:
		t.Error("who signed in was closed")
	case <-busy.closed:
		t.Error("who was at work was closed before who idled")
	default:
	}
}

func TestOnlySignedInConnectionsFillAServer(t *testing.T) {
	g, counted := gateOf(t, ConnLimits{Total: 2, PerAddress: 9, PerActor: 9, Idle: time.Second})
	g.admit(pipeFrom(t, "127.0.0.1:1")).SignedIn("ann", false)
	last := g.admit(pipeFrom(t, "127.0.0.1:2"))
	last.SignedIn("ben", false)
	if g.admit(pipeFrom(t, "127.0.0.1:3")) != nil || (*counted)[ReasonFull] != 1 {
		t.Fatal("more than may be", *counted)
	}
	if err := errors.Join(last.Close(), last.Close()); err != nil {
		t.Fatal(err)
	}
	if g.admit(pipeFrom(t, "127.0.0.1:4")) == nil {
		t.Error("a place wasn't given back, or twice")
	}
}

func TestConnectionsOfAnActor(t *testing.T) {
	g, _ := gateOf(t, ConnLimits{Total: 99, PerAddress: 9, PerActor: 2, Idle: time.Second})
	admit := func(i int) *Conn { return g.admit(pipeFrom(t, fmt.Sprintf("192.0.2.%d:1", i))) }
	first, second := admit(1), admit(2)
	if !first.SignedIn("ann", false) || !second.SignedIn("ann", false) || !second.SignedIn("ann", false) {
		t.Fatal("ann may have two")
	}
	if admit(3).SignedIn("ann", false) {
		t.Error("ann has three")
	}
	if !admit(4).SignedIn("ben", false) {
		t.Error("ben paid for it")
	}
	if !second.SignedIn("ben", false) || !admit(5).SignedIn("ann", false) {
		t.Error("a connection that another signed in on still counts for ann")
	}
	for i := range 5 {
		if !g.admit(pipeFrom(t, fmt.Sprintf("10.0.0.%d:1", i+1))).SignedIn("ann", true) {
			t.Error("a proxy's connection carries the requests of many and is nobody's")
		}
	}
	if _, strange := g.Counts(); strange != 1 {
		t.Error(strange, "are strange: the one that ann wasn't let in on is")
	}
}

func TestWebSocketsCountForWhomAProxySpeaks(t *testing.T) {
	g, _ := gateOf(t, ConnLimits{Total: 99, PerAddress: 2, PerActor: 2, Idle: time.Second})
	far := ClientOf(netip.MustParseAddr("192.0.2.7"))
	var all []*Conn
	for range 3 {
		all = append(all, g.admit(pipeFrom(t, "10.0.0.1:1")))
	}
	if !all[0].Upgrade(far) || !all[1].Upgrade(far) || all[2].Upgrade(far) {
		t.Fatal("two not signed in are what an address may have")
	}
	if open, strange := g.Counts(); open != 1 || strange != 3 {
		t.Error(open, strange)
	}
	if !all[0].SignedIn("ann", true) || !all[2].Upgrade(far) {
		t.Error("one that said hello still counts for its address")
	}
	if !all[1].SignedIn("ann", true) || all[2].SignedIn("ann", true) {
		t.Error("a WebSocket behind a proxy is its actor's")
	}
	for _, c := range all {
		_ = c.Close()
	}
	if open, strange := g.Counts(); open != 0 || strange != 0 || len(g.actors) != 0 || g.waiting.Len() != 0 {
		t.Error(open, strange, g.actors, g.waiting.Len())
	}
}

// deadlines notes what is set.
type deadlines struct {
	*pipe
	last time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error { d.last = t; return nil }

func TestAStrangersIdleTimeIsShort(t *testing.T) {
	g, _ := gateOf(t, ConnLimits{Total: 9, PerAddress: 9, PerActor: 9, Idle: time.Minute})
	under := &deadlines{pipe: pipeFrom(t, "192.0.2.7:1")}
	c, hour := g.admit(under), time.Now().Add(time.Hour)
	for _, step := range []struct {
		name  string
		do    func()
		short bool
	}{
		{"before the first request", func() {}, true},
		{"in a request", func() { c.resting.Store(false) }, false},
		{"between requests", func() { c.resting.Store(true) }, true},
		{"signed in", func() { c.SignedIn("ann", false) }, false},
	} {
		step.do()
		if err := c.SetReadDeadline(hour); err != nil {
			t.Fatal(err)
		}
		if short := under.last.Before(hour); short != step.short {
			t.Errorf("%s: until %v", step.name, under.last)
		}
	}
}

func TestABodyIsChargedByWhatArrived(t *testing.T) {
	b := NewBudget(64 << 10)
	account := b.Open(ByClient(ClientOf(netip.MustParseAddr("192.0.2.7"))))
	in, out := io.Pipe()
	r := httptest.NewRequest("POST", "/", in)
	r.ContentLength = 10 << 10
	type read struct {
		body    []byte
		release func()
		err     error
	}
	done := make(chan read)
	go func() {
		body, release, err := ReadBody(httptest.NewRecorder(), r, 12<<10, account, time.Time{})
		done <- read{body, release, err}
	}()
	if _, err := io.WriteString(out, strings.Repeat("x", 700)); err != nil {
		t.Fatal(err)
	}
	if used := b.Used(); used < 700 || used > 2<<10 {
		t.Errorf("%d bytes are charged for 700 that came", used)
	}
	_, _ = io.WriteString(out, strings.Repeat("x", 10<<10-700))
	_ = out.Close()
	got := <-done
	if got.err != nil || len(got.body) != 10<<10 || b.Used() != 10<<10+1 {
		t.Error(got.err, len(got.body), b.Used())
	}
	if got.release(); b.Used() != 0 {
		t.Error(b.Used(), "bytes are still charged")
	}
}

func TestBodiesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name      string
		announced int64
		body      io.Reader
		want      func(error) bool
	}{
		{"announced too large", 200, strings.NewReader(""), tooLarge},
		{"too large unannounced", -1, strings.NewReader(strings.Repeat("x", 101)), tooLarge},
		{"cut off", 50, io.MultiReader(strings.NewReader("x"), broken{io.ErrUnexpectedEOF}), is(ErrBodyCut)},
		{"too slow", 50, io.MultiReader(strings.NewReader("x"), broken{timeout{}}), is(ErrBodySlow)},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBudget(1 << 20)
			r := httptest.NewRequest("POST", "/", c.body)
			r.ContentLength = c.announced
			_, release, err := ReadBody(httptest.NewRecorder(), r, 100, b.Open(ByActor("ann")), time.Time{})
			if release(); !c.want(err) || b.Used() != 0 {
				t.Error(err, b.Used())
			}
		})
	}
	b := NewBudget(4 << 10)
	ann, ben := b.Open(ByActor("ann")), b.Open(ByActor("ben"))
	r := func() *http.Request {
		return httptest.NewRequest("POST", "/", io.NopCloser(strings.NewReader(strings.Repeat("x", 2<<10))))
	}
	if _, release, err := ReadBody(httptest.NewRecorder(), r(), 1<<20, ann, time.Time{}); !errors.Is(err, ErrBodyMemory) {
		t.Error("over a quarter:", err)
	} else {
		release()
	}
	ann.Force(4 << 10)
	if _, release, err := ReadBody(httptest.NewRecorder(), r(), 1<<20, ben, time.Time{}); !errors.Is(err, ErrBodyMemory) {
		t.Error("over the sum:", err)
	} else {
		release()
	}
}

func tooLarge(err error) bool { return errors.As(err, new(*http.MaxBytesError)) }

func is(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

type timeout struct{}

func (timeout) Error() string   { return "i/o timeout" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

// A body that stalls is given up after one step, whatever the time of the whole request is.
func TestABodyMustKeepComing(t *testing.T) {
	w := &steps{header: http.Header{}}
	r := httptest.NewRequest("POST", "/", io.NopCloser(strings.NewReader(strings.Repeat("x", 12<<10))))
	r.ContentLength = -1
	account := NewBudget(1 << 20).Open(ByActor("ann"))
	before := time.Now()
	_, release, err := ReadBody(w, r, 1<<20, account, before.Add(time.Hour))
	release()
	if err != nil || len(w.deadlines) < 3 || len(w.deadlines) > 5 {
		t.Fatal(err, w.deadlines)
	}
	for _, d := range w.deadlines[:len(w.deadlines)-1] {
		if d.After(time.Now().Add(stepTime)) {
			t.Error("a step may last until", d)
		}
	}
	if last := w.deadlines[len(w.deadlines)-1]; !last.Equal(before.Add(time.Hour)) {
		t.Error("after the body the time is", last)
	}
}

type steps struct {
	header    http.Header
	deadlines []time.Time
}

func (s *steps) Header() http.Header         { return s.header }
func (s *steps) Write(b []byte) (int, error) { return len(b), nil }
func (s *steps) WriteHeader(int)             {}
func (s *steps) SetReadDeadline(t time.Time) error {
	s.deadlines = append(s.deadlines, t)
	return nil
}

func TestEachCloseIsCountedAndALineSampled(t *testing.T) {
	var out strings.Builder
	n := 0
	teller := NewTeller(slog.New(slog.NewTextHandler(&out, nil)), func(string) { n++ })
	for range 1000 {
		teller.Tell(ReasonAddress, "closed", ClientOf(netip.MustParseAddr("192.0.2.7")))
	}
	if lines := strings.Count(out.String(), "\n"); n != 1000 || lines < 1 || lines > 20 || !strings.Contains(out.String(), "address=192.0.2.7") {
		t.Error(n, lines, out.String())
	}
}
