package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"hapax/client"
	"hapax/client/ids"
	"hapax/client/session"
	"hapax/client/store"
	"hapax/protocol"
)

// bookmarkSync is how often a bookmark is forced to disk: a power cut repeats the lines of this time at most.
const bookmarkSync = time.Second

// A tail without a store holds what was not printed yet, up to about two pages of the server; what comes faster is fetched again.
const (
	tailRows  = 1000
	tailBytes = 4 << 20
)

type tailFlags struct {
	connection
	room  string
	json  bool
	lines int
	until int64
}

func newTail() *cobra.Command {
	f := &tailFlags{}
	cmd := &cobra.Command{
		Use:   "tail --url URL --token T --room R [--json] [--store FILE]",
		Short: "Print a room's messages, and go on as they come",
		Long: `Print the last messages of a room and then each new one, in order, none missing and none twice, through lost connections and restarts
of the server.

With --store it goes on where it ended (a second tail of the room on that store, meanwhile, begins with the last lines): its place is noted after a line was written, so that after a crash the last line may
come twice, never not at all. Where the server's history was replaced (a restore) a note on standard error says so.

Exit status: 0 ended by a signal or --until, 1 the server refused, 64 wrong usage, 70 the store failed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.add(cmd)
	f.keep.add(cmd, "keeps the room's rows and the place up to which they were printed")
	cmd.Flags().StringVar(&f.room, "room", "", "the room")
	cmd.Flags().BoolVar(&f.json, "json", false, "print each message as a line of JSON, as the server sends it")
	cmd.Flags().IntVarP(&f.lines, "lines", "n", protocol.DefaultLimits.SnapshotRows, "messages to begin with, 0 to 200")
	cmd.Flags().Int64Var(&f.until, "until", 0, "end after the message with this seq (0: never)")
	return cmd
}

func (f *tailFlags) run(cmd *cobra.Command) error {
	switch {
	case !protocol.ValidRoom(f.room):
		return usage("--room: a room's name is 1 to 128 bytes of UTF-8 without control characters")
	case f.lines < 0 || f.lines > protocol.DefaultLimits.SnapshotRows:
		return usage("--lines is a number from 0 to %d", protocol.DefaultLimits.SnapshotRows)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if f.keep.file == "" {
		f.keep.limits = store.Limits{RoomRows: tailRows, RoomBytes: tailBytes}
	}
	c, err := f.dial(ctx, false)
	if err != nil {
		return err
	}
	place, err := openBookmark(f.keep.file, f.room, c.Device())
	if err != nil {
		return errors.Join(&ExitError{Code: ExitMachine, Err: err}, c.Close())
	}
	if place.second {
		if err := f.beginWithLast(ctx, c, place); err != nil {
			return errors.Join(&ExitError{Code: ExitMachine, Err: err}, c.Close())
		}
	}
	err = f.follow(ctx, cmd, c, place)
	if cause := errors.Join(place.close(), c.Close()); cause != nil {
		return &ExitError{Code: ExitMachine, Err: errors.Join(err, cause)}
	}
	return err
}

// beginWithLast puts the place before the last lines that the store holds of the room.
func (f *tailFlags) beginWithLast(ctx context.Context, c *client.Client, place *bookmark) error {
	rows, err := c.View(ctx, f.room, 0, f.lines)
	for _, m := range slices.Backward(rows) {
		if m.Position > 0 {
			place.position = m.Position - 1
		}
	}
	return err
}

func (f *tailFlags) follow(ctx context.Context, cmd *cobra.Command, c *client.Client, place *bookmark) error {
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	stop := c.Listen(func(e client.Event) {
		f.tell(cmd.ErrOrStderr(), e)
		if err := hopeless(e); err != nil {
			give(err)
		}
		switch e := e.(type) {
		case session.RoomDenied:
			if e.Room == f.room && e.RetryIn > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "hapax: the server refuses the room for now: %s; the next try is in %.1f s\n", e.Reason, float64(e.RetryIn)/1000)
			} else if e.Room == f.room {
				give(fmt.Errorf("the server refuses the room: %s", e.Reason))
			}
		case session.RoomChanged:
			if e.Room == f.room && e.Replaced && place.position > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "hapax: the room's history was replaced; what follows may leave out or repeat older messages\n")
			}
		}
	})
	defer stop()
	if err := c.SubscribeRows(f.room, f.lines); err != nil {
		return &ExitError{Code: ExitMachine, Err: err}
	}
	c.Connect()
	for m, err := range c.Follow(ctx, f.room, place.position) {
		var t *client.TrimmedError
		switch {
		case errors.As(err, &t):
			err = f.fetch(ctx, cmd, c, t)
			m.Position, m.Seq = t.Position, t.To
		case err == nil:
			err = f.print(cmd.OutOrStdout(), &m.Message)
		}
		if err == nil {
			err = place.move(m.Position)
		}
		switch {
		case errors.Is(err, syscall.EPIPE): // whoever read it has seen enough
			return nil
		case errors.Is(err, context.Canceled):
			continue
		case err != nil:
			return &ExitError{Code: ExitMachine, Err: err}
		case f.until > 0 && m.Seq >= f.until:
			return nil
		}
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return &ExitError{Code: ExitFailed, Err: f.keep.explain(cause)}
	}
	return nil
}

// fetch prints rows that came faster than they could be printed, and which the store no longer holds, from the server's history.
func (f *tailFlags) fetch(ctx context.Context, cmd *cobra.Command, c *client.Client, t *client.TrimmedError) error {
	for from := t.From; from <= t.To; {
		end := min(t.To+1, from+int64(protocol.DefaultLimits.PageRows))
		var rows []protocol.Message
		for before := end; before > from; { // a page holds the newest that fit
			page, err := c.History(ctx, f.room, before, int(before-from))
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			rows = append(slices.Clone(page), rows...)
			before = page[0].Seq
		}
		for i := range rows {
			if rows[i].Seq < from {
				continue
			}
			if rows[i].Seq > from {
				missing(cmd, from, rows[i].Seq-1)
			}
			if err := f.print(cmd.OutOrStdout(), &rows[i]); err != nil {
				return err
			}
			from = rows[i].Seq + 1
		}
		if from < end {
			missing(cmd, from, end-1)
			from = end
		}
	}
	return nil
}

func missing(cmd *cobra.Command, from, to int64) {
	fmt.Fprintf(cmd.ErrOrStderr(), "hapax: the server no longer keeps messages %d to %d\n", from, to)
}

// print writes one message as one line in one call, so that a crash never leaves half a line and a place past it.
func (f *tailFlags) print(w io.Writer, m *protocol.Message) error {
	var line []byte
	if f.json {
		line = protocol.AppendMessage(nil, m.Room, m.Epoch, m.Seq, m.MessageID, m.Actor, m.ClientMessageID, m.Text, m.Data, m.At)
	} else {
		line = appendText(nil, m)
	}
	_, err := w.Write(append(line, '\n'))
	return err
}

// appendText writes a message for people: seq, time, actor, text, data. What a terminal would obey is shown, not done.
func appendText(dst []byte, m *protocol.Message) []byte {
	dst = fmt.Appendf(dst, "%d %s %s: %s", m.Seq, time.UnixMilli(m.At).Format(time.DateTime), shown(m.Actor), harmless(m.Text))
	if len(m.Data) > 0 {
		dst = append(append(dst, ' '), harmless(string(m.Data))...)
	}
	return dst
}

// bookmark is the place in a store's feed of a room up to which lines were written. Without a store it is in memory only.
type bookmark struct {
	file     *os.File
	lock     *flock.Flock // held while the place is kept; another tail of the room has none
	store    string       // its device, in hex
	position int64
	second   bool // another tail keeps the place: this one begins with the last lines
	synced   time.Time
}

// bookmarkWidth is that of a position in the file: always written whole, over the one before.
const bookmarkWidth = 20

// openBookmark opens the place file beside a client's store, one a room. A place that was noted in another store, since removed or
// replaced, says nothing of this one: then the room is printed anew.
func openBookmark(store, room string, device ids.Device) (*bookmark, error) {
	if store == "" {
		return &bookmark{}, nil
	}
	sum := sha256.Sum256([]byte(room))
	path := fmt.Sprintf("%s.tail-%x", store, sum[:8])
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return &bookmark{second: err == nil}, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(err, file.Close(), lock.Unlock())
	}
	b := &bookmark{file: file, lock: lock, store: fmt.Sprintf("%x", device[:])}
	if len(text) == 0 {
		return b, nil
	}
	var of string
	if n, err := fmt.Sscan(string(text), &b.position, &of); n != 2 || err != nil || b.position < 0 {
		return nil, errors.Join(fmt.Errorf("%s doesn't hold a place; remove it to print the room anew", path), file.Close(), lock.Unlock())
	}
	if of != b.store {
		b.position = 0
	}
	return b, nil
}

func (b *bookmark) move(position int64) error {
	b.position = position
	if b.file == nil {
		return nil
	}
	if _, err := b.file.WriteAt(fmt.Appendf(nil, "%*d %s\n", bookmarkWidth, position, b.store), 0); err != nil {
		return err
	}
	if time.Since(b.synced) < bookmarkSync {
		return nil
	}
	b.synced = time.Now()
	return b.file.Sync()
}

func (b *bookmark) close() error {
	if b.file == nil {
		return nil
	}
	return errors.Join(b.file.Sync(), b.file.Close(), b.lock.Unlock())
}
