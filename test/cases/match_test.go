package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// vars are what a run has noted by name.
type vars map[string]any

// resolve replaces variables in a value: "$x" is the variable, "${x}" within a text its text, "$$" a dollar sign, and an object of
// one operator ($sum, $repeat, $concat) what that makes.
func (v vars) resolve(value any) (any, error) {
	switch value := value.(type) {
	case string:
		return v.text(value)
	case []any:
		out := make([]any, len(value))
		for i := range value {
			var err error
			if out[i], err = v.resolve(value[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		if made, is, err := v.operate(value); is || err != nil {
			return made, err
		}
		out := make(map[string]any, len(value))
		for name := range value {
			var err error
			if out[name], err = v.resolve(value[name]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return value, nil
}

func (v vars) text(s string) (any, error) {
	if rest, ok := strings.CutPrefix(s, "$$"); ok {
		return "$" + rest, nil
	}
	if name, ok := strings.CutPrefix(s, "$"); ok && !strings.HasPrefix(name, "{") {
		got, known := v[name]
		if !known {
			return nil, fmt.Errorf("nothing is noted as $%s", name)
		}
		return got, nil
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		got, known := v[name]
		if !closed || !known {
			return nil, fmt.Errorf("nothing is noted as ${%s}", name)
		}
		fmt.Fprint(&out, got)
		s = after
	}
}

// operate makes a value by an operator.
func (v vars) operate(o map[string]any) (made any, is bool, err error) {
	if len(o) != 1 {
		return nil, false, nil
	}
	for name, arg := range o {
		if name != "$sum" && name != "$repeat" && name != "$concat" {
			return nil, false, nil
		}
		list, err := v.resolve(arg)
		if err != nil {
			return nil, true, err
		}
		args, ok := list.([]any)
		if !ok {
			return nil, true, fmt.Errorf("%s takes a list", name)
		}
		made, err := operators[name](args)
		return made, true, err
	}
	return nil, false, nil
}

var operators = map[string]func([]any) (any, error){
	"$sum": func(args []any) (any, error) {
		sum := new(big.Int)
		for _, a := range args {
			n, ok := integer(a)
			if !ok {
				return nil, fmt.Errorf("%v is not a whole number", a)
			}
			sum.Add(sum, n)
		}
		return json.Number(sum.String()), nil
	},
	"$repeat": func(args []any) (any, error) {
		if len(args) == 2 {
			s, isText := args[0].(string)
			if n, ok := integer(args[1]); ok && isText {
				return strings.Repeat(s, int(n.Int64())), nil
			}
		}
		return nil, fmt.Errorf("$repeat takes a text and a number, not %v", args)
	},
	"$concat": func(args []any) (any, error) {
		var all []any
		for _, a := range args {
			list, ok := a.([]any)
			if !ok {
				return nil, fmt.Errorf("%v is not a list", a)
			}
			all = append(all, list...)
		}
		return all, nil
	},
}

func integer(a any) (*big.Int, bool) { return new(big.Int).SetString(fmt.Sprint(a), 10) }

// match holds a value against a pattern. Objects need only the pattern's members, null says that there is none; lists need as many
// elements; "$x" notes the value where x is free, and must be equal else; $any, $not, $min, $max, $len, $has and $each are told
// in README.md.
func (v vars) match(pattern, got any) error {
	switch p := pattern.(type) {
	case nil:
		if got != nil {
			return fmt.Errorf("there is %v, and should be nothing", show(got))
		}
		return nil
	case string:
		return v.matchText(p, got)
	case map[string]any:
		if name, arg, is := condition(p); is {
			return v.check(name, arg, got)
		}
		if made, is, err := v.operate(p); is {
			if err != nil {
				return err
			}
			return same(made, got)
		}
		o, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is not an object", show(got))
		}
		for _, name := range slices.Sorted(maps.Keys(p)) {
			if err := v.match(p[name], o[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(p) {
			return fmt.Errorf("want %d elements, got %s", len(p), show(got))
		}
		for i := range p {
			if err := v.match(p[i], list[i]); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	}
	return same(pattern, got)
}

func (v vars) matchText(p string, got any) error {
	if name, is := strings.CutPrefix(p, "$"); is && name != "" && name[0] != '$' && name[0] != '{' {
		if _, known := v[name]; !known {
			if got == nil {
				return fmt.Errorf("nothing is there to be noted as $%s", name)
			}
			v[name] = got
			return nil
		}
	}
	want, err := v.text(p)
	if err != nil {
		return err
	}
	return same(want, got)
}

func condition(p map[string]any) (name string, arg any, is bool) {
	if len(p) != 1 {
		return "", nil, false
	}
	for name, arg = range p {
		_, is = conditions[name]
	}
	return name, arg, is
}

var conditions = map[string]bool{"$any": true, "$not": true, "$min": true, "$max": true, "$len": true, "$has": true, "$each": true, "$text": true}

func (v vars) check(name string, arg, got any) error {
	switch name {
	case "$any":
		if got == nil {
			return fmt.Errorf("there is nothing")
		}
		return nil
	case "$not":
		if maps.Clone(v).match(arg, got) == nil {
			return fmt.Errorf("%s should not be %s", show(got), show(arg))
		}
		return nil
	case "$has", "$each":
		return v.elements(name, arg, got)
	}
	want, err := v.resolve(arg)
	if err != nil {
		return err
	}
	if name == "$text" {
		if !strings.Contains(fmt.Sprint(got), fmt.Sprint(want)) {
			return fmt.Errorf("%s doesn't hold %q", show(got), want)
		}
		return nil
	}
	if name == "$len" {
		n, ok := length(got)
		if !ok {
			return fmt.Errorf("%s has no length", show(got))
		}
		return v.match(want, json.Number(fmt.Sprint(n)))
	}
	bound, ok := integer(want)
	n, isNumber := integer(got)
	if !ok || !isNumber {
		return fmt.Errorf("%s against %s %s: not whole numbers", show(got), name, show(want))
	}
	if c := n.Cmp(bound); name == "$min" && c < 0 || name == "$max" && c > 0 {
		return fmt.Errorf("%v is not within %s %v", n, name, bound)
	}
	return nil
}

// elements holds patterns against some, or a pattern against each of a list's elements.
func (v vars) elements(name string, arg, got any) error {
	list, ok := got.([]any)
	if !ok {
		return fmt.Errorf("%s is not a list", show(got))
	}
	if name == "$each" {
		for i := range list {
			if err := v.match(arg, list[i]); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	}
	patterns, ok := arg.([]any)
	if !ok {
		return fmt.Errorf("$has takes a list")
	}
	for _, p := range patterns {
		if !slices.ContainsFunc(list, func(e any) bool { return v.try(p, e) }) {
			return fmt.Errorf("%s is not among %s", show(p), show(got))
		}
	}
	return nil
}

// try notes variables only where the whole pattern fits.
func (v vars) try(pattern, got any) bool {
	t := maps.Clone(v)
	if t.match(pattern, got) != nil {
		return false
	}
	maps.Copy(v, t)
	return true
}

func length(got any) (int, bool) {
	switch got := got.(type) {
	case nil:
		return 0, true
	case string:
		return len(got), true
	case []any:
		return len(got), true
	}
	return 0, false
}

func same(want, got any) error {
	if w, ok := want.(json.Number); ok {
		if g, ok := got.(json.Number); ok && w == g {
			return nil
		}
	} else if reflect.DeepEqual(want, got) {
		return nil
	}
	return fmt.Errorf("want %s, got %s", show(want), show(got))
}

// show prints a value, cut where it is long.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	const most = 600
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}

// plain turns a Go value into what a document would hold.
func plain(v any) (out any) {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if err := decode(b, &out); err != nil {
		return err.Error()
	}
	return out
}
