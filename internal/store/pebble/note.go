package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/gateway"
)

// note is the last head known to be on disk, kept outside the database: a database that is found behind it went back.
type note struct {
	turn     uint64 // counts the writings
	epoch    string
	commits  uint64
	manifest manifestMark
	log      logEnd
}

// logEnd is the last record of the gateway's log.
type logEnd struct {
	number int64
	hash   gateway.Hash
}

// noted is what there is to note after a commit.
type noted struct {
	commits uint64
	log     logEnd
}

// The note is written in place, by turns into two slots a page apart: a write that a power cut tears costs the older of the two at
// most. lenSlot bounds a line; offSlot is a page, so that the two never share a sector.
const (
	lenSlot = 512
	offSlot = 4096
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The words of a note. Those of format 1 end before the log.
const (
	noteForm = "hapax-head turn=%d epoch=%s commits=%d manifest=%s size=%d"
	logForm  = " log=%d hash=%x"
)

// line is a slot: words and a checksum, to be read by people too.
func (n note) line() []byte {
	text := fmt.Sprintf(noteForm+logForm, n.turn, n.epoch, n.commits, orDash(n.manifest.name), n.manifest.size, n.log.number, n.log.hash[:])
	line := fmt.Appendf(nil, "%s crc=%08x\n", text, crc32.Checksum([]byte(text), castagnoli))
	return append(line, bytes.Repeat([]byte{' '}, max(0, lenSlot-len(line)))...)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// slots is a whole file with the note in both slots.
func (n note) slots() []byte {
	file := bytes.Repeat([]byte{' '}, offSlot+lenSlot)
	copy(file, n.line())
	copy(file[offSlot:], n.line())
	return file
}

func parseNote(slot []byte) (n note, ok bool) {
	line, _, _ := bytes.Cut(slot, []byte{'\n'})
	text, sum, found := bytes.Cut(line, []byte(" crc="))
	if !found || fmt.Sprintf("%08x", crc32.Checksum(text, castagnoli)) != string(sum) {
		return n, false
	}
	if _, err := fmt.Sscanf(string(text), noteForm, &n.turn, &n.epoch, &n.commits, &n.manifest.name, &n.manifest.size); err != nil {
		return n, false
	}
	if at := bytes.Index(text, []byte(" log=")); at >= 0 {
		var hash []byte
		if _, err := fmt.Sscanf(string(text[at:]), logForm, &n.log.number, &hash); err != nil || copy(n.log.hash[:], hash) != len(n.log.hash) {
			return n, false
		}
	}
	return n, true
}

// readNote returns the newer of the two slots that can be read.
func (f folder) readNote(name string) (n note, ok bool, err error) {
	file, err := f.read(name)
	if err != nil {
		return n, false, err
	}
	for _, at := range []int{0, offSlot} {
		if at >= len(file) {
			continue
		}
		if m, good := parseNote(file[at:min(len(file), at+lenSlot)]); good && (!ok || m.turn > n.turn) {
			n, ok = m, true
		}
	}
	return n, ok, nil
}

// noter writes the note beside the commits.
type noter struct {
	file  vfs.File
	last  note
	every time.Duration
	guard *guard
	wake  chan noted // holds the newest head not yet noted
	stop  chan struct{}
	done  chan struct{}
}

func (f folder) startNoter(name string, n note, every time.Duration, g *guard) (*noter, error) {
	file, err := f.fs.OpenReadWrite(f.path(name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	r := &noter{file: file, last: n, every: every, guard: g, wake: make(chan noted, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go r.run()
	return r, nil
}

// synced tells the noter of commits on disk. It is called by one goroutine at a time, and never waits for the disk unless every commit is
// to be noted.
func (r *noter) synced(h noted) {
	select {
	case <-r.wake:
	default:
	}
	r.wake <- h
}

func (r *noter) run() {
	defer close(r.done)
	for {
		select {
		case h := <-r.wake:
			r.write(h)
		case <-r.stop:
			r.writeLast()
			return
		}
		if r.every > 0 {
			pause := time.NewTimer(r.every)
			select {
			case <-pause.C:
			case <-r.stop:
				pause.Stop()
			}
		}
	}
}

func (r *noter) write(h noted) {
	r.last.turn++
	r.last.commits, r.last.log = h.commits, h.log
	if m := r.guard.synced(); m.name != "" {
		r.last.manifest = m
	}
	at := int64(r.last.turn%2) * offSlot
	_, err := r.file.WriteAt(r.last.line(), at)
	if err = errors.Join(err, r.file.SyncData()); err != nil {
		r.guard.fail(err)
	}
}

// writeLast notes what isn't noted yet: commits, or a manifest that a compaction made longer after the last of them.
func (r *noter) writeLast() {
	select {
	case h := <-r.wake:
		r.write(h)
	default:
		if m := r.guard.synced(); m.name != "" && m != r.last.manifest {
			r.write(noted{r.last.commits, r.last.log})
		}
	}
}

// close writes what isn't noted yet. It comes after the database was closed, which may still make the manifest longer.
func (r *noter) close() error {
	close(r.stop)
	<-r.done
	return r.file.Close()
}
