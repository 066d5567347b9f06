package ingest_test

import (
	"strings"
	"testing"

	"hapax/internal/gateway"
	"hapax/internal/settle"
	"hapax/internal/wire/ingest"
)

func secrets(values ...string) (out []ingest.Secret) {
	for i, v := range values {
		out = append(out, ingest.Secret{Label: string(rune('a' + i)), Value: v})
	}
	return out
}

// G14 and its neighbours: what can't be right stops the start, and the error says where.
func TestCompileRefuses(t *testing.T) {
	long := strings.Repeat("n", 257)
	for name, c := range map[string]struct {
		change func(s *ingest.Source)
		says   string
	}{
		"an unknown scheme": {func(s *ingest.Source) { s.Verify = ingest.Verify{Scheme: "hmac", Secrets: secrets("x")} }, `no scheme "hmac"`},
		"no scheme":         {func(s *ingest.Source) { s.Verify = ingest.Verify{} }, `say "none"`},
		"no secret":         {func(s *ingest.Source) { s.Verify = ingest.Verify{Scheme: ingest.SchemeGitHub} }, "needs a secret"},
		"an empty secret": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeGitHub, Secrets: secrets("x", "")}
		}, `secret "b" is empty`},
		"whsec_ alone": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeStandard, Secrets: secrets("whsec_")}
		}, "whsec_ alone"},
		"whsec_ alone for Stripe": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeStripe, Secrets: secrets("whsec_")}
		}, "whsec_ alone"},
		"padding alone": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeStandard, Secrets: secrets("whsec_==")}
		}, "isn't base64"},
		"no base64": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeStandard, Secrets: secrets("whsec_?hush?")}
		}, "isn't base64"},
		"a secret with its newline": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeBearer, Secrets: secrets("hush\n")}
		}, "white space"},
		"a secret for nobody": {func(s *ingest.Source) { s.Verify.Secrets = secrets("x") }, "no use for secrets"},
		"a secret without label": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeBearer, Secrets: []ingest.Secret{{Value: "x"}}}
		}, "no label"},
		"a label twice": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeBearer, Secrets: append(secrets("x"), secrets("y")...)}
		}, `labelled "a"`},
		"a tolerance for no time": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeGitHub, Secrets: secrets("x"), ToleranceS: 5}
		}, "no time"},
		"a tolerance below 0": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeStripe, Secrets: secrets("x"), ToleranceS: -5}
		}, "tolerance"},
		"hmac without header": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeHMAC, Encoding: "hex", Secrets: secrets("x")}
		}, "needs the name of the header"},
		"hmac in a wrong encoding": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeHMAC, Header: "X", Encoding: "base32", Secrets: secrets("x")}
		}, "neither hex nor base64"},
		"a header for another scheme": {func(s *ingest.Source) {
			s.Verify = ingest.Verify{Scheme: ingest.SchemeGitHub, Header: "X", Secrets: secrets("x")}
		}, "for hmac-sha256 only"},
		"no tenant":                  {func(s *ingest.Source) { s.Tenant = "#x" }, "tenant"},
		"a long name":                {func(s *ingest.Source) { s.Name = long }, "no name of the contract"},
		"no key":                     {func(s *ingest.Source) { s.Key = nil }, "key: 0 parts"},
		"a constant key":             {func(s *ingest.Source) { s.Key = []ingest.Field{{Constant: "x"}} }, "key[0]: a constant"},
		"an empty part":              {func(s *ingest.Source) { s.Key = append(s.Key, ingest.Field{}) }, "key[1]"},
		"two places for one part":    {func(s *ingest.Source) { s.Key = []ingest.Field{{Header: "X", Pointer: "/x"}} }, "one too many"},
		"a bad pointer":              {func(s *ingest.Source) { s.Key = []ingest.Field{{Pointer: "id"}} }, "no JSON pointer"},
		"a bad escape":               {func(s *ingest.Source) { s.Amount = ingest.Field{Pointer: "/a~2"} }, "no JSON pointer"},
		"a bad header":               {func(s *ingest.Source) { s.Key = []ingest.Field{{Header: "a b"}} }, "no name of a header"},
		"an attribute of JSON":       {func(s *ingest.Source) { s.Format, s.Key = ingest.FormatJSON, []ingest.Field{{Attribute: "id"}} }, "no CloudEvent"},
		"a bad attribute":            {func(s *ingest.Source) { s.Key = []ingest.Field{{Attribute: "ID"}} }, "no name of an attribute"},
		"a pointer into raw bytes":   {func(s *ingest.Source) { s.Format = ingest.FormatRaw }, "isn't looked into"},
		"an unknown body":            {func(s *ingest.Source) { s.Format = "xml" }, "json, cloudevents, raw"},
		"no amount":                  {func(s *ingest.Source) { s.Amount = ingest.Field{} }, "amount is missing"},
		"a constant that is none":    {func(s *ingest.Source) { s.Amount = ingest.Field{Constant: "1,5"} }, "no amount"},
		"an unknown form":            {func(s *ingest.Source) { s.AmountForm = "cents" }, "decimal, minor"},
		"exponents of decimals":      {func(s *ingest.Source) { s.Exponents = map[string]int{"EUR": 2} }, "minor units only"},
		"an exponent of 9":           {func(s *ingest.Source) { s.AmountForm, s.Exponents = ingest.AmountMinor, map[string]int{"EUR": 9} }, "EUR: 9"},
		"an exponent of nothing":     {func(s *ingest.Source) { s.AmountForm, s.Exponents = ingest.AmountMinor, map[string]int{"euro": 2} }, "capital letters"},
		"a currency of four letters": {func(s *ingest.Source) { s.Currency = ingest.Field{Constant: "EURO"} }, "three letters"},
		"a scope that is none":       {func(s *ingest.Source) { s.Scope = ingest.Field{Constant: "all"} }, "schema, wire"},
		"a state that is none":       {func(s *ingest.Source) { s.State = ingest.Field{Constant: "open"} }, "done, pending"},
		"a time without form":        {func(s *ingest.Source) { s.SeenAt = ingest.Field{Pointer: "/at"} }, "a place and a form"},
		"a form without time":        {func(s *ingest.Source) { s.SeenAtForm = ingest.TimeUnix }, "a place and a form"},
		"a constant time":            {func(s *ingest.Source) { s.SeenAt, s.SeenAtForm = ingest.Field{Constant: "5"}, ingest.TimeUnix }, "constant time"},
		"a window below 0":           {func(s *ingest.Source) { s.WindowS = -1 }, "window: -1"},
		"a window of 16 digits":      {func(s *ingest.Source) { s.WindowS = 1_000_000_000_000_000 }, "window"},
		"no registry":                {func(s *ingest.Source) { s.Registry = "" }, "required, open"},
		"an unknown mismatch":        {func(s *ingest.Source) { s.OnMismatch = "drop" }, "flag, reject"},
		"a reject status of 500":     {func(s *ingest.Source) { s.RejectStatus = 500 }, "neither 422 nor 200"},
		"a rate without burst":       {func(s *ingest.Source) { s.Rate = 5 }, "let nothing in"},
		"a body of a gigabyte":       {func(s *ingest.Source) { s.MaxBody = 1 << 30 }, "max_body"},
		"ignoring everything":        {func(s *ingest.Source) { s.Ignore = []string{""} }, "whole body"},
		"ignoring by a bad pointer":  {func(s *ingest.Source) { s.Ignore = []string{"a"} }, "no JSON pointer"},
		"forwarding a signature":     {func(s *ingest.Source) { s.ForwardHeaders = []string{"webhook-signature"} }, "own"},
		"forwarding no header":       {func(s *ingest.Source) { s.ForwardHeaders = []string{"*"} }, "no name of a header"},
	} {
		s := plain(c.change)
		_, err := ingest.Compile(s)
		if err == nil {
			t.Errorf("%s was taken", name)
			continue
		}
		if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), `of tenant "`+s.Tenant) {
			t.Errorf("%s: the error doesn't say %q: %v", name, c.says, err)
		}
		for _, secret := range s.Verify.Secrets {
			if len(secret.Value) > 4 && strings.Contains(err.Error(), strings.TrimSpace(secret.Value)) && secret.Value != "whsec_" {
				t.Errorf("%s: the error shows the secret: %v", name, err)
			}
		}
	}
}

