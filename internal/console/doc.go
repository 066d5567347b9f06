// Package console serves the page of web/console: its built files are embedded, so a server needs nothing beside its binary.
//
// It owns which files there are and how a browser may use them: what a page of this origin may load, who may frame it, how long
// a file may be kept. Invariant: what is answered comes from a table of exact paths made at the start, never from a path that a
// request names, and no file is served that a browser could take for another type than it has.
//
// Read next: files.go (the table), handler.go (an answer). `make web` builds the files anew and holds the committed ones against them.
package console
