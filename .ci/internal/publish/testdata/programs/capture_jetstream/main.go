package main

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/flagstaff-go/flagstaff/capture/jetstream"
)

func main() {
	_, err := nats.Connect("nats://127.0.0.1:1") // nobody listens there
	fmt.Println(err)
	_, err = jetstream.Open(context.Background(), jetstream.Config{Conn: new(nats.Conn), Replicas: 7})
	fmt.Println(err)
}

// Output:
// nats: no servers available for connection
// jetstream: Config.Replicas is 7, want 1 to 5, or 0 for the default
