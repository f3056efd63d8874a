package server_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/server"
)

func TestClientConfig(t *testing.T) {
	members := map[string]any{
		"surveys": []any{}, "supportedCompression": []string{"gzip"}, "zzz": nil, "aaa": json.RawMessage(`{"a":1}`), "config": map[string]any{"x": true},
		"<odd>\n": 1,
	}
	config, err := server.NewClientConfig(members)
	if err != nil {
		t.Fatal(err)
	}
	if len(members) != 6 {
		t.Errorf("NewClientConfig changed its argument: %v", members)
	}
	r := registry(t)
	demo, err := r.Project(t.Context(), apiKey)
	if err != nil {
		t.Fatal(err)
	}
	demo.ClientConfig = config // before the first request
	s := newServer(t, func(c *server.Config) { c.Projects = r })
	for _, target := range []string{"/flags?v=2&config=true", "/decide?v=4", "/decide?v=1"} {
		var got map[string]any
		if err := json.Unmarshal([]byte(bodyText(t, call{target: target, body: simple}.do(s))), &got); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]any{
			"surveys": []any{}, "supportedCompression": []any{"gzip"}, "zzz": nil, "aaa": map[string]any{"a": 1.0}, "config": map[string]any{"x": true},
			"<odd>\n": 1.0, "isAuthenticated": false, "hasFeatureFlags": true,
		} {
			v, ok := got[name]
			if diff := cmp.Diff(want, v); !ok || diff != "" {
				t.Errorf("%s: %q (-want +got):\n%s", target, name, diff)
			}
		}
	}
}

func TestClientConfigErrors(t *testing.T) {
	for _, members := range []map[string]any{
		{"flags": 1},
		{"requestId": "x"},
		{"quotaLimited": nil},
		{"errorsWhileComputingFlags": true},
		{"featureFlags": nil},
		{"x": math.NaN()},
		{"surveys": make(chan int)},
	} {
		if _, err := server.NewClientConfig(members); err == nil {
			t.Errorf("NewClientConfig(%v): no error", members)
		}
	}
}
