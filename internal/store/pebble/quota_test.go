package pebble

import (
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// quota is a disk of so many bytes, in memory. What a log reserves counts as taken.
type quota struct {
	vfs.FS
	mu       sync.Mutex
	size     int64
	used     int64
	reserved map[string]int64 // by path: of what is reserved or written
}

func newQuota(size int64) *quota {
	return &quota{FS: vfs.NewMem(), size: size, reserved: map[string]int64{}}
}

// resize makes the disk larger or smaller, and returns how much is free.
func (q *quota) resize(size int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.size = size
}

func (q *quota) free() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size - q.used
}

// fill leaves so much free.
func (q *quota) fill(free int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.size = q.used + free
}

func (q *quota) GetDiskUsage(string) (vfs.DiskUsage, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return vfs.DiskUsage{AvailBytes: uint64(max(0, q.size-q.used)), TotalBytes: uint64(q.size), UsedBytes: uint64(q.used)}, nil
}

// take makes a file as long as it is to be at least.
func (q *quota) take(name string, length int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	more := length - q.reserved[name]
	switch {
	case more <= 0:
		return nil
	case q.used+more > q.size:
		return syscall.ENOSPC
	}
	q.used += more
	q.reserved[name] = length
	return nil
}

func (q *quota) drop(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used -= q.reserved[name]
	delete(q.reserved, name)
}

func (q *quota) move(from, to string) {
	q.drop(to)
	q.mu.Lock()
	defer q.mu.Unlock()
	if n, there := q.reserved[from]; there {
		delete(q.reserved, from)
		q.reserved[to] = n
	}
}

func (q *quota) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	q.drop(name)
	f, err := q.FS.Create(name, c)
	return &quotaFile{File: f, q: q, name: name}, err
}

func (q *quota) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := q.FS.ReuseForWrite(from, to, c)
	if err == nil {
		q.move(from, to)
	}
	return &quotaFile{File: f, q: q, name: to}, err
}

func (q *quota) Remove(name string) error {
	err := q.FS.Remove(name)
	if err == nil {
		q.drop(name)
	}
	return err
}

func (q *quota) Rename(from, to string) error {
	err := q.FS.Rename(from, to)
	if err == nil {
		q.move(from, to)
	}
	return err
}

type quotaFile struct {
	vfs.File
	q    *quota
	name string
	at   int64
}

func (f *quotaFile) Write(p []byte) (int, error) {
	if err := f.q.take(f.name, f.at+int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.File.Write(p)
	f.at += int64(n)
	return n, err
}

func (f *quotaFile) Preallocate(offset, n int64) error { return f.q.take(f.name, offset+n) }
