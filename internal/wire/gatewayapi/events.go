package gatewayapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

type eventsIn struct {
	Tenant   string `query:"tenant" maxLength:"256" doc:"Absent: all that the token may see."`
	Source   string `query:"source" maxLength:"256" doc:"With tenant."`
	Key      string `query:"key" maxLength:"256" doc:"With tenant and source."`
	Decision string `query:"decision" enum:"accept,duplicate_done,duplicate_pending,mismatch,bad_amount,unknown_key"`
	After    string `query:"after" maxLength:"64" doc:"The next of the page before."`
	Limit    int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

// EventPage is a part of a listing.
type EventPage struct {
	Events []Event `json:"events" doc:"The latest first."`
	Next   string  `json:"next,omitempty" doc:"To be given as after, to go on, also where this page is short or empty; absent at the end."`
}

type eventsOut struct{ Body EventPage }

type eventIn struct {
	ID string `path:"id" maxLength:"64"`
}

// EventDetail is an event with what came before it.
type EventDetail struct {
	Event    Event     `json:"event"`
	Chain    []Event   `json:"chain" doc:"The key's events before it, the latest first; at most 100."`
	More     bool      `json:"more" doc:"The key has earlier events."`
	Delivery *Delivery `json:"delivery,omitempty" doc:"Of an event that its destination has not taken yet."`
	Body     *BodyInfo `json:"body,omitempty" doc:"Of a body that is still kept."`
}

// BodyInfo is about a body, without its bytes.
type BodyInfo struct {
	ContentType string `json:"contentType"`
	Bytes       int    `json:"bytes"`
}

type eventOut struct{ Body EventDetail }

// chainLength bounds the events before one that are told with it.
const chainLength = 100

func (s *server) events(api huma.API) {
	handle(s, api, huma.Operation{
		OperationID: "listEvents", Method: http.MethodGet, Path: "/v1/events",
		Summary: "Events with their decisions, the latest first; with a key, that key's.",
	}, s.listEvents)
	handle(s, api, huma.Operation{
		OperationID: "event", Method: http.MethodGet, Path: "/v1/events/{id}",
		Summary: "One event: its decision, why, and the events of its key before it.",
	}, s.oneEvent)
}

func (s *server) listEvents(ctx context.Context, in *eventsIn) (*eventsOut, error) {
	if in.Source != "" && in.Tenant == "" || in.Key != "" && in.Source == "" {
		return nil, problem(codeBadRequest, "source goes with tenant, key with both")
	}
	if in.Tenant != "" {
		if err := mayRead(ctx, in.Tenant); err != nil {
			return nil, err
		}
	}
	return scan(ctx, s, func(v intake.View) (*eventsOut, error) {
		if in.Tenant != "" {
			if _, err := sourcesOf(v, in.Tenant, in.Source); err != nil {
				return nil, err
			}
		}
		return s.eventPage(ctx, v, in)
	})
}

// eventPage walks back through the events that the request may see, and stops after a page or after so many of them. What others have costs it
// nothing and shows in nothing.
func (s *server) eventPage(ctx context.Context, v intake.View, in *eventsIn) (*eventsOut, error) {
	q := query{"events", in.Tenant, in.Source, in.Key, in.Decision}
	start, err := s.first(v, q, in)
	if err != nil {
		return nil, err
	}
	tenants, err := readable(ctx, v, in.Tenant, in.Source)
	if err != nil {
		return nil, err
	}
	r, out, looked := newReading(v), &eventsOut{Body: EventPage{Events: []Event{}}}, 0
	numbers := eventsBack(v, tenants, start+1)
	if in.Key != "" {
		numbers = r.back(start)
	}
	for number, err := range numbers {
		if err != nil {
			return nil, err
		}
		if looked == s.Scan || len(out.Body.Events) == in.Limit {
			out.Body.Next = s.cursors.seal(q, number)
			break
		}
		looked++
		e, err := r.event(number)
		if err != nil {
			return nil, err
		}
		if in.fits(e) {
			shown, err := r.show(e)
			if err != nil {
				return nil, err
			}
			out.Body.Events = append(out.Body.Events, shown)
		}
	}
	return out, nil
}

// first returns the number to begin with.
func (s *server) first(v intake.View, q query, in *eventsIn) (int64, error) {
	switch {
	case in.After != "":
		return s.cursors.open(q, in.After)
	case in.Key == "":
		return v.Head().Number, nil
	}
	k, err := v.Key(gateway.Name{Tenant: in.Tenant, Source: in.Source, Key: in.Key})
	return k.LastEvent, err
}

func (in *eventsIn) fits(e *entry) bool {
	return e != nil && (in.Tenant == "" || e.Tenant == in.Tenant) && (in.Source == "" || e.Source == in.Source) && (in.Key == "" || e.Key == in.Key) &&
		(in.Decision == "" || e.Decision.String() == in.Decision)
}

func (s *server) oneEvent(ctx context.Context, in *eventIn) (*eventOut, error) {
	return view(ctx, s, func(v intake.View) (*eventOut, error) {
		r := newReading(v)
		e, err := findEvent(r, in.ID)
		if err != nil {
			return nil, err
		}
		if e == nil || !sessionOf(ctx).CanReadTenant(e.Tenant) {
			return nil, nothing()
		}
		out := &eventOut{Body: EventDetail{Chain: []Event{}}}
		if out.Body.Event, err = r.show(e); err != nil {
			return nil, err
		}
		if err := r.chain(&out.Body, e.Prior); err != nil {
			return nil, err
		}
		d, err := v.Delivery(e.number)
		if err != nil {
			return nil, err
		}
		if d != nil {
			shown := deliveryOf(d)
			out.Body.Delivery = &shown
		}
		b, err := v.Body(e.number)
		if b != nil {
			out.Body.Body = &BodyInfo{ContentType: b.ContentType, Bytes: len(b.Bytes)}
		}
		return out, err
	})
}

// findEvent returns the event of an id, nil where there is none.
func findEvent(r *reading, id string) (*entry, error) {
	number, err := r.view.Number(id)
	if err != nil {
		return nil, err
	}
	return r.event(number)
}

func (r *reading) chain(out *EventDetail, number int64) error {
	for number > 0 {
		if len(out.Chain) == chainLength {
			out.More = true
			return nil
		}
		e, err := r.event(number)
		if err != nil || e == nil {
			return err
		}
		shown, err := r.show(e)
		if err != nil {
			return err
		}
		out.Chain = append(out.Chain, shown)
		number = e.Prior
	}
	return nil
}
