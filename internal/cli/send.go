package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hapax/client"
	"hapax/client/session"
	"hapax/protocol"
)

// idWait is how long to wait for an id where the client has none to give: the next lease is being reserved.
const idWait = 10 * time.Millisecond

type sendFlags struct {
	connection
	room, id, data string
	offline, json  bool
	timeout        time.Duration
}

func newSend() *cobra.Command {
	f := &sendFlags{}
	cmd := &cobra.Command{
		Use:   "send --url URL --token T --room R [--id ID] [--store FILE] TEXT…",
		Short: "Send messages into a room, each once",
		Long: `Send each TEXT as a message of its own, or with "-" each line of standard input, and wait until the server has stored them.

With --store every message is on disk before anything is sent: a command that is killed, or ends without an answer, goes on by being
run again with the same --store, and without TEXT sends what is still there. With --offline it only stores. --id gives one
message an id of your own: sending it again is the same message.

Exit status: 0 all is stored, 1 something is parked, uncertain or still waits (see "hapax outbox list"), 64 wrong usage, 70 the store failed.`,
		RunE: func(cmd *cobra.Command, texts []string) error { return f.run(cmd, texts) },
	}
	f.add(cmd)
	f.keep.add(cmd, "keeps the outbox, so that nothing is lost whatever happens to this command")
	cmd.Flags().StringVar(&f.keep.actor, "actor", "", "whose messages these are, noted in --store (by default the subject of --token)")
	cmd.Flags().StringVar(&f.room, "room", "", "the room")
	cmd.Flags().StringVar(&f.id, "id", "", "the client message id of the only TEXT")
	cmd.Flags().StringVar(&f.data, "data", "", "JSON that goes with each message")
	cmd.Flags().BoolVar(&f.offline, "offline", false, "store in --store and don't connect")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the summary as JSON")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "give up waiting after so long (0: never)")
	return cmd
}

// check refuses what can't be meant, before anything is opened.
func (f *sendFlags) check(texts []string) error {
	switch {
	case f.room == "" && (len(texts) > 0 || f.keep.file == ""):
		return usage("--room is missing")
	case f.room != "" && !protocol.ValidRoom(f.room):
		return usage("--room: a room's name is 1 to 128 bytes of UTF-8 without control characters")
	case len(texts) == 0 && f.keep.file == "":
		return usage(`nothing to send: give TEXT, or "-" for the lines of standard input`)
	case f.offline && f.keep.file == "":
		return usage("--offline needs a --store to keep the messages in")
	case f.id != "" && (len(texts) != 1 || texts[0] == "-"):
		return usage("--id goes with exactly one TEXT")
	case f.id != "" && !protocol.ValidClientID(f.id):
		return usage("--id: 1 to 128 bytes of printable ASCII without quote and backslash, not all zeros")
	case f.timeout < 0:
		return usage("--timeout is negative")
	}
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return usage("a TEXT isn't UTF-8")
		}
	}
	return nil
}

func (f *sendFlags) run(cmd *cobra.Command, texts []string) error {
	if err := f.check(texts); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	c, err := f.dial(ctx, f.offline)
	if err != nil {
		return err
	}
	// Waiting ends by the time-out, by a signal, or by what nobody but a person can mend.
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	if f.timeout > 0 {
		timer := time.AfterFunc(f.timeout, func() { give(errors.New("no answer in time")) })
		defer timer.Stop()
	}
	t := newTally(c, give, func(e client.Event) { f.tell(cmd.ErrOrStderr(), e) })
	defer t.stop()
	if !f.offline {
		c.Connect()
	}
	show := newProgress(cmd.ErrOrStderr(), len(texts))
	err = f.feed(ctx, cmd.InOrStdin(), c, t, texts, show)
	if !f.offline && (err == nil || refused(err)) {
		t.wait(ctx, show)
	}
	show.end()
	if cause := context.Cause(ctx); errors.Is(cause, session.ErrWrongStore) {
		err = errors.Join(f.keep.explain(cause), t.takeBack(cmd.Context()))
	}
	sum := t.summary(context.WithoutCancel(cmd.Context()))
	return errors.Join(f.report(cmd, sum, err, context.Cause(ctx)), closing(c))
}

// errLongLine is a line of which not even the beginning could be a message.
var errLongLine = fmt.Errorf("a line of more than %d bytes", longestLine)

// refused says whether it is a message that was at fault, not the store: those before it are sent and waited for.
func refused(err error) bool {
	return errors.Is(err, client.ErrBadBody) || errors.Is(err, client.ErrTooLarge) || errors.Is(err, errLongLine) || errors.Is(err, client.ErrFull)
}

