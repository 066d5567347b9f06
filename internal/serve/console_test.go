package serve_test

import (
	"context"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"hapax/internal/auth"
	"hapax/internal/config"
	"hapax/protocol"
)

func TestThePageIsServedAtTheRoot(t *testing.T) {
	r := start(t, setup{})
	page := r.get("/", "")
	if page.status != 200 || !strings.Contains(page.header.Get("Content-Type"), "text/html") || !strings.Contains(page.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Fatal(page.status, page.header)
	}
	script := regexp.MustCompile(`src="(/assets/[^"]+\.js)"`).FindStringSubmatch(page.raw)
	if script == nil {
		t.Fatal("the page has no script")
	}
	if a := r.get(script[1], ""); a.status != 200 || !strings.Contains(a.header.Get("Cache-Control"), "immutable") {
		t.Error(a.status, a.header)
	}
	for _, path := range []string{"/v1/nothing", "/nothing", "/assets/nothing.js", "/index.html", "/assets/"} {
		if a := r.get(path, ""); a.status != 404 || a.body.str("code") != "not_found" || a.header.Get("Content-Type") != protocol.MediaProblem || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
	}
}

// devSession asks to sign in as a page of an origin would, by the name of a host.
func (r *running) devSession(origin []string, host, kind, body string) answer {
	r.t.Helper()
	header := http.Header{"Content-Type": {kind}, "Origin": origin, "Host": {host}, "Cookie": {r.cookie(host)}}
	return r.request("POST", "/v1/dev/session", "", strings.NewReader(body), header)
}

// cookie is what a browser sends that has opened the link by the name of a host; "" is the address itself.
func (r *running) cookie(host string) string {
	r.t.Helper()
	if r.link == nil {
		return ""
	}
	if host == "" {
		host = r.at.Clients
	}
	_, port, _ := net.SplitHostPort(host)
	return "hapax-" + port + "=" + r.link.Cookie()
}