func TestCompileTellsAllFaultsAtOnce(t *testing.T) {
	_, err := ingest.Compile(plain(func(s *ingest.Source) { s.WindowS, s.Key, s.Registry = -1, nil, "" }))
	for _, part := range []string{"window", "key", "registry"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s isn't named: %v", part, err)
		}
	}
}

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		change func(s *ingest.Source)
		want   gateway.Settings
	}{
		{func(*ingest.Source) {}, gateway.Settings{WindowS: 120, Scope: settle.ScopeSchema, Open: true, Parts: 1}},
		{func(s *ingest.Source) {
			s.Scope, s.Registry, s.Forward, s.LRUCapacity = ingest.Field{Constant: "wire"}, ingest.RegistryRequired, true, 7
			s.Key = append(s.Key, ingest.Field{Header: "X"})
		}, gateway.Settings{WindowS: 120, Scope: settle.ScopeWire, LRUCapacity: 7, Forward: true, Parts: 2}},
		{func(s *ingest.Source) { s.KeyScope = "wire" }, gateway.Settings{WindowS: 120, Scope: settle.ScopeWire, Open: true, Parts: 1}},
	} {
		compiled, err := ingest.Compile(plain(c.change))
		if err != nil {
			t.Fatal(err)
		}
		if got := compiled.Settings(); got != c.want {
			t.Errorf("%+v, not %+v", got, c.want)
		}
	}
}
