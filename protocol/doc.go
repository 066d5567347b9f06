// Package protocol is the wire protocol of Hapax rooms, version 1: the frames
// that a client and a server exchange, their strict JSON codec, the limits, the
// table of codes, and the content fingerprint.
//
// It owns the bytes and nothing else: no clock, no network, no store. It imports
// the standard library only, so that a client can be built from it alone.
//
// Invariant: what is decoded is written back as an equal frame, and two
// contents that differ only in what the server ignores have one fingerprint.
//
// Read next: frames.go (the frames), decode_command.go (a frame's way in), codes.go (what can go wrong and what to do
// about it), fingerprint.go (what makes two sends the same). testdata/vectors holds the cases that every SDK passes.
package protocol
