package serve_test

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hapax/api"
	"hapax/internal/wire/gatewayapi"
	"hapax/protocol"
)

// document is what the test reads of the OpenAPI document.
type document struct {
	OpenAPI    string                          `yaml:"openapi"`
	Paths      map[string]map[string]yaml.Node `yaml:"paths"`
	Components struct {
		Schemas map[string]struct {
			Required   []string             `yaml:"required"`
			Properties map[string]yaml.Node `yaml:"properties"`
		} `yaml:"schemas"`
	} `yaml:"components"`
}

type operation struct {
	Responses map[string]yaml.Node `yaml:"responses"`
}

func readDocument(t *testing.T) document {
	t.Helper()
	var d document
	if err := yaml.Unmarshal(api.OpenAPI, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The document is what the code says. Where it isn't, HAPAX_UPDATE=1 writes it.
func TestTheDocumentIsFresh(t *testing.T) {
	want, err := gatewayapi.Document(api.Rooms)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("HAPAX_UPDATE") == "1" {
		if err := os.WriteFile("../../api/openapi.yaml", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, api.OpenAPI) {
		t.Error("api/openapi.yaml is not what the code says: HAPAX_UPDATE=1 go test ./internal/serve -run TestTheDocumentIsFresh")
	}
}

// Every operation that the document names is served, and nothing else is allowed at its path.
func TestTheDocumentNamesTheRoutes(t *testing.T) {
	r := start(t, setup{})
	d := readDocument(t)
	if !strings.HasPrefix(d.OpenAPI, "3.1.") || len(d.Paths) != 23 {
		t.Fatalf("OpenAPI %s with %d paths", d.OpenAPI, len(d.Paths))
	}
	if a := r.get("/v1/openapi.yaml", ""); a.status != 200 || a.raw != string(api.OpenAPI) {
		t.Errorf("the document isn't served: %d", a.status)
	}
	for path, operations := range d.Paths {
		at := strings.NewReplacer("{room}", "tea", "{clientMessageId}", "k", "{tenant}", "t", "{source}", "s", "{key}", "k", "{id}", "i").Replace(path)
		var methods []string
		for name := range operations {
			if name != "parameters" {
				methods = append(methods, strings.ToUpper(name))
			}
			if name == "get" {
				methods = append(methods, "HEAD")
			}
		}
		slices.Sort(methods)
		a := r.request("PATCH", at, r.token("ada"), nil, nil)
		if got := a.header.Get("Allow"); a.status != 405 || got != strings.Join(methods, ", ") {
			t.Errorf("%s allows %q, the document %v", path, got, methods)
		}
	}
}

// The document's codes are the protocol's, and each operation names the statuses of the codes that it can answer.
func TestTheDocumentNamesTheCodes(t *testing.T) {
	d := readDocument(t)
	problem := d.Components.Schemas["Problem"]
	var code struct {
		Enum []string `yaml:"enum"`
	}
	node := problem.Properties["code"]
	if err := node.Decode(&code); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, r := range protocol.Rules() {
		want = append(want, string(r.Code))
	}
	slices.Sort(want)
	slices.Sort(code.Enum)
	if !slices.Equal(code.Enum, want) {
		t.Errorf("codes %v\nprotocol %v", code.Enum, want)
	}
	for operationID, codes := range map[string][]protocol.Code{
		"/v1/rooms get":                 {protocol.BadRequest, protocol.SessionInvalid, protocol.RateLimited, protocol.Unavailable, protocol.Draining},
		"/v1/rooms/{room}/messages get": {protocol.BadRequest, protocol.SessionInvalid, protocol.Forbidden, protocol.RateLimited, protocol.Unavailable, protocol.Draining},
		"/v1/rooms/{room}/messages post": {protocol.BadRequest, protocol.SessionInvalid, protocol.Forbidden, protocol.TooLarge, protocol.InProgress, protocol.OutOfOrder,
			protocol.OutcomeUnknown, protocol.IDConflict, protocol.RateLimited, protocol.Unavailable, protocol.Draining},
		"/v1/rooms/{room}/messages/by-key/{clientMessageId} get": {protocol.BadRequest, protocol.SessionInvalid, protocol.NotFound, protocol.OutcomeUnknown,
			protocol.InProgress, protocol.RateLimited, protocol.Unavailable, protocol.Draining},
		"/v1/openapi.yaml get":   {protocol.RateLimited, protocol.Unavailable, protocol.Draining},
		"/v1/sign-in get":        {protocol.RateLimited, protocol.Unavailable, protocol.Draining},
		"/v1/dev/link post":      {protocol.BadRequest, protocol.Forbidden, protocol.NotFound, protocol.TooLarge, protocol.RateLimited, protocol.Unavailable, protocol.Draining},
		"/v1/dev/session post":   {protocol.BadRequest, protocol.Forbidden, protocol.NotFound, protocol.TooLarge, protocol.RateLimited, protocol.Unavailable, protocol.Draining},
		"/v1/server/figures get": {protocol.SessionInvalid, protocol.Forbidden, protocol.RateLimited, protocol.Unavailable, protocol.Draining},
	} {
		path, method, _ := strings.Cut(operationID, " ")
		var op operation
		node := d.Paths[path][method]
		if err := node.Decode(&op); err != nil {
			t.Fatal(err)
		}
		statuses := map[string]bool{}
		for _, c := range codes {
			statuses[strconv.Itoa(c.Rule().Status)] = true
		}
		for status := range op.Responses {
			if !statuses[status] && status[0] != '2' {
				t.Errorf("%s names %s, which no code of it has", operationID, status)
			}
			delete(statuses, status)
		}
		for status := range statuses {
			t.Errorf("%s doesn't name %s", operationID, status)
		}
	}
}

// Answers have what the document requires of them, and nothing that it doesn't know.
func TestAnswersAreAsTheDocumentSays(t *testing.T) {
	r := start(t, setup{})
	d := readDocument(t)
	token := r.token("ada")
	ack := r.post("tea", token, "k", `{"text":"x","data":[1]}`).body
	rows := r.get("/v1/rooms/tea/messages", token).body
	list := r.get("/v1/rooms?limit=1", token).body
	figures := r.get("/v1/server/figures", r.operator()).body
	signIn := r.devSession([]string{"http://" + r.at.Clients}, "", "application/json", `{"name":"ada"}`).body
	for schema, got := range map[string]object{
		"Ack": ack, "Rows": rows, "Message": rows.rows("messages")[0], "RoomList": list, "Figures": figures, "DevSession": signIn, "SignIn": r.get("/v1/sign-in", "").body, "Problem": r.post("tea", token, "k", `{"text":"y"}`).body,
	} {
		s := d.Components.Schemas[schema]
		if len(s.Required) == 0 {
			t.Errorf("no schema %s", schema)
		}
		for _, name := range s.Required {
			if _, ok := got[name]; !ok {
				t.Errorf("%s has no %s: %v", schema, name, got)
			}
		}
		for name := range got {
			if _, ok := s.Properties[name]; !ok {
				t.Errorf("%s has a %s that the document doesn't know", schema, name)
			}
		}
	}
}
