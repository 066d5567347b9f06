package anchor

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// Head is the end of a log at a moment.
type Head struct {
	At     time.Time
	Number int64
	Hash   [32]byte // of the record of that number
}

// ErrForm wraps what is wrong with a file that isn't an anchor.
var ErrForm = errors.New("anchor: not a line of TIME NUMBER HASH")

// ErrEmpty says that a file holds no head. It comes wrapped in ErrForm too.
var ErrEmpty = fmt.Errorf("%w: no head", ErrForm)

const timeForm = "2006-01-02T15:04:05Z"

var (
	whole = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z) ([1-9][0-9]{0,18}) ([0-9a-f]{64})$`)
	// torn is what a crash may leave of a line: a beginning of one.
	torn = regexp.MustCompile(`^([0-9T:-]{0,19}|[0-9T:-]{19}Z( ([1-9][0-9]{0,18}( [0-9a-f]{0,63})?)?)?)$`)
)

// Line is a head as it stands in the file.
func (h Head) Line() []byte {
	return fmt.Appendf(nil, "%s %d %x\n", h.At.UTC().Format(timeForm), h.Number, h.Hash)
}

// Append adds a head to the file, and syncs it. Where there is none it is made for its owner only; one that is there keeps its mode.
func Append(path string, h Head) (err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("anchor: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	line := h.Line()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("anchor: %w", err)
	}
	if size > 0 {
		last := make([]byte, 1)
		if _, err := file.ReadAt(last, size-1); err != nil {
			return fmt.Errorf("anchor: %w", err)
		}
		if last[0] != '\n' { // what a crash left of a line ends here
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := file.Write(line); err != nil {
		return fmt.Errorf("anchor: %w", err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("anchor: %w", err)
	}
	if size == 0 {
		return syncFolder(filepath.Dir(path))
	}
	return nil
}

// syncFolder makes a new file's entry durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("anchor: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("anchor: %w", err)
	}
	return nil
}

// Read returns the heads of a file in the order in which they were noted. Lines that a crash cut off are passed by; any other line
// that is none is ErrForm, and a file without any head too: nothing can be told by it.
func Read(path string) ([]Head, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, fmt.Errorf("anchor %s: %w", path, err)
	}
	var heads []Head
	for number := 1; len(text) > 0; number++ {
		line, rest, ended := bytes.Cut(text, []byte{'\n'})
		text = rest
		h, ok := parse(line)
		switch {
		case ok && ended:
			heads = append(heads, h)
		case !ok && !torn.Match(line):
			return nil, fmt.Errorf("%w: %s, line %d", ErrForm, path, number)
		}
	}
	if len(heads) == 0 {
		return nil, fmt.Errorf("%w in %s", ErrEmpty, path)
	}
	return heads, nil
}

func parse(line []byte) (h Head, ok bool) {
	m := whole.FindSubmatch(line)
	if m == nil {
		return h, false
	}
	at, errTime := time.Parse(timeForm, string(m[1]))
	number, errNumber := strconv.ParseInt(string(m[2]), 10, 64)
	_, errHash := hex.Decode(h.Hash[:], m[3])
	h.At, h.Number = at, number
	return h, errors.Join(errTime, errNumber, errHash) == nil
}
