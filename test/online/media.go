package online

import (
	"math/rand/v2"

	"hapax/internal/store/memory"
)

// InMemory is a medium of the memory store, which loses nothing that was entered.
type InMemory struct{ disk *memory.Disk }

// NewInMemory makes an empty one.
func NewInMemory() Medium { return InMemory{memory.NewDisk(memory.Counted("m"))} }

// Open opens it.
func (m InMemory) Open() (Store, error) { return memory.Open(m.disk) }

// Cut is a copy: nobody closed it.
func (m InMemory) Cut(*rand.Rand) (Medium, error) { return InMemory{m.disk.Copy()}, nil }
