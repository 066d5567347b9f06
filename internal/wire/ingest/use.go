package ingest

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// use counts what was signed with a secret, so that the log shows when an old one isn't used any more.
type use struct {
	count atomic.Int64
	told  atomic.Int64 // Unix seconds of the last line, 0: never
}

// toldEvery is how often the log names a secret that is in use.
const toldEvery = 3600

// note counts one delivery. A source that asks for no signature has no secret to speak of.
func (u *use) note(log *slog.Logger, now time.Time, s *Source, label string) {
	if u == nil {
		return
	}
	n := u.count.Add(1)
	told := u.told.Load()
	if at := now.Unix(); told == 0 || at-told >= toldEvery {
		if u.told.CompareAndSwap(told, at) {
			log.Info("deliveries are signed with a secret", "tenant", s.Tenant, "source", s.Name, "secret", label, "deliveries", n)
		}
	}
}
