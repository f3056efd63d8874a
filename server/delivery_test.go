package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

// surveyText is what nobody should write into a survey.
const surveyText = `</script><script>alert(1)</script><!-- ` + "\u2028\u2029" + ` "é" &amp;`

// delivered is a project that has something of each kind.
func delivered() server.Publication {
	question := `"` + strings.ReplaceAll(surveyText, `"`, `\"`) + `"` // with no more escapes than it needs
	feature := func(stage string) server.EarlyAccessFeature {
		return server.EarlyAccessFeature{Stage: stage, JSON: json.RawMessage(`{ "id":"` + stage + `-id", "stage":"` + stage + `", "flagKey":"` + stage + `-flag" }`)}
	}
	return server.Publication{
		Project: 7, APIKey: apiKey,
		Surveys:      []json.RawMessage{json.RawMessage(`{"id":"s1","name":"NPS","questions":[{"question":` + question + `}]}`), json.RawMessage(`{"id":"s2"}`)},
		SurveyConfig: json.RawMessage(`{"appearance": {"theme": "dark"}}`),
		EarlyAccess:  []server.EarlyAccessFeature{feature("beta"), feature("concept"), feature("alpha"), feature("beta")},
		Members:      map[string]any{"sessionRecording": map[string]any{"endpoint": "/s/"}},
	}
}

// newDelivery returns a Server with the project of a Publication, and one that has
// nothing published.
func newDelivery(t testing.TB, p server.Publication, change func(*server.Config)) *server.Server {
	t.Helper()
	return newServer(t, func(c *server.Config) {
		r := registry(t)
		demo, err := r.Project(t.Context(), apiKey)
		if err != nil {
			t.Fatal(err)
		}
		out := publish(t, p)
		served := &server.Project{ID: 7, Organization: "acme", Flags: demo.Flags, Published: out, ClientConfig: out.Client()}
		r.Set(apiKey, served)
		r.Set("phc_second", served)
		r.Set("phc_bare", demo)
		c.Projects = r
		if change != nil {
			change(c)
		}
	})
}

func getCall(target string) call { return call{method: "GET", target: target} }

// fetch sends a GET and decodes an answer without error.
func fetch(t testing.TB, h http.Handler, target string) map[string]any {
	t.Helper()
	resp := getCall(target).do(h)
	body := bodyText(t, resp)
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil || resp.StatusCode != 200 {
		t.Fatalf("GET %s = %d %v\n%s", target, resp.StatusCode, err, body)
	}
	return v
}

// deliveryPaths are all that answer for the project phc_demo.
var deliveryPaths = []string{
	"/api/surveys/?token=phc_demo", "/api/early_access_features/?token=phc_demo", "/array/phc_demo/config", "/array/phc_demo/config.js",
}

