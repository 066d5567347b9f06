// Package config is the server's configuration: one struct, filled from flags over environment over file.
//
// It owns the names, the defaults and the bounds; it opens nothing and starts nothing. A key named limits.in_flight is
// the flag --limits-in-flight, the variable HAPAX_LIMITS_IN_FLIGHT, and limits: {in_flight: …} in the YAML file.
//
// The gateway's tenants come from the file alone: their names may hold any characters, dots too, so they are no keys but types
// of their own, read as strictly.
//
// Invariant: an unknown key is an error that names the nearest known one, and Validate tells all faults at once, so that
// a misspelt limit never silently means the default.
//
// Read next: config.go (the struct), load.go (the three sources), validate.go; gateway.go and file.go (tenants).
package config
