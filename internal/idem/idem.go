package idem

// Key names one logical action: an actor's client message id in a room. Three separate
// columns; neither device, connection, session nor token is part of it.
type Key struct {
	Actor string
	Room  string
	ID    string // client message id, compared byte for byte
}

// Fingerprint is a version byte (1) and the SHA-256 of the canonical content.
type Fingerprint [33]byte

// Result is what the first send of a key came to. It is stored with the message in one
// transaction, and outlives the message.
type Result struct {
	Fingerprint Fingerprint
	MessageID   string // the server's, opaque, never given twice
	Seq         int64
	Epoch       string // the epoch in which it was stored
	At          int64  // Unix milliseconds
}
