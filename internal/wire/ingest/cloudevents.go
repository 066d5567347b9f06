package ingest

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// What CloudEvents 1.0.2 says of attributes and of the headers that they are in binary mode. docs/adr/0010-reading-deliveries.md says
// why the readers of the SDK are not used; eventform.go reads whole events.

// eventHeader is what the headers of an event's attributes begin with in binary mode.
const eventHeader = "Ce-"

func isBinaryEvent(h http.Header) bool { return len(h.Values("Ce-Specversion")) > 0 }

// validAttribute says whether a name can be an attribute's: lower-case letters and digits.
func validAttribute(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// definedAttribute says whether CloudEvents 1.0 itself defines an attribute; all of those are texts.
func definedAttribute(name string) bool {
	switch name {
	case "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema":
		return true
	}
	return false
}

// checkAttributes says what keeps attributes from being those of a CloudEvent.
func checkAttributes(attributes map[string]string) *Problem {
	for name, text := range attributes {
		bad := definedAttribute(name) && text == "" || name == "specversion" && text != "1.0"
		if name == "time" {
			_, ok := parseInstant(text)
			bad = !ok
		}
		if bad {
			return problem(BadBody, "attribute %s isn't what CloudEvents 1.0 asks for", name)
		}
	}
	for _, name := range []string{"specversion", "id", "source", "type"} {
		if _, there := attributes[name]; !there {
			return problem(BadBody, "attribute %s is missing", name)
		}
	}
	return nil
}

// object writes members as they are; encoding/json would write numbers and texts of the data in another way.
func object(members map[string]json.RawMessage) []byte {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	text := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, quote(name)...), ':'), members[name]...)
	}
	return append(text, '}')
}

// quote is a text as JSON. It is valid UTF-8: encoding/json would change other text silently.
func quote(text string) json.RawMessage {
	out, err := json.Marshal(text)
	if err != nil {
		panic("ingest: a string: " + err.Error()) // it can't be: strings always are JSON
	}
	return out
}

// attributeText is what a header says of an attribute (CloudEvents 1.0.2, HTTP binding, 3.1.3.2): quotes around the value are taken
// off with what is escaped within, then percent-encoding is decoded once. A quote within a value that doesn't begin with one, and a percent
// sign that begins no escape, are themselves: widely used senders write both as they are.
func attributeText(values []string) (text, fault string) {
	if len(values) > 1 {
		return "", "stands more than once"
	}
	text = strings.Trim(values[0], " \t")
	if strings.HasPrefix(text, `"`) {
		var ok bool
		if text, ok = unquote(text); !ok {
			return "", "has quotes that don't end where the value does"
		}
	}
	if text = unescape(text); !utf8.ValidString(text) {
		return "", "isn't percent-encoded UTF-8"
	}
	return text, ""
}

// unquote reads a quoted-string of RFC 7230, 3.2.6, that is the whole text and begins with its quote.
func unquote(text string) (inner string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return b.String(), i == len(text)-1
		case '\\':
			if i++; i == len(text) {
				return "", false
			}
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// unescape decodes %XX, once. A percent sign before anything else stays.
func unescape(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := hex.DecodeString(text[i+1 : i+3]); err == nil {
				b = append(b, c[0])
				i += 2
				continue
			}
		}
		b = append(b, text[i])
	}
	return string(b)
}
