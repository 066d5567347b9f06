package intake

import (
	"fmt"
	"log/slog"
	"time"
)

// Options bound an intake. Start from DefaultOptions: a limit of 0 is refused.
type Options struct {
	Now func() time.Time // default: time.Now. It stamps the records, and measures the commits
	Log *slog.Logger     // default: discards

	QueueCommands int // commands that wait for a commit; more are ErrBusy, so that memory stays bounded
	QueueBytes    int // their texts and bodies
	GroupCommands int // commands of one commit: bounds how long the first of them waits for the last
	GroupBytes    int // their texts and bodies
}

// DefaultOptions are for a server of its own on two cores.
func DefaultOptions() Options {
	return Options{QueueCommands: 16_384, QueueBytes: 128 << 20, GroupCommands: 1_024, GroupBytes: 16 << 20}
}

func (o *Options) check() error {
	for _, l := range []struct {
		name  string
		value int
	}{
		{"QueueCommands", o.QueueCommands}, {"QueueBytes", o.QueueBytes}, {"GroupCommands", o.GroupCommands}, {"GroupBytes", o.GroupBytes},
	} {
		if l.value <= 0 {
			return fmt.Errorf("intake: Options.%s is %d: a limit must be positive", l.name, l.value)
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
