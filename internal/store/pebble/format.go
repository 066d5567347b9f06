package pebble

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"hapax/internal/store"
)

// format is the version of what this package writes. A store of a later one is refused; one of an earlier one is read, verified and
// backed up as it is, and raised by Open and Restore.
//
//	1: the first.
//	2: the log of the gateway may hold records that a program of format 1 can't fold; each tenant's events have an index.
const format = 2

const formatWord = "hapax-store "

// raises rewrite, by the format that they make, what a store of the one before holds in another form. Each may run again after a start that was
// cut off, on what it left.
var raises = map[int][]func(*Store) error{2: {(*Store).indexTenants}}

// formatLine is the content of the file that says the format.
func formatLine(version int) []byte { return fmt.Appendf(nil, "%s%d\n", formatWord, version) }

// checkFormat reads the format before anything is touched. It is 0 where the folder holds no store.
func (f folder) checkFormat() (version int, err error) {
	if cut, err := f.has(fileIncomplete); err != nil || cut {
		if err == nil {
			err = fmt.Errorf("%w: %s holds a backup or restore that was cut off; empty the folder and do it again", store.ErrDamage, f.dir)
		}
		return 0, err
	}
	line, err := f.read(fileFormat)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(string(line)), formatWord)
	version, err = strconv.Atoi(text)
	switch {
	case !ok || err != nil || version < 1 || !strings.HasSuffix(string(line), "\n"):
		return 0, fmt.Errorf("%w: %s isn't a line %q", store.ErrDamage, f.path(fileFormat), formatWord+strconv.Itoa(format))
	case version > format:
		return 0, fmt.Errorf("%w: %s has format %d, this program knows up to %d", store.ErrNewer, f.dir, version, format)
	}
	return version, nil
}

// raise makes a store of an earlier format one of this. The line comes first: from then on a program of the earlier format refuses the
// folder, whatever is half done. The row of the identity, which begin writes, comes last: where it names the earlier format, all is done again.
func (s *Store) raise(version int) error {
	if version > 0 && version < format {
		if err := s.folder.replace(fileFormat, formatLine(format)); err != nil {
			return err
		}
		s.opts.Logger.Info("the store is raised to a later format; earlier versions of this program refuse it from now on", "from", version, "to", format)
	}
	for v := s.self.Format + 1; v <= format; v++ {
		for _, step := range raises[v] {
			if err := step(s); err != nil {
				return fmt.Errorf("raising the store to format %d: %w", v, err)
			}
		}
	}
	s.self.Format = format
	return nil
}
