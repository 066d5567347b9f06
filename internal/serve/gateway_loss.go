package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"hapax/internal/anchor"
	"hapax/internal/gateway"
	"hapax/internal/prove"
	"hapax/internal/wire/ingest"
)

// A log that went back makes the gateway forget what it accepted: a repeat would count again. So nothing is let in until a person says that
// the loss is accepted (hapax accept-loss), or puts the right folder back.

// hold holds the log against the anchor, before anything is entered into it, and takes over what the store found by its head note.
func (g *gatewayHouse) hold(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	lost, err := prove.Hold(ctx, g.intake, g.config.Anchor)
	var file *fs.PathError
	if errors.Is(err, anchor.ErrForm) || errors.As(err, &file) {
		// The log may be well, and what can't be read can't be held against it.
		g.log.Error("the anchor can't be read: the log isn't held against it", "file", g.config.Anchor, "error", err)
		g.health.Note("anchor", "it can't be read, and the log isn't held against it: "+err.Error())
		lost, err = prove.Hold(ctx, g.intake, "")
	}
	if err != nil {
		return err
	}
	g.tellLoss(lost)
	return nil
}

// tellLoss lets it be known that the log lost something, or does so no more.
func (g *gatewayHouse) tellLoss(lost gateway.Loss) {
	g.lost.Store(&lost)
	if lost.From == 0 {
		g.health.Up("log")
		return
	}
	g.health.Down("log", fmt.Sprintf("the gateway's log went back from record %d to %d: put the folder that holds them back, or run hapax accept-loss", lost.From, lost.To))
	g.log.Error("the gateway's log went back: events that were accepted would count again, so no delivery is taken until \"hapax accept-loss\"",
		"from", lost.From, "to", lost.To, "known_by", lost.By)
}

// closed says why no delivery may be judged now.
func (g *gatewayHouse) closed() (ingest.Code, string) {
	if g.lost.Load().From > 0 {
		return ingest.Unproved, "the gateway's log lost its end, and an operator has to look at that first"
	}
	if _, blocked := g.prover.Blocked(); blocked {
		return ingest.Unproved, "the log's last proof isn't good"
	}
	if g.diskLow.Load() {
		return ingest.Unavailable, "the server's disk is nearly full"
	}
	return "", ""
}

// acceptLoss enters into the log that a person accepts what it lost, and opens ingest.
func (g *gatewayHouse) acceptLoss(ctx context.Context, by, reason string) (lost gateway.Loss, err error) {
	lost, err = prove.AcceptLoss(ctx, g.intake, by, reason)
	if err == nil {
		g.tellLoss(gateway.Loss{})
		g.log.Warn("the loss of records was accepted", "from", lost.From, "to", lost.To, "by", by, "reason", reason)
	}
	return lost, err
}
