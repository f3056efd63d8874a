package flagstaff_test

import (
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/flagstest"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// places is a Locator that knows some addresses.
type places map[netip.Addr]map[string]string

func (p places) Properties(a netip.Addr) iter.Seq2[string, string] { return maps.All(p[a]) }

// TestWeb: Middleware adds what the HTTP request says about its client, beneath what
// the request for flags has itself.
func TestWeb(t *testing.T) {
	berlin := netip.MustParseAddr("192.0.2.1") // the peer of httptest.NewRequest
	paris := netip.MustParseAddr("192.0.2.2")
	locator := places{berlin: {"$geoip_city_name": "Berlin"}, paris: {"$geoip_city_name": "Paris"}}
	given := map[string]any{"$geoip_city_name": "Rome"}
	server := runtime.Filter{Kind: runtime.Server, Tags: []string{"shop"}}
	for _, test := range []struct {
		name    string
		config  flagstaff.Config
		request flags.Request
		agent   string
		want    flags.Request
	}{
		{
			name: "nothing is configured",
		},
		{
			name:   "the place of the peer",
			config: flagstaff.Config{Web: flagstaff.Web{Locator: locator}},
			want:   flags.Request{PersonProperties: map[string]any{"$geoip_city_name": "Berlin"}},
		},
		{
			name:   "the place of another address",
			config: flagstaff.Config{Web: flagstaff.Web{Locator: locator, Address: func(*http.Request) netip.Addr { return paris }}},
			want:   flags.Request{PersonProperties: map[string]any{"$geoip_city_name": "Paris"}},
		},
		{
			name:    "a place that the request has",
			config:  flagstaff.Config{Web: flagstaff.Web{Locator: locator}},
			request: flags.Request{PersonProperties: given},
			want:    flags.Request{PersonProperties: given},
		},
		{
			name:    "a place that the request's list has",
			config:  flagstaff.Config{Web: flagstaff.Web{Locator: locator}},
			request: flags.Request{Person: []flags.Property{flags.StringProperty("$geoip_city_name", "Oslo"), flags.IntProperty("n", 1)}},
			want:    flags.Request{PersonProperties: map[string]any{"$geoip_city_name": "Oslo", "n": int64(1)}},
		},
		{
			name:   "the program's filter",
			config: flagstaff.Config{Filter: server},
			want:   flags.Request{Filter: server},
		},
		{
			name:    "the request's filter",
			config:  flagstaff.Config{Filter: server},
			request: flags.Request{Filter: runtime.Filter{Kind: runtime.Client}},
			want:    flags.Request{Filter: runtime.Filter{Kind: runtime.Client}},
		},
		{
			name:   "the client's runtime, with the program's contexts",
			config: flagstaff.Config{Filter: server, Web: flagstaff.Web{Detector: new(runtime.Detector)}},
			agent:  "Mozilla/5.0",
			want:   flags.Request{Filter: runtime.Filter{Kind: runtime.Client, Tags: []string{"shop"}}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, _ := open(t, test.config)
			var got *flags.Request
			handler := client.Middleware(func(*http.Request) *flags.Request { return &test.request })(
				http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = flagstaff.From(r.Context()).Request() }))
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("User-Agent", test.agent)
			handler.ServeHTTP(httptest.NewRecorder(), r)
			if diff := cmp.Diff(&test.want, got.Merged()); diff != "" {
				t.Errorf("request for flags (-want +got):\n%s", diff)
			}
		})
	}
	if fmt.Sprint(given) != "map[$geoip_city_name:Rome]" {
		t.Errorf("the caller's properties have changed: %v", given)
	}
}

// TestOverride: flags that a context overrides come first, for a Person that was in
// the context before, and for one that comes later.
func TestOverride(t *testing.T) {
	client, _ := open(t, flagstaff.Config{})
	r := &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"plan": "pro"}}
	off := flagstest.Flag("new-checkout").Off()
	before := flagstest.With(t, client.For(r).Context(t.Context()), off)
	after := client.For(r).Context(flagstest.With(t, t.Context(), off))
	for name, p := range map[string]*flagstaff.Person{"before": flagstaff.From(before), "after": flagstaff.From(after)} {
		if p.Bool("new-checkout", true) || p.Variant("button", "") != "red" {
			t.Errorf("a Person that came %s: new-checkout %v, button %q; want false and red",
				name, p.Bool("new-checkout", true), p.Variant("button", ""))
		}
	}
}

// TestDependencies: a service that uses this package gets no database, no broker and no
// metrics library with it.
func TestDependencies(t *testing.T) {
	const ours = "github.com/flagstaff-go/flagstaff"
	allowed := map[string]bool{
		"github.com/google/uuid": true, "github.com/cespare/xxhash/v2": true, "github.com/twmb/murmur3": true,
		"github.com/dlclark/regexp2/v2": true, "github.com/dlclark/regexp2/v2/syntax": true, "github.com/dlclark/regexp2/v2/helpers": true,
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ours).Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		first, _, _ := strings.Cut(dep, "/")
		if strings.Contains(first, ".") && dep != ours && !strings.HasPrefix(dep, ours+"/") && !allowed[dep] {
			t.Errorf("flagstaff imports %s, a requirement of every service", dep)
		}
		if dep == "testing" {
			t.Error("flagstaff imports testing, which comes with its flags into every program")
		}
	}
}
