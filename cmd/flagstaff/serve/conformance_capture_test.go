package serve

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"github.com/flagstaff-go/flagstaff/capture"
)

const (
	single = `{"api_key":"KEY","event":"e","distinct_id":"@a"}`
	batch  = `{"api_key":"KEY","batch":[{"event":"e","distinct_id":"@a"},{"event":"e","distinct_id":"@b"}],"sent_at":"2026-01-02T03:04:05Z"}`

	form = "application/x-www-form-urlencoded"
)

// captureRows are the table "Capture v0".
var captureRows = []row{
	{"C01", "/i/v0/e/", accepts(1, request{path: "/i/v0/e/", body: single})},
	{"C02", "/i/v0/e", accepts(1, request{path: "/i/v0/e", body: single})},
	{"C03", "/e/", accepts(1, request{path: "/e/", body: single})},
	{"C04", "/e", accepts(1, request{path: "/e", body: single})},
	{"C05", "/capture/", accepts(1, request{path: "/capture/", body: single})},
	{"C06", "/capture", accepts(1, request{path: "/capture", body: single})},
	{"C07", "/batch/", accepts(1, request{path: "/batch/", body: single})},
	{"C08", "/batch", accepts(1, request{path: "/batch", body: single})},
	{"C09", "/track/", accepts(1, request{path: "/track/", body: single})},
	{"C10", "/engage/", accepts(1, request{path: "/engage/", body: single})},
	{"C11", "a batch", accepts(2, request{path: "/batch/", body: batch})},
	{"C12", "an array", accepts(2, request{
		path: "/batch/", body: `[{"token":"KEY","event":"e","distinct_id":"@a"},{"token":"KEY","event":"e","distinct_id":"@b"}]`,
	})},
	{"C13", "spellings of the API key", acceptsEach(
		`{"api_key":"KEY","event":"e","distinct_id":"@a"}`, `{"token":"KEY","event":"e","distinct_id":"@a"}`,
		`{"$token":"KEY","event":"e","distinct_id":"@a"}`, `{"event":"e","distinct_id":"@a","properties":{"token":"KEY"}}`,
		`{"token":"KEY","batch":[{"event":"e","distinct_id":"@a"}]}`,
	)},
	{"C14", "spellings of the distinct ID", distinctIDs},
	{"C15", "gzip by its header", accepts(2, request{path: "/batch/", body: batch, encode: zip, header: []string{"Content-Encoding", "gzip"}})},
	{"C16", "gzip by query and header", accepts(2, request{path: "/batch/?compression=gzip", body: batch, encode: zip, header: []string{"Content-Encoding", "gzip"}})},
	{"C17", "gzip as text without a hint", accepts(1, request{body: single, encode: zip, header: []string{"Content-Type", "text/plain"}})},
	{"C18", "gzip-js as text", accepts(1, request{path: "/e/?compression=gzip-js&ver=1.236.7", body: single, encode: zip, header: []string{"Content-Type", "text/plain"}})},
	{"C19", "a form of base64 without a hint", accepts(1, request{path: "/e/?ip=1&_=1795220311000&ver=1.57.2", body: single, encode: base64Form(""), header: []string{"Content-Type", form}})},
	{"C20", "a form of base64 with a hint", accepts(1, request{path: "/e/", body: single, encode: base64Form("&compression=base64"), header: []string{"Content-Type", form}})},
	{"C21", "a form of lz64", accepts(1, request{
		path: "/e/?compression=lz64", body: single, encode: func(s string) string { return "data=" + url.QueryEscape(lz64(s)) }, header: []string{"Content-Type", form},
	})},
	{"C22", "lz64", accepts(1, request{path: "/e/?compression=lz64", body: single, encode: lz64, header: []string{"Content-Type", "text/plain"}})},
	{"C23", "base64 without a hint", accepts(1, request{body: single, encode: base64Of, header: []string{"Content-Type", "text/plain"}})},
	{"C24", "GET", func(t *testing.T, c *client) {
		data := url.QueryEscape(base64Of(c.text(single)))
		accepts(1, request{method: http.MethodGet, path: "/e/?data=" + data, header: []string{"Content-Type", ""}})(t, c)
	}},
	{"C25", "a beacon", func(t *testing.T, c *client) {
		r := c.do(t, request{path: "/e/?beacon=1", body: single})
		if r.status != http.StatusNoContent || r.body != "" {
			t.Errorf("answer %d %q, want 204 without a body", r.status, r.body)
		}
		r.checkCORS(t)
		c.one(t)
	}},
	{"C26", "JSON as text", accepts(1, request{body: single, header: []string{"Content-Type", "text/plain"}})},
	{"C27", "no content type", accepts(1, request{body: single, header: []string{"Content-Type", ""}})},
	{"C28", "unknown query parameters", accepts(1, request{path: "/i/v0/e/?retry_count=2&foo=bar&ver=1", body: single})},
	{"C29", "an import of old events", accepts(1, request{
		path: "/batch/", body: `{"api_key":"KEY","historical_migration":true,"batch":[{"event":"e","distinct_id":"@a","timestamp":"2020-01-02T03:04:05Z"}]}`,
	})},
	{"C30", "an empty body", refuses(http.StatusBadRequest, request{})},
	{"C31", "malformed JSON", refuses(http.StatusBadRequest, request{body: `{"api_key":"KEY","event":"e","distinct_id":`})},
	{"C32", "a scalar as body", refusesEach(http.StatusBadRequest, `"KEY"`, `17`, `1234`, `true`, `null`)},
	{"C33", "an empty batch", refuses(http.StatusBadRequest, request{path: "/batch/", body: `{"api_key":"KEY","batch":[]}`})},
	{"C34", "an empty array", refuses(http.StatusBadRequest, request{path: "/batch/", body: `[]`})},
	{"C35", "no API key", refusesEach(http.StatusUnauthorized,
		`{"event":"e","distinct_id":"@a"}`, `[{"token":"KEY","event":"e","distinct_id":"@a"},{"event":"e","distinct_id":"@b"}]`)},
	{"C36", "an empty API key", refusesEach(http.StatusUnauthorized, `{"api_key":"","event":"e","distinct_id":"@a"}`, `{"api_key":"  ","event":"e","distinct_id":"@a"}`)},
	{"C37", "a personal API key", refuses(http.StatusUnauthorized, request{body: `{"api_key":"phx_123","event":"e","distinct_id":"@a"}`})},
	{"C38", "a malformed API key", refusesEach(http.StatusUnauthorized,
		`{"api_key":"`+strings.Repeat("k", 65)+`","event":"e","distinct_id":"@a"}`,
		`{"api_key":"KEYé","event":"e","distinct_id":"@a"}`, `{"api_key":"KEY\u0000","event":"e","distinct_id":"@a"}`)},
	{"C39", "an unknown API key", refuses(http.StatusUnauthorized, request{body: `{"api_key":"phc_nobody","event":"e","distinct_id":"@a"}`})},
	{"C40", "two API keys", refuses(http.StatusUnauthorized, request{
		body: `[{"token":"KEY","event":"e","distinct_id":"@a"},{"token":"OTHER","event":"e","distinct_id":"@b"}]`,
	})},
	{"C41", "no event name", refusesEach(http.StatusBadRequest,
		`{"api_key":"KEY","distinct_id":"@a"}`, `{"api_key":"KEY","batch":[{"event":"e","distinct_id":"@a"},{"distinct_id":"@b"}]}`)},
	{"C42", "an empty event name", refuses(http.StatusBadRequest, request{body: `{"api_key":"KEY","event":"","distinct_id":"@a"}`})},
	{"C43", "no distinct ID", refusesEach(http.StatusBadRequest, `{"api_key":"KEY","event":"e"}`, `{"api_key":"KEY","event":"e","properties":{"a":1}}`)},
	{"C44", "a blank distinct ID", refusesEach(http.StatusBadRequest,
		`{"api_key":"KEY","event":"e","distinct_id":""}`, `{"api_key":"KEY","event":"e","distinct_id":" \t"}`, `{"api_key":"KEY","event":"e","distinct_id":null}`)},
	{"C45", "a long distinct ID", func(t *testing.T, c *client) {
		long := strings.Repeat("x", 300)
		c.capture(t, `{"api_key":"KEY","event":"e","distinct_id":"@`+long+`"}`)
		if got, want := c.one(t).DistinctID, c.id(long)[:200]; got != want {
			t.Errorf("distinct ID %q of %d bytes, want %q", got, len(got), want)
		}
	}},
	{"C46", "NUL", func(t *testing.T, c *client) {
		c.capture(t, `{"api_key":"KEY","event":"e","distinct_id":"@a\u0000b","properties":{"p":"x\u0000y","$set":{"plan":"pro","n":"x\u0000y"}}}`)
		e := c.one(t)
		if got := properties(t, e)["p"]; e.DistinctID != c.id("a\uFFFDb") || got != "x\x00y" {
			t.Errorf("event %+v, property %q", e, got)
		}
		if got := c.person(t, e.DistinctID)["n"]; got != "x\x00y" {
			t.Errorf("property of the person %q", got)
		}
		c.want(t, "flag-person", true, "a\uFFFDb")
	}},
	{"C47", "a batch with one bad event", func(t *testing.T, c *client) {
		refuses(http.StatusBadRequest, request{
			path: "/batch/", body: `{"api_key":"KEY","batch":[{"event":"$set","distinct_id":"@a","$set":{"plan":"pro"}},{"event":"e"}]}`,
		})(t, c)
		c.want(t, "flag-person", false, "a")
	}},
	{"C48", "UUIDs", func(t *testing.T, c *client) {
		refuses(http.StatusBadRequest, request{body: `{"api_key":"KEY","event":"e","distinct_id":"@a","uuid":"nope"}`})(t, c)
		accepts(1, request{body: `{"api_key":"KEY","event":"e","distinct_id":"@a","uuid":""}`})(t, c)
	}},
	{"C49", "invalid gzip", func(t *testing.T, c *client) {
		for _, body := range []string{"\x1f\x8b\x08 nonsense", zip(c.text(single))[:30]} {
			refuses(http.StatusBadRequest, request{body: body, header: []string{"Content-Encoding", "gzip"}})(t, c)
		}
		refuses(http.StatusBadRequest, request{body: "nonsense", header: []string{"Content-Encoding", "gzip"}})(t, c)
	}},
	{"C50", "JSON that is called a form", accepts(1, request{body: single, header: []string{"Content-Type", form}})},
	{"C51", "no properties", acceptsEach(single, `{"api_key":"KEY","event":"e","distinct_id":"@a","properties":null}`)},
	{"C52", "odd timestamps", oddTimestamps},
	{"C53", "CORS headers of an error", func(t *testing.T, c *client) {
		refuses(http.StatusBadRequest, request{body: `{"api_key":`})(t, c)
		r := c.do(t, request{body: `{"api_key":`})
		r.checkCORS(t)
	}},
	{"C54", "recordings", func(t *testing.T, c *client) {
		for _, path := range []string{"/s/", "/s"} {
			r := c.do(t, request{path: path, body: `[{"token":"KEY","event":"$snapshot","distinct_id":"@a","properties":{"$snapshot_data":[]}}]`})
			r.checkAccepted(t)
		}
		c.capture(t, `{"api_key":"KEY","event":"$snapshot","distinct_id":"@a"}`)
		if n := len(c.stored(t, 1)); n != 0 {
			t.Errorf("%d events are stored, want none", n)
		}
	}},
	{"C55", "a body over 20 MB", func(t *testing.T, c *client) {
		const tooLong = 20<<20 + 1
		// The client waits with the body until it is asked for.
		refuses(http.StatusRequestEntityTooLarge, request{stream: zeros(tooLong), length: tooLong, header: []string{"Expect", "100-continue"}})(t, c)
		if c.given != nil { // it costs, and does not get to the store
			// Nobody knows how long the body will be.
			refuses(http.StatusRequestEntityTooLarge, request{stream: zeros(tooLong), length: -1})(t, c)
		}
	}},
	{"C56", "a gzip bomb", func(t *testing.T, c *client) {
		refuses(http.StatusRequestEntityTooLarge, request{stream: strings.NewReader(bomb()), length: int64(len(bomb()))})(t, c)
	}},
}

