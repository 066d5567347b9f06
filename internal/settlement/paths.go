package settlement

import (
	"fmt"
	"os"
	"path/filepath"
)

// Names of the outputs where Options don't say others.
const (
	ReportFile    = "report.json"
	MalformedFile = "malformed.tsv"
)

// StandardOutput as Paths.Report says that the report goes to no file. Then Malformed must be named.
const StandardOutput = "-"

// Paths are the files of a run.
type Paths struct {
	Dir       string // with policy.tsv, dedupe.tsv, events.tsv and perhaps opening.tsv
	Report    string // "": report.json in Dir; StandardOutput: nowhere, the caller writes Result.Report
	Malformed string // "": malformed.tsv beside the report
	Closing   string // "": none is written
}

// resolve fills in the defaults and refuses paths that can't be meant: an output that is an input, or two outputs in
// one place. It looks at names and at which files they lead to, and reads nothing.
func (p Paths) resolve() (Paths, error) {
	if p.Dir == "" {
		return p, usageFault("no folder of inputs is named")
	}
	if p.Report == "" {
		p.Report = filepath.Join(p.Dir, ReportFile)
	}
	if p.Report == StandardOutput && p.Malformed == "" {
		return p, usageFault("the report goes to standard output, so the list of malformed rows needs a file of its own")
	}
	if p.Malformed == "" {
		p.Malformed = filepath.Join(filepath.Dir(p.Report), MalformedFile)
	}
	taken := map[string]string{}
	for _, name := range []string{PolicyFile, DedupeFile, EventsFile, OpeningFile} {
		taken[identity(filepath.Join(p.Dir, name))] = "the input " + name
	}
	for _, out := range p.outputs() {
		for _, path := range []string{out.path, out.path + stale} {
			if err := CheckOutput(path); err != nil {
				return p, usageFault("%s: %w", out.what, err)
			}
			id := identity(path)
			if other, ok := taken[id]; ok {
				return p, usageFault("%s %s is also %s", out.what, path, other)
			}
			taken[id] = out.what
		}
	}
	return p, nil
}

type namedPath struct{ what, path string }

func (p Paths) outputs() []namedPath {
	all := []namedPath{{"the list of malformed rows", p.Malformed}}
	if p.Report != StandardOutput {
		all = append(all, namedPath{"the report", p.Report})
	}
	if p.Closing != "" {
		all = append(all, namedPath{"the closing file", p.Closing})
	}
	return all
}

// identity is the same for two paths that lead to the same place: the absolute path with the links of its folder
// followed, or of the file itself where there is one.
func identity(path string) string {
	if info, err := os.Stat(path); err == nil {
		if id, ok := fileIdentity(info); ok {
			return id
		}
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(folder, filepath.Base(path))
	}
	return fmt.Sprintf("path %s", filepath.Clean(path))
}
