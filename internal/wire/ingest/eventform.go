package ingest

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"hapax/protocol"
)

// A CloudEvent has one form here, whatever mode and spelling it came in, so that fields, ignored members and fingerprint mean the same
// for all: its JSON form in which
//   - an attribute that is null isn't there, and all others are texts, as a header would say them;
//   - time is in UTC, without zeros at the end of a fraction;
//   - datacontenttype is in lower case, without the charset UTF-8; that of JSON is there also where the sender left it out, and
//     isn't where there is no data;
//   - data is a JSON value where it is JSON, else a text where it is UTF-8, else data_base64; of no bytes it isn't there.

// content is an event's data as it came: nothing, a JSON value, or bytes.
type content struct {
	value json.RawMessage
	bytes []byte
}

// binaryEvent reads an event whose attributes are headers and whose data is the body.
func binaryEvent(m media, h http.Header, body []byte) (protocol.Value, *Problem) {
	attributes := map[string]string{}
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
		attributes[name] = text
	}
	if m.text != "" {
		if !utf8.ValidString(m.text) {
			return protocol.Value{}, problem(BadBody, "the Content-Type isn't UTF-8")
		}
		attributes["datacontenttype"] = m.text
	}
	return eventForm(attributes, content{bytes: body})
}

// jsonEvent reads an event in its JSON form.
func jsonEvent(v protocol.Value) (protocol.Value, *Problem) {
	if v.Kind() != protocol.JSONObject {
		return protocol.Value{}, problem(BadBody, "a CloudEvent is an object")
	}
	attributes, data := map[string]string{}, content{}
	for name, member := range v.Elements() {
		kind := member.Kind()
		switch {
		case kind == protocol.JSONNull && (validAttribute(name) || name == "data_base64"): // as if it weren't there
		case name == "data":
			data.value = json.RawMessage(member.Literal())
		case name == "data_base64":
			var err error
			if data.bytes, err = base64.StdEncoding.DecodeString(member.Text()); kind != protocol.JSONString || err != nil {
				return protocol.Value{}, problem(BadBody, "data_base64 isn't base64")
			}
			if data.bytes == nil {
				data.bytes = []byte{}
			}
		case !validAttribute(name):
			return protocol.Value{}, problem(BadBody, "%.64q is no name of an attribute", name)
		case kind == protocol.JSONString:
			attributes[name] = member.Text()
		case kind == protocol.JSONNumber || kind == protocol.JSONBool:
			if definedAttribute(name) {
				return protocol.Value{}, problem(BadBody, "attribute %s isn't what CloudEvents 1.0 asks for", name)
			}
			attributes[name] = member.Literal()
		default:
			return protocol.Value{}, problem(BadBody, "attribute %.64q is no text, number or truth value", name)
		}
	}
	if data.value != nil && data.bytes != nil {
		return protocol.Value{}, problem(BadBody, "data and data_base64 exclude each other")
	}
	if inner, there := v.Find(protocol.Pointer{"data"}); there && inner.Kind() == protocol.JSONString {
		// Data of another type that JSON writes as a text is the bytes of that text (JSON format, 3.1.1).
		if kind, ofJSON := contentForm(attributes["datacontenttype"]); kind != "" && !ofJSON {
			data = content{bytes: []byte(inner.Text())}
		}
	}
	return eventForm(attributes, data)
}

// eventForm checks an event and gives it its one form.
func eventForm(attributes map[string]string, data content) (protocol.Value, *Problem) {
	if p := checkAttributes(attributes); p != nil {
		return protocol.Value{}, p
	}
	members := map[string]json.RawMessage{}
	kind, p := data.form(attributes["datacontenttype"], members)
	if p != nil {
		return protocol.Value{}, p
	}
	delete(attributes, "datacontenttype")
	if kind != "" {
		attributes["datacontenttype"] = kind
	}
	if text, there := attributes["time"]; there {
		at, _ := parseInstant(text) // checked
		attributes["time"] = at.text()
	}
	for name, text := range attributes {
		members[name] = quote(text)
	}
	d, err := protocol.ReadDocument(object(members))
	if err != nil {
		return protocol.Value{}, problem(BadBody, "the event is no JSON that all readers read alike: %s", err.(*protocol.Problem).Message)
	}
	return d.Root(), nil
}

// form enters data into the members of an event, and says the datacontenttype that it is told with.
func (data content) form(contentType string, members map[string]json.RawMessage) (kind string, p *Problem) {
	kind, ofJSON := contentForm(contentType)
	if len(data.bytes) > 0 && (ofJSON || kind == "") {
		// Read on its own first: what isn't one document must not become members of the event.
		d, err := protocol.ReadDocument(data.bytes)
		switch {
		case err != nil && ofJSON:
			return "", problem(BadBody, "the data is no JSON that all readers read alike: %s", err.(*protocol.Problem).Message)
		case err == nil && d.Root().Kind() == protocol.JSONNull:
			data = content{}
		case err == nil:
			data.value = data.bytes
		}
	}
	switch {
	case data.value != nil:
		if members["data"] = data.value; kind == "" {
			kind = mediaJSON
		}
	case len(data.bytes) == 0:
		if kind == mediaJSON {
			kind = ""
		}
	case utf8.Valid(data.bytes):
		members["data"] = quote(string(data.bytes))
	default:
		members["data_base64"] = quote(base64.StdEncoding.EncodeToString(data.bytes))
	}
	return kind, nil
}

// contentForm writes a datacontenttype the one way that its spellings have in common, and says whether it is of JSON. What isn't
// a media type stays as it is.
func contentForm(text string) (kind string, ofJSON bool) {
	name, parameters, err := mime.ParseMediaType(text)
	if err != nil {
		return text, false
	}
	if isUTF8(parameters["charset"]) {
		delete(parameters, "charset")
	}
	if kind = mime.FormatMediaType(name, parameters); kind == "" {
		kind = text
	}
	return kind, isJSON(name)
}
