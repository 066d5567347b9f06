package forward

import (
	"container/heap"

	"hapax/internal/gateway"
)

type sourceName struct{ tenant, source string }

// lane is one source as the dispatcher knows it: where its events go, what is under way, and when to look for more.
type lane struct {
	sourceName
	to      *target            // nil: the configuration names no destination, and what waits is held
	flying  map[int64]struct{} // numbers of events that aren't picked again: under way, or ended and not entered yet
	busy    int                // requests under way
	held    bool               // it has something to send and nowhere to
	look    int64              // Unix ms at which to look for due rows, where it is in the agenda
	place   int                // in the agenda; −1: it waits for something under way, or for word of something due
	checked bool               // the row that is due last was looked at
	oldest  int64              // due time of the row that is due longest and isn't under way, as last seen; 0: none
	health

	deaths int    // dead letters since they were last logged
	last   string // reason of the last one
}

// room returns how many requests may be set off now. The first request of a lane is always free to go; those beyond
// come out of the pool, so that slow destinations can't take it from the others.
func (l *lane) room(pool int) int {
	switch {
	case l.to == nil:
		return 0
	case !l.works:
		return 1 - min(1, l.busy)
	}
	pool = max(0, pool)
	if l.busy == 0 {
		pool++
	}
	return max(0, min(l.to.spec.InFlight-l.busy, pool))
}

// pooled returns how many of its requests under way came out of the pool.
func (l *lane) pooled() int { return max(0, l.busy-1) }

// choose picks what to send of due rows, the longest due first: none that is under way, and of a destination that is down
// rather an event of a key that hasn't failed.
func (l *lane) choose(rows []gateway.Delivery, free int) (chosen []gateway.Delivery) {
	l.oldest = 0
	for _, d := range rows {
		if _, is := l.flying[d.Number]; is {
			continue
		}
		if l.oldest == 0 {
			l.oldest = d.Due
		}
		chosen = append(chosen, d)
	}
	if !l.works && free == 1 {
		for i, d := range chosen {
			if !l.suspect(d.Name.Key) {
				return chosen[i : i+1]
			}
		}
	}
	return chosen[:min(free, len(chosen))]
}

// agenda holds the lanes that are to be looked at, the next one first. It implements heap.Interface.
type agenda []*lane

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].look < a[j].look }
func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

// Push implements heap.Interface.
func (a *agenda) Push(x any) {
	l := x.(*lane)
	l.place = len(*a)
	*a = append(*a, l)
}

// Pop implements heap.Interface.
func (a *agenda) Pop() any {
	l := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	l.place = -1
	return l
}

// by puts a lane down for a moment, unless it is looked at before that.
func (a *agenda) by(l *lane, at int64) {
	switch {
	case at == gateway.Held: // there will be word of it
	case l.place < 0:
		l.look = at
		heap.Push(a, l)
	case at < l.look:
		l.look = at
		heap.Fix(a, l.place)
	}
}

// next takes the first lane off whose moment has come, nil where there is none.
func (a *agenda) next(now int64) *lane {
	if len(*a) == 0 || (*a)[0].look > now {
		return nil
	}
	return heap.Pop(a).(*lane)
}
