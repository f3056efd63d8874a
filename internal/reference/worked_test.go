package reference_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// short is the part of a result that most examples mention.
type short struct {
	Enabled bool
	Variant string
	Code    string
	Index   int
}

// check evaluates and compares. A flag that is not in want must not be in the
// results.
func check(t *testing.T, document string, request *reference.Request, want map[string]short, wantPartial bool) {
	t.Helper()
	results, partial := parse(t, document).Evaluate(request)
	got := map[string]short{}
	for _, r := range results {
		got[r.Key] = short{r.Enabled, r.Variant, r.Code, r.Index}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("Evaluate(%s): -want +got:\n%s", document, diff)
	}
	if partial != wantPartial {
		t.Errorf("Evaluate(%s): partial = %v, want %v", document, partial, wantPartial)
	}
}

// requestJSON returns a request for a distinct id with person properties.
func requestJSON(distinctID, person string) *reference.Request {
	return &reference.Request{DistinctID: distinctID, Person: json.RawMessage(person), Now: now}
}

// TestCompleteExample checks §1.6.
func TestCompleteExample(t *testing.T) {
	const document = `{"flags":[
 {"id":101,"team_id":7,"key":"checkout","name":"New checkout","active":true,"deleted":false,
  "ensure_experience_continuity":false,"version":4,"evaluation_runtime":"all","evaluation_contexts":[],
  "bucketing_identifier":null,"has_experiment":true,"has_encrypted_payloads":false,
  "filters":{
   "aggregation_group_type_index":null,
   "groups":[
    {"properties":[{"key":"email","type":"person","operator":"icontains","value":"@acme.com"}],"rollout_percentage":100,"variant":"test"},
    {"properties":[],"rollout_percentage":45.5,"variant":null}],
   "multivariate":{"variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]},
   "payloads":{"test":"{\"color\":\"blue\"}"},
   "holdout":{"id":42,"exclusion_percentage":10}}}],
 "group_type_mapping":{"0":"company"},"cohorts":{}}`
	for _, tt := range []struct {
		distinctID string
		want       reference.Result
	}{
		{"user-1", reference.Result{
			Key: "checkout", Enabled: true, Variant: "test", HasVariant: true, Code: "condition_match", Index: 1,
			Description: "Matched condition set 2", ID: 101, Version: 4, Payload: json.RawMessage(`"{\"color\":\"blue\"}"`), HasExperiment: true,
		}},
		{"user-7", reference.Result{
			Key: "checkout", Enabled: true, Variant: "holdout-42", HasVariant: true, Code: "holdout_condition_value", Index: -1,
			Description: "Holdout condition value", ID: 101, Version: 4, HasExperiment: true,
		}},
	} {
		got := evaluate(t, document, &reference.Request{DistinctID: tt.distinctID})["checkout"]
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("Evaluate(%s): -want +got:\n%s", tt.distinctID, diff)
		}
	}
}

// TestDeviceWithoutID checks which conditions can do without a device id
// (§2.6).
func TestDeviceWithoutID(t *testing.T) {
	out := short{Code: "out_of_rollout_bound"}
	for _, tt := range []struct {
		condition, variants string
		want                short
	}{
		{`{}`, `[{"key":"a","rollout_percentage":40},{"key":"b","rollout_percentage":100}]`, out},
		{`{}`, `[{"key":"a","rollout_percentage":100},{"key":"b","rollout_percentage":40}]`, short{true, "a", "condition_match", 0}},
		{`{}`, `[{"key":"a","rollout_percentage":0},{"key":"b","rollout_percentage":0}]`, short{true, "", "condition_match", 0}},
		{`{}`, `[{"key":"a","rollout_percentage":50}]`, short{true, "a", "condition_match", 0}},
		{`{"variant":"b"}`, `[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]`, short{true, "b", "condition_match", 0}},
		{`{"variant":"c"}`, `[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]`, out},
		{`{"rollout_percentage":150}`, `[]`, out}, // is not 100
		{`{"rollout_percentage":99.9}`, `[]`, out},
	} {
		document := fmt.Sprintf(`{"flags":[{"key":"k","active":true,"bucketing_identifier":"device_id",
			"filters":{"early_exit":true,"groups":[%s],"multivariate":{"variants":%s}}}]}`, tt.condition, tt.variants)
		check(t, document, &reference.Request{DistinctID: "user-1"}, map[string]short{"k": tt.want}, false)
	}
}

