package pebble

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"hapax/internal/store"
)

// A mark tells the folder in which the store wrote from a copy of it.
//
// Every opening makes two new files, a mark and a head note, under names of their own, and records inside the database which
// they are: the mark's inode and ctime, the note's inode. A folder that was copied back by hand has other inodes; one that
// was overwritten in place has another ctime, which no program can set; an older copy laid over a newer one names files that
// aren't there or aren't the same. Each of these is a new epoch. A restart, a kill -9 and a power cut leave all as recorded.
//
// What can't be told: a disk image or a snapshot of the whole file system that was put back, inodes and all, and the note
// with it. After that the operator has to say so (hapax restore). What is told without need: chown -R or chmod -R over the folder
// changes the ctime, so a new epoch begins; readers get a snapshot each, nothing is lost.
//
// A folder renamed away and back, or an older one renamed back that was the original, keeps its epoch, and rightly: the rows of that
// epoch are its own, since the copy that went on meanwhile did so under another epoch.

// fileIdentity is what the system says of a file. All zero: it says nothing.
type fileIdentity struct {
	Inode uint64 `json:"inode"`
	Sec   int64  `json:"sec"`  // ctime
	Nsec  int64  `json:"nsec"` // ctime; 0 where the file system keeps seconds only
}

// same compares two readings. An old file system forgets the part below a second when it is mounted again.
func (a fileIdentity) same(b fileIdentity) bool {
	return a.Inode == b.Inode && a.Sec == b.Sec && (a.Nsec == b.Nsec || a.Nsec == 0 || b.Nsec == 0)
}

// self is the row that says what this store is.
type self struct {
	Format    int          `json:"format"`
	Server    string       `json:"server"`
	Epochs    []string     `json:"epochs"` // all there were; a result names its own by its place here
	Life      string       `json:"life"`   // of the present opening: names its mark and note
	Mark      fileIdentity `json:"mark"`
	NoteInode uint64       `json:"noteInode"`
}

func (s *self) epoch() string { return s.Epochs[len(s.Epochs)-1] }

func readSelf(value []byte) (*self, error) {
	var s self
	if err := json.Unmarshal(value, &s); err != nil || s.Server == "" || len(s.Epochs) == 0 || s.epoch() == "" {
		return nil, fmt.Errorf("%w: the row of the store's identity can't be read", store.ErrDamage)
	}
	if s.Format > format {
		return nil, fmt.Errorf("%w: it has format %d, this program knows %d", store.ErrNewer, s.Format, format)
	}
	return &s, nil
}

// moved says why this folder isn't the one in which the store last wrote, or went back since; "" where it is and didn't.
func (f folder) moved(s *self, c counts, o *Options) (reason string, err error) {
	mark, err := o.identify(f.fs, f.path(prefixMark+s.Life))
	if errors.Is(err, os.ErrNotExist) {
		return "the folder's mark is missing", nil
	}
	if err != nil {
		return "", err
	}
	note, err := o.identify(f.fs, f.path(prefixNote+s.Life))
	if errors.Is(err, os.ErrNotExist) {
		return "the head note is missing", nil
	}
	if err != nil {
		return "", err
	}
	switch {
	case !mark.same(s.Mark):
		return "the folder is a copy", nil
	case note.Inode != s.NoteInode:
		return "the head note is a copy", nil
	}
	n, ok, err := f.readNote(prefixNote + s.Life)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "the head note can't be read", nil
	case n.epoch != s.epoch():
		return "the head note names another epoch", nil
	case n.commits > c.commits:
		return fmt.Sprintf("the store is at commit %d, behind %d that was noted", c.commits, n.commits), nil
	}
	return "", nil
}

// newLife makes the mark and the note of a new opening, and puts them into s. Nothing counts until s is stored.
func (f folder) newLife(s *self, n note, o *Options) error {
	s.Life = rand.Text()[:16]
	if err := f.write(prefixMark+s.Life, []byte("Tells this folder from a copy. Leave it alone.\n")); err != nil {
		return err
	}
	if err := f.write(prefixNote+s.Life, n.slots()); err != nil {
		return err
	}
	mark, err := o.identify(f.fs, f.path(prefixMark+s.Life))
	if err != nil {
		return err
	}
	noteID, err := o.identify(f.fs, f.path(prefixNote+s.Life))
	if err != nil {
		return err
	}
	s.Mark, s.NoteInode = mark, noteID.Inode
	return nil
}

// forget drops marks and notes of former openings. Those that stay don't harm.
func (f folder) forget(life string) {
	names, err := f.fs.List(f.dir)
	if err != nil {
		return
	}
	for _, n := range names {
		old := strings.HasPrefix(n, prefixMark) || strings.HasPrefix(n, prefixNote)
		if old && n != prefixMark+life && n != prefixNote+life {
			_ = f.fs.Remove(f.path(n))
		}
	}
}
