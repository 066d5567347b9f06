// Package settlement runs the built program as its users do: the cases from the field (testdata/cases/G…), the exit
// statuses, what a killed or failed run leaves behind. It knows nothing of the code inside; what it holds the program
// to is docs/spec/contract.md alone.
//
// The format of a case: a folder with policy.tsv, dedupe.tsv, events.tsv, perhaps opening.tsv, and expect.json with
// `about`, `status`, `malformed` (lines of malformed.tsv), `report` (the whole report) and, where they matter,
// `closing` (rows) and `decisions` (of the folder's only key, as `hapax why` tells them).
//
// Read next: cases_test.go.
package settlement
