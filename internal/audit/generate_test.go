package audit

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// generate writes a folder of many events: 30 % repeats with gaps around the window, 1 % rejects, 1 % late, names of
// 20–40 bytes, 100 tenants (for speed, and for tests that need length).
func generate(dir string, events, keys int) error {
	random := rand.New(rand.NewPCG(5, 6))
	key := func(k int) string {
		return fmt.Sprintf("tenant-%016d\tsource-of-upstream-%d\torder-%0*d", k%100, k%7, 14+k%20, k)
	}
	registry := func(out *bufio.Writer) {
		for k := range keys {
			fmt.Fprintf(out, "%s\t%s\t%d\t100\n", key(k), []string{"schema", "wire"}[k%2], []int{0, 600}[k%2])
		}
	}
	rows := func(out *bufio.Writer) {
		recent := make([]int, 0, events)
		for i := range events {
			k, seen := random.IntN(keys), 1_000_000+i/50
			if len(recent) > 0 && random.IntN(100) < 30 {
				k = recent[max(0, len(recent)-1-random.IntN(36_000))]
			}
			recent = append(recent, k)
			amount, text := fmt.Sprintf("%d.%02d", random.IntN(10_000), random.IntN(100)), key(k)
			switch random.IntN(200) {
			case 0:
				amount = "12,50"
			case 1:
				text += "-unknown"
			case 2, 3:
				seen -= random.IntN(3_600)
			}
			fmt.Fprintf(out, "%d\t%s\t\t%d\t%s\t%s\t%d\n", i+1, text, seen, amount, []string{"done", "pending"}[random.IntN(8)/7], i+1)
		}
	}
	policy := func(out *bufio.Writer) { fmt.Fprint(out, "BLOCK_WINDOW_S\t700\nSCOPE_STRICT\t1\nLRU_MIN_HITS\t3\n") }
	return errors.Join(
		write(filepath.Join(dir, policyFile), policy),
		write(filepath.Join(dir, dedupeFile), registry),
		write(filepath.Join(dir, eventsFile), rows),
	)
}

func write(path string, text func(*bufio.Writer)) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(file, 1<<20)
	text(out)
	return errors.Join(out.Flush(), file.Close())
}
