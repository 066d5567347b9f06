//go:build linux || darwin

package serve

import "syscall"

// errNotDir is the error of a path that goes through a file.
const errNotDir = syscall.ENOTDIR

// mayWrite tells whether this process may make files in a folder, without making one: W_OK and X_OK.
func mayWrite(dir string) error { return syscall.Access(dir, 2|1) }
