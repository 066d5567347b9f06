package pebble

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"

	lsm "github.com/cockroachdb/pebble/v2"

	"hapax/internal/store"
)

// Open opens the store in a folder, and makes one where the folder is empty or missing. It begins a new epoch where the store is
// new, restored, a copy, or behind its head note. A store of an earlier format is raised to this one.
//
// Errors: store.ErrLocked (another process has it), store.ErrNewer (a later version wrote it; nothing was changed),
// store.ErrDamage (a file is cut, missing or not ours; the text names it), and what the file system says.
func Open(dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{opts: o, folder: folder{fs: o.FS, dir: dir}, guard: newGuard(o.FS), writer: make(chan struct{}, 1)}
	version, err := s.folder.checkFormat()
	if err != nil {
		return nil, err
	}
	if err := s.folder.make(); err != nil {
		return nil, fmt.Errorf("make %s: %w", dir, err)
	}
	if s.lock, err = s.folder.lock(); err != nil {
		return nil, err
	}
	if err := s.openOrGiveBack(version); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// openOrGiveBack leaves nothing behind on the disk where the opening fails for want of room.
func (s *Store) openOrGiveBack(version int) error {
	s.disk = s.opts.measureDisk(s.folder.fs, s.folder.dir)
	s.guard.disk, s.guard.dir = s.disk, s.folder.path("")
	if version > 0 {
		if err := s.roomToOpen(); err != nil {
			return err
		}
	}
	had := s.folder.databaseFiles()
	err := s.open(version)
	if err == nil {
		go s.disk.watch(s.db)
		s.startReclaiming()
		return nil
	}
	close(s.disk.stop)
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
	}
	return s.full(err, had)
}

// open opens a folder whose format file names a version, 0 where there is none.
func (s *Store) open(version int) error {
	found := version > 0
	exists, err := s.folder.checkDatabase(found)
	if err != nil {
		return err
	}
	if exists {
		if err := s.folder.checkManifest(); err != nil {
			return err
		}
	}
	if s.db, err = openDatabase(s.folder.path(folderDB), s.opts.database(s.guard), s.guard); err != nil {
		return err
	}
	sums, err := s.load(found)
	if err != nil {
		return err
	}
	if err := s.raise(version); err != nil {
		return err
	}
	if err := s.begin(sums); err != nil {
		return err
	}
	if err := s.ensureManifest(); err != nil {
		return err
	}
	if !found {
		if err := s.folder.replace(fileFormat, formatLine(format)); err != nil {
			return err
		}
	}
	s.folder.forget(s.self.Life)
	s.w.init(s, sums)
	s.sums.Store(&sums)
	s.publish()
	return s.broken()
}

// ensureManifest has Pebble begin a manifest where opening didn't: it begins one with what it replays, and a folder whose log was lost has nothing to
// replay. Until then a checkpoint would hold an empty manifest, with which nothing can be opened.
func (s *Store) ensureManifest() error {
	if s.guard.synced().name != "" {
		return nil
	}
	return s.db.Flush() // of what begin wrote
}

// openDatabase opens Pebble. What went wrong with the disk comes first; a panic on bytes it can't read is damage.
func openDatabase(path string, opts *lsm.Options, g *guard) (db *lsm.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("%w: %s: %v", store.ErrDamage, path, r)
		}
	}()
	db, err = lsm.Open(path, opts)
	if g != nil && g.failure() != nil {
		if db != nil {
			_ = db.Close()
		}
		return nil, fmt.Errorf("open %s: %w", path, g.failure())
	}
	if err == nil {
		return db, nil
	}
	if system := syscall.Errno(0); errors.As(err, &system) && system != syscall.ENOENT {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return nil, fmt.Errorf("%w: %s: %v", store.ErrDamage, path, err) // it read all, and doesn't like it
}

// load reads what the store is. A database without that row is one whose making was cut off before anything was stored.
func (s *Store) load(found bool) (c counts, err error) {
	value, ok, err := get(s.db, selfKey)
	if err != nil {
		return c, err
	}
	if !ok {
		if found {
			return c, fmt.Errorf("%w: %s holds no identity", store.ErrDamage, s.folder.path(folderDB))
		}
		s.self = &self{Format: format, Server: rand.Text(), Epochs: []string{rand.Text()}}
		s.begun = "a new store"
		return c, nil
	}
	if s.self, err = readSelf(value); err != nil {
		return c, err
	}
	if value, ok, err = get(s.db, countsKey); err != nil || !ok {
		return c, err
	}
	if c, err = readCounts(value); err != nil {
		return c, err
	}
	if s.begun, err = s.folder.moved(s.self, c, &s.opts); err != nil {
		return c, err
	}
	if s.lost, err = s.folder.lostLog(s.self, s.db); err != nil {
		return c, err
	}
	if s.begun == "" && s.lost.From > 0 {
		s.begun = "the gateway's log went back" // and the rooms with it, as both lie in one database
	}
	if s.begun != "" {
		s.self.Epochs = append(s.self.Epochs, rand.Text())
	}
	return c, nil
}

// begin records this opening: mark and note first, then the row that names them, synced, and with it what the log lost: the note that told
// so goes when the opening is whole.
func (s *Store) begin(c counts) error {
	h, err := loadHead(s.db)
	if err != nil {
		return err
	}
	first := note{epoch: s.self.epoch(), commits: c.commits, log: logEnd{h.Number, h.Hash}}
	if err := s.folder.newLife(s.self, first, &s.opts); err != nil {
		return err
	}
	row, err := json.Marshal(s.self)
	if err != nil {
		return err
	}
	batch := s.db.NewBatch()
	defer batch.Close()
	_ = batch.Set(selfKey, row, nil) // a batch that isn't indexed can't fail
	if s.lost.From > 0 {
		h.Lost = h.Lost.Merge(s.lost)
		_ = batch.Set(headKey, appendHead(nil, &h), nil)
	}
	if err := batch.Commit(lsm.Sync); err != nil {
		return err
	}
	if err := s.guard.failure(); err != nil {
		return err
	}
	s.identity = store.Identity{Server: s.self.Server, Epoch: s.self.epoch()}
	guarded := folder{fs: s.guard, dir: s.folder.dir}
	s.noter, err = guarded.startNoter(prefixNote+s.self.Life, first, s.opts.NoteEvery, s.guard)
	return err
}

// checkManifest refuses a database whose manifest is shorter than was noted. Pebble takes such a cut for the tail of a crash and
// would open without the tables that the lost part names: with a hole.
func (f folder) checkManifest() error {
	names, err := f.fs.List(f.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, prefixNote) {
			continue
		}
		n, ok, err := f.readNote(name)
		if err != nil {
			return err
		}
		if !ok || n.manifest.name == "-" {
			continue
		}
		path := f.fs.PathJoin(f.path(folderDB), n.manifest.name)
		info, err := f.fs.Stat(path)
		if err == nil && info.Size() < n.manifest.size {
			return fmt.Errorf("%w: %s has %d bytes, but %d were noted: it was cut; restore a backup", store.ErrDamage, path, info.Size(), n.manifest.size)
		}
	}
	return nil
}

// get copies a row.
func get(r lsm.Reader, key []byte) (value []byte, ok bool, err error) {
	v, closer, err := r.Get(key)
	if errors.Is(err, lsm.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, damage(err)
	}
	value = append([]byte(nil), v...)
	return value, true, closer.Close()
}

// damage marks an error of reading as damage where Pebble says that the bytes are wrong.
func damage(err error) error {
	if err != nil && lsm.IsCorruptionError(err) {
		return fmt.Errorf("%w: %w", store.ErrDamage, err)
	}
	return err
}
