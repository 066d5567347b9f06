package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
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
	given, err := fromFlags(flags)
	if err != nil {
		return Config{}, err
	}
	if err := k.Load(confmap.Provider(given, "."), nil); err != nil {
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
		if _, known := byEnv[name]; strings.HasPrefix(name, envPrefix) && !known && !foreign[name] && !ofKubernetes(pair) {
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

// kubernetes are the variables that a Kubernetes Service named hapax puts into every container of its namespace, with their values. They are
// of no use here, and nobody set them.
var kubernetes = regexp.MustCompile(
	`^HAPAX_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR))=|^HAPAX_PORT(_[0-9]+_(TCP|UDP|SCTP))?=(tcp|udp|sctp)://`)

func ofKubernetes(pair string) bool { return kubernetes.MatchString(pair) }

func splitList(s string) []string {
	list := []string{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// fromFlags takes the flags that were set. A secret doesn't stand on a command line, which every user of the machine can read: its flag names
// the file that holds it.
func fromFlags(flags *pflag.FlagSet) (map[string]any, error) {
	set := make(map[string]any)
	if flags == nil {
		return set, nil
	}
	var bad []error
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
		if key.Secret == "true" {
			secret, err := fromFile(f.Value.String())
			if err != nil {
				bad = append(bad, fmt.Errorf("flag --%s: %w, or set %s", key.Flag(), err, key.Env()))
			}
			set[key.Name] = secret
		} else if key.Secret == "url" && maskURL(f.Value.String()) != f.Value.String() {
			bad = append(bad, fmt.Errorf("flag --%s: a command line can be read by others, and this address holds a password or a query: set %s", key.Flag(), key.Env()))
		}
	}
	return set, errors.Join(bad...)
}

// fromFile reads the secret of the file that an @FILE names, its last line end left out. Errors don't show what was given: it may be the secret.
func fromFile(given string) (string, error) {
	path, named := strings.CutPrefix(given, "@")
	if !named || path == "" {
		return "", errors.New("a command line can be read by others: give @FILE")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}
