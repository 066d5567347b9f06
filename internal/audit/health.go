package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// Exit statuses of a health check (docs/spec/contract.md, section 4); a failing machine is an error instead.
const (
	statusGood       = 0
	statusDiffers    = 1 // some field is missing or differs
	statusUnreadable = 2 // a fact or the report can't be read
	statusMalformed  = 2 // all agrees, but a row of events.tsv is malformed
	statusContract   = 3 // policy.tsv can't be obeyed
)

// Verdict is what a health check found.
type Verdict struct {
	Checks    int      // 8, or 0 where nothing could be compared
	Differing int      // fields that are missing or differ
	Malformed int      // rows of events.tsv that take part in nothing
	Issues    []string // as the contract words them; valid UTF-8
	Status    int      // the exit status
	Skipped   []BadRow // rows of dedupe.tsv that register nothing; no issue
	Details   []string // for people: why a file can't be read, how a number differs that reads the same in RFC 8785
}

// Line is the contract's JSON line, with its newline.
func (v *Verdict) Line() []byte {
	line := strconv.AppendInt([]byte(`{"checks":`), int64(v.Checks), 10)
	line = strconv.AppendBool(append(line, `,"degraded":`...), v.Status != statusGood)
	line = append(line, `,"issues":[`...)
	for i, issue := range v.Issues {
		if i > 0 {
			line = append(line, ',')
		}
		line = appendString(line, issue)
	}
	line = strconv.AppendInt(append(line, `],"rc":`...), int64(v.Status), 10)
	return append(line, "}\n"...)
}

// Health recomputes a folder's books and compares them with a report, field by field. An empty report path is
// report.json in the folder. It opens files to read and changes nothing. The error is the machine's: exit status 70.
func Health(dir, report string) (v *Verdict, err error) {
	if report == "" {
		report = filepath.Join(dir, reportFile)
	}
	err = guarded(func() error {
		v, err = check(dir, report)
		return err
	})
	var contract *ContractError
	var unreadable *UnreadableError
	switch {
	case err == nil:
		return v, nil
	case errors.As(err, &contract):
		return &Verdict{Issues: []string{"contract:" + contract.Reason}, Status: statusContract}, nil
	case errors.As(err, &unreadable):
		return &Verdict{
			Issues:  []string{"unreadable:" + strings.ToValidUTF8(unreadable.File, "\uFFFD")},
			Status:  statusUnreadable,
			Details: []string{err.Error()},
		}, nil
	}
	return nil, err
}

func check(dir, report string) (*Verdict, error) {
	in, err := openInputs(dir)
	if err != nil {
		return nil, err
	}
	defer in.close()
	document, stated, err := readReport(report)
	if err != nil {
		return nil, err
	}
	books, err := in.recompute()
	if err != nil {
		return nil, err
	}
	v := &Verdict{Checks: len(fieldNames), Malformed: len(books.Malformed), Skipped: books.Skipped}
	for _, field := range fieldNames {
		v.compare(field, books.fields[field], stated[field], document)
	}
	if v.Malformed > 0 {
		v.Issues = append(v.Issues, fmt.Sprintf("malformed:%d", v.Malformed))
		if v.Status == statusGood { // a differing field goes before a malformed row
			v.Status = statusMalformed
		}
	}
	return v, nil
}

// compare checks one field: its exact text, in which a number is its digits as written.
func (v *Verdict) compare(field string, expect []byte, stated *member, document []byte) {
	switch {
	case stated == nil:
		v.Issues = append(v.Issues, "missing:"+field)
	case !bytes.Equal(expect, stated.text):
		actual := canonical(document[stated.from:stated.to])
		v.Issues = append(v.Issues, fmt.Sprintf("mismatch:%s: expect=%s actual=%s", field, expect, actual))
		if bytes.Equal(expect, actual) { // 5.0 for 5
			v.Details = append(v.Details, field+": a number isn't written digit for digit as it should be")
		}
	default:
		return
	}
	v.Differing++
	v.Status = statusDiffers
}

// readReport reads the report strictly: exactly one object, no member twice, nothing beyond the eight fields.
func readReport(path string) (document []byte, stated map[string]*member, err error) {
	name := filepath.Base(path)
	file, err := openFile(path, name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if document, err = io.ReadAll(file); err != nil {
		return nil, nil, fileError(name, err)
	}
	members, err := readObject(document)
	if err != nil {
		return nil, nil, &UnreadableError{File: name, Reason: err.Error()}
	}
	stated = map[string]*member{}
	for i := range members {
		stated[members[i].name] = &members[i]
	}
	for _, m := range members {
		if !isField(m.name) {
			return nil, nil, &UnreadableError{File: name, Reason: fmt.Sprintf("a field beyond the eight: %q", m.name)}
		}
	}
	return document, stated, nil
}

func isField(name string) bool {
	for _, field := range fieldNames {
		if field == name {
			return true
		}
	}
	return false
}
