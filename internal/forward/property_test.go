package forward

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
)

// plan is one random run: a destination that is flaky, down for a while, refuses some and takes its time; a store that fails at times; a
// forwarder that is stopped or dies; a clock that jumps.
type plan struct {
	*rand.Rand
	r      *rig
	taken  map[string]int // ids that a destination noted as done, and how often they came after that
	order  []string       // ids in the order of first arrival
	tries  map[string]map[string]bool
	calm   bool
	crash  bool // commits fail from here on, as if the process were dead
	down   time.Time
	faults []string
}

func (p *plan) answer(s sent, ctx context.Context) (*http.Response, error) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	if p.tries[s.id] == nil {
		p.tries[s.id] = map[string]bool{}
		p.order = append(p.order, s.id)
	}
	if p.tries[s.id][s.attempt] {
		p.faults = append(p.faults, fmt.Sprintf("%s came twice as attempt %s", s.id, s.attempt))
	}
	p.tries[s.id][s.attempt] = true
	if d := p.row(s.id); d == nil || d.State != gateway.Waiting || fmt.Sprint(d.Sends) != s.attempt {
		p.faults = append(p.faults, fmt.Sprintf("attempt %s of %s left before it was stored: %+v", s.attempt, s.id, d))
	}
	if p.calm {
		p.taken[s.id]++
		return status(200), nil
	}
	if time.Now().Before(p.down) {
		return nil, errDown
	}
	switch p.IntN(8) {
	case 0:
		return status(500), nil
	case 1:
		return status(429, "Retry-After", fmt.Sprint(p.IntN(100))), nil
	case 2:
		return status(410), nil
	case 3:
		p.taken[s.id]++
		return nil, errors.New("taken, and the answer lost")
	case 4:
		p.down = time.Now().Add(time.Duration(p.IntN(100)) * time.Minute)
		return nil, errDown
	}
	p.taken[s.id]++
	return status(200), nil
}

func (p *plan) row(id string) (d *gateway.Delivery) {
	_ = p.r.books.store.ViewBooks(context.Background(), func(v intake.View) error {
		n, err := v.Number(id)
		if err == nil {
			d, err = v.Delivery(n)
		}
		return err
	})
	return d
}

// refuse fails commits at random, before or, as a crash does, for good.
func (p *plan) refuse([]gateway.Command) error {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	if p.crash || !p.calm && p.IntN(10) == 0 {
		return intake.ErrUnavailable
	}
	return nil
}

func (p *plan) set(calm, crash bool) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	p.calm, p.crash = calm, crash
}

// accept enters an event past the planted failures, which are the forwarder's.
func (p *plan) accept(key string, accepted map[string][]string) {
	p.r.books.mu.Lock()
	refuse := p.r.books.refuse
	p.r.books.refuse = nil
	p.r.books.mu.Unlock()
	o := p.r.event(key)
	if o.Decision == gateway.Accept {
		accepted[key] = append(accepted[key], o.ID)
	}
	p.r.books.mu.Lock()
	p.r.books.refuse = refuse
	p.r.books.mu.Unlock()
}

// Whatever happens: each accepted event arrives at least once under its id, one try at a time and in the order of its key, no request leaves
// before its try is stored, and in the end the outbox is empty.
func TestWhateverHappens(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 12
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				here := rand.New(rand.NewPCG(seed, 5)) // the destination has its own chance, and its own goroutines
				p := &plan{Rand: rand.New(rand.NewPCG(seed, 4)), r: r, taken: map[string]int{}, tries: map[string]map[string]bool{}}
				r.source("acme", "shop", func(d *Destination) { d.MaxTries = here.IntN(2) * 6 })
				r.answers(p.answer)
				r.books.refuse = p.refuse
				accepted := map[string][]string{}
				r.start()
				for range 40 {
					switch here.IntN(8) {
					case 0:
						p.set(false, here.IntN(2) == 0)
						if err := r.stop(); err != nil {
							t.Fatal(err)
						}
						p.set(false, false)
						r.start()
					case 1:
						r.clock.move(time.Duration(here.IntN(7200)-3600) * time.Second)
					case 2:
						pass(time.Duration(here.IntN(7200)) * time.Second)
					default:
						p.accept(fmt.Sprint("k", here.IntN(4)), accepted)
						pass(time.Duration(here.IntN(3000)) * time.Millisecond)
					}
				}
				p.set(true, false)
				p.finish(t, accepted)
			})
		})
	}
}

// finish revives what died, waits, and judges.
func (p *plan) finish(t *testing.T, accepted map[string][]string) {
	for round := range 10 {
		for range 24 {
			if pass(5 * time.Minute); p.r.waiting() == 0 {
				break
			}
		}
		var dead []string
		p.r.view(func(v intake.View) error {
			rows, err := v.DeadLetters("acme", "shop", 0, 1000)
			for _, d := range rows {
				dead = append(dead, d.ID)
			}
			return err
		})
		if len(dead) == 0 && p.r.waiting() == 0 {
			break
		}
		for _, id := range dead {
			p.r.enter(&gateway.Replay{Tenant: "acme", ID: id, Key: uint64(round), By: "test"})
		}
	}
	if waiting, dead := p.r.outbox(); waiting+dead != 0 {
		t.Errorf("%d wait and %d are dead at the end", waiting, dead)
	}
	for _, f := range p.faults {
		t.Error(f)
	}
	place := map[string]int{}
	for i, id := range p.order {
		place[id] = i + 1
	}
	for key, ids := range accepted {
		for i, id := range ids {
			if p.taken[id] == 0 {
				t.Errorf("%s of %s never arrived", id, key)
			}
			if i > 0 && place[id] < place[ids[i-1]] {
				t.Errorf("%s of %s arrived before %s", id, key, ids[i-1])
			}
		}
	}
}
