// Package client is the Go SDK of Hapax: it sends messages into rooms so that each is stored once, and keeps a copy of rooms
// that has no holes, through crashes, lost answers and restarts.
//
// # A message's whole life
//
// It begins with a name. [Client.NextMessageID] gives an id that no other message of this actor will ever have; it is taken from
// a range that the store reserved, so it costs neither disk nor network.
//
// [Client.Send] stores the message in the outbox and syncs it to disk, then returns. From here on the message survives
// kill -9 and power loss, and the app may forget it. If the client is online and nothing of the room waits, the same
// sync notes that it has been sent, and the frame leaves at once. Otherwise the row is queued: rows of a room leave in the order of
// Send, up to 16 of them in flight, each naming the one before it so that the server keeps the order too.
//
// The server answers with an ack: the message has a seq in its room, for good. The row is deleted and the message
// put into the store's copy of the room, in one transaction. The app hears a RowConfirmed event, or waits with [Client.WaitAck].
//
// If the answer never comes, nobody knows whether the message was stored. So the server is asked, which remembers ids. Where it has the
// message that is as good as an ack; where it doesn't the message is sent again with the same id, later and later. If the message comes back in
// the room's own stream first, that counts as an ack as well. After the process was killed the next one finds the row and does the same.
//
// Sending into a room takes no reading of it: the client subscribes for sending only, without rows, where the server knows that.
//
// Some rows end otherwise, and never silently. A row that the server will never take is parked and those behind it go on; a
// row that got no answer twelve times is parked and its room held; a row so old that the server may have forgotten its id is
// asked about, not sent, and becomes uncertain if nobody knows. All of them wait in the outbox for [Client.Retry] or
// [Client.Discard], for 7 days. [Client.Cancel] removes a row only while it certainly was never sent.
//
// # Rooms
//
// [Client.Subscribe] keeps a room's rows coming. They are stored together with a cursor, in one transaction, and after each
// reconnect the server goes on from that cursor; what it can't go on from it replaces by a snapshot. Events are hints: an app reads
// rows from the store after a position of its own ([Client.Follow], [Client.Messages]) and so misses none, whatever happens to it.
//
// # Several processes
//
// Processes may share a store. One drains it: it holds a lock that the kernel frees when it dies. The others add, list,
// retry, cancel, wait and read: the rooms to which they subscribe are noted in the store, and the first subscribes for them. One of them
// takes over when it ends. Questions (History, Status) of the others wait for that.
//
// # Reading on
//
// The rules that decide all of this are package session: a pure machine without clock, network or goroutine, which this package
// drives (driver.go takes in what happened, effects.go does what the machine says). Package store is the contract of what is kept,
// package ids that of names, package transport that of the network.
// The promises stand in docs/spec/client.md.
package client
