package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// maxIssues bounds what is told of a faulty log: the first ones tell where to look, the number of all is told as well.
const maxIssues = 20

// issues keeps the first ones by record number, and counts all.
type issues struct {
	kept  []issue
	total int64
}

type issue struct {
	number int64 // of the record; ofBooks where it is about what is kept beside the log
	text   string
}

// ofBooks puts an issue behind all those that name a record.
const ofBooks = math.MaxInt64

func (l *issues) record(number int64, format string, args ...any) {
	if len(l.kept) == maxIssues && number >= l.kept[maxIssues-1].number {
		l.total++
		return
	}
	l.add(issue{number, fmt.Sprintf("record %d: ", number) + fmt.Sprintf(format, args...)})
}

func (l *issues) books(format string, args ...any) {
	l.add(issue{ofBooks, fmt.Sprintf(format, args...)})
}

func (l *issues) add(i issue) {
	l.total++
	at, _ := slices.BinarySearchFunc(l.kept, i, func(a, b issue) int { return cmp.Or(cmp.Compare(a.number, b.number), -1) })
	if at < maxIssues {
		l.kept = slices.Insert(l.kept, at, i)
		l.kept = l.kept[:min(len(l.kept), maxIssues)]
	}
}

func (l *issues) texts() []string {
	var all []string
	for _, i := range l.kept {
		all = append(all, i.text)
	}
	return all
}
