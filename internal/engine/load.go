package engine

import (
	"context"
	"time"

	"hapax/internal/fanout"
	"hapax/internal/room"
	"hapax/internal/store"
)

// loadRetry is how long a feed waits after a reading that failed.
const loadRetry = 500 * time.Millisecond

// hear takes a hint from any process. Those of this one are old news: its rows were handed on before.
func (e *Engine) hear(h fanout.Hint) {
	f := e.members.feed(h.Room)
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reach(h.Seq)
}

// load hands on rows from the store until the feed is where the room is said to be. It is the only one for its feed.
func (f *feed) load() {
	e := f.e
	for {
		after, asked, ok := f.behind()
		if !ok {
			return
		}
		if err := f.loadPage(e.ctx, after, asked); err != nil {
			e.stats.loadErrors.Add(1)
			if e.broken.Load() || !e.pause(loadRetry) {
				return
			}
		}
	}
}

// behind returns after which row is to be read, and how often that was asked for; false where the feed has come up or nobody
// listens any more.
func (f *feed) behind() (after int64, asked int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loading = f.want > f.head && len(f.subs) > 0
	return f.head, f.asked, f.loading
}

func (f *feed) loadPage(ctx context.Context, after int64, asked int) error {
	e := f.e
	select {
	case e.loaders <- struct{}{}:
		defer func() { <-e.loaders }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var rows []room.Message
	err := e.view(ctx, func(v store.View) (err error) {
		rows, _, err = e.after(v, f.name, after, e.o.PageBytes)
		return err
	})
	if err == nil {
		err = e.acknowledged(ctx, f.name, rows)
	}
	if err != nil {
		return err
	}
	e.stats.loads.Add(1)
	var to flushes
	f.loaded(rows, asked, &to)
	to.flush()
	return nil
}

// loaded hands on what was read. Where that is nothing, what was asked for isn't there; but what was asked for meanwhile is
// still to be looked at.
func (f *feed) loaded(rows []room.Message, asked int, to *flushes) {
	f.mu.Lock()
	if len(rows) == 0 {
		if f.asked == asked {
			f.want = f.head
		}
	} else if first := rows[0].Seq; first > f.head+1 {
		// The rows in between aged out before this process read them. The readers see the gap, and catch up by
		// their cursors, which no longer fit: they get a snapshot.
		f.e.stats.gaps.Add(1)
		f.head = first - 1
	}
	f.mu.Unlock()
	if len(rows) > 0 {
		f.offer(stored(rows), to)
	}
}

// poll looks at all active rooms now and then: a hint from another process may have been lost.
func (e *Engine) poll() {
	for e.pause(e.o.Poll) {
		for _, f := range e.members.active() {
			err := e.view(e.ctx, func(v store.View) error {
				s, err := v.Room(f.name)
				if err == nil && s.Head > 0 {
					e.hear(fanout.Hint{Room: f.name, Seq: s.Head})
				}
				return err
			})
			if err != nil {
				e.stats.loadErrors.Add(1)
				break
			}
		}
	}
}

// pause waits; it returns false once the engine closes.
func (e *Engine) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-e.ctx.Done():
		return false
	}
}
