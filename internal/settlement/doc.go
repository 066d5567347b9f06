// Package settlement runs the contract (docs/spec/contract.md) over a folder of files: policy.tsv, dedupe.tsv,
// events.tsv and perhaps opening.tsv in; report.json, malformed.tsv and perhaps a closing file out.
//
// It owns reading (lines, grammar of the files, what is malformed), the order of events, memory, and placing the
// results whole or not at all. It holds no rule of judging: that is package settle.
//
// How tens of millions of rows pass through two cores and little memory: the registry is loaded first; events.tsv
// is cut into chunks at line ends; workers parse chunks and write each event as a short record into one of 256
// lanes by its key; lanes that don't fit the memory go to an unlinked file. As keys are independent (see package
// settle), each lane is then grouped by key, ordered within the key and judged, again by all workers. Order in the
// file costs nothing and disorder little.
//
// Invariant: the report is a function of the input bytes alone; neither the number of workers nor the memory limit
// nor the cut of chunks shows in it.
//
// Read next: run.go (the whole run), pass_parse.go and pass_judge.go (its two passes), place.go (whole or not at all).
package settlement
