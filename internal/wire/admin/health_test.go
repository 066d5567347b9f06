package admin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hapax/internal/telemetry"
)

// TestTheRoomsAreReadyWhileTheGatewayIsNot: what holds back the gateway alone leaves the rooms ready; what holds back both doesn't.
func TestTheRoomsAreReadyWhileTheGatewayIsNot(t *testing.T) {
	var h Health
	handler := Handler(&h, telemetry.NewMetrics(), false)
	want := func(path string, status int, detail string) {
		t.Helper()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != status || !strings.Contains(w.Body.String(), detail) {
			t.Errorf("%s: %d %s, want %d %s", path, w.Code, w.Body, status, detail)
		}
	}
	want("/readyz", 200, `"ready":true,"rooms":true`)
	want("/readyz/rooms", 200, `"ready":true,"rooms":true`)
	for _, part := range gatewayParts {
		h.Down(part, "the log is being checked")
		want("/readyz", 503, `"ready":false,"rooms":true`)
		want("/readyz/rooms", 200, "the log is being checked")
		h.Down("drain", "the server is going down")
		want("/readyz", 503, "going down")
		want("/readyz/rooms", 503, `"ready":false,"rooms":false`)
		h.Up("drain")
		h.Up(part)
	}
	want("/readyz", 200, "")
}
