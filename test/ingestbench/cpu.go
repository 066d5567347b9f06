package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuTime is what this process and PostgreSQL's have used of the processors. Unlike a rate it hardly depends on what else the machine
// does, and unlike time by the clock it shows what a machine of its own could do.
func (b *bench) cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	total := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	if b.pg != nil {
		total += familyTime(b.pg.cmd.Process.Pid)
	}
	return total
}

// tick is the unit of /proc/PID/stat: Linux counts in hundredths of a second on every machine that Go runs on.
const tick = 10 * time.Millisecond

// familyTime is the time of a process and its children, which live as long as the measurement.
func familyTime(pid int) (total time.Duration) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		// The name, in parentheses, may hold spaces; what follows it doesn't: state, parent, …
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 13 || fields[1] != strconv.Itoa(pid) && path != fmt.Sprintf("/proc/%d/stat", pid) {
			continue
		}
		for _, f := range fields[11:13] {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				continue
			}
			total += time.Duration(n) * tick
		}
	}
	return total
}
