package prove

import (
	"context"
	"time"

	"hapax/internal/audit"
	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
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

// tail checks the records since the last proof, at full speed: the server waits for it.
func (p *Prover) tail(ctx context.Context, last gateway.Proof) (*audit.LogProof, error) {
	var proof *audit.LogProof
	err := p.o.Books.View(ctx, func(v intake.View) (err error) {
		proof, err = audit.ProveTail(ctx, Stated(v), last.Number, last.Hash)
		return err
	})
	return proof, err
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
