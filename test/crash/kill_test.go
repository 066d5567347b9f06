package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"hapax/client"
	"hapax/internal/auth"
	"hapax/internal/child"
	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/pebble"
	"hapax/test/check"
)

const (
	kills      = 30
	sdkClients = 6
	apiClients = 2 // with the SDK's: 8 clients
	settleWait = 5 * time.Minute
	searchWait = time.Minute
	searchRows = 200
)

var rooms = []string{"a", "a_b", "日本", "z"}

// TestKilledUnderLoad kills a server 30 times at random points while 8 clients send, and then holds everything that
// anybody was told against what the disk kept.
func TestKilledUnderLoad(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d (the kills' moments; the processes' own timing isn't repeated by it)", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	data := filepath.Join(t.TempDir(), "data")
	listen, err := child.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	server := startServer(t, ctx, data, listen)
	rec := &record{began: time.Now(), acked: make(chan struct{}, 1<<20)}
	all, sending, stop := startClients(t, ctx, data, listen, rec)

	for range kills {
		for range 5 + random.IntN(100) {
			select {
			case <-rec.acked:
			case <-ctx.Done():
				t.Fatalf("no more answers: %v\n%s", ctx.Err(), server.Log())
			}
		}
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		server = startServer(t, ctx, data, listen)
	}
	stop()
	if err := sending.Wait(); err != nil {
		t.Fatal(err)
	}
	settle(t, ctx, all)
	if err := server.Stop(); err != nil {
		t.Errorf("the last server didn't drain: %v\n%s", err, server.Log())
	}
	logs := readLogs(t, data)
	judge(t, ctx, logs, all, rec)
}

func startClients(t *testing.T, ctx context.Context, data, listen string, rec *record) (all []*sdkClient, sending *errgroup.Group, stop func()) {
	t.Helper()
	key, err := auth.OpenLocalKey(data)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(actor string) string {
		token, err := key.Sign(actor, []auth.Grant{auth.All}, time.Hour, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	running, stop := context.WithCancel(ctx)
	sending = &errgroup.Group{}
	for n := range sdkClients {
		k, err := newSDKClient(ctx, n, t.TempDir(), listen, sign(fmt.Sprintf("sdk-%d", n)), rooms, rec)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := k.c.Close(); err != nil {
				t.Error(err)
			}
		})
		all = append(all, k)
		sending.Go(func() error { return k.send(running, rooms) })
	}
	for n := range apiClients {
		h := &httpClient{n: sdkClients + n, actor: fmt.Sprintf("api-%d", n), addr: listen, token: sign(fmt.Sprintf("api-%d", n)), rec: rec, random: rand.New(rand.NewPCG(uint64(n), 1))}
		t.Cleanup(h.http.CloseIdleConnections)
		sending.Go(func() error { return h.run(running, rooms) })
	}
	return all, sending, stop
}

// settle waits until every outbox is empty and every view has reached the heads.
func settle(t *testing.T, ctx context.Context, all []*sdkClient) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, settleWait, errors.New("not settled in time"))
	defer cancel()
	heads := map[string]int64{}
	for _, k := range all {
		for i := 0; ; i++ {
			n, err := k.c.Counts(ctx)
			if err != nil {
				t.Fatal(errors.Join(err, context.Cause(ctx)))
			}
			if n.Parked+n.Uncertain+n.SetAside > 0 {
				t.Fatalf("%s: %+v", k.actor, n)
			}
			if n.Queued == 0 {
				break
			}
			pause(t, ctx, fmt.Sprintf("%s: %+v", k.actor, n))
		}
	}
	for _, name := range rooms {
		rows, err := all[0].c.History(ctx, name, 0, 1)
		if err != nil || len(rows) == 0 {
			t.Fatalf("history of %s: %d rows, %v", name, len(rows), err)
		}
		heads[name] = rows[0].Seq
	}
	for _, k := range all {
		for _, name := range rooms {
			for {
				r, _, err := k.c.Room(ctx, name)
				if err != nil {
					t.Fatal(err)
				}
				if r.Cursor.After >= heads[name] {
					break
				}
				pause(t, ctx, fmt.Sprintf("%s holds %s up to %d of %d", k.actor, name, r.Cursor.After, heads[name]))
			}
		}
	}
}

