package serve

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"hapax/internal/engine/intake"
)

// gatewayFigures shows the intake's counters and what the gateway holds, read once a scrape. No label names a tenant.
type gatewayFigures struct {
	gateway *gatewayHouse
	log     *slog.Logger
}

var (
	gatewayCommitDesc = describe("hapax_gateway_commit_seconds", "Time of a group commit of the gateway, its sync included.")
	gatewayGroupDesc  = describe("hapax_gateway_commit_group_size", "Commands of a group commit of the gateway.")
	gatewayQueueDesc  = describe("hapax_gateway_queue_commands", "Commands of the gateway that wait for a commit.")
	gatewayBytesDesc  = describe("hapax_gateway_queue_bytes", "Bytes of the commands that wait for a commit.")
	gatewayErrorsDesc = describe("hapax_gateway_commit_errors_total", "Commits of the gateway that failed.")
	gatewayAwayDesc   = describe("hapax_gateway_turned_away_total", "Calls refused because as much was waiting as may be, or the server was going down.")
	gatewayRecordDesc = describe("hapax_gateway_records", "Records of the gateway's log.")
	gatewayOutboxDesc = describe("hapax_gateway_outbox", "Outbox rows by state: waiting or dead.", "state")
	gatewayLostDesc   = describe("hapax_gateway_lost_records", "Records that were known outside of the log, that it holds no more, and whose loss nobody has accepted.")
	gatewayProofDesc  = describe("hapax_gateway_proof_ok", "1 where the last full proof of the log succeeded, 0 where it failed or there was none.")
	gatewayProvenDesc = describe("hapax_gateway_proof_timestamp_seconds", "When the last full proof of the log was made; 0: never.")
)

// Describe implements prometheus.Collector.
func (f *gatewayFigures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		gatewayCommitDesc, gatewayGroupDesc, gatewayQueueDesc, gatewayBytesDesc, gatewayErrorsDesc, gatewayAwayDesc, gatewayRecordDesc, gatewayOutboxDesc,
		gatewayLostDesc, gatewayProofDesc, gatewayProvenDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. A store that can't answer leaves its figures out.
func (f *gatewayFigures) Collect(ch chan<- prometheus.Metric) {
	s := f.gateway.intake.Stats()
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	ch <- histogram(gatewayCommitDesc, s.CommitSeconds)
	ch <- histogram(gatewayGroupDesc, s.GroupSize)
	ch <- prometheus.MustNewConstMetric(gatewayErrorsDesc, prometheus.CounterValue, float64(s.CommitErrors))
	ch <- prometheus.MustNewConstMetric(gatewayAwayDesc, prometheus.CounterValue, float64(s.TurnedAway))
	gauge(gatewayQueueDesc, float64(s.QueueCommands))
	gauge(gatewayBytesDesc, float64(s.QueueBytes))
	ctx, cancel := context.WithTimeout(context.Background(), statsWait)
	defer cancel()
	err := f.gateway.intake.View(ctx, func(v intake.View) error {
		h := v.Head()
		counts, err := v.Outbox()
		if err != nil {
			return err
		}
		var waiting, dead int64
		for _, c := range counts {
			waiting += c.Waiting
			dead += c.Dead
		}
		ok := 0.0
		if h.Proof.OK {
			ok = 1
		}
		gauge(gatewayRecordDesc, float64(h.Number))
		gauge(gatewayOutboxDesc, float64(waiting), "waiting")
		gauge(gatewayOutboxDesc, float64(dead), "dead")
		gauge(gatewayLostDesc, float64(h.Lost.From-h.Lost.To))
		gauge(gatewayProofDesc, ok)
		gauge(gatewayProvenDesc, float64(h.Proof.At)/1000)
		return nil
	})
	if err != nil {
		f.log.Warn("the gateway's figures can't be read", "error", err)
	}
}

// reloadFigures count reloads, and say whether the last one was refused.
type reloadFigures struct{ taken, refused, last atomic.Int64 }

var (
	reloadsDesc = describe("hapax_config_reloads_total", "Reloads of the configuration, by result: taken or refused.", "result")
	refusedDesc = describe("hapax_config_reload_refused", "1 where the last reload was refused and the configuration before it is in force.")
)

func (r *reloadFigures) count(err error) {
	if err != nil {
		r.refused.Add(1)
		r.last.Store(1)
		return
	}
	r.taken.Add(1)
	r.last.Store(0)
}

// Describe implements prometheus.Collector.
func (r *reloadFigures) Describe(ch chan<- *prometheus.Desc) {
	ch <- reloadsDesc
	ch <- refusedDesc
}

// Collect implements prometheus.Collector.
func (r *reloadFigures) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(reloadsDesc, prometheus.CounterValue, float64(r.taken.Load()), "taken")
	ch <- prometheus.MustNewConstMetric(reloadsDesc, prometheus.CounterValue, float64(r.refused.Load()), "refused")
	ch <- prometheus.MustNewConstMetric(refusedDesc, prometheus.GaugeValue, float64(r.last.Load()))
}
