package protocol

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fills stand for repeated texts, so that long cases stay readable.
type fills map[string][2]any

func (f fills) in(s string) string {
	for mark, v := range f {
		s = strings.ReplaceAll(s, mark, strings.Repeat(v[0].(string), int(v[1].(float64))))
	}
	return s
}

// vectors reads the cases of a file that the TypeScript SDK is held to as well.
func vectors[T any](t testing.TB, file string) []T {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "vectors", file))
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ Cases []T }
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(v.Cases) < 5 {
		t.Fatalf("%s: only %d cases", file, len(v.Cases))
	}
	return v.Cases
}

// input is a document as text with fills, or as bytes in hex.
func input(t testing.TB, text, inHex string, f fills) []byte {
	t.Helper()
	if inHex == "" {
		return []byte(f.in(text))
	}
	raw, err := hex.DecodeString(inHex)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

type canonicalCase struct {
	Name, In, InHex, Out string
	Error                Code
	Fill                 fills
}

func TestCanonicalVectors(t *testing.T) {
	for _, c := range vectors[canonicalCase](t, "canonical.json") {
		t.Run(c.Name, func(t *testing.T) {
			in := input(t, c.In, c.InHex, c.Fill)
			out, err := Canonical([]byte("before"), in)
			if c.Error != "" {
				problem, ok := err.(*Problem)
				if !ok || problem.Code != c.Error {
					t.Fatalf("got %q, %v; want %s", out, err, c.Error)
				}
				if string(out) != "before" {
					t.Fatalf("a refused document left %q", out)
				}
				return
			}
			if want := "before" + c.Fill.in(c.Out); err != nil || string(out) != want {
				t.Fatalf("got %q, %v; want %q", out, err, want)
			}
		})
	}
}

type fingerprintCase struct {
	Name, Text, Form, Fingerprint string
	Data                          *string
}

func TestFingerprintVectors(t *testing.T) {
	for _, c := range vectors[fingerprintCase](t, "fingerprints.json") {
		t.Run(c.Name, func(t *testing.T) {
			frame := Command{Type: TypeSend, Room: "r", ClientMessageID: "k", Text: c.Text}
			if c.Data != nil {
				frame.Data = []byte(*c.Data)
			}
			cmd, problem := DecodeCommand(AppendCommand(nil, &frame), &DefaultLimits)
			if problem != nil {
				t.Fatal(problem)
			}
			f := FingerprintOf(cmd.Text, cmd.Data)
			if f.String() != c.Fingerprint {
				t.Fatalf("got %s, want %s", f, c.Fingerprint)
			}
			if parsed, ok := ParseFingerprint(c.Fingerprint); !ok || parsed != f {
				t.Fatalf("parsed %v, %v", parsed, ok)
			}
			if form, err := Canonical(nil, []byte(c.Form)); err != nil || string(form) != c.Form {
				t.Fatalf("the form of the vector isn't canonical: %q, %v", form, err)
			}
		})
	}
}

func TestParseFingerprintRefuses(t *testing.T) {
	good := FingerprintOf("x", nil).String()
	for _, s := range []string{"", "v1:", good[3:], "v2:" + good[3:], good + "00", good[:len(good)-1], strings.ToUpper(good),
		"v1:" + strings.ToUpper(good[3:]), "v1:" + strings.Repeat("g", 64), " " + good} {
		if f, ok := ParseFingerprint(s); ok {
			t.Errorf("%q was read as %v", s, f)
		}
	}
}

type frameCase struct {
	Name, Frame, FrameHex             string
	Fill                              fills
	Command, Event                    string
	Unknown                           *string
	Code                              Code
	Names, Ref, Room, ClientMessageID string
}

func (c *frameCase) refused(t *testing.T, problem *Problem) {
	t.Helper()
	if problem == nil || problem.Code != c.Code {
		t.Fatalf("got %v, want %s", problem, c.Code)
	}
	if !strings.Contains(problem.Message, c.Names) {
		t.Fatalf("%q doesn't name %q", problem.Message, c.Names)
	}
	if len(problem.Message) > 200 {
		t.Fatalf("a message of %d bytes", len(problem.Message))
	}
}

func TestCommandVectors(t *testing.T) {
	for _, c := range vectors[frameCase](t, "commands.json") {
		t.Run(c.Name, func(t *testing.T) {
			cmd, problem := DecodeCommand(input(t, c.Frame, c.FrameHex, c.Fill), &DefaultLimits)
			if c.Code == "" {
				if problem != nil {
					t.Fatal(problem)
				}
				if got, want := string(AppendCommand(nil, &cmd)), c.Fill.in(c.Command); got != want {
					t.Fatalf("got %s, want %s", got, want)
				}
				return
			}
			c.refused(t, problem)
			if c.Ref != "" && problem.Ref != c.Ref || c.Room != "" && problem.Room != c.Room ||
				c.ClientMessageID != "" && problem.ClientMessageID != c.ClientMessageID {
				t.Fatalf("echoes %q, %q, %q", problem.Ref, problem.Room, problem.ClientMessageID)
			}
		})
	}
}

func TestEventVectors(t *testing.T) {
	for _, c := range vectors[frameCase](t, "events.json") {
		t.Run(c.Name, func(t *testing.T) {
			e, problem := DecodeEvent(input(t, c.Frame, c.FrameHex, c.Fill))
			switch {
			case c.Code != "":
				c.refused(t, problem)
			case problem != nil:
				t.Fatal(problem)
			case c.Unknown != nil:
				if e.Known() || e.Type != *c.Unknown || e.Ref != c.Ref || e.Room != "" || e.Messages != nil {
					t.Fatalf("got %+v", e)
				}
			default:
				if got := string(AppendEvent(nil, &e)); got != c.Event || !e.Known() {
					t.Fatalf("got %s, want %s", got, c.Event)
				}
			}
		})
	}
}

type nameCase struct {
	Kind, Value string
	Fill        fills
	Valid       bool
}

func TestNameVectors(t *testing.T) {
	valid := map[string]func(string) bool{"clientMessageId": ValidClientID, "room": ValidRoom, "actor": ValidActor}
	for _, c := range vectors[nameCase](t, "names.json") {
		if got := valid[c.Kind](c.Fill.in(c.Value)); got != c.Valid {
			t.Errorf("%s %q: got %v", c.Kind, c.Value, got)
		}
	}
}

type cursorCase struct {
	Name   string
	Cursor Cursor
	Valid  bool
}

func TestCursorVectors(t *testing.T) {
	for _, c := range vectors[cursorCase](t, "cursors.json") {
		if got := c.Cursor.Valid(); got != c.Valid {
			t.Errorf("%s: got %v", c.Name, got)
		}
	}
}

type keyCase struct {
	Name, ID string
	Values   []string
	Code     Code
}

func TestIdempotencyKeyVectors(t *testing.T) {
	for _, c := range vectors[keyCase](t, "idempotency-keys.json") {
		id, problem := ParseIdempotencyKey(c.Values)
		var code Code
		if problem != nil {
			code = problem.Code
		}
		if id != c.ID || code != c.Code {
			t.Errorf("%s: got %q, %v", c.Name, id, problem)
		}
	}
}
