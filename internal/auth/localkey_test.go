package auth

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hapax/internal/config"
)

func TestLocalKeyIsMadeOnceAndKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	first, err := OpenLocalKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := OpenLocalKey(dir)
	if err != nil || !bytes.Equal(first.secret, second.secret) || len(first.secret) < MinSecret {
		t.Fatalf("the key changed: %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, LocalKeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Fatalf("left behind: %v, %v", entries, err)
	}
	other, err := OpenLocalKey(t.TempDir())
	if err != nil || bytes.Equal(other.secret, first.secret) {
		t.Fatalf("two folders, one key: %v", err)
	}
}

func TestLocalKeyOfManyAtOnceIsOne(t *testing.T) {
	dir := t.TempDir()
	keys := make([]*LocalKey, 16)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() { keys[i], _ = OpenLocalKey(dir) })
	}
	wg.Wait()
	for _, k := range keys {
		if k == nil || !bytes.Equal(k.secret, keys[0].secret) {
			t.Fatal("several keys")
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Fatalf("left behind: %v, %v", entries, err)
	}
}

func TestLocalKeyRefusesWhatIsNoKey(t *testing.T) {
	whole := make([]byte, localKeySize)
	for name, c := range map[string]struct {
		bytes []byte
		mode  os.FileMode
		want  string
	}{
		"empty": {nil, 0o600, "0 bytes"}, "short": {whole[1:], 0o600, "31 bytes"}, "long": {append(whole, 1), 0o600, "33 bytes"},
		"for the group": {whole, 0o640, "chmod 600"}, "for all": {whole, 0o604, "chmod 600"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), LocalKeyFile)
			if err := os.WriteFile(path, c.bytes, c.mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			if k, err := OpenLocalKey(filepath.Dir(path)); err == nil || k != nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v", err)
			}
			if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, c.bytes) {
				t.Fatalf("the file was changed: %v", err)
			}
		})
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, LocalKeyFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLocalKey(dir); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Fatalf("got %v", err)
	}
	link := t.TempDir()
	if err := os.Symlink("/dev/zero", filepath.Join(link, LocalKeyFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLocalKey(link); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Fatalf("got %v", err)
	}
}

