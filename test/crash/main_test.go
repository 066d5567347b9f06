package crash

import (
	"context"
	"os"
	"testing"

	"hapax/internal/child"
	"hapax/internal/cli"
)

// asProgram makes the test binary the program itself: so a test runs the very code under test as a process, without
// building it a second time.
const asProgram = "TEST_AS_HAPAX"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// startServer runs a server on a data folder and an address.
func startServer(t *testing.T, ctx context.Context, data, listen string, more ...string) *child.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := child.Start(ctx, self, append([]string{"serve", "--dev", "--data", data, "--listen", listen, "--admin-listen", "127.0.0.1:0",
		"--limits-connections-per-second", "1000"}, more...), asProgram+"=1")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
