package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// file is a configuration file, parted: tenants and sources have names of any characters, which would be taken for keys with
// dots; they are read into their types by themselves.
type file struct {
	rest    map[string]any
	tenants map[string]Tenant
	faults  []error // of the tenants
}

// readFile reads a file; "" is an empty one.
func readFile(path string) (f file, err error) {
	f.rest = map[string]any{}
	if path == "" {
		return f, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	var doc yaml.Node
	in := yaml.NewDecoder(bytes.NewReader(text))
	if err := in.Decode(&doc); errors.Is(err, io.EOF) {
		return f, nil
	} else if err != nil {
		return f, err
	}
	if err := in.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return f, errors.New("a second document in one file")
	}
	if tenants := takeTenants(doc.Content[0]); tenants != nil {
		f.readTenants(tenants, path)
	}
	return f, doc.Decode(&f.rest)
}

// takeTenants takes the node of gateway.tenants out of the document.
func takeTenants(root *yaml.Node) *yaml.Node {
	gateway, _ := member(root, "gateway")
	if gateway == nil {
		return nil
	}
	tenants, at := member(gateway, "tenants")
	if tenants != nil {
		gateway.Content = append(gateway.Content[:at:at], gateway.Content[at+2:]...)
	}
	return tenants
}

func member(n *yaml.Node, name string) (value *yaml.Node, at int) {
	if n.Kind != yaml.MappingNode {
		return nil, 0
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return resolved(n.Content[i+1]), i
		}
	}
	return nil, 0
}

func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func (f *file) readTenants(n *yaml.Node, path string) {
	const at = "gateway.tenants"
	checkKeys(n, reflect.TypeFor[map[string]Tenant](), at, func(line int, text string) {
		f.faults = append(f.faults, fmt.Errorf("configuration file %s: line %d: %s", path, line, text))
	})
	err := n.Decode(&f.tenants)
	if wrong := new(yaml.TypeError); errors.As(err, &wrong) {
		for _, text := range wrong.Errors {
			f.faults = append(f.faults, fmt.Errorf("configuration file %s: %s: %s", path, at, text))
		}
	} else if err != nil {
		f.faults = append(f.faults, fmt.Errorf("configuration file %s: %s: %w", path, at, err))
	}
}

// checkKeys tells each key that its type doesn't know, with the nearest that it does.
func checkKeys(n *yaml.Node, t reflect.Type, at string, tell func(line int, text string)) {
	n = resolved(n)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			checkKeys(item, t.Elem(), fmt.Sprintf("%s[%d]", at, i), tell)
		}
	case t == reflect.TypeFor[Parts]():
		checkKeys(n, t.Elem(), at, tell)
	case t.Kind() == reflect.Map && n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			checkKeys(n.Content[i+1], t.Elem(), at+"."+quoted(n.Content[i].Value), tell)
		}
	case t.Kind() == reflect.Struct && n.Kind == yaml.MappingNode:
		checkMembers(n, t, at, tell)
	}
}

func checkMembers(n *yaml.Node, t reflect.Type, at string, tell func(line int, text string)) {
	known, names := make(map[string]reflect.Type), []string{}
	members(t, func(name string, of reflect.Type) {
		known[name] = of
		names = append(names, name)
	})
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.Tag == "!!merge" {
			checkKeys(value, t, at, tell)
			continue
		}
		of, ok := known[name.Value]
		if !ok {
			tell(name.Line, fmt.Sprintf("unknown key %q; the nearest known is %q", at+"."+quoted(name.Value), at+"."+nearest(name.Value, names)))
			continue
		}
		checkKeys(value, of, at+"."+name.Value, tell)
	}
}

// members calls f with the YAML members of a struct, those of an inlined one included.
func members(t reflect.Type, f func(name string, of reflect.Type)) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if options == "inline" {
			members(field.Type, f)
			continue
		}
		f(name, field.Type)
	}
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// quoted writes a name of any characters so that a path of names stays readable.
func quoted(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return fmt.Sprintf("%q", name)
}
