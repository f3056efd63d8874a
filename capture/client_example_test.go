package capture_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
)

// printer is a Sink that prints. A real one is a store, or a server's Collector.
type printer struct{}

func (printer) Write(_ context.Context, events []capture.Event) error {
	for _, e := range events {
		fmt.Println(e.Name, e.DistinctID)
	}
	return nil
}

func ExampleClient() {
	client, err := capture.NewClient(capture.ClientConfig{
		Sink:    printer{}, // or URL and APIKey of a server
		Project: 1,
		OnError: func(err error) { log.Print(err) },
	})
	if err != nil {
		log.Fatal(err)
	}

	// Where a flag decides what a person sees. Only the first call of these
	// sends an event.
	for range 3 {
		client.Exposed(capture.Exposure{DistinctID: "user-1", Flag: "new-checkout", Variant: "blue"})
	}

	// Where something happens that may be broken down by the flag.
	properties := map[string]any{"amount": 42}
	err = client.Capture(capture.ClientEvent{
		Name:       "order paid",
		DistinctID: "user-1",
		Properties: capture.FlagProperties(properties, "new-checkout", "blue", true),
	})
	if err != nil {
		log.Print(err)
	}

	// When the program ends.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := client.Close(ctx); err != nil {
		log.Print(err)
	}
	// Output:
	// $feature_flag_called user-1
	// order paid user-1
}

func ExampleFlagProperties() {
	properties := capture.FlagProperties(nil, "new-checkout", "blue", true)
	properties = capture.FlagProperties(properties, "dark-mode", "", true)
	fmt.Println(properties)
	// Output: map[$feature/dark-mode:true $feature/new-checkout:blue]
}

// Package flagstaff reports exposures by itself. A program that uses package flags does
// it like this.
func ExampleExposureOf() {
	var evaluator flags.Evaluator
	d, err := flags.Decode(strings.NewReader(`{"flags": [{"id": 1, "key": "button", "active": true, "filters": {"groups": [{"variant": "red"}],
		"multivariate": {"variants": [{"key": "blue", "rollout_percentage": 50}, {"key": "red", "rollout_percentage": 50}]}}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	snapshot, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	evaluator.Swap(snapshot)

	request := &flags.Request{DistinctID: "user-1"}
	result, err := evaluator.Snapshot().Flag("button", request)
	if err != nil {
		log.Fatal(err)
	}
	e := capture.ExposureOf(&result, request) // for Client.Exposed
	fmt.Println(e.DistinctID, e.Flag, e.Variant, e.Reason)
	// Output: user-1 button red Matched condition set 1
}
