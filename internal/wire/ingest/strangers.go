package ingest

import (
	"sync"
	"time"

	"hapax/internal/wire/limit"
)

// admit says what keeps a request from being read. Until something signed has come from an address it is a stranger's, and held to the
// strangers' rate; afterwards what others do from there (one NAT, one proxy that nobody named) doesn't hinder who can sign.
func (s *Server) admit(client limit.Client, now time.Time) *Problem {
	if s.signers.has(client, now) {
		return nil
	}
	wait, ok := s.strangers.Allow(client, now)
	if ok {
		return nil
	}
	return &Problem{
		Code: RateLimited, Detail: "more deliveries come from this address than may before one of them is signed as its source asks for; nothing was stored",
		RetryAfterMs: max(1, wait.Milliseconds()),
	}
}

// signers remembers the addresses from which signed deliveries came, for half an hour to an hour.
type signers struct {
	mu          sync.Mutex
	now, before map[limit.Client]struct{}
	turned      time.Time
}

const (
	signersTurn = 30 * time.Minute
	maxSigners  = 8 << 10 // addresses in each half: more than senders have
)

func (s *signers) note(c limit.Client, at time.Time) {
	if c.Shared() {
		return // no limit of its own to be spared
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(at)
	if len(s.now) < maxSigners {
		s.now[c] = struct{}{}
	}
}

func (s *signers) has(c limit.Client, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(at)
	_, now := s.now[c]
	_, before := s.before[c]
	return now || before
}

func (s *signers) turn(at time.Time) {
	if s.now != nil && at.Sub(s.turned).Abs() < signersTurn {
		return
	}
	s.now, s.before, s.turned = make(map[limit.Client]struct{}), s.now, at
}
