package openfeature_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	of "github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/isolated"
	"github.com/open-feature/go-sdk/openfeature/telemetry"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/openfeature"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// document has a flag for each row of the tables of wire.md §7.2 and §7.3.
const document = `{"flags":[
	{"id":1,"key":"on","active":true,"version":3,"has_experiment":false,"filters":{"groups":[{}],"payloads":{"true":"{\"a\":[1]}"}}},
	{"id":2,"key":"off","active":true,"filters":{"groups":[{"rollout_percentage":0}]}},
	{"id":3,"key":"inactive","active":false,"filters":{"groups":[{}]}},
	{"id":4,"key":"pro","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}]}},
	{"id":5,"key":"share","active":true,"filters":{"groups":[{"rollout_percentage":99.999}]}},
	{"id":6,"key":"variant","active":true,"version":7,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"test","rollout_percentage":100}]},"payloads":{"test":{"n":1}}}},
	{"id":7,"key":"variant-off","active":true,"filters":{"groups":[{"rollout_percentage":0}],"multivariate":{"variants":[{"key":"test","rollout_percentage":100}]}}},
	{"id":8,"key":"integer","active":true,"filters":{"groups":[{"variant":"42"}],"multivariate":{"variants":[{"key":"42","rollout_percentage":100}]},"payloads":{"42":7}}},
	{"id":9,"key":"float","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":" 0.5","rollout_percentage":100}]}}},
	{"id":10,"key":"whole","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"1e3","rollout_percentage":100}]}}},
	{"id":11,"key":"infinite","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"inf","rollout_percentage":100}]}}},
	{"id":12,"key":"list","active":true,"filters":{"groups":[{}],"payloads":{"true":"[1,\"a\"]"}}},
	{"id":13,"key":"config","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"{\"a\":1}"}}},
	{"id":14,"key":"config-text","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"hello"}}},
	{"id":15,"key":"config-string","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"\"hi\""}}},
	{"id":16,"key":"config-number","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"12"}}},
	{"id":17,"key":"config-false","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"false"}}},
	{"id":18,"key":"config-none","active":true,"is_remote_configuration":true,"filters":{"groups":[{}]}},
	{"id":19,"key":"held-out","active":true,"filters":{"groups":[{}],"holdout":{"id":7,"exclusion_percentage":100}}},
	{"id":29,"key":"config-held-out","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"holdout":{"id":7,"exclusion_percentage":100},"payloads":{"true":"1"}}},
	{"id":20,"key":"broken","active":true,"filters":{"version":2,"groups":[{}]}},
	{"id":21,"key":"missing","active":true,"filters":{"groups":[{"properties":[{"key":"99","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
	{"id":22,"key":"company","active":true,"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"tier","type":"group","group_type_index":0,"operator":"exact","value":"enterprise"}]}]}},
	{"id":23,"key":"company-12","active":true,"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"$group_key","type":"group","group_type_index":0,"operator":"exact","value":"12"}]}]}},
	{"id":24,"key":"device","active":true,"bucketing_identifier":"device_id","filters":{"groups":[{"rollout_percentage":99.999}]}},
	{"id":25,"key":"tagged","active":true,"evaluation_contexts":["docs"],"filters":{"groups":[{}]}},
	{"id":26,"key":"server","active":true,"evaluation_runtime":"server","filters":{"groups":[{}]}},
	{"id":27,"key":"sees-groups","active":true,"filters":{"groups":[{"properties":[{"key":"groups","type":"person","operator":"is_set"}]},{"properties":[{"key":"targetingKey","type":"person","operator":"is_set"}]},{"properties":[{"key":"team","type":"person","operator":"is_set"}]}]}},
	{"id":28,"key":"adult","active":true,"filters":{"groups":[{"properties":[{"key":"age","type":"person","operator":"gte","value":18}]}]}}
],"group_type_mapping":{"0":"company"}}`

