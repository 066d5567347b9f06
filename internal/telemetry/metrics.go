package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"hapax/protocol"
)

// Metrics are the counters of what has to do with clients. What the engine and the store count is gathered beside them, by
// collectors that package serve registers. Labels are from fixed sets only (never a room or an actor), so their number is bounded.
type Metrics struct {
	registry *prometheus.Registry

	refused     *prometheus.CounterVec // code, over: ws or http
	cut         *prometheus.CounterVec // reason a connection was ended by the server
	connections prometheus.Gauge
	turnedAway  *prometheus.CounterVec // reason: rate, full, draining, origin, subprotocol
	limited     *prometheus.CounterVec // reason: a limit of package limit
	requests    *prometheus.HistogramVec
	bytesOut    prometheus.Counter
	ingested    *prometheus.CounterVec // tenant and source as configured, outcome
	sameBody    *prometheus.CounterVec // tenant and source as configured
}

// NewMetrics returns metrics on a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		refused:     counters("hapax_refused_total", "Errors answered, by code and wire.", "code", "over"),
		cut:         counters("hapax_connections_cut_total", "Connections ended by the server, by reason.", "reason"),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{Name: "hapax_connections", Help: "Open WebSocket connections."}),
		turnedAway:  counters("hapax_connections_refused_total", "WebSocket connections turned away before they opened, by reason.", "reason"),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hapax_http_request_seconds", Help: "Time of an HTTP request by route and status.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}, []string{"route", "status"}),
		bytesOut: prometheus.NewCounter(prometheus.CounterOpts{Name: "hapax_ws_written_bytes_total", Help: "Bytes written to WebSocket connections."}),
	}
	m.limited = counters("hapax_limited_total", "Connections and requests that were closed or refused by a limit on strangers, addresses or actors, by reason.", "reason")
	m.ingested = counters("hapax_ingest_events_total", "Events that upstreams delivered, by source and what became of them; requests refused as a whole count as one.", "tenant", "source", "outcome")
	m.sameBody = counters("hapax_ingest_same_body_total", "Events whose body was accepted under another key of their guarded source shortly before.", "tenant", "source")
	m.registry.MustRegister(m.ingested, m.sameBody, m.limited, m.refused, m.cut, m.connections, m.turnedAway, m.requests, m.bytesOut,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// Registry is where the metrics are gathered.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Refused counts an error answered over ws or http.
func (m *Metrics) Refused(code protocol.Code, over string) {
	m.refused.WithLabelValues(string(code), over).Inc()
}

// Connected counts a connection that opened (+1) or ended (−1).
func (m *Metrics) Connected(change float64) { m.connections.Add(change) }

// Cut counts a connection that the server ended.
func (m *Metrics) Cut(reason string) { m.cut.WithLabelValues(reason).Inc() }

// TurnedAway counts a connection refused before it opened.
func (m *Metrics) TurnedAway(reason string) { m.turnedAway.WithLabelValues(reason).Inc() }

// Limited counts what a limit on strangers, addresses or actors closed or refused.
func (m *Metrics) Limited(reason string) { m.limited.WithLabelValues(reason).Inc() }

// Request observes an HTTP request. route is a pattern, never a path.
func (m *Metrics) Request(route, status string, took time.Duration) {
	m.requests.WithLabelValues(route, status).Observe(took.Seconds())
}

// Wrote counts bytes written to WebSocket connections.
func (m *Metrics) Wrote(n int) { m.bytesOut.Add(float64(n)) }

// Ingested counts an event of a source by what became of it: a decision, or a problem's code. The source is one that is configured.
func (m *Metrics) Ingested(tenant, source, outcome string) {
	m.ingested.WithLabelValues(tenant, source, outcome).Inc()
}

// SameBody counts an event whose body was accepted under another key of its source. The source is one that is configured.
func (m *Metrics) SameBody(tenant, source string) {
	m.sameBody.WithLabelValues(tenant, source).Inc()
}

// IngestedNowhere counts a request to a source that isn't there. What it named is no label: anybody may name anything.
func (m *Metrics) IngestedNowhere(outcome string) { m.Ingested("", "", outcome) }
