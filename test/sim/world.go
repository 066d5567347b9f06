package sim

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
)

// World is one run. Time is the ms since its start; every clock in it is a reading of that time with an offset of its own.
type World struct {
	Plan
	fault Fault // planted

	rnd    *rand.Rand
	now    int64
	n      int64 // events ever scheduled
	moment int64 // counts what is noted for the judge, so that of two notes one is always the earlier
	events events
	trace  trace
	calm   bool // nothing goes wrong any more
	done   bool // in calm: all is where it belongs

	server  *server
	clients []*client
	tokens  tokens
	ledger  ledger
	book    book
	ops     []*operation
	faults  []string
	seen    map[string]int // how often each kind of thing happened
}

type event struct {
	at, n int64
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1].do = nil
	*e = old[:len(old)-1]
	return last
}

// after schedules what happens in some ms. Events of one moment happen in the order in which they were scheduled.
func (w *World) after(ms int64, do func()) {
	w.n++
	heap.Push(&w.events, event{w.now + max(ms, 0), w.n, do})
}

// maxEvents bounds a run. The longest take a tenth of it.
const maxEvents = 200_000

// runTo lets time pass up to a moment, or until all is done.
func (w *World) runTo(end int64) {
	for len(w.events) > 0 && w.events[0].at <= end {
		if w.n > maxEvents {
			w.wrong("more than %d events: it goes round and round", maxEvents)
			return
		}
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.do()
		if len(w.faults) > 0 || w.done {
			return
		}
	}
	w.now = end
}

// every lets something happen again and again, at chance intervals of that mean, while there is trouble. Mean 0 is never.
func (w *World) every(mean int64, do func()) {
	if mean <= 0 {
		return
	}
	w.after(w.about(mean), func() {
		if !w.calm {
			do()
			w.every(mean, do)
		}
	})
}

// about draws a waiting time of that mean, as of things that happen independently.
func (w *World) about(mean int64) int64 {
	return int64(-math.Log(1-w.rnd.Float64()) * float64(mean))
}

// chance is true p times in a thousand, and never once all is calm.
func (w *World) chance(p int) bool { return !w.calm && w.rnd.IntN(1000) < p }

// luck is true p times in a thousand, in calm too.
func (w *World) luck(p int) bool { return w.rnd.IntN(1000) < p }

// up draws from [0, n].
func (w *World) up(n int64) int64 { return w.rnd.Int64N(n + 1) }

func (w *World) tick() int64 {
	w.moment++
	return w.moment
}

// say adds a line to the trace.
func (w *World) say(who, format string, args ...any) {
	w.trace.add(w.now, who, format, args...)
}

// wrong notes a fault, which ends the run.
func (w *World) wrong(format string, args ...any) {
	fault := fmt.Sprintf(format, args...)
	w.say("judge", "%s", fault)
	w.faults = append(w.faults, fault)
}
