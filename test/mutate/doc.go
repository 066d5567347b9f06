// Command mutate shows that the tests of the settlement, of the gateway and of their audit, and of what keeps strangers out, have teeth: it puts
// one fault at a time into the code and requires that a test named beforehand catches it. `make mutate` runs it, CI too.
//
// Sources are never touched: a fault is a file in a temporary folder that the compiler takes for the real one
// (go build -overlay). The gate fails on a fault that survives, takes too long, no longer applies to the source,
// doesn't compile or names a test that isn't there; on a list without faults; and on its own control: a harmless change
// in each package, under which all named tests must pass, so that tests that always fail can't look sharp.
//
// Read next: gate.go (the gate), faults_settle.go and its neighbours (the faults; faults_outside.go has those that outsiders found),
// gate_test.go (the gate's own teeth).
package main
