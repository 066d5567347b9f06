package session

// window bounds the frames about rows in flight (docs/spec/client.md, 3, "No herd"). It starts at 1 on each connection, doubles with
// each window answered finally, and halves with each answer that says "later", or doesn't come.
type window struct {
	size  int
	final int   // final answers since it last changed
	short int   // answers in a row that would have halved it and found it at 1
	fell  int64 // number of the last frame when it fell to 1, or stayed there: what was released before says nothing new
	until int64 // mono: what waited is held back
}

func (w *window) start() { *w = window{size: 1} }

// answered takes in a final answer: one that stores, repeats or refuses for good.
func (w *window) answered(most int) {
	w.short, w.until = 0, 0
	if w.final++; w.final >= w.size {
		w.size, w.final = min(2*w.size, most), 0
	}
}

// slow takes in an answer to a flight that says "later", or that doesn't come.
func (m *Machine) slow(f *flight) {
	w := &m.window
	w.final = 0
	switch {
	case w.size > 2:
		w.size /= 2
		return
	case w.size == 2:
		w.size, w.fell = 1, m.link.frames
		return
	case f.frame <= w.fell:
		return
	}
	w.short, w.fell = w.short+1, m.link.frames
	w.until = m.now.Mono + Delay(m.cfg.Base, m.cfg.ConnCap, w.short, m.cfg.Rand())
}

// smoothed is the running mean of a time, in ms.
type smoothed struct {
	mean  float64
	known bool
	scale float64 // what was overdue since the last measure says that it has grown
}

func (s *smoothed) add(ms int64) {
	t := float64(max(ms, 0))
	if !s.known {
		s.mean = t
	} else {
		s.mean += (t - s.mean) / 8
	}
	s.known, s.scale = true, 1
}

// times4 is four times the mean, within bounds; the greatest while nothing was measured.
func (s *smoothed) times4(least, most int64) int64 {
	if !s.known {
		return most
	}
	return min(max(int64(4*s.mean*s.scale), least), most)
}

// overdue doubles what is waited for until the next measure.
func (s *smoothed) overdue() { s.scale = min(2*s.scale, 1<<20) }