// TestEnrolment checks the example of §3.3, and the spellings.
func TestEnrolment(t *testing.T) {
	for _, tt := range []struct {
		person  string
		rollout int
		want    short
	}{
		{`{"$feature_enrollment/beta":true}`, 0, short{true, "", "super_condition_value", 0}},
		{`{"$feature_enrollment/beta":"true"}`, 0, short{true, "", "super_condition_value", 0}},
		{`{"$feature_enrollment/beta":"false"}`, 100, short{false, "", "super_condition_value", 0}},
		{`{"$feature_enrollment/beta":"True"}`, 100, short{false, "", "super_condition_value", 0}},
		{`{"$feature_enrollment/beta":1}`, 100, short{false, "", "super_condition_value", 0}},
		{`{}`, 100, short{true, "", "condition_match", 0}},
		{`{"$feature_enrollment/other":true}`, 0, short{false, "", "out_of_rollout_bound", 0}},
	} {
		for _, member := range []string{
			`"feature_enrollment":true`,
			`"super_groups":[{"properties":[{"key":"$feature_enrollment/beta","type":"person","operator":"exact","value":["true"]}]}]`,
		} {
			document := fmt.Sprintf(`{"flags":[{"key":"beta","active":true,"filters":{%s,"groups":[{"rollout_percentage":%d}]}}]}`, member, tt.rollout)
			check(t, document, requestJSON("user-1", tt.person), map[string]short{"beta": tt.want}, false)
		}
	}
}

// TestLegacy checks which legacy members are converted, and which are not
// (§3.3, §13.3).
func TestLegacy(t *testing.T) {
	match := short{true, "", "condition_match", 0}
	for _, tt := range []struct {
		name, member string
		want         short
	}{
		{"two filters", `"super_groups":[{"properties":[{"key":"$feature_enrollment/k"},{"key":"x"}]}]`, match},
		{"another key", `"super_groups":[{"properties":[{"key":"$feature_enrollment/l"}]}]`, match},
		{"feature_enrollment is there", `"feature_enrollment":false,"super_groups":[{"properties":[{"key":"$feature_enrollment/k"}]}]`, match},
		{
			"feature_enrollment is null", `"feature_enrollment":null,"super_groups":[{"properties":[{"key":"$feature_enrollment/k"}]}]`,
			short{true, "", "super_condition_value", 0},
		},
		{"odd super_groups", `"super_groups":{"a":1}`, match},
		{"no percentage is all", `"holdout_groups":[{"variant":"holdout-7"}]`, short{true, "holdout-7", "holdout_condition_value", -1}},
		{"zero", `"holdout_groups":[{"variant":"holdout-7","rollout_percentage":0}]`, match},
		{"no number", `"holdout_groups":[{"variant":"holdout-x"}]`, match},
		{"holdout is there", `"holdout":{"id":1,"exclusion_percentage":0},"holdout_groups":[{"variant":"holdout-7"}]`, match},
		{"holdout without id", `"holdout":{"exclusion_percentage":100}`, match},
		{"holdout over 100", `"holdout":{"id":1,"exclusion_percentage":150}`, short{true, "holdout-1", "holdout_condition_value", -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			person := `{}`
			if tt.want.Code == "super_condition_value" || tt.name == "feature_enrollment is there" {
				person = `{"$feature_enrollment/k":true}`
			}
			document := `{"flags":[{"key":"k","active":true,"filters":{"groups":[{}],` + tt.member + `}}]}`
			check(t, document, requestJSON("user-1", person), map[string]short{"k": tt.want}, false)
		})
	}
}

