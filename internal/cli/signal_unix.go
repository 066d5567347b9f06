//go:build unix

package cli

import (
	"os/signal"
	"syscall"
)

// ignoreWriteSignals turns what would end the process by a signal into an error of the write: a reached file size
// limit (ulimit -f), as a full disk is, and a reader of the output that has gone.
func ignoreWriteSignals() { signal.Ignore(syscall.SIGXFSZ, syscall.SIGPIPE) }
