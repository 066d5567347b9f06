package gateway

import (
	"bytes"
	"errors"
	"iter"
	"unicode/utf8"

	"hapax/internal/settle"
)

// maxLine bounds a line of a registry file in bytes (docs/spec/contract.md, Inputs).
const maxLine = 65_536

// ErrUTF16 is of a registry file that begins with a mark of UTF-16: none of its lines would be one (docs/spec/contract.md, Inputs).
var ErrUTF16 = errors.New("it is UTF-16, by the byte-order mark that it begins with; UTF-8 is needed")

// CheckRegistryFile says what keeps all of a registry file from being read: ErrUTF16, or nil.
func CheckRegistryFile(text []byte) error {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return ErrUTF16
	}
	return nil
}

// RegistryRow is one row of a registry file.
type RegistryRow struct {
	Line     int64 // counted from 1, skipped ones included
	Register Register
	Fault    string // why the row is skipped whole: `line`, `columns`, or the name of the first failing column; "": it is good
}

// RegistryRows reads the rows of a text of the contract's dedupe columns: tenant, source, dedupe_key, scope, window_s, lru_capacity, and
// perhaps since, which must be an integer and says nothing here: a registration takes effect from the log's next number.
func RegistryRows(text []byte) iter.Seq[RegistryRow] {
	return func(yield func(RegistryRow) bool) {
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		for n := int64(1); len(text) > 0; n++ {
			line, rest, _ := bytes.Cut(text, []byte("\n"))
			text = rest
			line = bytes.TrimSuffix(line, []byte("\r"))
			row := RegistryRow{Line: n}
			switch {
			case len(line) > maxLine || !utf8.Valid(line):
				row.Fault = "line"
			case len(bytes.Trim(line, " \t")) == 0 || line[0] == '#':
				continue
			default:
				row.Register, row.Fault = registryRow(bytes.Split(line, []byte("\t")))
			}
			if !yield(row) {
				return
			}
		}
	}
}

func registryRow(columns [][]byte) (r Register, fault string) {
	if len(columns) != 6 && len(columns) != 7 {
		return r, "columns"
	}
	var isScope, isWindow, isCapacity bool
	r.Name = Name{Tenant: string(columns[0]), Source: string(columns[1]), Key: string(columns[2])}
	r.Scope, isScope = settle.ParseScope(columns[3])
	r.WindowS, isWindow = settle.ParseInteger(columns[4])
	r.LRUCapacity, isCapacity = settle.ParseInteger(columns[5])
	isSince := true
	if len(columns) == 7 {
		_, isSince = settle.ParseInteger(columns[6])
	}
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"tenant", settle.ValidTenant(columns[0])}, {"source", settle.ValidName(columns[1])}, {"dedupe_key", settle.ValidName(columns[2])},
		{"scope", isScope}, {"window_s", isWindow}, {"lru_capacity", isCapacity}, {"since", isSince},
	} {
		if !c.ok {
			return r, c.name
		}
	}
	return r, ""
}
