package flagstaff_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// nowhere is a Sink that throws events away.
type nowhere struct{}

func (nowhere) Write(context.Context, []capture.Event) error { return nil }

var sinkBool bool

// BenchmarkE15 asks a Person for a flag with three condition sets of two filters, with
// properties that are made for the call and an exposure that was reported before, for
// 1,024 persons in turn. Its floor asks an Evaluator, with properties that are there.
func BenchmarkE15(b *testing.B) {
	definitions := new(flags.Definitions)
	var groups []flags.Condition
	half := 50.0
	for i, country := range []string{`"DE"`, `"FR"`, `"US"`} {
		groups = append(groups, flags.Condition{RolloutPercentage: &half, Properties: []flags.Filter{
			{Key: "country", Type: "person", Operator: operator.Exact, Value: []byte(country)},
			{Key: "seats", Type: "person", Operator: operator.GT, Value: fmt.Append(nil, 10*(i+1))},
		}})
	}
	definitions.Flags = []flags.Flag{{ID: 1, Key: "new-checkout", Active: true, Filters: flags.Filters{Groups: groups}}}
	events, err := capture.NewClient(capture.ClientConfig{Sink: nowhere{}})
	if err != nil {
		b.Fatal(err)
	}
	defer events.Close(context.Background())
	client, err := flagstaff.Open(b.Context(), flagstaff.Config{Source: source.Static{Definitions: definitions}, Events: events, Log: quiet})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close(context.Background())

	type person struct {
		id, country, plan, city, email string
		seats, logins                  int
	}
	persons, requests := make([]person, 1024), make([]flags.Request, 1024)
	countries := []string{"DE", "FR", "US", "US", "GB", "JP"}
	for i := range persons {
		p := person{fmt.Sprintf("0190f5a0-7c1e-7b7e-9d3a-%012x", i*7919), countries[i%len(countries)], "Pro", "München", "Person@Example.com", i * 31 % 100, i}
		persons[i] = p
		requests[i] = flags.Request{DistinctID: p.id, PersonProperties: map[string]any{
			"country": p.country, "plan": p.plan, "city": p.city, "email": p.email, "seats": p.seats, "logins": p.logins,
		}}
	}
	b.Run("flagstaff", func(b *testing.B) {
		ask := func(i int) {
			p := &persons[i&1023]
			sinkBool = client.For(&flags.Request{DistinctID: p.id, Person: []flags.Property{
				flags.StringProperty("country", p.country), flags.StringProperty("plan", p.plan), flags.StringProperty("city", p.city),
				flags.StringProperty("email", p.email), flags.IntProperty("seats", p.seats), flags.IntProperty("logins", p.logins),
			}}).Bool("new-checkout", false)
		}
		for i := range persons {
			ask(i)
		}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			ask(i)
			i++
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			sinkBool = client.Evaluator().Bool("new-checkout", &requests[i&1023], false)
			i++
		}
	})
}
