package serve_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hapax/internal/config"
	"hapax/internal/serve"
)

const docsSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

var (
	yamlBlock  = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	jsonBlock  = regexp.MustCompile("(?s)```json\n(.*?)\n```")
	besideFile = regexp.MustCompile(`file: ([a-z]+\.secret)`)
	etcFile    = regexp.MustCompile(`/etc/hapax/[a-z.-]+`)
)

// documented loads a configuration as a page prints it, with the files that it names in a folder of the test's.
func documented(t *testing.T, page, text string) config.Config {
	t.Helper()
	dir := t.TempDir()
	text = besideFile.ReplaceAllString(text, "file: /etc/hapax/$1") // the README's stands in the folder that the server is started in
	for _, name := range etcFile.FindAllString(text, -1) {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(docsSecret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "hapax.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "/etc/hapax/", dir+"/")), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, nil, nil)
	if err == nil {
		err = c.Validate()
	}
	if err == nil {
		err = serve.CheckGateway(&c)
	}
	if err != nil {
		t.Fatalf("%s: %v in\n%s", page, err, text)
	}
	return c
}

// Every configuration in the guide and on the README is right as printed.
func TestConfigurationsOfTheDocsAreRight(t *testing.T) {
	pages, err := filepath.Glob("../../docs/gateway/*.md")
	if err != nil || len(pages) != 5 {
		t.Fatalf("%v, %v", pages, err)
	}
	blocks := 0
	for _, page := range append(pages, "../../docs/gateway.md", "../../docs/operations.md", "../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			blocks++
			if c := documented(t, page, b[1]); !c.Gateway.Configured() {
				t.Errorf("%s: a configuration without a gateway", page)
			}
		}
	}
	if blocks < 7 {
		t.Errorf("only %d configurations were found", blocks)
	}
}

func mac(parts ...string) []byte {
	h := hmac.New(sha256.New, []byte(docsSecret))
	h.Write([]byte(strings.Join(parts, "")))
	return h.Sum(nil)
}

// signed are the headers of each provider, by its published rules.
func signedLike(provider, body string) http.Header {
	now := fmt.Sprint(time.Now().Unix())
	h := http.Header{"Content-Type": {"application/json"}}
	switch provider {
	case "stripe":
		h["Stripe-Signature"] = []string{"t=" + now + ",v1=" + hex.EncodeToString(mac(now, ".", body))}
	case "github":
		h["X-Hub-Signature-256"] = []string{"sha256=" + hex.EncodeToString(mac(body))}
		h["X-Github-Delivery"], h["X-Github-Event"] = []string{"72d3162e-cc78-11e3-81ab-4c9367dc0958"}, []string{"pull_request"}
	case "shopify":
		h["X-Shopify-Hmac-Sha256"] = []string{base64.StdEncoding.EncodeToString(mac(body))}
		h["X-Shopify-Topic"], h["X-Shopify-Event-Id"] = []string{"orders/create"}, []string{"98880550-7158-44d4-b7cd-2c97c8a091b5"}
	case "standard-webhooks":
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(docsSecret, "whsec_"))
		m := hmac.New(sha256.New, key)
		m.Write([]byte("msg_1." + now + "." + body))
		h["Webhook-Id"], h["Webhook-Timestamp"] = []string{"msg_1"}, []string{now}
		h["Webhook-Signature"] = []string{"v1," + base64.StdEncoding.EncodeToString(m.Sum(nil))}
	case "cloudevents":
		h["Authorization"], h["Content-Type"] = []string{"Bearer " + docsSecret}, []string{"application/cloudevents+json"}
	}
	return h
}

// Each provider's page works as printed: its example, signed by the provider's rules, is accepted once and repeated once.
func TestEachProvidersPageWorks(t *testing.T) {
	for provider, where := range map[string]struct{ source, total, currency string }{
		"stripe": {"stripe", "12.50", "EUR"}, "github": {"github", "0.00", "XXX"}, "shopify": {"shopify", "403.00", "EUR"},
		"standard-webhooks": {"billing", "12.50", "EUR"}, "cloudevents": {"events", "12.50", "EUR"},
	} {
		t.Run(provider, func(t *testing.T) {
			text, err := os.ReadFile("../../docs/gateway/" + provider + ".md")
			if err != nil {
				t.Fatal(err)
			}
			block, body := yamlBlock.FindStringSubmatch(string(text)), jsonBlock.FindStringSubmatch(string(text))
			loaded := documented(t, provider, block[1])
			r := start(t, setup{change: func(c *config.Config) {
				c.Gateway = loaded.Gateway
				s := loaded.Gateway.Tenants["acme"].Sources[where.source]
				s.Forward = nil // the destination of the page is nobody's
				c.Gateway.Tenants["acme"].Sources[where.source] = s
			}})
			r.ready()
			post := func() answer {
				return r.request("POST", "/v1/ingest/acme/"+where.source, "", strings.NewReader(body[1]), signedLike(provider, body[1]))
			}
			if a := post(); a.status != 202 {
				t.Fatalf("%d %s", a.status, a.raw)
			}
			if a := post(); a.status != 200 || a.body.is("contentDiffers") {
				t.Errorf("%d %s", a.status, a.raw)
			}
			book := r.get("/v1/ledger/acme", r.operator()).body.rows("books")[0]
			if book.str("acceptedTotal") != where.total || book.str("currency") != where.currency {
				t.Errorf("%v", book)
			}
		})
	}
}
