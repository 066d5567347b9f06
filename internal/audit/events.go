package audit

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
)

const (
	segmentRows = 1 << 13        // events a segment: columns grow without copying what they hold
	maxEvents   = math.MaxUint32 // an event's place is 32 bits; so many would need 180 GB
)

// events is events.tsv: the rows of registered keys by place, the rest as counts.
type events struct {
	segments  [][]event
	total     int
	perKey    []uint32 // key → how many rows it has
	strangers int64
	malformed []BadRow
}

func (ev *events) at(place uint32) *event { return &ev.segments[place/segmentRows][place%segmentRows] }

// task is one chunk on its way: read, parsed by some worker, taken in in the order of the file.
type task struct {
	buf, chunk []byte
	batch      batch
	parsed     chan struct{}
	err        error
}

// readEvents parses on all processors; the result doesn't depend on how many there are.
func readEvents(src io.Reader, keys *keyTable) (*events, error) {
	workers := runtime.GOMAXPROCS(0)
	free := make(chan *task, 3*workers)
	unparsed, ordered := make(chan *task, cap(free)), make(chan *task, cap(free))
	for range cap(free) {
		free <- &task{parsed: make(chan struct{}, 1)}
	}
	var readErr error
	go func() {
		defer close(unparsed)
		defer close(ordered)
		readErr = guarded(func() error { return dealChunks(src, free, unparsed, ordered) })
	}()
	for range workers {
		go func() {
			for t := range unparsed {
				t.err = guarded(func() error { t.batch.parse(t.chunk, keys); return nil })
				t.parsed <- struct{}{}
			}
		}()
	}
	ev := &events{perKey: make([]uint32, keys.len())}
	lines := int64(0)
	var err error
	for t := range ordered {
		<-t.parsed
		if err == nil {
			err = errors.Join(t.err, ev.take(&t.batch, lines))
		}
		lines += t.batch.lines
		free <- t
	}
	return ev, errors.Join(readErr, err)
}

// dealChunks hands every chunk to the workers and, in the order of the file, to the taker.
func dealChunks(src io.Reader, free <-chan *task, unparsed, ordered chan<- *task) error {
	in := chunker{src: src}
	for {
		t := <-free
		if t.buf == nil {
			t.buf = make([]byte, 0, chunkSize)
		}
		chunk, err := in.next(t.buf)
		if err != nil {
			return fileError(eventsFile, err)
		}
		if len(chunk) == 0 {
			return nil
		}
		t.chunk = chunk
		unparsed <- t
		ordered <- t
	}
}

// take appends a batch; lines is how many the chunks before it had.
func (ev *events) take(b *batch, lines int64) error {
	if ev.total+len(b.events) > maxEvents {
		return fmt.Errorf("%s: more than %d rows", eventsFile, int64(maxEvents))
	}
	ev.total += len(b.events)
	ev.strangers += b.strangers
	for _, bad := range b.malformed {
		ev.malformed = append(ev.malformed, BadRow{bad.Line + lines, bad.Reason})
	}
	for i := range b.events {
		ev.perKey[b.events[i].key]++
	}
	for rest := b.events; len(rest) > 0; {
		last := len(ev.segments) - 1
		if last < 0 || len(ev.segments[last]) == segmentRows {
			ev.segments = append(ev.segments, make([]event, 0, segmentRows))
			last++
		}
		n := min(len(rest), segmentRows-len(ev.segments[last]))
		ev.segments[last] = append(ev.segments[last], rest[:n]...)
		rest = rest[n:]
	}
	return nil
}

// guarded turns a panic into an error: the Go runtime would end the process with status 2, which has a meaning here.
func guarded(work func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			stack := make([]byte, 4096)
			err = fmt.Errorf("panic: %v\n%s", reason, stack[:runtime.Stack(stack, false)])
		}
	}()
	return work()
}
