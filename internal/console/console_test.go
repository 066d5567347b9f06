package console

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// elsewhere stands for the API: it answers what the page has no file for.
var elsewhere = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })

func build(files ...string) fstest.MapFS {
	dist := fstest.MapFS{"index.html": {Data: []byte("<!doctype html>" + strings.Repeat("<p>", 500))}}
	for i := 0; i < len(files); i += 2 {
		dist[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return dist
}

func ask(t *testing.T, h http.Handler, method, target string, header http.Header) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1/", nil)
	r.URL.Path = target // as it came, not cleaned
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func text(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryAnswerIsLockedDown(t *testing.T) {
	h, err := of(build("assets/a-1.js", "let a"), elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]struct{ kind, cache string }{
		"/":              {"text/html; charset=utf-8", "no-cache"},
		"/assets/a-1.js": {"text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
	} {
		r := ask(t, h, "GET", target, nil)
		for name, value := range map[string]string{
			"Content-Type": want.kind, "Cache-Control": want.cache, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Vary": "Accept-Encoding", "Content-Encoding": "",
		} {
			if got := r.Header.Get(name); got != value {
				t.Errorf("%s: %s is %q, not %q", target, name, got, value)
			}
		}
		policy := r.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "trusted-types 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy lacks %s", target, part)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "data:") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy lets code in: %s", target, policy)
		}
	}
	if r := ask(t, h, "GET", "/v1/rooms", nil); r.StatusCode != http.StatusTeapot || r.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Error("the API's answers may be sniffed:", r.Status, r.Header)
	}
}

func TestOnlyExactPathsAreServed(t *testing.T) {
	h, err := of(build("assets/a-1.js", "let a"), elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{
		"", "/index.html", "/assets", "/assets/", "/assets/a-1.js/", "/assets/../index.html", "/../console.go", "//assets/a-1.js", "/assets/%2e%2e/index.html",
		"/assets/a-1.js\x00", "/ASSETS/a-1.js", "/assets/.a-1.js", "/dist/index.html", "/v1/rooms", `/assets\a-1.js`,
	} {
		if r := ask(t, h, "GET", target, nil); r.StatusCode != http.StatusTeapot {
			t.Errorf("%q: %s", target, r.Status)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		if r := ask(t, h, method, "/", nil); r.StatusCode != http.StatusTeapot {
			t.Errorf("%s /: %s", method, r.Status)
		}
	}
	if r := ask(t, h, "HEAD", "/", nil); r.StatusCode != 200 || r.Header.Get("Content-Length") != "1515" || text(t, r.Body) != "" {
		t.Error("HEAD /:", r.Status, r.Header)
	}
}

func TestPackedAnswers(t *testing.T) {
	h, err := of(build(), elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	for accept, packed := range map[string]bool{
		"gzip": true, "br, GZIP;q=0.5": true, "deflate, gzip": true, "": false, "br": false, "gzip;q=0": false, "gzip;q=0.0, br": false, "x-gzip": false,
	} {
		r := ask(t, h, "GET", "/", http.Header{"Accept-Encoding": {accept}})
		if (r.Header.Get("Content-Encoding") == "gzip") != packed {
			t.Errorf("%q: %q", accept, r.Header.Get("Content-Encoding"))
			continue
		}
		var body io.Reader = r.Body
		if packed {
			if body, err = gzip.NewReader(r.Body); err != nil {
				t.Fatal(err)
			}
		}
		if got := text(t, body); got != string(build()["index.html"].Data) {
			t.Errorf("%q: %d bytes of another page", accept, len(got))
		}
	}
}

func TestWhatABrowserHasIsNotSentAgain(t *testing.T) {
	h, err := of(build(), elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	plain, packed := ask(t, h, "GET", "/", nil).Header.Get("ETag"), ask(t, h, "GET", "/", http.Header{"Accept-Encoding": {"gzip"}}).Header.Get("ETag")
	if plain == "" || plain == packed {
		t.Fatalf("tags %s and %s of two representations", plain, packed)
	}
	for tag, status := range map[string]int{plain: 304, `"x", W/` + plain: 304, "*": 304, packed: 200, `"x"`: 200, "": 200} {
		if r := ask(t, h, "GET", "/", http.Header{"If-None-Match": {tag}}); r.StatusCode != status || status == 304 && text(t, r.Body) != "" {
			t.Errorf("%s: %s", tag, r.Status)
		}
	}
	changed, err := of(build("index.html", "other"), elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	if ask(t, changed, "GET", "/", nil).Header.Get("ETag") == plain {
		t.Error("another page has the same tag")
	}
}

func TestBuildsThatAreNone(t *testing.T) {
	for name, dist := range map[string]fs.FS{
		"no index":           fstest.MapFS{"assets/a-1.js": {}},
		"a file of no type":  build("assets/a-1.exe", "x"),
		"a file without dot": build("README", "x"),
	} {
		if _, err := of(dist, elsewhere); err == nil {
			t.Errorf("%s is served", name)
		}
	}
}

var (
	reference = regexp.MustCompile(`(?:src|href)="([^"]*)"`)
	hashed    = regexp.MustCompile(`^/assets/[a-z0-9-]+-[A-Za-z0-9_-]{8}\.[a-z0-9]+$`)
	inline    = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script(?:[^>]*[^/])?>[^<]`)
)

// The committed build keeps to the policy under which it is served: nothing inline, all from this origin, and within its bound.
func TestTheCommittedBuildKeepsToThePolicy(t *testing.T) {
	h, err := New(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	page, size := string(h.files["/"].body), 0
	if found := inline.FindString(page); found != "" {
		t.Errorf("the page has something inline: %q", found)
	}
	references := reference.FindAllStringSubmatch(page, -1)
	if len(references) < 3 {
		t.Fatalf("the page names %d files: script, style and icon are expected", len(references))
	}
	for _, m := range references {
		if _, ok := h.files[m[1]]; !ok || !hashed.MatchString(m[1]) {
			t.Errorf("the page names %s, which is no hashed file of the build", m[1])
		}
	}
	for name, f := range h.files {
		if size += len(f.body); f.packed != nil {
			size += len(f.packed) - len(f.body)
		}
		if name != "/" && !hashed.MatchString(name) {
			t.Errorf("%s has no hash in its name, and would be kept for ever", name)
		}
	}
	if most := 120 << 10; size > most {
		t.Errorf("the page is %d bytes gzipped, %d at most", size, most)
	}
}

func TestTheInlineCheckCanFail(t *testing.T) {
	for _, bad := range []string{`<style>a{}</style>`, `<p style="color:red">`, `<p onclick="x()">`, `<a href="javascript:x">`, `<script>x()</script>`, `<script type="module">x()</script>`} {
		if !inline.MatchString(bad) {
			t.Errorf("%s goes unnoticed", bad)
		}
	}
}
