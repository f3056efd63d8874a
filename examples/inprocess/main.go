// Inprocess evaluates flags inside a Go program, without a server.
//
//	go run ./examples/inprocess [FILE]
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
)

func main() {
	file := "examples/inprocess/flags.json"
	if len(os.Args) > 1 {
		file = os.Args[1]
	}
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{File: file})
	if err != nil {
		log.Fatal(err) // a service logs it and goes on: the client answers fallbacks
	}
	defer client.Close(ctx)

	for _, plan := range []string{"free", "pro"} {
		p := client.For(&flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": plan}})
		fmt.Printf("plan %s: new-checkout %v, button %s\n", plan, p.Bool("new-checkout", false), p.Variant("button", "control"))
	}
}
