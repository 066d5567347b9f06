package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"
)

func main() {
	var only regexp.Regexp
	flag.TextVar(&only, "only", regexp.MustCompile(""), "try only faults whose name or file matches this regular expression, with the controls")
	limit := flag.Duration("limit", 10*time.Minute, "a test that runs longer has timed out")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, chosen(&only), *limit))
}

func chosen(only *regexp.Regexp) []Fault {
	var faults []Fault
	for _, f := range allFaults() {
		if f.Harmless || only.MatchString(f.Name) || only.MatchString(f.File) {
			faults = append(faults, f)
		}
	}
	return faults
}

// run tries the faults and returns the exit status.
func run(ctx context.Context, faults []Fault, limit time.Duration) int {
	begun := time.Now()
	bad := 0
	gate := Gate{Root: ".", Workers: runtime.GOMAXPROCS(0), Limit: limit, Done: func(o Outcome) {
		fmt.Printf("%-6.1fs %-10s %s\n", o.Took.Seconds(), o.Verdict, o.Fault.Name)
		if !o.Good() {
			bad++
			fmt.Printf("  in %s, expected of %s\n%s\n", o.Fault.File, o.Fault.Test, o.Detail)
		}
	}}
	outcomes, err := gate.Run(ctx, faults)
	if err != nil {
		fmt.Fprintf(os.Stderr, "mutate: %v\n", err)
		return 1
	}
	fmt.Printf("%d faults and controls in %.0f s, %d not as they must be\n", len(outcomes), time.Since(begun).Seconds(), bad)
	if bad > 0 {
		return 1
	}
	return 0
}