// TestDeliveryChecklist is the part of wire.md §9 that is about configuration,
// surveys and early access features. Names begin with the rows' ids.
func TestDeliveryChecklist(t *testing.T) {
	s := newDelivery(t, delivered(), nil)
	t.Run("A01 A04 A13 configuration", func(t *testing.T) {
		for _, slash := range []string{"", "/"} {
			v := fetch(t, s, "/array/phc_demo/config"+slash)
			surveys, _ := v["surveys"].([]any)
			got := map[string]any{
				"token": v["token"], "supportedCompression": v["supportedCompression"], "surveys": len(surveys),
				"survey_config": v["survey_config"], "hasFeatureFlags": v["hasFeatureFlags"], "sessionRecording": v["sessionRecording"],
			}
			want := map[string]any{
				"token": "phc_demo", "supportedCompression": []any{"gzip", "gzip-js", "lz64", "base64"}, "surveys": 2,
				"survey_config": map[string]any{"appearance": map[string]any{"theme": "dark"}}, "hasFeatureFlags": true,
				"sessionRecording": map[string]any{"endpoint": "/s/"},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		empty := newDelivery(t, server.Publication{APIKey: apiKey}, nil)
		v := fetch(t, empty, "/array/phc_demo/config")
		if config, ok := v["survey_config"]; v["surveys"] != false || !ok || config != nil {
			t.Errorf("without surveys: %v", v)
		}
	})
	t.Run("A02 script", func(t *testing.T) {
		for _, slash := range []string{"", "/"} {
			resp := getCall("/array/phc_demo/config.js" + slash).do(s)
			if resp.Header.Get("Content-Type") != "application/javascript; charset=utf-8" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%v", resp.Header)
			}
			script := bodyText(t, resp)
			if strings.ContainsAny(script, "<>&\u2028\u2029") {
				t.Errorf("not escaped: %s", script)
			}
			config := argument(t, script)
			question := config["surveys"].([]any)[0].(map[string]any)["questions"].([]any)[0].(map[string]any)["question"]
			if question != surveyText {
				t.Errorf("question %q, want %q", question, surveyText)
			}
			if diff := cmp.Diff(fetch(t, s, "/array/phc_demo/config"), config); diff != "" {
				t.Errorf("script and JSON differ: %s", diff)
			}
		}
	})
	t.Run("A03 X06 X07 X08 origins", func(t *testing.T) {
		for _, path := range deliveryPaths {
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "DELETE"} {
				c := call{method: method, target: path, header: map[string]string{"Origin": "https://app.example"}}
				h := c.do(s).Header
				if h.Get("Access-Control-Allow-Origin") != "https://app.example" || h.Get("Access-Control-Allow-Credentials") != "true" || !strings.HasPrefix(h.Get("Vary"), "Origin") {
					t.Errorf("%s %s: %v", method, path, h)
				}
				if h := (call{method: method, target: path}).do(s).Header; h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Credentials") != "" {
					t.Errorf("%s %s without origin: %v", method, path, h)
				}
			}
			resp := call{method: "OPTIONS", target: path, header: map[string]string{
				"Origin": "https://app.example", "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "content-type, x-custom",
			}}.do(s)
			h := resp.Header
			if resp.StatusCode != 204 || h.Get("Access-Control-Allow-Headers") != "content-type, x-custom" || h.Get("Access-Control-Allow-Methods") != "GET, POST, OPTIONS" ||
				h.Get("Vary") != "Origin, Access-Control-Request-Headers" {
				t.Errorf("preflight of %s: %d %v", path, resp.StatusCode, h)
			}
		}
	})
	t.Run("A05 other keys", func(t *testing.T) {
		for key, want := range map[string]int{
			"phc_nobody": 404, "a%20b": 400, "a%2Fb": 400, "%00": 400, "a.b": 400, "%C3%A9": 400, strings.Repeat("a", 200): 404, strings.Repeat("a", 201): 400,
		} {
			for _, name := range []string{"/config", "/config.js", "/config/"} {
				resp := getCall("/array/" + key + name).do(s)
				if resp.StatusCode != want || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Cache-Control") != "" {
					t.Errorf("%s%s = %d %v, want %d", key, name, resp.StatusCode, resp.Header, want)
				}
			}
		}
		for _, path := range []string{"/array/config", "/array//config", "/array/phc_demo/", "/array/phc_demo/array.js", "/array/phc_demo/config.json"} {
			if resp := getCall(path).do(s); resp.StatusCode != 404 {
				t.Errorf("%s = %d", path, resp.StatusCode)
			}
		}
	})
	t.Run("A06 A07 surveys", func(t *testing.T) {
		for _, path := range []string{"/api/surveys/?token=phc_demo&_=1795220110559", "/api/surveys?token=phc_demo"} {
			v := fetch(t, s, path)
			surveys := v["surveys"].([]any)
			if len(v) != 2 || len(surveys) != 2 || surveys[1].(map[string]any)["id"] != "s2" || v["survey_config"] == nil {
				t.Errorf("%s: %v", path, v)
			}
		}
	})
	t.Run("A08 A11 errors", func(t *testing.T) {
		for _, path := range []string{"/api/surveys/", "/api/early_access_features/"} {
			for query, want := range map[string]string{
				"": "missing_api_key", "?token=": "missing_api_key", "?api_key=phc_demo": "missing_api_key", "?token=%zz": "missing_api_key",
				"?token=phc_nobody": "invalid_api_key", "?token=phc_demo&token=x": "invalid_api_key", "?token=%00": "invalid_api_key", "?token=phx_ada": "invalid_api_key",
			} {
				resp := getCall(path + query).do(s)
				var e apiError
				body := bodyText(t, resp)
				if err := json.Unmarshal([]byte(body), &e); err != nil {
					t.Fatalf("%v\n%s", err, body)
				}
				if resp.StatusCode != 401 || e.Type != "authentication_error" || e.Code != want || !strings.Contains(body, `"attr":null`) {
					t.Errorf("%s%s = %d %s, want %s", path, query, resp.StatusCode, body, want)
				}
			}
		}
	})
	t.Run("A09 A10 early access features", func(t *testing.T) {
		for query, want := range map[string]string{
			"": "beta beta", "&stage=": "beta beta", "&stage=&stage=": "beta beta", "&stage=concept": "concept", "&stage=concept&stage=beta": "beta concept beta",
			"&stage=alpha&stage=": "alpha", "&stage=general-availability": "", "&stage=BETA": "", "&stage=beta,alpha": "", "&stage=be%74a": "beta beta",
		} {
			for _, path := range []string{"/api/early_access_features", "/api/early_access_features/"} {
				v := fetch(t, s, path+"?token=phc_demo&_=1795220115324"+query)
				got := []string{}
				for _, f := range v["earlyAccessFeatures"].([]any) {
					got = append(got, f.(map[string]any)["stage"].(string))
				}
				if strings.Join(got, " ") != want || len(v) != 1 {
					t.Errorf("%s: %q, want %q", query, got, want)
				}
			}
		}
	})
	t.Run("A12 static files", func(t *testing.T) {
		resp := getCall("/static/1.449.2/nothing-here.js").do(s)
		if resp.StatusCode != 404 || strings.Contains(resp.Header.Get("Content-Type"), "html") {
			t.Errorf("%d %v", resp.StatusCode, resp.Header)
		}
	})
	t.Run("surveys in flags and decide are a boolean", func(t *testing.T) {
		without := newDelivery(t, server.Publication{APIKey: apiKey}, nil)
		for _, target := range []string{"/flags?v=2&config=true", "/decide?v=3"} {
			for h, want := range map[http.Handler]bool{s: true, without: false} {
				var v map[string]any
				if err := json.Unmarshal([]byte(bodyText(t, call{target: target, body: simple}.do(h))), &v); err != nil {
					t.Fatal(err)
				}
				if v["surveys"] != want || (v["survey_config"] != nil) != want || v["token"] != nil {
					t.Errorf("%s: surveys %v, survey_config %v, token %v; want %v", target, v["surveys"], v["survey_config"], v["token"], want)
				}
			}
			// Nothing else changes for a project without surveys.
			if got, want := bodyText(t, call{target: target, body: simple}.do(without)), bodyText(t, call{target: target, body: strings.Replace(simple, apiKey, "phc_bare", 1)}.do(without)); undated(got) != undated(want) {
				t.Errorf("%s:\n%s\n%s", target, got, want)
			}
		}
	})
}

