package client_test

import (
	"context"
	"fmt"
	"log"

	"hapax/client"
	"hapax/client/store/memory"
)

// Send stores a message and returns; WaitAck tells what the server made of it.
func Example() {
	server := newServer() // a real program has a URL and a token instead
	defer server.close()

	ctx := context.Background()
	c, err := client.Open(ctx, client.Options{
		URL:       "ws://localhost:8080/v1/ws",
		Token:     func(context.Context) (string, error) { return "token", nil },
		Store:     memory.Open(memory.NewMedium(), memory.Options{}), // sqlite.Open keeps it past the process
		Transport: server.net,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	id := c.NextMessageID()
	if err := c.Send(ctx, "kitchen", id, client.Body{Text: "The kettle boils"}); err != nil {
		log.Fatal(err)
	}
	receipt, err := c.WaitAck(ctx, "kitchen", id.String())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("stored as number", receipt.Seq)
	// Output: stored as number 1
}

// Follow gives the rows that the store holds, then those that come. The position of the last row dealt with is where to go on after
// a crash.
func ExampleClient_Follow() {
	server := newServer()
	defer server.close()
	server.say("kitchen", "Who left the door open?")
	server.say("kitchen", "Not me")

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := client.Open(ctx, client.Options{
		URL: "ws://localhost:8080/v1/ws", Token: token, Store: memory.Open(memory.NewMedium(), memory.Options{}), Transport: server.net,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	if err := c.Subscribe("kitchen"); err != nil {
		log.Fatal(err)
	}
	position := int64(0) // a real program reads it from where it kept it
	for m, err := range c.Follow(ctx, "kitchen", position) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s: %s\n", m.Seq, m.Actor, m.Text)
		position = m.Position
		if m.Seq == 2 {
			break
		}
	}
	// Output:
	// 1 bob: Who left the door open?
	// 2 bob: Not me
}

// What was sent without a connection waits in the outbox. A row that was certainly never sent can be taken back.
func ExampleClient_Cancel() {
	ctx := context.Background()
	c, err := client.Open(ctx, client.Options{
		URL: "ws://localhost:8080/v1/ws", Token: token, Store: memory.Open(memory.NewMedium(), memory.Options{}), Offline: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	id := c.NextMessageID()
	if err := c.Send(ctx, "kitchen", id, client.Body{Text: "I resign", Data: []byte(`{"mood": "bad"}`)}); err != nil {
		log.Fatal(err)
	}
	for row, err := range c.Outbox(ctx) {
		fmt.Println(row.Room, row.State, row.Attempts, err)
	}
	fmt.Println(c.Cancel(ctx, "kitchen", id.String()))
	fmt.Println(c.Cancel(ctx, "kitchen", id.String()))
	// Output:
	// kitchen queued 0 <nil>
	// <nil>
	// store: no such row in the outbox
}
