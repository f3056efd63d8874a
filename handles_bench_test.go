package flagstaff_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// colour is the type of a flag as generated code has it.
type colour string

var (
	sinkColour colour
	sinkLabel  label
)

// BenchmarkE19 asks handles for flags that hash the distinct ID, for 1,024 persons in
// turn: by a request, and for a Person that was asked before. The floors ask package
// flags by key.
func BenchmarkE19(b *testing.B) {
	on := flagstaff.NewBool("bench-bool", false)
	variant := flagstaff.NewVariant[colour]("bench-variant", "false", "control", "blue", "green")
	payload := flagstaff.NewPayload("bench-variant", label{})
	half := 50.0
	definitions := &flags.Definitions{}
	for i := range 100 {
		definitions.Flags = append(definitions.Flags, flags.Flag{ID: int64(i + 10), Key: fmt.Sprint("other-", i), Active: true})
	}
	definitions.Flags = append(definitions.Flags,
		flags.Flag{ID: 1, Key: "bench-bool", Active: true, Filters: flags.Filters{Groups: []flags.Condition{{RolloutPercentage: &half}}}},
		flags.Flag{ID: 2, Key: "bench-variant", Active: true, Filters: flags.Filters{Groups: []flags.Condition{{}}, Multivariate: &flags.Multivariate{
			Variants: []flags.Variant{{Key: "control", RolloutPercentage: 40}, {Key: "blue", RolloutPercentage: 30}, {Key: "green", RolloutPercentage: 30}},
		}}})
	for _, key := range []string{"control", "blue", "green"} {
		definitions.Flags[len(definitions.Flags)-1].Filters.SetPayload(key, `{"Hex": "`+key+`"}`)
	}
	client, err := flagstaff.Open(b.Context(), flagstaff.Config{Source: source.Static{Definitions: definitions}, Log: quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close(context.Background())
	s := client.Snapshot()
	requests, contexts := make([]flags.Request, 1024), make([]context.Context, 1024)
	for i := range requests {
		requests[i] = flags.Request{DistinctID: fmt.Sprintf("0190f5a0-7c1e-7b7e-9d3a-%012x", i*7919)}
		contexts[i] = client.For(&requests[i]).Context(b.Context())
	}
	for _, row := range []struct {
		name string
		ask  func(i int)
	}{
		{"bool/flagstaff", func(i int) { sinkBool = on.In(s, &requests[i&1023]) }},
		{"bool/floor", func(i int) { sinkBool = s.Bool("bench-bool", &requests[i&1023], false) }},
		{"bool/context", func(i int) { sinkBool = on.On(contexts[i&1023]) }},
		{"payload/flagstaff", func(i int) { sinkLabel = payload.In(s, &requests[i&1023]) }},
		{"payload/floor", func(i int) {
			d, _ := s.Detail("bench-variant", &requests[i&1023])
			sinkLabel.Hex = d.Payload()
		}},
		{"payload/context", func(i int) { sinkLabel = payload.For(contexts[i&1023]) }},
		{"variant/flagstaff", func(i int) { sinkColour = variant.In(s, &requests[i&1023]) }},
		{"variant/floor", func(i int) { sinkColour = colour(s.Variant("bench-variant", &requests[i&1023], "false")) }},
		{"variant/context", func(i int) { sinkColour = variant.For(contexts[i&1023]) }},
	} {
		b.Run(row.name, func(b *testing.B) {
			for i := range requests {
				row.ask(i)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				row.ask(i)
				i++
			}
		})
	}
}
