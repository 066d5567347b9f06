//go:build !js

package sqlite

import (
	"crypto/rand"

	"hapax/client/ids"
	"hapax/client/store"
)

// applicationID marks our files: "Hapx".
const applicationID = 0x48617078

// step brings the schema from the version before to this one. It runs in one transaction with the change of user_version.
type step struct {
	to  int
	run func(*db) error
}

// steps are all versions, oldest first. One that was released never changes.
var steps = []step{
	{1, func(d *db) error { return d.script(schemaV1) }},
	{2, addMarks},
	{3, func(d *db) error { return d.script(schemaV3) }},
}

// schemaV1: in a sealed store, outbox.text and messages.text hold text and data sealed together as a BLOB, and
// outbox.fingerprint is a BLOB too.
const schemaV1 = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('actor', ''), ('server', ''), ('fence', 0), ('evicted', 0), ('feed', 0);
CREATE TABLE outbox (
	position INTEGER PRIMARY KEY AUTOINCREMENT,
	revision INTEGER NOT NULL,
	room TEXT NOT NULL,
	id TEXT NOT NULL,
	fingerprint NOT NULL,
	text NOT NULL,
	data,
	size INTEGER NOT NULL,
	queued_at INTEGER NOT NULL,
	attempts INTEGER NOT NULL,
	interval INTEGER NOT NULL,
	last_attempt_at INTEGER NOT NULL,
	first_sent_at INTEGER NOT NULL,
	state INTEGER NOT NULL,
	reason TEXT NOT NULL,
	aside_at INTEGER NOT NULL,
	UNIQUE (room, id)
);
CREATE INDEX outbox_state ON outbox (state, aside_at, position);
CREATE TABLE messages (
	room TEXT NOT NULL,
	message_id TEXT NOT NULL,
	epoch TEXT NOT NULL,
	seq INTEGER NOT NULL,
	position INTEGER NOT NULL,
	actor TEXT NOT NULL,
	client_id TEXT NOT NULL,
	text NOT NULL,
	data,
	at INTEGER NOT NULL,
	PRIMARY KEY (room, message_id)
);
CREATE UNIQUE INDEX messages_seq ON messages (room, seq, epoch);
CREATE UNIQUE INDEX messages_feed ON messages (position) WHERE position > 0;
CREATE INDEX messages_room_feed ON messages (room, position) WHERE position > 0;
CREATE TABLE cursors (
	room TEXT PRIMARY KEY,
	epoch TEXT NOT NULL,
	after INTEGER NOT NULL,
	message_id TEXT NOT NULL,
	replaced INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE aside (n INTEGER PRIMARY KEY AUTOINCREMENT, source TEXT NOT NULL, why TEXT NOT NULL, row BLOB NOT NULL);
`

// schemaV3: what a bounded room dropped, receipts of confirmed rows, and which rooms processes want that don't drain the store.
const schemaV3 = `
ALTER TABLE cursors ADD COLUMN trimmed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cursors ADD COLUMN trimmed_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cursors ADD COLUMN trimmed_to INTEGER NOT NULL DEFAULT 0;
CREATE TABLE receipts (
	n INTEGER PRIMARY KEY AUTOINCREMENT,
	room TEXT NOT NULL,
	id TEXT NOT NULL,
	message_id TEXT NOT NULL,
	seq INTEGER NOT NULL,
	epoch TEXT NOT NULL,
	at INTEGER NOT NULL,
	UNIQUE (room, id)
);
CREATE TABLE wishes (
	handle BLOB NOT NULL,
	room TEXT NOT NULL,
	rows INTEGER NOT NULL,
	beat INTEGER NOT NULL,
	PRIMARY KEY (handle, room)
) WITHOUT ROWID;
`

// addMarks makes the store's device and its mark.
func addMarks(d *db) error {
	if err := d.script(`CREATE TABLE marks (device BLOB PRIMARY KEY, mark BLOB NOT NULL) WITHOUT ROWID;`); err != nil {
		return err
	}
	var device ids.Device
	rand.Read(device[:])
	mark := ids.Ordinal{}.Bytes()
	if err := d.exec(`INSERT INTO meta VALUES ('device', ?)`, device[:]); err != nil {
		return err
	}
	return d.exec(`INSERT INTO marks VALUES (?, ?)`, device[:], mark[:])
}

// migrate runs the steps that a file of a version lacks.
func (d *db) migrate(from, to int) error {
	for _, s := range steps {
		if s.to <= from || s.to > to {
			continue
		}
		err := d.write(func() error {
			v, err := d.int(`PRAGMA user_version`)
			if err != nil || v >= int64(s.to) { // another process was first
				return err
			}
			if err := s.run(d); err != nil {
				return err
			}
			return d.stamp(s.to)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stamp marks the file as ours, of a version.
func (d *db) stamp(version int) error {
	return d.script(`PRAGMA application_id = ` + itoa(applicationID) + `; PRAGMA user_version = ` + itoa(version) + `;`)
}

func init() {
	if steps[len(steps)-1].to != store.Version {
		panic("sqlite: the last step is not store.Version")
	}
}
