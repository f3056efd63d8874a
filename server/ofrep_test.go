package server_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

const (
	ofrepBulk = "/ofrep/v1/evaluate/flags"
	ofrepUser = `{"context":{"targetingKey":"user-1"}}`
)

// ofrep is a call for one flag, or for all if the key is empty, by a client that
// tells nothing of itself.
func ofrep(key, body string, header ...string) call {
	c := call{target: ofrepBulk, body: body, header: map[string]string{"Authorization": "Bearer phc_demo", "User-Agent": "ofrep-client"}}
	if key != "" {
		c.target += "/" + key
	}
	for i := 0; i < len(header); i += 2 {
		c.header[header[i]] = header[i+1]
	}
	return c
}

// An evaluation is an answer, or an element of one.
type evaluation struct {
	Key, Reason, Variant    string
	Value                   any
	Metadata                map[string]any
	ErrorCode, ErrorDetails string
	Flags                   []evaluation
}

// of returns the evaluation of a flag in a bulk answer.
func (e evaluation) of(key string) evaluation {
	for _, f := range e.Flags {
		if f.Key == key {
			return f
		}
	}
	return evaluation{}
}

// ofrepAnswer sends a call and decodes the answer.
func ofrepAnswer(t testing.TB, s *server.Server, c call, status int) evaluation {
	t.Helper()
	resp := c.do(s)
	body := bodyText(t, resp)
	var e evaluation
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatalf("%s with %s: %d %q: %v", c.target, c.body, resp.StatusCode, body, err)
	}
	if resp.StatusCode != status {
		t.Errorf("%s with %s = %d %s, want %d", c.target, c.body, resp.StatusCode, body, status)
	}
	return e
}

func newOFREP(t testing.TB, change func(*server.Config)) *server.Server {
	return newServer(t, func(c *server.Config) {
		c.OFREP = true
		if change != nil {
			change(c)
		}
	})
}

