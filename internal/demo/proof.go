package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/pebble"
)

// Proof is what the stores say once everything has ended.
type Proof struct {
	Sent          int      `json:"sent"`    // messages that clients' Send accepted
	Stored        int      `json:"stored"`  // rows in the server's store
	Repeats       int64    `json:"repeats"` // sends that the server recognised as repeats
	AcksDropped   int64    `json:"acksDropped"`
	Cuts          int64    `json:"cuts"`
	Kills         int      `json:"kills"`
	Holes         int      `json:"holes"`
	Doubles       int      `json:"doubles"`
	OutOfOrder    int      `json:"outOfOrder"` // rows of a client that stand before one that it sent earlier
	ViewsDiffer   int      `json:"viewsDiffer"`
	StoreFaults   []string `json:"storeFaults,omitempty"` // what `hapax verify` would say
	ElapsedMillis int64    `json:"elapsedMs"`
}

// OK says that every message is there once and in order, and everybody saw the same.
func (p *Proof) OK() bool {
	return p.Sent > 0 && p.Stored == p.Sent && p.Holes+p.Doubles+p.OutOfOrder+p.ViewsDiffer == 0 && len(p.StoreFaults) == 0
}

// prove stops the server and compares its store, read from disk, with what was sent and with every client's view.
func (t *theatre) prove(ctx context.Context) (*Proof, error) {
	repeats, err := t.repeatsNow(ctx)
	if err != nil {
		return nil, err
	}
	counts := t.network.Counts()
	p := &Proof{Repeats: t.repeats + repeats, AcksDropped: counts.AcksDropped, Cuts: counts.Cuts, Kills: int(t.kills.Load()), ElapsedMillis: t.state().Elapsed.Milliseconds()}
	if err := t.server.Load().Stop(); err != nil {
		return nil, fmt.Errorf("the server didn't drain: %w\n%s", err, t.server.Load().Log())
	}
	rows, err := t.readStore(ctx, p)
	if err != nil {
		return nil, err
	}
	p.checkLog(rows)
	for _, a := range t.actors {
		p.Sent += int(a.sent.Load())
		same, err := a.sameView(ctx, rows)
		if err != nil {
			return nil, err
		}
		if !same {
			p.ViewsDiffer++
		}
	}
	return p, nil
}

// readStore reads the room from disk, and lets the store's own verification run over it.
func (t *theatre) readStore(ctx context.Context, p *Proof) (rows []room.Message, err error) {
	report, err := pebble.Verify(ctx, t.data(), pebble.Options{})
	if err != nil {
		return nil, err
	}
	if !report.OK() {
		p.StoreFaults = append(report.Faults, "the store is not sound")
	}
	s, err := pebble.Open(t.data(), pebble.Options{})
	if err != nil {
		return nil, err
	}
	err = s.View(ctx, func(v store.View) error {
		for more := true; more; {
			after := int64(0)
			if len(rows) > 0 {
				after = rows[len(rows)-1].Seq
			}
			var page []room.Message
			var err error
			if page, more, err = v.After(roomName, after, 1000, 1<<20); err != nil {
				return err
			}
			rows = append(rows, page...)
		}
		return nil
	})
	return rows, errors.Join(err, s.Close())
}

// checkLog counts what must not be: a hole, a message twice, a client's messages in another order than it sent them.
func (p *Proof) checkLog(rows []room.Message) {
	p.Stored = len(rows)
	texts, last := map[string]bool{}, map[string]int{}
	for i, r := range rows {
		if r.Seq != int64(i+1) {
			p.Holes++
		}
		if texts[r.Text] {
			p.Doubles++
		}
		texts[r.Text] = true
		n, err := strconv.Atoi(strings.TrimPrefix(r.Text, r.Actor+" says "))
		if err != nil || n <= last[r.Actor] {
			p.OutOfOrder++
		}
		last[r.Actor] = n
	}
}

// sameView says whether a client's own store holds the same rows in the same order.
func (a *actor) sameView(ctx context.Context, rows []room.Message) (bool, error) {
	seen, after := 0, int64(0)
	for {
		page, err := a.c.Messages(ctx, roomName, after, 1000)
		if err != nil {
			return false, fmt.Errorf("%s: %w", a.name, err)
		}
		if len(page) == 0 {
			return seen == len(rows), nil
		}
		for _, m := range page {
			if seen >= len(rows) || m.Seq != rows[seen].Seq || m.MessageID != rows[seen].MessageID || m.Text != rows[seen].Text {
				return false, nil
			}
			seen, after = seen+1, m.Position
		}
	}
}

// duplicates reads the counter of recognised repeats from a server's metrics.
func duplicates(metrics string) (int64, error) {
	for lines := bufio.NewScanner(strings.NewReader(metrics)); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), duplicateMetric+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			return int64(n), err
		}
	}
	return 0, fmt.Errorf("the server's metrics don't hold %s", duplicateMetric)
}

// duplicateMetric is the server's counter of sends that it answered as repeats.
const duplicateMetric = `hapax_sends_total{outcome="duplicate"}`