// analyticsEvent is a good event.
const analyticsEvent = `{"event":"e","uuid":"<1>","distinct_id":"@a","timestamp":"2026-01-02T03:04:05Z","properties":{"n":1}}`

// analyticsRows are the table "Capture v1".
var analyticsRows = []row{
	{"V01", "a batch", func(t *testing.T, c *client) {
		c.analyticsOK(t, request{body: analyticsBatch(analyticsEvent)})
		e := c.one(t)
		if p := properties(t, e); e.UUID.String() != c.uuid("<1>") || e.Name != "e" || p["$lib"] != "posthog-node" || p["$lib_version"] != "5.70.0" || p["n"] != 1.0 {
			t.Errorf("stored: %+v, %s", e, e.Properties)
		}
	}},
	{"V02", "the request ID comes back", func(t *testing.T, c *client) {
		r := c.analyticsRequest(t, request{body: analyticsBatch(analyticsEvent)})
		if got := r.header.Get("PostHog-Request-Id"); got != requestID {
			t.Errorf("PostHog-Request-Id %q, want %q", got, requestID)
		}
	}},
	{"V03", "content encodings", func(t *testing.T, c *client) {
		for name, encode := range map[string]func(string) string{
			"gzip":    zip,
			"deflate": compressed(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
			"br":      compressed(func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) }),
			"zstd": compressed(func(w io.Writer) io.WriteCloser {
				z, err := zstd.NewWriter(w)
				if err != nil {
					panic(err) // there are no options that could be wrong
				}
				return z
			}),
		} {
			c.analyticsOK(t, request{body: analyticsBatch(analyticsEvent), encode: encode, header: []string{"Content-Encoding", name}})
		}
		c.one(t) // it was the same each time
	}},
	{"V04", "no authorization", refusesAnalytics(http.StatusUnauthorized, "missing_authorization", "", "Authorization", "")},
	{"V05", "an unknown API key", refusesAnalytics(http.StatusUnauthorized, "invalid_api_token", "", "Authorization", "Bearer phc_nobody")},
	{"V06", "a missing header", func(t *testing.T, c *client) {
		for _, name := range []string{
			"PostHog-Sdk-Info", "PostHog-Attempt", "PostHog-Request-Id", "PostHog-Request-Timestamp", "Content-Type", "User-Agent",
		} {
			refusesAnalytics(http.StatusBadRequest, "missing_required_headers", "", name, "")(t, c)
		}
	}},
	{"V07", "a wrong content type", refusesAnalytics(http.StatusUnsupportedMediaType, "unsupported_content_type", "", "Content-Type", "text/plain")},
	{"V08", "an unknown content encoding", refusesAnalytics(http.StatusUnsupportedMediaType, "unsupported_encoding", "", "Content-Encoding", "lzma")},
	{"V09", "a bad header", func(t *testing.T, c *client) {
		for name, value := range map[string]string{"PostHog-Request-Id": "x", "PostHog-Attempt": "0", "PostHog-Request-Timestamp": "yesterday"} {
			refusesAnalytics(http.StatusBadRequest, "invalid_header_value", "", name, value)(t, c)
		}
	}},
	{"V10", "nothing", func(t *testing.T, c *client) {
		refusesAnalytics(http.StatusBadRequest, "empty_batch", analyticsBatch())(t, c)
		r := c.analyticsRequest(t, request{})
		checkAnalyticsRefused(t, r, http.StatusBadRequest, "empty_body")
	}},
	{"V11", "bad UUIDs", func(t *testing.T, c *client) {
		for tag, batch := range map[string]string{
			"missing_event_uuid":   analyticsBatch(analyticsEvent, `{"event":"e","distinct_id":"@b","timestamp":"2026-01-02T03:04:05Z"}`),
			"invalid_event_uuid":   analyticsBatch(analyticsEvent, `{"event":"e","uuid":"x","distinct_id":"@b","timestamp":"2026-01-02T03:04:05Z"}`),
			"duplicate_event_uuid": analyticsBatch(analyticsEvent, analyticsEvent),
		} {
			refusesAnalytics(http.StatusBadRequest, tag, batch)(t, c)
		}
	}},
	{"V12", "one good event and five bad ones", oneGoodEvent},
	{"V13", "malformed JSON", refusesAnalytics(http.StatusBadRequest, "request_parsing_error", `{"batch":`)},
	{"V14", "a distinct ID that is nobody's", func(t *testing.T, c *client) {
		r := c.analyticsRequest(t, request{body: analyticsBatch(
			`{"event":"@e","uuid":"<1>","distinct_id":"undefined","timestamp":"2026-01-02T03:04:05Z","properties":{"$set":{"plan":"pro"}}}`)})
		c.checkResults(t, r, map[string]string{"<1>": "warning person_processing_disabled"})
		if got := c.flagsOf(t, "/flags?v=2", "undefined", "")["flag-person"]; got != false {
			t.Errorf("flag-person = %v, want false", got)
		}
	}},
	{"V15", "with a slash at the end", func(t *testing.T, c *client) {
		c.analyticsOK(t, request{path: "/i/v1/analytics/events/", body: analyticsBatch(analyticsEvent)})
		c.one(t)
	}},
	{"V16", "events of models stay on the older form", accepts(1, request{
		path: "/i/v0/ai/batch/", body: `{"api_key":"KEY","batch":[{"event":"$ai_generation","distinct_id":"@a","properties":{"$ai_model":"m"}}]}`,
	})},
}

