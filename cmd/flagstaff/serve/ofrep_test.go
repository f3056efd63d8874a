package serve

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/open-feature/go-sdk-contrib/providers/ofrep"
	of "github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/openfeature"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// TestOFREP asks the demo through OpenFeature's own provider for its remote
// evaluation protocol, and compares with the provider that evaluates in the
// process. They differ where the protocol cannot express the answer: payloads of
// flags that are not remote configuration, numbers as keys of variants, the reason
// DEFAULT, and metadata for reports.
func TestOFREP(t *testing.T) {
	url, _, _ := start(t, nil, "-addr", "127.0.0.1:0", "-demo")
	clientOf := func(p of.FeatureProvider) *of.Client {
		api := isolated.NewAPI()
		t.Cleanup(func() { _ = api.Shutdown(context.Background()) })
		if err := api.SetProviderAndWait(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		return api.NewClient()
	}
	d, err := flags.Decode(bytes.NewReader(demoFlags))
	if err != nil {
		t.Fatal(err)
	}
	local := clientOf(openfeature.NewProvider(nil, openfeature.Options{
		Source: source.Static{Definitions: d}, Filter: runtime.Filter{Kind: runtime.Server},
	}))
	for name, option := range map[string]ofrep.Option{
		"project key": ofrep.WithBearerToken("phc_demo"), "project key as X-API-Key": ofrep.WithApiKeyAuth("phc_demo"),
		"secret key": ofrep.WithBearerToken("phs_demo"), "personal API key": ofrep.WithApiKeyAuth("phx_demo"),
	} {
		t.Run(name, func(t *testing.T) {
			remote := clientOf(ofrep.NewProvider(url, option))
			for i := range 20 {
				person := of.NewEvaluationContext(fmt.Sprint("ofrep-", i), map[string]any{
					"plan": []string{"free", "pro"}[i%2], "email": fmt.Sprint(i, "@", []string{"acme.test", "example.com"}[i/2%2]), "logins": 3 * i, "age": i,
					"$feature_enrollment/assistant": i%3 == 0, "$app_version": "2.5.0",
					"groups": map[string]any{"company": fmt.Sprint("company-", i)}, "groupProperties": map[string]any{"company": map[string]any{"seats": 10 * i}},
				})
				for _, f := range d.Flags {
					compareProviders(t, local, remote, f.Key, person)
				}
				compareProviders(t, local, remote, "no-such-flag", person)
			}
			compareProviders(t, local, remote, "new-dashboard", of.EvaluationContext{})
			compareProviders(t, local, remote, "new-dashboard", of.NewEvaluationContext("u", map[string]any{"groups": "acme"}))
		})
	}
	t.Run("wrong key", func(t *testing.T) {
		remote := clientOf(ofrep.NewProvider(url, ofrep.WithBearerToken("phc_wrong")))
		if got, err := remote.BooleanValueDetails(t.Context(), "new-dashboard", true, of.NewEvaluationContext("u", nil)); err == nil || !got.Value {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("client with an entity tag", func(t *testing.T) {
		status := http.StatusOK
		etag := ""
		for range 2 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/ofrep/v1/evaluate/flags", strings.NewReader(`{"context":{"targetingKey":"u"}}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-API-Key", "phc_demo")
			r.Header.Set("If-None-Match", etag)
			w, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			w.Body.Close()
			if w.StatusCode != status || w.Header.Get("ETag") == "" {
				t.Errorf("%d %v, want %d", w.StatusCode, w.Header, status)
			}
			status, etag = http.StatusNotModified, w.Header.Get("ETag")
		}
	})
}

// compareProviders evaluates a flag as a boolean and as a string.
func compareProviders(t *testing.T, local, remote *of.Client, key string, person of.EvaluationContext) {
	t.Helper()
	type seen struct {
		Value    any
		Variant  string
		Error    of.ErrorCode
		Metadata of.FlagMetadata
	}
	look := func(value any, d of.ResolutionDetail) seen {
		s := seen{Value: value, Variant: d.Variant, Error: d.ErrorCode}
		if d.ErrorCode == "" {
			s.Metadata = make(of.FlagMetadata, len(d.FlagMetadata))
			for name, v := range d.FlagMetadata {
				switch n := v.(type) { // numbers of JSON are floats
				case int:
					v = float64(n)
				case int64:
					v = float64(n)
				case float64:
					if name == "version" { // what reports evaluations in the process wants a text
						v = fmt.Sprint(n)
					}
				}
				switch name {
				case "requestId", "flagId": // the store gives IDs of its own
				case "contextId": // is for reports, in the process
				default:
					s.Metadata[name] = v
				}
			}
		}
		return s
	}
	both := func(f func(*of.Client) (any, of.ResolutionDetail)) (a, b seen) {
		return look(f(local)), look(f(remote))
	}
	asBool := func(c *of.Client) (any, of.ResolutionDetail) {
		d, _ := c.BooleanValueDetails(t.Context(), key, false, person)
		return d.Value, d.ResolutionDetail
	}
	asString := func(c *of.Client) (any, of.ResolutionDetail) {
		d, _ := c.StringValueDetails(t.Context(), key, "fallback", person)
		return d.Value, d.ResolutionDetail
	}
	a, b := both(asBool)
	// A variant is a string for the protocol; in the process it is also true.
	if b.Error == of.TypeMismatchCode && a.Variant != "" {
		b = a
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("boolean %s for %s (-in the process +remote):\n%s", key, person.TargetingKey(), diff)
	}
	a, b = both(asString)
	// A flag without variants is false for the protocol, in the process it is off.
	if b.Error == of.TypeMismatchCode && a.Variant == "" && a.Value == "fallback" {
		b = a
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("string %s for %s (-in the process +remote):\n%s", key, person.TargetingKey(), diff)
	}
}
