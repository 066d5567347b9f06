package gatewayapi

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// rangeReplays bounds the dead letters of one range replay: they are one commit.
const rangeReplays = 500

// rangeBytes bounds the body that asks for one: its names, each byte escaped, and two numbers.
const rangeBytes = 8 << 10

type replayIn struct {
	ID  string `path:"id" maxLength:"64"`
	Key string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"128" doc:"Names this request: the same one again replays nothing."`
}

// Replayed is what became of a replay.
type Replayed struct {
	ID     string `json:"id"`
	Repeat bool   `json:"repeat" doc:"The same request came before; nothing was done now."`
}

type replayOut struct {
	Replayed string `header:"Idempotency-Replayed" enum:"true" doc:"The same request came before."`
	Body     Replayed
}

type discardIn struct {
	ID string `path:"id" maxLength:"64"`
}

type rangeIn struct {
	Key  string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"128" doc:"Names this request: a dead letter is replayed by it once, however often it comes."`
	Body struct {
		Tenant string `json:"tenant" maxLength:"256"`
		Source string `json:"source,omitempty" maxLength:"256" doc:"Absent: all of the tenant's."`
		From   int64  `json:"from,omitempty" minimum:"0" doc:"Unix ms: last sent at this time or later."`
		To     int64  `json:"to,omitempty" minimum:"0" doc:"Unix ms: last sent before this time; absent: no bound."`
		After  string `json:"after,omitempty" maxLength:"64" doc:"The next of the answer before."`
	}
}

// RangeReplayed is what became of a range replay.
type RangeReplayed struct {
	Replayed int    `json:"replayed"`
	Next     string `json:"next,omitempty" doc:"There may be more: send the same again with this as after."`
}

type rangeOut struct{ Body RangeReplayed }

// replays serves what decides about dead letters.
func (s *server) replays(api huma.API) {
	refusals := []int{http.StatusForbidden, http.StatusConflict}
	handle(s, api, huma.Operation{
		OperationID: "replayDeadLetter", Method: http.MethodPost, Path: "/v1/deadletters/{id}/replay", Errors: refusals,
		Summary: "Send a dead letter again, under the same id, its tries counted anew.",
	}, func(ctx context.Context, in *replayIn) (*replayOut, error) {
		o, err := s.decide(ctx, in.ID, func(tenant, by string) command {
			return &gateway.Replay{Tenant: tenant, ID: in.ID, Key: requestKey(by, in.Key), By: by}
		})
		if err != nil {
			return nil, err
		}
		out := &replayOut{Body: Replayed{ID: in.ID, Repeat: o.Kind == gateway.Same}}
		if out.Body.Repeat {
			out.Replayed = "true"
		}
		return out, nil
	})
	handle(s, api, huma.Operation{
		OperationID: "discardDeadLetter", Method: http.MethodPost, Path: "/v1/deadletters/{id}/discard", Errors: refusals, DefaultStatus: http.StatusNoContent,
		Summary: "Give a dead letter up. Its event stays pending for ever; the next event of its key is no longer held back.",
	}, func(ctx context.Context, in *discardIn) (*struct{}, error) {
		_, err := s.decide(ctx, in.ID, func(tenant, by string) command {
			return &gateway.Discard{Tenant: tenant, ID: in.ID, Key: discardKey(by), By: by}
		})
		return nil, err
	})
	handle(s, api, huma.Operation{
		OperationID: "replayDeadLetters", Method: http.MethodPost, Path: "/v1/deadletters/replay", MaxBodyBytes: rangeBytes, Errors: []int{http.StatusForbidden},
		Summary: "Send the dead letters of a tenant again: all, those of a source, those of a time.",
	}, s.replayRange)
}

// requestKey is what is kept of an Idempotency-Key: its actor's, so that two people's requests are two.
func requestKey(actor, key string) uint64 {
	h := sha256.New()
	h.Write(binary.AppendUvarint(nil, uint64(len(actor))))
	h.Write([]byte(actor))
	h.Write([]byte(key))
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// discardKey names an actor's discards: one that comes again is the same. No actor's name is as long as the one that it begins with.
func discardKey(actor string) uint64 {
	sum := sha256.Sum256(append(binary.AppendUvarint(nil, 1<<62), actor...))
	return binary.BigEndian.Uint64(sum[:])
}

// decide carries out a decision about a dead letter, for who may write to its tenant.
func (s *server) decide(ctx context.Context, id string, of func(tenant, by string) command) (outcome, error) {
	tenant, err := view(ctx, s, func(v intake.View) (string, error) {
		e, err := findEvent(newReading(v), id)
		if err != nil || e == nil {
			return "", err
		}
		return e.Tenant, nil
	})
	if err != nil {
		return outcome{}, err
	}
	if tenant == "" {
		return outcome{}, nothing()
	}
	if err := mayWrite(ctx, tenant); err != nil {
		return outcome{}, err
	}
	outcomes, err := s.Books.Enter(ctx, of(tenant, sessionOf(ctx).Actor))
	if err != nil {
		return outcome{}, err
	}
	switch o := outcomes[0]; o.Kind {
	case gateway.NoRow:
		return o, nothing()
	case gateway.NotDead:
		return o, problem(codeNotDead, "the event waits for its destination; only a dead letter is replayed or discarded")
	default:
		return o, nil
	}
}

// replayRange replays the dead letters of a range, those of one answer in one commit.
func (s *server) replayRange(ctx context.Context, in *rangeIn) (*rangeOut, error) {
	b := &in.Body
	if err := mayWrite(ctx, b.Tenant); err != nil {
		return nil, err
	}
	q := query{"range", b.Tenant, b.Source}
	after := int64(0)
	if b.After != "" {
		var err error
		if after, err = s.cursors.open(q, b.After); err != nil {
			return nil, err
		}
	}
	rows, err := view(ctx, s, func(v intake.View) ([]gateway.Delivery, error) {
		if _, err := sourcesOf(v, b.Tenant, b.Source); err != nil {
			return nil, err
		}
		return v.DeadLetters(b.Tenant, b.Source, after, rangeReplays)
	})
	if err != nil {
		return nil, err
	}
	actor := sessionOf(ctx).Actor
	var commands []command
	for _, d := range rows {
		if d.LastMs >= b.From && (b.To == 0 || d.LastMs < b.To) {
			commands = append(commands, &gateway.Replay{Tenant: b.Tenant, ID: d.ID, Key: requestKey(actor, in.Key), By: actor})
		}
	}
	out := &rangeOut{}
	if len(rows) == rangeReplays {
		out.Body.Next = s.cursors.seal(q, rows[len(rows)-1].Number)
	}
	if len(commands) == 0 {
		return out, nil
	}
	outcomes, err := s.Books.Enter(ctx, commands...)
	for _, o := range outcomes {
		if o.Kind == gateway.Done {
			out.Body.Replayed++
		}
	}
	return out, err
}
