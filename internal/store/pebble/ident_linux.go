package pebble

import (
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// identify reads what tells a file from a copy of it: a copy is another inode, and an inode that was overwritten has another
// ctime, which no program can set.
func identify(fs vfs.FS, path string) (fileIdentity, error) {
	if _, real := fs.(private); !real && fs != vfs.Default {
		_, err := fs.Stat(path) // a file system in memory has no inodes: the name alone must do
		return fileIdentity{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return fileIdentity{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileIdentity{}, nil
	}
	return fileIdentity{Inode: st.Ino, Sec: int64(st.Ctim.Sec), Nsec: int64(st.Ctim.Nsec)}, nil
}

// allocated is what a file takes on the disk, with what is reserved for it.
func allocated(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512 // whatever the file system's own blocks are
	}
	return info.Size()
}
