// Package api holds the published descriptions of the wire, as documents.
//
// It owns the documents only; where they and docs/spec/protocol.md differ, the text is right. Tests of internal/wire hold
// them against the routes and codes. Read next: openapi.yaml.
package api

import _ "embed"

// OpenAPI is the HTTP binding as an OpenAPI 3.1 document (YAML).
//
//go:embed openapi.yaml
var OpenAPI []byte
