package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// foreign are variables with our prefix that belong to the client commands, or name the file itself.
var foreign = map[string]bool{"HAPAX_CONFIG": true, "HAPAX_TOKEN": true, "HAPAX_URL": true, "HAPAX_STORE_FILE": true, "HAPAX_STORE_KEY": true}

// AddFlags adds a flag for each key to a command's flags.
func AddFlags(flags *pflag.FlagSet) {
	defaults := Default()
	for _, k := range Keys() {
		name, v := k.Flag(), k.value(&defaults)
		switch {
		case k.Type == durationType:
			flags.Duration(name, time.Duration(v.Int()), k.Help)
		case k.Type.String() == "string":
			flags.String(name, v.String(), k.Help)
		case k.Type.String() == "bool":
			flags.Bool(name, v.Bool(), k.Help)
		case k.Type.String() == "float64":
			flags.Float64(name, v.Float(), k.Help)
		case k.Type.String() == "[]string":
			flags.StringSlice(name, v.Interface().([]string), k.Help)
		default:
			flags.Int64(name, v.Int(), k.Help)
		}
	}
}

// Load fills a configuration: the defaults, over them the YAML file at path ("": none), the environment (as os.Environ
// gives it), and the flags that were set. It doesn't validate.
func Load(path string, environ []string, flags *pflag.FlagSet) (Config, error) {
	k := koanf.New(".")
	f, err := readFile(path)
	if err == nil {
		err = k.Load(confmap.Provider(f.rest, ""), nil)
	}
	if err != nil {
		return Config{}, fmt.Errorf("configuration file %s: %w", path, err)
	}
	faults := append(unknownKeys(k, path), f.faults...)
	set, bad := fromEnviron(environ)
	faults = append(faults, bad...)
	if err := errors.Join(faults...); err != nil {
		return Config{}, err
	}
	if err := k.Load(set, nil); err != nil {
		return Config{}, fmt.Errorf("environment: %w", err)
	}
	if err := k.Load(confmap.Provider(fromFlags(flags), "."), nil); err != nil {
		return Config{}, fmt.Errorf("flags: %w", err)
	}
	c := Default()
	if err := k.Unmarshal("", &c); err != nil {
		return Config{}, fmt.Errorf("configuration: %w", err)
	}
	c.Gateway.Tenants = f.tenants
	return c, nil
}

func unknownKeys(found *koanf.Koanf, path string) (faults []error) {
	known := make(map[string]bool)
	var names []string
	for _, key := range Keys() {
		known[key.Name] = true
		names = append(names, key.Name)
	}
	for _, name := range found.Keys() {
		if !known[name] && !emptySection(name, found.Get(name), names) {
			faults = append(faults, fmt.Errorf("configuration file %s: unknown key %q; the nearest known is %q", path, name, nearest(name, names)))
		}
	}
	return faults
}

// emptySection tells a section of which the file says nothing, like `limits:` with all its members commented out.
func emptySection(name string, value any, names []string) bool {
	members, isMap := value.(map[string]any)
	return (value == nil || isMap && len(members) == 0) && slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, name+".") })
}

func fromEnviron(environ []string) (koanf.Provider, []error) {
	names, byEnv := []string{}, make(map[string]Key)
	for _, key := range Keys() {
		names = append(names, key.Env())
		byEnv[key.Env()] = key
	}
	var faults []error
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if _, known := byEnv[name]; strings.HasPrefix(name, envPrefix) && !known && !foreign[name] {
			faults = append(faults, fmt.Errorf("environment: unknown variable %s; the nearest known is %s", name, nearest(name, names)))
		}
	}
	return env.Provider(".", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(name, value string) (string, any) {
			key := byEnv[name]
			if key.Type != nil && key.Type.String() == "[]string" {
				return key.Name, splitList(value)
			}
			return key.Name, value
		},
	}), faults
}

func splitList(s string) []string {
	list := []string{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

func fromFlags(flags *pflag.FlagSet) map[string]any {
	set := make(map[string]any)
	if flags == nil {
		return set
	}
	for _, key := range Keys() {
		f := flags.Lookup(key.Flag())
		if f == nil || !f.Changed {
			continue
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			set[key.Name] = list.GetSlice()
			continue
		}
		set[key.Name] = f.Value.String()
	}
	return set
}
