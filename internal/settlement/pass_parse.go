package settlement

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"
)

// chunk is a piece of events.tsv: whole lines, in a buffer to be given back.
type chunk struct {
	index  int
	data   []byte
	buffer []byte
}

// parsePass reads events.tsv in one goroutine and parses it in several.
func (in *inputs) parsePass(ctx context.Context, r reading, g *gathering) error {
	group, ctx := errgroup.WithContext(ctx)
	chunks := make(chan chunk, r.workers)
	free := make(chan []byte, r.buffers())
	for range cap(free) {
		free <- make([]byte, r.sizes.chunk)
	}
	group.Go(func() error {
		return guard(func() error {
			defer close(chunks)
			return in.readChunks(ctx, r, chunks, free)
		})
	})
	for range r.workers {
		group.Go(func() error {
			return guard(func() error {
				p := &parser{policy: &in.policy, registry: in.registry}
				for c := range chunks {
					s := p.parse(c.index, c.data)
					free <- c.buffer
					if err := g.add(s); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	return group.Wait()
}

func (in *inputs) readChunks(ctx context.Context, r reading, chunks chan<- chunk, free <-chan []byte) error {
	source := chunker{file: in.events}
	done := int64(0)
	for index := 0; ; index++ {
		var buffer []byte
		select {
		case buffer = <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		data, err := source.next(buffer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return inputFault(EventsFile, err)
		}
		if done += int64(len(data)); r.progress != nil {
			r.progress(min(done, in.size), in.size)
		}
		select {
		case chunks <- chunk{index: index, data: data, buffer: buffer}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