// pause waits for what other processes do: there is nothing to listen to.
func pause(t *testing.T, ctx context.Context, what string) {
	t.Helper()
	select {
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
		t.Fatalf("%v: %s", context.Cause(ctx), what)
	}
}

// readLogs reads all rooms from disk, after the store's own verification.
func readLogs(t *testing.T, data string) map[string][]check.Row {
	t.Helper()
	report, err := pebble.Verify(t.Context(), data, pebble.Options{})
	if err != nil || !report.OK() {
		t.Fatalf("verify: %+v, %v", report, err)
	}
	s, err := pebble.Open(data, pebble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if why := s.NewEpochReason(); why != "" {
		t.Errorf("30 kills and a clean stop changed the epoch: %s", why)
	}
	logs := map[string][]check.Row{}
	err = s.View(t.Context(), func(v store.View) error {
		for _, name := range rooms {
			for after, more := int64(0), true; more; after = int64(len(logs[name])) {
				var page []room.Message
				var err error
				if page, more, err = v.After(name, after, 1000, 1<<20); err != nil {
					return err
				}
				for _, m := range page {
					logs[name] = append(logs[name], check.Row{Seq: m.Seq, MessageID: m.MessageID, Actor: m.Actor, ID: m.ID, Text: m.Text})
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return logs
}

// judge holds the history against the logs.
func judge(t *testing.T, ctx context.Context, logs map[string][]check.Row, all []*sdkClient, rec *record) {
	t.Helper()
	var faults []string
	total := 0
	for name, rows := range logs {
		total += len(rows)
		faults = append(faults, check.Log(name, 1, rows)...)
	}
	faults = append(faults, check.Acks(logs, rec.acks)...)
	for _, k := range all {
		faults = append(faults, k.lost(logs)...)
		for _, name := range rooms {
			faults = append(faults, check.View(k.actor, name, logs[name], k.view(t, ctx, name), true)...)
		}
	}
	// All of it by the exact pass; porcupine, whose search grows with the history, on each room's beginning.
	faults = append(faults, check.Explained(logs, rec.ops)...)
	short, few := check.Prefix(logs, rec.ops, searchRows)
	faults = append(faults, check.Linearizable(short, few, searchWait)...)
	for i, f := range faults {
		if t.Error(f); i == 20 {
			t.Fatalf("and %d more", len(faults)-i)
		}
	}
	t.Logf("%d kills, %d messages, %d acks, %d operations", kills, total, len(rec.acks), len(rec.ops))
	if total < kills*5 {
		t.Errorf("only %d messages: the kills met no load", total)
	}
}

// lost names the messages that Send accepted and the log doesn't hold.
func (k *sdkClient) lost(logs map[string][]check.Row) (faults []string) {
	held := map[client.Key]bool{}
	for name, rows := range logs {
		for _, r := range rows {
			if r.Actor == k.actor {
				held[client.Key{Room: name, ID: r.ID}] = true
			}
		}
	}
	for key := range k.sent {
		if !held[key] {
			faults = append(faults, fmt.Sprintf("%s in %s: accepted message %s is nowhere", k.actor, key.Room, key.ID))
		}
	}
	return faults
}

// view is what the client's own store holds of a room, in the order in which an app gets it.
func (k *sdkClient) view(t *testing.T, ctx context.Context, name string) (rows []check.Row) {
	t.Helper()
	for after := int64(0); ; {
		page, err := k.c.Messages(ctx, name, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return rows
		}
		for _, m := range page {
			after = m.Position
			rows = append(rows, check.Row{Seq: m.Seq, MessageID: m.MessageID, Actor: m.Actor, ID: m.ClientMessageID, Text: m.Text})
		}
	}
}
