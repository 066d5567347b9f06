package session

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"hapax/protocol"
)

// jwt is a token that expires at a time of the server, in ms.
func jwt(name string, exp int64) string {
	claims := fmt.Sprintf(`{"sub":"ann","jti":%q,"exp":%d.%03d}`, name, exp/1000, exp%1000)
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sig"
}

// refuseHello answers the last hello by session_invalid.
func (r *rig) refuseHello() {
	r.t.Helper()
	r.step(r.recv(protocol.Event{Type: protocol.TypeError, Ref: r.lastHello().Ref, Code: protocol.SessionInvalid}))
}

func (r *rig) lastHello() protocol.Command {
	r.t.Helper()
	for i := len(r.frames) - 1; i >= 0; i-- {
		if r.frames[i].Command.Type == protocol.TypeHello {
			return r.frames[i].Command
		}
	}
	r.t.Fatal("no hello")
	return protocol.Command{}
}

func (r *rig) told(s State) (n int) {
	for _, e := range r.states() {
		if e == s {
			n++
		}
	}
	return n
}

func TestExpiryIsReadWithoutVerifying(t *testing.T) {
	for token, want := range map[string]int64{
		jwt("a", 1_790_000_000_500): 1_790_000_000_500, "": 0, "opaque": 0, "a.b": 0, "a.!!!.c": 0,
		"e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":"soon"}`)) + ".x": 0,
		"e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":-5}`)) + ".x":     0,
		"e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":1e300}`)) + ".x":  0,
		"e30." + base64.URLEncoding.EncodeToString([]byte(`{"exp":17}`)) + ".x":        17_000,
	} {
		if got := expiry(token); got != want {
			t.Errorf("%q expires at %d, want %d", token, got, want)
		}
	}
}

// I3: a refused token that hasn't expired is offered again by the delay law, cap 5 min, without asking the app; that one is needed is told
// once. The app is asked again 5 min after it was last asked.
func TestARefusedTokenIsOfferedAgain(t *testing.T) {
	for name, token := range map[string]string{"opaque": "old", "a JWT": jwt("old", srvStart+24*3600_000)} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{})
			r.now.Wall = srvStart // clocks agree before a welcome
			r.step(Connect{})
			r.step(Token{Token: token})
			asked, from := r.asked, r.now.Mono
			for _, wait := range []int64{1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000} {
				r.step(Connected{Conn: r.conn})
				if got := r.lastHello().Token; got != token {
					t.Fatalf("offers %q", got)
				}
				dials := r.dials
				r.refuseHello()
				r.wantState(AuthRequired)
				r.advance(wait - 1)
				if r.dials != dials {
					t.Fatalf("dialled within %d ms", wait)
				}
				r.advance(1)
				if r.dials != dials+1 || r.asked != asked {
					t.Fatalf("%d dials, %d askings after %d ms", r.dials-dials, r.asked-asked, wait)
				}
			}
			r.step(Connected{Conn: r.conn})
			r.refuseHello()
			r.advance(from + 300_000 - r.now.Mono) // in the middle of a wait
			r.advance(300_000)
			if r.asked != asked+1 {
				t.Fatalf("asked %d more times", r.asked-asked)
			}
			r.step(Token{Token: token}) // the same: still offered
			r.step(Connected{Conn: r.conn})
			if r.told(AuthRequired) != 1 {
				t.Fatalf("told %v", r.states())
			}
			r.step(r.recv(r.welcome())) // the server mended itself
			r.wantState(Online)
		})
	}
}

// I3: the app is asked at once for a token in place of one that has expired, and by NewToken.
func TestTheAppIsAskedForAnotherToken(t *testing.T) {
	r := newRig(t, Config{})
	r.now.Wall = srvStart
	r.step(Connect{})
	r.step(Token{Token: jwt("short", srvStart+1500)})
	r.step(Connected{Conn: r.conn})
	r.refuseHello()
	r.advance(1000)
	if r.asked != 1 {
		t.Fatal("asked while the token was good")
	}
	r.step(Connected{Conn: r.conn})
	r.refuseHello()
	r.advance(2000)
	if r.asked != 2 {
		t.Fatalf("asked %d times", r.asked)
	}
	r.step(Token{Token: "next"})
	r.wantState(Connecting)
	r.step(Connected{Conn: r.conn})
	r.refuseHello()
	r.step(NewToken{})
	r.advance(0)
	if r.asked != 3 {
		t.Fatalf("asked %d times", r.asked)
	}
	r.greet("new")
	if r.told(AuthRequired) != 2 {
		t.Fatalf("told %v", r.states())
	}
}

// I3: signed out is the app's word: nothing is asked or tried until the next one.
func TestSignedOutEndsTheAsking(t *testing.T) {
	for name, out := range map[string]func(*rig){
		"at the start": func(r *rig) { r.step(Connect{}) },
		"at a renewal": func(r *rig) { r.connect(); r.step(NewToken{}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{})
			out(r)
			r.step(Token{Err: fmt.Errorf("bye: %w", ErrSignedOut)})
			r.wantState(AuthRequired)
			e := eventsOf[ConnectionChanged](r)
			if r.open || !errors.Is(e[len(e)-1].Err, ErrSignedOut) || r.told(AuthRequired) != 1 {
				t.Fatalf("open %v, told %+v", r.open, e)
			}
			asked := r.asked
			r.advance(24 * 3600_000)
			if r.asked != asked {
				t.Fatal("asked again")
			}
			r.step(NewToken{})
			r.advance(0)
			r.greet("back")
		})
	}
}

// I4: a token function that doesn't return is told of after 20 s, stays the one asked, and its late result is taken.
func TestATokenFunctionThatTakesItsTime(t *testing.T) {
	r := newRig(t, Config{})
	r.step(Connect{})
	r.advance(19_999)
	r.wantState(Connecting)
	r.advance(1)
	r.wantState(AuthRequired)
	e := eventsOf[ConnectionChanged](r)
	if !errors.Is(e[len(e)-1].Err, ErrTokenSlow) {
		t.Fatalf("told %+v", e[len(e)-1])
	}
	r.advance(3600_000)
	r.step(Disconnect{}, Connect{}, NewToken{}, Visible{})
	r.advance(3600_000)
	if r.asked != 1 || r.dials != 0 {
		t.Fatalf("asked %d times, dialled %d", r.asked, r.dials)
	}
	r.greet("late")
	t.Run("at a renewal", func(t *testing.T) {
		r := newRig(t, Config{})
		r.step(Connect{})
		r.greet(jwt("a", r.serverTime()+60_000))
		r.quiet(45_000) // ½ + U/4 of its life
		if r.asked != 2 {
			t.Fatalf("asked %d times", r.asked)
		}
		r.lose()
		r.advance(1000)
		if r.asked != 2 || r.dials != 1 {
			t.Fatalf("asked %d times beside the call that is out", r.asked)
		}
		r.greet("late")
	})
}

// I6: the token is renewed by hello on the open connection well before it expires.
func TestRenewalBeforeExpiry(t *testing.T) {
	r := newRig(t, Config{})
	r.step(Subscribe{Room: "r", Limit: -1}, Connect{})
	r.greet(jwt("0", r.serverTime()+2000))
	r.snapshot("r", 0)
	for n := range 30 {
		expires := expiry(r.m.link.token)
		r.quiet(1500)
		if r.asked != n+2 || r.serverTime() >= expires {
			t.Fatalf("asked %d times, %d ms before the end", r.asked, expires-r.serverTime())
		}
		r.step(Token{Token: jwt(fmt.Sprint(n+1), r.serverTime()+2000)})
		r.step(r.recv(r.welcome()))
	}
	if r.dials != 1 || r.told(AuthRequired) != 0 || r.told(Offline) != 0 {
		t.Fatalf("%d dials, told %v", r.dials, r.states())
	}
	t.Run("the same token again", func(t *testing.T) {
		r := newRig(t, Config{})
		r.step(Connect{})
		token := jwt("0", r.serverTime()+60_000)
		r.greet(token)
		hellos := len(r.frames)
		for n := 0; r.serverTime() < expiry(token)+60_000; n++ {
			asked := r.asked
			r.quiet(100)
			if r.asked > asked {
				r.step(Token{Token: token})
			}
		}
		if r.asked > 20 {
			t.Fatalf("asked %d times", r.asked)
		}
		for _, f := range r.frames[hellos:] {
			if f.Command.Type == protocol.TypeHello && r.now.Mono < 50_000 {
				t.Fatal("the same token is offered again")
			}
		}
	})
	t.Run("session_invalid in answer to a ping", func(t *testing.T) {
		r := newRig(t, Config{})
		r.connect()
		r.advance(25_000)
		ping := r.frames[len(r.frames)-1].Command
		r.step(r.recv(protocol.Event{Type: protocol.TypeError, Ref: ping.Ref, Code: protocol.SessionInvalid}))
		if r.asked != 2 {
			t.Fatalf("asked %d times", r.asked)
		}
		r.step(Token{Token: "next"})
		r.step(r.recv(r.welcome()))
		if r.dials != 1 || r.told(AuthRequired) != 0 {
			t.Fatalf("%d dials, told %v", r.dials, r.states())
		}
	})
}

// I6: readers of one age don't come back together, and none comes late.
func TestRenewalsAreSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.Float64Range(0, 1).Draw(t, "u")
		life := rapid.Int64Range(2000, 24*3600_000).Draw(t, "life")
		r := newRig(t, Config{Rand: func() float64 { return u }})
		r.step(Connect{})
		r.greet(jwt("0", r.serverTime()+life))
		at := r.m.link.renewAt - r.now.Mono
		if want := life/2 + int64(u*float64(life/4)); at < want-1 || at > want+1 || at < life/2 || at > 3*life/4 {
			t.Fatalf("renews after %d ms of %d, at u = %v", at, life, u)
		}
	})
}
