// Package demo shows on one screen what Hapax is for: three clients send into a room over a network that drops acks, cuts
// connections and is late, the server is killed midway and started again, and in the end the room holds every message
// once and in order.
//
// Nothing in it is staged: the server is a process of its own and dies by kill -9, the clients are the public SDK with stores on
// disk, and the proof reads the server's store when everything has ended. Only the clients' delays are shorter than an
// app's, so that it ends within a minute.
//
// Read next: run.go (what happens), proof.go (what is checked), badnet (the network).
package demo
