//go:build !unix

package serve

func descriptorLimit() int { return 0 }