// TestEarlyExit checks the example of §3.6.
func TestEarlyExit(t *testing.T) {
	for _, tt := range []struct {
		earlyExit bool
		email     string
		want      short
	}{
		{true, "a@x.io", short{false, "", "out_of_rollout_bound", 0}},
		{false, "a@x.io", short{true, "", "condition_match", 1}},
		{true, "a@y.io", short{true, "", "condition_match", 1}},
		{false, "a@y.io", short{true, "", "condition_match", 1}},
	} {
		document := fmt.Sprintf(`{"flags":[{"key":"beta-feature","active":true,"filters":{"early_exit":%v,"groups":[
			{"properties":[{"key":"email","type":"person","operator":"icontains","value":"@x.io"}],"rollout_percentage":10},
			{"rollout_percentage":100}]}}]}`, tt.earlyExit)
		check(t, document, requestJSON("user-1", `{"email":"`+tt.email+`"}`), map[string]short{"beta-feature": tt.want}, false)
	}
}

// TestHoldout checks the example of §13.3, a holdout of 20 %.
func TestHoldout(t *testing.T) {
	const document = `{"flags":[{"key":"k","active":true,"filters":{"holdout":{"id":42,"exclusion_percentage":20},"groups":[{}]}}]}`
	for subject, in := range map[string]bool{"user-1": true, "user-7": true, "user-2": false, "user-8": false} {
		want := short{true, "", "condition_match", 0}
		if in {
			want = short{true, "holdout-42", "holdout_condition_value", -1}
		}
		check(t, document, &reference.Request{DistinctID: subject}, map[string]short{"k": want}, false)
	}
}

// TestHoldoutSubject checks the subject of §13.2. The hashes are: user-1 0.178,
// device-0001 0.349, anon-1 0.646, acme 0.927.
func TestHoldoutSubject(t *testing.T) {
	for _, tt := range []struct {
		name, flag, filters string
		request             reference.Request
		hash                float64
	}{
		{"distinct id", ``, ``, reference.Request{DistinctID: "user-1", DeviceID: "device-0001", AnonymousID: "anon-1"}, 0.178056},
		{"device", `"bucketing_identifier":"device_id",`, ``, reference.Request{DistinctID: "user-1", DeviceID: "device-0001", AnonymousID: "anon-1"}, 0.349123},
		{"no device", `"bucketing_identifier":"device_id",`, ``, reference.Request{DistinctID: "user-1", AnonymousID: "anon-1"}, 0.178056},
		{
			"continuity", `"ensure_experience_continuity":true,`, ``,
			reference.Request{DistinctID: "user-1", AnonymousID: "anon-1", Overrides: map[string]string{"k": "x"}},
			0.645724,
		},
		{
			"continuity without anonymous id", `"ensure_experience_continuity":true,`, ``,
			reference.Request{DistinctID: "user-1", Overrides: map[string]string{"k": "x"}},
			0.178056,
		},
		{
			"group", `"ensure_experience_continuity":true,`, `"aggregation_group_type_index":0,`,
			reference.Request{DistinctID: "user-1", AnonymousID: "anon-1", Groups: map[string]json.RawMessage{"company": json.RawMessage(`"acme"`)}},
			0.926970,
		},
		{"no group", ``, `"aggregation_group_type_index":0,`, reference.Request{DistinctID: "user-1"}, 0.926883},
		{"no subject", ``, ``, reference.Request{}, 0.926883},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for percentage, in := range map[float64]bool{tt.hash*100 - 0.001: false, tt.hash*100 + 0.001: true} {
				document := fmt.Sprintf(`{"group_type_mapping":{"0":"company"},"flags":[{"key":"k","active":true,%s
					"filters":{%s"groups":[],"holdout":{"id":1,"exclusion_percentage":%v}}}]}`, tt.flag, tt.filters, percentage)
				if got := evaluate(t, document, &tt.request)["k"].Enabled; got != in {
					t.Errorf("%v %%: held out = %v, want %v", percentage, got, in)
				}
			}
		})
	}
}

