// Reload follows a definitions file and prints the flags after each change.
//
//	go run ./examples/reload FILE
//
// Edit the file while it runs; Ctrl-C ends it.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: reload FILE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	var evaluator flags.Evaluator
	loader := source.NewLoader(&evaluator, source.File{Path: os.Args[1]}, source.LoaderConfig{
		Log: slog.Default(),
		OnSwap: func(_, current *flags.Snapshot) {
			for key, result := range current.Evaluate(&flags.Request{DistinctID: "user-1"}).All() {
				fmt.Printf("%s = %v (%s)\n", key, result.Value(), result.Reason.Description)
			}
		},
	})
	if err := loader.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
