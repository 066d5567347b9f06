package forward

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics gets what there is to count. Its methods must not block.
type Metrics interface {
	// Tried counts a try: "delivered", "final" (a dead letter at once), "retry" or "untried".
	Tried(result string, took time.Duration)
	// Mended counts events that were due further ahead than any rule puts them.
	Mended(events int)
	// Forwarding tells how things stand, once a second.
	Forwarding(Figures)
}

// Figures are how things stand.
type Figures struct {
	UnderWay int   // requests
	Resting  int   // destinations that are given rest
	Held     int   // sources with something to send and no destination in the configuration
	LagMs    int64 // how long the row that is due longest has been due; rows of held sources don't count
}

type noMetrics struct{}

func (noMetrics) Tried(string, time.Duration) {}
func (noMetrics) Mended(int)                  {}
func (noMetrics) Forwarding(Figures)          {}

// prometheusMetrics has no label but the result: a tenant's name in a metric would be seen by others.
type prometheusMetrics struct {
	tries                        *prometheus.HistogramVec
	mended                       prometheus.Counter
	underWay, resting, held, lag prometheus.Gauge
}

// NewMetrics returns metrics on a registry.
func NewMetrics(r prometheus.Registerer) Metrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &prometheusMetrics{
		tries: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "hapax_forward_try_seconds", Help: "Time of a try by result: delivered, final (a dead letter at once), retry, untried.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}, []string{"result"}),
		mended: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "hapax_forward_mended_total", Help: "Events that were due further ahead than any rule puts them, and are due again.",
		}),
		underWay: gauge("hapax_forward_under_way", "Requests to destinations under way."),
		resting:  gauge("hapax_forward_resting", "Destinations that are down and given rest."),
		held:     gauge("hapax_forward_held", "Sources with something to send and no destination in the configuration."),
		lag:      gauge("hapax_forward_lag_seconds", "How long the event that is due longest has been due."),
	}
	r.MustRegister(m.tries, m.mended, m.underWay, m.resting, m.held, m.lag)
	return m
}

func (m *prometheusMetrics) Tried(result string, took time.Duration) {
	m.tries.WithLabelValues(result).Observe(took.Seconds())
}

func (m *prometheusMetrics) Mended(events int) { m.mended.Add(float64(events)) }

func (m *prometheusMetrics) Forwarding(f Figures) {
	m.underWay.Set(float64(f.UnderWay))
	m.resting.Set(float64(f.Resting))
	m.held.Set(float64(f.Held))
	m.lag.Set(float64(f.LagMs) / 1000)
}
