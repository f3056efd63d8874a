package server_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// TestChecklist is the part of wire.md §9 that is about /flags and /decide. Names
// begin with the rows' ids.
func TestChecklist(t *testing.T) {
	s := newServer(t, nil)
	const node = "posthog-node/5.70.0"

	t.Run("F01 both slash forms", func(t *testing.T) {
		for _, target := range []string{"/flags?v=2", "/flags/?v=2"} {
			if a := (call{target: target, body: simple}).ok(t, s); len(a.Flags) == 0 {
				t.Errorf("%s: no flags", target)
			}
		}
	})
	t.Run("F02 envelope", func(t *testing.T) {
		before := time.Now().UnixMilli()
		resp := call{body: simple}.do(s)
		body := bodyText(t, resp)
		if strings.Contains(body, "quotaLimited") || !strings.Contains(body, `"errorsWhileComputingFlags":false`) {
			t.Error(body)
		}
		a := call{body: simple}.ok(t, s)
		if u, err := uuid.Parse(a.RequestID); err != nil || u.Version() != 4 {
			t.Errorf("requestId %q", a.RequestID)
		}
		if a.EvaluatedAt < before || a.EvaluatedAt > time.Now().UnixMilli() {
			t.Errorf("evaluatedAt %d, now %d", a.EvaluatedAt, before)
		}
	})
	t.Run("F03 boolean flag", func(t *testing.T) {
		f := call{body: simple}.ok(t, s).Flags["flag-bool"]
		want := map[string]any{"code": "condition_match", "condition_index": 0.0, "description": "Matched condition set 1"}
		if !f.Enabled || f.Variant != nil || f.Key != "flag-bool" || cmp.Diff(want, f.Reason) != "" {
			t.Errorf("%+v", f)
		}
		want = map[string]any{"id": 1.0, "version": 3.0, "description": nil, "payload": `{"color":"blue"}`, "has_experiment": false}
		if diff := cmp.Diff(want, f.Metadata); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("F04 variant", func(t *testing.T) {
		f := call{body: simple}.ok(t, s).Flags["flag-variant"]
		if !f.Enabled || f.Variant == nil || *f.Variant != "test" || f.Metadata["payload"] == nil {
			t.Errorf("%+v", f)
		}
	})
	t.Run("F05 off", func(t *testing.T) {
		a := call{body: simple}.ok(t, s)
		if f := a.Flags["flag-off"]; !a.has("flag-off") || f.Enabled || f.Variant != nil {
			t.Errorf("%+v", f)
		}
	})
	t.Run("F06 spellings of the token", func(t *testing.T) {
		for _, name := range []string{"token", "$token", "api_key"} {
			call{body: fmt.Sprintf(`{%q:"phc_demo","distinct_id":"u"}`, name)}.ok(t, s)
		}
	})
	t.Run("F07 spellings of the person", func(t *testing.T) {
		for _, member := range []string{`"distinct_id":"u"`, `"$distinct_id":"u"`, `"distinct_id":42`} {
			call{body: `{"token":"phc_demo",` + member + `}`}.ok(t, s)
		}
	})
	for _, tt := range []struct {
		name, body string
		status     int
	}{
		{"F08 missing distinct_id", `{"token":"phc_demo"}`, 400},
		{"F09 missing token", `{"distinct_id":"u"}`, 401},
		{"F10 unknown token", `{"token":"phc_other","distinct_id":"u"}`, 401},
		{"F11 malformed JSON", `{"token":"phc_demo","distinct_id":`, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if resp := (call{body: tt.body}).do(s); resp.StatusCode != tt.status {
				t.Errorf("status %d, want %d", resp.StatusCode, tt.status)
			}
		})
	}
	t.Run("F12 gzip as text without hint", func(t *testing.T) {
		call{header: map[string]string{"Content-Type": "text/plain"}, body: zip(simple)}.ok(t, s)
	})
	t.Run("F13 form with base64", func(t *testing.T) {
		a := call{
			target: "/flags/?v=2&config=true&ip=0&_=1795220311000&ver=1.310.1&compression=base64",
			header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
			body:   "data=" + url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(simple))),
		}.ok(t, s)
		if !a.enabled("flag-bool") {
			t.Errorf("%+v", a)
		}
	})
	t.Run("F14 config", func(t *testing.T) {
		body := bodyText(t, call{target: "/flags?v=2&config=true", body: simple}.do(s))
		for _, want := range []string{
			`"config":{"enable_collect_everything":true}`, `"toolbarParams":{}`, `"isAuthenticated":false`, `"supportedCompression":["gzip","lz64"]`,
		} {
			if !strings.Contains(body, want) {
				t.Errorf("no %s in %s", want, body)
			}
		}
	})
	t.Run("F15 no config", func(t *testing.T) {
		for _, target := range []string{"/flags?v=2", "/flags", "/flags?v=2&config=false", "/flags?v=1"} {
			body := bodyText(t, call{target: target, body: simple}.do(s))
			for _, bad := range []string{`"config"`, `"toolbarParams"`, `"supportedCompression"`, `"sessionRecording"`} {
				if strings.Contains(body, bad) {
					t.Errorf("%s answers %s", target, bad)
				}
			}
		}
	})
	t.Run("F16 flag_keys", func(t *testing.T) {
		for _, name := range []string{"flag_keys", "flag_keys_to_evaluate"} {
			a := call{body: fmt.Sprintf(`{"token":"phc_demo","distinct_id":"u",%q:["flag-bool"]}`, name)}.ok(t, s)
			if len(a.Flags) != 1 || !a.enabled("flag-bool") {
				t.Errorf("%s: %+v", name, a.Flags)
			}
		}
	})
	t.Run("F17 disable_flags", func(t *testing.T) {
		for _, body := range []string{
			`{"token":"phc_demo","distinct_id":"u","disable_flags":true}`, `{"token":"phc_demo","disable_flags":true}`,
		} {
			a := call{body: body}.ok(t, s)
			if a.Flags == nil || len(a.Flags) != 0 || *a.ErrorsWhileComputingFlags {
				t.Errorf("%+v", a)
			}
		}
	})
	const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
	for _, tt := range []struct {
		agent, header  string
		client, server bool
	}{ // F18
		{chrome, "", true, false},
		{"Mozilla/5.0 (Macintosh) Firefox/140.0", "", true, false},
		{"posthog-android/3.1.0", "", true, false},
		{"posthog-ios/3.69.3", "", true, false},
		{"posthog-react-native/4.1.0", "", true, false},
		{"posthog-flutter/5.0.0", "", true, false},
		{"posthog-python/7.42.0", "", false, true},
		{"svc-go/1.0", "", false, true},
		{"python-requests/2.31", "", false, true},
		{"curl/8.5.0", "Referer", false, true},
		{"", "Origin", true, false},
		{"", "Referer", true, false},
		{"posthog-edge/5.70.0", "Sec-Fetch-Mode", true, false},
		{"okhttp/4.9", "Sec-Fetch-Site", true, false},
		{"", "", false, false},
		{"posthog-edge/5.70.0", "", false, false},
		{node, "Sec-Fetch-Mode", false, true},   // F19
		{"posthog-server/2.0", "", false, true}, // F31
		{"posthog-rs/0.21.0", "", false, true},
		{"posthog-dotnet/2.13.3 (.NET 9.0; Linux; x64)", "Origin", false, true},
		{"posthog-ruby/3.23.2", "", false, true},
		{"posthog-php/4.13.2", "", false, true},
		{"posthog-java/1.2.0", "", false, true},
		{"posthog-elixir/2.14.1", "", false, true},
	} {
		t.Run(fmt.Sprintf("F18 runtime of %q with %q", tt.agent, tt.header), func(t *testing.T) {
			h := map[string]string{"User-Agent": tt.agent}
			if tt.header != "" {
				h[tt.header] = "cors"
			}
			a := call{header: h, body: simple}.ok(t, s)
			if a.has("flag-client") != tt.client || a.has("flag-server") != tt.server || !a.has("flag-bool") {
				t.Errorf("client %v, server %v", a.has("flag-client"), a.has("flag-server"))
			}
		})
	}
	t.Run("F20 runtime of the body", func(t *testing.T) {
		for kind, want := range map[string][2]bool{"client": {true, false}, "SERVER": {false, true}, "all": {true, true}, "edge": {true, true}} {
			a := call{header: map[string]string{"User-Agent": node}, body: `{"token":"phc_demo","distinct_id":"u","evaluation_runtime":"` + kind + `"}`}.ok(t, s)
			if got := [2]bool{a.has("flag-client"), a.has("flag-server")}; got != want {
				t.Errorf("%s: %v, want %v", kind, got, want)
			}
		}
	})
	t.Run("F21 evaluation contexts", func(t *testing.T) {
		for member, want := range map[string]bool{
			`"evaluation_contexts":["other"]`: false, `"evaluation_contexts":["checkout","other"]`: true, `"x":1`: true,
			`"evaluation_environments":["other"]`: false, `"evaluation_environments":["checkout"]`: true, `"evaluation_contexts":[]`: true,
		} {
			a := call{body: `{"token":"phc_demo","distinct_id":"u",` + member + `}`}.ok(t, s)
			if a.has("flag-tagged") != want || !a.has("flag-bool") {
				t.Errorf("%s: %v, want %v", member, a.has("flag-tagged"), want)
			}
		}
	})
	t.Run("F22 person properties", func(t *testing.T) {
		if !(call{body: `{"token":"phc_demo","distinct_id":"unknown","person_properties":{"plan":"pro"}}`}.ok(t, s).enabled("flag-person")) {
			t.Error("with: off")
		}
		if (call{body: `{"token":"phc_demo","distinct_id":"unknown"}`}.ok(t, s).enabled("flag-person")) {
			t.Error("without: on")
		}
	})
	t.Run("F23 groups", func(t *testing.T) {
		if !(call{body: `{"token":"phc_demo","distinct_id":"u","groups":{"company":"acme"},"group_properties":{"company":{"tier":"enterprise"}}}`}.ok(t, s).enabled("flag-group")) {
			t.Error("with: off")
		}
		if (call{body: simple}.ok(t, s).enabled("flag-group")) {
			t.Error("without: on")
		}
	})
	t.Run("F24 nulls", func(t *testing.T) {
		a := call{body: `{"token":"phc_demo","distinct_id":"u","device_id":null,"groups":null,"person_properties":null,"group_properties":null}`}.ok(t, s)
		if !a.enabled("flag-bool") {
			t.Errorf("%+v", a)
		}
	})
	t.Run("F25 OPTIONS and HEAD", func(t *testing.T) {
		for _, target := range []string{"/flags", "/flags/?v=2", "/decide", "/decide/"} {
			if resp := (call{method: "OPTIONS", target: target}).do(s); resp.StatusCode != http.StatusNoContent {
				t.Errorf("OPTIONS %s = %d", target, resp.StatusCode)
			}
			if resp := (call{method: "HEAD", target: target}).do(s); resp.StatusCode != http.StatusOK || bodyText(t, resp) != "" {
				t.Errorf("HEAD %s = %d", target, resp.StatusCode)
			}
		}
	})
	t.Run("F26 decide", func(t *testing.T) {
		for _, target := range []string{"/decide/?v=3", "/decide?v=3"} {
			a := call{target: target, body: simple}.ok(t, s)
			m, _ := a.FeatureFlags.(map[string]any)
			if m["flag-bool"] != true || m["flag-variant"] != "test" || m["flag-off"] != false || a.FeatureFlagPayloads["flag-bool"] != `{"color":"blue"}` {
				t.Errorf("%s: %+v", target, a)
			}
		}
	})
	t.Run("F27 long distinct_id", func(t *testing.T) {
		call{body: `{"token":"phc_demo","distinct_id":"` + strings.Repeat("x", 500) + `"}`}.ok(t, s)
	})
	t.Run("F28 request id", func(t *testing.T) {
		if a := (call{header: map[string]string{"X-REQUEST-ID": requestID}, body: simple}).ok(t, s); a.RequestID != requestID {
			t.Errorf("requestId %q", a.RequestID)
		}
		for _, bad := range []string{"x", "{" + requestID[:34] + "}", strings.ReplaceAll(requestID, "-", ""), "urn:uuid:" + requestID, requestID[:35] + "g", `"` + requestID[:34] + `"`} {
			if a := (call{header: map[string]string{"X-REQUEST-ID": bad}, body: simple}).ok(t, s); a.RequestID == bad || uuid.Validate(a.RequestID) != nil {
				t.Errorf("X-REQUEST-ID %q: requestId %q", bad, a.RequestID)
			}
		}
	})
	t.Run("F29 gzip with charset", func(t *testing.T) {
		call{header: map[string]string{"Content-Type": "application/json; charset=utf-8", "Content-Encoding": "gzip"}, body: zip(simple)}.ok(t, s)
	})
	t.Run("F30 content type of answers", func(t *testing.T) {
		if got := (call{body: simple}).do(s).Header.Get("Content-Type"); got != "application/json" {
			t.Errorf("Content-Type %q", got)
		}
	})
	t.Run("F32 unknown members", func(t *testing.T) {
		a := call{body: `{"token":"phc_demo","distinct_id":"u","properties":{"a":1},"timestamp":5,"sent_at":[],"$groups":{"company":"acme"},` +
			`"$group_properties":{"company":{"tier":"enterprise"}},"disable_geoip":true,"ip_address":1,"timezone":{}}`}.ok(t, s)
		if !a.enabled("flag-group") {
			t.Errorf("%+v", a)
		}
	})
}

