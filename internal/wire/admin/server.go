package admin

import (
	"crypto/hmac"
	"crypto/sha256"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"hapax/internal/telemetry"
	"hapax/internal/wire"
)

// Guard keeps others out: requests without the token, where there is one, and, where the listener is for this machine alone, those that came by
// another name, which a page may have made lead here.
func Guard(h http.Handler, token string, local bool) http.Handler {
	want := sha256.Sum256([]byte("Bearer " + token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		switch {
		case local && !wire.LoopbackHost(r.Host):
			http.Error(w, "this address answers by localhost or a loopback address only", http.StatusForbidden)
		case token != "" && !hmac.Equal(got[:], want[:]):
			w.Header().Set("WWW-Authenticate", `Bearer realm="hapax admin"`)
			http.Error(w, "the bearer token of admin.token_file is needed", http.StatusUnauthorized)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// Handler serves /livez, /readyz, /readyz/rooms and /metrics, and /debug/pprof where profiles is set.
func Handler(h *Health, m *telemetry.Metrics, profiles bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		// A prober that has gone reads nothing.
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /readyz", h.serveReady)
	mux.HandleFunc("GET /readyz/rooms", h.serveRooms)
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.Registry(), promhttp.HandlerOpts{Registry: m.Registry()}))
	if profiles {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}
