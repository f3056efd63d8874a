package main_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
)

// operators maps the names in publicDefinitions to operators.
var operators = map[string]operator{"exact": equals, "gt": above, "regex": matches, "semver_gte": versions}

// publicDefinitions writes flags in the format that Flagstaff and posthog-go
// share.
func publicDefinitions(all []flag, hash string) object {
	names := make(map[operator]string)
	for name, o := range operators {
		names[o] = name
	}
	list := []object{}
	for i, f := range all {
		groups := []object{}
		for _, c := range f.conditions {
			filters := []object{}
			for _, x := range c.filters {
				filters = append(filters, object{"key": x.property, "type": "person", "operator": names[x.operator], "value": x.value})
			}
			groups = append(groups, object{"properties": filters, "rollout_percentage": c.rollout})
		}
		definition := object{"groups": groups}
		if f.variants != nil {
			var variants []object
			for _, v := range f.variants {
				variants = append(variants, object{"key": v, "rollout_percentage": f.share(100)})
			}
			definition = object{"groups": []object{{"properties": []object{}, "rollout_percentage": 100}}, "multivariate": object{"variants": variants}}
		}
		list = append(list, object{"id": i + 1, "key": f.key, "version": 1, "active": true, "filters": definition})
	}
	return object{"flags": list, "bucketing_hash": hash}
}

type flagstaffEngine struct {
	tb        testing.TB
	evaluator flags.Evaluator
	client    *capture.Client // nil if events are off
}

func flagstaff(hash string) func(testing.TB, []flag, bool) func() engine {
	return func(tb testing.TB, all []flag, events bool) func() engine {
		document := encode(tb, publicDefinitions(all, hash))
		return func() engine {
			d, err := flags.Decode(bytes.NewReader(document))
			if err != nil {
				tb.Fatal(err)
			}
			s, err := flags.Compile(d, flags.CompileOptions{Strict: true})
			if err != nil {
				tb.Fatal(err)
			}
			e := &flagstaffEngine{tb: tb}
			e.evaluator.Swap(s)
			if events {
				e.client, err = capture.NewClient(capture.ClientConfig{Sink: forgetful{}, MaxQueue: eventQueue, OnError: func(err error) { tb.Error(err) }})
				if err != nil {
					tb.Fatal(err)
				}
			}
			return e
		}
	}
}

// A forgetful sink only counts the events.
type forgetful struct{}

func (forgetful) Write(_ context.Context, events []capture.Event) error {
	delivered.Add(int64(len(events)))
	return nil
}

func (e *flagstaffEngine) close() {
	if e.client == nil {
		return
	}
	if err := e.client.Close(context.Background()); err != nil {
		e.tb.Error(err)
	}
	if s := e.client.Stats(); s.DroppedFull > 0 {
		e.tb.Errorf("dropped %d exposures", s.DroppedFull)
	}
}

func (e *flagstaffEngine) subject(p person) subject {
	return &flagstaffSubject{e, flags.Request{DistinctID: p.id, PersonProperties: p.properties}}
}

func (e *flagstaffEngine) enabledFor(key, id string) bool {
	return e.evaluator.Bool(key, &flags.Request{DistinctID: id, Person: []flags.Property{
		flags.StringProperty("plan", "Pro"), flags.IntProperty("seats", 42), flags.StringProperty("country", "DE"), flags.BoolProperty("beta", true),
		flags.StringProperty("email", "somebody.with.a.long.name@example.com"), flags.StringProperty("version", "2.11.3"),
	}}, false)
}

type flagstaffSubject struct {
	*flagstaffEngine
	request flags.Request
}

func (s *flagstaffSubject) enabled(key string) bool {
	on := s.evaluator.Bool(key, &s.request, false)
	if s.client != nil {
		s.client.Exposed(capture.Exposure{DistinctID: s.request.DistinctID, Flag: key, Enabled: on})
	}
	return on
}

func (s *flagstaffSubject) variant(key string) string {
	return s.evaluator.Variant(key, &s.request, "")
}

func (s *flagstaffSubject) all() int {
	n := 0
	for _, r := range s.evaluator.Snapshot().Evaluate(&s.request).All() {
		if r.Enabled {
			n++
		}
	}
	return n
}
