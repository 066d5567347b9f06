package online

import (
	"math/rand/v2"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hapax/internal/store/pebble"
)

// OnPebble is a medium of the embedded store: a file system in memory that keeps what was synced, and loses the rest of a power cut's choosing.
type OnPebble struct{ fs *vfs.MemFS }

// NewOnPebble makes an empty one.
func NewOnPebble() Medium { return OnPebble{vfs.NewCrashableMem()} }

const dataFolder = "data"

// Open opens it.
func (m OnPebble) Open() (Store, error) {
	// Tables so small that merges go on all the time.
	return pebble.Open(dataFolder, pebble.Options{FS: m.fs, CacheBytes: 1 << 20, MemTableBytes: 64 << 10})
}

// Cut keeps of what wasn't synced none, all or any part.
func (m OnPebble) Cut(r *rand.Rand) (Medium, error) {
	c := vfs.CrashCloneCfg{UnsyncedDataPercent: pick(r, 0, 0, 50, 100), RNG: r}
	return OnPebble{m.fs.CrashClone(c)}, nil
}
