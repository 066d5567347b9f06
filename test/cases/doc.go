// Package cases runs the cases from the field (docs/spec/cases.md, R, C and G) as data files: testdata/R06.json and so on, one a case.
// A file says what is done and what must come of it; it knows no Go, so that another runner can hold another SDK to it.
//
// There are two worlds. In "server" a real server process is driven over WebSocket and HTTP, and by the SDK through a bad network;
// it obeys words about its clock, its commits and its disk, and can be killed. In "script" the SDK alone is driven, against a server
// whose every frame stands in the file, on a clock that only the file moves.
//
// README.md describes the files' form. Read next: case_test.go, then run_test.go.
package cases
