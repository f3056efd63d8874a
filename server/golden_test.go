package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/server"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

// TestGolden keeps request and response pairs, one file each: every form of
// answer, and every error.
func TestGolden(t *testing.T) {
	const person = `{"api_key":"phc_demo","distinct_id":"user-1","groups":{"company":"acme"},"person_properties":{"plan":"pro"},` +
		`"group_properties":{"company":{"tier":"enterprise"}},"flag_keys":["flag-bool","flag-variant","flag-off","flag-person","flag-group"]}`
	const few = `{"api_key":"phc_demo","distinct_id":"user-1","flag_keys":["flag-bool"]}`
	browser := map[string]string{"Origin": "https://app.example", "User-Agent": "Mozilla/5.0", "Content-Type": "text/plain"}
	config, err := server.NewClientConfig(map[string]any{
		"sessionRecording": map[string]any{"endpoint": "/s/"}, "surveys": true, "flagsPersistenceDefault": true,
	})
	if err != nil {
		t.Fatal(err)
	}
	projects := registry(t)
	demo, err := projects.Project(t.Context(), apiKey)
	if err != nil {
		t.Fatal(err)
	}
	projects.Set("phc_configured", &server.Project{ID: 8, Organization: "acme", Flags: demo.Flags, ClientConfig: config})
	projects.Set("phc_empty", &server.Project{ID: 10, Organization: "acme"})
	projects.Set("phc_limited", &server.Project{ID: 9, Organization: "poor", Flags: demo.Flags})
	limited := strings.Replace(few, "phc_demo", "phc_limited", 1)
	content := delivered()
	content.APIKey = "phc_published"
	site := publish(t, content)
	projects.Set(content.APIKey, &server.Project{ID: 7, Organization: "acme", Flags: demo.Flags, Published: site, ClientConfig: site.Client()})

	s := newServer(t, func(c *server.Config) {
		c.Projects, c.MaxBody, c.OFREP = projects, 2000, true
		c.Quota = &fakeQuota{left: map[string]int{"acme": 1000}}
	})
	throttled := newServer(t, func(c *server.Config) {
		c.OFREP, c.RateLimit.IP = true, server.Limit{PerSecond: 0.1, Burst: 1}
	})
	if resp := (call{body: few}).do(throttled); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	broken := newServer(t, func(c *server.Config) { c.Projects, c.OFREP = brokenProjects{}, true })

	// Requests for what is delivered.
	page := map[string]string{"Origin": "https://app.example", "User-Agent": "Mozilla/5.0", "Content-Type": ""}
	fetch := func(target string) call { return call{method: "GET", target: target, header: page} }
	unchanged := func(target string) call {
		c := fetch(target)
		c.header = maps.Clone(c.header)
		c.header["If-None-Match"] = c.do(s).Header.Get("Etag")
		return c
	}

	// Requests to the routes for events.
	const one = `{"api_key":"phc_demo","event":"e","distinct_id":"user-1"}`
	capturing := func(err error) http.Handler {
		s, f := newCapture(t, func(c *server.Config) { c.Capture.MaxBody = 2000 })
		f.accept = func(context.Context, []capture.Event) error { return err }
		return s
	}
	stores := capturing(nil)
	full := capturing(capture.ErrFull)
	picky := capturing(&capture.EventError{Index: 0, Err: io.EOF})
	captureThrottled, _ := newCapture(t, func(c *server.Config) { c.RateLimit.Project = server.Limit{PerSecond: 0.1, Burst: 1} })
	if resp := (call{target: "/e", body: one}).do(captureThrottled); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	captureBroken, _ := newCapture(t, func(c *server.Config) { c.Projects = brokenProjects{} })
	withoutQuota, _ := newCapture(t, func(c *server.Config) { c.Capture.Quota = &fakeQuota{left: map[string]int{}} })
	events := func(body string) call { return call{target: "/e/", header: browser, body: body} }

	ruled := newRules(t, ruleDocument, nil)

	for _, tt := range []struct {
		name string
		h    http.Handler
		call call
	}{
		{"flags-v3", s, call{target: "/flags?v=3", body: person}},
		{"flags-v3-rules", ruled, call{target: "/flags?v=3&detailed_analysis=true", body: rulePerson}},
		{"flags-v2-rules", ruled, call{body: rulePerson}},
		{"ofrep-rules", ruled, ofrep("", `{"context":{"targetingKey":"ada","plan":"pro"}}`, "Authorization", "Bearer phc_acme")},
		{"definitions-rules", ruled, api("GET", "/flags/definitions?rule_sets", "").with(acmeSecret)},
		{"flags-v2", s, call{body: person}},
		{"flags-v2-browser", s, call{header: browser, target: "/flags/?v=2&ip=0&_=1795220311000&ver=1.449.2", body: few}},
		{"flags-v2-config", s, call{target: "/flags?v=2&config=true", body: few}},
		{"flags-v2-config-stored", s, call{target: "/flags?v=2&config=true", body: strings.Replace(few, "phc_demo", "phc_configured", 1)}},
		{"flags-v2-detailed", s, call{target: "/flags?v=2&detailed_analysis=true", body: person}},
		{"flags-v1", s, call{target: "/flags?v=1", body: person}},
		{"flags-disabled", s, call{body: `{"api_key":"phc_demo","disable_flags":true}`}},
		{"flags-disabled-config", s, call{target: "/flags?v=2&config=true", body: `{"api_key":"phc_demo","disable_flags":true}`}},
		{"flags-quota", s, call{body: limited}},
		{"flags-quota-config", s, call{target: "/flags?v=2&config=true", body: limited}},
		{"flags-quota-v1", s, call{target: "/flags?v=1", body: limited}},
		{"decide-v1", s, call{target: "/decide?config=false", body: person}},
		{"decide-v2", s, call{target: "/decide/?v=2&config=false", body: person}},
		{"decide-v3", s, call{target: "/decide/?v=3", body: person}},
		{"decide-v4", s, call{target: "/decide/?v=4&config=false", body: few}},
		{"decide-quota", s, call{target: "/decide/?v=1&config=false", body: limited}},

		{"options", s, call{method: "OPTIONS", header: map[string]string{
			"Origin":                        "https://app.example",
			"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type, x-custom",
		}}},
		{"options-without-origin", s, call{method: "OPTIONS"}},
		{"head", s, call{method: "HEAD"}},

		{"error-method", s, call{method: "GET"}},
		{"error-not-found", s, call{target: "/nowhere", header: browser, body: few}},
		{"error-no-token", s, call{header: browser, body: `{"distinct_id":"u"}`}},
		{"error-unknown-token", s, call{body: `{"token":"phc_other","distinct_id":"u"}`}},
		{"error-no-distinct-id", s, call{body: `{"token":"phc_demo"}`}},
		{"error-malformed", s, call{body: `{`}},
		{"error-field", s, call{body: `{"token":"phc_demo","distinct_id":"u","groups":[]}`}},
		{"error-compression", s, call{target: "/flags?v=2&compression=br", body: few}},
		{"error-content-type", s, call{header: map[string]string{"Content-Type": "application/xml"}, body: few}},
		{"error-too-large", s, call{header: browser, body: padded(2001)}},
		{"error-rate-limit", throttled, call{header: browser, body: few}},
		{"error-backend", broken, call{header: browser, body: `{"token":"down","distinct_id":"u"}`}},
		{"error-timeout", broken, call{body: `{"token":"slow","distinct_id":"u"}`}},
		{"error-panic", broken, call{header: browser, body: `{"token":"panic","distinct_id":"u"}`}},

		{"flags-v2-config-published", s, call{target: "/flags?v=2&config=true", body: strings.Replace(few, "phc_demo", content.APIKey, 1)}},
		{"surveys", s, fetch("/api/surveys/?token=phc_published&_=1795220110559")},
		{"surveys-unchanged", s, unchanged("/api/surveys/?token=phc_published")},
		{"surveys-post", s, call{target: "/api/surveys/", header: browser, body: `{"token":"phc_published"}`}},
		{"surveys-none", s, fetch("/api/surveys?token=phc_demo")},
		{"surveys-options", s, call{method: "OPTIONS", target: "/api/surveys/", header: map[string]string{
			"Origin":                        "https://app.example",
			"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "x-custom",
		}}},
		{"surveys-error-method", s, call{method: "PUT", target: "/api/surveys/", header: page}},
		{"surveys-error-no-token", s, fetch("/api/surveys/")},
		{"surveys-error-unknown-token", s, fetch("/api/surveys/?token=phc_other")},
		{"surveys-error-malformed", s, call{target: "/api/surveys/", header: browser, body: "{"}},
		{"surveys-error-compression", s, call{target: "/api/surveys/?compression=br", header: browser, body: "{}"}},
		{"surveys-error-content-type", s, call{target: "/api/surveys/", header: map[string]string{"Content-Type": "application/xml"}, body: "{}"}},
		{"surveys-error-too-large", s, call{target: "/api/surveys/", header: browser, body: padded(2001)}},
		{"surveys-error-rate-limit", throttled, fetch("/api/surveys/?token=phc_demo")},
		{"surveys-error-backend", broken, fetch("/api/surveys/?token=down")},
		{"surveys-error-timeout", broken, fetch("/api/surveys/?token=slow")},
		{"surveys-error-panic", broken, fetch("/api/surveys/?token=panic")},
		{"early-access", s, fetch("/api/early_access_features/?token=phc_published")},
		{"early-access-stages", s, fetch("/api/early_access_features/?token=phc_published&stage=concept&stage=alpha")},
		{"early-access-unchanged", s, unchanged("/api/early_access_features/?token=phc_published")},
		{"early-access-none", s, fetch("/api/early_access_features/?token=phc_demo")},
		{"early-access-error-no-token", s, fetch("/api/early_access_features/")},
		{"early-access-error-unknown-token", s, fetch("/api/early_access_features/?token=phc_other")},
		{"array-config", s, fetch("/array/phc_published/config")},
		{"array-config-unchanged", s, unchanged("/array/phc_published/config")},
		{"array-config-none", s, fetch("/array/phc_demo/config")},
		{"array-config-stored", s, fetch("/array/phc_configured/config")},
		{"array-script", s, fetch("/array/phc_published/config.js")},
		{"array-script-unchanged", s, unchanged("/array/phc_published/config.js")},
		{"array-options", s, call{method: "OPTIONS", target: "/array/phc_published/config", header: page}},
		{"array-error-method", s, call{method: "POST", target: "/array/phc_published/config", header: page}},
		{"array-error-key", s, fetch("/array/a%20b/config")},
		{"array-error-unknown-key", s, fetch("/array/phc_other/config.js")},
		{"array-error-rate-limit", throttled, fetch("/array/phc_demo/config")},
		{"array-error-backend", broken, fetch("/array/down/config.js")},
		{"array-error-panic", broken, fetch("/array/panic/config")},

		{"capture", stores, events(one)},
		{"capture-beacon", stores, call{target: "/e/?beacon=1", header: browser, body: one}},
		{"capture-options", stores, call{method: "OPTIONS", target: "/i/v0/e/", header: map[string]string{
			"Origin":                        "https://app.example",
			"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type",
		}}},
		{"capture-error-method", stores, call{method: "PUT", target: "/e/", header: browser, body: one}},
		{"capture-error-no-payload", stores, events("")},
		{"capture-error-form", stores, call{target: "/e/", header: map[string]string{"Content-Type": form}, body: one}},
		{"capture-error-compression", stores, call{target: "/e/?compression=gzip", header: browser, body: "not gzip"}},
		{"capture-error-malformed", stores, events("{")},
		{"capture-error-no-token", stores, events(`{"event":"e","distinct_id":"u"}`)},
		{"capture-error-unknown-token", stores, events(`{"token":"phc_other","event":"e","distinct_id":"u"}`)},
		{"capture-error-too-large", stores, events(padded(2001))},
		{"capture-error-unstorable", picky, events(one)},
		{"capture-error-full", full, events(one)},
		{"capture-error-rate-limit", captureThrottled, events(one)},
		{"capture-error-backend", captureBroken, events(`{"token":"down","event":"e","distinct_id":"u"}`)},
		{"capture-error-panic", captureBroken, events(`{"token":"panic","event":"e","distinct_id":"u"}`)},

		{"analytics", stores, v1(v1Body(uuid1, uuid2), nil)},
		{"analytics-retry", full, v1(v1Body(uuid1), nil)},
		{"analytics-drop", picky, v1(v1Body(uuid1, uuid2), nil)},
		{"analytics-error-method", stores, call{method: "GET", target: "/i/v1/analytics/events"}},
		{"analytics-error-no-authorization", stores, v1("{}", map[string]string{"Authorization": ""})},
		{"analytics-error-missing-header", stores, v1("{}", map[string]string{"PostHog-Attempt": ""})},
		{"analytics-error-header", stores, v1("{}", map[string]string{"PostHog-Attempt": "0"})},
		{"analytics-error-content-type", stores, v1("{}", map[string]string{"Content-Type": "text/plain"})},
		{"analytics-error-encoding", stores, v1("{}", map[string]string{"Content-Encoding": "snappy"})},
		{"analytics-error-unknown-token", stores, v1("{}", map[string]string{"Authorization": "Bearer phc_other"})},
		{"analytics-error-empty", stores, v1("", nil)},
		{"analytics-error-decoding", stores, v1("{}", map[string]string{"Content-Encoding": "gzip"})},
		{"analytics-error-malformed", stores, v1("{", nil)},
		{"analytics-error-too-large", stores, v1(padded(2001), nil)},
		{"analytics-error-quota", withoutQuota, v1(v1Body(uuid1), nil)},
		{"analytics-error-rate-limit", captureThrottled, v1(v1Body(uuid1), nil)},
		{"analytics-error-backend", captureBroken, v1("{}", map[string]string{"Authorization": "Bearer down"})},
		{"analytics-error-panic", captureBroken, v1("{}", map[string]string{"Authorization": "Bearer panic"})},

		{"ofrep-flag", s, ofrep("flag-variant", ofrepUser)},
		{"ofrep-flag-off", s, ofrep("flag-off", ofrepUser)},
		{"ofrep-flags", s, ofrep("", ofrepUser, "Origin", "https://app.example", "User-Agent", "Mozilla/5.0")},
		{"ofrep-flags-unchanged", s, ofrep("", ofrepUser, "If-None-Match", ofrep("", ofrepUser).do(s).Header.Get("Etag"))},
		{"ofrep-options", s, call{method: "OPTIONS", target: ofrepBulk, header: map[string]string{
			"Origin":                        "https://app.example",
			"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, content-type, if-none-match",
		}}},
		{"ofrep-error-method", s, call{method: "GET", target: ofrepBulk}},
		{"ofrep-error-no-key", s, ofrep("flag-bool", ofrepUser, "Authorization", "")},
		{"ofrep-error-unknown-key", s, ofrep("", ofrepUser, "Authorization", "Bearer phc_other")},
		{"ofrep-error-not-found", s, ofrep("flag-none", ofrepUser)},
		{"ofrep-error-targeting-key", s, ofrep("flag-bool", `{"context":{}}`)},
		{"ofrep-error-targeting-key-bulk", s, ofrep("", `{"context":{}}`)},
		{"ofrep-error-context", s, ofrep("flag-bool", `{"context":{"targetingKey":"u","groups":[]}}`)},
		{"ofrep-error-malformed", s, ofrep("flag-bool", `{`)},
		{"ofrep-error-content-type", s, ofrep("", ofrepUser, "Content-Type", "application/xml")},
		{"ofrep-error-too-large", s, ofrep("", padded(2001))},
		{"ofrep-error-quota", s, ofrep("flag-bool", ofrepUser, "Authorization", "Bearer phc_limited")},
		{"ofrep-error-rate-limit", throttled, ofrep("flag-bool", ofrepUser)},
		{"ofrep-error-not-ready", s, ofrep("flag-bool", ofrepUser, "Authorization", "Bearer phc_empty")},
		{"ofrep-error-backend", broken, ofrep("flag-bool", ofrepUser, "Authorization", "Bearer down")},
		{"ofrep-error-timeout", broken, ofrep("", ofrepUser, "Authorization", "Bearer slow")},
		{"ofrep-error-panic", broken, ofrep("flag-bool", ofrepUser, "Authorization", "Bearer panic")},

		{"healthz", s, call{method: "GET", target: "/healthz"}},
		{"readyz", s, call{method: "GET", target: "/readyz/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.call
			c.header = maps.Clone(c.header)
			if c.header == nil {
				c.header = make(map[string]string)
			}
			c.header["X-Request-Id"] = requestID
			got := dump(t, c.request(), c.do(tt.h))
			if strings.Count(c.body, "x") > 1000 {
				got = strings.Replace(got, c.body, "(2001 bytes)", 1)
			}
			golden(t, tt.name, got)
		})
	}
}

