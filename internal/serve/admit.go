package serve

import (
	"net/netip"

	"hapax/internal/config"
	"hapax/internal/wire/limit"
)

// admit makes what all listeners and transports share of limits.
func (s *server) admit() *limit.Admission {
	l, t, rate := s.config.Limits, s.config.Timeouts, s.config.Rate
	proxies := limit.NewProxies(networks(s.config.Proxies.Trusted), s.config.Proxies.Header, func(peer limit.Client, header string) {
		s.log.Warn("a request carries a proxy's header, but proxies.trusted doesn't name where it comes from: the header is ignored, and limits count that address; told once",
			"address", peer.String(), "header", header)
	})
	return limit.New(limit.Limits{
		Connections: limit.ConnLimits{
			Total: s.files.requests, PerAddress: l.AddressConnections, PerActor: l.ActorConnections, Idle: t.StrangerIdle,
		},
		Requests: l.Requests, ActorWork: l.ActorRequests, BodyBytes: l.Bodies, BodyTime: t.Body, OutboundBytes: l.OutboundTotal,
		Pages: l.Pages, PageRate: rate.Pages, PageBurst: rate.PagesBurst,
		SocketRate: float64(l.AddressConnectionsPerSecond), SocketBurst: l.AddressConnections, ActorRooms: l.ActorSubscriptions,
	}, proxies, limit.NewTeller(s.log, s.metrics.Limited))
}

// networks are what the configuration, which is valid, names.
func networks(names []string) (all []netip.Prefix) {
	for _, name := range names {
		if n, err := config.ParseNetwork(name); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// origins are those that the configuration, which is valid, names, as browsers write them.
func origins(names []string) (all []string) {
	for _, name := range names {
		if o, err := config.NormalOrigin(name); err == nil {
			all = append(all, o)
		}
	}
	return all
}
