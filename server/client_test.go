package server_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

// A scriptedSink fails as it is told, and keeps the events that it did not refuse.
type scriptedSink struct {
	mu     sync.Mutex
	fail   []func(events []capture.Event) error // of the next Writes
	events []seen
}

func (s *scriptedSink) Write(_ context.Context, events []capture.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if len(s.fail) > 0 {
		err, s.fail = s.fail[0](events), s.fail[1:]
	}
	faults, only := capture.Faults(err, len(events))
	if !only {
		return err
	}
	bad := make(map[int]bool)
	for _, f := range faults {
		bad[f.Index] = true
	}
	for i, e := range events {
		if !bad[i] {
			s.events = append(s.events, seen{e.Name, e.DistinctID, string(e.Properties)})
		}
	}
	return err
}

// TestCaptureClient sends events by a capture.Client over both routes. What is stored is
// the same, but for the place of the library; an event that could not be stored comes
// again, and one that never can be is refused by itself on the newer route.
func TestCaptureClient(t *testing.T) {
	for _, analytics := range []bool{false, true} {
		sink := &scriptedSink{fail: []func([]capture.Event) error{
			func([]capture.Event) error { return errors.New("the database is gone") },
			func(events []capture.Event) error {
				for i, e := range events {
					if e.Name == "unstorable" {
						return &capture.EventError{Index: i, Err: errors.New("no store takes it")}
					}
				}
				return nil
			},
		}}
		collector, err := capture.NewCollector(capture.CollectorConfig{Sink: sink})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = collector.Run(ctx) })
		s := httptest.NewServer(newServer(t, func(c *server.Config) { c.Capture.Collector = collector }))

		var told []string
		client, err := capture.NewClient(capture.ClientConfig{
			URL: s.URL, APIKey: apiKey, Analytics: analytics, OnError: func(err error) { told = append(told, err.Error()) },
		})
		if err != nil {
			t.Fatal(err)
		}
		result := flags.Result{
			Key: "f", Enabled: true, Reason: flags.Reason{Code: flags.ReasonConditionMatch, Description: "Matched condition set 1"},
			Metadata: flags.Metadata{ID: 5, Version: 3},
		}
		client.Exposed(capture.ExposureOf(&result, &flags.Request{DistinctID: "u", Groups: map[string]string{"company": "acme"}}))
		result.Metadata.MinimalEvents = true
		client.Exposed(capture.ExposureOf(&result, &flags.Request{DistinctID: "v"}))
		names := []string{"undefined"} // a distinct ID that names nobody is a warning only
		if analytics {
			names = append(names, "unstorable")
		}
		for _, name := range names {
			if err := client.Capture(capture.ClientEvent{Name: name, DistinctID: name, Properties: map[string]any{"$process_person_profile": false}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := client.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		stats := client.Stats()
		if err := client.Close(t.Context()); err != nil {
			t.Error(err)
		}
		s.Close()
		stop()
		running.Wait()

		want := capture.ClientStats{Delivered: 3, Retries: 1}
		if analytics {
			want.DroppedRefused, want.Refusals = 1, map[string]uint64{"malformed_event_properties": 1}
			if len(told) != 1 || !strings.Contains(told[0], `"unstorable": the server drops it: malformed_event_properties`) {
				t.Errorf("OnError was told %q", told)
			}
		} else if told != nil {
			t.Errorf("OnError was told %q", told)
		}
		if diff := cmp.Diff(want, stats); diff != "" {
			t.Errorf("analytics %v: Stats (-want +got):\n%s", analytics, diff)
		}
		const called = `{"$feature_flag":"f","$feature_flag_response":true,`
		const known = `"$feature_flag_has_experiment":false,"locally_evaluated":true,"$feature_flag_id":5,"$feature_flag_version":3,` +
			`"$feature_flag_reason":"Matched condition set 1",`
		const added = `"$is_server":true,"$geoip_disable":true,`
		library := ""
		for i := range sink.events {
			// The library has the version that the program was built with.
			p := &sink.events[i].Properties
			from := strings.Index(*p, `"$lib":"flagstaff-go","$lib_version":"`)
			if from < 0 {
				t.Fatalf("%s has no library", *p)
			}
			length := strings.Index((*p)[from+len(`"$lib":"flagstaff-go","$lib_version":"`):], `"`) + len(`"$lib":"flagstaff-go","$lib_version":"`) + 1
			library = (*p)[from : from+length]
			*p = strings.NewReplacer(library+",", "", ","+library, "").Replace(*p)
		}
		profile := []string{`"$process_person_profile":false,` + added + `"$ip":"127.0.0.1"`, added + `"$process_person_profile":false,"$ip":"127.0.0.1"`}
		wanted := []seen{
			{"$feature_flag_called", "u", called + `"$feature/f":true,` + known + `"$groups":{"company":"acme"},` + added + `"$ip":"127.0.0.1"}`},
			{"$feature_flag_called", "v", called + known + added + `"$ip":"127.0.0.1"}`},
			{"undefined", "undefined", "{" + profile[len(names)-1] + "}"},
		}
		if diff := cmp.Diff(wanted, sink.events); diff != "" {
			t.Errorf("analytics %v: stored events (-want +got):\n%s", analytics, diff)
		}
	}
}
