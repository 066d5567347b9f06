package pebble

import "hash/maphash"

// recent remembers which results, and which of the gateway's keys, were written or dropped lately, by hash, so that a first one is looked up in
// the tables only.
//
// Tables have bloom filters; memtables don't, and searching their skip lists for a key that isn't there was two thirds of a commit. A key
// that recent doesn't have can't be in a memtable, and one that it has is looked up in full: so it is a filter, never an answer.
//
// It can't be incomplete: the row of counts is written by every commit, and the iterator that reads the tables reads that row there first.
// It says up to which commit the tables are complete, and recent forgets those commits only.
type recent struct {
	seed  maphash.Seed
	base  uint64       // it knows all commits after this one
	parts []recentPart // rising by commit
	spare map[uint64]struct{}
}

type recentPart struct {
	last uint64 // the last commit whose keys are in it
	keys map[uint64]struct{}
}

// lenRecentPart is how many keys go into a part: a memtable's worth takes two or three, so that little is kept for too long and a look-up asks
// few.
const lenRecentPart = 100_000

func newRecent(base uint64) recent { return recent{seed: maphash.MakeSeed(), base: base} }

func (r *recent) add(key []byte, commit uint64) {
	n := len(r.parts)
	if n == 0 || len(r.parts[n-1].keys) >= lenRecentPart {
		keys := r.spare
		if r.spare = nil; keys == nil {
			keys = make(map[uint64]struct{}, 1024)
		}
		r.parts = append(r.parts, recentPart{keys: keys})
		n++
	}
	r.parts[n-1].last = commit
	r.parts[n-1].keys[maphash.Bytes(r.seed, key)] = struct{}{}
}

// forget drops what the tables hold by now. complete says that the tables and what is left know all keys.
func (r *recent) forget(flushed uint64) (complete bool) {
	for len(r.parts) > 0 && r.parts[0].last <= flushed {
		r.spare = r.parts[0].keys
		clear(r.spare)
		r.parts = append(r.parts[:0], r.parts[1:]...)
	}
	return flushed >= r.base
}

func (r *recent) has(key []byte) bool {
	if len(r.parts) == 0 {
		return false
	}
	h := maphash.Bytes(r.seed, key)
	for i := range r.parts {
		if _, ok := r.parts[i].keys[h]; ok {
			return true
		}
	}
	return false
}
