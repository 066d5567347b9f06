package auth

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"hapax/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is a place where keys come from, without a network.
type source struct {
	set   atomic.Pointer[[]byte] // nil: it can't be reached
	reads atomic.Int32
	slow  time.Duration
}

func (s *source) put(signers ...signer) {
	set := keySetOf(signers...)
	s.set.Store(&set)
}

func (s *source) RoundTrip(r *http.Request) (*http.Response, error) {
	s.reads.Add(1)
	select {
	case <-time.After(s.slow):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	set := s.set.Load()
	if set == nil {
		return nil, errors.New("no route")
	}
	return &http.Response{StatusCode: 200, Status: "200 OK", Body: io.NopCloser(bytes.NewReader(*set)), Request: r}, nil
}

// withSource runs f in a bubble of time with a verifier that reads from the source.
func withSource(t *testing.T, f func(t *testing.T, src *source, v *Tokens)) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		src.put(ecKey)
		ctx, cancel := context.WithCancel(t.Context())
		v, err := New(ctx, Options{
			Issuer: testIssuer, Audience: testAudience, JWKSURL: "https://id.example/keys", Log: quiet,
			Client: &http.Client{Transport: src}, Now: func() time.Time { return testNow },
		})
		if err != nil {
			t.Fatal(err)
		}
		f(t, src, v)
		cancel()
		synctest.Wait()
	})
}

func TestRotatedKeyIsFetchedAtOnce(t *testing.T) {
	withSource(t, func(t *testing.T, src *source, v *Tokens) {
		src.put(edKey)
		if _, err := v.Verify(t.Context(), edKey.sign(claims())); err != nil {
			t.Fatal(err)
		}
		refusedFor(t, v, ecKey.sign(claims()), WrongKey) // taken out of the set
	})
}

func TestUnknownIDsDontHammerTheSource(t *testing.T) {
	withSource(t, func(t *testing.T, src *source, v *Tokens) {
		stranger := ecKey
		for i := range 100 {
			stranger.id = strings.Repeat("x", i+1)
			refusedFor(t, v, stranger.sign(claims()), WrongKey)
		}
		if n := src.reads.Load(); n != 2 { // at the start, and one again
			t.Fatalf("read %d times", n)
		}
		time.Sleep(KeysAtMost) // of the bubble
		refusedFor(t, v, stranger.sign(claims()), WrongKey)
		if n := src.reads.Load(); n != 3 {
			t.Fatalf("read %d times", n)
		}
	})
}

func TestManyWaitForOneReading(t *testing.T) {
	withSource(t, func(t *testing.T, src *source, v *Tokens) {
		src.put(ecKey, edKey)
		src.slow = time.Second
		var ok atomic.Int32
		for range 50 {
			go func() {
				if _, err := v.Verify(t.Context(), edKey.sign(claims())); err == nil {
					ok.Add(1)
				}
			}()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if ok.Load() != 50 || src.reads.Load() != 2 {
			t.Fatalf("%d signed in, %d readings", ok.Load(), src.reads.Load())
		}
	})
}

func TestKeysAreReadAgainInTime(t *testing.T) {
	withSource(t, func(t *testing.T, src *source, v *Tokens) {
		src.put(edKey)
		time.Sleep(KeysEvery + time.Second)
		synctest.Wait()
		refusedFor(t, v, ecKey.sign(claims()), WrongKey)
		if _, err := v.Verify(t.Context(), edKey.sign(claims())); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSourceDownKeepsTheKeys(t *testing.T) {
	withSource(t, func(t *testing.T, src *source, v *Tokens) {
		src.set.Store(nil)
		time.Sleep(3 * KeysEvery)
		synctest.Wait()
		if _, err := v.Verify(t.Context(), ecKey.sign(claims())); err != nil {
			t.Fatal(err)
		}
		// Nothing is known against a token of a new key: the client is to come back, not to sign in anew.
		_, err := v.Verify(t.Context(), edKey.sign(claims()))
		if CodeOf(err) != protocol.Unavailable {
			t.Fatalf("got %v", err)
		}
		src.put(edKey)
		time.Sleep(KeysAtMost)
		if _, err := v.Verify(t.Context(), edKey.sign(claims())); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSourceThatHangsIsGivenUp(t *testing.T) {
	withSource(t, func(t *testing.T, src *source, v *Tokens) {
		src.slow = time.Hour
		from := time.Now()
		_, err := v.Verify(t.Context(), edKey.sign(claims()))
		if took := time.Since(from); CodeOf(err) != protocol.Unavailable || took != KeysTimeout {
			t.Fatalf("%v after %v", err, took)
		}
	})
}

func open(t *testing.T, change func(*Options)) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := Options{Issuer: testIssuer, Audience: testAudience, Log: quiet}
	change(&o)
	_, err := New(ctx, o)
	return err
}

func TestRedirectsAndOtherAnswersAreRefused(t *testing.T) {
	var elsewhere atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/good", http.StatusFound) })
	mux.HandleFunc("/good", func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		_, _ = w.Write(keySetOf(ecKey))
	})
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"keys":[],"x":"` + strings.Repeat("a", MaxKeySet) + `"}`))
	})
	mux.HandleFunc("/html", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	server := httptest.NewServer(mux)
	defer server.Close()
	for path, want := range map[string]string{"/moved": "302", "/none": "404", "/big": "more than", "/html": "not a JSON Web Key Set"} {
		err := open(t, func(o *Options) { o.JWKSURL = server.URL + path })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed")
	}
	if err := open(t, func(o *Options) { o.JWKSURL = server.URL + "/good" }); err != nil {
		t.Error(err)
	}
}

func TestKeySetFiles(t *testing.T) {
	private := `{"keys":[{"kty":"oct","kid":"s","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}]}`
	for name, c := range map[string]struct{ text, want string }{
		"good":             {string(keySetOf(rsaKey)), ""},
		"empty":            {"", "not a JSON Web Key Set"},
		"no keys":          {`{"keys":[]}`, "no key"},
		"a symmetric key":  {private, "no key"},
		"another document": {`[]`, "not a JSON Web Key Set"},
		"too many":         {`{"keys":[` + strings.Repeat(`{"kty":"oct"},`, MaxKeys) + `{"kty":"oct"}]}`, "at most"},
		"one unknown kind": {strings.Replace(string(keySetOf(ecKey)), `{"keys":[`, `{"keys":[{"kty":"new"},`, 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "keys")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := open(t, func(o *Options) { o.JWKSFile = path })
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
		})
	}
	if err := open(t, func(o *Options) { o.JWKSFile = filepath.Join(t.TempDir(), "none") }); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
}

func TestOptionsThatCouldNotBeMeant(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, keySetOf(ecKey), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Options){
		"no keys":             func(*Options) {},
		"issuer and audience": func(o *Options) { o.JWKSFile, o.Audience = file, "" },
		"set: its keys sign":  func(o *Options) { o.JWKSFile, o.Issuer = file, "" },
		"not both":            func(o *Options) { o.JWKSFile, o.JWKSURL = file, "https://id.example" },
		"32 at least":         func(o *Options) { o.Secret = secret[:31] },
		"isn't among":         func(o *Options) { o.Secret, o.Algorithms = secret, []string{"RS256"} },
		"none of RS256":       func(o *Options) { o.JWKSFile, o.Algorithms = file, []string{"HS256"} },
		`"none" is none of`:   func(o *Options) { o.Secret, o.Algorithms = secret, []string{"none"} },
	} {
		if err := open(t, change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