func compile(t testing.TB, document string) *flags.Snapshot {
	t.Helper()
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newClient returns a client of its own API, whose provider has the document.
func newClient(t testing.TB, o openfeature.Options) *of.Client {
	t.Helper()
	e := new(flags.Evaluator)
	e.Swap(compile(t, document))
	return clientOf(t, openfeature.NewProvider(e, o))
}

func clientOf(t testing.TB, p *openfeature.Provider) *of.Client {
	t.Helper()
	api := isolated.NewAPI()
	t.Cleanup(func() {
		if err := api.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := api.SetProviderAndWait(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return api.NewClient()
}

// resolve evaluates a flag as one of the five types.
func resolve(t testing.TB, c *of.Client, kind, key string, context of.EvaluationContext) (any, of.ResolutionDetail) {
	t.Helper()
	ctx := t.Context()
	switch kind {
	case "bool":
		d, _ := c.BooleanValueDetails(ctx, key, true, context)
		return d.Value, d.ResolutionDetail
	case "string":
		d, _ := c.StringValueDetails(ctx, key, "fallback", context)
		return d.Value, d.ResolutionDetail
	case "float":
		d, _ := c.FloatValueDetails(ctx, key, 0.25, context)
		return d.Value, d.ResolutionDetail
	case "int":
		d, _ := c.IntValueDetails(ctx, key, 3, context)
		return d.Value, d.ResolutionDetail
	}
	d, _ := c.ObjectValueDetails(ctx, key, "fallback", context)
	return d.Value, d.ResolutionDetail
}

var fallbacks = map[string]any{"bool": true, "string": "fallback", "float": 0.25, "int": int64(3), "object": "fallback"}

// TestValues checks the tables of wire.md §7.3, and of §7.2 for reasons. An
// evaluation with an error code returns the default.
func TestValues(t *testing.T) {
	c := newClient(t, openfeature.Options{})
	person := of.NewEvaluationContext("user-1", map[string]any{"plan": "pro"})
	for _, tt := range []struct {
		kind, key string
		want      any
		reason    of.Reason
		variant   string
		code      of.ErrorCode
	}{
		{"bool", "on", true, "STATIC", "", ""},
		{"bool", "off", false, "DEFAULT", "", ""},
		{"bool", "inactive", false, "DISABLED", "", ""},
		{"bool", "pro", true, "TARGETING_MATCH", "", ""},
		{"bool", "share", true, "SPLIT", "", ""},
		{"bool", "variant", true, "STATIC", "test", ""},
		{"bool", "variant-off", false, "DEFAULT", "", ""},
		{"bool", "held-out", true, "SPLIT", "holdout-7", ""},
		{"bool", "config", nil, "", "", of.TypeMismatchCode},
		{"bool", "config-false", false, "STATIC", "", ""},
		{"bool", "broken", nil, "", "", of.ParseErrorCode},
		{"bool", "missing", nil, "", "", of.GeneralCode},
		{"bool", "nobody", nil, "", "", of.FlagNotFoundCode},

		{"string", "variant", "test", "STATIC", "test", ""},
		{"string", "integer", "42", "TARGETING_MATCH", "42", ""},
		{"string", "held-out", "holdout-7", "SPLIT", "holdout-7", ""},
		{"string", "on", nil, "", "", of.TypeMismatchCode},
		{"string", "off", "fallback", "DEFAULT", "", ""},
		{"string", "variant-off", "fallback", "DEFAULT", "", ""},
		{"string", "inactive", "fallback", "DISABLED", "", ""},
		{"string", "config-text", "hello", "STATIC", "", ""},
		{"string", "config-string", "hi", "STATIC", "", ""},
		{"string", "config-number", nil, "", "", of.TypeMismatchCode},
		{"string", "config-none", "fallback", "DEFAULT", "", ""},
		{"string", "config-held-out", "holdout-7", "SPLIT", "holdout-7", ""},
		{"string", "broken", nil, "", "", of.ParseErrorCode},
		{"string", "nobody", nil, "", "", of.FlagNotFoundCode},

		{"int", "integer", int64(42), "TARGETING_MATCH", "42", ""},
		{"int", "whole", int64(1000), "STATIC", "1e3", ""},
		{"int", "float", nil, "", "", of.TypeMismatchCode},
		{"int", "infinite", nil, "", "", of.TypeMismatchCode},
		{"int", "variant", nil, "", "", of.TypeMismatchCode},
		{"int", "on", nil, "", "", of.TypeMismatchCode},
		{"int", "config-number", int64(12), "STATIC", "", ""},
		{"int", "config-none", int64(3), "DEFAULT", "", ""},
		{"int", "config-held-out", nil, "", "", of.TypeMismatchCode},
		{"int", "off", int64(3), "DEFAULT", "", ""},
		{"int", "nobody", nil, "", "", of.FlagNotFoundCode},

		{"float", "float", 0.5, "STATIC", " 0.5", ""},
		{"float", "integer", 42.0, "TARGETING_MATCH", "42", ""},
		{"float", "infinite", nil, "", "", of.TypeMismatchCode},
		{"float", "variant", nil, "", "", of.TypeMismatchCode},
		{"float", "config-number", 12.0, "STATIC", "", ""},
		{"float", "config", nil, "", "", of.TypeMismatchCode},
		{"float", "off", 0.25, "DEFAULT", "", ""},
		{"float", "nobody", nil, "", "", of.FlagNotFoundCode},

		{"object", "on", map[string]any{"a": []any{1.0}}, "STATIC", "", ""},
		{"object", "variant", map[string]any{"n": 1.0}, "STATIC", "test", ""},
		{"object", "list", []any{1.0, "a"}, "STATIC", "", ""},
		{"object", "config", map[string]any{"a": 1.0}, "STATIC", "", ""},
		{"object", "integer", nil, "", "", of.TypeMismatchCode},
		{"object", "share", nil, "", "", of.TypeMismatchCode},
		{"object", "config-text", nil, "", "", of.TypeMismatchCode},
		{"object", "off", "fallback", "DEFAULT", "", ""},
		{"object", "nobody", nil, "", "", of.FlagNotFoundCode},
	} {
		if tt.code != "" {
			tt.want, tt.reason = fallbacks[tt.kind], of.ErrorReason
		}
		got, d := resolve(t, c, tt.kind, tt.key, person)
		if diff := cmp.Diff(tt.want, got); diff != "" || d.Reason != tt.reason || d.Variant != tt.variant || d.ErrorCode != tt.code {
			t.Errorf("%s %s: %v, %+v; want %+v", tt.kind, tt.key, got, d, tt)
		}
		if (d.ErrorMessage != "") != (tt.code != "") {
			t.Errorf("%s %s: error message %q", tt.kind, tt.key, d.ErrorMessage)
		}
	}
}

// TestRuling61RemoteConfiguration: the payload is the value for every type, and of
// no other type (wire.md §7.3).
func TestRuling61RemoteConfiguration(t *testing.T) {
	const off = `{"rollout_percentage":0}`
	for _, tt := range []struct {
		payload, members string
		want             map[string]any // by type; nil: all defaults; others: TYPE_MISMATCH
	}{
		{`"true"`, `{}`, map[string]any{"bool": true}},
		{`"false"`, `{}`, map[string]any{"bool": false}},
		{`true`, `{}`, map[string]any{"bool": true}},
		{`"\"true\""`, `{}`, map[string]any{"string": "true"}},
		{`"\"12\""`, `{}`, map[string]any{"string": "12"}},
		{`"hello"`, `{}`, map[string]any{"string": "hello"}},
		{`"Infinity"`, `{}`, map[string]any{"string": "Infinity"}},
		{`"0x10"`, `{}`, map[string]any{"string": "0x10"}},
		{`" 12 "`, `{}`, map[string]any{"int": int64(12), "float": 12.0}},
		{`12.5`, `{}`, map[string]any{"float": 12.5}},
		{`"-1e3"`, `{}`, map[string]any{"int": int64(-1000), "float": -1000.0}},
		{`"{\"a\":1}"`, `{}`, map[string]any{"object": map[string]any{"a": 1.0}}},
		{`"[1]"`, `{}`, map[string]any{"object": []any{1.0}}},
		{`"null"`, `{}`, nil},
		{`null`, `{}`, nil},
		{`""`, `{}`, nil},
		{`"true"`, off, nil},
		{`"12"`, off, nil},
	} {
		e := new(flags.Evaluator)
		e.Swap(compile(t, `{"flags":[{"id":1,"key":"config","active":true,"is_remote_configuration":true,"filters":{"groups":[`+tt.members+`],"payloads":{"true":`+tt.payload+`}}}]}`))
		c := clientOf(t, openfeature.NewProvider(e, openfeature.Options{}))
		for kind, fallback := range fallbacks {
			got, d := resolve(t, c, kind, "config", of.NewEvaluationContext("user-1", nil))
			want, reason, code := tt.want[kind], of.StaticReason, of.ErrorCode("")
			switch {
			case tt.want == nil:
				want, reason = fallback, of.DefaultReason
			case want == nil:
				want, reason, code = fallback, of.ErrorReason, of.TypeMismatchCode
			}
			if diff := cmp.Diff(want, got); diff != "" || d.Reason != reason || d.ErrorCode != code {
				t.Errorf("%s of %s with %s: %v, %+v; want %v, %s %s", kind, tt.payload, tt.members, got, d, want, reason, code)
			}
		}
	}
}

// TestRemoteResults: the server's value for a flag that needs it, and no question for others.
func TestRemoteResults(t *testing.T) {
	e := new(flags.Evaluator)
	e.Swap(compile(t, `{"flags":[{"id":1,"key":"vip","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":3}]}]}},
		{"id":2,"key":"plain","active":true,"filters":{"groups":[{}]}}],"static_cohorts":[3]}`))
	var asked []string
	answers := &flags.RemoteResults{Results: map[string]flags.Result{"vip": {Enabled: true}}}
	c := clientOf(t, openfeature.NewProvider(e, openfeature.Options{RemoteResults: func(_ context.Context, r *flags.Request) *flags.RemoteResults {
		asked = append(asked, r.DistinctID)
		return answers
	}}))
	person := of.NewEvaluationContext("user-1", nil)
	for _, tt := range []struct {
		key               string
		want, unconfirmed bool
	}{{"vip", true, false}, {"plain", true, false}, {"vip", false, true}} {
		got, d := resolve(t, c, "bool", tt.key, person)
		if mark, _ := d.FlagMetadata.GetBool("unconfirmed"); got != tt.want || mark != tt.unconfirmed {
			t.Errorf("%s = %v, %+v; want %+v", tt.key, got, d, tt)
		}
		if tt.key == "plain" {
			answers = &flags.RemoteResults{Err: errors.New("down")}
		}
	}
	if diff := cmp.Diff([]string{"user-1", "user-1"}, asked); diff != "" {
		t.Errorf("asked (-want +got)\n%s", diff)
	}
}

// telemetryHook keeps the telemetry that OpenFeature's SDK makes of evaluations.
type telemetryHook struct {
	of.UnimplementedHook
	events []telemetry.EvaluationEvent
}

func (h *telemetryHook) Finally(_ context.Context, c of.HookContext, d of.InterfaceEvaluationDetails, _ of.HookHints) {
	h.events = append(h.events, telemetry.CreateEvaluationEvent(c, d))
}

// TestTelemetry: the SDK's own telemetry finds the version, the set and the person.
func TestTelemetry(t *testing.T) {
	hook := new(telemetryHook)
	c := newClient(t, openfeature.Options{FlagSetID: "shop", DefaultID: "nobody", Hooks: []of.Hook{hook}})
	resolve(t, c, "bool", "on", of.NewTargetlessEvaluationContext(nil))
	want := []telemetry.EvaluationEvent{{Name: "feature_flag.evaluation", Attributes: map[string]any{
		"feature_flag.key": "on", "feature_flag.provider.name": "flagstaff", "feature_flag.set.id": "shop", "feature_flag.version": "3",
		"feature_flag.context.id": "nobody", "feature_flag.result.value": true, "feature_flag.result.reason": "static",
	}}}
	if diff := cmp.Diff(want, hook.events); diff != "" {
		t.Errorf("telemetry (-want +got)\n%s", diff)
	}
}

func TestMetadata(t *testing.T) {
	c := newClient(t, openfeature.Options{})
	person := of.NewEvaluationContext("user-1", nil)
	for key, want := range map[string]of.FlagMetadata{
		"on":       {"flagId": int64(1), "version": "3", "contextId": "user-1", "reason": "condition_match", "conditionIndex": 0, "payload": `{"a":[1]}`, "hasExperiment": false},
		"inactive": {"flagId": int64(3), "version": "0", "contextId": "user-1", "reason": "flag_disabled", "hasExperiment": true},
		"nobody":   {},
	} {
		_, d := resolve(t, c, "bool", key, person)
		if diff := cmp.Diff(want, d.FlagMetadata); diff != "" {
			t.Errorf("%s (-want +got)\n%s", key, diff)
		}
	}
	if name := openfeature.NewProvider(nil, openfeature.Options{}).Metadata().Name; name != "flagstaff" {
		t.Errorf("Name %q", name)
	}
	if name := openfeature.NewProvider(nil, openfeature.Options{Name: "x"}).Metadata().Name; name != "x" {
		t.Errorf("Name %q", name)
	}
}

// TestContext checks how an evaluation context becomes a request (wire.md
// §7.2).
func TestContext(t *testing.T) {
	tier := map[string]any{"tier": "enterprise"}
	for _, tt := range []struct {
		name, key string
		target    string
		context   map[string]any
		want      any // false, true or an error code
	}{
		{"person property", "pro", "u", map[string]any{"plan": "pro"}, true},
		{"another one", "pro", "u", map[string]any{"plan": "free"}, false},
		{"Go integer", "adult", "u", map[string]any{"age": 20}, true},
		{"Go number of JSON", "adult", "u", map[string]any{"age": json.Number("17")}, false},
		{"no targeting key", "on", "", nil, of.TargetingKeyMissingCode},
		{"no targeting key for a flag that is not there", "nobody", "", nil, of.TargetingKeyMissingCode},
		{"group", "company", "u", map[string]any{"groups": map[string]any{"company": "acme"}, "groupProperties": map[string]any{"company": tier, "x": nil}}, true},
		{"group with typed maps", "company", "u", map[string]any{"groups": map[string]string{"company": "acme"}, "groupProperties": map[string]map[string]any{"company": tier}}, true},
		{"group without properties", "company", "u", map[string]any{"groups": map[string]any{"company": "acme"}}, false},
		{"no group", "company", "u", map[string]any{"groupProperties": map[string]any{"company": tier}}, false},
		{"group key that is an integer", "company-12", "u", map[string]any{"groups": map[string]any{"company": 12}}, true},
		{"group key that is a float", "company-12", "u", map[string]any{"groups": map[string]any{"company": float32(12)}}, true},
		{"group key that is neither", "company-12", "u", map[string]any{"groups": map[string]any{"company": []string{"12"}}}, false},
		{"group key that is not JSON", "company-12", "u", map[string]any{"groups": map[string]any{"company": func() {}}}, false},
		{"nothing where groups belong", "on", "u", map[string]any{"groups": nil, "groupProperties": nil, "$device_id": nil, "evaluation_contexts": nil}, true},
		{"groups of another type", "on", "u", map[string]any{"groups": "acme"}, of.InvalidContextCode},
		{"group properties of another type", "on", "u", map[string]any{"groupProperties": 1}, of.InvalidContextCode},
		{"group properties of another type, inside", "on", "u", map[string]any{"groupProperties": map[string]any{"company": 1}}, of.InvalidContextCode},
		{"device", "device", "u", map[string]any{"$device_id": "d"}, true},
		{"no device", "device", "u", nil, false},
		{"device of another type", "on", "u", map[string]any{"$device_id": 1}, of.InvalidContextCode},
		{"evaluation context", "tagged", "u", map[string]any{"evaluation_contexts": []string{"docs"}}, true},
		{"evaluation contexts as JSON", "tagged", "u", map[string]any{"evaluation_contexts": []any{"app", "docs"}}, true},
		{"other evaluation context", "tagged", "u", map[string]any{"evaluation_contexts": []any{"app"}}, of.FlagNotFoundCode},
		{"evaluation contexts of another type", "on", "u", map[string]any{"evaluation_contexts": []any{1}}, of.InvalidContextCode},
		{"evaluation context of another type", "on", "u", map[string]any{"evaluation_contexts": "docs"}, of.InvalidContextCode},
		{"reserved members are not person properties", "sees-groups", "u", map[string]any{"groups": map[string]any{}}, false},
		{"a property beside them", "sees-groups", "u", map[string]any{"groups": map[string]any{}, "team": "a"}, true},
	} {
		before := maps.Clone(tt.context)
		c := newClient(t, openfeature.Options{})
		got, err := c.BooleanValueDetails(t.Context(), tt.key, true, of.NewEvaluationContext(tt.target, tt.context))
		if code, wrong := tt.want.(of.ErrorCode); wrong {
			if err == nil || got.ErrorCode != code || !got.Value {
				t.Errorf("%s: %+v, want %s", tt.name, got, code)
			}
		} else if err != nil || got.Value != tt.want {
			t.Errorf("%s: %+v, want %v", tt.name, got, tt.want)
		}
		if len(before) != len(tt.context) {
			t.Errorf("%s: the context was changed", tt.name)
		}
	}
}

func TestInvalidContextShowsNoValue(t *testing.T) {
	p := openfeature.NewProvider(nil, openfeature.Options{})
	d := p.BooleanEvaluation(t.Context(), "on", true, of.FlattenedContext{"targetingKey": "u"})
	if err := d.Error(); !d.Value || err == nil || !strings.Contains(err.Error(), string(of.ProviderNotReadyCode)) {
		t.Errorf("without definitions: %+v", d)
	}
	e := new(flags.Evaluator)
	e.Swap(compile(t, document))
	p = openfeature.NewProvider(e, openfeature.Options{})
	d = p.BooleanEvaluation(t.Context(), "on", true, of.FlattenedContext{"targetingKey": []byte("secret")})
	if err := d.Error(); err == nil || !strings.Contains(err.Error(), "targetingKey must be a string") {
		t.Errorf("%+v", d)
	}
}

func TestDefaultID(t *testing.T) {
	c := newClient(t, openfeature.Options{DefaultID: "anybody"})
	if got, d := resolve(t, c, "string", "variant", of.EvaluationContext{}); got != "test" {
		t.Errorf("%v %+v", got, d)
	}
}

func TestFilter(t *testing.T) {
	c := newClient(t, openfeature.Options{Filter: runtime.Filter{Kind: runtime.Client, Tags: []string{"app"}}})
	person := of.NewEvaluationContext("u", nil)
	for _, key := range []string{"server", "tagged"} {
		if _, d := resolve(t, c, "bool", key, person); d.ErrorCode != of.FlagNotFoundCode {
			t.Errorf("%s: %+v", key, d)
		}
	}
	if got, d := resolve(t, c, "bool", "tagged", of.NewEvaluationContext("u", map[string]any{"evaluation_contexts": []string{"docs"}})); got != true || d.ErrorCode != "" {
		t.Errorf("%+v", d)
	}
}

// A recorder is a Reporter that keeps everything it receives.
type recorder struct {
	events    []capture.ClientEvent
	exposures []capture.Exposure
}

func (r *recorder) Capture(e capture.ClientEvent) error {
	r.events = append(r.events, e)
	return errors.New("full")
}

func (r *recorder) Exposed(e capture.Exposure) { r.exposures = append(r.exposures, e) }

var _ openfeature.Reporter = (*capture.Client)(nil)

func TestTrack(t *testing.T) {
	r := new(recorder)
	c := newClient(t, openfeature.Options{Reporter: r, DefaultID: "anybody"})
	person := of.NewEvaluationContext("user-1", map[string]any{"plan": "pro", "groups": map[string]any{"company": "acme"}})
	c.Track(t.Context(), "bought", person, of.NewTrackingEventDetails(9.5).Add("currency", "EUR"))
	c.Track(t.Context(), "left", of.EvaluationContext{}, of.TrackingEventDetails{})
	c.Track(t.Context(), "odd", of.NewEvaluationContext("u", map[string]any{"groups": 1}), of.NewTrackingEventDetails(0).Add("value", "own"))
	want := []capture.ClientEvent{
		{Name: "bought", DistinctID: "user-1", Properties: map[string]any{"currency": "EUR", "value": 9.5}, Groups: map[string]string{"company": "acme"}},
		{Name: "left", DistinctID: "anybody", Properties: map[string]any{}},
		{Name: "odd", DistinctID: "u", Properties: map[string]any{"value": "own"}},
	}
	if diff := cmp.Diff(want, r.events); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	newClient(t, openfeature.Options{}).Track(t.Context(), "dropped", person, of.TrackingEventDetails{})
	if len(r.exposures) != 0 {
		t.Errorf("exposures %v", r.exposures)
	}
}

func TestExposures(t *testing.T) {
	r := new(recorder)
	c := newClient(t, openfeature.Options{Reporter: r, Exposures: true})
	groups := map[string]string{"company": "acme"}
	person := of.NewEvaluationContext("user-1", map[string]any{"groups": groups})
	for _, key := range []string{"variant", "off", "nobody", "broken"} {
		resolve(t, c, "bool", key, person)
	}
	groups["company"] = "other"
	own := map[string]string{"company": "acme"}
	want := []capture.Exposure{
		{DistinctID: "user-1", Flag: "variant", Variant: "test", Enabled: true, ID: 6, Version: 7, Reason: "Matched condition set 1", Groups: own},
		{DistinctID: "user-1", Flag: "off", ID: 2, Reason: "Out of rollout bound", Groups: own},
	}
	if diff := cmp.Diff(want, r.exposures); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A counter is a hook that counts.
type counter struct {
	of.UnimplementedHook
	finally int
}

func (c *counter) Finally(context.Context, of.HookContext, of.InterfaceEvaluationDetails, of.HookHints) {
	c.finally++
}

func TestHooks(t *testing.T) {
	h := new(counter)
	c := newClient(t, openfeature.Options{Hooks: []of.Hook{h}})
	resolve(t, c, "bool", "on", of.NewEvaluationContext("u", nil))
	resolve(t, c, "bool", "nobody", of.NewEvaluationContext("u", nil))
	if h.finally != 2 {
		t.Errorf("the hook ran %d times", h.finally)
	}
}

// TestAllocations checks that an evaluation allocates only its metadata.
func TestAllocations(t *testing.T) {
	p := openfeature.NewProvider(plain(t), openfeature.Options{})
	flat := of.FlattenedContext{"targetingKey": "user-1", "plan": "pro", "email": "jo@acme.example", "age": 42}
	ctx := t.Context()
	const metadata = 5 // the map takes two, and each text in it one
	if n := testing.AllocsPerRun(200, func() { p.BooleanEvaluation(ctx, "pro", false, flat) }); n > metadata {
		t.Errorf("BooleanEvaluation allocates %v times, its metadata %v", n, metadata)
	}
}

// plain returns an Evaluator whose flags do not read reserved names.
func plain(t testing.TB) *flags.Evaluator {
	e := new(flags.Evaluator)
	e.Swap(compile(t, strings.Replace(document, `"key":"targetingKey"`, `"key":"other"`, 1)))
	return e
}

func BenchmarkBoolean(b *testing.B) {
	p := openfeature.NewProvider(plain(b), openfeature.Options{})
	flat := of.FlattenedContext{"targetingKey": "user-1", "plan": "pro", "email": "jo@acme.example", "age": 42}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		p.BooleanEvaluation(ctx, "pro", false, flat)
	}
}
