package prove

import (
	"context"
	"fmt"
	"time"

	"hapax/internal/audit"
	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/store"
)

// full proves the whole log as it stands now and keeps the result. An error means that there is none: the store can't be read or written.
func (p *Prover) full(ctx context.Context, pace int) error {
	var proof *audit.LogProof
	err := p.o.Books.View(ctx, func(v intake.View) (err error) {
		proof, err = audit.ProveLog(ctx, Stated(v), audit.ProofOptions{Keys: p.o.Keys, Passes: p.passes, Pace: steps(pace)})
		return err
	})
	if err != nil {
		return err
	}
	p.passes = proof.Passes
	return p.keep(ctx, proof)
}

// tail checks the records since the last check, or the last proof where none came after it, at full speed.
func (p *Prover) tail(ctx context.Context) (proof *audit.LogProof, err error) {
	err = p.o.Books.View(ctx, func(v intake.View) (err error) {
		proof, err = Tail(ctx, v)
		return err
	})
	return proof, err
}

// Tail holds the end of a log against what is noted of it: the record that the last proof ended with, the one that was last checked, and all records
// behind that, against each other and against what stands beside the log of their keys and sources.
func Tail(ctx context.Context, v store.BooksView) (*audit.LogProof, error) {
	h := v.Head()
	if h.Checked.Number <= h.Proof.Number {
		return audit.ProveTail(ctx, Stated(v), h.Proof.Number, h.Proof.Hash)
	}
	proof, err := audit.ProveTail(ctx, Stated(v), h.Checked.Number, h.Checked.Hash)
	if err != nil || h.Proof.Number == 0 {
		return proof, err
	}
	proved, err := v.Record(h.Proof.Number)
	if err == nil && gateway.HashOf(proved) != h.Proof.Hash {
		proof.Issues = append(proof.Issues, fmt.Sprintf("record %d: it isn't the one that the last proof ended with", h.Proof.Number))
		proof.Found++
	}
	return proof, err
}

// Check checks what came since the last check and notes how far that is, so that the next start has little to look at. Where something is wrong, or
// the gateway is blocked, it notes nothing: the next start, and the next proof, tell.
func (p *Prover) Check(ctx context.Context) error {
	if _, blocked := p.Blocked(); blocked {
		return nil
	}
	proof, err := p.tail(ctx)
	if err != nil || !proof.OK() || proof.Records == 0 {
		return err
	}
	_, err = p.o.Books.Enter(ctx, &gateway.Checked{Number: proof.Number, Hash: proof.Hash})
	return err
}

// keep stores a proof beside the log and lets the gateway in, or not.
func (p *Prover) keep(ctx context.Context, proof *audit.LogProof) error {
	result := gateway.Proof{
		Number: proof.Number, Hash: proof.Hash, At: time.Now().UnixMilli(), Events: proof.Events, OK: proof.OK(), Issues: proof.Issues,
	}
	if len(result.Issues) > gateway.MaxIssues {
		result.Issues = result.Issues[:gateway.MaxIssues]
	}
	p.tell(result)
	_, err := p.o.Books.Enter(ctx, &gateway.Proven{Proof: result})
	return err
}

// steps paces a proof to so many records a second; nil at full speed.
func steps(perSecond int) func(context.Context) error {
	if perSecond <= 0 {
		return nil
	}
	share := time.Duration(audit.PaceRecords) * time.Second / time.Duration(perSecond)
	next := time.Now()
	return func(ctx context.Context) error {
		now := time.Now()
		if next = next.Add(share); next.Before(now) {
			next = now // what was lost isn't made good by a rush
			return ctx.Err()
		}
		return pause(ctx, next.Sub(now))
	}
}

// pause waits; its error is that of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
