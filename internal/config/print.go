package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

const mask = "********"

// Print returns the configuration as YAML that Load reads again. Secrets are masked.
func (c *Config) Print() (string, error) {
	tree := make(map[string]any)
	shown := *c
	shown.Dev = c.DevMode() // as serve will take it
	for _, k := range Keys() {
		at := tree
		parts := strings.Split(k.Name, ".")
		for _, p := range parts[:len(parts)-1] {
			if at[p] == nil {
				at[p] = make(map[string]any)
			}
			at = at[p].(map[string]any)
		}
		at[parts[len(parts)-1]] = k.shown(&shown)
	}
	if len(c.Gateway.Tenants) > 0 {
		tree["gateway"].(map[string]any)["tenants"] = c.Gateway.masked()
	}
	out, err := yaml.Marshal(tree)
	if err != nil {
		return "", fmt.Errorf("print the configuration: %w", err)
	}
	return string(out), nil
}

func (k Key) shown(c *Config) any {
	v := k.value(c).Interface()
	switch s, _ := v.(string); {
	case k.Secret == "true" && s != "":
		return mask
	case k.Secret == "url" && s != "":
		return maskURL(s)
	case k.Type == durationType:
		return v.(time.Duration).String()
	}
	return v
}

// maskURL hides what a URL may carry of secrets: password and query.
func maskURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return mask
	}
	if u.User != nil {
		u.User = url.UserPassword(u.User.Username(), "xxxxx")
	}
	if u.RawQuery != "" {
		u.RawQuery = "masked"
	}
	return u.String()
}