// undated returns an answer without what is different each time.
func undated(body string) string {
	i := strings.Index(body, `"requestId"`)
	j := i + strings.Index(body[i:], `"config"`)
	return body[:i] + body[j:]
}

// argument returns what a script passes to its function.
func argument(t testing.TB, script string) map[string]any {
	t.Helper()
	const open, end = "})(", ");\n"
	_, rest, ok := strings.Cut(script, open)
	rest, ok2 := strings.CutSuffix(rest, end)
	var v map[string]any
	if err := json.Unmarshal([]byte(rest), &v); !ok || !ok2 || err != nil {
		t.Fatalf("script: %v\n%s", err, script)
	}
	return v
}

// TestDeliveryDocuments: entity tags, conditions and how long answers may be kept.
func TestDeliveryDocuments(t *testing.T) {
	s, replica := newDelivery(t, delivered(), nil), newDelivery(t, delivered(), nil)
	cache := map[string]string{"/api": "public, max-age=60", "/array": "public, max-age=300"}
	vary := map[string]string{"/api": "Origin", "/array": "Origin, Referer"}
	seen := make(map[string]string)
	for _, path := range append(deliveryPaths, "/api/early_access_features?token=phc_demo&stage=concept", "/array/phc_bare/config.js", "/api/surveys?token=phc_bare", "/array/phc_second/config") {
		kind := path[:strings.Index(path[1:], "/")+1]
		resp := getCall(path).do(s)
		body, etag := bodyText(t, resp), resp.Header.Get("Etag")
		if other := seen[etag]; other != "" {
			t.Errorf("%s and %s have the same ETag", path, other)
		}
		seen[etag] = path
		check := func(name string, resp *http.Response, status int, want string) {
			t.Helper()
			h := resp.Header
			if got := bodyText(t, resp); resp.StatusCode != status || got != want || h.Get("Etag") != etag || h.Get("Cache-Control") != cache[kind] || h.Get("Vary") != vary[kind] || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %s = %d %.100q %v, want %d", name, path, resp.StatusCode, got, h, status)
			}
			if status == 304 && (h["Content-Type"] != nil || h["Content-Length"] != nil) {
				t.Errorf("%s %s: %v", name, path, h)
			}
		}
		with := func(match, method string) call {
			return call{method: method, target: path, header: map[string]string{"If-None-Match": match}}
		}
		check("GET", getCall(path).do(s), 200, body)
		check("GET of another process", getCall(path).do(replica), 200, body)
		check("same", with(etag, "GET").do(s), 304, "")
		check("bare", with(strings.Trim(etag[2:], `"`), "GET").do(s), 304, "")
		check("any", with("*", "HEAD").do(s), 304, "")
		check("other", with(`W/"x"`, "GET").do(s), 200, body)
		if kind == "/api" {
			check("POST", with(etag, "POST").do(s), 200, body) // has no condition of this kind
		}
	}
}

