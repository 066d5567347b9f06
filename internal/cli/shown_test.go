package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"hapax/protocol"
)

// TestNamesAreShownWithoutAnythingUnseen: what turns, joins, hides or ends a line is written as an escape; what is seen stays.
func TestNamesAreShownWithoutAnythingUnseen(t *testing.T) {
	for name, want := range map[string]string{
		"orders": "orders", "Ελένη": "Ελένη", "注文 ✓": "注文 ✓", "שלום": "שלום", "a\ufffdb": "a\ufffdb",
		"pay\u202eexe": `pay\u202eexe`, "a\u200bb": `a\u200bb`, "a\u200db": `a\u200db`, "\ufeffa": `\ufeffa`, "a\u2066b\u2069": `a\u2066b\u2069`,
		"a\u00adb": `a\u00adb`, "a\u2060b": `a\u2060b`, "a\u3164b": `a\u3164b`, "a\ufe0fb": `a\ufe0fb`, "a\u2028b": `a\u2028b`, "a\nb": `a\nb`,
		"a\x1b[2Jb": `a\x1b[2Jb`, "a\u0085b": `a\u0085b`, "a\U000e0041b": `a\U000e0041b`, "a\u180eb": `a\u180eb`, "a\u061cb": `a\u061cb`,
	} {
		if got := shown(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	// A message's text keeps what its script and its pictures need.
	for text, want := range map[string]string{"👩\u200d🚀": "👩\u200d🚀", "a\u202eb": `a\u202eb`, "\x1b[2J": `\x1b[2J`} {
		if got := harmless(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	line := appendText(nil, &protocol.Message{Seq: 1, Actor: "ann\u200b\u202e", Text: "hello"})
	if strings.IndexFunc(string(line), func(r rune) bool { return unicode.Is(unicode.Cf, r) }) >= 0 {
		t.Errorf("%q", line)
	}
}

// TestSecretsThatAreNoneWarn: files that everybody may read, keys of zeros, short ones. --strict takes that for a fault.
func TestSecretsThatAreNoneWarn(t *testing.T) {
	dir := t.TempDir()
	loose := func(name, text string) string {
		path := written(t, dir, name, text)
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := strings.Repeat("s3cr3t-", 6)
	source := func(file string) string {
		return "gateway: {tenants: {acme: {sources: {orders: {verify: {scheme: bearer, secrets: [{label: a, file: " + file +
			"}]}, key: {pointer: /id}, amount: {pointer: /amount}, currency: {pointer: /currency}, registry: open, lru_capacity: 9}}}}}"
	}
	zeros := strings.Repeat("0", 64)
	for name, c := range map[string]struct{ yaml, says string }{
		"a secret all may read":   {source(loose("loose", good)), "can be read or written by every user"},
		"a secret of six bytes":   {source(written(t, dir, "six", "abcdef")), "shorter than 16 bytes"},
		"a secret of zeros":       {source(written(t, dir, "zeros", zeros)), "all zeros"},
		"a secret of zero bytes":  {source(written(t, dir, "zero-bytes", strings.Repeat("\x00", 32))), "all zeros"},
		"a key all may read":      {"auth: {key_file: " + loose("key", good) + "}", "can be read or written by every user"},
		"a key of zeros":          {"auth: {key_file: " + written(t, dir, "zero-key", zeros) + "}", "all zeros"},
		"a configured zero key":   {"auth: {secret: '" + zeros + "'}", "all zeros"},
		"nothing to be warned of": {"auth: {key_file: " + written(t, dir, "fine", good) + "}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := written(t, t.TempDir(), "hapax.yaml", c.yaml)
			args := []string{"config", "check", "--config", file, "--data", filepath.Join(dir, "data")}
			status, _, errs := run(t, args...)
			if status != ExitOK || !strings.Contains(errs, c.says) || c.says == "" && errs != "" {
				t.Errorf("%d %q", status, errs)
			}
			want := ExitConfig
			if c.says == "" {
				want = ExitOK
			}
			if status, _, errs := run(t, append(args, "--strict")...); status != want {
				t.Errorf("--strict: %d %q", status, errs)
			}
			if strings.Contains(errs, good) || strings.Contains(errs, zeros) {
				t.Errorf("the secret shows: %q", errs)
			}
		})
	}
	store := filepath.Join(dir, "outbox.db")
	for says, args := range map[string][]string{
		"--store-key: " + loose("store.key", zeros[:63]+"1"): {"--store", store + "1", "--store-key", filepath.Join(dir, "store.key")},
		"is all zeros":                    {"--store", store + "2", "--store-key", written(t, dir, "zero.key", zeros)},
		"--token: " + loose("token", "t"): {"--store", store + "3", "--token", "@" + filepath.Join(dir, "token")},
	} {
		_, _, errs := run(t, append([]string{"send", "--offline", "--room", "r", "hello"}, args...)...)
		if !strings.Contains(errs, "warning: ") || !strings.Contains(errs, says) {
			t.Errorf("%v: %q", args, errs)
		}
	}
}

func TestVersionIsAFlagToo(t *testing.T) {
	_, word, _ := run(t, "version")
	if status, flag, errs := run(t, "--version"); status != ExitOK || flag != word || !strings.HasPrefix(flag, "hapax ") {
		t.Error(status, flag, errs)
	}
}
