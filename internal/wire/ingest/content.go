package ingest

import (
	"mime"
	"net/http"
	"strings"

	"hapax/protocol"
)

// media is what a request says of its body.
type media struct {
	text string // the Content-Type as it came
	name string // without parameters, in lower case
}

const (
	mediaJSON       = "application/json"
	mediaEvent      = "application/cloudevents+json"
	mediaEventBatch = "application/cloudevents-batch+json"
)

// mediaOf reads Content-Type and Content-Encoding. A body is read as it was signed: never unpacked, and as UTF-8 only.
func mediaOf(h http.Header) (media, *Problem) {
	if encoding := h.Values("Content-Encoding"); len(encoding) > 1 || len(encoding) == 1 && !strings.EqualFold(encoding[0], "identity") {
		return media{}, problem(UnsupportedType, "an encoded body isn't unpacked")
	}
	values := h.Values("Content-Type")
	switch len(values) {
	case 0:
		return media{}, nil
	case 1:
	default:
		return media{}, problem(UnsupportedType, "the Content-Type header stands %d times", len(values))
	}
	text := values[0]
	if text == mediaJSON {
		return media{text, text}, nil
	}
	name, parameters, err := mime.ParseMediaType(text)
	if err != nil {
		return media{}, problem(UnsupportedType, "the Content-Type is none")
	}
	if charset, ok := parameters["charset"]; ok && isJSON(name) && !isUTF8(charset) {
		return media{}, problem(UnsupportedType, "JSON is read as UTF-8")
	}
	return media{text, name}, nil
}

// isJSON says whether a media type, in lower case, is written in JSON. Before application/json there was text/json.
func isJSON(name string) bool {
	return strings.HasSuffix(name, "/json") || strings.HasSuffix(name, "+json")
}

// isUTF8 says whether a charset is UTF-8, by its name or the one that many senders give it.
func isUTF8(charset string) bool {
	return strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}

// admit says whether the source reads bodies of that type.
func (c *Compiled) admit(m media, h http.Header) *Problem {
	switch {
	case c.format == FormatJSON && !isJSON(m.name):
		return problem(UnsupportedType, "the source reads JSON: application/json, or another type that ends in /json or +json")
	case c.format == FormatCloudEvents && m.name != mediaEvent && m.name != mediaEventBatch && !isBinaryEvent(h):
		return problem(UnsupportedType, "the source reads CloudEvents: %s, %s, or one in binary mode", mediaEvent, mediaEventBatch)
	}
	return nil
}

// items reads a body into its events. batch says that the answer is an array.
func (c *Compiled) items(m media, h http.Header, body []byte) (items []item, batch bool, p *Problem) {
	if c.format == FormatRaw {
		return []item{{header: h, bytes: body, contentType: m.text}}, false, nil
	}
	whole := item{header: h, bytes: body, contentType: m.text}
	if c.format == FormatCloudEvents && m.name != mediaEvent && m.name != mediaEventBatch {
		whole.value, p = binaryEvent(m, h, body)
		return []item{whole}, false, p
	}
	d, err := protocol.ReadDocument(body)
	if err != nil {
		return nil, false, problem(BadBody, "the body is no JSON that all readers read alike: %s", err.(*protocol.Problem).Message)
	}
	whole.value = d.Root()
	if c.format == FormatCloudEvents {
		if m.name == mediaEvent {
			whole.value, p = jsonEvent(whole.value)
			return []item{whole}, false, p
		}
		if whole.value.Kind() != protocol.JSONArray {
			return nil, false, problem(BadBody, "a batch of CloudEvents is an array")
		}
	}
	if whole.value.Kind() != protocol.JSONArray {
		return []item{whole}, false, nil
	}
	return c.split(&whole)
}

// split takes a batch apart. Each item is received as if it had come alone.
func (c *Compiled) split(whole *item) (items []item, batch bool, p *Problem) {
	contentType := mediaJSON
	if c.format == FormatCloudEvents {
		contentType = mediaEvent
	}
	for _, v := range whole.value.Elements() {
		if len(items) == MaxItems {
			return nil, true, problem(TooLarge, "a batch has at most %d events", MaxItems)
		}
		it := item{header: whole.header, bytes: []byte(v.Literal()), contentType: contentType, value: v}
		if c.format == FormatCloudEvents {
			it.value, it.fault = jsonEvent(v)
		}
		items = append(items, it)
	}
	if len(items) > 1 && !c.perItem {
		return nil, true, problem(BadKey, "the key stands in the request's headers: its events are sent one by one")
	}
	return items, true, nil
}
