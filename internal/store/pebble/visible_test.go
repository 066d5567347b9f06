package pebble

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"hapax/internal/idem"
	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// TestNothingUnsyncedIsRead is case R29: while the log's sync is held, the row is in the database, and no reader sees it.
func TestNothingUnsyncedIsRead(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	var hold atomic.Bool // the next sync of the log
	o := small()
	o.FS = errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData && strings.HasSuffix(op.Path, ".log") && hold.CompareAndSwap(true, false) {
			close(held)
			<-release
		}
		return nil
	}))
	s, err := Open("/data", o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	send(t, s, "1")
	look := func() (head int64, known bool) {
		err := s.View(t.Context(), func(v store.View) error {
			st, err := v.Room("r")
			if err != nil {
				return err
			}
			head = st.Head
			_, known, err = v.Result(idem.Key{Room: "r", Actor: "ann", ID: "2"})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return head, known
	}
	hold.Store(true)
	done := make(chan error, 1)
	go func() {
		_, err := s.Commit(context.Background(), &store.Batch{Judge: room.Decide, Commands: []room.Command{storetest.Send("r", "ann", "2", "2")}})
		done <- err
	}()
	<-held
	if head, known := look(); head != 1 || known {
		t.Errorf("before its sync a reader sees head %d, result %v", head, known)
	}
	if row, _, err := loadRoom(s.db, "r"); err != nil || row.Head != 2 {
		t.Errorf("the row isn't in the database either: the test sees nothing (%d, %v)", row.Head, err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if head, known := look(); head != 2 || !known {
		t.Errorf("after its sync a reader sees head %d, result %v", head, known)
	}
}
