//go:build !unix

package cli

func ignoreWriteSignals() {}
