package settlement

import (
	"fmt"
	"io"
	"os"

	"hapax/internal/settle"
)

// Names of the input files.
const (
	PolicyFile  = "policy.tsv"
	DedupeFile  = "dedupe.tsv"
	EventsFile  = "events.tsv"
	OpeningFile = "opening.tsv"
)

// readPolicy reads policy.tsv and fails closed: whatever is wrong is a contract fault.
func readPolicy(path string) (settle.Policy, error) {
	file, err := os.Open(path)
	if err != nil {
		return settle.Policy{}, policyFault(err)
	}
	defer file.Close()
	return parsePolicy(file)
}

func parsePolicy(file io.Reader) (settle.Policy, error) {
	var policy settle.Policy
	seen := map[string]bool{}
	err := eachLine(file, func(number int64, line []byte) error {
		switch kindOf(line) {
		case lineBroken:
			return contractFault("%s line %d: too long or not UTF-8", PolicyFile, number)
		case lineSkipped:
			return nil
		}
		var c [2][]byte
		if columns(line, c[:]) != len(c) {
			return contractFault("%s line %d: not exactly two columns", PolicyFile, number)
		}
		key := string(c[0])
		if seen[key] {
			return contractFault("%s line %d: %s is repeated", PolicyFile, number, key)
		}
		seen[key] = true
		return setPolicy(&policy, number, key, c[1])
	})
	if err != nil {
		return settle.Policy{}, policyFault(err)
	}
	for _, key := range []string{"BLOCK_WINDOW_S", "SCOPE_STRICT", "LRU_MIN_HITS"} {
		if !seen[key] {
			return settle.Policy{}, contractFault("%s: %s is missing", PolicyFile, key)
		}
	}
	return policy, nil
}

// policyFault: an unreadable policy is a contract error, a failing disk is the machine's.
func policyFault(err error) error {
	if Status(err) == int(Contract) {
		return err
	}
	if blamesFile(err) {
		return contractFault("%s: %v", PolicyFile, rootCause(err))
	}
	return fmt.Errorf("reading %s: %w", PolicyFile, rootCause(err))
}

func setPolicy(policy *settle.Policy, number int64, key string, text []byte) error {
	n, ok := settle.ParseInteger(text)
	switch key {
	case "BLOCK_WINDOW_S":
		policy.BlockWindowS = n
	case "LRU_MIN_HITS":
		policy.LRUMinHits = n
	case "SCOPE_STRICT":
		policy.ScopeStrict = n == 1
		ok = ok && n <= 1
	default:
		return contractFault("%s line %d: unknown key %q", PolicyFile, number, key)
	}
	if !ok {
		return contractFault("%s line %d: %q is no value of %s", PolicyFile, number, text, key)
	}
	return nil
}
