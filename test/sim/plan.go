package sim

import (
	"math/rand/v2"

	"hapax/client/session"
	"hapax/client/store"
	"hapax/internal/store/memory"
)

// Plan is what a seed decides before anything happens: how large the world is and how hostile. Times are ms; a mean time of 0 is never.
type Plan struct {
	Seed    uint64
	Clients int
	Actors  int // fewer than clients: some have two devices
	Rooms   int
	Trouble int64 // how long it lasts

	Delay, Jitter int64 // of the network, one way
	Op            int64 // mean time between two things that an app does
	Burst         int   // sends that an app makes at once, at most

	// Mean times between troubles.
	Cut, Stall, ClientCrash, ServerCrash, Drain, ClientJump, ServerJump, Rights, Purge, Copy, SlowReader int64

	// Chances in a thousand.
	DialFails, MidCrash, MidCommit, DiskFails, CommitFails, Refuse, SlowCommit, BadToken int

	TokenLife int64 // how long tokens live
	Group     int   // commands of a commit, at most
	DeltaRows int
	Snapshot  int // rows of a snapshot, at most

	Retention int64
	Policy    policy
	Restore   bool // the server is once set back to a checkpoint
	Old       bool // the server knows nothing of what was added to version 1 of the protocol
	Opaque    bool // tokens don't say when they expire
	Linear    bool // small enough to ask for one order of all operations

	Session session.Config // but for its Rand
}

// policy is what the server's purges keep; zero is all.
type policy struct{ ResultAge, ResultRows, JournalAge, JournalRows int64 }

const (
	second = int64(1000)
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// NewPlan draws the plan of a seed.
func NewPlan(seed uint64) Plan {
	r := rand.New(rand.NewPCG(seed, 0x706c616e))
	pick := func(of ...int64) int64 { return of[r.IntN(len(of))] }
	p := Plan{
		Seed: seed, Clients: int(pick(1, 2, 2, 3, 4)), Rooms: int(pick(1, 1, 2, 3)),
		Trouble: pick(1, 2, 4) * minute, Delay: pick(1, 10, 60), Jitter: pick(1, 50, 400),
		Op: pick(1, 2, 5) * second, Burst: int(pick(1, 4, 12)),
		Cut: pick(0, 5, 15, 40) * second, Stall: pick(0, 10, 30) * second,
		ClientCrash: pick(0, 15, 40) * second, ServerCrash: pick(0, 10, 30) * second, Drain: pick(0, 0, 60) * second,
		ClientJump: pick(0, 30) * second, ServerJump: pick(0, 0, 60) * second, Rights: pick(0, 0, 30) * second, Copy: pick(0, 0, 0, 90) * second, SlowReader: pick(0, 0, 30) * second,
		DialFails: int(pick(0, 100, 300)), MidCrash: int(pick(0, 1, 4)), MidCommit: int(pick(0, 5, 30)), DiskFails: int(pick(0, 0, 4)), CommitFails: int(pick(0, 20, 100)),
		Refuse: int(pick(0, 50, 150)), SlowCommit: int(pick(0, 50, 200)), BadToken: int(pick(0, 0, 100)),
		TokenLife: pick(20*second, minute, day), Group: int(pick(1, 3, 10, 100)), DeltaRows: int(pick(1, 5, 500)), Snapshot: int(pick(5, 200)),
		Retention: 30 * day, Restore: r.IntN(8) == 0,
	}
	if p.Burst > 4 {
		p.Op *= 3 // as much is said, in heaps
	}
	p.Actors = p.Clients - r.IntN(2)*(p.Clients/2)
	p.Old, p.Opaque = seed%3 == 0, seed%2 == 0
	p.drawRetention(r)
	p.Session = session.Config{
		MaxAttempts: int(pick(3, 12)), RoomFlights: int(pick(1, 3, 16)), Flights: int(pick(4, 64)), AheadRows: int(pick(3, 1000)),
		Limits: store.Limits{Queued: int(pick(10, 10_000)), Aside: int(pick(5, 1000))},
	}
	if r.IntN(3) == 0 { // a small world, for the search for one order
		p.Linear, p.Clients, p.Actors, p.Rooms, p.Burst, p.Restore = true, 2, 2, 1, 2, false
		p.Trouble, p.Op = minute, 4*second
	}
	return p
}

// drawRetention decides how long the server remembers. Where it drops results its clock doesn't go back: a claim that lies
// ahead of the server's clock counts as made now (docs/spec/protocol.md, Client to server), so a horizon of that time wouldn't hold it.
func (p *Plan) drawRetention(r *rand.Rand) {
	if r.IntN(2) == 0 {
		return
	}
	p.Purge, p.ServerJump = 5*second, 0
	if r.IntN(2) == 0 {
		p.Retention = 40 * second
		p.Policy.ResultAge = p.Retention + 10*second
	}
	if r.IntN(2) == 0 {
		p.Policy.ResultRows = 10 + r.Int64N(20)
	}
	if r.IntN(2) == 0 {
		p.Policy.JournalRows = 3 + r.Int64N(30)
	}
	if r.IntN(2) == 0 {
		p.Policy.JournalAge = 30 * second
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x72756e)) }

func newDisk() *memory.Disk { return memory.NewDisk(memory.Counted("x")) }
