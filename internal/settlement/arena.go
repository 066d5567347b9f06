package settlement

// arena holds many small byte records in large blocks, so that millions of them cost the garbage collector nothing
// and never move. A place in it counts units of 8 bytes, so 32 bits reach 32 GB.
type arena struct {
	blocks [][]byte
	used   int // in the last block
}

const (
	arenaUnit  = 8
	blockShift = 17
	blockBytes = arenaUnit << blockShift
	maxBlocks  = 1 << (32 - blockShift)
)

// alloc returns a zeroed record of n bytes, at most blockBytes, and its place.
func (a *arena) alloc(n int) (place uint32, record []byte) {
	size := (n + arenaUnit - 1) / arenaUnit * arenaUnit
	if len(a.blocks) == 0 || a.used+size > blockBytes {
		if len(a.blocks) == maxBlocks {
			panic("settlement: names of keys need more than 32 GB")
		}
		a.blocks = append(a.blocks, make([]byte, blockBytes))
		a.used = 0
	}
	last := len(a.blocks) - 1
	place = uint32(last<<blockShift + a.used/arenaUnit)
	record = a.blocks[last][a.used : a.used+size]
	a.used += size
	return place, record
}

// from returns the bytes from a place on; the record at the place knows its own length.
func (a *arena) from(place uint32) []byte {
	return a.blocks[place>>blockShift][place&(1<<blockShift-1)*arenaUnit:]
}

func (a *arena) bytes() int64 { return int64(len(a.blocks)) * blockBytes }

// segments is a growing list of numbers that is never copied to grow.
type segments struct {
	parts [][]uint32
	count int
}

const segmentShift = 16

func (s *segments) append(v uint32) {
	if s.count>>segmentShift == len(s.parts) {
		s.parts = append(s.parts, make([]uint32, 1<<segmentShift))
	}
	s.parts[s.count>>segmentShift][s.count&(1<<segmentShift-1)] = v
	s.count++
}

func (s *segments) at(i uint32) uint32 { return s.parts[i>>segmentShift][i&(1<<segmentShift-1)] }

func (s *segments) bytes() int64 { return int64(len(s.parts)) * 4 << segmentShift }
