package cases

import (
	"encoding/json"
	"fmt"
	"path"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"hapax/api"
)

// published are the schemas of a server's frames by their type, as api/asyncapi.yaml publishes them.
var published = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	var loose any
	if err := yaml.Unmarshal(api.AsyncAPI, &loose); err != nil {
		return nil, err
	}
	text, err := json.Marshal(loose)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Operations map[string]struct {
			Action   string
			Messages []struct {
				Ref string `json:"$ref"`
			}
			Reply struct {
				Messages []struct {
					Ref string `json:"$ref"`
				}
			}
		}
		Components struct {
			Messages map[string]struct {
				Payload struct {
					Ref string `json:"$ref"`
				}
			}
		}
	}
	var whole any
	if err := decode(text, &whole); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	if err := c.AddResource("asyncapi.json", whole); err != nil {
		return nil, err
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, o := range doc.Operations {
		frames := o.Reply.Messages
		if o.Action == "send" {
			frames = append(frames, o.Messages...)
		}
		for _, f := range frames {
			name := path.Base(f.Ref)
			if schemas[name], err = c.Compile("asyncapi.json" + doc.Components.Messages[name].Payload.Ref); err != nil {
				return nil, err
			}
		}
	}
	return schemas, nil
})

// asPublished holds a frame of the real server against the document that is published of it.
func asPublished(frame any) error {
	schemas, err := published()
	if err != nil {
		return err
	}
	o, _ := frame.(map[string]any)
	kind, _ := o["type"].(string)
	s := schemas[kind]
	if s == nil {
		return fmt.Errorf("api/asyncapi.yaml publishes no frame of a server like %s", show(frame))
	}
	if err := s.Validate(frame); err != nil {
		return fmt.Errorf("%w\n\tin %s", err, show(frame))
	}
	return nil
}
