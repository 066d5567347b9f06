package cli

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"hapax/client"
	"hapax/client/session"
	"hapax/protocol"
)

// askWait bounds how long a question waits for a server that can't be reached.
const askWait = 30 * time.Second

var errUnreached = errors.New("the server can't be reached")

func newHistory() *cobra.Command {
	var c connection
	var room string
	var before int64
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "history --url URL --token T --room R",
		Short: "Print older messages of a room",
		Long: `Print the last messages of a room with a seq below --before, oldest first.

Exit status: 0 printed, 1 the server refused or can't be reached, 64 wrong usage.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !protocol.ValidRoom(room) {
				return usage("--room: a room's name is 1 to 128 bytes of UTF-8 without control characters")
			}
			if before < 0 || limit < 1 || limit > protocol.DefaultLimits.PageRows {
				return usage("--before is 0 or a seq, --limit a number from 1 to %d", protocol.DefaultLimits.PageRows)
			}
			tail := tailFlags{json: asJSON}
			return c.ask(cmd, func(ctx context.Context, cl *client.Client) error {
				rows, err := cl.History(ctx, room, before, limit)
				for i := range rows {
					if err := tail.print(cmd.OutOrStdout(), &rows[i]); err != nil {
						return &ExitError{Code: ExitMachine, Err: err}
					}
				}
				return err
			})
		},
	}
	c.add(cmd)
	cmd.Flags().StringVar(&room, "room", "", "the room")
	cmd.Flags().Int64Var(&before, "before", 0, "messages with a seq below this one (0: the newest)")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many, 1 to 200")
	cmd.Flags().BoolVar(&asJSON, "json", false, "a line of JSON a message")
	return cmd
}

func newStatus() *cobra.Command {
	var c connection
	var room string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status --url URL --token T --room R ID",
		Short: "Ask what became of a message of yours",
		Long: `Ask the server what became of the message with the client message id ID, sent by the token's actor.

Exit status: 0 it is stored, 1 it is not known, or too old to tell, or the server can't be reached, 64 wrong usage.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !protocol.ValidRoom(room) || !protocol.ValidClientID(args[0]) {
				return usage("--room must be a room's name and ID a client message id")
			}
			return c.ask(cmd, func(ctx context.Context, cl *client.Client) error {
				r, err := cl.Status(ctx, room, args[0])
				if err != nil {
					return err
				}
				return printReceipt(cmd, asJSON, room, args[0], r)
			})
		},
	}
	c.add(cmd)
	cmd.Flags().StringVar(&room, "room", "", "the room")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printReceipt(cmd *cobra.Command, asJSON bool, room, id string, r client.Receipt) error {
	if asJSON {
		ack := protocol.Event{Type: protocol.TypeAck, Room: room, ClientMessageID: id, MessageID: r.MessageID, Seq: r.Seq, Epoch: r.Epoch, At: r.At, Duplicate: true}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", protocol.AppendEvent(nil, &ack))
		return err
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "stored as seq %d, %s, at %s, epoch %s\n", r.Seq, r.MessageID, time.UnixMilli(r.At).Format(time.RFC3339Nano), r.Epoch)
	return err
}

// ask opens a client for one question. A server that refuses the token ends it at once, one that is away in a while.
func (c *connection) ask(cmd *cobra.Command, f func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), askWait, errUnreached)
	defer cancel()
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	cl, err := c.dial(ctx, false)
	if err != nil {
		return err
	}
	var last atomic.Value // why there is no connection
	stop := cl.Listen(func(e client.Event) {
		if s, ok := e.(session.ConnectionChanged); ok && s.Err != nil {
			last.Store(s.Err.Error())
		}
		c.tell(cmd.ErrOrStderr(), e)
		if err := hopeless(e); err != nil {
			give(err)
		}
	})
	defer stop()
	cl.Connect()
	err = f(ctx, cl)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
		if why, ok := last.Load().(string); ok && errors.Is(err, errUnreached) {
			err = fmt.Errorf("%w: %s", err, oneLine(why))
		}
	}
	if exit := new(ExitError); err != nil && !errors.As(err, &exit) {
		err = &ExitError{Code: ExitFailed, Err: err}
	}
	return errors.Join(err, closing(cl))
}
