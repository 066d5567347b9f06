// Package cli is the command line: flags and words in, exit status out. It wires the other rooms together
// and holds no rule of its own.
//
// Read next: root.go, then the file named like the command.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Exit statuses of all commands; a command may give 1, 2 and 3 a meaning of its own and says so in its help.
const (
	ExitOK      = 0
	ExitFailed  = 1  // something is wrong: not all was sent, a check found a fault
	ExitConfig  = 3  // the configuration or a contract is wrong
	ExitUsage   = 64 // wrong words on the command line; nothing was read or changed
	ExitMachine = 70 // the machine failed: a panic, a full disk, a store that can't be opened
)

// ExitError carries an exit status. An Err of nil prints nothing.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

func usage(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Main runs a command line and returns its exit status. Errors go to stderr in one line.
//
// A panic is the machine's fault and ends with ExitMachine: left to the runtime it would end with 2, which commands give
// a meaning of their own.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "hapax: panic: %v\n%s", p, debug.Stack())
			code = ExitMachine
		}
	}()
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return ExitOK
	}
	var exit *ExitError
	if !errors.As(err, &exit) {
		// Commands return an ExitError for all that goes wrong in them, so this is cobra's own: unknown words and flags.
		exit = &ExitError{Code: ExitUsage, Err: err}
	}
	if exit.Err != nil {
		fmt.Fprintf(stderr, "hapax: %s\n", shownLines(exit.Err.Error()))
	}
	return exit.Code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:              "hapax",
		Version:          versionLine(),
		Short:            "Messages and events take effect once, in order, and it can be proved",
		SilenceUsage:     true,
		SilenceErrors:    true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) { warnOfSecrets(cmd) },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(
		newSend(),
		newTail(),
		newOutbox(),
		newDeadLetters(),
		newHistory(),
		newStatus(),
		newVerify(),
		newBackup(),
		newRestore(),
		newHealth(),
		newServe(),
		newToken(),
		newLink(),
		newConfig(),
		newDemo(),
		newBench(),
		newVersion(),
		newSettle(),
		newWhy(),
		newAdvise(),
		newAudit(),
		newAcceptLoss(),
		newExport(),
		newReport(),
	)
	return root
}
