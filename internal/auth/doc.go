// Package auth turns a token into a Session: who it is, what it may read and write, and until when.
//
// Tokens are JWTs. HS256 is believed by one local key only, RS256, ES256 and EdDSA by a JSON Web Key Set from a
// file or an address only: a key of one kind never answers for an algorithm of the other, whatever the token's
// header says. Nothing in a token is believed before its signature.
//
// # Claims
//
//   - exp is required; nbf is kept. Leeway bounds how far clocks may differ.
//   - iss and aud must be those of Options. With a key set both have to be set: its keys sign for other services too.
//   - sub is the actor: 1 to 128 bytes of UTF-8 without control characters.
//   - rooms is a list of {"room": a name or a prefix ending in "*", "rights": "r", "w" or "rw"}. Without it, or with an
//     empty one, the actor may do nothing in any room; a status asks for a session only. "*" is every room.
//   - tenants is a list of {"tenant": a name or a prefix ending in "*", "rights": "r", "w" or "rw"}, in the same way for what
//     the gateway keeps of a tenant. "*" is every tenant; who reads it is an operator.
//
// Names are exact and none may stand twice, as in all JSON that Hapax reads.
//
// Invariant: Verify gives a Session only for a token that a known key signed and that is valid now.
//
// Read next: verify.go (a token's way), keys.go (which key), keyset.go (where keys come from), localkey.go (the key of --dev).
package auth
