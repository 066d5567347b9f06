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
	told map[string]string // part: what people should know, though it holds nothing back
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

// Note tells something of a part that doesn't hold the server back; "" takes it back.
func (h *Health) Note(part, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told == nil {
		h.told = make(map[string]string)
	}
	h.told[part] = text
	if text == "" {
		delete(h.told, part)
	}
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
		Notes map[string]string `json:"notes,omitempty"`
	}{len(down) == 0, down, h.told})
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
