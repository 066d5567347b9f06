// Command settlebench measures `hapax settle` against what people would use without it, paired in one run on the same
// files: SQLite on disk with a window function, its import counted, and `sort` with one pass of awk. All must come to
// the same figures: counts, totals, the totals of every tenant and the whole ledger. It also measures the shuffled file
// in 256 MB, and the health check.
//
// `make bench-settle` runs it on 20 million events over 2 million keys, made by `hapax settle generate`; that takes
// about 6 GB of disk and, for SQLite's sake, several minutes.
//
// Read next: main.go, then settle.sql and settle.sh for what the others are made to do.
package main