// TestDeliveryTokens: where the project key may be, and which one counts
// (management.md §12).
func TestDeliveryTokens(t *testing.T) {
	s := newDelivery(t, delivered(), nil)
	const body = `{"token":"phc_demo"}`
	post := func(target, contentType, body string) call {
		return call{target: target, header: map[string]string{"Content-Type": contentType}, body: body}
	}
	for _, path := range []string{"/api/surveys/", "/api/early_access_features"} {
		for _, tt := range []struct {
			name string
			call call
			want int
		}{
			{"query", call{method: "POST", target: path + "?token=phc_demo"}, 200},
			{"JSON", post(path, "application/json", body), 200},
			{"api_key", post(path, "application/json", `{"api_key":"phc_demo"}`), 200},
			{"$token", post(path, "application/json", `{"$token":"phc_demo"}`), 200},
			{"text", post(path, "text/plain", " "+body), 200},
			{"no type", post(path, "", body), 200},
			{"gzip", post(path, "text/plain", zip(body)), 200},
			{"declared gzip", post(path+"?compression=gzip-js", "text/plain", zip(body)), 200},
			{"base64", post(path, "text/plain", base64Of(body)), 200},
			{"form", post(path+"?compression=base64", form, "data="+url.QueryEscape(base64Of(body))), 200},
			{"form without hint", post(path, form, "data="+url.QueryEscape(base64Of(body))), 200},
			{"lz64", post(path+"?compression=lz64", "text/plain", lz64Of(t, "simple")), 200},
			{"JSON called form", post(path, form, body), 200},
			{"query before body", post(path+"?token=phc_demo", "application/json", `{"token":"phc_nobody"}`), 200},
			{"query before body, wrong", post(path+"?token=phc_nobody", "application/json", body), 401},
			{"query before a body that is none", post(path+"?token=phc_demo", "application/json", "{"), 200},
			{"empty query and body", post(path+"?token=", "application/json", body), 200},
			{"fields that mean something to flags", post(path, "application/json", `{"token":"phc_demo","groups":[]}`), 200},
			{"wrong in body", post(path, "application/json", `{"token":"phc_nobody"}`), 401},
			{"none in body", post(path, "application/json", `{}`), 401},
			{"null", post(path, "application/json", `{"token":null}`), 401},
			{"no body", call{method: "POST", target: path}, 401},
			{"no body with another type", call{method: "POST", target: path, header: map[string]string{"Content-Type": "text/html"}}, 401},
			{"number", post(path, "application/json", `{"token":7}`), 400},
			{"no JSON", post(path, "application/json", "{"), 400},
			{"wrong type", post(path, "application/xml", body), 400},
			{"wrong compression", post(path+"?compression=br", "text/plain", body), 400},
			{"body of GET", call{method: "GET", target: path, body: body}, 401},
		} {
			resp := tt.call.do(s)
			if got := bodyText(t, resp); resp.StatusCode != tt.want || tt.want == 200 && len(got) < 50 {
				t.Errorf("%s %s = %d %s, want %d", tt.name, path, resp.StatusCode, got, tt.want)
			}
		}
		small := newDelivery(t, delivered(), func(c *server.Config) { c.MaxBody = 100 })
		if resp := post(path, "application/json", padded(101)).do(small); resp.StatusCode != 413 {
			t.Errorf("large body: %d", resp.StatusCode)
		}
	}
}

