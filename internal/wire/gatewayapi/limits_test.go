package gatewayapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// unread is a body that nobody may read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// Who has no right to what a body is for is answered before a byte of it is read.
func TestRightsComeBeforeTheBody(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", false)
	for _, c := range []struct {
		method, path, token string
		status              int
	}{
		{http.MethodPost, "/v1/registry/acme/shop", h.token(), 404},
		{http.MethodPost, "/v1/registry/acme/shop", h.token("beta=rw"), 404},
		{http.MethodPost, "/v1/registry/acme/shop", h.token("acme=r"), 403},
		{http.MethodPut, "/v1/registry/acme/shop/k", h.token("acme=r"), 403},
		{http.MethodPost, "/v1/deadletters/replay", h.token("acme=r", "beta=r"), 403},
		{http.MethodPost, "/v1/registry/acme/shop", "nonsense", 401},
	} {
		r := httptest.NewRequest(c.method, c.path, unread{t})
		r.Header.Set("Authorization", "Bearer "+c.token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		h.http.Config.Handler.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s %s: %d, want %d: %s", c.method, c.path, w.Code, c.status, w.Body)
		}
	}
}

// What stands in a body isn't shown by an error: it may be what nobody is to read in a log.
func TestErrorsShowNothingOfABody(t *testing.T) {
	h := newHarness(t)
	h.source("acme", "shop", false)
	token := h.token("acme=rw")
	const secret = "4111222233334444"
	for path, bodies := range map[string][]string{
		"PUT /v1/registry/acme/shop/k": {
			`{"scope":"` + secret + `"}`, `{"scope":"wire","windowS":"` + secret + `"}`, `{"scope":"wire","windowS":` + secret + `.5}`, `{"scope":"wire","windowS":` + secret + secret + `}`,
			secret, `"` + secret + `"`, `["` + secret + `"]`, `{"scope":"wire"} ` + secret, `{"scope":` + secret + `x}`, `{"windowS":1e` + secret + `}`,
		},
		"POST /v1/deadletters/replay": {
			`{"tenant":` + secret + `}`, `{"tenant":"` + strings.Repeat(secret, 20) + `"}`, `{"tenant":"acme","from":"` + secret + `"}`, `{"tenant":"acme","after":"` + secret + `"}`,
			`{"tenant":"acme","from":-` + secret + `}`,
		},
		"POST /v1/registry/acme/shop": {secret, `{"a":"` + secret + `"}`},
	} {
		method, at, _ := strings.Cut(path, " ")
		for _, body := range bodies {
			if a := h.ask(method, at, token, body, "Idempotency-Key", "k"); strings.Contains(a.raw, secret) || a.status == 500 {
				t.Errorf("%s %s: %d %s", path, body, a.status, a.raw)
			}
		}
	}
}
