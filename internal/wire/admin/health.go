package admin

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// Health is whether the server can do its work, part by part. The zero Health is ready.
type Health struct {
	mu   sync.Mutex
	down map[string]string // part: what is wrong with it
	told map[string]string // part: what people should know, though it holds nothing back
}

// gatewayParts hold back the gateway alone: the rooms are served meanwhile.
var gatewayParts = []string{"proof", "log"}

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

// state returns whether all parts are well, whether those of the rooms are, and the detail as JSON.
func (h *Health) state() (ready, rooms bool, detail []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	down := h.down
	if down == nil {
		down = map[string]string{}
	}
	ready, rooms = len(down) == 0, true
	for part := range down {
		rooms = rooms && slices.Contains(gatewayParts, part)
	}
	detail, err := json.Marshal(struct {
		Ready bool              `json:"ready"`
		Rooms bool              `json:"rooms"`
		Down  map[string]string `json:"down"`
		Notes map[string]string `json:"notes,omitempty"`
	}{ready, rooms, down, h.told})
	if err != nil {
		return false, false, []byte(`{"ready":false}`)
	}
	return ready, rooms, append(detail, '\n')
}

// serveReady answers for the whole server.
func (h *Health) serveReady(w http.ResponseWriter, _ *http.Request) {
	ready, _, detail := h.state()
	answer(w, ready, detail)
}

// serveRooms answers for the rooms, which don't wait for the gateway.
func (h *Health) serveRooms(w http.ResponseWriter, _ *http.Request) {
	_, rooms, detail := h.state()
	answer(w, rooms, detail)
}

func answer(w http.ResponseWriter, ready bool, detail []byte) {
	w.Header().Set("Content-Type", "application/json")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// A prober that has gone reads nothing.
	_, _ = w.Write(detail)
}