// TestDeliveryMethods: each path has its methods in both slash forms.
func TestDeliveryMethods(t *testing.T) {
	s := newDelivery(t, delivered(), nil)
	for _, path := range deliveryPaths {
		path, query, _ := strings.Cut(path, "?")
		path = strings.TrimSuffix(path, "/")
		allow := "GET, OPTIONS, HEAD"
		if strings.HasPrefix(path, "/api/") {
			allow = "GET, POST, OPTIONS, HEAD"
		}
		for _, slash := range []string{"", "/"} {
			for _, method := range apiMethods {
				resp := call{method: method, target: path + slash + "?" + query}.do(s)
				want := 405
				switch {
				case method == "OPTIONS":
					want = 204
				case strings.Contains(allow, method):
					want = 200
				}
				if resp.StatusCode != want || want != 200 && resp.Header.Get("Allow") != allow {
					t.Errorf("%s %s%s = %d %v, want %d", method, path, slash, resp.StatusCode, resp.Header, want)
				}
			}
		}
	}
}

// TestDeliveryOfHosts: a project without Published delivers its ClientConfig, and
// nothing of the rest.
func TestDeliveryOfHosts(t *testing.T) {
	config, err := server.NewClientConfig(map[string]any{"sessionRecording": map[string]any{"endpoint": "/s/"}, "heatmaps": "</script>"})
	if err != nil {
		t.Fatal(err)
	}
	r := new(server.Registry)
	r.Set("phc_plain", &server.Project{ID: 1, Flags: new(flags.Evaluator)})
	r.Set("phc_configured", &server.Project{ID: 2, ClientConfig: config})
	s := newServer(t, func(c *server.Config) { c.Projects = r })
	for _, key := range []string{"phc_plain", "phc_configured"} {
		v := fetch(t, s, "/array/"+key+"/config")
		if v["token"] != key || v["surveys"] != false || v["hasFeatureFlags"] != true || (v["sessionRecording"] != false) != (key == "phc_configured") {
			t.Errorf("%s: %v", key, v)
		}
		script := bodyText(t, getCall("/array/"+key+"/config.js").do(s))
		if diff := cmp.Diff(v, argument(t, script)); diff != "" || strings.Contains(script, "<") {
			t.Errorf("%s: %s\n%s", key, diff, script)
		}
		for target, want := range map[string]string{
			"/api/surveys/?token=": `{"surveys":[],"survey_config":null}`, "/api/early_access_features/?token=": `{"earlyAccessFeatures":[]}`,
		} {
			resp := getCall(target + key).do(s)
			if got := bodyText(t, resp); got != want || resp.Header.Get("Etag") == "" {
				t.Errorf("%s%s: %s %v", target, key, got, resp.Header)
			}
		}
	}
	// Without a Service the right to fetch definitions is unknown.
	if resp := getCall(definitionsPath).do(s); resp.StatusCode != 404 {
		t.Errorf("definitions: %d", resp.StatusCode)
	}
}

