package crash

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"hapax/internal/demo"
)

// TestDemo runs `hapax demo` as a user would, only shorter. The proof that it prints must hold, and must be one of a run
// in which things went wrong.
func TestDemo(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "demo", "--json", "--messages", "60", "--downtime", "100ms", "--drop-acks", "0.5")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var proof demo.Proof
	if err := json.Unmarshal(out, &proof); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !proof.OK() || proof.Stored != 180 || proof.Kills != 1 || proof.AcksDropped == 0 {
		t.Errorf("%s", out)
	}
}
