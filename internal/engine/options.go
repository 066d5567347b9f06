package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hapax/internal/room"
	"hapax/internal/store"
)

// Encode appends a whole `message` frame for a row to dst; with own, the author's copy with its clientMessageId.
type Encode func(dst []byte, name, epoch string, m *room.Message, own bool) []byte

// Fit says how many of the rows fit into so many bytes as the wire encodes them, but never less than one where there is one:
// of the first ones, or of the newest, which are the last.
type Fit func(rows []room.Message, bytes int, newest bool) int

// Options bound the engine. Start from DefaultOptions: a limit of 0 is refused, except where it says otherwise.
type Options struct {
	Encode Encode       // required: the wire's form of a row
	Fit    Fit          // how much of a page the wire's form leaves; default: all
	Clock  Clock        // default: the system's
	Log    *slog.Logger // default: discards

	RetentionMs int64        // how long results are promised to be held
	Policy      store.Policy // what a purge keeps; its ResultAgeMs is to be a day more than RetentionMs
	PurgeEvery  time.Duration

	SendRate   float64 // new messages a second of one actor; 0: without bound
	SendBurst  int     // how many at once; counts only with a SendRate
	RateActors int     // actors whose buckets are remembered; the longest unseen is forgotten first

	QueueCommands int // commands that wait for a commit; more are Unavailable, so that memory stays bounded
	QueueBytes    int // their text and data
	GroupCommands int // commands of one commit: bounds how long the first of them waits for the last
	GroupBytes    int // their text and data

	SnapshotRows int // rows of a snapshot
	DeltaRows    int // rows of a delta
	PageRows     int // rows of a history page
	PageBytes    int // bytes of the rows of each of these as encoded, though always one row
	ListRooms    int // rooms of one listing

	JoinRows   int           // live rows kept for one reader while it reads its way up to them
	Loaders    int           // feeds that read from the store at the same time
	Poll       time.Duration // how often active rooms are looked at for rows of other processes whose hint was lost; 0: never, there are none
	StatusWait time.Duration // how long a status waits for a send of the same key that is under way
	RetryAfter time.Duration // told to those who are turned away; spread between once and twice this
}

// DefaultOptions are for a server of its own on two cores. Encode is left to be set.
func DefaultOptions() Options {
	const day = int64(24 * time.Hour / time.Millisecond)
	return Options{
		RetentionMs:   30 * day,
		Policy:        store.Policy{ResultAgeMs: 31 * day},
		PurgeEvery:    10 * time.Second,
		RateActors:    100_000,
		QueueCommands: 16_384,
		QueueBytes:    64 << 20,
		GroupCommands: 1_024,
		GroupBytes:    8 << 20,
		SnapshotRows:  200,
		DeltaRows:     500,
		PageRows:      200,
		PageBytes:     1 << 20,
		ListRooms:     1_000,
		JoinRows:      8_192,
		Loaders:       8,
		StatusWait:    5 * time.Second,
		RetryAfter:    time.Second,
	}
}

// lookFactor is how many look-ups an actor has for each new message (docs/spec/protocol.md, Judging 3).
const lookFactor = 10

func (o *Options) check() error {
	if o.Encode == nil {
		return errors.New("engine: Options.Encode is missing")
	}
	for _, l := range []struct {
		name  string
		value int64
	}{
		{"RetentionMs", o.RetentionMs}, {"PurgeEvery", int64(o.PurgeEvery)},
		{"QueueCommands", int64(o.QueueCommands)}, {"QueueBytes", int64(o.QueueBytes)},
		{"GroupCommands", int64(o.GroupCommands)}, {"GroupBytes", int64(o.GroupBytes)},
		{"SnapshotRows", int64(o.SnapshotRows)}, {"DeltaRows", int64(o.DeltaRows)}, {"PageRows", int64(o.PageRows)}, {"PageBytes", int64(o.PageBytes)},
		{"ListRooms", int64(o.ListRooms)},
		{"JoinRows", int64(o.JoinRows)}, {"Loaders", int64(o.Loaders)}, {"StatusWait", int64(o.StatusWait)}, {"RetryAfter", int64(o.RetryAfter)},
	} {
		if l.value <= 0 {
			return fmt.Errorf("engine: Options.%s is %d: a limit must be positive", l.name, l.value)
		}
	}
	if o.Policy.ResultAgeMs != 0 && o.Policy.ResultAgeMs < o.RetentionMs {
		return fmt.Errorf("engine: results would be dropped after %d ms, but are promised for %d ms", o.Policy.ResultAgeMs, o.RetentionMs)
	}
	if o.SendRate < 0 || o.SendRate > 0 && (o.SendBurst <= 0 || o.RateActors <= 0) {
		return fmt.Errorf("engine: a SendRate of %v needs a positive SendBurst (%d) and RateActors (%d)", o.SendRate, o.SendBurst, o.RateActors)
	}
	if o.Poll < 0 {
		return fmt.Errorf("engine: Options.Poll is %v", o.Poll)
	}
	return nil
}
