package main_test

import (
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthog/posthog-go"
)

type postHogEngine struct {
	tb     testing.TB
	client posthog.Client
	events bool
}

// postHog gets its definitions from a server on loopback. Events never leave
// the process. Properties include distinct_id, or the library would copy them
// for each flag.
func postHog(tb testing.TB, all []flag, events bool) func() engine {
	document := encode(tb, publicDefinitions(all, "sha1"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document) // if it fails, the test fails for lack of definitions
	}))
	tb.Cleanup(server.Close)
	return func() engine {
		client, err := posthog.NewWithConfig("phc_compare", posthog.Config{
			Endpoint: server.URL, SecretKey: "phs_compare", Transport: definitionsOnly{}, MaxQueueSize: eventQueue,
			Logger: posthog.StdLogger(log.New(io.Discard, "", 0), false),
		})
		if err != nil {
			tb.Fatal(err)
		}
		e := &postHogEngine{tb, client, events}
		e.subject(customer(0)).enabled(all[0].key) // waits for the definitions
		return e
	}
}

// definitionsOnly lets requests for definitions through and discards all
// others.
type definitionsOnly struct{}

func (definitionsOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, "/flags/definitions") {
		return http.DefaultTransport.RoundTrip(r)
	}
	return receiver(http.StatusOK).RoundTrip(r)
}

func (e *postHogEngine) close() {
	if err := e.client.Close(); err != nil {
		e.tb.Error(err)
	}
}

func (e *postHogEngine) subject(p person) subject {
	properties := posthog.Properties{"distinct_id": p.id}
	maps.Copy(properties, p.properties)
	return &postHogSubject{e, p.id, properties}
}

type postHogSubject struct {
	*postHogEngine
	id         string
	properties posthog.Properties
}

func (s *postHogSubject) payload(key string) posthog.FeatureFlagPayload {
	return posthog.FeatureFlagPayload{
		Key: key, DistinctId: s.id, PersonProperties: s.properties, OnlyEvaluateLocally: true, SendFeatureFlagEvents: &s.events,
	}
}

func (s *postHogSubject) enabled(key string) bool {
	v, err := s.client.IsFeatureEnabled(s.payload(key))
	return err == nil && v == true
}

func (s *postHogSubject) variant(key string) string {
	v, err := s.client.GetFeatureFlag(s.payload(key))
	if err != nil {
		return ""
	}
	variant, _ := v.(string)
	return variant
}

func (s *postHogSubject) all() int {
	values, err := s.client.GetAllFlags(posthog.FeatureFlagPayloadNoKey{DistinctId: s.id, PersonProperties: s.properties, OnlyEvaluateLocally: true})
	if err != nil {
		return -1
	}
	n := 0
	for _, v := range values {
		if v == true {
			n++
		}
	}
	return n
}