// originRows are what the table "CORS and methods" says about the routes for
// events and flags.
var originRows = []row{
	{"X01", "preflight of /i/v0/e/", preflight("/i/v0/e/", "content-type")},
	{"X02", "preflight of /e/", preflight("/e/", "content-type")},
	{"X03", "preflight of /batch/", preflight("/batch/", "content-type")},
	{"X04", "preflight of /s/", preflight("/s/", "content-type")},
	{"X05", "preflight of /flags/", preflight("/flags/", "content-type")},
	{"X09", "headers of a preflight", preflight("/i/v0/e/", "content-type, x-custom, x-posthog-session-id")},
	{"X10", "the origin of a POST", func(t *testing.T, c *client) {
		r := c.do(t, request{body: single})
		if r.header.Get("Access-Control-Allow-Origin") != origin || r.header.Get("Access-Control-Allow-Credentials") != "true" {
			t.Errorf("%v", r.header)
		}
	}},
	{"X11", "Vary of a POST", func(t *testing.T, c *client) {
		if r := c.do(t, request{body: single}); !strings.Contains(r.header.Get("Vary"), "Origin") {
			t.Errorf("Vary %q", r.header.Get("Vary"))
		}
	}},
	{"X12", "preflight of /i/v1/analytics/events", preflight("/i/v1/analytics/events",
		"authorization, content-type, posthog-attempt, posthog-request-id, posthog-request-timestamp, posthog-sdk-info")},
	{"X13", "methods that there are not", func(t *testing.T, c *client) {
		for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
			r := c.do(t, request{method: method, path: "/e/", body: single})
			r.checkRefused(t, http.StatusMethodNotAllowed)
			if got := r.header.Get("Allow"); !strings.Contains(got, "POST") {
				t.Errorf("Allow %q", got)
			}
		}
		r := c.do(t, request{method: http.MethodGet, path: "/i/v1/analytics/events"})
		checkAnalyticsRefused(t, r, http.StatusMethodNotAllowed, "method_not_allowed")
	}},
	{"X14", "no redirects", func(t *testing.T, c *client) {
		for _, path := range []string{"/e", "/e/", "/flags", "/flags/", "/batch", "/batch/"} {
			if r := c.do(t, request{path: path, body: single}); r.status != http.StatusOK {
				t.Errorf("%s: status %d", path, r.status)
			}
		}
	}},
}

// accepts returns a test that so many events of a request are stored.
func accepts(n int, r request) func(*testing.T, *client) {
	return func(t *testing.T, c *client) {
		t.Helper()
		answer := c.do(t, r)
		answer.checkAccepted(t)
		if got := len(c.stored(t, 1)); got != n {
			t.Errorf("%d events are stored, want %d", got, n)
		}
	}
}

func acceptsEach(bodies ...string) func(*testing.T, *client) {
	return func(t *testing.T, c *client) {
		for i, body := range bodies {
			accepts(i+1, request{body: body})(t, c)
		}
	}
}

// refuses returns a test that nothing of a request is stored.
func refuses(status int, r request) func(*testing.T, *client) {
	return func(t *testing.T, c *client) {
		t.Helper()
		answer := c.do(t, r)
		answer.checkRefused(t, status)
		c.checkNothing(t)
	}
}

func refusesEach(status int, bodies ...string) func(*testing.T, *client) {
	return func(t *testing.T, c *client) {
		for _, body := range bodies {
			refuses(status, request{body: body})(t, c)
		}
	}
}

func (c *client) checkNothing(t *testing.T) {
	t.Helper()
	if n := len(c.stored(t, 1)) + len(c.stored(t, 2)); n != 0 {
		t.Errorf("%d events are stored, want none", n)
	}
}

func distinctIDs(t *testing.T, c *client) {
	for _, tt := range []struct{ members, want string }{
		{`"distinct_id":"@1"`, c.id("1")},
		{`"$distinct_id":"@2"`, c.id("2")},
		{`"properties":{"distinct_id":"@3"}`, c.id("3")},
		{`"distinct_id":null,"properties":{"distinct_id":"@4"}`, c.id("4")},
		{`"distinct_id":140014`, "140014"},
	} {
		before := len(c.all(t, 1))
		c.capture(t, `{"api_key":"KEY","event":"@e",`+tt.members+`}`)
		var got []string
		for _, e := range c.all(t, 1) {
			if e.Name == c.id("e") && e.DistinctID == tt.want {
				got = append(got, e.DistinctID)
			}
		}
		if after := len(c.all(t, 1)); len(got) != 1 || after != before+1 {
			t.Errorf("%s: %d events more, %q, want one of %q", tt.members, after-before, got, tt.want)
		}
	}
}

func oddTimestamps(t *testing.T, c *client) {
	at := func(s string) time.Time {
		u, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for i, tt := range []struct {
		timestamp string
		want      time.Time // zero: the time of arrival
	}{
		{"2026-01-02", at("2026-01-02T00:00:00Z")},
		{"2026-01-02T03:04:05+03", at("2026-01-02T00:04:05Z")},
		{"2026-01-02T03:04:05+03:00", at("2026-01-02T00:04:05Z")},
		{"2026-01-02T03:04:05.123456789Z", at("2026-01-02T03:04:05.123456Z")},
		{"2026-01-02T03:04:05", at("2026-01-02T03:04:05Z")},
		{"2026-01-02 03:04:05.5", at("2026-01-02T03:04:05.5Z")},
		{"garbage", time.Time{}},
		{"", time.Time{}},
	} {
		id := fmt.Sprint(i)
		c.event(t, "e", id, fmt.Sprintf(`"timestamp":%q`, tt.timestamp))
		list := c.of(t, id)
		if len(list) != 1 {
			t.Fatalf("%d events are stored, want 1", len(list))
		}
		want := tt.want
		if want.IsZero() {
			want = list[0].Received
		}
		if !list[0].Time.Equal(want) {
			t.Errorf("timestamp %q: stored %v, want %v", tt.timestamp, list[0].Time, want)
		}
	}
}

func preflight(path, headers string) func(*testing.T, *client) {
	return func(t *testing.T, c *client) {
		r := c.do(t, request{method: http.MethodOptions, path: path, header: []string{
			"Content-Type", "", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", headers,
		}})
		if r.status != http.StatusNoContent && r.status != http.StatusOK || r.body != "" {
			t.Errorf("status %d, body %q", r.status, r.body)
		}
		r.checkCORS(t)
		if got := r.header.Get("Access-Control-Allow-Headers"); got != headers {
			t.Errorf("Access-Control-Allow-Headers %q, want %q", got, headers)
		}
		if got := r.header.Get("Access-Control-Allow-Methods"); !strings.Contains(got, "POST") {
			t.Errorf("Access-Control-Allow-Methods %q", got)
		}
	}
}

// requestID is the ID of requests to /i/v1/analytics/events.
const requestID = "01a1fb72-4952-7af7-a165-3e5ec48ee45e"

func analyticsBatch(events ...string) string {
	return `{"created_at":"2026-01-02T03:04:05Z","batch":[` + strings.Join(events, ",") + `]}`
}

// analyticsRequest sends a request to /i/v1/analytics/events, with the headers
// that SDKs send unless r has others.
func (c *client) analyticsRequest(t *testing.T, r request) response {
	t.Helper()
	if r.path == "" {
		r.path = "/i/v1/analytics/events"
	}
	r.header = append([]string{
		"Authorization", "Bearer KEY", "PostHog-Sdk-Info", "posthog-node/5.70.0", "PostHog-Attempt", "1", "PostHog-Request-Id", requestID,
		"PostHog-Request-Timestamp", "2026-01-02T03:04:05Z", "User-Agent", "posthog-node/5.70.0",
	}, r.header...)
	return c.do(t, r)
}

func (c *client) analytics(t *testing.T, body string) response {
	t.Helper()
	return c.analyticsRequest(t, request{body: body})
}

// analyticsOK checks that the event with the UUID <1> is stored.
func (c *client) analyticsOK(t *testing.T, r request) {
	t.Helper()
	c.checkResults(t, c.analyticsRequest(t, r), map[string]string{"<1>": "ok"})
}

// checkResults checks what became of the events, by the names of their UUIDs: the
// result and, after a blank, details.
func (c *client) checkResults(t *testing.T, r response, want map[string]string) {
	t.Helper()
	var answer struct {
		Results map[string]struct{ Result, Details string }
	}
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil || r.status != http.StatusOK || r.header.Get("Content-Type") != "application/json" {
		t.Fatalf("answer %d, %q: %q", r.status, r.header.Get("Content-Type"), r.body)
	}
	r.checkCORS(t)
	got := make(map[string]string)
	for id, result := range answer.Results {
		got[id] = strings.TrimSpace(result.Result + " " + result.Details)
	}
	named := make(map[string]string)
	for name, result := range want {
		named[c.uuid(name)] = result
	}
	if diff := gocmp.Diff(named, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

// checkAnalyticsRefused checks an error.
func checkAnalyticsRefused(t *testing.T, r response, status int, tag string) {
	t.Helper()
	var e map[string]string
	err := json.Unmarshal([]byte(r.body), &e)
	if err != nil || r.status != status || r.header.Get("Content-Type") != "application/json" ||
		e["error"] != tag || e["error_description"] == "" || e["error_uri"] == "" {
		t.Errorf("answer %d, %q: %q; want %d and %q", r.status, r.header.Get("Content-Type"), r.body, status, tag)
	}
	r.checkCORS(t)
}

// refusesAnalytics returns a test that nothing of a request is stored. An empty
// body: the body of a good event.
func refusesAnalytics(status int, tag, body string, header ...string) func(*testing.T, *client) {
	return func(t *testing.T, c *client) {
		t.Helper()
		r := request{body: body, header: header}
		if body == "" {
			r.body = analyticsBatch(analyticsEvent)
		}
		checkAnalyticsRefused(t, c.analyticsRequest(t, r), status, tag)
		c.checkNothing(t)
	}
}

func oneGoodEvent(t *testing.T, c *client) {
	event := func(uuid, name, id, timestamp string) string {
		return fmt.Sprintf(`{"event":%q,"uuid":%q,"distinct_id":%q,"timestamp":%q}`, name, uuid, id, timestamp)
	}
	const good = "2026-01-02T03:04:05Z"
	r := c.analytics(t, analyticsBatch(
		event("<1>", "e", "@a", good), event("<2>", "", "@a", good), event("<3>", strings.Repeat("n", capture.MaxName+1), "@a", good),
		event("<4>", "e", "", good), event("<5>", "e", "@"+strings.Repeat("i", capture.MaxID), good), event("<6>", "e", "@a", "yesterday"),
	))
	c.checkResults(t, r, map[string]string{
		"<1>": "ok", "<2>": "drop missing_event_name", "<3>": "drop event_name_too_long",
		"<4>": "drop missing_distinct_id", "<5>": "drop distinct_id_too_large", "<6>": "drop invalid_event_timestamp",
	})
	if e := c.one(t); e.UUID != uuid.MustParse(c.uuid("<1>")) {
		t.Errorf("stored: %+v", e)
	}
}

// The encodings of bodies.

func compressed(open func(io.Writer) io.WriteCloser) func(string) string {
	return func(s string) string {
		var b bytes.Buffer
		w := open(&b)
		if _, err := io.WriteString(w, s); err != nil {
			panic(err) // a Buffer takes everything
		}
		if err := w.Close(); err != nil {
			panic(err)
		}
		return b.String()
	}
}

var zip = compressed(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })

func base64Of(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func base64Form(more string) func(string) string {
	return func(s string) string { return "data=" + url.QueryEscape(base64Of(s)) + more }
}

// zeros is a reader of so many bytes.
func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// bomb is gzip, in many members, of more than the 50 MiB that events may have.
var bomb = sync.OnceValue(func() string { return strings.Repeat(zip(strings.Repeat("\x00", 1<<20)), 51) })
