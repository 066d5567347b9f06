package pebble

import (
	"fmt"
	"log/slog"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/store"
)

// dbLog is the database's logger. Pebble's own ends the process where it says Fatalf; this one breaks the store.
type dbLog struct {
	log   *slog.Logger
	guard *guard
}

func (j *dbLog) Infof(string, ...any) {} // a line for each table written is no one's reading

func (j *dbLog) Errorf(format string, args ...any) {
	j.log.Error("store: " + fmt.Sprintf(format, args...))
}

// Fatalf breaks the store and returns: all that the database writes from here on is swallowed, and every call answers ErrBroken.
func (j *dbLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf("%w: %s", store.ErrDamage, fmt.Sprintf(format, args...))
	j.log.Error("store: the database gave up", "err", err)
	j.guard.fail(err)
}

// events logs what an operator has to know. A damaged block makes the reads of its rows fail; it doesn't end the store.
func events(log *slog.Logger) *lsm.EventListener {
	return &lsm.EventListener{
		BackgroundError: func(err error) { log.Warn("store: background work failed", "err", err) },
		DataCorruption: func(i lsm.DataCorruptionInfo) {
			log.Error("store: damaged file", "path", i.Path, "err", i.Details)
		},
		DiskSlow: func(i lsm.DiskSlowInfo) {
			log.Warn("store: slow disk", "path", i.Path, "op", i.OpType.String(), "took", i.Duration)
		},
		WriteStallBegin: func(i lsm.WriteStallBeginInfo) {
			log.Warn("store: commits wait for the merging of tables", "reason", i.Reason)
		},
	}
}
