package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Case is one file.
type Case struct {
	ID     string // of docs/spec/cases.md
	Title  string
	Source string // where the fault was reported
	Right  string // the right result
	// Scenarios are independent of each other: each has a server and stores of its own.
	Scenarios []Scenario
}

// Scenario is one run.
type Scenario struct {
	Name   string
	World  string         // "server" or "script"
	Config map[string]any // of the server, by the names of its configuration
	Vars   map[string]any
	// Gateway is the configuration's part of that name, and Files what lies beside it: secrets, registries, tables.
	Gateway map[string]any
	Files   map[string]string
	Stopped bool // the server isn't started by itself
	Steps   []Step
}

// Step is one thing that is done (README.md tells which fields a word takes). Any is a value in which variables are replaced, or
// a pattern, where the field is Expect.
type Step struct {
	Do   string
	Note string // for the reader

	Name   string // of a connection, a client, a store, a folder or a request
	As     string // actor
	Rooms  map[string]string
	Store  string
	To     string
	Kind   string
	How    string
	Room   any
	ID     any
	Text   any
	Data   any
	Frame  any
	Raw    any
	Method string
	Path   any
	Query  map[string]any
	Header map[string]any
	Body   any
	Status int
	Ms     any
	Wall   any
	Mono   any
	N      any
	Value  any
	Within any    // ms that may pass
	Error  string // the kind of error that must come, "" for none
	Expect any
	Later  bool           // goes on beside, until awaited
	Sign   map[string]any // how a delivery is signed
	Skip   []string
	Limits map[string]any // of a client's session
	Var    string
	In     []any
	Steps  []Step
}

func loadCase(path string) (c Case, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := decode(raw, &c); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	if c.ID != strings.TrimSuffix(filepath.Base(path), ".json") || c.Title == "" || c.Source == "" || c.Right == "" || len(c.Scenarios) == 0 {
		return c, fmt.Errorf("%s: id (the file's name), title, source, right and scenarios are needed", path)
	}
	for _, s := range c.Scenarios {
		if s.Name == "" || s.World != "server" && s.World != "script" || len(s.Steps) == 0 {
			return c, fmt.Errorf("%s: a scenario needs a name, a world and steps: %q", path, s.Name)
		}
	}
	return c, nil
}

// decode reads one document strictly; numbers keep every digit.
func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something stands behind the document")
	}
	return nil
}
