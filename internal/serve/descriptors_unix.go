//go:build unix

package serve

import "syscall"

// descriptorLimit is how many files this process may have open, 0 where that isn't known. The runtime has raised it to
// the hard limit.
func descriptorLimit() int {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil || r.Cur > 1<<30 {
		return 0
	}
	return int(r.Cur)
}
