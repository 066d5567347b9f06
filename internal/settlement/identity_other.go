//go:build !unix

package settlement

import "io/fs"

// fileIdentity knows no links here; paths are compared by name.
func fileIdentity(fs.FileInfo) (string, bool) { return "", false }
