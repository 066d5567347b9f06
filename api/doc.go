// Package api holds the published descriptions of the wire, as documents.
//
// It owns the documents only; where they and docs/spec/protocol.md differ, the text is right. Tests hold them
// against codec, codes and routes. Read next: asyncapi.yaml (WebSocket), openapi.yaml (HTTP).
package api

import _ "embed"

// OpenAPI is the HTTP binding as an OpenAPI 3.1 document (YAML).
//
//go:embed openapi.yaml
var OpenAPI []byte
