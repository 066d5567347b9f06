package gatewayapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"hapax/internal/engine/intake"
	"hapax/internal/gateway"
	"hapax/internal/settle"
)

// Registration is what is registered of a key.
type Registration struct {
	Key         string `json:"key"`
	Scope       string `json:"scope" enum:"schema,wire"`
	WindowS     int64  `json:"windowS" doc:"Replay window in seconds; 0: the source's."`
	LRUCapacity int64  `json:"lruCapacity"`
	Events      int64  `json:"events" doc:"Of the key, since it is registered or before. A key that has one can't be removed."`
}

func registrationOf(n *intake.NamedKey) Registration {
	return Registration{Key: n.Name.Key, Scope: n.Scope.String(), WindowS: n.WindowS, LRUCapacity: n.LRUCapacity, Events: n.Events}
}

// KeyPath names a key by the address.
type KeyPath struct {
	Tenant string `path:"tenant" maxLength:"256"`
	Source string `path:"source" maxLength:"256"`
	Key    string `path:"key" maxLength:"256" doc:"One path segment, escaped."`
}

func (k *KeyPath) name() gateway.Name {
	return gateway.Name{Tenant: k.Tenant, Source: k.Source, Key: k.Key}
}

type registerIn struct {
	KeyPath
	Body struct {
		Scope       string `json:"scope" enum:"schema,wire"`
		WindowS     int64  `json:"windowS,omitempty" minimum:"0" maximum:"999999999999999" doc:"Replay window in seconds; 0 or absent: the source's."`
		LRUCapacity int64  `json:"lruCapacity,omitempty" minimum:"0" maximum:"999999999999999"`
	}
}

type registrationOut struct{ Body Registration }

type registryIn struct {
	Tenant string `path:"tenant" maxLength:"256"`
	Source string `path:"source" maxLength:"256"`
	After  string `query:"after" maxLength:"256" doc:"The next of the page before."`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}

// RegistryPage is a part of a listing.
type RegistryPage struct {
	Registrations []Registration `json:"registrations" doc:"By key, as bytes."`
	Next          string         `json:"next,omitempty" doc:"To be given as after, to go on, also where this page is short or empty; absent at the end."`
}

type registryOut struct{ Body RegistryPage }

func (s *server) registry(api huma.API) {
	const path = "/v1/registry/{tenant}/{source}"
	handle(s, api, huma.Operation{
		OperationID: "listRegistry", Method: http.MethodGet, Path: path, Summary: "The registered keys of a source.",
	}, s.listRegistry)
	handle(s, api, huma.Operation{
		OperationID: "registration", Method: http.MethodGet, Path: path + "/{key}", Summary: "What is registered of a key.",
	}, s.readKey)
	handle(s, api, huma.Operation{
		OperationID: "register", Method: http.MethodPut, Path: path + "/{key}", Errors: []int{http.StatusForbidden, http.StatusRequestEntityTooLarge},
		Summary: "Register a key, or change its registration, from the log's next record on.",
	}, s.registerKey)
	handle(s, api, huma.Operation{
		OperationID: "unregister", Method: http.MethodDelete, Path: path + "/{key}", Errors: []int{http.StatusForbidden, http.StatusConflict},
		DefaultStatus: http.StatusNoContent, Summary: "Remove the registration of a key that has no event.",
	}, s.unregisterKey)
}

func (s *server) listRegistry(ctx context.Context, in *registryIn) (*registryOut, error) {
	if err := mayRead(ctx, in.Tenant); err != nil {
		return nil, err
	}
	return scan(ctx, s, func(v intake.View) (*registryOut, error) {
		if _, err := sourcesOf(v, in.Tenant, in.Source); err != nil {
			return nil, err
		}
		out, last, scanned := &registryOut{Body: RegistryPage{Registrations: []Registration{}}}, in.After, 0
		for n, err := range v.Keys(in.Tenant, in.Source, in.After) {
			if err != nil {
				return nil, err
			}
			if scanned == s.Scan || len(out.Body.Registrations) == in.Limit {
				out.Body.Next = last
				break
			}
			scanned++
			last = n.Name.Key
			if n.Registered {
				out.Body.Registrations = append(out.Body.Registrations, registrationOf(&n))
			}
		}
		return out, nil
	})
}

func (s *server) readKey(ctx context.Context, in *KeyPath) (*registrationOut, error) {
	if err := mayRead(ctx, in.Tenant); err != nil {
		return nil, err
	}
	return s.shown(ctx, in.name())
}

func (s *server) shown(ctx context.Context, n gateway.Name) (*registrationOut, error) {
	return view(ctx, s, func(v intake.View) (*registrationOut, error) {
		k, err := v.Key(n)
		if err != nil {
			return nil, err
		}
		if !k.Registered {
			return nil, nothing()
		}
		return &registrationOut{Body: registrationOf(&intake.NamedKey{Name: n, Key: k})}, nil
	})
}

func (s *server) registerKey(ctx context.Context, in *registerIn) (*registrationOut, error) {
	if err := mayWrite(ctx, in.Tenant); err != nil {
		return nil, err
	}
	if !settle.ValidName([]byte(in.Key)) {
		return nil, problem(codeBadRequest, "a key is 1 to 256 bytes of UTF-8 without control characters and without white space at its ends")
	}
	scope, _ := settle.ParseScope([]byte(in.Body.Scope)) // the schema has only the two words
	c := &gateway.Register{Name: in.name(), Scope: scope, WindowS: in.Body.WindowS, LRUCapacity: in.Body.LRUCapacity, By: sessionOf(ctx).Actor}
	outcomes, err := s.Books.Enter(ctx, c)
	if err != nil {
		return nil, err
	}
	switch outcomes[0].Kind {
	case gateway.Done, gateway.Same:
	case gateway.Invalid:
		return nil, problem(codeBadRequest, "a field of the registration holds what the log can't")
	default:
		return nil, nothing()
	}
	return s.shown(ctx, in.name())
}

func (s *server) unregisterKey(ctx context.Context, in *KeyPath) (*struct{}, error) {
	if err := mayWrite(ctx, in.Tenant); err != nil {
		return nil, err
	}
	outcomes, err := s.Books.Enter(ctx, &gateway.Unregister{Name: in.name(), By: sessionOf(ctx).Actor})
	if err != nil {
		return nil, err
	}
	switch outcomes[0].Kind {
	case gateway.Done:
		return nil, nil
	case gateway.HasEvent:
		return nil, problem(codeHasEvent, "the key has an event: its registration stays, as the books rest on it")
	}
	return nil, nothing()
}
