package jetstream_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

// exampleServer stands for the NATS server that a program connects to.
func exampleServer() (url string, stop func()) {
	folder, err := os.MkdirTemp("", "jetstream")
	if err != nil {
		log.Fatal(err)
	}
	s, err := natstest.New(folder)
	if err != nil {
		log.Fatal(err)
	}
	return s.URL(), func() {
		s.Kill()
		_ = os.RemoveAll(folder) // of the test
	}
}

// A screen is a sink that prints. Real ones are databases.
type screen chan struct{}

func (s screen) Write(_ context.Context, events []capture.Event) error {
	for _, e := range events {
		fmt.Println("stored:", e.DistinctID, e.Name, string(e.Properties))
		s <- struct{}{}
	}
	return nil
}

func Example() {
	url, stop := exampleServer()
	defer stop()
	conn, err := jetstream.Connect(url)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	ctx := context.Background()
	stream, err := jetstream.Open(ctx, jetstream.Config{Conn: conn})
	if err != nil {
		log.Fatal(err)
	}

	// The machine that takes events in; usually through a capture.Collector.
	now := time.Now()
	err = stream.Write(ctx, []capture.Event{
		{Project: 1, UUID: uuid.New(), Name: "order paid", DistinctID: "user-1", Time: now, Received: now, Properties: []byte(`{"amount":42}`)},
		{Project: 1, UUID: uuid.New(), Name: "order shipped", DistinctID: "user-1", Time: now, Received: now, Properties: []byte(`{}`)},
	})
	fmt.Println("acknowledged:", err)

	// The machine that stores them.
	sink := make(screen)
	consumer, err := jetstream.NewConsumer(stream, jetstream.ConsumerConfig{Sink: sink})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- consumer.Run(ctx) }()
	<-sink
	<-sink
	cancel()
	fmt.Println("drained:", <-done, consumer.Stats().Stored)
	// Output:
	// acknowledged: <nil>
	// stored: user-1 order paid {"amount":42}
	// stored: user-1 order shipped {}
	// drained: <nil> 2
}

func ExampleStream_DeadLetters() {
	url, stop := exampleServer()
	defer stop()
	conn, err := jetstream.Connect(url)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	ctx := context.Background()
	stream, err := jetstream.Open(ctx, jetstream.Config{Conn: conn})
	if err != nil {
		log.Fatal(err)
	}
	for message, err := range stream.DeadLetters(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(message.Reason)
		if err := stream.Replay(ctx, message); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("there are no more dead letters")
	// Output: there are no more dead letters
}

func ExampleDefinitions() {
	url, stop := exampleServer()
	defer stop()
	conn, err := jetstream.Connect(url)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	definitions, err := jetstream.OpenDefinitions(ctx, jetstream.DefinitionsConfig{Conn: conn})
	if err != nil {
		log.Fatal(err)
	}

	// One process publishes the document,
	_, err = definitions.Put(ctx, []byte(`{"flags":[{"id":1,"key":"beta","active":true,"filters":{"groups":[{"rollout_percentage":100}]}}]}`))
	if err != nil {
		log.Fatal(err)
	}

	// all others follow it.
	var evaluator flags.Evaluator
	loaded := make(chan struct{}, 1)
	loader := source.NewLoader(&evaluator, definitions, source.LoaderConfig{
		Interval: 30 * time.Second,
		OnSwap:   func(_, _ *flags.Snapshot) { loaded <- struct{}{} },
	})
	go definitions.Watch(ctx, func() {
		if err := loader.Refresh(ctx); err != nil {
			log.Print(err)
		}
	})
	<-loaded
	fmt.Println(evaluator.Bool("beta", &flags.Request{DistinctID: "user-1"}, false))
	// Output: true
}
