// Command hapax is the room server, the gateway and their tools in one binary.
package main

import (
	"os"

	"hapax/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
