package audit

import (
	"errors"
	"fmt"
	"path/filepath"
)

// policy is policy.tsv: three values, each stated once.
type policy struct {
	window  int64 // BLOCK_WINDOW_S, seconds
	strict  bool  // SCOPE_STRICT
	minHits int64 // LRU_MIN_HITS
}

// readPolicy fails closed: whatever isn't right in the file is a ContractError.
func readPolicy(dir string) (policy, error) {
	file, err := openFile(filepath.Join(dir, policyFile), policyFile)
	if err != nil {
		return policy{}, contractError(err)
	}
	defer file.Close()
	values := map[string]int64{}
	err = eachRow(file, func(line int, columns [][]byte) error {
		if reason := policyRow(values, columns); reason != "" {
			return &ContractError{Reason: fmt.Sprintf("%s:%d: %s", policyFile, line, reason)}
		}
		return nil
	})
	if err != nil {
		return policy{}, contractError(err)
	}
	for _, key := range []string{"BLOCK_WINDOW_S", "SCOPE_STRICT", "LRU_MIN_HITS"} {
		if _, stated := values[key]; !stated {
			return policy{}, &ContractError{Reason: policyFile + ": no " + key}
		}
	}
	return policy{
		window:  values["BLOCK_WINDOW_S"],
		strict:  values["SCOPE_STRICT"] == 1,
		minHits: values["LRU_MIN_HITS"],
	}, nil
}

// policyRow takes one row in, or says what is wrong with it.
func policyRow(values map[string]int64, columns [][]byte) (reason string) {
	if columns == nil {
		return "line is too long or not UTF-8"
	}
	if len(columns) != 2 {
		return fmt.Sprintf("%d columns, not 2", len(columns))
	}
	key := string(columns[0])
	switch key {
	case "BLOCK_WINDOW_S", "SCOPE_STRICT", "LRU_MIN_HITS":
	default:
		return fmt.Sprintf("unknown key %q", key)
	}
	if _, stated := values[key]; stated {
		return "repeated key " + key
	}
	value, ok := integer(columns[1])
	if !ok || (key == "SCOPE_STRICT" && value > 1) {
		return fmt.Sprintf("%s out of range: %q", key, columns[1])
	}
	values[key] = value
	return ""
}

// contractError makes an unreadable policy a contract error and leaves the machine's own failures alone.
func contractError(err error) error {
	var unreadable *UnreadableError
	if errors.As(err, &unreadable) {
		return &ContractError{Reason: unreadable.Error()}
	}
	var contract *ContractError
	if errors.As(err, &contract) {
		return err
	}
	if errors.Is(err, errUTF16) {
		return &ContractError{Reason: policyFile + ": " + err.Error()}
	}
	return fileError(policyFile, err)
}
