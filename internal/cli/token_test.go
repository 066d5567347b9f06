package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"hapax/internal/auth"
)

// token runs `hapax token` and returns what it printed and its exit status.
func token(args ...string) (out, errs string, code int) {
	var stdout, stderr bytes.Buffer
	code = Main(append([]string{"token"}, args...), strings.NewReader(""), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

func TestTokenIsTakenByTheFoldersServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, c := range []struct {
		args []string
		may  map[string][2]bool // room: read, write
		all  bool               // an operator
	}{
		{nil, map[string][2]bool{"any": {true, true}}, true},
		{[]string{"--tenant", "acme=r"}, map[string][2]bool{"any": {}}, false},
		{[]string{"--tenant", "*=r"}, map[string][2]bool{"any": {}}, true},
		{[]string{"--room", "a,b/*=r", "--room", "x=w", "--ttl", "1m"}, map[string][2]bool{"a,b/1": {true, false}, "x": {false, true}, "any": {}}, false},
	} {
		out, errs, code := token(append([]string{"--data", dir, "--actor", "ann"}, c.args...)...)
		if code != ExitOK || errs != "" || strings.Count(out, "\n") != 1 {
			t.Fatalf("%q, %q, exit %d", out, errs, code)
		}
		key, err := auth.OpenLocalKey(dir)
		if err != nil {
			t.Fatal(err)
		}
		v, err := auth.New(t.Context(), key.Options())
		if err != nil {
			t.Fatal(err)
		}
		s, err := v.Verify(context.Background(), strings.TrimSpace(out))
		if err != nil || s.Actor != "ann" || s.ReadsAllTenants() != c.all {
			t.Fatalf("%+v, %v", s, err)
		}
		for room, may := range c.may {
			if got := [2]bool{s.CanRead(room), s.CanWrite(room)}; got != may {
				t.Errorf("%s: got %v", room, got)
			}
		}
	}
}

func TestTokenRefuses(t *testing.T) {
	dir := t.TempDir()
	for want, args := range map[string][]string{
		`"actor" not set`:    {"--data", dir},
		`"data" not set`:     {"--actor", "ann"},
		"an actor has":       {"--data", dir, "--actor", ""},
		"is not PATTERN=r":   {"--data", dir, "--actor", "ann", "--room", "a"},
		"none of r, w, rw":   {"--data", dir, "--actor", "ann", "--room", "a=x"},
		"neither a tenant's": {"--data", dir, "--actor", "ann", "--tenant", "=r"},
		"time is above 0":    {"--data", dir, "--actor", "ann", "--ttl", "0s"},
		"invalid argument":   {"--data", dir, "--actor", "ann", "--ttl", "soon"},
		"unknown command \"": {"--data", dir, "--actor", "ann", "more"},
	} {
		out, errs, code := token(args...)
		if code != ExitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%v: %q, %q, exit %d", args, out, errs, code)
		}
	}
	if _, errs, code := token("--data", "/dev/null", "--actor", "ann"); code != ExitConfig || !strings.Contains(errs, "local key") {
		t.Errorf("%q, exit %d", errs, code)
	}
}
