package audit

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

const (
	maxLine   = 65_536  // bytes of a line without mark and line end (docs/spec/contract.md, section 1)
	chunkSize = 1 << 18 // bytes read at once: large enough to hide the cost of a hand-over, small enough for caches
	keptLine  = 70_000  // bytes kept of a line that fills a whole chunk: enough to see that it's over maxLine
)

var byteOrderMark = []byte("\xEF\xBB\xBF")

// errUTF16 is of a file that begins with a byte-order mark of UTF-16.
var errUTF16 = errors.New("UTF-16, by the byte-order mark at its beginning, where UTF-8 is needed")

func inUTF16(start []byte) bool {
	return len(start) >= 2 && (start[0] == 0xFF && start[1] == 0xFE || start[0] == 0xFE && start[1] == 0xFF)
}

// chunker cuts a stream into runs of whole lines without ever holding a line longer than a chunk.
type chunker struct {
	src     io.Reader
	rest    []byte // the start of a line whose end isn't read yet
	begun   bool   // the byte-order mark was looked for
	ended   bool   // the source has no more
	dropped bool   // inside an over-long line: its bytes are dropped up to its LF
}

// next fills buf, whose capacity is the chunk's size, with whole lines; only the file's last may lack its LF.
// An empty chunk is the end.
func (c *chunker) next(buf []byte) ([]byte, error) {
	buf = append(buf[:0], c.rest...)
	c.rest = c.rest[:0]
	for !c.ended {
		n, err := c.src.Read(buf[len(buf):cap(buf)])
		buf = c.keep(buf, buf[len(buf):len(buf)+n])
		if err == io.EOF {
			c.ended = true
		} else if err != nil {
			return nil, err
		}
		if len(buf) < cap(buf) {
			continue
		}
		if cut := bytes.LastIndexByte(buf, '\n'); cut >= 0 {
			c.rest = append(c.rest, buf[cut+1:]...)
			buf = buf[:cut+1]
			break
		}
		buf, c.dropped = buf[:keptLine], true
	}
	if !c.begun {
		c.begun = true
		if inUTF16(buf) {
			return nil, errUTF16
		}
		buf = bytes.TrimPrefix(buf, byteOrderMark)
	}
	return buf, nil
}

// keep appends what was just read behind buf, less what belongs to an over-long line.
func (c *chunker) keep(buf, fresh []byte) []byte {
	if c.dropped {
		end := bytes.IndexByte(fresh, '\n')
		if end < 0 {
			return buf
		}
		c.dropped = false
		fresh = fresh[:copy(fresh, fresh[end:])]
	}
	return buf[:len(buf)+len(fresh)]
}

// cutLine takes the first line off a chunk; one CR before the line's end or before the file's belongs to the end.
func cutLine(chunk []byte) (line, rest []byte) {
	line = chunk
	if end := bytes.IndexByte(chunk, '\n'); end >= 0 {
		line, rest = chunk[:end], chunk[end+1:]
	}
	return bytes.TrimSuffix(line, []byte{'\r'}), rest
}

// broken tells whether a line breaks every rule, comment or not.
func broken(line []byte) bool { return len(line) > maxLine || !utf8.Valid(line) }

// skipped tells whether an unbroken line is blank or a comment.
func skipped(line []byte) bool {
	if len(line) > 0 && line[0] > ' ' {
		return line[0] == '#'
	}
	return len(bytes.Trim(line, " \t")) == 0
}

// eachRow calls take with every row's number, counted from 1 with the skipped lines, and its columns, which are
// valid during the call; columns of nil are a line that breaks every rule.
func eachRow(src io.Reader, take func(line int, columns [][]byte) error) error {
	in := chunker{src: src}
	buf := make([]byte, 0, chunkSize)
	columns := make([][]byte, 0, 16)
	for number := 0; ; {
		chunk, err := in.next(buf)
		if err != nil || len(chunk) == 0 {
			return err
		}
		for len(chunk) > 0 {
			var line []byte
			line, chunk = cutLine(chunk)
			number++
			if broken(line) {
				err = take(number, nil)
			} else if !skipped(line) {
				columns = splitTabs(columns[:0], line)
				err = take(number, columns)
			}
			if err != nil {
				return err
			}
		}
	}
}

func splitTabs(into [][]byte, line []byte) [][]byte {
	for {
		tab := bytes.IndexByte(line, '\t')
		if tab < 0 {
			return append(into, line)
		}
		into, line = append(into, line[:tab]), line[tab+1:]
	}
}
