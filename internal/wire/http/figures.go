package http

import (
	"context"
	"encoding/json"
	"net/http"

	"hapax/internal/auth"
	"hapax/internal/wire"
	"hapax/protocol"
)

// Figures are what a server has counted since it started, and what it holds now. A reader that asks again and again has the
// rates, and from the difference of two histograms the percentiles of the time between.
type Figures struct {
	At          int64             `json:"at"`      // the server's time, ms
	Started     int64             `json:"started"` // likewise: counts begin here
	Epoch       string            `json:"epoch"`
	Sends       map[string]uint64 `json:"sends"`   // by outcome
	Resumes     map[string]uint64 `json:"resumes"` // by how the cursor stood; fits got a delta
	Alarms      uint64            `json:"cursorAlarms"`
	Connections int               `json:"connections"`
	Subscribers int               `json:"subscriptions"`
	ActiveRooms int               `json:"activeRooms"`
	Delivered   uint64            `json:"delivered"`
	Queue       QueueFigures      `json:"queue"`
	Store       StoreFigures      `json:"store"`
	Commit      Histogram         `json:"commitSeconds"`
	Group       Histogram         `json:"commitGroup"`
}

// QueueFigures are of the commands that wait for a commit.
type QueueFigures struct {
	Commands int `json:"commands"`
	Bytes    int `json:"bytes"`
}

// StoreFigures are how much the store holds; Messages and Results are estimated.
type StoreFigures struct {
	Bytes    int64 `json:"bytes"`
	Messages int64 `json:"messages"`
	Results  int64 `json:"results"`
	Rooms    int64 `json:"rooms"`
}

// Histogram counts values up to each bound; the last count is of those above all bounds.
type Histogram struct {
	Bounds []float64 `json:"bounds"`
	Counts []uint64  `json:"counts"` // one more than Bounds; not cumulative
	Sum    float64   `json:"sum"`
}

// figures answers an operator. They tell of the whole server, so a session of some rooms or tenants may not read them.
func (s *server) figures(w http.ResponseWriter, r *http.Request, session *auth.Session) {
	if !session.ReadsAllTenants() {
		s.refuse(w, wire.Error(protocol.Forbidden, "the server's figures are for operators: tokens that read every tenant", 0))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.Door.Wait)
	defer cancel()
	f, err := s.Figures(ctx)
	if err != nil {
		s.unavailable(w, "figures", err)
		return
	}
	s.writeJSON(w, f)
}

func (s *server) writeJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.unavailable(w, "answer", err)
		return
	}
	s.write(w, http.StatusOK, body)
}
