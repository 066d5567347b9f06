// Package sim runs whole histories of Hapax in one seeded, single-threaded loop on a virtual clock: the real session machine
// over the real memory store of the client, the real rules and the real memory store of the server, the real codec between them, and a
// network, machines and people that do their worst.
//
// It owns what lies between the parts that are tested: time, chance, the network, the order of events, the app, and a small server that
// does the engine's job without goroutines. One number decides a run. The same number gives the same run, step for step; its
// trace is hashed, and a test compares the hashes.
//
// A run has two parts. First everything goes wrong that may (plan.go, trouble.go). Then all is calm, and what can be delivered has to be,
// within a bounded time (calm.go). Then the run is judged (judge.go, with package check): the log, every promise to a sender, every reader's view.
//
// Faults can be planted, in the server and in the clients' stores (fault_*.go): each is found by some seed, so the judge isn't blind.
//
// Read next: world.go (the loop), client.go (a client's process), server.go and commit.go (the server), net.go (connections).
package sim
