package config

import (
	"reflect"
	"strings"
	"time"
)

// Key is one thing that can be configured.
type Key struct {
	Name   string // limits.in_flight
	Help   string
	Secret string       // "", "true" (masked whole) or "url" (password and query masked)
	Type   reflect.Type // string, bool, int, int64, float64, []string, time.Duration
	index  []int
}

// Flag is the key as a command line flag, without dashes in front: limits-in-flight.
func (k Key) Flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(k.Name) }

// Env is the key as an environment variable: HAPAX_LIMITS_IN_FLIGHT.
func (k Key) Env() string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(".", "_").Replace(k.Name))
}

const envPrefix = "HAPAX_"

// Keys lists all keys in the order of the struct.
func Keys() []Key { return keysOf(reflect.TypeFor[Config](), "", nil) }

func keysOf(t reflect.Type, prefix string, index []int) (keys []Key) {
	for f := range t.Fields() {
		at := append(append([]int(nil), index...), f.Index...)
		if f.Tag.Get("koanf") == "-" {
			continue // of the file alone
		}
		name := prefix + f.Tag.Get("koanf")
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, keysOf(f.Type, name+".", at)...)
			continue
		}
		keys = append(keys, Key{Name: name, Help: f.Tag.Get("help"), Secret: f.Tag.Get("secret"), Type: f.Type, index: at})
	}
	return keys
}

func (k Key) value(c *Config) reflect.Value { return reflect.ValueOf(c).Elem().FieldByIndex(k.index) }

var durationType = reflect.TypeFor[time.Duration]()

// nearest returns the known name with the fewest edits to the given one.
func nearest(name string, known []string) string {
	best, bestDistance := "", 1<<30
	for _, k := range known {
		if d := distance(name, k); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance counts the single-byte edits between a and b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
