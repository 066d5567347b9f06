package prove

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"hapax/internal/anchor"
	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// Options of a Prover.
type Options struct {
	Books   intake.Books
	Log     *slog.Logger
	Every   time.Duration // between two full proofs
	Pace    int           // records a second that a proof in the background reads; 0: as fast as it can
	Keys    int           // that a proof holds at a time, see audit.ProofOptions; 0: DefaultKeys
	Anchor  string        // file that the head is noted in; "": none
	Changed func(reason string, blocked bool)
}

// DefaultKeys takes about 200 MB of a server where there are so many keys; more are proved in several passes.
const DefaultKeys = 1 << 20

const (
	anchorEvery = time.Minute
	// checkEvery bounds by time what a start after a crash has to check: some seconds of it at the highest load.
	checkEvery = 5 * time.Minute
	// checkRecords bounds it by number: less than a second of it. It is looked at every lookEvery.
	checkRecords = 100_000
	lookEvery    = 5 * time.Second
	retryEvery   = time.Minute // after a proof that failed, or that could not be made
)

// Prover proves a gateway's log, at the start and again and again.
type Prover struct {
	o      Options
	passes int // that the last proof needed; Run's own

	mu       sync.Mutex
	reason   string // why the gateway is blocked
	blocked  bool
	failed   bool // the last proof failed
	anchored int64
}

// New makes a Prover. The gateway is blocked until Run has checked what there is.
func New(o Options) *Prover {
	if o.Keys == 0 {
		o.Keys = DefaultKeys
	}
	return &Prover{o: o, reason: "the log is being checked", blocked: true}
}

// Blocked tells whether nothing may be let in, and why, in words for people.
func (p *Prover) Blocked() (reason string, blocked bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason, p.blocked
}

// Failed tells whether the last proof failed.
func (p *Prover) Failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// Run checks the records since the last proof, then proves the whole log every so often and notes its head, until ctx ends. Then it
// notes the last head and returns.
func (p *Prover) Run(ctx context.Context) {
	var noted sync.WaitGroup
	if p.o.Anchor != "" {
		noted.Go(func() { p.anchors(ctx) })
	}
	defer noted.Wait()
	first := true
	for last, err := p.begin(ctx); ; {
		wait := retryEvery
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			p.o.Log.Error("the log can't be proved", "error", err)
		case last.OK:
			// The stored moment is by a clock that may have been wrong; from the first wait on the process's own goes on.
			if wait = p.o.Every; first {
				wait = min(max(time.Until(time.UnixMilli(last.At).Add(p.o.Every)), 0), p.o.Every)
			}
			first = false
		}
		if p.await(ctx, wait) != nil {
			return
		}
		last, err = p.again(ctx)
	}
}

// await waits, and checks meanwhile what came, every checkEvery and wherever checkRecords have come.
func (p *Prover) await(ctx context.Context, wait time.Duration) error {
	for since := lookEvery; wait > lookEvery; since += lookEvery {
		if err := pause(ctx, lookEvery); err != nil {
			return err
		}
		wait -= lookEvery
		if since < checkEvery && p.unchecked(ctx) < checkRecords {
			continue
		}
		since = 0
		if err := p.Check(ctx); err != nil && ctx.Err() == nil {
			p.o.Log.Warn("the log's new records can't be checked", "error", err)
		}
	}
	if wait <= 0 {
		return nil
	}
	return pause(ctx, wait)
}

// unchecked is how many records came since the last check.
func (p *Prover) unchecked(ctx context.Context) (n int64) {
	err := p.o.Books.View(ctx, func(v intake.View) error {
		h := v.Head()
		n = h.Number - max(h.Proof.Number, h.Checked.Number)
		return nil
	})
	if err != nil { // the check tells
		return 0
	}
	return n
}

// begin checks what came since the last proof, or all where there is none that succeeded.
func (p *Prover) begin(ctx context.Context) (gateway.Proof, error) {
	last, err := p.last(ctx)
	if err != nil {
		return last, err
	}
	if last.OK {
		proof, err := p.tail(ctx)
		if err != nil {
			return last, err
		}
		if proof.OK() {
			p.o.Log.Info("the log is whole since the last proof", "records", proof.Records, "number", proof.Number)
			p.tell(last)
			return last, nil
		}
		p.tell(gateway.Proof{Number: proof.Number, Issues: proof.Issues})
	}
	if err := p.full(ctx, 0); err != nil {
		return last, err
	}
	return p.last(ctx)
}

// again proves the whole log beside the server's work, or at full speed where the gateway is blocked anyway.
func (p *Prover) again(ctx context.Context) (last gateway.Proof, err error) {
	pace := p.o.Pace
	if _, blocked := p.Blocked(); blocked {
		pace = 0
	}
	if err = p.full(ctx, pace); err != nil {
		return last, err
	}
	return p.last(ctx)
}

func (p *Prover) last(ctx context.Context) (last gateway.Proof, err error) {
	err = p.o.Books.View(ctx, func(v intake.View) error {
		last = v.Head().Proof
		return nil
	})
	return last, err
}

// tell takes a proof's result in.
func (p *Prover) tell(proof gateway.Proof) {
	p.mu.Lock()
	p.failed, p.blocked, p.reason = !proof.OK, !proof.OK, ""
	if !proof.OK {
		p.reason = fmt.Sprintf("the proof of the log failed: %d issues, the first: %s", len(proof.Issues), first(proof.Issues))
		p.o.Log.Error("the proof of the log failed", "number", proof.Number, "issues", proof.Issues)
	} else {
		p.o.Log.Info("the log is proved", "number", proof.Number, "events", proof.Events)
	}
	p.mu.Unlock()
	p.Tell()
}

func first(issues []string) string {
	if len(issues) == 0 {
		return "none is told"
	}
	return issues[0]
}

// Tell tells Options.Changed how it stands. Who starts Run calls it first, before anybody can ask whether the server is ready.
func (p *Prover) Tell() {
	if p.o.Changed != nil {
		p.o.Changed(p.Blocked())
	}
}

// anchors notes the head every minute, and at the end.
func (p *Prover) anchors(ctx context.Context) {
	for pause(ctx, anchorEvery) == nil {
		p.note(ctx)
	}
	p.note(context.WithoutCancel(ctx))
}

// note appends the head to the anchor where it moved.
func (p *Prover) note(ctx context.Context) {
	var head gateway.Head
	err := p.o.Books.View(ctx, func(v intake.View) error {
		head = v.Head()
		return nil
	})
	if err == nil && head.Number > p.anchored && head.Lost.From == 0 { // what was lost stays the anchor's last word until it is accepted
		if err = anchor.Append(p.o.Anchor, anchor.Head{At: time.Now(), Number: head.Number, Hash: head.Hash}); err == nil {
			p.anchored = head.Number
		}
	}
	if err != nil && ctx.Err() == nil {
		p.o.Log.Warn("the log's head can't be anchored", "file", p.o.Anchor, "error", err)
	}
}
