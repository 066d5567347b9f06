package memory_test

import (
	"testing"

	"hapax/client/ids"
	"hapax/client/store"
	"hapax/client/store/memory"
	"hapax/client/store/storetest"
)

type medium struct{ *memory.Medium }

func (m medium) Open(l store.Limits) (store.Store, error) {
	return memory.Open(m.Medium, memory.Options{Limits: l}), nil
}

func (m medium) Crashed() storetest.Medium { return medium{m.Copy()} }

func (m medium) SetMark(d ids.Device, mark []byte) { m.Medium.SetMark(d, mark) }

func TestContract(t *testing.T) {
	storetest.Run(t, func(testing.TB) storetest.Medium { return medium{memory.NewMedium()} })
}
