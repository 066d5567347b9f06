package ingest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hapax/protocol"
)

// A CloudEvent is read in its JSON form (CloudEvents 1.0.2, JSON format), whatever mode it came in: fields, ignored members and
// fingerprint then mean the same for all three. docs/adr/0010-reading-deliveries.md says why the readers of the SDK are not used.

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

// checkEvent says what keeps a JSON object from being a CloudEvent.
func checkEvent(v protocol.Value) *Problem {
	if v.Kind() != protocol.JSONObject {
		return problem(BadBody, "a CloudEvent is an object")
	}
	found := map[string]bool{}
	for name, member := range v.Elements() {
		kind := member.Kind()
		found[name] = kind != protocol.JSONNull
		switch {
		case name == "data":
		case name == "data_base64":
			if _, err := base64.StdEncoding.DecodeString(member.Text()); kind != protocol.JSONString || err != nil {
				return problem(BadBody, "data_base64 isn't base64")
			}
		case !validAttribute(name):
			return problem(BadBody, "%.64q is no name of an attribute", name)
		case kind == protocol.JSONObject || kind == protocol.JSONArray:
			return problem(BadBody, "attribute %.64q is no text, number or truth value", name)
		case !validValue(name, member):
			return problem(BadBody, "attribute %s isn't what CloudEvents 1.0 asks for", name)
		}
	}
	for _, name := range []string{"specversion", "id", "source", "type"} {
		if !found[name] {
			return problem(BadBody, "attribute %s is missing", name)
		}
	}
	if found["data"] && found["data_base64"] {
		return problem(BadBody, "data and data_base64 exclude each other")
	}
	return nil
}

// validValue checks the attributes that CloudEvents 1.0 defines. Null stands for a missing one.
func validValue(name string, v protocol.Value) bool {
	switch name {
	case "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema":
	default:
		return true
	}
	if v.Kind() == protocol.JSONNull {
		return true
	}
	text := v.Text()
	switch {
	case v.Kind() != protocol.JSONString || text == "":
		return false
	case name == "specversion":
		return text == "1.0"
	case name == "time":
		_, err := time.Parse(time.RFC3339Nano, text)
		return err == nil
	}
	return true
}

// binaryEvent builds the JSON form of an event whose attributes are headers and whose data is the body.
func binaryEvent(m media, h http.Header, body []byte) (protocol.Value, *Problem) {
	members := map[string]json.RawMessage{}
	for header, values := range h {
		name, ok := strings.CutPrefix(header, eventHeader)
		if !ok {
			continue
		}
		name = strings.ToLower(name)
		text, fault := attributeText(values)
		if fault == "" && (name == "data" || name == "datacontenttype" || !validAttribute(name)) {
			fault = "is no name of an attribute"
		}
		if fault != "" {
			return protocol.Value{}, problem(BadBody, "header %.64q %s", header, fault)
		}
		members[name] = quote(text)
	}
	if m.text != "" {
		if !utf8.ValidString(m.text) {
			return protocol.Value{}, problem(BadBody, "the Content-Type isn't UTF-8")
		}
		members["datacontenttype"] = quote(m.text)
	}
	switch {
	case len(body) == 0:
	case isJSON(m.name):
		// Read on its own first: what isn't one document must not become members of the event.
		if _, err := protocol.ReadDocument(body); err != nil {
			return protocol.Value{}, problem(BadBody, "the data is no JSON that all readers read alike: %s", err.(*protocol.Problem).Message)
		}
		members["data"] = body
	default:
		members["data_base64"] = quote(base64.StdEncoding.EncodeToString(body))
	}
	d, err := protocol.ReadDocument(object(members))
	if err != nil {
		return protocol.Value{}, problem(BadBody, "the event is no JSON that all readers read alike: %s", err.(*protocol.Problem).Message)
	}
	return d.Root(), checkEvent(d.Root())
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

// attributeText is what a header says of an attribute: percent-encoded UTF-8 (CloudEvents 1.0.2, HTTP binding, 3.1.3.2).
func attributeText(values []string) (text, fault string) {
	if len(values) > 1 {
		return "", "stands more than once"
	}
	text, err := url.PathUnescape(values[0])
	if err != nil || !utf8.ValidString(text) {
		return "", "isn't percent-encoded UTF-8"
	}
	return text, ""
}