// TestDeliveryOfSeveralKeys: a client that asks with another key of the project
// finds its configuration under that key.
func TestDeliveryOfSeveralKeys(t *testing.T) {
	s := newDelivery(t, delivered(), nil)
	want := fetch(t, s, "/array/phc_demo/config")
	want["token"] = "phc_second"
	for _, got := range []map[string]any{fetch(t, s, "/array/phc_second/config"), argument(t, bodyText(t, getCall("/array/phc_second/config.js").do(s)))} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestDeliveryErrors: faults of the server are told as on the routes for flags.
func TestDeliveryErrors(t *testing.T) {
	broken := newServer(t, func(c *server.Config) { c.Projects = brokenProjects{} })
	for key, want := range map[string]int{"down": 503, "slow": 504, "gone": 408, "panic": 500, "index": 500} {
		for _, path := range []string{"/api/surveys?token=" + key, "/api/early_access_features?token=" + key, "/array/" + key + "/config", "/array/" + key + "/config.js"} {
			resp := getCall(path).do(broken)
			h := resp.Header
			if body := bodyText(t, resp); resp.StatusCode != want || strings.Contains(body, "hunter2") || strings.Contains(body, "refused") || h.Get("Cache-Control") != "" ||
				h.Get("Access-Control-Allow-Origin") != "*" || (h.Get("Retry-After") != "") != (want == 503) {
				t.Errorf("%s = %d %s %v, want %d", path, resp.StatusCode, body, h, want)
			}
		}
	}
}

// TestDeliveryLimit: the limit of an address counts these routes too, the limit of
// a project does not.
func TestDeliveryLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDelivery(t, delivered(), func(c *server.Config) { c.RateLimit.IP = server.Limit{PerSecond: 1, Burst: 4} })
		for _, path := range deliveryPaths {
			if resp := getCall(path).do(s); resp.StatusCode != 200 {
				t.Errorf("%s = %d", path, resp.StatusCode)
			}
		}
		for _, path := range deliveryPaths {
			resp := getCall(path).do(s)
			if body := bodyText(t, resp); resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" || !strings.Contains(body, "rate_limit_exceeded") {
				t.Errorf("%s = %d %s", path, resp.StatusCode, body)
			}
		}
		time.Sleep(time.Second)
		if resp := (call{body: simple}).do(s); resp.StatusCode != 200 {
			t.Errorf("flags: %d", resp.StatusCode)
		}
		if resp := (call{body: simple}).do(s); resp.StatusCode != 429 {
			t.Errorf("flags, once more: %d", resp.StatusCode)
		}
	})
	s := newDelivery(t, delivered(), func(c *server.Config) { c.RateLimit.Project = server.Limit{PerSecond: 0.001, Burst: 1} })
	for range 3 {
		for _, path := range deliveryPaths {
			if resp := getCall(path).do(s); resp.StatusCode != 200 {
				t.Errorf("%s = %d", path, resp.StatusCode)
			}
		}
	}
}

// TestDeliveryMetrics: routes are counted by their patterns.
func TestDeliveryMetrics(t *testing.T) {
	s := newDelivery(t, delivered(), nil)
	for _, path := range deliveryPaths {
		getCall(path).do(s)
		call{method: "GET", target: path, header: map[string]string{"If-None-Match": "*"}}.do(s)
	}
	got := scrape(t, s)
	for _, route := range []string{"/api/surveys", "/api/early_access_features", "/array/{key}/config", "/array/{key}/config.js"} {
		for _, status := range []int{200, 304} {
			if want := fmt.Sprintf(`flagstaff_http_requests_total{route=%q,status="%d"} 1`, route, status); !strings.Contains(got, want) {
				t.Errorf("no %s", want)
			}
		}
	}
	if strings.Contains(got, apiKey) {
		t.Error("a key in metrics")
	}
}

