package pebble

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/storetest"
)

// onQuota is a store on a disk of so many bytes.
func onQuota(size int64) (spot, *quota) {
	q := newQuota(size)
	return spot{dir: "/data", opts: Options{FS: q, CacheBytes: 1 << 20}}, q
}

// sendText commits a message of so many bytes that don't compress.
func sendText(t testing.TB, s *Store, id string, bytes int) error {
	t.Helper()
	text := make([]byte, bytes)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(id))).Read(text)
	c := storetest.Send("r", "ann", id, string(text))
	out, err := s.Commit(t.Context(), &store.Batch{Now: storetest.Start, RetentionMs: 1 << 40, Judge: room.Decide, Commands: []room.Command{c}})
	if err == nil && out[0].Kind != room.Accepted {
		t.Fatalf("%+v", out)
	}
	return err
}

// filled sends until the store refuses, and returns how many messages it took.
func filled(t *testing.T, s *Store, from int) (n int) {
	t.Helper()
	for n = from; ; n++ {
		err := sendText(t, s, fmt.Sprintf("%08d", n), 64<<10)
		switch {
		case errors.Is(err, store.ErrAgain) && errors.Is(err, store.ErrFull):
			return n
		case err != nil:
			t.Fatalf("message %d: %v", n, err)
		case n > 1_000_000:
			t.Fatal("the disk never gets full")
		}
	}
}

// TestANearlyFullDiskRefusesAndGoesOn: on a disk of 40 MB and on one of 100 MB most of it can be used; then sends and deliveries are refused, reads go
// on, and it ends by itself once there is room. The same after a restart.
func TestANearlyFullDiskRefusesAndGoesOn(t *testing.T) {
	for _, megabytes := range []int64{40, 100} {
		t.Run(fmt.Sprint(megabytes, "MB"), func(t *testing.T) {
			at, q := onQuota(megabytes << 20)
			s := at.open(t)
			n := filled(t, s, 0)
			if stored := int64(n) * (64 << 10); stored < megabytes<<20/3 {
				t.Errorf("only %d bytes of %d were used", stored, megabytes<<20)
			}
			if !s.Disk().Low || s.Disk().Free < s.disk.need/2 {
				t.Errorf("%+v, need %d", s.Disk(), s.disk.need)
			}
			event := storetest.NewEvent(gateway.Name{Tenant: "t", Source: "s", Key: "k"}, "ev_1")
			if _, err := s.Enter(t.Context(), storetest.Start, []gateway.Command{event}); !errors.Is(err, store.ErrFull) {
				t.Errorf("a delivery: %v", err)
			}
			if _, err := s.Enter(t.Context(), storetest.Start, ruling()); err != nil {
				t.Errorf("what notes something: %v", err)
			}
			readable(t, s, n)
			q.resize(2 * megabytes << 20)
			more := filled(t, s, n)
			if more <= n {
				t.Error("with room again nothing more is taken")
			}
			readable(t, s, more)
			closed(t, s)
			q.resize(4 * megabytes << 20)
			s = at.open(t)
			readable(t, s, more)
			closed(t, s)
		})
	}
}

func readable(t *testing.T, s *Store, n int) {
	t.Helper()
	err := s.View(t.Context(), func(v store.View) error {
		r, err := v.Room("r")
		if r.Head != int64(n) {
			t.Errorf("the room's head is %d, want %d", r.Head, n)
		}
		rows, _, err2 := v.Before("r", int64(n)+1, 3, 1<<20)
		if len(rows) != 3 {
			t.Errorf("%d rows", len(rows))
		}
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAStartOnAFullDiskSaysSoAndTakesNothing: the words name what is needed, no try leaves anything behind, and the start succeeds with what was
// named. It holds where the opening finds out before it writes, and where it finds out in the middle.
func TestAStartOnAFullDiskSaysSoAndTakesNothing(t *testing.T) {
	at, q := onQuota(200 << 20)
	s := at.open(t)
	for n := range 300 {
		if err := sendText(t, s, fmt.Sprintf("%08d", n), 64<<10); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, s)
	for _, lie := range []int64{0, 1 << 40} {
		for free := int64(0); free < 4<<20; free += 200 << 10 {
			q.fill(free)
			at.opts.FS = boastful{q, lie}
			_, err := Open(at.dir, at.opts)
			if err == nil && lie > 0 {
				t.Fatal("the disk was never full in the middle of an opening")
			}
			if !errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrDamage) || !strings.Contains(err.Error(), "MB") {
				t.Fatalf("%d free: %v", free, err)
			}
			if left := q.free(); left < free-4<<10 {
				t.Fatalf("a start that failed on %d free bytes left %d", free, left)
			}
			if lie > 0 && free > 1<<20 {
				break
			}
		}
	}
	at.opts.FS = q
	q.fill(16 << 20)
	s = at.open(t)
	readable(t, s, 300)
	closed(t, s)
}

// boastful is a disk that says that more is free than is.
type boastful struct {
	*quota
	more int64
}
