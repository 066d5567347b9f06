package forward

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"hapax/internal/gateway"
)

// Destination is where the accepted events of one source go.
type Destination struct {
	Tenant, Source string
	URL            string           // http or https, without credentials
	Secrets        []string         // "whsec_" and base64: each signs by Standard Webhooks, so that the other end can change over; none: unsigned
	Extra          []gateway.Header // sent with each request beside those of the event
	Allow          []netip.Prefix   // what may be dialled besides global unicast
	Timeout        time.Duration    // of one try, until the answer's header has come; 0: DefaultTimeout
	InFlight       int              // requests under way at once; 0: DefaultInFlight
	MaxTries       int              // of one event, until it is a dead letter; 0: as many as fit into MaxAge
	MaxAge         time.Duration    // since it was accepted or replayed, until a failed try is the last; 0: DefaultMaxAge
}

// The bounds of a destination.
const (
	DefaultTimeout  = 15 * time.Second // most hooks answer within 5 to 10 s; a slow one ties up its own slots only
	MaxTimeout      = 2 * time.Minute
	DefaultInFlight = 32 // enough for some thousand a second to a destination next door
	MaxInFlight     = 256
	DefaultMaxAge   = 72 * time.Hour // docs/spec/gateway.md, Forwarding
	maxURL          = 2048
	maxSecrets      = 8
	maxSecretBytes  = 1024 // Standard Webhooks asks for 24 to 64
)

// ownHeaders are set by each request itself, or rule the connection: no configuration may name them.
var ownHeaders = []string{
	"Idempotency-Key", "Hapax-Attempt", "Hapax-Number", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature", "Content-Type", "Content-Length",
	"Content-Encoding", "Transfer-Encoding", "Host", "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "Te", "Trailer", "Upgrade", "Expect",
}

// CheckHeader says why a header of that name may not be forwarded or added, nil where it may.
func CheckHeader(name string) error {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("%q is no name of a header", name)
	case slices.Contains(ownHeaders, textproto.CanonicalMIMEHeaderKey(name)):
		return fmt.Errorf("the header %s is set by Hapax", name)
	}
	return nil
}

// Check says what is wrong with a destination. It tells no secret. An address that will be refused is no fault here: it is judged
// where it is dialled, as a name's address can change.
func (d *Destination) Check() error {
	var faults []error
	if _, err := parseURL(d.URL); err != nil {
		faults = append(faults, err)
	}
	if len(d.Secrets) > maxSecrets {
		faults = append(faults, fmt.Errorf("at most %d secrets", maxSecrets))
	}
	for i, s := range d.Secrets {
		if _, err := parseSecret(s); err != nil {
			faults = append(faults, fmt.Errorf("secret %d: %w", i+1, err))
		}
	}
	for _, h := range d.Extra {
		if err := CheckHeader(h.Name); err != nil {
			faults = append(faults, err)
		} else if h.Value == "" || !httpguts.ValidHeaderFieldValue(h.Value) {
			faults = append(faults, fmt.Errorf("the value of header %s is empty or holds what no header may", h.Name))
		}
	}
	for _, p := range d.Allow {
		if !p.IsValid() || p != p.Masked() {
			faults = append(faults, fmt.Errorf("%s is no network: its address has bits beyond its length", p))
		}
	}
	switch {
	case d.Timeout < 0 || d.Timeout > MaxTimeout:
		faults = append(faults, fmt.Errorf("a timeout is at most %s", MaxTimeout))
	case d.InFlight < 0 || d.InFlight > MaxInFlight:
		faults = append(faults, fmt.Errorf("at most %d requests are under way at once", MaxInFlight))
	case d.MaxTries < 0 || d.MaxAge < 0:
		faults = append(faults, errors.New("tries and their age are no negative numbers"))
	}
	return errors.Join(faults...)
}

// parseURL tells no part of a wrong URL: it may hold a password.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case text == "" || len(text) > maxURL || err != nil:
		return nil, fmt.Errorf("the url is none, or longer than %d bytes", maxURL)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the url must begin with http:// or https://")
	case u.User != nil:
		return nil, errors.New("the url holds credentials: put them into a header from a file")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("the url names no host")
	case u.Port() != "" && !isPort(u.Port()):
		return nil, errors.New("the url's port is none")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return nil, errors.New("the url has a fragment, which is never sent")
	}
	return u, nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// parseSecret reads a Standard Webhooks secret: "whsec_" and the key in base64.
func parseSecret(text string) ([]byte, error) {
	coded, found := strings.CutPrefix(text, "whsec_")
	if strings.HasPrefix(text, "v1,") {
		return nil, errors.New(`it begins with "v1,", which stands before signatures: leave it out, so that it begins with whsec_`)
	}
	if !found {
		return nil, errors.New("it doesn't begin with whsec_")
	}
	key, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimRight(coded, "="))
	switch {
	case err != nil:
		return nil, errors.New("what follows whsec_ is not base64")
	case len(key) == 0:
		return nil, errors.New("nothing follows whsec_")
	case len(key) > maxSecretBytes:
		return nil, fmt.Errorf("the key has more than %d bytes", maxSecretBytes)
	}
	return key, nil
}
