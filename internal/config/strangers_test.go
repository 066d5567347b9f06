package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// A command line can be read by every user of the machine: a secret's flag names a file, and what was given instead isn't shown again.
func TestSecretsAreNoFlags(t *testing.T) {
	secret := strings.Repeat("s", 40)
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(words ...string) (Config, error) {
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		AddFlags(flags)
		if err := flags.Parse(words); err != nil {
			t.Fatal(err)
		}
		return Load("", nil, flags)
	}
	if c, err := load("--auth-secret", "@"+file); err != nil || c.Auth.Secret != secret {
		t.Errorf("%q %v", c.Auth.Secret, err)
	}
	for _, words := range [][]string{
		{"--auth-secret", secret}, {"--auth-secret", "@"}, {"--auth-secret", "@" + file + ".none"}, {"--auth-secret", ""},
		{"--auth-jwks-url", "https://u:" + secret + "@keys.example/"}, {"--auth-jwks-url", "https://keys.example/?key=" + secret},
	} {
		if _, err := load(words...); err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "HAPAX_AUTH_") {
			t.Errorf("%.30q: %v", words, err)
		}
	}
	if c, err := load("--auth-jwks-url", "https://keys.example/jwks.json"); err != nil || c.Auth.JWKSURL == "" {
		t.Error(err)
	}
	if c, err := Load("", []string{"HAPAX_AUTH_SECRET=" + secret}, nil); err != nil || c.Auth.Secret != secret {
		t.Error(err)
	}
}

// What Kubernetes injects for a Service named hapax is nobody's setting; what looks like it and isn't, is an error as ever.
func TestVariablesOfAKubernetesService(t *testing.T) {
	injected := []string{
		"HAPAX_SERVICE_HOST=10.0.0.7", "HAPAX_SERVICE_PORT=7480", "HAPAX_SERVICE_PORT_CLIENTS=7480", "HAPAX_SERVICE_PORT_ADMIN_2=7481", "HAPAX_PORT=tcp://10.0.0.7:7480",
		"HAPAX_PORT_7480_TCP=tcp://10.0.0.7:7480", "HAPAX_PORT_7480_TCP_PROTO=tcp", "HAPAX_PORT_7480_TCP_PORT=7480", "HAPAX_PORT_7480_TCP_ADDR=10.0.0.7",
		"HAPAX_PORT_53_UDP=udp://[fd00::7]:53", "HAPAX_PORT_53_UDP_ADDR=fd00::7",
	}
	if c, err := Load("", append(injected, "HAPAX_LISTEN=127.0.0.1:9"), nil); err != nil || c.Listen != "127.0.0.1:9" {
		t.Error(err)
	}
	for _, wrong := range []string{"HAPAX_PORT=7480", "HAPAX_PORTS=tcp://x", "HAPAX_SERVICE=x", "HAPAX_SERVICE_HOSTS=x", "HAPAX_PORT_7480_TCP=7480", "HAPAX_PORT_X_TCP=tcp://x", "HAPAX_SERVICE_PORTS=1", "HAPAX_LISTEM=x"} {
		if _, err := Load("", append(injected, wrong), nil); err == nil || !strings.Contains(err.Error(), strings.Split(wrong, "=")[0]) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func TestOriginsAreWhatBrowsersSend(t *testing.T) {
	for given, want := range map[string]string{
		"https://chat.example": "https://chat.example", "https://chat.example/": "https://chat.example", "https://Chat.Example": "https://chat.example", "HTTPS://chat.example": "https://chat.example",
		"https://chat.example:443": "https://chat.example", "http://chat.example:80/": "http://chat.example", "https://chat.example:80": "https://chat.example:80", "http://chat.example:0443": "http://chat.example:443",
		"http://[::1]:8080": "http://[::1]:8080", "http://[0:0:0:0:0:0:0:1]": "http://[::1]", "https://xn--bcher-kva.example": "https://xn--bcher-kva.example",
		"": "", "null": "", "*": "", "https://*.example": "", "chat.example": "", "https://": "", "ftp://chat.example": "", "https://chat.example/app": "", "https://chat.example?x": "", "https://chat.example/?": "",
		"https://192.0.2.1:8443": "https://192.0.2.1:8443", "https://127.1": "", "https://0x7f.1": "", "https://127.0.0.0x1": "", "https://2130706433": "", "https://1.2.3.256": "", "https://192.0.2.1.": "",
		"http://[fe80::1%25eth0]": "", "http://[::ffff:192.0.2.1]": "", "https://chat.example.": "https://chat.example.", "https://a1.e2e": "https://a1.e2e",
		"https://chat.example#x": "", "https://chat.example/#": "", "https://ann@chat.example": "", "https://bücher.example": "", "https://chat.example:": "", "https://chat.example:0": "", "https://chat.example:70000": "",
	} {
		got, err := NormalOrigin(given)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q %v, want %q", given, got, err, want)
		}
		c := Default()
		c.Origins = []string{given}
		if invalid := c.Validate() != nil; invalid != (want == "") {
			t.Errorf("%q: refused %v", given, invalid)
		}
	}
}

func TestTheAdminAddressBeyondLoopback(t *testing.T) {
	for name, c := range map[string]struct {
		admin Admin
		tls   bool
		good  bool
	}{
		"loopback":                         {Admin{Listen: "127.0.0.1:7481", Pprof: true}, false, true},
		"localhost":                        {Admin{Listen: "localhost:7481", Pprof: true}, false, true},
		"none":                             {Admin{Pprof: true}, false, true},
		"everybody":                        {Admin{Listen: "0.0.0.0:7481"}, false, false},
		"everybody, unsaid":                {Admin{Listen: ":7481"}, false, false},
		"everybody, by IPv6":               {Admin{Listen: "[::]:7481"}, false, false},
		"with a token":                     {Admin{Listen: "0.0.0.0:7481", TokenFile: "t"}, false, true},
		"with certificates":                {Admin{Listen: "0.0.0.0:7481", ClientCA: "ca"}, true, true},
		"certificates without TLS":         {Admin{Listen: "0.0.0.0:7481", ClientCA: "ca"}, false, false},
		"profiles for who has a token":     {Admin{Listen: "0.0.0.0:7481", TokenFile: "t", Pprof: true}, false, false},
		"profiles for who has certificate": {Admin{Listen: "0.0.0.0:7481", ClientCA: "ca", Pprof: true}, true, false},
	} {
		all := Default()
		all.Admin = c.admin
		if c.tls {
			all.TLS = TLS{Cert: "c", Key: "k"}
		}
		if err := all.Validate(); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
