package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

const twoSources = `
listen: 127.0.0.1:1
gateway:
  policy: {block_window: 24h, scope_strict: true, lru_min_hits: 3}
  anchor: /backup/anchor
  tenants:
    acme.example:
      sources:
        "stripe: live (eu.1)":
          verify: {scheme: stripe, tolerance: 5m, secrets: [{label: "2026", file: /etc/s1}, {label: "2025", file: /etc/s2}]}
          key: {pointer: /id}
          amount: {pointer: /data/object/amount, form: minor, exponents: {JPY: 0}}
          currency: {pointer: /data/object/currency}
          state: {const: pending}
          seen_at: {pointer: /created, form: unix}
          window: 72h
          rate: {per_second: 50, burst: 100}
          forward:
            url: https://me.example/in?token=topsecret
            secret_files: [/etc/f]
            allow: [10.0.0.0/8]
            extra_headers: [{name: Authorization, file: /etc/a}]
    b:
      sources:
        s:
          verify: {scheme: none}
          key: [{header: X-Shop}, {pointer: /n}]
          amount: {const: "0"}
          registry: required
          on_mismatch: reject
          reject_status: 200
`

func TestTenantsHaveNamesOfAnyCharacters(t *testing.T) {
	c, err := Load(write(t, twoSources), []string{"HAPAX_GATEWAY_POLICY_LRU_MIN_HITS=4"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if want := (GatewayPolicy{24 * time.Hour, true, 4}); c.Gateway.Policy != want || c.Gateway.Anchor != "/backup/anchor" || c.Listen != "127.0.0.1:1" || !c.Gateway.Configured() {
		t.Errorf("%+v", c.Gateway)
	}
	s := c.Gateway.Tenants["acme.example"].Sources["stripe: live (eu.1)"]
	want := Source{
		Verify:   Verify{Scheme: "stripe", Tolerance: 5 * time.Minute, Secrets: []Secret{{"2026", "/etc/s1"}, {"2025", "/etc/s2"}}},
		Key:      Parts{{Pointer: "/id"}},
		Amount:   Amount{From: From{Pointer: "/data/object/amount"}, Form: "minor", Exponents: map[string]int{"JPY": 0}},
		Currency: From{Pointer: "/data/object/currency"}, State: From{Const: "pending"},
		SeenAt: SeenAt{From: From{Pointer: "/created"}, Form: "unix"}, Window: 72 * time.Hour, Rate: &Pace{50, 100},
		Forward: &Forward{
			URL: "https://me.example/in?token=topsecret", SecretFiles: []string{"/etc/f"}, Allow: []string{"10.0.0.0/8"}, Extra: []ExtraHeader{{"Authorization", "/etc/a"}},
		},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	other := c.Gateway.Tenants["b"].Sources["s"]
	if !reflect.DeepEqual(other.Key, Parts{{Header: "X-Shop"}, {Pointer: "/n"}}) || other.Registry != "required" || other.OnMismatch != "reject" || other.RejectStatus != 200 {
		t.Errorf("%+v", other)
	}
}

func TestGatewayPrintsAndReadsBack(t *testing.T) {
	c, err := Load(write(t, twoSources), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Print()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "topsecret") {
		t.Errorf("a destination's query shows in:\n%s", text)
	}
	back, err := Load(write(t, text), nil, nil)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	back.Gateway.Tenants["acme.example"].Sources["stripe: live (eu.1)"].Forward.URL = "https://me.example/in?token=topsecret"
	if !back.Dev || c.Dev {
		t.Error("what is printed doesn't say that serve signs for itself")
	}
	back.Dev = false
	if !reflect.DeepEqual(back, c) {
		t.Errorf("got  %+v\nwant %+v", back.Gateway, c.Gateway)
	}
}

func TestUnknownKeysOfASourceNameTheNearest(t *testing.T) {
	text := strings.NewReplacer("tolerance: 5m", "tolerence: 5m", "registry: required", "registri: required", "max_body", "").Replace(twoSources)
	_, err := Load(write(t, text+"          forward: {url: http://x, in_fligth: 3}\n    c: {source: {}}\n"), nil, nil)
	for _, want := range []string{
		`line 10: unknown key "gateway.tenants.\"acme.example\".sources.\"stripe: live (eu.1)\".verify.tolerence"; the nearest known is "gateway.tenants.\"acme.example\".sources.\"stripe: live (eu.1)\".verify.tolerance"`,
		`"gateway.tenants.b.sources.s.registri"; the nearest known is "gateway.tenants.b.sources.s.registry"`,
		`"gateway.tenants.b.sources.s.forward.in_fligth"`, `"gateway.tenants.c.source"; the nearest known is "gateway.tenants.c.sources"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoesn't say %s", err, want)
		}
	}
}

func TestWhatNoGatewayIs(t *testing.T) {
	for name, text := range map[string]string{
		"a tenant twice":                  "gateway: {tenants: {a: {}, a: {}}}",
		"a source twice":                  "gateway: {tenants: {a: {sources: {s: {}, s: {}}}}}",
		"a member twice":                  "gateway: {tenants: {a: {sources: {s: {format: raw, format: raw}}}}}",
		"tenants as a list":               "gateway: {tenants: [a]}",
		"a window as text":                "gateway: {tenants: {a: {sources: {s: {window: soon}}}}}",
		"a second document":               "listen: a:1\n---\ngateway: {}\n",
		"an unknown member of gateway":    "gateway: {tenant: {}}",
		"tenants by the environment only": "gateway: {policy: {block_window: x}}",
	} {
		if c, err := Load(write(t, text), nil, nil); err == nil {
			t.Errorf("%s: read as %+v", name, c.Gateway)
		}
	}
	if _, err := Load("", []string{"HAPAX_GATEWAY_TENANTS=a"}, nil); err == nil {
		t.Error("tenants were read from the environment")
	}
	for name, text := range map[string]string{"empty": "", "only a comment": "# nothing\n", "an empty section": "gateway:\nlimits:\n", "no tenants": "gateway: {tenants: }\n"} {
		c, err := Load(write(t, text), nil, nil)
		if err != nil || c.Gateway.Configured() || c.Limits != Default().Limits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAllFaultsOfAGatewayAtOnce(t *testing.T) {
	const text = `
gateway:
  policy: {block_window: 1500ms, lru_min_hits: -1}
  proof: {every: 1s, pace: 1}
  limits: {body: 1, requests: 0, rate: 0, burst: 0, scan: 1}
  tenants:
    "#a": {sources: {" b": {}}}
    empty: {}
    c:
      sources:
        s:
          window: 100ms
          body_retention: -1s
          rate: {per_second: 0, burst: 0}
          verify: {scheme: stripe, tolerance: 1ms, secrets: [{label: "", file: ""}, {label: a, file: x}, {label: a, file: y}]}
          forward: {url: "http://h", allow: [10.0.0.0], extra_headers: [{name: X}]}
`
	c, err := Load(write(t, text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Validate()
	for _, want := range []string{
		"policy.block_window", "policy.lru_min_hits", "proof.every", "proof.pace", "limits.body", "limits.requests", "limits.rate", "limits.burst", "limits.scan",
		`"#a" is no tenant's name`, `" b" is no source's name`, "gateway.tenants.empty: no sources", "s.window", "s.body_retention", "s.rate",
		"s.verify.tolerance", "secrets[0]: a label", "secrets[0]: no file", `the label "a" stands twice`, "forward.secret_files", `"10.0.0.0" is no CIDR`, "extra_headers[0]",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}
