package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hapax/api"
	"hapax/internal/config"
	"hapax/internal/engine"
	"hapax/internal/fanout/local"
	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/memory"
	"hapax/internal/store/pebble"
	"hapax/internal/wire"
	wirehttp "hapax/internal/wire/http"
	"hapax/internal/wire/ws"
	"hapax/protocol"
)

// open builds the parts in order. What was built before an error is closed by closeParts.
func (s *server) open(ctx context.Context) (err error) {
	openStore := s.host.Store
	if openStore == nil {
		openStore = OpenStore
	}
	if s.host.Clock == nil {
		s.host.Clock = engine.SystemClock()
	}
	s.files = shareDescriptors(descriptorLimit(), &s.config)
	if s.files.sockets < s.config.Limits.Connections {
		s.log.Warn("this process may open too few files for the configured connections; raise the limit (ulimit -n)",
			"files", descriptorLimit(), "connections", s.files.sockets, "configured", s.config.Limits.Connections)
	}
	if s.store, err = openStore(s.config, s.log); err != nil {
		return err
	}
	s.watchDisk()
	if s.auth, err = openAuth(ctx, s.config, s.log); err != nil {
		return err
	}
	s.bus = local.New()
	if s.engine, err = engine.New(s.store, s.bus, s.engineOptions()); err != nil {
		return err
	}
	s.metrics.Registry().MustRegister(&engineFigures{engine: s.engine}, &storeFigures{store: s.store, log: s.log}, &s.reloads)
	l, t := s.config.Limits, s.config.Timeouts
	limits := protocol.DefaultLimits
	limits.Subscriptions, limits.SendRooms = l.Subscriptions, l.SendRooms
	limits.ServerFrame = limits.LargestFrame()
	s.admission = s.admit()
	s.ws = ws.New(ws.Options{
		Rooms: s.engine, Auth: s.auth, Metrics: s.metrics, Log: s.log, Clock: s.host.Clock, Protocol: limits, Features: protocol.Features(),
		RetentionMs: s.config.Retention.Results.Milliseconds(), Origins: origins(s.config.Origins), Dev: s.config.DevMode(),
		Admission: s.admission,
		Limits: ws.Limits{
			Connections: s.files.sockets, ConnectionsPerSecond: l.ConnectionsPerSecond, ConnectionsBurst: l.ConnectionsBurst,
			Subscriptions: l.Subscriptions, SendRooms: l.SendRooms, InFlight: l.InFlight, Outbound: l.Outbound,
			Hello: t.Hello, Idle: t.Idle, Write: t.Write, Spread: s.config.Drain.Spread,
		},
	})
	signIn, err := s.devSignIn()
	if err != nil {
		return err
	}
	started, _ := s.host.Clock.Now()
	s.door = wire.NewDoor(s.admission, s.auth, s.metrics, s.log, t.Send)
	wirehttp.Open(wirehttp.Options{
		Door: s.door, Rooms: s.engine, Protocol: limits, SendWait: t.Send, OpenAPI: api.OpenAPI, Dev: signIn, Figures: s.readFigures(started),
	})
	return s.openGateway(ctx)
}

// OpenStore opens what the configuration names.
func OpenStore(c config.Config, log *slog.Logger) (store.Store, error) {
	if c.Store == "memory" {
		return memory.New(), nil
	}
	if err := checkFolder(c.Data); err != nil {
		return nil, err
	}
	tellOpenFolder(c.Data, log)
	st, err := pebble.Open(c.Data, pebble.Options{
		Logger: log, OpenFiles: shareDescriptors(descriptorLimit(), &c).store, LowWater: c.Limits.DiskFree,
	})
	if err != nil {
		return nil, err // not st: a nil *Store in an interface is no nil
	}
	return st, nil
}

func (s *server) engineOptions() engine.Options {
	const day = 24 * time.Hour
	o, r := engine.DefaultOptions(), s.config.Retention
	o.Log = s.log
	o.Clock = s.host.Clock
	o.Encode, o.Fit = EncodeRow, wire.Fit
	o.RetentionMs = r.Results.Milliseconds()
	o.Policy = store.Policy{
		ResultAgeMs: (r.Results + day).Milliseconds(), ResultRows: r.ResultRows,
		JournalAgeMs: r.JournalAge.Milliseconds(), JournalRows: r.JournalRows,
	}
	o.PurgeEvery = r.Every
	o.SendRate, o.SendBurst = s.config.Rate.Sends, s.config.Rate.Burst
	return o
}

// EncodeRow is the wire's form of a row, for engine.Options.
func EncodeRow(dst []byte, name, epoch string, m *room.Message, own bool) []byte {
	id := ""
	if own {
		id = m.ID
	}
	return protocol.AppendMessage(dst, name, epoch, m.Seq, m.MessageID, m.Actor, id, m.Text, m.Data, m.At)
}

// closeParts ends what open built: the engine within the time of ctx, the gateway, and the store last.
func (s *server) closeParts(ctx context.Context) error {
	var faults []error
	if s.engine != nil {
		if err := s.engine.Close(ctx); err != nil {
			faults = append(faults, fmt.Errorf("ending the engine: %w", err))
		}
	}
	faults = append(faults, s.gateway.close(ctx))
	if s.bus != nil {
		faults = append(faults, s.bus.Close())
	}
	if s.store != nil {
		if err := s.store.Close(); err != nil && !errors.Is(err, store.ErrBroken) {
			faults = append(faults, fmt.Errorf("closing the store: %w", err))
		}
	}
	return errors.Join(faults...)
}
