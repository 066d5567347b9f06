package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func TestLinkPrintsWhatOpensTheConsole(t *testing.T) {
	data := t.TempDir()
	link := func(words ...string) string {
		t.Helper()
		var out, said bytes.Buffer
		if code := Main(append([]string{"link", "--data", data}, words...), strings.NewReader(""), &out, &said); code != ExitOK {
			t.Fatalf("%v: %d %s", words, code, said.String())
		}
		return strings.TrimSpace(out.String())
	}
	first := link()
	if !regexp.MustCompile(`^http://127\.0\.0\.1:7480/#s=[A-Za-z0-9_-]{43}$`).MatchString(first) {
		t.Fatal(first)
	}
	if again := link(); again != first {
		t.Error("a second look gives another link:", again)
	}
	_, secret, _ := strings.Cut(first, "#s=")
	if at := link("--address", "https://localhost:9/x"); at != "https://localhost:9/#s="+secret {
		t.Error(at)
	}
	rotated := link("--rotate")
	if rotated == first || link() != rotated {
		t.Error("rotated:", rotated, link())
	}
	var out, said bytes.Buffer
	if code := Main([]string{"link", "--data", data, "--address", "nonsense"}, strings.NewReader(""), &out, &said); code != ExitUsage || out.Len() > 0 {
		t.Error(code, out.String())
	}
}
