package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/runtime"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

var (
	now = time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)
	env = wire.Envelope{RequestID: "5b2f0f0e-6d0a-4f2e-9a55-0f2e1f7c9d11", EvaluatedAt: now}
)

// compile reads testdata/definitions.json, with extra members of the document.
func compile(t testing.TB, extra string) *flags.Snapshot {
	t.Helper()
	b, err := os.ReadFile("testdata/definitions.json")
	if err != nil {
		t.Fatal(err)
	}
	b = append([]byte("{"+extra), bytes.TrimPrefix(bytes.TrimSpace(b), []byte("{"))...)
	d, err := flags.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fill parses a body and fills an Input.
func fill(t testing.TB, s *flags.Snapshot, body string) *flags.Input {
	t.Helper()
	var (
		r  wire.Request
		in flags.Input
	)
	if err := r.Parse([]byte(body)); err != nil {
		t.Fatalf("Parse(%s): %v", body, err)
	}
	if err := r.Fill(&in, s, runtime.Server, now); err != nil {
		t.Fatalf("Fill of %s: %v", body, err)
	}
	return &in
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatalf("%s is not JSON: %v\n%s", name, err, got)
	}
	pretty.WriteByte('\n')
	path := filepath.Join("testdata", "golden", name+".json")
	if *update {
		if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

const request = `{"token":"t","distinct_id":"user-1","groups":{"company":"acme"},"person_properties":{"plan":"free"},` +
	`"group_properties":{"company":{"tier":"enterprise"}}}`

func TestGolden(t *testing.T) {
	s := compile(t, "")
	minimal := compile(t, `"minimal_flag_called_events":true,`)
	config, limited := env, env
	config.Config = []byte(`"config":{"enable_collect_everything":true},"isAuthenticated":false`)
	limited.QuotaLimited = []string{"feature_flags"}
	in := func(s *flags.Snapshot, body string) *flags.Input { return fill(t, s, body) }

	for _, tt := range []struct {
		name string
		got  []byte
	}{
		{"v2", answerOf(wire.AppendResponse(nil, s, in(s, request), env))},
		{"v2-config", answerOf(wire.AppendResponse(nil, s, in(s, `{"flag_keys":["flag-bool"]}`), config))},
		{"v2-keys", answerOf(wire.AppendResponse(nil, s, in(s, `{"flag_keys":["flag-bool"]}`), env))},
		{"v2-minimal", answerOf(wire.AppendResponse(nil, minimal, in(minimal, `{"flag_keys":["flag-bool"]}`), env))},
		{"v2-not-ready", answerOf(wire.AppendResponse(nil, nil, nil, config))},
		{"v2-detailed", answerOf(wire.AppendDetailed(nil, wire.V2, s, in(s, request), env))},
		{"v2-quota", wire.AppendEmpty(nil, wire.V2, limited)},
		{"v2-empty-config", wire.AppendEmpty(nil, wire.V2, config)},
		{"values", answerOf(wire.AppendLegacy(nil, wire.Values, s, in(s, request), env))},
		{"values-not-ready", answerOf(wire.AppendLegacy(nil, wire.Values, nil, nil, env))},
		{"values-quota", wire.AppendEmpty(nil, wire.Values, limited)},
		{"enabled-values", answerOf(wire.AppendLegacy(nil, wire.EnabledValues, s, in(s, request), config))},
		{"enabled-values-quota", wire.AppendEmpty(nil, wire.EnabledValues, limited)},
		{"enabled-keys", answerOf(wire.AppendLegacy(nil, wire.EnabledKeys, s, in(s, request), env))},
		{"enabled-keys-quota", wire.AppendEmpty(nil, wire.EnabledKeys, limited)},
	} {
		t.Run(tt.name, func(t *testing.T) { golden(t, tt.name, tt.got) })
	}
}

func answerOf(b []byte, _ flags.Outcome) []byte { return b }

// TestMemberOrder looks at the bytes, which golden files in readable form do
// not show.
func TestMemberOrder(t *testing.T) {
	s := compile(t, `"minimal_flag_called_events":true,`)
	e := env
	e.QuotaLimited = []string{"a", "b"}
	e.Config = []byte(`"x":1`)
	got, _ := wire.AppendResponse([]byte("before "), s, fill(t, s, `{"flag_keys":[]}`), e)
	want := `before {"flags":{},"errorsWhileComputingFlags":false,"quotaLimited":["a","b"],"requestId":"5b2f0f0e-6d0a-4f2e-9a55-0f2e1f7c9d11",` +
		`"evaluatedAt":1795176000123,"minimalFlagCalledEvents":true,"x":1}`
	if string(got) != want {
		t.Errorf("AppendResponse = %s\nwant %s", got, want)
	}
}

func TestOutcome(t *testing.T) {
	s := compile(t, "")
	failed := env
	failed.Partial = true
	for _, tt := range []struct {
		name string
		s    *flags.Snapshot
		env  wire.Envelope
		want flags.Outcome
	}{
		{"all is well", s, env, flags.Outcome{Flags: 1}},
		{"stored data could not be read", s, failed, flags.Outcome{Flags: 1, Partial: true}},
		{"nothing loaded", nil, env, flags.Outcome{Partial: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := `{"flag_keys":["flag-bool"]}`
			for _, form := range []wire.Form{wire.V2, wire.Values, wire.EnabledValues, wire.EnabledKeys} {
				b, got := wire.AppendLegacy(nil, form, tt.s, fill(t, s, body), tt.env)
				if got != tt.want || bytes.Contains(b, []byte(`"errorsWhileComputingFlags":true`)) != tt.want.Partial {
					t.Errorf("AppendLegacy, form %d = %s, %+v, want %+v", form, b, got, tt.want)
				}
			}
			b, got := wire.AppendDetailed(nil, wire.V2, tt.s, fill(t, s, body), tt.env)
			if got != tt.want || bytes.Contains(b, []byte(`"errorsWhileComputingFlags":true`)) != tt.want.Partial {
				t.Errorf("AppendDetailed = %s, %+v, want %+v", b, got, tt.want)
			}
		})
	}
}

func TestFill(t *testing.T) {
	s := compile(t, "")
	for _, tt := range []struct {
		name, body, flag string
		want             any // nil: not in the answer
	}{
		{"person", `{"distinct_id":"u","person_properties":{"plan":"pro"}}`, "flag-person", true},
		{"no person", `{"distinct_id":"u"}`, "flag-person", false},
		{"group", `{"groups":{"company":"acme"},"group_properties":{"company":{"tier":"enterprise"}}}`, "flag-group", true},
		{"no group", `{"group_properties":{"company":{"tier":"enterprise"}}}`, "flag-group", false},
		{"escaped group", `{"groups":{"c\u006fmpany":"acme"},"group_properties":{"\u0063ompany":{"tier":"enterprise"}}}`, "flag-group", true},
		{"group properties null", `{"groups":{"company":"acme"},"group_properties":{"company":null}}`, "flag-group", false},
		{"last duplicate group", `{"groups":{"company":"acme","company":""},"group_properties":{"company":{"tier":"enterprise"}}}`, "flag-group", false},
		{"last duplicate group properties", `{"groups":{"company":"acme"},"group_properties":{"company":{"tier":"enterprise"},"company":{"a":1}}}`, "flag-group", false},
		{"last duplicate of many group properties", `{"groups":{"company":"acme"},"group_properties":{"company":{"tier":"enterprise"},` +
			manyGroups() + `"company":{"a":1}}}`, "flag-group", false},
		{"many groups", `{"groups":{"company":"acme"},"group_properties":{` + manyGroups() + `"company":{"tier":"enterprise"}}}`, "flag-group", true},
		{"contexts", `{"evaluation_contexts":["other"]}`, "flag-tagged", nil},
		{"matching contexts", `{"evaluation_contexts":["other","checkout"]}`, "flag-tagged", true},
		{"runtime of the caller", `{}`, "flag-client", nil},
		{"runtime of the body", `{"evaluation_runtime":"client"}`, "flag-client", true},
		{"keys", `{"flag_keys":["flag-bool"]}`, "flag-off", nil},
		{"anonymous id", `{"distinct_id":"u-1","$anon_distinct_id":"u-2"}`, "flag-continuity", false},
		{"without anonymous id", `{"distinct_id":"u-1"}`, "flag-continuity", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := wire.AppendLegacy(nil, wire.Values, s, fill(t, s, tt.body), env)
			var answer struct{ FeatureFlags map[string]any }
			if err := json.Unmarshal(got, &answer); err != nil {
				t.Fatal(err)
			}
			if answer.FeatureFlags[tt.flag] != tt.want {
				t.Errorf("%s of %s = %v, want %v", tt.flag, tt.body, answer.FeatureFlags[tt.flag], tt.want)
			}
		})
	}
}

func manyGroups() string {
	var b strings.Builder
	for _, c := range "abcdefghijklmnopqrstuvwxyzabc" {
		b.WriteString(`"` + string(c) + `":{"tier":"enterprise"},`)
	}
	return b.String()
}

func TestFillErrors(t *testing.T) {
	s := compile(t, "")
	for _, tt := range []struct {
		name string
		r    wire.Request
	}{
		{"groups", wire.Request{Groups: []byte(`[]`)}},
		{"person", wire.Request{Person: []byte(`{"a":}`)}},
		{"group properties", wire.Request{GroupProperties: []byte(`1`)}},
		{"properties of a group", wire.Request{GroupProperties: []byte(`{"company":1}`)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.r.Fill(new(flags.Input), s, runtime.All, now); err == nil {
				t.Error("no error")
			}
			if err := tt.r.Fill(nil, nil, runtime.All, now); err != nil {
				t.Errorf("without a snapshot: %v", err)
			}
		})
	}
}

func TestGroupKey(t *testing.T) {
	var r wire.Request
	if err := r.Parse([]byte(`{"groups":{"company":"acme","a":12,"b":1.50,"d":null,"e":"","f":"x","f":"y\u00e9","\u0067":"z"}}`)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"company": "acme", "a": "12", "b": "1.5", "d": "", "e": "", "f": "yé", "g": "z", "missing": "",
	} {
		if got := r.GroupKey(name); got != want {
			t.Errorf("GroupKey(%q) = %q, want %q", name, got, want)
		}
	}
	if got := new(wire.Request).GroupKey("company"); got != "" {
		t.Errorf("GroupKey of no groups = %q", got)
	}
}

func TestPersonText(t *testing.T) {
	var r wire.Request
	if err := r.Parse([]byte(`{"person_properties":{"a":"b","c":1,"d":"e","d":"\u0066","g":"h","g":null,"\u0069":"j"}}`)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "b", "c": "", "d": "f", "g": "", "i": "j", "missing": ""} {
		if got := r.PersonText(name); got != want {
			t.Errorf("PersonText(%q) = %q, want %q", name, got, want)
		}
	}
	if got := new(wire.Request).PersonText("a"); got != "" {
		t.Errorf("PersonText without properties = %q", got)
	}
}

func TestQuery(t *testing.T) {
	for _, tt := range []struct {
		raw  string
		want wire.Query
	}{
		{"", wire.Query{}},
		{"v=2", wire.Query{Version: 2}},
		{"v=2&config=true", wire.Query{Version: 2, Config: true, HasConfig: true}},
		{"config=1", wire.Query{Config: true, HasConfig: true}},
		{"config=True", wire.Query{Config: true, HasConfig: true}},
		{"config=false", wire.Query{HasConfig: true}},
		{"config", wire.Query{}},
		{"config=yes", wire.Query{Config: true, HasConfig: true}},
		{"v=", wire.Query{Version: 1}},
		{"v=abc", wire.Query{Version: 1}},
		{"v=-2", wire.Query{Version: 1}},
		{"v=2.0", wire.Query{Version: 1}},
		{"v=0", wire.Query{Version: 1}},
		{"v=99999999999999999999999", wire.Query{Version: 1_000_000}},
		{"version=3", wire.Query{Version: 3}},
		{"version=3&v=2", wire.Query{Version: 2}},
		{"v=2&v=1", wire.Query{Version: 2}},
		{"v=%32&%76=1", wire.Query{Version: 2}},
		{"v=%zz&v=2", wire.Query{Version: 2}},
		{"&&=&=2&v=2&", wire.Query{Version: 2}},
		{"compression=gzip-js&_=1795220311000&ver=1.310.1&ip=0", wire.Query{Compression: "gzip-js"}},
		{"compression=a%2Bb+c", wire.Query{Compression: "a+b c"}},
		{
			"only_evaluate_survey_feature_flags=true&only_use_override_person_properties=true&detailed_analysis=true",
			wire.Query{SurveysOnly: true, RequestPersonOnly: true, Detailed: true},
		},
	} {
		q := wire.Query{Version: 7, Compression: "left over"}
		if err := q.Parse(tt.raw); err != nil || q != tt.want {
			t.Errorf("Parse(%q) = %+v (%v), want %+v", tt.raw, q, err, tt.want)
		}
	}
	for raw, want := range map[string]string{
		"v=2&config=maybe":                                               `wire: parameter config is "maybe", want true or false (or 1, t, yes, on; 0, f, no, off)`,
		"detailed_analysis=%00":                                          `wire: parameter detailed_analysis is "\x00", want true or false (or 1, t, yes, on; 0, f, no, off)`,
		"only_evaluate_survey_feature_flags=2&config=2":                  `wire: parameter config is "2", want true or false (or 1, t, yes, on; 0, f, no, off)`,
		"only_use_override_person_properties=" + strings.Repeat("x", 99): `wire: parameter only_use_override_person_properties is "` + strings.Repeat("x", 60) + `…", want true or false (or 1, t, yes, on; 0, f, no, off)`,
	} {
		err := new(wire.Query).Parse(raw)
		if _, ok := errors.AsType[*wire.QueryError](err); !ok || err.Error() != want {
			t.Errorf("Parse(%q): %v, want %s", raw, err, want)
		}
	}
}

func TestForms(t *testing.T) {
	for v, want := range []wire.Form{wire.V2, wire.Values, wire.V2, wire.V3, wire.V3} {
		if got := wire.FlagsForm(v); got != want {
			t.Errorf("FlagsForm(%d) = %d, want %d", v, got, want)
		}
	}
	for v, want := range []wire.Form{wire.EnabledKeys, wire.EnabledKeys, wire.EnabledValues, wire.Values, wire.V2, wire.V2} {
		if got := wire.DecideForm(v); got != want {
			t.Errorf("DecideForm(%d) = %d, want %d", v, got, want)
		}
	}
}

func TestResponseAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var (
		s   = compile(t, "")
		q   wire.Query
		r   wire.Request
		in  flags.Input
		dst []byte
		e   = env
		b   = []byte(body)
	)
	e.QuotaLimited = []string{"feature_flags"}
	e.Config = []byte(`"config":{}`)
	if n := testing.AllocsPerRun(100, func() {
		q.Parse("v=2&config=true")
		if r.Parse(b) != nil || r.Fill(&in, s, runtime.Client, now) != nil {
			t.Fatal("a body was refused")
		}
		in.Needs()
		dst, _ = wire.AppendResponse(dst[:0], s, &in, e)
	}); n != 0 {
		t.Errorf("a request allocates %v times, want 0", n)
	}
}

