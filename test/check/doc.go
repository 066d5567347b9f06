// Package check is the judge of histories: given what clients did and saw, and what the store holds in the end,
// it says what is wrong. It knows nothing of how a run was made, so that simulation, crash tests and
// command-line tests all use the same eyes.
//
// Log, Acks and View are plain invariants that name each fault. Linearizable asks porcupine whether one order of all
// operations explains every answer, with real time respected; Explained decides the same for histories of any length.
package check