func localVerifier(t *testing.T, k *LocalKey) *Tokens {
	t.Helper()
	o := k.Options()
	o.Now = func() time.Time { return testNow }
	v, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSignedByTheLocalKey(t *testing.T) {
	k, other := must(OpenLocalKey(t.TempDir())), must(OpenLocalKey(t.TempDir()))
	v := localVerifier(t, k)
	token, err := k.Sign("ἅνν/7", []Grant{All}, time.Hour, testNow)
	if err != nil {
		t.Fatal(err)
	}
	s, err := v.Verify(t.Context(), token)
	if err != nil || s.Actor != "ἅνν/7" || !s.CanRead("any") || !s.CanWrite("any") || !s.Expires.Equal(testNow.Add(time.Hour+Leeway)) {
		t.Fatalf("got %+v, %v", s, err)
	}
	refusedFor(t, localVerifier(t, other), token, WrongKey)
	refusedFor(t, v, must(k.Sign("ann", nil, time.Minute, testNow.Add(-time.Hour))), Expired)
	// The same secret used elsewhere makes no token for this server.
	refusedFor(t, v, hs256(k.secret, claims()), WrongIssuer)
	refusedFor(t, v, hs256(k.secret, claims("iss", LocalIssuer)), WrongAudience)
}

func TestSignRefuses(t *testing.T) {
	k := must(OpenLocalKey(t.TempDir()))
	many := make([]Grant, 200)
	for i := range many {
		many[i] = Grant{Room: strings.Repeat("a", 100), Rights: Read}
	}
	for name, f := range map[string]func() (string, error){
		"no actor":       func() (string, error) { return k.Sign("", nil, time.Hour, testNow) },
		"a bad actor":    func() (string, error) { return k.Sign("a\x00", nil, time.Hour, testNow) },
		"no time":        func() (string, error) { return k.Sign("a", nil, 0, testNow) },
		"too much time":  func() (string, error) { return k.Sign("a", nil, MaxLife+1, testNow) },
		"a bad grant":    func() (string, error) { return k.Sign("a", []Grant{{Room: "", Rights: Read}}, time.Hour, testNow) },
		"too many rooms": func() (string, error) { return k.Sign("a", many, time.Hour, testNow) },
	} {
		if token, err := f(); err == nil || token != "" {
			t.Errorf("%s: signed %q", name, token)
		}
	}
}

func TestParseGrant(t *testing.T) {
	for s, want := range map[string]Grant{
		"a=r": {Room: "a", Rights: Read}, "a/*=rw": {Room: "a/*", Rights: ReadWrite}, "*=w": {Room: "*", Rights: Write}, "a=b=rw": {Room: "a=b", Rights: ReadWrite}, "a b=r": {Room: "a b", Rights: Read},
	} {
		if g, err := ParseGrant(s); err != nil || g != want {
			t.Errorf("%s: got %+v, %v", s, g, err)
		}
	}
	for _, s := range []string{"", "a", "=r", "a=", "a=x", "a=wr", "a\n=r", strings.Repeat("a", 129) + "=r"} {
		if g, err := ParseGrant(s); err == nil {
			t.Errorf("%q: got %+v", s, g)
		}
	}
}

func TestGrantsCover(t *testing.T) {
	s := Session{grants: []Grant{{Room: "team/*", Rights: Read}, {Room: "team/a", Rights: Write}, {Room: "x*y", Rights: Read}}}
	for room, want := range map[string][2]bool{
		"team/a": {true, true}, "team/b": {true, false}, "team/": {true, false}, "team": {false, false}, "Team/a": {false, false}, "my-team/a": {false, false},
		"x*y": {true, false}, "xzy": {false, false}, "": {false, false},
	} {
		if got := [2]bool{s.CanRead(room), s.CanWrite(room)}; got != want {
			t.Errorf("%q: got %v", room, got)
		}
	}
}

func TestFromConfig(t *testing.T) {
	write := func(b []byte) string {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	binary := append(bytes.Repeat([]byte{0xff}, 31), '\n')
	for name, c := range map[string]struct {
		file []byte
		want []byte // nil: refused
	}{
		"text": {secret, secret}, "text and a line end": {append(bytes.Clone(secret), '\n'), secret}, "and a DOS one": {append(bytes.Clone(secret), "\r\n"...), secret},
		"raw bytes that end like a line": {binary, binary}, "short": {secret[:31], nil}, "short but for the line end": {append(bytes.Clone(secret[:31]), '\n'), nil},
		"empty": {nil, nil}, "too long": {make([]byte, maxSecretFile+1), nil},
	} {
		o, err := FromConfig(config.Auth{KeyFile: write(c.file), Algorithms: Algorithms()})
		if (err == nil) != (c.want != nil) || err == nil && (!bytes.Equal(o.Secret, c.want) || len(o.Algorithms) != 1) {
			t.Errorf("%s: got %q %v, %v", name, o.Secret, o.Algorithms, err)
		}
	}
	if _, err := FromConfig(config.Auth{KeyFile: filepath.Join(t.TempDir(), "none"), Algorithms: Algorithms()}); err == nil {
		t.Error("a missing file was read")
	}
	// An allow-list whose algorithms have no keys must not turn into one of all.
	if o, err := FromConfig(config.Auth{Secret: string(secret), Algorithms: []string{"RS256"}}); err == nil {
		t.Errorf("got %v", o.Algorithms)
	}
	if o, err := FromConfig(config.Auth{Secret: string(secret), JWKSURL: "https://id.example", Algorithms: Algorithms()}); err != nil || len(o.Algorithms) != 4 {
		t.Errorf("got %v, %v", o.Algorithms, err)
	}
}