// FuzzResponse feeds bodies and envelopes to everything that writes responses:
// they are JSON and say the same as the results in Go.
func FuzzResponse(f *testing.F) {
	s := compile(f, "")
	f.Add([]byte(body), "id", "feature_flags")
	f.Add([]byte(request), "\xff\"\\\n\u2028", "")
	f.Add([]byte(`{"groups":{"company":"a","company":1},"group_properties":{"company":{"tier":1},"company":{}},"flag_keys":["flag-bool"]}`), "", "\x00")
	f.Fuzz(func(t *testing.T, body []byte, id, quota string) {
		var (
			r  wire.Request
			in flags.Input
		)
		if r.Parse(body) != nil {
			return
		}
		if err := r.Fill(&in, s, runtime.Unknown, now); err != nil {
			t.Fatalf("Fill of %q: %v", body, err)
		}
		e := wire.Envelope{RequestID: id, EvaluatedAt: now, QuotaLimited: []string{quota}}
		results := in.Evaluate()

		v2, out := wire.AppendResponse(nil, s, &in, e)
		var answer struct {
			Flags                     map[string]json.RawMessage
			ErrorsWhileComputingFlags bool
			RequestID                 string
			QuotaLimited              []string
		}
		if err := json.Unmarshal(v2, &answer); err != nil {
			t.Fatalf("AppendResponse for %q is not JSON: %v\n%s", body, err, v2)
		}
		if valid := strings.ToValidUTF8(id, ""); valid == id && (answer.RequestID != id || !json.Valid(v2)) {
			t.Fatalf("requestId %q for %q", answer.RequestID, id)
		}
		if len(answer.Flags) != results.Len() || out.Flags != results.Len() || answer.ErrorsWhileComputingFlags != results.Partial {
			t.Fatalf("AppendResponse for %q = %s, %+v, want %d flags, partial %v", body, v2, out, results.Len(), results.Partial)
		}
		for key, result := range results.All() {
			want, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			var a, b any
			json.Unmarshal(want, &a)
			json.Unmarshal(answer.Flags[key], &b)
			if diff := cmp.Diff(a, b); diff != "" {
				t.Fatalf("flag %q for %q (-want +got):\n%s", key, body, diff)
			}
		}

		values, _ := wire.AppendLegacy(nil, wire.Values, s, &in, e)
		enabled, _ := wire.AppendLegacy(nil, wire.EnabledValues, s, &in, e)
		keys, _ := wire.AppendLegacy(nil, wire.EnabledKeys, s, &in, e)
		var all struct {
			FeatureFlags        map[string]any
			FeatureFlagPayloads map[string]any
		}
		var some struct{ FeatureFlags map[string]any }
		var list struct{ FeatureFlags []string }
		if json.Unmarshal(values, &all) != nil || json.Unmarshal(enabled, &some) != nil || json.Unmarshal(keys, &list) != nil {
			t.Fatalf("legacy forms for %q:\n%s\n%s\n%s", body, values, enabled, keys)
		}
		for key, result := range results.All() {
			if all.FeatureFlags[key] != result.Value() {
				t.Fatalf("legacy value of %q = %v, want %v", key, all.FeatureFlags[key], result.Value())
			}
			if _, ok := all.FeatureFlagPayloads[key]; ok != (result.Metadata.Payload != "") {
				t.Fatalf("legacy payload of %q: %v", key, all.FeatureFlagPayloads[key])
			}
			if v, ok := some.FeatureFlags[key]; ok != result.Enabled || ok && v != result.Value() {
				t.Fatalf("legacy enabled value of %q = %v", key, v)
			}
		}
		if len(list.FeatureFlags) != len(some.FeatureFlags) || len(all.FeatureFlags) != results.Len() {
			t.Fatalf("legacy forms for %q:\n%s\n%s\n%s", body, values, enabled, keys)
		}

		detailed, _ := wire.AppendDetailed(nil, wire.V2, s, &in, e)
		if !json.Valid(detailed) {
			t.Fatalf("AppendDetailed for %q: %s", body, detailed)
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	var (
		s   = compile(b, "")
		r   wire.Request
		in  flags.Input
		dst []byte
		doc = []byte(body)
	)
	b.ReportAllocs()
	for b.Loop() {
		if r.Parse(doc) != nil || r.Fill(&in, s, runtime.Client, now) != nil {
			b.Fatal("refused")
		}
		dst, _ = wire.AppendResponse(dst[:0], s, &in, env)
	}
}
