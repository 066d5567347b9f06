package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"hapax/protocol"
)

// Metrics are all counters of a server. Labels are from fixed sets only (never a room or an actor), so their number is bounded.
type Metrics struct {
	registry *prometheus.Registry

	outcomes    *prometheus.CounterVec // outcome: accepted, duplicate, conflict, …
	resumes     *prometheus.CounterVec // result: delta, more, snapshot, fresh
	refused     *prometheus.CounterVec // code, over: ws or http
	cut         *prometheus.CounterVec // reason a connection was ended by the server
	alarms      prometheus.Counter
	connections prometheus.Gauge
	turnedAway  *prometheus.CounterVec // reason: rate, full, draining, origin, subprotocol
	requests    *prometheus.HistogramVec
	bytesOut    prometheus.Counter
	purged      *prometheus.CounterVec

	commit *prometheus.HistogramVec
	group  prometheus.Histogram
}

// NewMetrics returns metrics on a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		outcomes: counters("hapax_sends_total", "Sends and status look-ups by outcome.", "outcome"),
		resumes:  counters("hapax_resumes_total", "Subscribes by result: delta, more, snapshot (a cursor didn't fit), fresh (no cursor).", "result"),
		refused:  counters("hapax_refused_total", "Errors answered, by code and wire.", "code", "over"),
		cut:      counters("hapax_connections_cut_total", "Connections ended by the server, by reason.", "reason"),
		alarms: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hapax_cursor_alarms_total", Help: "Cursors that could not have been right: from the future, or foreign.",
		}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{Name: "hapax_connections", Help: "Open WebSocket connections."}),
		turnedAway:  counters("hapax_connections_refused_total", "WebSocket connections turned away before they opened, by reason.", "reason"),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hapax_http_request_seconds", Help: "Time of an HTTP request by route and status.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16),
		}, []string{"route", "status"}),
		bytesOut: prometheus.NewCounter(prometheus.CounterOpts{Name: "hapax_ws_written_bytes_total", Help: "Bytes written to WebSocket connections."}),
		purged:   counters("hapax_purged_total", "Rows dropped by retention: results, messages.", "rows"),
		commit: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hapax_commit_seconds", Help: "Time of a group commit, its sync included, by result: ok, failed.", Buckets: prometheus.ExponentialBuckets(0.0001, 2, 18),
		}, []string{"result"}),
		group: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "hapax_commit_group_size", Help: "Commands of a group commit.", Buckets: prometheus.ExponentialBuckets(1, 2, 12),
		}),
	}
	m.registry.MustRegister(m.outcomes, m.resumes, m.refused, m.cut, m.alarms, m.connections, m.turnedAway, m.requests, m.bytesOut, m.purged,
		m.commit, m.group, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// Registry is where the metrics are gathered.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Outcome counts a judged send or status.
func (m *Metrics) Outcome(kind string) { m.outcomes.WithLabelValues(kind).Inc() }

// Resume counts a subscribe by its result; alarm that its cursor could not have been right.
func (m *Metrics) Resume(result string, alarm bool) {
	m.resumes.WithLabelValues(result).Inc()
	if alarm {
		m.alarms.Inc()
	}
}

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

// Request observes an HTTP request. route is a pattern, never a path.
func (m *Metrics) Request(route, status string, took time.Duration) {
	m.requests.WithLabelValues(route, status).Observe(took.Seconds())
}

// Wrote counts bytes written to WebSocket connections.
func (m *Metrics) Wrote(n int) { m.bytesOut.Add(float64(n)) }

// Purged counts rows that retention dropped.
func (m *Metrics) Purged(results, messages int64) {
	m.purged.WithLabelValues("results").Add(float64(results))
	m.purged.WithLabelValues("messages").Add(float64(messages))
}

// Commit observes a group commit.
func (m *Metrics) Commit(size int, took time.Duration, failed bool) {
	result := "ok"
	if failed {
		result = "failed"
	}
	m.commit.WithLabelValues(result).Observe(took.Seconds())
	m.group.Observe(float64(size))
}

// Gauge registers a figure that is asked for at each scrape; it must be cheap.
func (m *Metrics) Gauge(name, help string, f func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f))
}
