package gatewayapi

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"go.yaml.in/yaml/v3"

	"hapax/internal/wire"
	"hapax/internal/wire/ingest"
)

// Document is the OpenAPI document of everything: rooms, which is one written by hand, and what the routes of ingest and
// management are, generated from their code.
func Document(rooms []byte) ([]byte, error) {
	api := register(&adapter{door: wire.NewDoor(nil, nil, nil, nil, 0)}, Options{})
	describeIngest(api.OpenAPI())
	text, err := api.OpenAPI().YAML()
	if err != nil {
		return nil, err
	}
	var whole, generated yaml.Node
	if err := errors.Join(yaml.Unmarshal(rooms, &whole), yaml.Unmarshal(text, &generated)); err != nil {
		return nil, err
	}
	for _, section := range [][]string{{"paths"}, {"components", "schemas"}} {
		if err := appendMembers(at(&whole, section), at(&generated, section)); err != nil {
			return nil, err
		}
	}
	return yaml.Marshal(&whole)
}

// schemaName names a type in the document; those of ingest say that they are.
func schemaName(t reflect.Type, hint string) string {
	switch t {
	case reflect.TypeFor[ingest.Answer]():
		return "Delivered"
	case reflect.TypeFor[ingest.Document]():
		return "DeliveryProblem"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// at returns a member of a document, nil where it has none.
func at(doc *yaml.Node, path []string) *yaml.Node {
	n := doc.Content[0]
	for _, name := range path {
		i := slices.IndexFunc(n.Content, func(c *yaml.Node) bool { return c.Value == name })
		if i < 0 {
			return nil
		}
		n = n.Content[i+1]
	}
	return n
}

// appendMembers adds the members of one mapping to another. One that both have is a fault: which would count?
func appendMembers(to, from *yaml.Node) error {
	if to == nil || from == nil {
		return errors.New("gatewayapi: a document without paths or schemas")
	}
	for i := 0; i < len(from.Content); i += 2 {
		name := from.Content[i]
		for j := 0; j < len(to.Content); j += 2 {
			if to.Content[j].Value == name.Value {
				return fmt.Errorf("gatewayapi: %q stands in both documents", name.Value)
			}
		}
		to.Content = append(to.Content, name, from.Content[i+1])
	}
	return nil
}

// describeIngest adds the route of deliveries. It is no operation of the framework's: a body is read by the source's own rules.
func describeIngest(doc *huma.OpenAPI) {
	problems := doc.Components.Schemas.Schema(reflect.TypeFor[ingest.Document](), true, "")
	answer := doc.Components.Schemas.Schema(reflect.TypeFor[ingest.Answer](), true, "")
	repeat := reflect.TypeFor[ingest.Repeat]() // embedded by pointer: of a repeat only
	for _, s := range []string{"Delivered", "DeliveryProblem"} {
		schema := doc.Components.Schemas.Map()[s]
		schema.Required = slices.DeleteFunc(schema.Required, func(member string) bool {
			return slices.ContainsFunc(reflect.VisibleFields(repeat), func(f reflect.StructField) bool {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				return name == member
			})
		})
	}
	content := func(media string, s *huma.Schema) map[string]*huma.MediaType {
		return map[string]*huma.MediaType{media: {Schema: s}}
	}
	op := &huma.Operation{
		OperationID: "ingest", Method: http.MethodPost, Path: "/v1/ingest/{tenant}/{source}", Security: []map[string][]string{{}},
		Summary:     "Where an upstream delivers. Each event takes effect once.",
		Description: "Signed as the source's configuration asks for; no token. A JSON array, or a CloudEvents batch, is one commit of up to 1,000 items.",
		Parameters: []*huma.Param{
			{Name: "tenant", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}},
			{Name: "source", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}},
		},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"*/*": {}}},
		Responses: map[string]*huma.Response{
			"202": {Description: "Accepted.", Content: content("application/json", answer)},
			"200": {
				Description: "A repeat, with `Idempotency-Replayed: true`; of a batch: an array of what each item would get alone, with its `status`.",
				Content: content("application/json", &huma.Schema{OneOf: []*huma.Schema{answer, {
					Type: huma.TypeArray, Items: &huma.Schema{OneOf: []*huma.Schema{answer, problems}},
				}}}),
			},
		},
	}
	for _, rule := range ingest.Rules() {
		status := strconv.Itoa(rule.Status)
		if op.Responses[status] == nil {
			op.Responses[status] = &huma.Response{Description: "One of:", Content: content("application/problem+json", problems)}
		}
		op.Responses[status].Description += fmt.Sprintf(" `%s` (%s)", rule.Code, rule.Title)
	}
	doc.AddOperation(op)
}
