// Package api holds the published descriptions of the wire, as documents.
//
// It owns the documents only; where they and docs/spec differ, the text is right. Tests hold them against codec, codes and routes.
// openapi.yaml is rooms.yaml, which is written by hand, and what package gatewayapi generates from its code; a test makes it anew and
// compares: HAPAX_UPDATE=1 go test ./internal/serve -run TestTheDocumentIsFresh writes it.
//
// Read next: asyncapi.yaml (WebSocket), rooms.yaml and openapi.yaml (HTTP).
package api

import _ "embed"

// AsyncAPI is the room protocol over WebSocket as an AsyncAPI 3 document (YAML).
//
//go:embed asyncapi.yaml
var AsyncAPI []byte

// Rooms is the part of OpenAPI that is written by hand: rooms, sign-in, figures.
//
//go:embed rooms.yaml
var Rooms []byte

// OpenAPI is all of HTTP as an OpenAPI 3.1 document (YAML): what a server serves.
//
//go:embed openapi.yaml
var OpenAPI []byte
