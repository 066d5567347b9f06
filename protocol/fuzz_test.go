package protocol

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// seedFrames feeds a fuzzer with the vectors.
func seedFrames(f *testing.F, files ...string) {
	f.Helper()
	for _, file := range files {
		for _, c := range vectors[frameCase](f, file) {
			if frame := input(f, c.Frame, c.FrameHex, c.Fill); len(frame) < 2000 {
				f.Add(frame)
			}
		}
	}
}

// Accepted means: valid JSON, the same values as encoding/json reads, and written again the same command.
func FuzzDecodeCommand(f *testing.F) {
	seedFrames(f, "commands.json", "events.json")
	f.Fuzz(func(t *testing.T, frame []byte) {
		given := bytes.Clone(frame)
		c, problem := DecodeCommand(frame, &DefaultLimits)
		if !bytes.Equal(given, frame) {
			t.Fatal("the frame was changed")
		}
		if problem != nil {
			if len(problem.Ref) > DefaultLimits.Ref || !utf8.ValidString(problem.Ref+problem.Room+problem.Message) {
				t.Fatalf("unfit to be echoed: %+v", problem)
			}
			e := problem.Event()
			if _, bad := DecodeEvent(AppendEvent(nil, &e)); bad != nil {
				t.Fatalf("the answer can't be read: %v", bad)
			}
			return
		}
		if !json.Valid(frame) {
			t.Fatal("accepted what isn't JSON")
		}
		var loose map[string]any
		if err := json.Unmarshal(frame, &loose); err != nil || loose["type"] != c.Type {
			t.Fatalf("type %q, encoding/json has %v, %v", c.Type, loose["type"], err)
		}
		if c.Type == TypeSend && (loose["text"] != c.Text || loose["room"] != c.Room || loose["clientMessageId"] != c.ClientMessageID) {
			t.Fatalf("%+v, encoding/json has %v", c, loose)
		}
		written := AppendCommand(nil, &c)
		again, problem := DecodeCommand(written, &Limits{Text: 1 << 20, Data: 1 << 20, Frame: 1 << 22, Room: 128, ClientID: 128, Ref: 64, SnapshotRows: 200, PageRows: 200})
		if problem != nil || !reflect.DeepEqual(c, again) {
			t.Fatalf("%+v, written %s, read as %+v, %v", c, written, again, problem)
		}
	})
}

func FuzzDecodeEvent(f *testing.F) {
	seedFrames(f, "events.json", "commands.json")
	f.Fuzz(func(t *testing.T, frame []byte) {
		e, problem := DecodeEvent(frame)
		if problem != nil {
			return
		}
		if !json.Valid(frame) {
			t.Fatal("accepted what isn't JSON")
		}
		if !e.Known() {
			if !reflect.DeepEqual(e, Event{Type: e.Type, Ref: e.Ref}) {
				t.Fatalf("an unknown type carries %+v", e)
			}
			return
		}
		written := AppendEvent(nil, &e)
		again, problem := DecodeEvent(written)
		if problem != nil || !reflect.DeepEqual(e, again) {
			t.Fatalf("%+v, written %s, read as %+v, %v", e, written, again, problem)
		}
	})
}

// A form is a form of itself, means what encoding/json reads, and is refused only for a reason.
func FuzzCanonical(f *testing.F) {
	for _, c := range vectors[canonicalCase](f, "canonical.json") {
		if in := input(f, c.In, c.InHex, c.Fill); len(in) < 2000 {
			f.Add(in)
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		form, err := Canonical(nil, in)
		if err != nil {
			reasons := []string{"stands twice", "UTF-8", "surrogate", "2^53", "range", "levels"}
			for _, reason := range reasons {
				if strings.Contains(err.Error(), reason) {
					return
				}
			}
			if json.Valid(in) {
				t.Fatalf("refused valid JSON: %v", err)
			}
			return
		}
		again, err := Canonical(nil, form)
		if err != nil || !bytes.Equal(form, again) {
			t.Fatalf("%q becomes %q, %v", form, again, err)
		}
		var before, after any
		if err := json.Unmarshal(in, &before); err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		if err := json.Unmarshal(form, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q means %v, its form %q means %v, %v", in, before, form, after, err)
		}
		if FingerprintOf("", form) == FingerprintOf("x", form) {
			t.Fatal("text doesn't count")
		}
	})
}

// Whatever cursor a server writes comes back as it was; others are refused or not valid.
func FuzzCursor(f *testing.F) {
	f.Add("e", int64(5), "m")
	f.Add("", int64(0), "")
	f.Add("e\x00", int64(MaxSeq), "\"")
	f.Add("e", int64(-1), "m")
	f.Fuzz(func(t *testing.T, epoch string, after int64, id string) {
		c := Command{Type: TypeSubscribe, Room: "r", Cursor: &Cursor{epoch, after, id}, Limit: -1}
		got, problem := DecodeCommand(AppendCommand(nil, &c), &DefaultLimits)
		if utf8.ValidString(epoch+"|"+id) && (problem == nil) != c.Cursor.wellFormed() {
			t.Fatalf("%+v: %v", c.Cursor, problem)
		}
		if problem == nil && *got.Cursor != *c.Cursor {
			t.Fatalf("%+v became %+v", c.Cursor, got.Cursor)
		}
	})
}

func FuzzIdempotencyKey(f *testing.F) {
	for _, c := range vectors[keyCase](f, "idempotency-keys.json") {
		for _, v := range c.Values {
			f.Add(v)
		}
	}
	f.Fuzz(func(t *testing.T, value string) {
		id, problem := ParseIdempotencyKey([]string{value})
		if (problem == nil) != ValidClientID(id) {
			t.Fatalf("%q gave %q, %v", value, id, problem)
		}
		if problem != nil {
			return
		}
		for _, same := range []string{id, `"` + id + `"`, "\t" + id + " "} {
			if got, problem := ParseIdempotencyKey([]string{same}); problem != nil || got != id {
				t.Fatalf("%q gave %q, %v", same, got, problem)
			}
		}
	})
}