func TestQueryOptions(t *testing.T) {
	s := newServer(t, nil)
	t.Run("surveys only", func(t *testing.T) {
		a := call{target: "/flags/?v=2&only_evaluate_survey_feature_flags=true", body: simple}.ok(t, s)
		if len(a.Flags) != 1 || !a.enabled("survey-targeting-1") {
			t.Errorf("%+v", a.Flags)
		}
		// The next request must not remember it.
		if a := (call{body: simple}).ok(t, s); len(a.Flags) < 5 {
			t.Errorf("%+v", a.Flags)
		}
	})
	t.Run("detailed analysis", func(t *testing.T) {
		f := call{target: "/flags?v=2&detailed_analysis=true", body: simple}.ok(t, s).Flags["flag-person"]
		if len(f.Conditions) != 3 || f.Conditions[1]["condition_index"] != 1.0 || f.Conditions[1]["matched"] != false || f.Conditions[1]["code"] != "no_condition_match" {
			t.Errorf("%+v", f.Conditions)
		}
		if f := (call{body: simple}).ok(t, s).Flags["flag-person"]; f.Conditions != nil {
			t.Errorf("without: %+v", f.Conditions)
		}
	})
	t.Run("versions", func(t *testing.T) {
		for target, v2 := range map[string]bool{
			"/flags": true, "/flags?config=true": true, "/flags?v=3": true, "/flags?v=1": false, "/flags?v=x": false,
			"/flags?version=1": false, "/decide?v=4": true, "/decide?v=99": true, "/decide": false,
		} {
			a := call{target: target, body: simple}.ok(t, s)
			if (a.Flags != nil) != v2 || (a.FeatureFlags != nil) == v2 {
				t.Errorf("%s: v2 form %v, want %v", target, a.Flags != nil, v2)
			}
		}
	})
	t.Run("decide has config unless told otherwise", func(t *testing.T) {
		for target, want := range map[string]bool{"/decide": true, "/decide?v=3": true, "/decide?v=3&config=false": false, "/decide/?config=true": true} {
			if got := strings.Contains(bodyText(t, call{target: target, body: simple}.do(s)), `"supportedCompression":["gzip","gzip-js","lz64","base64"]`); got != want {
				t.Errorf("%s: config %v, want %v", target, got, want)
			}
		}
	})
}
