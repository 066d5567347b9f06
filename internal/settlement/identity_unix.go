//go:build unix

package settlement

import (
	"fmt"
	"io/fs"
	"syscall"
)

// fileIdentity tells hard links of one file as the same.
func fileIdentity(info fs.FileInfo) (string, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return "", false
	}
	return fmt.Sprintf("inode %d %d", stat.Dev, stat.Ino), true
}
