package admin

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestTheAdminAddressIsGuarded(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	const token = "0123456789abcdef"
	for name, c := range map[string]struct {
		token, host, authorization string
		local                      bool
		status                     int
	}{
		"loopback":                       {"", "127.0.0.1:7481", "", true, 204},
		"localhost":                      {"", "localhost:7481", "", true, 204},
		"IPv6":                           {"", "[::1]:7481", "", true, 204},
		"a name that was made lead here": {"", "evil.example:7481", "", true, 403},
		"an address of this machine":     {"", "192.0.2.7:7481", "", true, 403},
		"no token":                       {token, "hapax.example", "", false, 401},
		"another token":                  {token, "hapax.example", "Bearer 0123456789abcdeF", false, 401},
		"a part of it":                   {token, "hapax.example", "Bearer 0123456789abcde", false, 401},
		"another scheme":                 {token, "hapax.example", "Basic " + token, false, 401},
		"the token":                      {token, "hapax.example", "Bearer " + token, false, 204},
		"the token, rebound":             {token, "evil.example", "Bearer " + token, true, 403},
		"loopback without the token":     {token, "localhost", "", true, 401},
	} {
		r := httptest.NewRequest("GET", "/metrics", nil)
		r.Host = c.host
		if c.authorization != "" {
			r.Header.Set("Authorization", c.authorization)
		}
		w := httptest.NewRecorder()
		if Guard(ok, c.token, c.local).ServeHTTP(w, r); w.Code != c.status {
			t.Errorf("%s: %d, want %d", name, w.Code, c.status)
		}
	}
}
