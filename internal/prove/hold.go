package prove

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"hapax/internal/anchor"
	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/store"
)

// maxHeld bounds the heads of an anchor that a start looks at, the newest: two months of a log that moves every minute, looked up in half a second.
// An audit looks at all of them.
const maxHeld = 100_000

// HoldAnchor holds a log against the heads in an anchor, "" for none, and returns what it lost by them. Heads that were noted before a person
// accepted a loss are passed by: they knew what was lost. An error that wraps anchor.ErrForm is the file's fault, not the log's.
func HoldAnchor(v store.BooksView, path string) (lost gateway.Loss, err error) {
	if path == "" {
		return lost, nil
	}
	heads, err := anchor.Read(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, anchor.ErrEmpty) {
		return lost, nil
	}
	if err != nil {
		return lost, err
	}
	accepted, err := acceptedAt(v)
	if err != nil {
		return lost, err
	}
	var known []gateway.Known
	for _, h := range heads[max(0, len(heads)-maxHeld):] {
		if h.At.Unix() > accepted {
			known = append(known, gateway.Known{Number: h.Number, Hash: h.Hash, By: "the anchor"})
		}
	}
	return gateway.HoldAgainst(v.Head().Number, func(n int64) (hash gateway.Hash, there bool, err error) {
		record, err := v.Record(n)
		return gateway.HashOf(record), record != nil, err
	}, known)
}

// acceptedAt is when a person last accepted a loss (Unix seconds); -1: never.
func acceptedAt(v store.BooksView) (int64, error) {
	number := v.Head().Accepted
	if number == 0 {
		return -1, nil
	}
	record, err := v.Record(number)
	if err != nil {
		return 0, err
	}
	entry, err := gateway.ReadRecord(record)
	if err != nil {
		return 0, fmt.Errorf("%w: record %d: %w", store.ErrDamage, number, err)
	}
	return entry.At / 1000, nil
}

// Hold holds the log against the anchor and returns what it lost, by the anchor or what was found before, until a person accepts it. What the anchor
// finds is noted beside the log, so that it is told also where the anchor isn't at hand.
func Hold(ctx context.Context, books intake.Books, path string) (lost gateway.Loss, err error) {
	var found gateway.Loss
	err = books.View(ctx, func(v intake.View) (err error) {
		lost = v.Head().Lost
		found, err = HoldAnchor(v, path)
		return err
	})
	if err != nil || lost.Merge(found) == lost {
		return lost, err
	}
	_, err = books.Enter(ctx, &gateway.NoteLoss{Loss: found})
	return lost.Merge(found), err
}

// Errors of AcceptLoss.
var (
	ErrNoLoss   = errors.New("the log lost nothing that isn't accepted already; nothing was changed")
	ErrNoPolicy = errors.New("the log holds no policy: start the server once with the gateway's configuration, then accept the loss")
	ErrReason   = fmt.Errorf("the reason is longer than %d bytes", gateway.MaxReason)
)

// AcceptLoss enters into the log that somebody accepts what it lost, and returns that.
func AcceptLoss(ctx context.Context, books intake.Books, by, reason string) (lost gateway.Loss, err error) {
	err = books.View(ctx, func(v intake.View) error {
		lost = v.Head().Lost
		return nil
	})
	if err == nil && lost.From == 0 {
		err = ErrNoLoss
	}
	if err == nil && len(reason) > gateway.MaxReason {
		err = ErrReason
	}
	if err != nil {
		return lost, err
	}
	outcomes, err := books.Enter(ctx, &gateway.AcceptLoss{From: lost.From, Hash: lost.Hash, To: lost.To, By: by, Reason: reason})
	switch {
	case err != nil:
		return lost, err
	case outcomes[0].Kind == gateway.NoPolicy:
		return lost, ErrNoPolicy
	case outcomes[0].Kind != gateway.Done:
		return lost, fmt.Errorf("the loss can't be entered: %v", outcomes[0].Kind)
	}
	return lost, nil
}