// TestPersonMap checks the example of §8.4: the map has exactly these
// properties.
func TestPersonMap(t *testing.T) {
	want := map[string]string{
		"plan": "free", "$os": "iOS", "$os_name": "iOS", "utm_source": "g", "distinct_id": "u",
		"$initial_os": "iOS", "$initial_utm_source": "g",
	}
	request := requestJSON("u", `{"plan":"free","utm_source":"g"}`)
	request.StoredPerson = json.RawMessage(`{"plan":"pro","$os":"iOS"}`)
	for name, value := range want {
		if got := hasProperty(t, request, name, value); !got {
			t.Errorf("property %s is not %s", name, value)
		}
	}
	for _, name := range []string{"$initial_os_name", "$initial_plan", "$initial_distinct_id", "$initial__kx"} {
		document := `{"flags":[{"key":"k","active":true,"filters":{"groups":[{"properties":[{"key":"` + name + `","operator":"is_set"}]}]}}]}`
		if evaluate(t, document, request)["k"].Enabled {
			t.Errorf("property %s is there", name)
		}
	}
}

// TestGeo checks the example of section 10.
func TestGeo(t *testing.T) {
	request := requestJSON("u", `{}`)
	request.Geo = map[string]string{"$geoip_country_code": "US", "$geoip_city_name": "Berkeley"}
	if !hasProperty(t, request, "$geoip_country_code", "US") {
		t.Error("the looked-up country is not there")
	}
	request.Person = json.RawMessage(`{"$geoip_country_code":"DE"}`)
	if !hasProperty(t, request, "$geoip_country_code", "DE") || !hasProperty(t, request, "$geoip_city_name", "Berkeley") {
		t.Error("want the request's country and the looked-up city")
	}
}

func hasProperty(t *testing.T, request *reference.Request, name, value string) bool {
	t.Helper()
	document := fmt.Sprintf(`{"flags":[{"key":"k","active":true,"filters":{"groups":[{"properties":[{"key":%q,"operator":"exact","value":%q}]}]}}]}`, name, value)
	return evaluate(t, document, request)["k"].Enabled
}

