package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// anchor is what an event is measured against: its key's predecessor.
type anchor struct {
	seen    int64
	scope   scope
	pending bool
}

// openings is opening.tsv: predecessors from an earlier period.
type openings struct {
	keys *keyTable
	rows []anchor
}

// readOpenings reads the file if it's there; a broken row, or a key twice, makes the whole file unreadable.
func readOpenings(dir string) (*openings, error) {
	open := &openings{keys: newKeyTable(0, 0)}
	path := filepath.Join(dir, openingFile)
	// Lstat, since a link that leads nowhere is there all the same: to pass over it would lose the predecessors.
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return open, nil
	}
	file, err := openFile(path, openingFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var text []byte
	err = eachRow(file, func(line int, columns [][]byte) error {
		row, ok := openingRow(columns)
		if !ok {
			return &UnreadableError{File: openingFile, Reason: fmt.Sprintf("line %d is broken", line)}
		}
		text = joinKey(text[:0], columns[0], columns[1], columns[2])
		if _, known := open.keys.add(text); known {
			return &UnreadableError{File: openingFile, Reason: fmt.Sprintf("line %d states a key again", line)}
		}
		open.rows = append(open.rows, row)
		return nil
	})
	var unreadable *UnreadableError
	if err != nil && !errors.As(err, &unreadable) {
		err = fileError(openingFile, err)
	}
	return open, err
}

func openingRow(columns [][]byte) (row anchor, ok bool) {
	if len(columns) != 6 || !tenantName(columns[0]) || !name(columns[1]) || !name(columns[2]) {
		return row, false
	}
	if row.scope, ok = statedScope(columns[3]); !ok {
		return row, false
	}
	if row.seen, ok = integer(columns[4]); !ok {
		return row, false
	}
	row.pending, ok = stateIsPending(columns[5])
	return row, ok
}

// of is the key's opening row, if it has one.
func (o *openings) of(text []byte) (anchor, bool) {
	if len(o.rows) == 0 {
		return anchor{}, false
	}
	if at, known := o.keys.find(text); known {
		return o.rows[at], true
	}
	return anchor{}, false
}
