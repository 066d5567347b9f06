package serve

import (
	"fmt"

	"hapax/internal/store"
)

// diskStore is a store that knows how much room its disk has.
type diskStore interface {
	Disk() store.Disk
	// WatchDisk calls f with how the disk stands, now and whenever that passes the mark.
	WatchDisk(f func(store.Disk))
}

// watchDisk lets a disk that is nearly full be known to who asks whether the server is ready, and closes ingest: the store refuses sends itself.
func (s *server) watchDisk() {
	d, can := s.store.(diskStore)
	if !can {
		return
	}
	d.WatchDisk(func(d store.Disk) {
		s.diskLow.Store(d.Low)
		if !d.Low {
			s.health.Up("disk")
			return
		}
		s.health.Down("disk", fmt.Sprintf("the disk is nearly full: %d MB are free, and below %d MB nothing new is stored; make room, and it ends by itself", d.Free>>20, d.LowWater>>20))
	})
}
