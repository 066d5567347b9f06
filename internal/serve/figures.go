package serve

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"hapax/internal/engine"
	"hapax/internal/room"
	"hapax/internal/store"
)

// engineFigures shows the engine's counters as metrics, read once a scrape.
type engineFigures struct{ engine *engine.Engine }

var (
	sendsDesc    = describe("hapax_sends_total", "Sends by outcome.", "outcome")
	statusesDesc = describe("hapax_statuses_total", "Look-ups of a key by outcome.", "outcome")
	resumesDesc  = describe("hapax_resumes_total", "Subscribes and reads by how the cursor stood; fits got a delta, all others a snapshot.", "result")
	alarmsDesc   = describe("hapax_cursor_alarms_total", "Cursors that could not have been right.")
	commitDesc   = describe("hapax_commit_seconds", "Time of a group commit, its sync included.")
	groupDesc    = describe("hapax_commit_group_size", "Commands of a group commit.")
	eventsDesc   = describe("hapax_engine_events_total", "What else the engine counts: rows delivered, loads, faults, purged rows.", "event")
	queueDesc    = describe("hapax_queue_commands", "Commands that wait for a commit.")
	queueBytes   = describe("hapax_queue_bytes", "Text and data of the commands that wait for a commit.")
	activeDesc   = describe("hapax_active_rooms", "Rooms that somebody is subscribed to.")
	subsDesc     = describe("hapax_subscriptions", "Subscriptions.")
	failedDesc   = describe("hapax_store_failed", "1 once the store can't go on.")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// Describe implements prometheus.Collector.
func (f *engineFigures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{sendsDesc, statusesDesc, resumesDesc, alarmsDesc, commitDesc, groupDesc, eventsDesc, queueDesc, queueBytes, activeDesc, subsDesc, failedDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (f *engineFigures) Collect(ch chan<- prometheus.Metric) {
	s := f.engine.Stats()
	counter := func(d *prometheus.Desc, n uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, n float64) { ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n) }
	for _, k := range room.Kinds() {
		counter(sendsDesc, s.Sends[k], k.String())
		counter(statusesDesc, s.Statuses[k], k.String())
	}
	var alarms uint64
	for _, fit := range room.Fittings() {
		counter(resumesDesc, s.Resumes[fit], fit.String())
		if fit.Alarm() {
			alarms += s.Resumes[fit]
		}
	}
	counter(alarmsDesc, alarms)
	for _, e := range []struct {
		name string
		n    uint64
	}{
		{"delivered", s.Delivered}, {"loads", s.Loads}, {"load_errors", s.LoadErrors}, {"gaps", s.Gaps}, {"read_errors", s.ReadErrors},
		{"purged_results", s.PurgedResults}, {"purged_messages", s.PurgedMessages}, {"purge_errors", s.PurgeErrors},
		{"clock_jumps", s.ClockJumps}, {"forgotten_actors", s.ForgottenActors}, {"commit_errors", s.CommitErrors},
	} {
		counter(eventsDesc, e.n, e.name)
	}
	ch <- histogram(commitDesc, s.CommitSeconds)
	ch <- histogram(groupDesc, s.GroupSize)
	gauge(queueDesc, float64(s.QueueCommands))
	gauge(queueBytes, float64(s.QueueBytes))
	gauge(activeDesc, float64(s.ActiveRooms))
	gauge(subsDesc, float64(s.Subscribers))
	failed := 0.0
	if s.Failed {
		failed = 1
	}
	gauge(failedDesc, failed)
}

// histogram makes the engine's counts cumulative, as Prometheus has them.
func histogram(d *prometheus.Desc, h engine.Histogram) prometheus.Metric {
	buckets, sum := make(map[float64]uint64, len(h.Bounds)), uint64(0)
	for i, bound := range h.Bounds {
		sum += h.Counts[i]
		buckets[bound] = sum
	}
	return prometheus.MustNewConstHistogram(d, h.Count(), h.Sum, buckets)
}

// storeFigures shows how much the store holds.
type storeFigures struct {
	store store.Store
	log   *slog.Logger
}

var (
	bytesDesc    = describe("hapax_store_bytes", "Bytes that the store takes on its disk, reserved ones counted in.")
	messagesDesc = describe("hapax_store_messages", "Messages in the journal, estimated.")
	resultsDesc  = describe("hapax_store_results", "Results held, estimated.")
	diskFreeDesc = describe("hapax_disk_free_bytes", "Bytes that the store may still take of its disk.")
	diskMarkDesc = describe("hapax_disk_low_water_bytes", "Bytes free below which nothing new is stored.")
	diskLowDesc  = describe("hapax_disk_low", "1 while sends and deliveries are refused for want of room on the disk.")
	roomsDesc    = describe("hapax_store_rooms", "Rooms that were ever written to.")
)

// statsWait bounds how long a scrape waits for the store.
const statsWait = 2 * time.Second

// Describe implements prometheus.Collector.
func (f *storeFigures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{bytesDesc, messagesDesc, resultsDesc, roomsDesc, diskFreeDesc, diskMarkDesc, diskLowDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. A store that can't answer leaves its figures out.
func (f *storeFigures) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statsWait)
	defer cancel()
	s, err := f.store.Stats(ctx)
	if err != nil {
		f.log.Warn("the store's figures can't be read", "error", err)
		return
	}
	for _, m := range []struct {
		desc  *prometheus.Desc
		value int64
	}{{bytesDesc, s.Bytes}, {messagesDesc, s.Messages}, {resultsDesc, s.Results}, {roomsDesc, s.Rooms}} {
		ch <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(m.value))
	}
	if d, can := f.store.(diskStore); can {
		low := 0.0
		if d.Disk().Low {
			low = 1
		}
		ch <- prometheus.MustNewConstMetric(diskFreeDesc, prometheus.GaugeValue, float64(d.Disk().Free))
		ch <- prometheus.MustNewConstMetric(diskMarkDesc, prometheus.GaugeValue, float64(d.Disk().LowWater))
		ch <- prometheus.MustNewConstMetric(diskLowDesc, prometheus.GaugeValue, low)
	}
}
