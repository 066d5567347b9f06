package child

import (
	"os/exec"
	"syscall"
)

// Tie has a command that isn't started yet end with this process, however that ends: killed, by a panic, at a test's time-out.
// Elsewhere than on Linux it does nothing, and whoever is killed leaves the command behind.
func Tie(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// The signal comes with the end of the thread that starts the command: Go ends none but those that a goroutine locks and leaves.
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
