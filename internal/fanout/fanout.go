// Package fanout carries hints: "room r reached seq n". A hint may be lost, repeated or late, and the answers
// stay right: whoever gets one reads the rows from the store or already has them.
package fanout

// Hint says that a room reached a seq.
type Hint struct {
	Room string
	Seq  int64
}

// Bus carries hints between the server processes of one store.
type Bus interface {
	// Publish tells every process, this one included. It doesn't block and may lose.
	Publish(Hint)
	// Listen calls f for each hint until stop is called; f must not block.
	Listen(f func(Hint)) (stop func())
	Close() error
}