// The secret that serve prints is exchanged for a cookie, without which nobody signs in by a name: neither Host nor Origin is anything but a
// browser's word.
func TestTheLinkOpensTheConsole(t *testing.T) {
	r := start(t, setup{kind: "pebble"})
	own := "http://" + r.at.Clients
	at, secret, _ := strings.Cut(r.at.Console, "#s=")
	if at != own+"/" || len(secret) < 40 {
		t.Fatal(r.at.Console)
	}
	if info, err := os.Stat(filepath.Join(r.config.Data, auth.LinkFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	post := func(path, body string, more http.Header) answer {
		header := http.Header{"Content-Type": {"application/json"}, "Origin": {own}}
		maps.Copy(header, more)
		return r.request("POST", path, "", strings.NewReader(body), header)
	}
	name, open := `{"name":"ada"}`, `{"secret":"`+secret+`"}`
	for what, c := range map[string]struct {
		got    answer
		status int
	}{
		"a name without the link":     {post("/v1/dev/session", name, nil), 403},
		"a cookie that isn't one":     {post("/v1/dev/session", name, http.Header{"Cookie": {r.cookie("") + "x"}}), 403},
		"another port's cookie":       {post("/v1/dev/session", name, http.Header{"Cookie": {r.cookie("127.0.0.1:1")}}), 403},
		"another secret":              {post("/v1/dev/link", `{"secret":"x"}`, nil), 403},
		"no secret":                   {post("/v1/dev/link", `{}`, nil), 400},
		"a foreign page":              {post("/v1/dev/link", open, http.Header{"Origin": {"https://evil.example"}}), 403},
		"a rebound name":              {post("/v1/dev/link", open, http.Header{"Host": {"evil.example"}, "Origin": {"http://evil.example"}}), 403},
		"the link through a proxy":    {post("/v1/dev/link", open, http.Header{"X-Forwarded-For": {"192.0.2.7"}}), 403},
		"a name through a proxy":      {post("/v1/dev/session", name, http.Header{"Forwarded": {"for=192.0.2.7"}, "Cookie": {r.cookie("")}}), 403},
		"a name, its host forwarded":  {post("/v1/dev/session", name, http.Header{"X-Forwarded-Host": {"localhost"}, "Cookie": {r.cookie("")}}), 403},
		"a name, its proto forwarded": {post("/v1/dev/session", name, http.Header{"X-Forwarded-Proto": {"http"}, "Cookie": {r.cookie("")}}), 403},
	} {
		if c.got.status != c.status {
			t.Errorf("%s: %d %s", what, c.got.status, c.got.raw)
		}
	}
	ways := func(header http.Header) string { return r.request("GET", "/v1/sign-in", "", nil, header).raw }
	if got := ways(nil); got != `{"ways":["token","link"]}` {
		t.Error("without a cookie:", got)
	}
	if got := ways(http.Header{"X-Forwarded-For": {"192.0.2.7"}, "Cookie": {r.cookie("")}}); got != `{"ways":["token"]}` {
		t.Error("through a proxy:", got)
	}
	opened := post("/v1/dev/link", open, nil)
	set := opened.header.Get("Set-Cookie")
	for _, want := range []string{r.cookie("") + ";", "HttpOnly", "SameSite=Strict", "Path=/v1/"} {
		if opened.status != 200 || !strings.Contains(set, want) || strings.Contains(set, secret) {
			t.Fatalf("%d %s: %s in %q", opened.status, opened.raw, want, set)
		}
	}
	cookie := http.Header{"Cookie": {r.cookie("")}}
	if got := ways(cookie); got != `{"ways":["token","name"]}` {
		t.Error("with the cookie:", got)
	}
	if a := post("/v1/dev/session", name, cookie); a.status != 200 {
		t.Error(a.status, a.raw)
	}
	if _, err := auth.RotateLink(r.config.Data); err != nil {
		t.Fatal(err)
	}
	if a, b := post("/v1/dev/session", name, cookie), post("/v1/dev/link", open, nil); a.status != 403 || b.status != 403 {
		t.Error("after a rotation:", a.status, b.status)
	}
}

func TestSignInByANameIsForThisMachinesOwnPage(t *testing.T) {
	r := start(t, setup{})
	_, port, _ := strings.Cut(r.at.Clients, ":")
	own := "http://" + r.at.Clients
	const kind, body = "application/json", `{"name":"Ada"}`
	for name, c := range map[string]struct {
		got    answer
		status int
		code   string
	}{
		"the own page":                         {r.devSession([]string{own}, "", kind, body), 200, ""},
		"by localhost":                         {r.devSession([]string{"http://localhost:" + port}, "localhost:"+port, kind, body), 200, ""},
		"no page":                              {r.devSession(nil, "", kind, body), 403, "forbidden"},
		"a foreign page":                       {r.devSession([]string{"https://evil.example"}, "", kind, body), 403, "forbidden"},
		"a page of another port here":          {r.devSession([]string{"http://127.0.0.1:1"}, "", kind, body), 403, "forbidden"},
		"by another of this machine's names":   {r.devSession([]string{"http://localhost:" + port}, "", kind, body), 403, "forbidden"},
		"another scheme":                       {r.devSession([]string{"https://" + r.at.Clients}, "", kind, body), 403, "forbidden"},
		"a sandboxed page":                     {r.devSession([]string{"null"}, "", kind, body), 403, "forbidden"},
		"two origins":                          {r.devSession([]string{own, own}, "", kind, body), 403, "forbidden"},
		"a rebound name":                       {r.devSession([]string{"http://evil.example:" + port}, "evil.example:"+port, kind, body), 403, "forbidden"},
		"a rebound name, the own page":         {r.devSession([]string{own}, "evil.example:"+port, kind, body), 403, "forbidden"},
		"a name that begins like this one's":   {r.devSession([]string{"http://127.0.0.1.evil.example"}, "127.0.0.1.evil.example", kind, body), 403, "forbidden"},
		"a form":                               {r.devSession([]string{own}, "", "text/plain", body), 400, "bad_request"},
		"no name":                              {r.devSession([]string{own}, "", kind, `{}`), 400, "bad_request"},
		"an empty name":                        {r.devSession([]string{own}, "", kind, `{"name":""}`), 400, "bad_request"},
		"a name of another kind":               {r.devSession([]string{own}, "", kind, `{"name":7}`), 400, "bad_request"},
		"a control character":                  {r.devSession([]string{own}, "", kind, `{"name":"a\u0000"}`), 400, "bad_request"},
		"a name of 129 bytes":                  {r.devSession([]string{own}, "", kind, `{"name":"`+strings.Repeat("a", 129)+`"}`), 400, "bad_request"},
		"two names":                            {r.devSession([]string{own}, "", kind, `{"name":"a","name":"b"}`), 400, "bad_request"},
		"a name in capitals is another member": {r.devSession([]string{own}, "", kind, `{"Name":"a"}`), 400, "bad_request"},
		"not JSON":                             {r.devSession([]string{own}, "", kind, `name=a`), 400, "bad_request"},
		"2 KB":                                 {r.devSession([]string{own}, "", kind, `{"name":"`+strings.Repeat("a", 2048)+`"}`), 413, "too_large"},
	} {
		if c.got.status != c.status || c.got.body.str("code") != c.code {
			t.Errorf("%s: %d %s", name, c.got.status, c.got.raw)
		}
	}
	a := r.devSession([]string{own}, "", kind, body).body
	if left := time.Until(time.UnixMilli(a.num("expires"))); left < 11*time.Hour || left > 12*time.Hour || a.str("actor") != "Ada" {
		t.Error("the session:", a)
	}
	if got := r.post("tea", a.str("token"), "k", `{"text":"x"}`); got.status != 201 {
		t.Error("the token:", got.status, got.raw)
	}
}

func TestWithoutDevThereIsNoSignInByAName(t *testing.T) {
	r := start(t, setup{change: func(c *config.Config) { c.Auth.Secret = strings.Repeat("k", 32) }})
	if a := r.devSession([]string{"http://" + r.at.Clients}, "", "application/json", `{"name":"ada"}`); a.status != 404 || a.body.str("code") != "not_found" {
		t.Error(a.status, a.raw)
	}
	if a := r.get("/v1/sign-in", ""); a.raw != `{"ways":["token"]}` {
		t.Error(a.status, a.raw)
	}
	dev := start(t, setup{})
	if a := dev.get("/v1/sign-in", ""); a.raw != `{"ways":["token","link"]}` {
		t.Error(a.status, a.raw)
	}
}

// The page's socket comes from the server's own origin, in dev and outside, by whatever of its names the page was opened.
func TestThePageMayConnect(t *testing.T) {
	for name, r := range map[string]*running{
		"dev":        start(t, setup{}),
		"configured": start(t, setup{change: func(c *config.Config) { c.Auth.Secret = strings.Repeat("k", 32) }}),
	} {
		_, port, _ := strings.Cut(r.at.Clients, ":")
		for _, host := range []string{r.at.Clients, "localhost:" + port} {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			conn, _, err := websocket.Dial(ctx, "ws://"+r.at.Clients+"/v1/ws", &websocket.DialOptions{
				Subprotocols: []string{protocol.Subprotocol}, HTTPHeader: http.Header{"Origin": {"http://" + host}}, Host: host,
			})
			cancel()
			if err != nil {
				t.Errorf("%s by %s: %v", name, host, err)
				continue
			}
			_ = conn.CloseNow()
		}
	}
}

func TestFiguresAreForOperators(t *testing.T) {
	onEveryStore(t, func(t *testing.T, kind string) {
		r := start(t, setup{kind: kind})
		token := r.operator()
		for _, id := range []string{"a", "b", "a"} {
			r.post("tea", token, id, `{"text":"x"}`)
		}
		s := r.enter("eve")
		s.subscribe("tea")
		f := r.get("/v1/server/figures", token)
		var commits float64
		for _, n := range f.body["commitSeconds"].(map[string]any)["counts"].([]any) {
			commits += n.(float64)
		}
		sends, held := object(f.body["sends"].(map[string]any)), object(f.body["store"].(map[string]any))
		if f.status != 200 || sends.num("accepted") != 2 || sends.num("duplicate") != 1 || held.num("messages") != 2 || held.num("rooms") != 1 ||
			f.body.num("connections") != 1 || f.body.num("subscriptions") != 1 || commits < 1 || f.body.num("at") < f.body.num("started") || f.body.str("epoch") == "" {
			t.Error(f.status, f.raw)
		}
	})
	r := start(t, setup{})
	for name, c := range map[string]struct {
		token  string
		status int
	}{
		"no token":           {"", 401},
		"every room":         {r.token("ada"), 403},
		"one tenant":         {r.signed(auth.TenantGrant{Tenant: "acme", Rights: auth.ReadWrite}), 403},
		"writes all tenants": {r.signed(auth.TenantGrant{Tenant: "*", Rights: auth.Write}), 403},
		"reads all tenants":  {r.signed(auth.TenantGrant{Tenant: "*", Rights: auth.Read}), 200},
	} {
		if a := r.get("/v1/server/figures", c.token); a.status != c.status {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
	}
}

func (r *running) operator() string { return r.signed(auth.AllTenants) }

// signed is a token of every room and some tenants.
func (r *running) signed(tenants ...auth.TenantGrant) string {
	r.t.Helper()
	token, err := r.key.SignClaims(auth.Claims{Actor: "ada", Rooms: []auth.Grant{auth.All}, Tenants: tenants}, time.Hour, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}
