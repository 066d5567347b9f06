package serve

import (
	"context"
	"fmt"
	"time"

	"hapax/internal/auth"
	"hapax/internal/engine"
	"hapax/internal/room"
	wirehttp "hapax/internal/wire/http"
)

// devSessionLife is how long a sign-in by a name lasts: a working day. The page signs in again by itself.
const devSessionLife = 12 * time.Hour

// devSignIn returns how the page signs in by a name, for who has the link: by the local key, as `hapax token` does. Nil outside dev.
func (s *server) devSignIn() (*wirehttp.DevSignIn, error) {
	if !s.config.DevMode() {
		return nil, nil
	}
	key, err := auth.OpenLocalKey(s.config.Data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if s.link, err = auth.OpenLink(s.config.Data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return &wirehttp.DevSignIn{Link: s.link.Current, Session: func(actor string) (string, time.Time, error) {
		// Tokens go by the machine's clock always; see Host.Clock.
		now := time.Now()
		token, err := key.SignClaims(auth.Everything(actor), devSessionLife, now)
		return token, now.Add(devSessionLife), err
	}}, nil
}

// consoleLink is the address of the console, with the link's secret in dev.
func (a Addresses) consoleLink(link *auth.Link) string {
	scheme := "http"
	if a.TLS {
		scheme = "https"
	}
	at := fmt.Sprintf("%s://%s/", scheme, a.Clients)
	if link != nil {
		at += "#s=" + link.Secret()
	}
	return at
}

// readFigures returns what the page's panel of the server shows: the figures that metrics have, in one reading.
func (s *server) readFigures(started int64) func(context.Context) (wirehttp.Figures, error) {
	return func(ctx context.Context) (wirehttp.Figures, error) {
		held, err := s.store.Stats(ctx)
		if err != nil {
			return wirehttp.Figures{}, err
		}
		e := s.engine.Stats()
		at, _ := s.host.Clock.Now()
		f := wirehttp.Figures{
			At: at, Started: started, Epoch: s.engine.Identity().Epoch, Sends: map[string]uint64{}, Resumes: map[string]uint64{},
			Connections: s.ws.Count(), Subscribers: e.Subscribers, ActiveRooms: e.ActiveRooms, Delivered: e.Delivered,
			Queue:  wirehttp.QueueFigures{Commands: e.QueueCommands, Bytes: e.QueueBytes},
			Store:  wirehttp.StoreFigures{Bytes: held.Bytes, Messages: held.Messages, Results: held.Results, Rooms: held.Rooms},
			Commit: counted(e.CommitSeconds), Group: counted(e.GroupSize),
		}
		for _, k := range room.Kinds() {
			f.Sends[k.String()] = e.Sends[k]
		}
		for _, fit := range room.Fittings() {
			f.Resumes[fit.String()] = e.Resumes[fit]
			if fit.Alarm() {
				f.Alarms += e.Resumes[fit]
			}
		}
		return f, nil
	}
}

func counted(h engine.Histogram) wirehttp.Histogram {
	return wirehttp.Histogram{Bounds: h.Bounds, Counts: h.Counts, Sum: h.Sum}
}
