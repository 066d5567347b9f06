package forward

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails where a test leaves a goroutine behind: a request, a dial, a kept connection.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
