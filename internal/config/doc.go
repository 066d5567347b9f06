// Package config is the server's configuration: one struct, filled from flags over environment over file.
//
// It owns the names, the defaults and the bounds; it opens nothing and starts nothing. A key named limits.in_flight is
// the flag --limits-in-flight, the variable HAPAX_LIMITS_IN_FLIGHT, and limits: {in_flight: …} in the YAML file.
//
// Invariant: an unknown key is an error that names the nearest known one, and Validate tells all faults at once, so that
// a misspelt limit never silently means the default.
//
// Read next: config.go (the struct), load.go (the three sources), validate.go.
package config
