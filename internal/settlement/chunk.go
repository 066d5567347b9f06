package settlement

import (
	"bytes"
	"errors"
	"io"
)

const (
	// maxLineBytes is contract.md, Inputs: mark and line end not counted.
	maxLineBytes = 65_536
	// chunkBytes is how much a worker parses at a time: large against the cost of handing it over, small against
	// the memory limit. It must hold more than the longest good line.
	chunkBytes = 1 << 20
	// longLineBytes is how much is kept of a line that is too long: enough for everyone to see that it is.
	longLineBytes = maxLineBytes + 16
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// errUTF16 is of a file that begins with a mark of UTF-16 (or of UTF-32 of the same order): none of its lines would be one.
var errUTF16 = errors.New("it is UTF-16, by the byte-order mark that it begins with; UTF-8 is needed")

func isUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff"))
}

// chunker cuts a file into pieces of whole lines.
type chunker struct {
	file  io.Reader
	carry []byte // the beginning of the next piece's first line
	begun bool
	ended bool
}

// next fills buf, which must hold more than longLineBytes, with whole lines and returns them; the last line of the
// file may lack its end. One leading byte-order mark is dropped, and so is what a line has beyond longLineBytes
// where it doesn't fit buf. At the end it returns io.EOF and no bytes.
func (c *chunker) next(buf []byte) ([]byte, error) {
	n := copy(buf, c.carry)
	c.carry = c.carry[:0]
	for !c.ended {
		if err := c.fill(buf, &n); err != nil {
			return nil, err
		}
		if c.ended {
			break
		}
		if end := bytes.LastIndexByte(buf[:n], '\n'); end >= 0 {
			c.carry = append(c.carry, buf[end+1:n]...)
			return buf[:end+1], nil
		}
		if err := c.shorten(buf, &n); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, io.EOF
	}
	return buf[:n], nil
}

// fill reads until buf is full or the file ends.
func (c *chunker) fill(buf []byte, n *int) error {
	for *n < len(buf) {
		m, err := c.file.Read(buf[*n:])
		*n += m
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		c.ended = err != nil
		if !c.begun && (*n >= len(byteOrderMark) || c.ended) {
			c.begun = true
			if isUTF16(buf[:*n]) {
				return errUTF16
			}
			if bytes.HasPrefix(buf[:*n], byteOrderMark) {
				*n = copy(buf, buf[len(byteOrderMark):*n])
			}
		}
		if c.ended {
			return nil
		}
	}
	return nil
}

// shorten cuts a line that fills buf: what follows longLineBytes is read and dropped up to the line's end.
func (c *chunker) shorten(buf []byte, n *int) error {
	rest := buf[longLineBytes:]
	*n = longLineBytes
	for {
		m, err := c.file.Read(rest)
		if end := bytes.IndexByte(rest[:m], '\n'); end >= 0 {
			*n += copy(rest, rest[end:m])
			return nil
		}
		if errors.Is(err, io.EOF) {
			c.ended = true
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// cutLine splits the first line off data and takes its end away: LF, and one CR directly before it or before the
// end of the file.
func cutLine(data []byte) (line, rest []byte) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		line, rest = data, nil
	} else {
		line, rest = data[:end], data[end+1:]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, rest
}

// eachLine calls take with every line of a file and its number, counted from 1. An error of take ends it.
func eachLine(file io.Reader, take func(number int64, line []byte) error) error {
	c := chunker{file: file}
	buf := make([]byte, chunkBytes)
	number := int64(0)
	for {
		data, err := c.next(buf)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for len(data) > 0 {
			var line []byte
			line, data = cutLine(data)
			number++
			if err := take(number, line); err != nil {
				return err
			}
		}
	}
}
