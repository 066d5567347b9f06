package api_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"hapax/protocol"
)

// object is a JSON object.
type object = map[string]any

// asyncAPI reads the document as JSON has it.
func asyncAPI(t *testing.T) object {
	t.Helper()
	raw, err := os.ReadFile("asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var loose any
	if err := yaml.Unmarshal(raw, &loose); err != nil {
		t.Fatal(err)
	}
	var doc object
	text, err := json.Marshal(loose)
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// at follows names into nested objects.
func at(t *testing.T, v any, path ...string) any {
	t.Helper()
	for _, name := range path {
		inner, ok := v.(object)[name]
		if !ok {
			t.Fatalf("%s is missing in %v", name, path)
		}
		v = inner
	}
	return v
}

// named follows a reference within the document.
func named(t *testing.T, doc object, ref any) (name string, v object) {
	t.Helper()
	path := strings.Split(strings.TrimPrefix(at(t, ref, "$ref").(string), "#/"), "/")
	v = at(t, doc, path...).(object)
	if _, more := v["$ref"]; more {
		return named(t, doc, v)
	}
	return path[len(path)-1], v
}

// frameTypes reads the protocol's types out of its source: those of commands, and those of events.
func frameTypes(t *testing.T) (commands, events []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "protocol", "frames.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.ValueSpec)
			if !strings.HasPrefix(spec.Names[0].Name, "Type") {
				continue
			}
			name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if e := (protocol.Event{Type: name}); e.Known() {
				events = append(events, name)
			} else {
				commands = append(commands, name)
			}
		}
	}
	return commands, events
}

func sorted(names ...string) []string { slices.Sort(names); return slices.Compact(names) }

func TestMessagesAreTheProtocols(t *testing.T) {
	doc := asyncAPI(t)
	commands, events := frameTypes(t)
	if len(commands) != 7 || len(events) != 10 {
		t.Fatalf("version 1 has 7 commands and 10 events, found %v and %v", commands, events)
	}
	var received, sent []string
	for _, op := range at(t, doc, "operations").(object) {
		into := &sent
		if at(t, op, "action") == "receive" {
			into = &received
		}
		for _, ref := range at(t, op, "messages").([]any) {
			name, _ := named(t, doc, ref)
			*into = append(*into, name)
		}
		if reply, ok := op.(object)["reply"]; ok {
			for _, ref := range at(t, reply, "messages").([]any) {
				name, _ := named(t, doc, ref)
				sent = append(sent, name)
			}
		}
	}
	if got := sorted(received...); !slices.Equal(got, sorted(commands...)) {
		t.Errorf("commands: %v", got)
	}
	if got := sorted(sent...); !slices.Equal(got, sorted(events...)) {
		t.Errorf("events: %v", got)
	}
	both := sorted(append(commands, events...)...)
	if got := slices.Sorted(maps.Keys(at(t, doc, "components", "messages").(object))); !slices.Equal(got, both) {
		t.Errorf("messages: %v", got)
	}
	if got := slices.Sorted(maps.Keys(at(t, doc, "channels", "rooms", "messages").(object))); !slices.Equal(got, both) {
		t.Errorf("messages of the channel: %v", got)
	}
	if got := at(t, doc, "channels", "rooms", "bindings", "ws", "headers", "properties", "Sec-WebSocket-Protocol", "const"); got != protocol.Subprotocol {
		t.Errorf("subprotocol %v", got)
	}
}

func TestCodesAreTheTable(t *testing.T) {
	list := at(t, asyncAPI(t), "components", "schemas", "Code", "x-codes").([]any)
	if len(list) != len(protocol.Rules()) {
		t.Fatalf("%d codes", len(list))
	}
	for i, r := range protocol.Rules() {
		want := object{"code": string(r.Code), "retryable": r.Retryable, "advice": string(r.Advice), "status": float64(r.Status), "close": float64(r.Close)}
		if !maps.Equal(list[i].(object), want) {
			t.Errorf("got %v, want %v", list[i], want)
		}
	}
}

