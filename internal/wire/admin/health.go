package admin

import (
	"encoding/json"
	"net/http"
	"sync"
)

// Health is whether the server can do its work, part by part. The zero Health is ready.
type Health struct {
	mu   sync.Mutex
	down map[string]string // part: what is wrong with it
}

// Down says that a part holds the server back, and why.
func (h *Health) Down(part, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down == nil {
		h.down = make(map[string]string)
	}
	h.down[part] = why
}

// Up says that a part is well.
func (h *Health) Up(part string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.down, part)
}

// state returns whether all parts are well, and the detail as JSON.
func (h *Health) state() (ready bool, detail []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	down := h.down
	if down == nil {
		down = map[string]string{}
	}
	detail, err := json.Marshal(struct {
		Ready bool              `json:"ready"`
		Down  map[string]string `json:"down"`
	}{len(down) == 0, down})
	if err != nil {
		return false, []byte(`{"ready":false}`)
	}
	return len(down) == 0, append(detail, '\n')
}

func (h *Health) serveReady(w http.ResponseWriter, _ *http.Request) {
	ready, detail := h.state()
	w.Header().Set("Content-Type", "application/json")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// A prober that has gone reads nothing.
	_, _ = w.Write(detail)
}
