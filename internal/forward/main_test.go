package forward

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails where a test leaves a goroutine behind: a request, a dial, a kept connection.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // net/http tells of answers that nobody asked for; the server's own logger leaves out what it quotes
	goleak.VerifyTestMain(m)
}