func TestLimitsAreTheDefaults(t *testing.T) {
	schemas := at(t, asyncAPI(t), "components", "schemas").(object)
	l := protocol.DefaultLimits
	for name, want := range map[string]int{"Ref": l.Ref, "Room": l.Room, "Text": l.Text, "Data": l.Data, "Actor": protocol.MaxName} {
		if got := at(t, schemas, name, "x-maxBytes"); got != float64(want) {
			t.Errorf("%s: %v bytes, want %d", name, got, want)
		}
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	var limits map[string]float64
	if err := json.Unmarshal(text, &limits); err != nil {
		t.Fatal(err)
	}
	told := at(t, schemas, "Limits", "properties").(object)
	if len(told) != len(limits) {
		t.Errorf("%d limits, want %d", len(told), len(limits))
	}
	for name, want := range limits {
		if got := at(t, told, name, "default"); got != want {
			t.Errorf("limits.%s: %v, want %v", name, got, want)
		}
	}
	for path, want := range map[[2]string]int{{"Subscribe", "limit"}: l.SnapshotRows, {"History", "limit"}: l.PageRows, {"History", "before"}: protocol.MaxSeq} {
		if got := at(t, schemas, path[0], "properties", path[1], "maximum"); got != float64(want) {
			t.Errorf("%v: %v, want %d", path, got, want)
		}
	}
}

// schemaOf compiles the schema of one type of frame.
func schemaOf(t *testing.T, doc object, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	if err := c.AddResource("asyncapi.json", doc); err != nil {
		t.Fatal(err)
	}
	_, message := named(t, doc, object{"$ref": "#/components/messages/" + name})
	s, err := c.Compile("asyncapi.json" + at(t, message, "payload", "$ref").(string))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// vector is a frame of the protocol's vectors that is accepted, as it is written again.
type vector struct {
	Name, Command, Event string
	Fill                 map[string][2]any
}

// accepted returns the frames of one type.
func accepted(t *testing.T, frameType string) (frames [][]byte) {
	t.Helper()
	for _, file := range []string{"commands.json", "events.json"} {
		raw, err := os.ReadFile(filepath.Join("..", "protocol", "testdata", "vectors", file))
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Cases []vector }
		if err := json.Unmarshal(raw, &list); err != nil {
			t.Fatal(err)
		}
		for _, v := range list.Cases {
			frame := v.Command + v.Event
			for mark, f := range v.Fill {
				frame = strings.ReplaceAll(frame, mark, strings.Repeat(f[0].(string), int(f[1].(float64))))
			}
			if strings.HasPrefix(frame, `{"type":"`+frameType+`"`) {
				frames = append(frames, []byte(frame))
			}
		}
	}
	return frames
}

func decode(t *testing.T, frame []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(frame))
	if err != nil {
		t.Fatalf("%v: %s", err, frame)
	}
	return v
}

// takes says whether the codec accepts a frame.
func takes(isEvent bool, frame []byte) *protocol.Problem {
	if isEvent {
		_, problem := protocol.DecodeEvent(frame)
		return problem
	}
	_, problem := protocol.DecodeCommand(frame, &protocol.DefaultLimits)
	return problem
}

func TestVectorsAndExamplesMatchTheSchemas(t *testing.T) {
	doc := asyncAPI(t)
	commands, events := frameTypes(t)
	for _, name := range slices.Concat(commands, events) {
		t.Run(name, func(t *testing.T) {
			s := schemaOf(t, doc, name)
			_, message := named(t, doc, object{"$ref": "#/components/messages/" + name})
			_, payload := named(t, doc, at(t, message, "payload"))
			properties := at(t, payload, "properties").(object)
			frames := accepted(t, name)
			for _, e := range at(t, message, "examples").([]any) {
				frame, err := json.Marshal(at(t, e, "payload"))
				if err != nil {
					t.Fatal(err)
				}
				if problem := takes(slices.Contains(events, name), frame); problem != nil {
					t.Errorf("the example is refused: %v", problem)
				}
				frames = append(frames, frame)
			}
			shown := make(map[string]bool)
			for _, frame := range frames {
				v := decode(t, frame)
				if err := s.Validate(v); err != nil {
					t.Errorf("%v\n%.300s", err, frame)
				}
				for member := range v.(object) {
					shown[member] = true
					if properties[member] == nil {
						t.Errorf("%s isn't in the schema", member)
					}
				}
			}
			for member := range properties {
				if !shown[member] {
					t.Errorf("%s is in the schema and in no frame", member)
				}
			}
		})
	}
}

// TestSchemasRefuseWhatTheCodecRefuses takes each member away, and puts a value of another kind in its place.
func TestSchemasRefuseWhatTheCodecRefuses(t *testing.T) {
	doc := asyncAPI(t)
	commands, events := frameTypes(t)
	for _, name := range slices.Concat(commands, events) {
		t.Run(name, func(t *testing.T) {
			s := schemaOf(t, doc, name)
			compared := 0
			for _, frame := range accepted(t, name) {
				if len(frame) > 2000 {
					continue
				}
				for member := range decode(t, frame).(object) {
					for _, change := range []any{nil, false, "", -1.5, object{}, []any{}} {
						v := decode(t, frame).(object)
						if change == nil {
							delete(v, member)
						} else {
							v[member] = change
						}
						if change == "" && emptyIsSpecial[member] {
							continue
						}
						changed, err := json.Marshal(v)
						if err != nil {
							t.Fatal(err)
						}
						problem, mismatch := takes(slices.Contains(events, name), changed), s.Validate(v)
						compared++
						if (problem == nil) != (mismatch == nil) && !beyondSchemas[name+"."+member] {
							t.Errorf("%s\ncodec: %v\nschema: %v", changed, problem, mismatch)
						}
					}
				}
			}
			if compared < 5 {
				t.Fatalf("only %d frames compared", compared)
			}
		})
	}
}

// emptyIsSpecial are members whose empty text a decoder takes where the schema, made for writers, doesn't: an unknown type,
// which a client passes over, and ids and rooms that count as absent where they are optional.
var emptyIsSpecial = map[string]bool{"type": true, "clientMessageId": true, "room": true, "messageId": true}

// beyondSchemas are members whose rule ties them to another, which a schema of each can't say: the head to its row.
var beyondSchemas = map[string]bool{"snapshot.headId": true, "delta.headId": true}
