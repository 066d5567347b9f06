package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hapax.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagsOverEnvironmentOverFile(t *testing.T) {
	path := write(t, "listen: 127.0.0.1:1\ndata: from-file\nlimits: {in_flight: 7, connections: 70}\ntimeouts: {hello: 3s}\norigins: [https://a.example]\n")
	environ := []string{"HAPAX_LISTEN=127.0.0.1:2", "HAPAX_LIMITS_IN_FLIGHT=8", "HAPAX_ORIGINS=https://b.example, https://c.example", "HAPAX_DRAIN_SPREAD=7s", "HOME=/x", "HAPAX_TOKEN=client"}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse([]string{"--listen", "127.0.0.1:3", "--timeouts-write=2s", "--auth-algorithms", "HS256,EdDSA"}); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, environ, flags)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Data, want.Listen = "from-file", "127.0.0.1:3"
	want.Limits.InFlight, want.Limits.Connections = 8, 70
	want.Timeouts.Hello, want.Timeouts.Write, want.Drain.Spread = 3*time.Second, 2*time.Second, 7*time.Second
	want.Origins, want.Auth.Algorithms = []string{"https://b.example", "https://c.example"}, []string{"HS256", "EdDSA"}
	if !reflect.DeepEqual(c, want) {
		t.Fatalf("got  %+v\nwant %+v", c, want)
	}
}

func TestUnknownKeyNamesTheNearest(t *testing.T) {
	_, err := Load(write(t, "limits: {in_fligth: 7}\n"), []string{"HAPAX_TIMEOUT_HELLO=3s"}, nil)
	for _, want := range []string{`"limits.in_fligth"`, `"limits.in_flight"`, "HAPAX_TIMEOUT_HELLO", "HAPAX_TIMEOUTS_HELLO"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v doesn't name %s", err, want)
		}
	}
}

func TestWrongTypesAreErrors(t *testing.T) {
	for _, text := range []string{"limits: {in_flight: many}", "timeouts: {hello: soon}", "limits: 5", "listen: [a, b]", ": :"} {
		if c, err := Load(write(t, text), nil, nil); err == nil {
			t.Errorf("%s was read as %+v", text, c)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "absent.yaml"), nil, nil); err == nil {
		t.Error("a file that isn't there was read")
	}
}

func TestDefaultIsValidAndDev(t *testing.T) {
	c := Default()
	if err := c.Validate(); err != nil || !c.DevMode() {
		t.Fatal(err, c.DevMode())
	}
}

func TestValidateTellsAllFaultsAtOnce(t *testing.T) {
	c := Default()
	c.Listen, c.Store, c.Limits.InFlight, c.Timeouts.Idle, c.Auth.Algorithms, c.Origins = "0.0.0.0:80", "papyrus", 0, time.Second, []string{"none"}, []string{"chat.example"}
	err := c.Validate()
	for _, want := range []string{"listen: 0.0.0.0:80", "store:", "limits.in_flight: 0", "timeouts.idle: 1s", `"none"`, `"chat.example"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
}

func TestAddressesNameAPortThatIsOne(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, "127.0.0.1:65535": true, "127.0.0.1:http": true,
		"127.0.0.1:65536": false, "127.0.0.1:99999": false, "127.0.0.1:-1": false, "127.0.0.1:nosuchservice": false, "127.0.0.1": false,
	} {
		c := Default()
		c.Listen = address
		if err := c.Validate(); (err == nil) != ok {
			t.Errorf("listen: %s: %v", address, err)
		}
		c = Default()
		c.Admin.Listen = address
		if err := c.Validate(); (err == nil) != ok {
			t.Errorf("admin.listen: %s: %v", address, err)
		}
	}
}

func TestDevOnlyOnLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, "127.8.8.8:1": true, "[::ffff:127.0.0.1]:1": true,
		":1": false, "0.0.0.0:1": false, "[::]:1": false, "192.168.0.1:1": false, "localhost.evil.example:1": false, "127.0.0.1": false,
	} {
		if got := Loopback(address); got != want {
			t.Errorf("Loopback(%q) = %v", address, got)
		}
	}
	c := Default()
	c.Listen, c.Auth.Secret = "0.0.0.0:80", strings.Repeat("k", 32)
	if err := c.Validate(); err != nil {
		t.Errorf("with auth configured any address will do: %v", err)
	}
	c.Dev = true
	if err := c.Validate(); err == nil {
		t.Error("dev beside configured auth was let through")
	}
}

func TestPrintMasksSecretsAndReadsBack(t *testing.T) {
	c := Default()
	c.Auth.Secret, c.Auth.JWKSURL, c.Limits.InFlight = "shh-shh-shh-shh-shh-shh-shh-shh-", "https://me:pw@keys.example/set?sig=topsecret", 99
	text, err := c.Print()
	if err != nil {
		t.Fatal(err)
	}
	for _, leak := range []string{"shh", ":pw@", "topsecret"} {
		if strings.Contains(text, leak) {
			t.Errorf("%q shows in:\n%s", leak, text)
		}
	}
	back, err := Load(write(t, text), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	back.Auth.Secret, back.Auth.JWKSURL = c.Auth.Secret, c.Auth.JWKSURL
	if !reflect.DeepEqual(back, c) {
		t.Fatalf("got  %+v\nwant %+v", back, c)
	}
}
