package session

import "hapax/client/store"

// Config holds every bound of the machine. Times are milliseconds. A zero field means its default.
type Config struct {
	Client string // a name for the server's logs

	Base        int64 // first delay of a row and of a reconnect; 1 s
	RowCap      int64 // greatest delay of a row; 5 min
	ConnCap     int64 // greatest delay of a reconnect; 60 s
	MaxAttempts int   // attempts of a row before it is parked and its room held; 12
	MaxTries    int   // tries to connect before gave_up; 0 is no end

	AnswerWithin  int64 // an answer about a row is overdue after so long at most, and until acks were measured; 10 s
	AnswerLeast   int64 // and not before; 1 s
	DialWithin    int64 // a dial that takes longer is given up; 20 s, as a slow network must be able to connect
	WelcomeWithin int64 // no welcome for so long is a lost connection; 20 s, as a server restarted under load authenticates slowly
	StableAfter   int64 // a connection up for so long after its welcome sets the tries back; 10 s
	PingEvery     int64 // 25 s
	PongWithin    int64 // no frame for so long after a ping is a lost connection; 10 s
	HurryWithin   int64 // the same where there is reason to doubt it, or 4 × the time of pongs; 3 s
	PageWithin    int64 // the same while rows are awaited, which may be long under way; 30 s
	RetryAfterMax int64 // so much of a server's retryAfterMs is believed; 1 h
	TokenWithin   int64 // the app is told that its token function takes longer than this; 20 s
	TokenEvery    int64 // the app is asked again so seldom while a refused token may become good; 5 min

	RoomFlights int // rows of one room in flight; 16
	Flights     int // frames about rows in flight in all, which the window grows to; 64

	AheadRows int   // live rows that wait ahead of a gap; 1,000
	AheadFor  int64 // for so long, then the room is subscribed again; 10 s

	EvictEvery int64        // how often rows past their age are looked for; 1 h
	Limits     store.Limits // of the outbox

	// Rand gives numbers in [0, 1]; required. It is the machine's only source of randomness.
	Rand func() float64
}

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func (c Config) withDefaults() Config {
	orDefault(&c.Base, 1000)
	orDefault(&c.RowCap, 5*60_000)
	orDefault(&c.ConnCap, 60_000)
	orDefault(&c.MaxAttempts, 12)
	orDefault(&c.AnswerWithin, 10_000)
	orDefault(&c.AnswerLeast, 1000)
	orDefault(&c.DialWithin, 20_000)
	orDefault(&c.WelcomeWithin, 20_000)
	orDefault(&c.StableAfter, 10_000)
	orDefault(&c.PingEvery, 25_000)
	orDefault(&c.PongWithin, 10_000)
	orDefault(&c.HurryWithin, 3000)
	orDefault(&c.PageWithin, 30_000)
	orDefault(&c.RetryAfterMax, 3600_000)
	orDefault(&c.TokenWithin, 20_000)
	orDefault(&c.TokenEvery, 300_000)
	orDefault(&c.RoomFlights, 16)
	orDefault(&c.Flights, 64)
	orDefault(&c.AheadRows, 1000)
	orDefault(&c.AheadFor, 10_000)
	orDefault(&c.EvictEvery, 3600_000)
	c.Limits = c.Limits.OrDefault()
	return c
}