// TestDeliveryWithManagement: these routes are below /api/ and still for
// everybody.
func TestDeliveryWithManagement(t *testing.T) {
	a := newAPI(t, apiSetup{server: func(c *server.Config) { c.Management.Origins = []string{"https://b.example"} }})
	for _, path := range []string{"/api/surveys/", "/api/early_access_features"} {
		for origin, want := range map[string]string{"": "*", "https://a.example": "https://a.example"} {
			resp := call{method: "GET", target: path + "?token=phc_demo", header: map[string]string{"Origin": origin}}.do(a)
			if resp.StatusCode != 200 || resp.Header.Get("Access-Control-Allow-Origin") != want {
				t.Errorf("%s: %d %v", path, resp.StatusCode, resp.Header)
			}
		}
	}
}

// TestPublishErrors: invalid JSON is an error of Publish, which clients never see.
func TestPublishErrors(t *testing.T) {
	bad := json.RawMessage(`{"name":"hunter2`)
	for name, p := range map[string]server.Publication{
		"survey 1":               {Surveys: []json.RawMessage{json.RawMessage("{}"), bad}},
		"survey 0":               {Surveys: []json.RawMessage{nil}},
		"common appearance":      {SurveyConfig: bad},
		"early access feature 0": {EarlyAccess: []server.EarlyAccessFeature{{Stage: "beta", JSON: bad}}},
		`"heatmaps"`:             {Members: map[string]any{"heatmaps": bad}},
		`"siteApps"`:             {Members: map[string]any{"siteApps": make(chan int)}},
		`"token"`:                {Members: map[string]any{"token": "phc_x"}},
		`"flags"`:                {Members: map[string]any{"flags": nil}},
	} {
		out, err := server.Publish(p)
		if err == nil || out != nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Publish with a bad %s = %v, %v", name, out, err)
		}
	}
}

// TestPublishMembers: members replace what follows from other fields, and
// arguments are not changed.
func TestPublishMembers(t *testing.T) {
	p := delivered()
	p.Members["surveys"], p.Members["survey_config"] = true, nil
	s := newDelivery(t, p, nil)
	v := fetch(t, s, "/array/phc_demo/config")
	if config, ok := v["survey_config"]; v["surveys"] != true || config != nil || !ok {
		t.Errorf("%v", v)
	}
	if v := fetch(t, s, "/api/surveys?token=phc_demo"); len(v["surveys"].([]any)) != 2 || v["survey_config"] == nil {
		t.Errorf("%v", v)
	}
	if len(p.Members) != 3 {
		t.Errorf("Publish changed its argument: %v", p.Members)
	}
	p.Surveys[0][0], p.EarlyAccess[0].JSON[0] = 'x', 'x' // are the caller's again
	fetch(t, s, "/array/phc_demo/config")
	fetch(t, s, "/api/early_access_features?token=phc_demo&stage=beta&stage=alpha")
}

// TestDeliveryOverHTTP: GET, HEAD and conditions with a client of net/http.
func TestDeliveryOverHTTP(t *testing.T) {
	srv := httptest.NewServer(newDelivery(t, delivered(), nil))
	defer srv.Close()
	for _, path := range deliveryPaths {
		want := bodyText(t, getCall(path).do(srv.Config.Handler))
		for _, tt := range []struct {
			method, match string
			status        int
			body          string
		}{{"GET", "", 200, want}, {"HEAD", "", 200, ""}, {"GET", "*", 304, ""}, {"HEAD", "*", 304, ""}} {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, srv.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("If-None-Match", tt.match)
			resp, err := srv.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body := bodyText(t, resp)
			resp.Body.Close()
			if resp.StatusCode != tt.status || body != tt.body || tt.status == 200 && resp.ContentLength != int64(len(want)) {
				t.Errorf("%s %s = %d, %d bytes, %.100q", tt.method, path, resp.StatusCode, resp.ContentLength, body)
			}
		}
	}
}
