//go:build unix

package forward

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/store/pebble"
)

// BenchmarkForward empties an outbox into a destination on this machine, ingest idle, every try and every outcome synced:
//
//	go test -run '^$' -bench Forward -benchtime 50000x ./internal/forward
func BenchmarkForward(b *testing.B) {
	s, err := pebble.Open(b.TempDir(), pebble.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	books, err := intake.New(s, intake.DefaultOptions())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = books.Close(context.Background()) }()
	arrived, all := atomic.Int64{}, make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
		if arrived.Add(1) == int64(b.N) {
			close(all)
		}
	}))
	defer server.Close()
	fill(b, books)
	f := New(books, Options{Clock: &wallClock{start: time.Now()}, Log: slog.New(slog.DiscardHandler)})
	if err := f.Set([]Destination{{Tenant: "acme", Source: "shop", URL: server.URL, Allow: loopback, Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}}); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	before := cpu(b)
	b.ResetTimer()
	go func() { ended <- f.Run(ctx) }()
	<-all
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "forwards/s")
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/forward")
	b.StopTimer()
	if err := books.View(context.Background(), func(v intake.View) error {
		counts, err := v.Outbox()
		for _, c := range counts {
			if c.Waiting+c.Dead > 0 {
				b.Errorf("%+v is left", c)
			}
		}
		return err
	}); err != nil {
		b.Fatal(err)
	}
}

// cpu is what this process has used, destination included: a figure that other work on the machine doesn't change.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fill accepts b.N events of as many keys.
func fill(b *testing.B, books intake.Books) {
	b.Helper()
	amount, _ := settle.ParseAmount([]byte("1"))
	commands := []gateway.Command{
		&gateway.SetPolicy{Policy: settle.Policy{BlockWindowS: 3600}},
		&gateway.SetSource{Tenant: "acme", Source: "shop", Settings: gateway.Settings{WindowS: 3600, Scope: settle.ScopeSchema, Open: true, Forward: true, Parts: 1}},
	}
	for i := range b.N {
		commands = append(commands, &gateway.Event{
			Name: gateway.Name{Tenant: "acme", Source: "shop", Key: fmt.Sprint("order-", i)}, ID: fmt.Sprintf("ev_%026d", i), Amount: "1", AmountOK: true,
			Value: amount, Currency: "USD", Body: &gateway.Body{ContentType: "application/json", Bytes: fmt.Appendf(nil, `{"order":%300d}`, i)},
			Digest: sha256.Sum256(fmt.Appendf(nil, `{"order":%300d}`, i)),
		})
		if len(commands) == 512 || i == b.N-1 {
			if _, err := books.Enter(context.Background(), commands...); err != nil {
				b.Fatal(err)
			}
			commands = commands[:0]
		}
	}
}
