package agree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hapax/internal/audit"
	"hapax/internal/cli"
)

// Reading is what one implementation makes of a folder.
type Reading struct {
	Status    int    // as of `hapax settle`: 0, 2, 3
	Report    string // empty where there is none
	Malformed string // LINE<TAB>REASON lines
	Fault     string // unreadable:FILE; a contract error's reason is each one's own and isn't compared
}

// Write puts the files of a scenario into a folder.
func (s Scenario) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range s {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ByAudit reads a folder by internal/audit.
func ByAudit(dir string) (Reading, error) {
	books, err := audit.Recompute(dir)
	var contract *audit.ContractError
	var unreadable *audit.UnreadableError
	switch {
	case errors.As(err, &contract):
		return Reading{Status: 3}, nil
	case errors.As(err, &unreadable):
		return Reading{Status: 2, Fault: "unreadable:" + unreadable.File}, nil
	case err != nil:
		return Reading{}, err
	}
	r := Reading{Report: string(books.Report())}
	for _, bad := range books.Malformed {
		r.Malformed += fmt.Sprintf("%d\t%s\n", bad.Line, bad.Reason)
	}
	var stated struct{ Ok bool }
	if err := json.Unmarshal([]byte(r.Report), &stated); err != nil {
		return Reading{}, err
	}
	if !stated.Ok || r.Malformed != "" {
		r.Status = 2
	}
	return r, nil
}

// BySettlement settles a folder by `hapax settle` and reads what it left there.
func BySettlement(dir string) (r Reading, err error) {
	var stdout, stderr strings.Builder
	r.Status = cli.Main([]string{"settle", "--in", dir}, strings.NewReader(""), &stdout, &stderr)
	if r.Status != 0 && r.Status != 2 && r.Status != 3 {
		return r, fmt.Errorf("settle: status %d: %s", r.Status, stderr.String())
	}
	if r.Report, err = readIfThere(filepath.Join(dir, "report.json")); err != nil {
		return r, err
	}
	if r.Report == "" {
		return r, nil // no list either: what is left of it is the run's own affair
	}
	r.Malformed, err = readIfThere(filepath.Join(dir, "malformed.tsv"))
	return r, err
}

func readIfThere(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// HealthOf runs `hapax health` and gives its status and its line.
func HealthOf(dir string) (status int, line string) {
	var stdout, stderr strings.Builder
	status = cli.Main([]string{"health", "--in", dir}, strings.NewReader(""), &stdout, &stderr)
	return status, stdout.String()
}

// ByProbe reads folders by a probe script, all in one run of Node.
func ByProbe(script string, dirs []string) ([]Reading, error) {
	node := exec.Command("node", script, "--batch")
	node.Stdin = strings.NewReader(strings.Join(dirs, "\n"))
	var stderr bytes.Buffer
	node.Stderr = &stderr
	out, err := node.Output()
	if err != nil {
		return nil, fmt.Errorf("node %s: %w: %s", script, err, stderr.String())
	}
	var all []Reading
	for lines := json.NewDecoder(bytes.NewReader(out)); lines.More(); {
		var r Reading
		if err := lines.Decode(&r); err != nil {
			return nil, err
		}
		if r.Status == 3 {
			r.Fault = ""
		}
		all = append(all, r)
	}
	if len(all) != len(dirs) {
		return nil, fmt.Errorf("probe answered for %d of %d folders", len(all), len(dirs))
	}
	return all, nil
}
