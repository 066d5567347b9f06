//go:build unix

package cli

import (
	"os/signal"
	"syscall"
)

// ignoreFileSizeSignal turns a reached file size limit (ulimit -f) into an error of the write, as a full disk is.
func ignoreFileSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }
