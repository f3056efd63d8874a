package foreign_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/cmd/internal/foreign"
	"github.com/flagstaff-go/flagstaff/flags"
)

// ada has a property of each type that every product takes.
func ada() *flags.Request {
	return &flags.Request{DistinctID: "ada", PersonProperties: map[string]any{"plan": "pro", "age": json.Number("41")}}
}

func with(r *flags.Request, name string, v any) *flags.Request {
	r.PersonProperties[name] = v
	return r
}

// asked is what a server sees of a request.
type asked struct {
	Line   string // method, path and query, decoded
	Header map[string]string
	Body   any
}

// headersRead are the headers that products read, besides the headers of the connection.
var headersRead = []string{"Authorization", "X-Api-Key", "X-Flipt-Namespace", "X-Configcat-Sdkid", "X-Configcat-Sdkkey", "Content-Type", "User-Agent"}

func seen(t *testing.T, r *http.Request) (a asked) {
	t.Helper()
	query, err := url.QueryUnescape(r.URL.RawQuery)
	if err != nil {
		t.Error(err)
	}
	path := r.URL.EscapedPath()
	if before, context, ok := strings.Cut(path, "/contexts/"); ok {
		text, err := base64.RawURLEncoding.DecodeString(context)
		if err != nil {
			t.Error(err)
		}
		path = before + "/contexts/" + string(text)
	}
	a.Line = strings.TrimSuffix(r.Method+" "+path+"?"+query, "?")
	for _, name := range headersRead {
		if v := r.Header.Get(name); v != "" {
			if a.Header == nil {
				a.Header = make(map[string]string)
			}
			a.Header[name] = v
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &a.Body); err != nil {
			t.Errorf("%v in %s", err, body)
		}
	}
	return a
}

func ofrep(context map[string]any) any { return map[string]any{"context": context} }

type object = map[string]any

// The answers have the shapes that these public sources write: the handlers of flagd
// (core/pkg/service/ofrep/models.go), of GO Feature Flag (cmd/relayproxy/ofrep/evaluate.go and its
// testdata), of Flipt (internal/server/evaluation/ofrep_bridge.go) and of ConfigCat's proxy
// (web/ofrep/ofrep.go); Unleash (frontend-api.e2e.test.ts); LaunchDarkly's Relay Proxy
// (relay/relay_endpoints.go); GrowthBook's proxy (packages/lib/eval/src/index.ts).
func TestValues(t *testing.T) {
	t.Parallel()
	plus := func(more map[string]string) map[string]string {
		all := map[string]string{"User-Agent": "test"}
		maps.Copy(all, more)
		return all
	}
	sent := plus(map[string]string{"Content-Type": "application/json"})
	for _, tt := range []struct {
		name    string
		config  foreign.Config
		subject *flags.Request
		want    asked
		answer  string
		values  map[string]string
	}{
		{
			"flagd",
			foreign.Config{From: "flagd"},
			with(ada(), "list", []any{"a", true, nil}),
			asked{
				"POST /ofrep/v1/evaluate/flags", sent,
				ofrep(object{"targetingKey": "ada", "distinct_id": "ada", "plan": "pro", "age": 41.0, "list": []any{"a", true, nil}}),
			},
			`{"flags":[
				{"value":true,"key":"on","reason":"TARGETING_MATCH","variant":"on","metadata":{"flagSetId":"x"}},
				{"value":{"a":[1,2]},"key":"object","reason":"STATIC","variant":"one","metadata":{}},
				{"key":"code-default","reason":"DEFAULT","metadata":{}},
				{"key":"broken","errorCode":"PARSE_ERROR","errorDetails":"error parsing the flag ` + "`broken`" + `","metadata":{}},
				{"key":"disabled","errorCode":"FLAG_NOT_FOUND","errorDetails":"flag ` + "`disabled`" + ` is disabled","metadata":{}}],"metadata":{}}`,
			map[string]string{"on": "true", "object": `{"a":[1,2]}`, "code-default": "null", "broken": "null"},
		},
		{
			"GO Feature Flag",
			foreign.Config{From: "go-feature-flag", Key: "apikey1", Attributes: map[string]string{"mail": "email", "plan": "tier", "who": "distinct_id"}},
			with(ada(), "email", "a@b.example"),
			asked{
				"POST /ofrep/v1/evaluate/flags",
				plus(map[string]string{"Authorization": "Bearer apikey1", "Content-Type": "application/json"}),
				ofrep(object{"targetingKey": "ada", "distinct_id": "ada", "who": "ada", "age": 41.0, "email": "a@b.example", "mail": "a@b.example"}),
			},
			`{"flags":[
				{"key":"disable-flag","value":null,"reason":"DISABLED","variant":""},
				{"key":"flag-only-for-admin","value":false,"reason":"DEFAULT","variant":"Default"},
				{"key":"number-flag","value":1,"reason":"DEFAULT","variant":"Default"},
				{"key":"no-bucket","value":null,"reason":"ERROR","variant":"SdkDefault","errorCode":"TARGETING_KEY_MISSING","errorDetails":"Error: Empty bucketing key"}]}`,
			map[string]string{"disable-flag": "null", "flag-only-for-admin": "false", "number-flag": "1", "no-bucket": "null"},
		},
		{
			"Flipt",
			foreign.Config{From: "flipt", Key: "token", Environment: "shop", Types: map[string]string{"bool": "boolean", "text": "string", "a": "object", "b": "object", "none": "object", "nobody": "string"}},
			with(with(ada(), "beta", true), "nothing", nil),
			asked{
				"POST /ofrep/v1/evaluate/flags",
				plus(map[string]string{"Authorization": "Bearer token", "X-Flipt-Namespace": "shop", "Content-Type": "application/json"}),
				ofrep(object{"targetingKey": "ada", "distinct_id": "ada", "plan": "pro", "age": "41", "beta": "true"}),
			},
			`{"flags":[
				{"key":"bool","reason":"DEFAULT","variant":"false","metadata":null,"value":false},
				{"key":"text","reason":"TARGETING_MATCH","variant":"blue","metadata":{"segments":"all"},"value":"blue"},
				{"key":"a","reason":"TARGETING_MATCH","variant":"x","metadata":{"attachment":"{\"hex\": \"#00f\"}","segments":"all"},"value":"x"},
				{"key":"b","reason":"TARGETING_MATCH","variant":"y","metadata":{},"value":"y"},
				{"key":"none","reason":"UNKNOWN","variant":"","metadata":{},"value":""},
				{"key":"nobody","reason":"UNKNOWN","variant":"","metadata":{},"value":""}]}`,
			map[string]string{"bool": "false", "text": `"blue"`, "a": `{"key":"x","attachment":{"hex": "#00f"}}`, "b": `{"key":"y"}`, "none": "null", "nobody": "null"},
		},
		{
			"ConfigCat",
			foreign.Config{From: "configcat", Key: "secret", Environment: "sdk1"},
			with(with(ada(), "roles", []any{"a", "b"}), "nothing", nil),
			asked{
				"POST /ofrep/v1/evaluate/flags",
				plus(map[string]string{"Authorization": "Bearer secret", "X-Api-Key": "secret", "X-Configcat-Sdkid": "sdk1", "Content-Type": "application/json"}),
				ofrep(object{"targetingKey": "ada", "distinct_id": "ada", "plan": "pro", "age": 41.0, "roles": []any{"a", "b"}}),
			},
			`{"flags":[{"key":"flag","reason":"DEFAULT","variant":"v_flag","value":true},{"key":"rate","reason":"TARGETING_MATCH","variant":"v0_rate","value":3.14},
				{"key":"circle","errorCode":"GENERAL","errorDetails":"circular dependency"}]}`,
			map[string]string{"flag": "true", "rate": "3.14", "circle": "null"},
		},
		{
			"ConfigCat by its key",
			foreign.Config{From: "configcat", Key: "configcat-sdk-1/a/b"},
			ada(),
			asked{
				"POST /ofrep/v1/evaluate/flags",
				plus(map[string]string{"X-Configcat-Sdkkey": "configcat-sdk-1/a/b", "Content-Type": "application/json"}),
				ofrep(object{"targetingKey": "ada", "distinct_id": "ada", "plan": "pro", "age": 41.0}),
			},
			`{"flags":[]}`,
			map[string]string{},
		},
		{
			"Unleash",
			foreign.Config{From: "unleash", Key: "*:dev.abc", Types: map[string]string{"enabledFeature1": "boolean", "off": "boolean", "text": "string", "none": "string", "object": "object", "bare": "object", "gone": "object"}},
			with(with(ada(), "sessionId", "s1"), "beta", true),
			asked{
				"GET /api/frontend?properties[age]=41&properties[beta]=true&properties[distinct_id]=ada&properties[plan]=pro&sessionId=s1&userId=ada",
				plus(map[string]string{"Authorization": "*:dev.abc"}), nil,
			},
			`{"toggles":[
				{"name":"enabledFeature1","enabled":true,"impressionData":false,"variant":{"enabled":false,"name":"disabled","feature_enabled":true,"featureEnabled":true}},
				{"name":"text","enabled":true,"impressionData":false,"variant":{"name":"blue","enabled":true,"feature_enabled":true,"featureEnabled":true}},
				{"name":"none","enabled":true,"impressionData":false,"variant":{"enabled":false,"name":"disabled","feature_enabled":true,"featureEnabled":true}},
				{"name":"object","enabled":true,"impressionData":false,"variant":{"name":"red","payload":{"type":"json","value":"{\"a\":1}"},"enabled":true,"feature_enabled":true,"featureEnabled":true}},
				{"name":"bare","enabled":true,"impressionData":true,"variant":{"name":"disabled","enabled":false,"feature_enabled":true,"featureEnabled":true}}]}`,
			map[string]string{
				"enabledFeature1": "true", "off": "false", "text": `"blue"`, "none": `"disabled"`, "gone": "null", "bare": `{"name":"disabled"}`,
				"object": `{"name":"red","payload":{"type":"json","value":"{\"a\":1}"}}`,
			},
		},
		{
			"Unleash by another ID",
			foreign.Config{From: "unleash", Key: "k", Attributes: map[string]string{"userId": "account"}},
			with(ada(), "account", 7),
			asked{
				"GET /api/frontend?properties[account]=7&properties[age]=41&properties[distinct_id]=ada&properties[plan]=pro&userId=7",
				plus(map[string]string{"Authorization": "k"}), nil,
			},
			`{"toggles":[]}`,
			map[string]string{},
		},
		{
			"LaunchDarkly",
			foreign.Config{From: "launchdarkly", Environment: "5f0c"},
			with(with(ada(), "kind", "x"), "name", nil),
			asked{
				`GET /sdk/evalx/5f0c/contexts/{"age":41,"distinct_id":"ada","key":"ada","kind":"user","plan":"pro"}`, plus(nil), nil,
			},
			`{"new":{"value":true,"variation":0,"version":5,"trackEvents":true},"off":{"value":null,"variation":null,"version":2},"json":{"value":{"a":1},"variation":1,"version":1,"prerequisites":["new"]}}`,
			map[string]string{"new": "true", "off": "null", "json": `{"a":1}`},
		},
		{
			"LaunchDarkly with a group",
			foreign.Config{From: "launchdarkly", Environment: "5f0c"},
			&flags.Request{DistinctID: "ada", Groups: map[string]string{"org": "acme", "no kind": "x"}, GroupProperties: map[string]map[string]any{"org": {"seats": 5}}},
			asked{
				`GET /sdk/evalx/5f0c/contexts/{"kind":"multi","org":{"key":"acme","seats":5},"user":{"distinct_id":"ada","key":"ada"}}`, plus(nil), nil,
			},
			`{}`,
			map[string]string{},
		},
		{
			"LaunchDarkly with a group alone",
			foreign.Config{From: "launchdarkly", Key: "5f0c"},
			&flags.Request{Groups: map[string]string{"org": "acme"}},
			asked{`GET /sdk/evalx/5f0c/contexts/{"key":"acme","kind":"org"}`, plus(nil), nil},
			`{}`,
			map[string]string{},
		},
		{
			"GrowthBook",
			foreign.Config{From: "growthbook", Key: "sdk-1/2"},
			ada(),
			asked{
				"POST /api/eval/sdk-1%2F2", sent,
				object{"attributes": object{"id": "ada", "distinct_id": "ada", "plan": "pro", "age": 41.0}},
			},
			`{"features":{
				"on":{"defaultValue":true},
				"none":{"defaultValue":null},
				"tested":{"defaultValue":"b","rules":[{"force":"b","tracks":[{"experiment":{"key":"e","variations":[{},"b"]},"result":{"variationId":1,"inExperiment":true,"value":"b"}}]}]}},
				"experiments":[],"dateUpdated":"2026-11-01T00:00:00.000Z"}`,
			map[string]string{"on": "true", "none": "null", "tested": `"b"`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got asked
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = seen(t, r)
				_, _ = io.WriteString(w, tt.answer)
			}))
			t.Cleanup(server.Close)
			tt.config.URL, tt.config.UserAgent = server.URL+"/", "test"
			client, err := foreign.New(tt.config)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := client.Values(t.Context(), tt.subject)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("request (-want +got)\n%s", diff)
			}
			values := make(map[string]string)
			for key, v := range raw {
				values[key] = string(v)
			}
			if diff := cmp.Diff(tt.values, values); diff != "" {
				t.Errorf("values (-want +got)\n%s", diff)
			}
		})
	}
}

// TestUnaskable: products refuse such subjects, or would see others.
func TestUnaskable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		config  foreign.Config
		subject *flags.Request
		want    string
	}{
		{foreign.Config{From: "go-feature-flag"}, &flags.Request{}, "go-feature-flag wants a targeting key"},
		{foreign.Config{From: "flipt"}, with(ada(), "list", []any{1}), `attributes are texts there, and "list" is a list`},
		{foreign.Config{From: "flipt"}, with(ada(), "f", func() {}), `"f" cannot be written as JSON: json: unsupported type: func()`},
		{foreign.Config{From: "flagd"}, with(ada(), "f", func() {}), `"f" cannot be written as JSON: json: unsupported type: func()`},
		{foreign.Config{From: "configcat", Environment: "e"}, with(ada(), "beta", true), `attributes are texts, numbers and lists there, and "beta" is true or false`},
		{foreign.Config{From: "configcat", Environment: "e"}, with(ada(), "list", []any{1}), `lists are of texts there, and "list" is not`},
		{foreign.Config{From: "unleash", Key: "k"}, with(ada(), "o", object{}), `attributes are texts there, and "o" is an object`},
		{foreign.Config{From: "unleash", Key: "k"}, with(ada(), "currentTime", "2026-01-01T00:00:00Z"), "the frontend API takes no currentTime"},
		{foreign.Config{From: "unleash", Key: "k"}, with(ada(), "a[b]", "c"), `the frontend API takes no property with brackets in its name, such as "a[b]"`},
		{foreign.Config{From: "launchdarkly", Environment: "e"}, &flags.Request{}, "launchdarkly wants a key of the person or of a group"},
		{foreign.Config{From: "launchdarkly", Environment: "e"}, with(ada(), "name", 5), `the attribute "name" is text there, and here it is a number`},
		{foreign.Config{From: "launchdarkly", Environment: "e"}, with(ada(), "anonymous", "yes"), `the attribute "anonymous" is true or false there, and here it is text`},
		{foreign.Config{From: "launchdarkly", Environment: "e"}, with(ada(), "f", func() {}), `"f" cannot be written as JSON: json: unsupported type: func()`},
	} {
		tt.config.URL = "http://127.0.0.1:1" // nobody listens: a request would fail in another way
		client, err := foreign.New(tt.config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Values(t.Context(), tt.subject); !errors.Is(err, foreign.ErrUnaskable) || err.Error() != "cannot be asked about: "+tt.want {
			t.Errorf("%s: %v; want %s", tt.config.From, err, tt.want)
		}
	}
}

// TestComplete: what Unleash makes up for a request both sides get.
func TestComplete(t *testing.T) {
	t.Parallel()
	client, err := foreign.New(foreign.Config{From: "unleash", URL: "http://h", Key: "k", Attributes: map[string]string{"remoteAddress": "$ip"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ given, want map[string]any }{
		{nil, object{"sessionId": "session of ada", "$ip": "192.0.2.1"}},
		{object{"sessionId": "s", "$ip": nil, "a": 1}, object{"sessionId": "s", "$ip": "192.0.2.1", "a": 1}},
		{object{"sessionId": "", "$ip": "::1"}, object{"sessionId": "session of ada", "$ip": "::1"}},
	} {
		r := &flags.Request{DistinctID: "ada", PersonProperties: tt.given}
		before := fmt.Sprint(tt.given)
		if diff := cmp.Diff(tt.want, client.Complete(r).PersonProperties); diff != "" {
			t.Errorf("%v (-want +got)\n%s", tt.given, diff)
		}
		if after := fmt.Sprint(r.PersonProperties); after != before {
			t.Errorf("the subject itself was changed from %s to %s", before, after)
		}
	}
	if client, err = foreign.New(foreign.Config{From: "flagd", URL: "http://h"}); err != nil {
		t.Fatal(err)
	}
	if r := ada(); client.Complete(r) != r {
		t.Error("flagd adds something")
	}
}

// TestTries has what servers answer besides values, and how often and when they are asked again.
func TestTries(t *testing.T) {
	t.Parallel()
	const good = `{"features":{}}`
	type answer struct {
		status int
		after  string
		body   string
	}
	later := time.Now().Add(40 * time.Second)
	for _, tt := range []struct {
		name    string
		answers []answer // the last one again and again
		waits   []time.Duration
		want    string
		final   bool
	}{
		{"at once", []answer{{200, "", good}}, nil, "", false},
		{"after two", []answer{{503, "", ""}, {500, "", ""}, {200, "", good}}, []time.Duration{time.Second, 2 * time.Second}, "", false},
		{"in seconds", []answer{{429, "7", ""}, {200, "", good}}, []time.Duration{7 * time.Second}, "", false},
		{"at a time of HTTP", []answer{{429, later.UTC().Format(http.TimeFormat), ""}, {200, "", good}}, []time.Duration{40 * time.Second}, "", false},
		{"at a time of OFREP", []answer{{429, later.Format(time.RFC3339), ""}, {200, "", good}}, []time.Duration{40 * time.Second}, "", false},
		{"in an hour", []answer{{429, "3600", ""}}, nil, "HOST answered 429 Too Many Requests", false},
		{"never", []answer{{502, "", "<html>"}}, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}, "HOST answered 502 Bad Gateway", false},
		{"a bad subject", []answer{{400, "", `{"errorCode":"INVALID_CONTEXT","errorDetails":"no\nway with s3cret"}`}}, nil, "HOST answered 400 Bad Request: no way with …", false},
		{"a bad key", []answer{{401, "", `{"message":"who?"}`}}, nil, "HOST answered 401 Unauthorized: who?; the key is taken from FLAGSTAFF_FROM_KEY", true},
		{"another address", []answer{{404, "", `{"error":"no"}`}}, nil, "HOST answered 404 Not Found: no; is it the address of growthbook?", true},
		{"elsewhere", []answer{{302, "", ""}}, nil, "HOST sends the client elsewhere: give the address of growthbook itself", true},
		{"another thing", []answer{{200, "", `{"status":"ok"}`}}, nil, `the answer of HOST is not one of growthbook: it has no "features"; is it the address of growthbook?`, true},
		{"a page", []answer{{200, "", "<html>"}}, nil, "the answer of HOST is not one of growthbook: invalid character '<' looking for beginning of value; is it the address of growthbook?", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				a := tt.answers[min(asked, len(tt.answers)-1)]
				asked++
				if a.after != "" {
					w.Header().Set("Retry-After", a.after)
				}
				w.WriteHeader(a.status)
				_, _ = io.WriteString(w, a.body)
			}))
			t.Cleanup(server.Close)
			var waits []time.Duration
			client, err := foreign.New(foreign.Config{From: "growthbook", URL: server.URL, Key: "s3cret", Wait: func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Values(t.Context(), ada())
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), strings.TrimPrefix(server.URL, "http://"), "HOST")
			}
			failure, ok := errors.AsType[*foreign.Error](err)
			if got != tt.want || ok != (tt.want != "") || ok && failure.Final != tt.final {
				t.Errorf("%q, final %t; want %q, %t", got, ok && failure.Final, tt.want, tt.final)
			}
			if !slices.EqualFunc(waits, tt.waits, func(got, want time.Duration) bool {
				return got <= want && (got == want || want >= 40*time.Second && got > want-5*time.Second) // a time is one in whole seconds, and goes on
			}) {
				t.Errorf("waits %v, want %v", waits, tt.waits)
			}
		})
	}
}

// TestMalformed has answers that are not the product's.
func TestMalformed(t *testing.T) {
	t.Parallel()
	const form = "it is JSON of another form"
	for _, tt := range []struct {
		config foreign.Config
		answer string
		want   string
	}{
		{foreign.Config{From: "flagd"}, `{}`, `it has no "flags"`},
		{foreign.Config{From: "flipt"}, `{"flags":[{"key":1}]}`, form},
		{foreign.Config{From: "unleash", Key: "k"}, `{"version":2,"features":[]}`, `it has no "toggles"`},
		{foreign.Config{From: "unleash", Key: "k"}, `[]`, form},
		{foreign.Config{From: "launchdarkly", Environment: "e"}, `{"a":null}`, "a flag of it is null"},
		{foreign.Config{From: "launchdarkly", Environment: "e"}, `{"flags":[]}`, form},
		{foreign.Config{From: "growthbook", Key: "k"}, `{"features":{"a":true}}`, form},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.answer) }))
		tt.config.URL = server.URL
		client, err := foreign.New(tt.config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Values(t.Context(), ada())
		server.Close()
		want := fmt.Sprintf("the answer of %s is not one of %s: %s; is it the address of %[2]s?", strings.TrimPrefix(server.URL, "http://"), tt.config.From, tt.want)
		if failure, ok := errors.AsType[*foreign.Error](err); !ok || !failure.Final || err.Error() != want {
			t.Errorf("%s: %v, want %s", tt.answer, err, want)
		}
	}
}

// TestFitting: a random person loses what a product does not take.
func TestFitting(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		config foreign.Config
		want   []string // properties that are left
	}{
		{foreign.Config{From: "flagd"}, []string{"[x]", "anonymous", "currentTime", "list", "member", "name", "nothing", "plan"}},
		{foreign.Config{From: "flipt"}, []string{"[x]", "anonymous", "currentTime", "member", "name", "nothing", "plan"}},
		{foreign.Config{From: "unleash", Key: "k"}, []string{"anonymous", "member", "name", "nothing", "plan"}},
		{foreign.Config{From: "unleash", Key: "k", Attributes: map[string]string{"currentTime": "plan"}}, []string{"anonymous", "currentTime", "member", "name", "nothing"}},
		{foreign.Config{From: "launchdarkly", Environment: "e"}, []string{"[x]", "currentTime", "list", "member", "nothing", "plan"}},
		{foreign.Config{From: "configcat", Environment: "e"}, []string{"[x]", "anonymous", "currentTime", "name", "nothing", "plan"}},
	} {
		tt.config.URL = "http://h"
		client, err := foreign.New(tt.config)
		if err != nil {
			t.Fatal(err)
		}
		given := map[string]any{"plan": "pro", "currentTime": "2026-01-01", "[x]": "y", "list": []any{1}, "member": true, "anonymous": "no", "name": 7, "nothing": nil}
		r := &flags.Request{DistinctID: "ada", PersonProperties: given, Groups: map[string]string{"org": "acme"}, GroupProperties: map[string]map[string]any{"org": {"name": 1, "seats": 2}}}
		fitting := client.Fitting(r)
		if diff := cmp.Diff(tt.want, slices.Sorted(maps.Keys(fitting.PersonProperties))); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", tt.config, diff)
		}
		if got := len(fitting.GroupProperties["org"]); got != 2 && tt.config.From != "launchdarkly" || got == 2 && tt.config.From == "launchdarkly" {
			t.Errorf("%s: the group has %v", tt.config.From, fitting.GroupProperties)
		}
		if len(given) != 8 || len(r.GroupProperties["org"]) != 2 {
			t.Errorf("%s: the subject itself was changed", tt.config.From)
		}
	}
}

// TestNoAnswer: nobody listens, or does not answer in time. The error does not have the key, which
// is a part of the address.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-held }))
	t.Cleanup(func() { close(held); silent.Close() })
	for _, address := range []string{"http://127.0.0.1:1", silent.URL} {
		tries := 0
		client, err := foreign.New(foreign.Config{
			From: "growthbook", URL: address, Key: "s3cret", HTTP: &http.Client{Timeout: 50 * time.Millisecond},
			Wait: func(context.Context, time.Duration) error { tries++; return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Values(t.Context(), ada())
		if err == nil || !strings.Contains(err.Error(), " does not answer: ") || strings.Contains(err.Error(), "s3cret") || tries != 3 {
			t.Errorf("%s: %v after %d waits", address, err, tries)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	client, err := foreign.New(foreign.Config{From: "flagd", URL: "http://127.0.0.1:1", Wait: func(ctx context.Context, _ time.Duration) error { stop(); return ctx.Err() }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Values(ctx, ada()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v after the end of the context", err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	const address = "the address must be such as https://flags.example.com, without user, query and fragment"
	for _, tt := range []struct {
		config foreign.Config
		want   string
	}{
		{foreign.Config{From: "flagd", URL: "https://flags.example.com/flagd"}, ""},
		{foreign.Config{From: "split", URL: "https://h"}, `there is no product "split": want one of launchdarkly, unleash, go-feature-flag, flipt, flagd, growthbook, configcat`},
		{foreign.Config{From: "flagd", URL: "h:8016"}, address},
		{foreign.Config{From: "flagd", URL: "https://u:p@h"}, address},
		{foreign.Config{From: "flagd", URL: "https://h?a=b"}, address},
		{foreign.Config{From: "flagd", URL: "https://h", Environment: "e"}, "flagd is not asked for an environment"},
		{foreign.Config{From: "launchdarkly", URL: "https://h"}, "launchdarkly needs the client-side ID of the environment, in FLAGSTAFF_FROM_KEY or by -environment"},
		{foreign.Config{From: "launchdarkly", URL: "https://h", Key: "5f0c"}, ""},
		{foreign.Config{From: "launchdarkly", URL: "https://h", Key: "sdk-1"}, "launchdarkly needs the client-side ID of the environment, and the key is one of SDKs on servers or phones"},
		{foreign.Config{From: "launchdarkly", URL: "https://h", Key: "sdk-1", Environment: "5f0c"}, ""},
		{foreign.Config{From: "configcat", URL: "https://h"}, "configcat needs the SDK key in FLAGSTAFF_FROM_KEY, or the SDK identifier of the proxy by -environment"},
		{foreign.Config{From: "unleash", URL: "https://h"}, "unleash needs a frontend token in FLAGSTAFF_FROM_KEY"},
		{foreign.Config{From: "growthbook", URL: "https://h"}, "growthbook needs the client key of an SDK connection in FLAGSTAFF_FROM_KEY"},
		{foreign.Config{From: "flagd", URL: "https://h", Key: "a b"}, "the key has characters that no key has, such as blanks"},
	} {
		_, err := foreign.New(tt.config)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.config, got, tt.want)
		}
	}
}
