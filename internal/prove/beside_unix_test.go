//go:build unix

package prove

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store/pebble"
)

const (
	besideRate    = 5_000 // events a second
	besideKeys    = 200_000
	besideFilled  = 1_000_000 // events in the log before
	besidePace    = 50_000    // the default of gateway.proof.pace
	besideWindow  = 4 * time.Second
	besideWindows = 5 // of each kind, by turns
)

// BenchmarkIngestBesideAProof measures the latency of a steady ingest on the embedded store with a proof running in the background and without, by
// turns in one run, so that the machine's own ups and downs fall on both.
func BenchmarkIngestBesideAProof(b *testing.B) {
	st, err := pebble.Open(b.TempDir(), pebble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	in, err := intake.New(st, intake.DefaultOptions())
	if err != nil {
		b.Fatal(err)
	}
	fill(b, in)
	p := New(Options{Books: in, Log: quiet(), Every: time.Hour})
	began, cpu := time.Now(), processorTime(b)
	if err := p.full(b.Context(), 0); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(besideFilled/time.Since(began).Seconds(), "events/s")
	b.ReportMetric(besideFilled/(processorTime(b)-cpu).Seconds(), "events/cpu-s")
	for range b.N {
		var alone, beside []time.Duration
		for range besideWindows {
			alone = append(alone, ingest(b, in)...)
			ctx, cancel := context.WithCancel(b.Context())
			var proving sync.WaitGroup
			proving.Go(func() {
				for ctx.Err() == nil {
					_ = p.full(ctx, besidePace) // cut off by ctx at the end
				}
			})
			beside = append(beside, ingest(b, in)...)
			cancel()
			proving.Wait()
		}
		for _, share := range []float64{0.50, 0.99} {
			one, two := quantile(alone, share), quantile(beside, share)
			b.ReportMetric(one.Seconds()*1000, fmt.Sprintf("alone-p%.0f-ms", share*100))
			b.ReportMetric(two.Seconds()*1000, fmt.Sprintf("beside-p%.0f-ms", share*100))
		}
	}
	if err := in.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func quantile(all []time.Duration, share float64) time.Duration {
	slices.Sort(all)
	return all[int(share*float64(len(all)-1))]
}

func besideEvent(r *rand.Rand, id int) *gateway.Event {
	return &gateway.Event{
		Name: gateway.Name{Tenant: "acme", Source: "pay", Key: benchText("evt_", r.Uint64N(besideKeys))}, ID: benchText("ev_", uint64(id)),
		Amount: "12.34", AmountOK: true, Value: settle.Amount{Whole: 12, Fraction: 34_000_000}, Currency: "EUR", Body: &gateway.Body{Bytes: make([]byte, 200)},
	}
}

func fill(b *testing.B, in *intake.Intake) {
	r := rand.New(rand.NewPCG(1, 1))
	commands := []gateway.Command{
		&gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 3600, LRUMinHits: 2}},
		&gateway.SetSource{Tenant: "acme", Source: "pay", Settings: gateway.Settings{Scope: settle.ScopeWire, LRUCapacity: 100, Open: true, Parts: 1}},
	}
	for id := range besideFilled {
		if commands = append(commands, besideEvent(r, id)); len(commands) < 1000 && id < besideFilled-1 {
			continue
		}
		if _, err := in.Enter(b.Context(), commands...); err != nil {
			b.Fatal(err)
		}
		commands = nil
	}
}

var besideID = besideFilled

// ingest enters events at their times for a window, each by a caller of its own, and returns how long each waited.
func ingest(b *testing.B, in *intake.Intake) []time.Duration {
	r := rand.New(rand.NewPCG(2, uint64(besideID)))
	n := int(besideWindow.Seconds() * besideRate)
	took := make([]time.Duration, n)
	var all sync.WaitGroup
	began := time.Now()
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / besideRate)
		if wait := time.Until(due); wait > 200*time.Microsecond {
			_ = pause(b.Context(), wait)
		}
		besideID++
		e := besideEvent(r, besideID)
		all.Go(func() {
			if _, err := in.Enter(b.Context(), e); err != nil {
				b.Error(err)
			}
			took[i] = time.Since(due)
		})
	}
	all.Wait()
	return took
}