// TestContinuity checks the example of section 12.
func TestContinuity(t *testing.T) {
	const document = `{"flags":[{"key":"beta-feature","active":true,"ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":70}]}}]}`
	stored := map[string]string{"beta-feature": "anon-1"}
	for _, tt := range []struct {
		name    string
		request reference.Request
		want    bool
	}{
		{"anonymous", reference.Request{DistinctID: "anon-1"}, true},
		{"identified, first request", reference.Request{DistinctID: "user-1", AnonymousID: "anon-1"}, true},
		{"identified, rows written", reference.Request{DistinctID: "user-1", AnonymousID: "anon-1", Overrides: stored}, true},
		{"later", reference.Request{DistinctID: "user-1", Overrides: stored}, true},
		{"another device", reference.Request{DistinctID: "user-1", AnonymousID: "anon-2", Overrides: stored}, true},
		{"another device without store", reference.Request{DistinctID: "user-1", AnonymousID: "anon-2"}, false},
		{"nothing known", reference.Request{DistinctID: "user-1"}, false},
		{"row of another flag", reference.Request{DistinctID: "user-1", Overrides: map[string]string{"other": "anon-1"}}, false},
	} {
		if got := evaluate(t, document, &tt.request)["beta-feature"].Enabled; got != tt.want {
			t.Errorf("%s: enabled = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestDocuments checks §1.2, §1.3 and §1.7.
func TestDocuments(t *testing.T) {
	match, broken := short{true, "", "condition_match", 0}, short{false, "", "flag_data_parsing_error", -1}
	for _, tt := range []struct {
		name, document string
		want           map[string]short
		partial        bool
	}{
		{"first of two keys", `{"flags":[{"key":"k","active":true,"filters":{"groups":[{}]}},{"key":"k","active":true}]}`, map[string]short{"k": match}, false},
		{
			"deleted flags free their key", `{"flags":[{"key":"k","active":true,"deleted":true},{"key":"k","active":true,"filters":{"groups":[{}]}}]}`,
			map[string]short{"k": match},
			false,
		},
		{"inactive flags do not", `{"flags":[{"key":"k","active":false},{"key":"k","active":true,"filters":{"groups":[{}]}}]}`, nil, false},
		{"no key", `{"flags":[{"active":true},{"key":"","active":true},{"key":5,"active":true}]}`, nil, false},
		{"version 0", `{"flags":[{"key":"k","active":true,"filters":{"version":0,"groups":[{}]}}]}`, map[string]short{"k": match}, false},
		{"version 1", `{"flags":[{"key":"k","active":true,"filters":{"version":1,"groups":[{}]}}]}`, map[string]short{"k": match}, false},
		{"version 2", `{"flags":[{"key":"k","active":true,"filters":{"version":2,"groups":[{}]}}]}`, map[string]short{"k": broken}, true},
		{
			"version 2 with a missing dependency", `{"flags":[{"key":"k","active":true,"filters":{"version":2,"groups":[{"properties":[{"type":"flag","key":"x"}]}]}}]}`,
			map[string]short{"k": broken},
			true,
		},
		{"filters no object", `{"flags":[{"key":"k","active":true,"filters":[]}]}`, map[string]short{"k": broken}, true},
		{"groups no array", `{"flags":[{"key":"k","active":true,"filters":{"groups":{}}}]}`, map[string]short{"k": broken}, true},
		{"rollout no number", `{"flags":[{"key":"k","active":true,"filters":{"groups":[{"rollout_percentage":"50"}]}}]}`, map[string]short{"k": broken}, true},
		{"names are case-sensitive", `{"flags":[{"key":"k","active":true,"Active":false,"filters":{"groups":[{}],"Groups":[]}}]}`, map[string]short{"k": match}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check(t, tt.document, &reference.Request{DistinctID: "user-1"}, tt.want, tt.partial)
		})
	}
	for _, document := range []string{``, `[]`, `{}`, `{"flags":{}}`, `{"flags":[`} {
		if _, err := reference.Parse([]byte(document)); err == nil {
			t.Errorf("Parse(%s) = nil error", document)
		}
	}
}

// xxhashOfUser4 is the xxHash64 of "beta-feature.user-4", 6722ad41a0cd599c,
// computed by a program in another language from the description of the
// algorithm. §2.8 has the SHA-1 hash.
const xxhashOfUser4 = float64(0x6722ad41a0cd599) / (1 << 60)

// TestBucketingHash checks the last rule of §2.1.
func TestBucketingHash(t *testing.T) {
	for _, tt := range []struct {
		name, document, flag string
		xxhash               bool
	}{
		{"nowhere", ``, ``, false},
		{"on the flag", ``, `"bucketing_hash":"xxhash64",`, true},
		{"on the document", `"bucketing_hash":"xxhash64",`, ``, true},
		{"flag over document", `"bucketing_hash":"xxhash64",`, `"bucketing_hash":"sha1",`, false},
		{"null on the flag", `"bucketing_hash":"xxhash64",`, `"bucketing_hash":null,`, true},
		{"unknown", ``, `"bucketing_hash":"md5",`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hash := 0.41241734366736416
			if tt.xxhash {
				hash = xxhashOfUser4
			}
			for percentage, want := range map[float64]bool{hash*100 - 1e-9: false, hash*100 + 1e-9: true} {
				document := fmt.Sprintf(`{%s"flags":[{"key":"beta-feature","active":true,%s"filters":{"groups":[{"rollout_percentage":%v}]}}]}`,
					tt.document, tt.flag, percentage)
				if got := evaluate(t, document, &reference.Request{DistinctID: "user-4"})["beta-feature"].Enabled; got != want {
					t.Errorf("%v %%: enabled = %v, want %v", percentage, got, want)
				}
			}
		})
	}
}