// TestOFREPChecklist is the part of wire.md §9 that is about the protocol. Names
// begin with the rows' ids.
func TestOFREPChecklist(t *testing.T) {
	s := newOFREP(t, nil)
	t.Run("O01 boolean flag", func(t *testing.T) {
		e := ofrepAnswer(t, s, ofrep("flag-bool", ofrepUser), 200)
		if e.Key != "flag-bool" || e.Value != true || e.Reason != "STATIC" || e.Variant != "" {
			t.Errorf("%+v", e)
		}
		want := map[string]any{
			"flagId": 1.0, "version": 3.0, "reason": "condition_match", "conditionIndex": 0.0, "hasExperiment": false, "payload": `{"color":"blue"}`,
		}
		if diff := cmp.Diff(want, e.Metadata, cmpopts.IgnoreMapEntries(func(k string, _ any) bool { return k == "requestId" })); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("O02 variant", func(t *testing.T) {
		if e := ofrepAnswer(t, s, ofrep("flag-variant", ofrepUser), 200); e.Value != "test" || e.Variant != "test" || e.Reason != "TARGETING_MATCH" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("O03 unknown flag", func(t *testing.T) {
		if e := ofrepAnswer(t, s, ofrep("nobody", ofrepUser), 404); e.Key != "nobody" || e.ErrorCode != "FLAG_NOT_FOUND" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("O04 no targeting key", func(t *testing.T) {
		for _, body := range []string{
			`{"context":{}}`, `{}`, `{"context":null}`, `{"context":{"targetingKey":""}}`, `{"context":{"targetingKey":null,"plan":"pro"}}`,
		} {
			if e := ofrepAnswer(t, s, ofrep("flag-bool", body), 400); e.Key != "flag-bool" || e.ErrorCode != "TARGETING_KEY_MISSING" || e.ErrorDetails != "targetingKey is required" {
				t.Errorf("%s: %+v", body, e)
			}
			if e := ofrepAnswer(t, s, ofrep("", body), 400); e.Key != "" || e.ErrorCode != "TARGETING_KEY_MISSING" {
				t.Errorf("%s: %+v", body, e)
			}
		}
	})
	t.Run("O05 malformed", func(t *testing.T) {
		for _, body := range []string{`{"context":`, ``, `[]`, `null`, `context`, `{"context":{"targetingKey":NaN}}`} {
			if e := ofrepAnswer(t, s, ofrep("flag-bool", body), 400); e.ErrorCode != "PARSE_ERROR" || e.Key != "flag-bool" {
				t.Errorf("%s: %+v", body, e)
			}
		}
	})
	t.Run("O06 no key", func(t *testing.T) {
		for _, header := range [][2]string{{"Authorization", ""}, {"Authorization", "Basic dTpw"}, {"Authorization", "Bearer phc_other"}, {"Authorization", "Bearer phs_x"}} {
			for _, key := range []string{"flag-bool", ""} {
				if e := ofrepAnswer(t, s, ofrep(key, ofrepUser, header[0], header[1]), 401); e.ErrorCode != "" || e.ErrorDetails == "" {
					t.Errorf("%q: %+v", header, e)
				}
			}
		}
	})
	t.Run("O07 entity tag", func(t *testing.T) {
		first := ofrep("", ofrepUser).do(s)
		etag := first.Header.Get("ETag")
		if first.StatusCode != 200 || etag == "" || len(bodyText(t, first)) == 0 {
			t.Fatalf("%d %v", first.StatusCode, first.Header)
		}
		second := ofrep("", ofrepUser, "If-None-Match", etag).do(s)
		if body := bodyText(t, second); second.StatusCode != 304 || body != "" || second.Header.Get("ETag") != etag {
			t.Errorf("%d %q %v", second.StatusCode, body, second.Header)
		}
	})
	t.Run("O08 person property", func(t *testing.T) {
		if e := ofrepAnswer(t, s, ofrep("flag-person", `{"context":{"targetingKey":"u","plan":"pro"}}`), 200); e.Value != true || e.Reason != "TARGETING_MATCH" {
			t.Errorf("%+v", e)
		}
		if e := ofrepAnswer(t, s, ofrep("flag-person", ofrepUser), 200); e.Value != false || e.Reason != "UNKNOWN" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("O09 X-API-Key", func(t *testing.T) {
		c := ofrep("flag-bool", ofrepUser, "Authorization", "", "X-API-Key", "phc_demo")
		if e := ofrepAnswer(t, s, c, 200); e.Value != true {
			t.Errorf("%+v", e)
		}
	})
}

// TestOFREPBothForms: one flag alone and the same flag among all are the same,
// except that one takes the client for a server and the other does not.
func TestOFREPBothForms(t *testing.T) {
	s := newOFREP(t, nil)
	body := `{"context":{"targetingKey":"user-1","plan":"pro","groups":{"company":"acme"},"groupProperties":{"company":{"tier":"enterprise"}},"evaluation_contexts":["checkout"]}}`
	const browser = "Mozilla/5.0"
	all := ofrepAnswer(t, s, ofrep("", body, "User-Agent", browser), 200)
	var keys []string
	for _, want := range all.Flags {
		keys = append(keys, want.Key)
		c := ofrep(strings.NewReplacer(" ", "%20", `"`, "%22", "<", "%3C", ">", "%3E", "é", "%C3%A9").Replace(want.Key), body, "User-Agent", browser)
		one := ofrepAnswer(t, s, c, 200)
		if one.Metadata["requestId"] == nil {
			t.Errorf("%s: no requestId", want.Key)
		}
		delete(one.Metadata, "requestId")
		if diff := cmp.Diff(want, one); diff != "" {
			t.Errorf("%s among all, and alone (-want +got)\n%s", want.Key, diff)
		}
	}
	want := []string{
		"flag-bool", "flag-variant", "flag-off", "flag-person", "flag-group", "flag-tagged", "flag-client",
		"flag-continuity", "survey-targeting-1", "flag-inactive", "flag \"odd\" <é>",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("flags of a browser (-want +got)\n%s", diff)
	}
	for key, reason := range map[string]string{
		"flag-group": "TARGETING_MATCH", "flag-tagged": "STATIC", "flag-off": "SPLIT", "flag-inactive": "DISABLED", "flag \"odd\" <é>": "UNKNOWN",
	} {
		if f := all.of(key); f.Reason != reason {
			t.Errorf("%s: reason %s, want %s", key, f.Reason, reason)
		}
	}
	if all.Metadata["requestId"] == nil || all.Metadata["evaluatedAt"] == nil {
		t.Errorf("metadata %v", all.Metadata)
	}
}

// TestRuling61OFREPValues is the table of wire.md §7.2, for what the test project
// lacks.
func TestRuling61OFREPValues(t *testing.T) {
	d := decodeDefinitions(t, `{"flags":[
		{"id":1,"key":"drawn","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":99.9},{"key":"b","rollout_percentage":0.1}]}}},
		{"id":19,"key":"single","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}},
		{"id":20,"key":"config-list","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"[1,2]"}}},
		{"id":21,"key":"config-list-off","active":true,"is_remote_configuration":true,"filters":{"groups":[{"rollout_percentage":0}],"payloads":{"true":"[1,2]"}}},
		{"id":22,"key":"config-variant","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"a":"7"}}},
		{"id":2,"key":"variants-off","active":true,"filters":{"groups":[{"rollout_percentage":0}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}},
		{"id":3,"key":"variants-inactive","active":false,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}},
		{"id":4,"key":"held-out","active":true,"filters":{"groups":[{}],"holdout":{"id":7,"exclusion_percentage":100}}},
		{"id":18,"key":"config-held-out","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"holdout":{"id":7,"exclusion_percentage":100},"payloads":{"true":"1"}}},
		{"id":5,"key":"config","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"{\"a\": [1, null]}"}}},
		{"id":6,"key":"config-text","active":true,"is_remote_configuration":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"is_not_set","value":"is_not_set"}]}],"payloads":{"true":"hello \"you\""}}},
		{"id":7,"key":"config-raw","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":1.5}}},
		{"id":8,"key":"config-null","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"null"}}},
		{"id":9,"key":"config-none","active":true,"is_remote_configuration":true,"filters":{"groups":[{}]}},
		{"id":10,"key":"config-off","active":true,"is_remote_configuration":true,"filters":{"groups":[{"rollout_percentage":0}],"payloads":{"true":"1"}}},
		{"id":11,"key":"share","active":true,"filters":{"groups":[{"rollout_percentage":99.999}]}},
		{"id":12,"key":"enrolled","active":true,"filters":{"groups":[{"rollout_percentage":0}],"feature_enrollment":true}},
		{"id":13,"key":"missing","active":true,"filters":{"groups":[{"properties":[{"key":"99","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
		{"id":14,"key":"broken","active":true,"filters":{"version":2,"groups":[{}]}},
		{"id":15,"key":"cycle","active":true,"filters":{"groups":[{"properties":[{"key":"15","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
		{"id":16,"key":"encrypted","active":true,"has_encrypted_payloads":true,"filters":{"groups":[{}]}},
		{"id":17,"key":"deleted","active":true,"deleted":true,"filters":{"groups":[{}]}}
	]}`)
	snapshot, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := newOFREP(t, func(c *server.Config) {
		e, r := new(flags.Evaluator), new(server.Registry)
		e.Swap(snapshot)
		r.Set(apiKey, &server.Project{ID: 7, Flags: e})
		c.Projects, c.Log = r, slog.New(slog.NewTextHandler(&log, nil))
	})
	body := `{"context":{"targetingKey":"user-1","$feature_enrollment/enrolled":true}}`
	all := ofrepAnswer(t, s, ofrep("", body), 200)
	for _, tt := range []struct {
		key     string
		status  int
		value   any // nil: none
		variant string
		reason  string
	}{
		{"drawn", 200, "a", "a", "SPLIT"},
		{"single", 200, "a", "a", "STATIC"},
		{"config-list", 400, nil, "", ""},
		{"config-list-off", 200, nil, "", "UNKNOWN"},
		{"config-variant", 200, 7.0, "", "STATIC"},
		{"variants-off", 200, nil, "", "UNKNOWN"},
		{"variants-inactive", 200, nil, "", "DISABLED"},
		{"held-out", 200, "holdout-7", "holdout-7", "SPLIT"},
		{"config", 200, map[string]any{"a": []any{1.0, nil}}, "", "STATIC"},
		{"config-held-out", 200, "holdout-7", "holdout-7", "SPLIT"},
		{"config-text", 200, `hello "you"`, "", "TARGETING_MATCH"},
		{"config-raw", 200, 1.5, "", "STATIC"},
		{"config-null", 200, nil, "", "UNKNOWN"},
		{"config-none", 200, nil, "", "UNKNOWN"},
		{"config-off", 200, nil, "", "UNKNOWN"},
		{"share", 200, true, "", "SPLIT"},
		{"enrolled", 200, true, "", "TARGETING_MATCH"},
		{"missing", 500, nil, "", ""},
		{"broken", 500, nil, "", ""},
		{"cycle", 500, nil, "", ""},
		{"encrypted", 404, nil, "", ""},
		{"deleted", 404, nil, "", ""},
	} {
		e := ofrepAnswer(t, s, ofrep(tt.key, body), tt.status)
		if diff := cmp.Diff(tt.value, e.Value); diff != "" || e.Variant != tt.variant || e.Reason != tt.reason {
			t.Errorf("%s: %+v, want %+v", tt.key, e, tt)
		}
		code := map[int]string{200: "", 400: "GENERAL", 404: "FLAG_NOT_FOUND", 500: "GENERAL"}[tt.status]
		if e.ErrorCode != code || code != "" && e.ErrorDetails == "" {
			t.Errorf("%s: error %q %q, want %q", tt.key, e.ErrorCode, e.ErrorDetails, code)
		}
		delete(e.Metadata, "requestId")
		if tt.status == 404 {
			e = evaluation{}
		}
		if diff := cmp.Diff(e, all.of(tt.key)); diff != "" {
			t.Errorf("%s alone, and among all (-want +got)\n%s", tt.key, diff)
		}
	}
	if log.Len() > 0 { // the definitions are at fault, which their loader tells
		t.Errorf("log: %s", &log)
	}
}

// TestOFREPContext: members of the context that are not person properties, and
// members that have the wrong type (wire.md §7.2).
func TestOFREPContext(t *testing.T) {
	s := newOFREP(t, nil)
	for body, field := range map[string]string{
		`{"context":[]}`:                                                  "context",
		`{"context":{"targetingKey":{}}}`:                                 "targetingKey",
		`{"context":{"targetingKey":true}}`:                               "targetingKey",
		`{"context":{"groups":"secret"}}`:                                 "groups",
		`{"context":{"groupProperties":1}}`:                               "groupProperties",
		`{"context":{"$device_id":12345678}}`:                             "$device_id",
		`{"context":{"targetingKey":"u","evaluation_contexts":"secret"}}`: "evaluation_contexts",
		`{"context":{"targetingKey":"u","$geoip_disable":"secret"}}`:      "$geoip_disable",
	} {
		e := ofrepAnswer(t, s, ofrep("flag-bool", body), 400)
		if e.ErrorCode != "INVALID_CONTEXT" || !strings.HasPrefix(e.ErrorDetails, field+" must be ") || strings.Contains(e.ErrorDetails, "secret") {
			t.Errorf("%s: %+v", body, e)
		}
	}
	if e := ofrepAnswer(t, s, ofrep("flag-tagged", ofrepUser), 200); e.Value != true {
		t.Errorf("no contexts: %+v", e)
	}
	const docs = `{"context":{"targetingKey":"u","evaluation_contexts":["docs"]}}`
	if e := ofrepAnswer(t, s, ofrep("flag-tagged", docs), 404); e.ErrorCode != "FLAG_NOT_FOUND" {
		t.Errorf("another context: %+v", e)
	}
	if e := ofrepAnswer(t, s, ofrep("", docs), 200); e.of("flag-tagged").Key != "" || e.of("flag-bool").Value != true {
		t.Errorf("another context: %+v", e)
	}
	if e := ofrepAnswer(t, s, ofrep("flag-bool", `{"context":{"targetingKey":17}}`), 200); e.Value != true {
		t.Errorf("a number: %+v", e)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write([]byte(ofrepUser))
	w.Close()
	if e := ofrepAnswer(t, s, ofrep("flag-bool", zipped.String()), 200); e.Value != true {
		t.Errorf("gzip: %+v", e)
	}
	for _, contentType := range []string{"application/xml", "application/x-www-form-urlencoded"} {
		if e := ofrepAnswer(t, s, ofrep("flag-bool", ofrepUser, "Content-Type", contentType), 400); e.ErrorCode != "PARSE_ERROR" {
			t.Errorf("%s: %+v", contentType, e)
		}
	}
}

// TestOFREPRuntime: the runtime follows from the headers, else from the endpoint,
// and secret keys are for servers (wire.md §7.2).
func TestOFREPRuntime(t *testing.T) {
	a := newAPI(t, apiSetup{server: func(c *server.Config) {
		c.OFREP = true
		project, err := c.Projects.Project(t.Context(), apiKey)
		if err != nil {
			t.Fatal(err)
		}
		c.Projects.(*server.Registry).Set("phc_acme", project)
	}})
	for _, tt := range []struct {
		name, header, value string
		one, all            string // what they are taken for
	}{
		{"nothing known", "", "", "server", "client"},
		{"browser", "User-Agent", "Mozilla/5.0", "client", "client"},
		{"fetch of Node.js", "Sec-Fetch-Mode", "cors", "server", "client"},
		{"server SDK", "User-Agent", "posthog-node/5.70.0", "server", "server"},
		{"secret key", "Authorization", "Bearer " + acmeSecret, "server", "server"},
		{"secret key as X-API-Key of a browser", "X-API-Key", acmeSecret, "server", "server"},
		{"personal API key", "Authorization", "Bearer " + adaKey, "server", "server"},
	} {
		header := []string{"Authorization", "Bearer phc_demo"}
		if tt.header == "X-API-Key" {
			header = []string{"Authorization", "", "User-Agent", "Mozilla/5.0"}
		}
		if tt.header != "" {
			header = append(header, tt.header, tt.value)
		}
		for _, kind := range []string{"client", "server"} {
			want := map[bool]int{true: 200, false: 404}[tt.one == kind]
			if resp := ofrep("flag-"+kind, ofrepUser, header...).do(a); resp.StatusCode != want {
				t.Errorf("%s: one flag for a %s = %d %s, want %d", tt.name, kind, resp.StatusCode, bodyText(t, resp), want)
			}
			if got := ofrepAnswer(t, a.Server, ofrep("", ofrepUser, header...), 200).of("flag-"+kind).Value == true; got != (tt.all == kind) {
				t.Errorf("%s: all flags have that for a %s: %v", tt.name, kind, got)
			}
		}
	}
	readsUsers := a.withScopes("user:read")
	for key, status := range map[string]int{"phs_wrong": 401, "phx_wrong": 401, readsUsers: 403, stellaKey: 403} {
		if e := ofrepAnswer(t, a.Server, ofrep("flag-bool", ofrepUser, "Authorization", "Bearer "+key), status); e.ErrorDetails == "" || strings.Contains(e.ErrorDetails, key) {
			t.Errorf("%.8s: %+v", key, e)
		}
	}
	// Its project is not served yet.
	ofrepAnswer(t, a.Server, ofrep("flag-bool", ofrepUser, "Authorization", "Bearer "+otherSecret), 503)
}

// TestOFREPStrangers: attempts with wrong secret keys are limited.
func TestOFREPStrangers(t *testing.T) {
	a := newAPI(t, apiSetup{server: func(c *server.Config) {
		c.OFREP, c.Management.Limit = true, server.ManagementLimit{Strangers: 2}
	}})
	for n, want := range []int{401, 401, 429} {
		if resp := ofrep("flag-bool", ofrepUser, "Authorization", fmt.Sprint("Bearer phs_", n)).do(a); resp.StatusCode != want {
			t.Errorf("attempt %d = %d, want %d", n, resp.StatusCode, want)
		}
	}
}

// TestOFREPStores: what is stored counts as it does for /flags, and is asked for
// only if the flag needs it.
func TestOFREPStores(t *testing.T) {
	f := &fakeProperties{
		persons: map[string]string{"user-1": `{"plan":"pro"}`},
		groups:  map[string]string{"company/acme": `{"tier":"enterprise"}`},
	}
	var asked []netip.Addr
	s := newOFREP(t, func(c *server.Config) {
		c.Store, c.Geo = fakeStore{fakeProperties: f}, fakeGeo{asked: &asked, properties: map[string]string{"$geoip_country_code": "AT"}}
	})
	for _, tt := range []struct {
		key, context string
		calls        []string
		geo          int
		value        any
	}{
		{"flag-bool", ``, nil, 0, true},
		{"flag-person", ``, []string{"person 7 user-1"}, 1, true},
		{"flag-person", `,"plan":"free"`, []string{"person 7 user-1"}, 1, true},
		{"flag-person", `,"plan":"free","$geoip_disable":true`, []string{"person 7 user-1"}, 0, false},
		{"flag-person", `,"plan":"free","$geoip_country_code":"DE"`, nil, 0, false},
		{"flag-group", `,"groups":{"company":"acme"}`, []string{"group 7 company/acme"}, 0, true},
		{"flag-group", `,"groups":{"company":"acme"},"groupProperties":{"company":{"tier":"free"}}`, nil, 0, false},
		{"flag-group", ``, nil, 0, false},
	} {
		f.calls, asked = nil, nil
		e := ofrepAnswer(t, s, ofrep(tt.key, `{"context":{"targetingKey":"user-1"`+tt.context+`}}`), 200)
		if diff := cmp.Diff(tt.calls, f.calls, cmpopts.EquateEmpty()); diff != "" || len(asked) != tt.geo || e.Value != tt.value {
			t.Errorf("%s with %s: %v, geo %v, value %v, want %+v", tt.key, tt.context, f.calls, asked, e.Value, tt)
		}
	}

	f.err = errors.New("down")
	if e := ofrepAnswer(t, s, ofrep("flag-person", ofrepUser), 200); e.Metadata["errorsWhileComputingFlags"] != true {
		t.Errorf("store down: %+v", e)
	}
	if e := ofrepAnswer(t, s, ofrep("", ofrepUser), 200); e.Metadata["errorsWhileComputingFlags"] != true {
		t.Errorf("store down: %+v", e)
	}
}

// TestOFREPEntityTag: a client is told that nothing has changed exactly if the
// answer would be the same.
func TestOFREPEntityTag(t *testing.T) {
	f := &fakeProperties{persons: map[string]string{"user-1": `{"plan":"free"}`}}
	r := registry(t)
	s := newOFREP(t, func(c *server.Config) { c.Store, c.Projects = fakeStore{fakeProperties: f}, r })
	etag := ofrep("", ofrepUser).do(s).Header.Get("ETag")
	again := func(body string, header ...string) int {
		t.Helper()
		return ofrep("", body, append([]string{"If-None-Match", etag}, header...)...).do(s).StatusCode
	}
	for _, tt := range []struct {
		name, context string
		header        []string
		want          int
	}{
		{"the same", ``, nil, 304},
		{"another context with the same values", `,"x":1`, nil, 304},
		{"another value", `,"plan":"pro"`, nil, 200},
		{"who may see more", ``, []string{"User-Agent", "posthog-node/5.70.0"}, 200},
	} {
		if got := again(`{"context":{"targetingKey":"user-1"`+tt.context+`}}`, tt.header...); got != tt.want {
			t.Errorf("%s = %d, want %d", tt.name, got, tt.want)
		}
	}
	c := ofrep("", ofrepUser, "If-None-Match", etag)
	c.target += "?flagConfigEtag=%22abc%22&flagConfigLastModified=1771622898"
	if resp := c.do(s); resp.StatusCode != 304 {
		t.Errorf("with the tag of a change = %d", resp.StatusCode)
	}

	f.persons["user-1"] = `{"plan":"pro"}`
	if got := again(ofrepUser); got != 200 {
		t.Errorf("after the stored person has changed = %d", got)
	}
	f.persons["user-1"] = `{"plan":"free"}`
	p, err := r.Project(t.Context(), apiKey)
	if err != nil {
		t.Fatal(err)
	}
	d := decodeDefinitions(t, published)
	snapshot, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	old := p.Flags.Swap(snapshot)
	if got := again(ofrepUser); got != 200 {
		t.Errorf("with other definitions = %d", got)
	}
	p.Flags.Swap(old)
	if got := again(ofrepUser); got != 304 {
		t.Errorf("with the first ones again = %d", got)
	}
}

// TestOFREPLimits: quota and rate limits count these requests like requests for
// /flags.
func TestOFREPLimits(t *testing.T) {
	q := &fakeQuota{left: map[string]int{"acme": 2}}
	s := newOFREP(t, func(c *server.Config) { c.Quota = q })
	ofrepAnswer(t, s, ofrep("flag-bool", `{"context":{}}`), 400) // costs nothing
	ofrepAnswer(t, s, ofrep("flag-bool", ofrepUser), 200)
	ofrepAnswer(t, s, ofrep("", ofrepUser), 200)
	for _, key := range []string{"flag-bool", ""} {
		resp := ofrep(key, ofrepUser).do(s)
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "60" {
			t.Errorf("over the quota = %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
		}
	}
	for name, limit := range map[string]server.RateLimit{
		"project": {Project: server.Limit{PerSecond: 0.1, Burst: 2}}, "address": {IP: server.Limit{PerSecond: 0.1, Burst: 2}},
	} {
		s := newOFREP(t, func(c *server.Config) { c.RateLimit = limit })
		call{body: simple}.ok(t, s)
		ofrepAnswer(t, s, ofrep("flag-bool", ofrepUser), 200)
		resp := ofrep("", ofrepUser).do(s)
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "10" {
			t.Errorf("over the limit of the %s = %d, Retry-After %q", name, resp.StatusCode, resp.Header.Get("Retry-After"))
		}
	}
	empty := newOFREP(t, func(c *server.Config) {
		r := new(server.Registry)
		r.Set(apiKey, &server.Project{})
		c.Projects = r
	})
	if resp := ofrep("flag-bool", ofrepUser).do(empty); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("without definitions = %d %v", resp.StatusCode, resp.Header)
	}
}

func TestOFREPMetrics(t *testing.T) {
	s := newOFREP(t, func(c *server.Config) { c.Quota = &fakeQuota{left: map[string]int{"acme": 3}} })
	ofrepAnswer(t, s, ofrep("flag-bool", ofrepUser), 200)
	all := ofrep("", ofrepUser).do(s)
	n := strings.Count(bodyText(t, all), `"flagId"`)
	ofrep("", ofrepUser, "If-None-Match", all.Header.Get("ETag")).do(s)
	ofrep("flag-bool", ofrepUser).do(s) // quota
	ofrep("secret", "{").do(s)
	got := scrape(t, s)
	for _, want := range []string{
		`flagstaff_http_requests_total{route="/ofrep/v1/evaluate/flags",status="200"} 1`,
		`flagstaff_http_requests_total{route="/ofrep/v1/evaluate/flags",status="304"} 1`,
		`flagstaff_http_requests_total{route="/ofrep/v1/evaluate/flags/{key}",status="200"} 1`,
		`flagstaff_http_requests_total{route="/ofrep/v1/evaluate/flags/{key}",status="429"} 1`,
		`flagstaff_http_requests_total{route="/ofrep/v1/evaluate/flags/{key}",status="400"} 1`,
		fmt.Sprint(`flagstaff_flags_evaluated_total `, 1+2*n),
		`flagstaff_quota_limited_total 1`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(got, "secret") {
		t.Error("a key that was asked for is in metrics")
	}
}

// TestOFREPBrowser: pages of other origins may send the headers of the protocol,
// and read the headers of its answers.
func TestOFREPBrowser(t *testing.T) {
	s := newOFREP(t, nil)
	const origin = "https://app.example"
	for _, slash := range []string{"", "/"} {
		c := ofrep("", "", "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,content-type,if-none-match", "Authorization", "")
		c.method, c.target = "OPTIONS", c.target+slash
		resp := c.do(s)
		if h := resp.Header; resp.StatusCode != 204 || h.Get("Access-Control-Allow-Headers") != "authorization,content-type,if-none-match" ||
			!strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") || h.Get("Access-Control-Allow-Origin") != origin {
			t.Errorf("preflight = %d %v", resp.StatusCode, resp.Header)
		}
		c = ofrep("", ofrepUser, "Origin", origin)
		c.target += slash
		resp = c.do(s)
		if h := resp.Header; resp.StatusCode != 200 || h.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "ETag") {
			t.Errorf("POST = %d %v", resp.StatusCode, h)
		}
		c = ofrep("flag-bool", ofrepUser)
		c.target += slash
		ofrepAnswer(t, s, c, 200)
	}
	bare := newServer(t, nil)
	if resp := ofrep("", ofrepUser).do(bare); resp.StatusCode != 404 {
		t.Errorf("without Config.OFREP = %d", resp.StatusCode)
	}
}

// FuzzOFREP: whatever the body, there is an answer of the protocol, and what
// encoding/json takes for an object with a targeting key is evaluated.
func FuzzOFREP(f *testing.F) {
	f.Add([]byte(ofrepUser))
	f.Add([]byte(`{"context":{"targetingKey":1e3,"groups":{"company":"a","company":2},"plan":"pro"}}`))
	f.Add([]byte(`{"context":{"target\u0069ngKey":"\ud800","a\"b":[{}],"groupProperties":{"company":null}},"context":{}}`))
	f.Add([]byte(`{"context":[`))
	s := newOFREP(f, nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, key := range []string{"flag-person", ""} {
			resp := ofrep(key, string(body)).do(s)
			answer := bodyText(t, resp)
			var e evaluation
			if err := json.Unmarshal([]byte(answer), &e); err != nil {
				t.Fatalf("%q: %v in %s", body, err, answer)
			}
			switch {
			case resp.StatusCode == 200 && (key == "" && len(e.Flags) > 0 || e.Key == key && e.Reason != ""):
			case resp.StatusCode == 400 && e.ErrorCode != "" && e.ErrorDetails != "":
			default:
				t.Fatalf("%q = %d %s", body, resp.StatusCode, answer)
			}
			if e.ErrorCode == "PARSE_ERROR" && json.Valid(body) {
				var object map[string]any
				if json.Unmarshal(body, &object) == nil && object != nil {
					t.Fatalf("%q is an object, and is refused: %s", body, answer)
				}
			}
		}
	})
}

// Only codes that the protocol has leave the server: a value of a type that it lacks is
// GENERAL, which the flag, and not the server, is at fault for (wire.md §7.1, §7.2).
func TestRuling90OFREPCodes(t *testing.T) {
	codes := []any{"PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT", "FLAG_NOT_FOUND", "GENERAL"}
	enum := describedBy(t).Components.Schemas["OpenFeatureFailure"].Properties["errorCode"].Enum
	if diff := cmp.Diff(codes, enum); diff != "" {
		t.Errorf("codes in the OpenAPI document (-want +got)\n%s", diff)
	}
	d := decodeDefinitions(t, `{"flags":[
		{"id":1,"key":"list","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"[1,2]"}}},
		{"id":2,"key":"broken","active":true,"filters":{"version":2,"groups":[{}]}}]}`)
	snapshot, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := newOFREP(t, func(c *server.Config) {
		e, r := new(flags.Evaluator), new(server.Registry)
		e.Swap(snapshot)
		r.Set(apiKey, &server.Project{ID: 7, Flags: e})
		c.Projects = r
	})
	all := ofrepAnswer(t, s, ofrep("", ofrepUser), 200)
	for key, status := range map[string]int{"list": 400, "broken": 500} {
		if e := ofrepAnswer(t, s, ofrep(key, ofrepUser), status); e.ErrorCode != "GENERAL" || e.ErrorDetails == "" || e.Value != nil {
			t.Errorf("%s: %+v, want GENERAL", key, e)
		}
		if e := all.of(key); e.ErrorCode != "GENERAL" || e.ErrorDetails == "" || e.Value != nil {
			t.Errorf("%s among all: %+v, want GENERAL", key, e)
		}
	}
	for body, want := range map[string]string{
		`{"context":{"targetingKey":"u"}`: "PARSE_ERROR", `{"context":{}}`: "TARGETING_KEY_MISSING",
		`{"context":{"targetingKey":{}}}`: "INVALID_CONTEXT",
	} {
		if e := ofrepAnswer(t, s, ofrep("list", body), 400); e.ErrorCode != want {
			t.Errorf("%s: %+v, want %s", body, e, want)
		}
	}
	if e := ofrepAnswer(t, s, ofrep("none", ofrepUser), 404); e.ErrorCode != "FLAG_NOT_FOUND" {
		t.Errorf("an unknown flag: %+v", e)
	}
}