// golden compares a pair with the golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

var evaluatedAt = regexp.MustCompile(`("evaluatedAt": ?)\d+`)

// dump writes a pair for people: headers sorted, JSON indented, times left out.
func dump(t *testing.T, r *http.Request, resp *http.Response) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL)
	header := func(h http.Header) {
		for _, name := range slices.Sorted(maps.Keys(h)) {
			for _, v := range h[name] {
				fmt.Fprintf(&b, "%s: %s\n", name, v)
			}
		}
	}
	header(r.Header)
	if body, err := io.ReadAll(r.Body); err != nil {
		t.Fatal(err)
	} else if len(body) > 0 {
		fmt.Fprintf(&b, "\n%s\n", body)
	}

	body := []byte(bodyText(t, resp))
	if length := resp.Header.Get("Content-Length"); length != "" && length != fmt.Sprint(len(body)) {
		t.Errorf("Content-Length %s, but %d bytes", length, len(body))
	}
	resp.Header.Del("Content-Length") // depends on how long the time is
	fmt.Fprintf(&b, "\n---\n\n%d %s\n", resp.StatusCode, http.StatusText(resp.StatusCode))
	header(resp.Header)
	if resp.Header.Get("Content-Type") == "application/json" && len(body) > 0 {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, body, "", "  "); err != nil {
			t.Errorf("%v\n%s", err, body)
		}
		body = evaluatedAt.ReplaceAll(pretty.Bytes(), []byte("${1}0"))
	}
	if len(body) > 0 {
		fmt.Fprintf(&b, "\n%s\n", body)
	}
	return b.String()
}
