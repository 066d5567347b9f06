package settlement

import (
	"bufio"
	"io"
	"os"
	"sync"
)

// scratch is one file without a name for what doesn't fit the memory; it is gone with the process, however that
// ends. It is made on the first use.
type scratch struct {
	folder string

	mu   sync.Mutex
	file *os.File
	size int64
}

// scratchBuffer is large enough that writing and reading go in large steps.
const scratchBuffer = 128 << 10

// append adds what write writes as one piece and returns its place and size.
func (s *scratch) append(write func(w *bufio.Writer) error) (place, size int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		if err := s.create(); err != nil {
			return 0, 0, err
		}
	}
	out := io.NewOffsetWriter(s.file, s.size)
	w := bufio.NewWriterSize(out, scratchBuffer)
	if err := write(w); err != nil {
		return 0, 0, err
	}
	if err := w.Flush(); err != nil {
		return 0, 0, err
	}
	if size, err = out.Seek(0, io.SeekCurrent); err != nil {
		return 0, 0, err
	}
	place = s.size
	s.size += size
	return place, size, nil
}

func (s *scratch) create() error {
	file, err := os.CreateTemp(s.folder, ".hapax-scratch-*")
	if err != nil {
		return err
	}
	s.file = file
	return os.Remove(file.Name())
}

// read returns a reader of one piece.
func (s *scratch) read(place, size int64) *io.SectionReader {
	return io.NewSectionReader(s.file, place, size)
}

func (s *scratch) close() {
	if s.file != nil {
		s.file.Close()
	}
}
