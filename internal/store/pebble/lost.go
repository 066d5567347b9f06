package pebble

import (
	"errors"
	"os"
	"slices"
	"strings"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/gateway"
)

// byNote is how a Loss names the head note.
const byNote = "the head note"

// lostLog holds the gateway's log against every head note that lies in the folder: beside an older copy of the database lies a note that this
// database doesn't know. Notes of former epochs are passed by, as what they knew was told when their epoch ended.
func (f folder) lostLog(s *self, r lsm.Reader) (lost gateway.Loss, err error) {
	names, err := f.fs.List(f.dir)
	if err != nil {
		return lost, err
	}
	var known []gateway.Known
	for _, name := range names {
		if !strings.HasPrefix(name, prefixNote) || strings.HasSuffix(name, suffixNew) {
			continue
		}
		n, ok, err := f.readNote(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return lost, err
		}
		if ok && !slices.Contains(s.Epochs[:len(s.Epochs)-1], n.epoch) {
			known = append(known, gateway.Known{Number: n.log.number, Hash: n.log.hash, By: byNote})
		}
	}
	h, err := loadHead(r)
	if err != nil {
		return lost, err
	}
	return gateway.HoldAgainst(h.Number, func(n int64) (hash gateway.Hash, there bool, err error) {
		record, there, err := get(r, numbered(tableLog, n))
		return gateway.HashOf(record), there, err
	}, known)
}
