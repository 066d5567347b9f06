//go:build !js

package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gofrs/flock"
	"github.com/ncruces/go-sqlite3"

	"hapax/client/ids"
	"hapax/client/store"
)

// Options of a store.
type Options struct {
	store.Claimant
	Limits store.Limits
	Key    []byte // 32 bytes: bodies are sealed with it (see the package's doc); nil: they are not
	// Encrypt seals a store that holds bodies in the clear, all in one transaction. Without it such a store is refused with
	// store.ErrNotEncrypted: who can write the file could have put them there, to be sent as if the app had.
	Encrypt bool

	vfs    string // tests: the name of a VFS
	pragma string // tests: run after ours
	lock   locker // tests: in place of the file
	last   int    // tests: the version to stop at
}

// locker is the drainer's lock. The kernel frees that of a dead process.
type locker interface {
	TryLock() (bool, error)
	Unlock() error
}

// Store is one handle on a file. It implements store.Store.
type Store struct {
	limits   store.Limits
	path     string
	device   ids.Device
	handle   store.Handle
	report   store.Report
	seal     *sealer
	encrypt  bool // Options.Encrypt
	claimant store.Claimant
	unowned  bool // opened for nobody in particular, with rows that are nobody's

	closing chan struct{} // closed by Close, before it waits for mu
	shut    sync.Once
	busy    waiting // guarded by mu

	mu      sync.Mutex
	db      *db
	lock    locker
	sealed  bool // the store is known to be sealed with this handle's key
	closed  bool
	weights map[string]weight // of rooms, since this handle drains
	fence   int64             // the fence under which this handle drains, 0 if it doesn't
	doubt   []int64           // found Sending by the last Drain
	seen    int64             // data_version as of the last Changed
}

var _ store.Store = (*Store)(nil)

// Open opens the store at a path, made where there is none. Errors: store.ErrCorrupt for a file that isn't a readable store, store.ErrIncompatible
// for one of a newer version, store.ErrWrongKey, store.ErrNotEncrypted,
// store.ErrWrongStore, store.ErrUnowned, store.ErrBusy
// where another process has held the file's lock for 10 s; others mean that the machine failed. None of them changes the file.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := newStore(o)
	path, err := s.connect(path, o)
	s.path = path
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	if err := s.prepare(o); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, err), s.db.close())
	}
	return s, nil
}

// connect opens the file, and changes nothing in it.
func (s *Store) connect(path string, o Options) (string, error) {
	if path == "" {
		return path, errors.New("no path")
	}
	var err error
	if o.Key != nil {
		if s.seal, err = newSealer(o.Key); err != nil {
			return path, err
		}
	}
	name := "file:" + path + "?vfs=" + o.vfs
	if o.vfs == "" {
		if path, err = filepath.Abs(path); err != nil {
			return path, err
		}
		if name, err = private(path); err != nil {
			return path, err
		}
	}
	s.lock = o.lock
	if s.lock == nil {
		// SetPermissions: who may write the store may drain it. The file is never deleted: another process may hold it open.
		s.lock = flock.New(path+".lock", flock.SetPermissions(0o600))
	}
	conn, err := sqlite3.OpenFlags(name, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE|sqlite3.OPEN_URI)
	if err != nil {
		return path, broken(err)
	}
	s.db = &db{conn: conn, stmts: map[string]*sqlite3.Stmt{}}
	return path, nil
}

// private makes the file where there is none, readable by its owner only, and returns the name by which SQLite gives its
// journals the same rights.
func private(path string) (name string, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") { // a drive letter
		slashed = "/" + slashed
	}
	// SQLite knows no "+" for a space.
	u := url.URL{Scheme: "file", Path: slashed, OmitHost: true, RawQuery: "modeof=" + strings.ReplaceAll(url.QueryEscape(path), "+", "%20")}
	return u.String(), f.Close()
}

// prepare looks at the file before it touches it, then brings it to this version.
func (s *Store) prepare(o Options) error {
	d, last := s.db, store.Version
	if o.last != 0 {
		last = o.last
	}
	if err := s.waitForLocks(); err != nil {
		return err
	}
	version, err := d.inspect()
	switch {
	case err != nil:
		return err
	case version > last:
		return fmt.Errorf("%w (its version is %d, the newest known is %d)", store.ErrIncompatible, version, last)
	case version > 0:
		if _, err := d.claims(s.claimant); err != nil { // before the migration, which writes
			return err
		}
		if err := errors.Join(s.checkKey(), s.checkEncrypted()); err != nil {
			return err
		}
		s.report = store.Report{From: version, To: last}
	default:
		s.report = store.Report{Created: true, From: last, To: last}
	}
	if err := d.configure(o.pragma); err != nil {
		return err
	}
	if err := d.migrate(version, last); err != nil {
		return err
	}
	tables, err := d.check()
	if err != nil {
		return err
	}
	if last == store.Version && tables != len(smallTables) {
		return fmt.Errorf("%w: it lacks a table", store.ErrCorrupt)
	}
	return s.load(last)
}

// load reads what the handle keeps, once the rows can be read.
func (s *Store) load(version int) (err error) {
	if err := s.enableKey(); err != nil {
		return err
	}
	if err := s.claim(); err != nil {
		return err
	}
	if s.report.SetAside, err = s.setAsideUnreadable(); err != nil {
		return err
	}
	if version >= 2 {
		if err := s.loadDevice(); err != nil {
			return err
		}
	}
	if s.seen, err = s.db.int(`PRAGMA data_version`); err == nil {
		s.busy.opened = true
	}
	return err
}

func (s *Store) loadDevice() error {
	raw, err := s.db.meta("device")
	if err != nil {
		return err
	}
	b, ok := raw.([]byte)
	if !ok || len(b) != ids.Size {
		return fmt.Errorf("%w: its device is not 16 bytes", store.ErrCorrupt)
	}
	s.device = ids.Device(b)
	return nil
}

func newStore(o Options) *Store {
	s := &Store{limits: o.Limits.OrDefault(), encrypt: o.Encrypt, claimant: o.Claimant, closing: make(chan struct{})}
	rand.Read(s.handle[:])
	return s
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.shut.Do(func() { close(s.closing) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	// The lock goes last: the next drainer finds a closed file.
	return errors.Join(s.db.close(), s.undrain())
}
