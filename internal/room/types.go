package room

import "hapax/internal/idem"

// Command is a well-formed send of an actor who may write to the room.
type Command struct {
	Key         idem.Key
	Fingerprint idem.Fingerprint
	Text        string
	Data        []byte // canonical JSON or nil
	SentAt      int64  // Unix ms, 0 where absent
	Follows     string // a client message id of the same actor and room, or ""
}

// Message is a stored row of a room.
type Message struct {
	Seq       int64
	MessageID string
	Actor     string
	ID        string // client message id
	Text      string
	Data      []byte
	At        int64 // Unix ms, for display only
}

// State is what a store knows of a room as a whole. The zero State is a room never written to.
type State struct {
	Head    int64  // seq of the last row, 0 where none
	HeadID  string // messageId at Head, also where that row aged out
	Low     int64  // seq of the last row that aged out of the journal, 0 where none
	LowID   string // its messageId, "" where none
	Horizon int64  // greatest `at` of a result dropped, never later than the moment of the drop; 0 where none
}

// Facts are what a decision rests on, all read inside the transaction that will apply it.
type Facts struct {
	Now         int64       // Unix ms
	RetentionMs int64       // how long results are promised
	Known       bool        // a result of the key is held (or comes earlier in the same commit)
	Prior       idem.Result // that result
	Horizon     int64       // of the room
	Head        int64       // of the room, commands earlier in the same commit counted
	FollowsHeld bool        // the row named by Follows is stored, or stands ahead of this one in the same commit
}

// Cursor is a reader's position in a room: all up to After, whose row is MessageID, in the history Epoch.
type Cursor struct {
	Epoch     string
	After     int64
	MessageID string
}