// closing closes a client; that a store couldn't be closed cleanly is the machine's fault.
func closing(c *client.Client) error {
	if err := c.Close(); err != nil {
		return &ExitError{Code: ExitMachine, Err: err}
	}
	return nil
}

// feed hands every message to the outbox. A message that can't be sent at all ends it: what came before it is sent.
func (f *sendFlags) feed(ctx context.Context, in io.Reader, c *client.Client, t *tally, texts []string, show *progress) error {
	if err := t.adopt(ctx); err != nil {
		return err
	}
	one := func(where string, number int, text string) error {
		key, err := f.put(ctx, c, t, text)
		if ctx.Err() != nil && err != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s %d: %w", where, number, err)
		}
		t.put(key)
		show.sent(t)
		return nil
	}
	for i, text := range texts {
		if text != "-" {
			if err := one("message", i+1, text); err != nil {
				return err
			}
			continue
		}
		line := 0
		err := lines(ctx, in, func(text string) error { line++; return one("line", line, text) })
		if errors.Is(err, errLongLine) {
			err = fmt.Errorf("line %d: %w", line+1, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// longestLine bounds what is read of a line that never ends: no message fits into more than a frame.
const longestLine = 256 << 10

// lines calls f with each line until ctx ends, also while nothing comes: reading happens aside, and a read that is still
// under way then ends with the process. A line may be longer than a message may be: then f refuses it, by its number.
func lines(ctx context.Context, in io.Reader, f func(string) error) error {
	type line struct {
		text string
		err  error
	}
	next := make(chan line)
	go func() {
		r := bufio.NewReaderSize(in, longestLine)
		for {
			text, err := r.ReadSlice('\n')
			select {
			case next <- line{string(text), err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		var l line
		select {
		case l = <-next:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if errors.Is(l.err, bufio.ErrBufferFull) {
			return errLongLine
		}
		if l.text != "" {
			if err := f(strings.TrimSuffix(strings.TrimSuffix(l.text, "\n"), "\r")); err != nil {
				return err
			}
		}
		if errors.Is(l.err, io.EOF) {
			return nil
		}
		if l.err != nil {
			return fmt.Errorf("standard input: %w", l.err)
		}
	}
}

// put stores one message in the outbox, waiting where it is full.
func (f *sendFlags) put(ctx context.Context, c *client.Client, t *tally, text string) (client.Key, error) {
	body := client.Body{Text: text}
	if f.data != "" {
		body.Data = []byte(f.data)
	}
	if f.id != "" {
		return client.Key{Room: f.room, ID: f.id}, f.whenFree(ctx, t, func() error { return c.Resend(ctx, f.room, f.id, body) })
	}
	id := c.NextMessageID()
	for id.IsZero() {
		select {
		case <-time.After(idWait):
			id = c.NextMessageID()
		case <-ctx.Done():
			return client.Key{}, context.Cause(ctx)
		}
	}
	return client.Key{Room: f.room, ID: id.String()}, f.whenFree(ctx, t, func() error { return c.Send(ctx, f.room, id, body) })
}

// whenFree stores a message once the outbox has room for it, and gives up where none will come: nobody sends, or all that waits is held.
func (f *sendFlags) whenFree(ctx context.Context, t *tally, store func() error) error {
	tick := time.NewTicker(reconcile)
	defer tick.Stop()
	for {
		err := store()
		if !errors.Is(err, client.ErrFull) {
			return err
		}
		if f.offline {
			return fmt.Errorf("%w: with --offline nothing leaves it; send what it holds (hapax send --store %s), then go on with this one", err, f.keep.file)
		}
		select {
		case <-t.bell:
		case <-tick.C:
			why, held := t.held(ctx)
			if held {
				return fmt.Errorf("%w, and none of what it holds can go on: %s", err, why)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// report prints what became of everything and gives the exit status.
func (f *sendFlags) report(cmd *cobra.Command, s sendSummary, failed, cause error) error {
	s.Store = f.keep.file
	if err := s.print(cmd.OutOrStdout(), f.json, f.offline); err != nil {
		return &ExitError{Code: ExitMachine, Err: err}
	}
	kept := s.kept()
	switch {
	case failed != nil && (errors.Is(failed, client.ErrBroken) || errors.As(failed, new(*os.PathError))):
		return &ExitError{Code: ExitMachine, Err: failed}
	case failed != nil:
		return &ExitError{Code: ExitFailed, Err: fmt.Errorf("%w%s", failed, kept)}
	case s.Waiting > 0 && !f.offline && cause != nil:
		return &ExitError{Code: ExitFailed, Err: fmt.Errorf("%w%s", cause, kept)}
	case s.Parked+s.Uncertain+s.Gone > 0, s.Waiting > 0 && !f.offline:
		return &ExitError{Code: ExitFailed}
	}
	return nil
}
