package memory_test

import (
	"testing"

	"hapax/internal/room"
	"hapax/internal/store"
	"hapax/internal/store/memory"
	"hapax/internal/store/storetest"
)

type place struct{ disk *memory.Disk }

func (p place) TryOpen() (store.Store, error) {
	s, err := memory.Open(p.disk)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (p place) Open(t testing.TB) store.Store {
	t.Helper()
	s, err := p.TryOpen()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (p place) Plant(_ testing.TB, name string, head int64, headID string) {
	p.disk.Plant(name, head, headID)
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(testing.TB) storetest.Place { return place{memory.NewDisk(nil)} })
}

func TestBooks(t *testing.T) {
	storetest.RunBooks(t, func(testing.TB) storetest.Place { return place{memory.NewDisk(nil)} })
}

// TestRestored is a backup that went on without those who read the original: same rows, same server, another epoch.
func TestRestored(t *testing.T) {
	disk := memory.NewDisk(memory.Counted("n"))
	s := place{disk}.Open(t)
	send := func(s store.Store, id string) room.Outcome {
		out, err := s.Commit(t.Context(), &store.Batch{Judge: room.Decide, Commands: []room.Command{storetest.Send("r", "ann", id, id)}})
		if err != nil {
			t.Fatal(err)
		}
		return out[0]
	}
	first := send(s, "A")
	backup := disk.Copy()
	send(s, "B")
	back := place{backup.Restored()}.Open(t)
	if was, is := s.Identity(), back.Identity(); was.Server != is.Server || was.Epoch == is.Epoch {
		t.Fatalf("identity %+v, was %+v", is, was)
	}
	if again := send(back, "A"); again.Kind != room.Duplicate || again.Result != first.Result {
		t.Fatalf("%+v, want the original %+v", again, first.Result)
	}
	if b := send(back, "B"); b.Kind != room.Accepted || b.Result.Seq != 2 {
		t.Fatalf("%+v", b)
	}
}
