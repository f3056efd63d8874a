package flags_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/internal/reference"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// stored has a flag for each thing that only a server knows (evaluation.md §14.1).
const storedDocument = `{"flags":[
	{"id":1,"key":"everybody","active":true,"filters":{"groups":[{}]}},
	{"id":2,"key":"rollout","active":true,"filters":{"groups":[{"rollout_percentage":50}]}},
	{"id":3,"key":"person","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"},{"key":"city","type":"person","operator":"is_set"},{"key":"distinct_id","type":"person","operator":"is_set"}]}]}},
	{"id":4,"key":"inactive","active":false,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}]}]}},
	{"id":5,"key":"created","active":true,"filters":{"groups":[{"properties":[{"key":"created_at","type":"person_metadata","operator":"is_date_after","value":"2025-01-01"}]}]}},
	{"id":6,"key":"group","active":true,"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"tier","type":"group","group_type_index":0,"value":"gold"},{"key":"$group_key","type":"group","group_type_index":0,"operator":"is_set"}]}]}},
	{"id":7,"key":"static","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":9}]}]}},
	{"id":8,"key":"nested","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":4}]}]}},
	{"id":9,"key":"continuity","active":true,"ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":50}]}},
	{"id":10,"key":"continuity-for-all","active":true,"ensure_experience_continuity":true,"filters":{"groups":[{}]}},
	{"id":11,"key":"early","active":true,"filters":{"feature_enrollment":true,"groups":[]}},
	{"id":12,"key":"dependent","active":true,"filters":{"groups":[{"properties":[{"key":"static","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":["static"]}]}]}},
	{"id":13,"key":"of-inactive","active":true,"filters":{"groups":[{"properties":[{"key":"inactive","type":"flag","operator":"flag_evaluates_to","value":false,"dependency_chain":["inactive"]}]}]}},
	{"id":14,"key":"no-cohort","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":77}]}]}},
	{"id":15,"key":"no-flag","active":true,"filters":{"groups":[{"properties":[{"key":"left-out","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":["left-out"]}]}]}},
	{"id":16,"key":"broken","active":true,"filters":{"groups":7}},
	{"id":17,"key":"client","active":true,"evaluation_runtime":"client","filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}]}]}}
],"group_type_mapping":{"0":"company"},"static_cohorts":[9,3],"cohorts":{"4":{"type":"OR","values":[
	{"key":"id","type":"cohort","value":3},{"key":"id","type":"cohort","value":9,"negation":true},{"key":"seats","type":"person","operator":"gt","value":5}]}}}`

// TestNeedsOf says what each flag looks at that only a server knows (evaluation.md
// §14.1).
func TestNeedsOf(t *testing.T) {
	s := compiled(t, storedDocument)
	for key, want := range map[string]string{
		"everybody": "nothing", "rollout": "nothing", "inactive": "nothing", "continuity-for-all": "nothing", "of-inactive": "nothing",
		"broken":     "a definition that cannot be understood here",
		"unknown":    "nothing",
		"person":     "stored properties of the person (city, plan)",
		"client":     "stored properties of the person (plan)",
		"created":    "when the person was created",
		"group":      "stored properties of the group company (tier)",
		"static":     "membership in the cohorts 9",
		"nested":     "stored properties of the person (seats), membership in the cohorts 3, 9",
		"continuity": "the stored hash key of experience continuity",
		"early":      "stored properties of the person ($feature_enrollment/early)",
		"dependent":  "membership in the cohorts 9",
		"no-cohort":  "a flag or a cohort that is not among the definitions",
		"no-flag":    "a flag or a cohort that is not among the definitions",
	} {
		if got := s.NeedsOf(key); got.String() != want || got.IsZero() != (want == "nothing") {
			t.Errorf("NeedsOf(%s) = %v, want %s", key, got, want)
		}
	}
	if got := (*flags.Snapshot)(nil).NeedsOf("person"); !got.IsZero() {
		t.Errorf("NeedsOf of nothing = %v", got)
	}
}

// TestLacking puts requests that carry more and more (evaluation.md §14.1).
func TestLacking(t *testing.T) {
	s := compiled(t, storedDocument)
	for _, tt := range []struct {
		name    string
		request *flags.Request
		want    []string
	}{
		{"nothing", nil, []string{"person", "created", "static", "nested", "continuity", "early", "dependent", "no-cohort", "no-flag", "broken", "client"}},
		{"a server", &flags.Request{Filter: runtime.Filter{Kind: runtime.Server}}, []string{"person", "created", "static", "nested", "continuity", "early", "dependent", "no-cohort", "no-flag", "broken"}},
		{"a group", &flags.Request{Groups: map[string]string{"company": "acme"}, Keys: []string{"group", "everybody", "group"}}, []string{"group"}},
		{"a group with its property", &flags.Request{
			Groups: map[string]string{"company": "acme"}, GroupProperties: map[string]map[string]any{"company": {"tier": "gold"}}, Keys: []string{"group"},
		}, nil},
		{"one property", &flags.Request{PersonProperties: map[string]any{"plan": "pro"}, Keys: []string{"person", "client"}}, []string{"person"}},
		{"all properties, one null", &flags.Request{
			PersonProperties: map[string]any{"plan": "pro", "city": nil, "seats": 5, "$feature_enrollment/early": false, "__posthog_person_metadata__created_at": "2025-02-01"},
		}, []string{"static", "nested", "continuity", "dependent", "no-cohort", "no-flag", "broken"}},
		{"no cohort", &flags.Request{Cohorts: []int64{}, PersonProperties: map[string]any{"seats": 1}, Keys: []string{"static", "nested", "dependent"}}, nil},
		{"no hash key", &flags.Request{Overrides: map[string]string{}, Keys: []string{"continuity"}}, nil},
		{"no flag", &flags.Request{Keys: []string{}}, nil},
	} {
		got := s.MissingContext(tt.request)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
		for key := range s.Keys() {
			trace, err := s.Explain(key, tt.request)
			if err != nil {
				t.Fatal(err)
			}
			asked := tt.request == nil || tt.request.Keys == nil || slices.Contains(tt.request.Keys, key)
			if lacks := !trace.Lacks.IsZero(); asked && lacks != slices.Contains(got, key) {
				t.Errorf("%s: Explain says that %s lacks %v", tt.name, key, trace.Lacks)
			}
		}
	}
	trace, err := s.Explain("nested", &flags.Request{PersonProperties: map[string]any{"seats": 1}})
	if err != nil || !strings.Contains(trace.String(), "\n  needs what only the server knows: membership in the cohorts 3, 9\n") {
		t.Errorf("Explain = %v, %v", trace, err)
	}
	one := &flags.Request{Keys: []string{"everybody"}}
	if n := testing.AllocsPerRun(100, func() { s.MissingContext(one) }); n > 0 && !raceEnabled {
		t.Errorf("Lacking allocates %v times", n)
	}
}

// TestAnswers puts answers of a server in place of evaluation (evaluation.md §14.1).
func TestAnswers(t *testing.T) {
	s := compiled(t, storedDocument)
	var e flags.Evaluator
	e.Swap(s)
	var variant flags.Result
	if err := variant.UnmarshalJSON([]byte(`{"key":"static","enabled":true,"variant":"new","reason":{"code":"condition_match","condition_index":9},"metadata":{"id":7,"version":3,"payload":"{\"a\":1}"}}`)); err != nil {
		t.Fatal(err)
	}
	r := &flags.Request{DistinctID: "user-1", RemoteResults: &flags.RemoteResults{Results: map[string]flags.Result{
		"static": variant, "person": {Enabled: true}, "created": {Failed: true, Reason: flags.Reason{Code: flags.ErrorOverrides}}, "early": {Failed: true, Reason: flags.Reason{Code: flags.ErrorCohortData}}, "client": {Enabled: true}, "inactive": {Enabled: true}, "unknown": {Enabled: true},
	}, Err: errors.New("half of it")}}
	var payload struct{ A int }
	if !e.Bool("person", r, false) || !e.Bool("static", r, false) || e.Variant("static", r, "") != "new" || e.Variant("person", r, "") != "true" ||
		e.Payload("static", r, &payload) != nil || payload.A != 1 || !errors.Is(e.Payload("person", r, &payload), flags.ErrNoPayload) {
		t.Errorf("the answers do not count: %v", payload)
	}
	if e.Bool("inactive", r, false) || e.Bool("unknown", r, false) || e.Bool("created", r, true) || !e.Bool("early", r, true) || e.Variant("early", r, "x") != "x" || !e.Bool("everybody", r, false) {
		t.Error("an answer counts that should not, or another flag has changed")
	}
	hidden := *r
	hidden.Filter.Kind = runtime.Server
	if _, err := s.Flag("client", &hidden); !errors.Is(err, flags.ErrFiltered) || e.Bool("client", &hidden, false) || !e.Bool("client", r, false) {
		t.Errorf("a hidden flag: %v", err)
	}
	all := s.Evaluate(r)
	for key, want := range map[string]struct{ enabled, unconfirmed, answered bool }{
		"everybody": {true, false, false}, "person": {true, false, true}, "static": {true, false, true}, "created": {false, true, false}, "nested": {true, true, false},
		"client": {true, false, true}, "inactive": {}, "broken": {false, true, false}, "early": {answered: true},
	} {
		one, err := s.Flag(key, r)
		if err != nil || one.Enabled != want.enabled || one.Unconfirmed != want.unconfirmed || one.Remote != want.answered {
			t.Errorf("Flag(%s) = %+v, %v, want %+v", key, one, err, want)
		}
		if got, ok := all.Get(key); key != "inactive" && (!ok || got.Enabled != one.Enabled || got.Unconfirmed != one.Unconfirmed || got.Remote != one.Remote || got.Key != key) {
			t.Errorf("Evaluate has %+v for %s, want %+v", got, key, one)
		}
		trace, err := s.Explain(key, r)
		if err != nil || trace.Enabled != one.Enabled || trace.Unconfirmed != one.Unconfirmed {
			t.Errorf("Explain(%s) = %v, %v", key, trace, err)
		}
	}
	if all.Len() != s.Evaluate(&flags.Request{DistinctID: "user-1"}).Len() || !all.Partial {
		t.Errorf("Evaluate has %d results, Partial %v", all.Len(), all.Partial)
	}
	if got, err := s.Flag("static", r); err != nil || got.OpenFeatureReason() != "TARGETING_MATCH" || got.Value() != "new" || string(got.PayloadJSON()) != `"{\"a\":1}"` {
		t.Errorf("Flag = %+v, %v", got, err)
	}
	if n := testing.AllocsPerRun(100, func() { e.Bool("person", r, false); e.Variant("static", r, "") }); n != 0 && !raceEnabled {
		t.Errorf("answers cost %v allocations", n)
	}
	// Without RemoteResults nothing is marked.
	if got, err := s.Flag("static", &flags.Request{DistinctID: "user-1"}); err != nil || got.Unconfirmed || got.Enabled {
		t.Errorf("Flag = %+v, %v", got, err)
	}
}

// TestResultFromJSON reads what results are written as (evaluation.md §11.1).
func TestResultFromJSON(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"key":"a","enabled":true,"variant":"","reason":{"code":"condition_match","condition_index":0,"description":"x"},"metadata":{"id":1,"version":2,"description":null,"payload":"[1]","has_experiment":false}}`, ""},
		{
			`{"key":"a","enabled":false,"failed":true,"reason":{"code":"c","condition_index":null,"description":"d"},"metadata":{"id":1,"version":2,"description":null,"payload":{"a": [1]},"has_experiment":true}}`,
			`{"key":"a","enabled":false,"failed":true,"reason":{"code":"c","condition_index":null,"description":"d"},"metadata":{"id":1,"version":2,"description":null,"payload":"{\"a\":[1]}","has_experiment":true}}`,
		},
		{
			`{"key":"a","enabled":true,"reason":{"condition_index":-3},"metadata":{"version":null,"payload":null},"more":[1]}`,
			`{"key":"a","enabled":true,"reason":{"code":"","condition_index":null,"description":""},"metadata":{"id":0,"version":0,"description":null,"has_experiment":true}}`,
		},
	} {
		var r flags.Result
		if err := r.UnmarshalJSON([]byte(tt.in)); err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		want := tt.want
		if want == "" {
			want = tt.in
		}
		if got := string(r.AppendJSON(nil)); got != want {
			t.Errorf("read and written:\n%s\nwant\n%s", got, want)
		}
	}
	for in, want := range map[string]string{
		`[]`: "must be an object, not an array", `{"enabled":"yes"}`: "enabled must be true or false, not a string", `{"reason":{"condition_index":1.5}}`: "reason.condition_index", `{`: "flags: result",
	} {
		var r flags.Result
		if err := r.UnmarshalJSON([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

// FuzzResultJSON: what can be read is written in a form that is read as the same.
func FuzzResultJSON(f *testing.F) {
	f.Add([]byte(`{"key":"a","enabled":true,"variant":"v","reason":{"code":"condition_match","condition_index":0,"description":"x"},"metadata":{"id":1,"version":2,"payload":"[1]"}}`))
	f.Add([]byte(`{"metadata":{"payload":{"a":[1.0,null]}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var first, second flags.Result
		if first.UnmarshalJSON(in) != nil {
			return
		}
		written := first.AppendJSON(nil)
		if err := second.UnmarshalJSON(written); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if again := string(second.AppendJSON(nil)); again != string(written) {
			t.Fatalf("%s\nis written as\n%s", written, again)
		}
	})
}

// TestRuling60StaticCohorts reads the ids of cohorts whose members are a list
// (evaluation.md §5.4).
func TestRuling60StaticCohorts(t *testing.T) {
	const filter = `{"flags":[{"id":1,"key":"in","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":3}]}]}},
		{"id":2,"key":"out","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":3,"operator":"not_in"}]}]}}]`
	for _, tt := range []struct {
		name, members string
		member        bool
		in, out       bool
		failed        bool
		problem       string
	}{
		{"a member", `"static_cohorts":[9,3]`, true, true, false, false, ""},
		{"not a member", `"static_cohorts":[3]`, false, false, true, false, ""},
		{"absent", `"cohorts":{}`, true, false, false, true, "does not exist"},
		{"null", `"static_cohorts":null`, true, false, false, true, "does not exist"},
		{"a tree as well, which everybody fulfils", `"static_cohorts":[3],"cohorts":{"3":{"type":"AND","values":[{"type":"AND","values":[]}]}}`, false, false, true, false, "the cohort is among cohorts, too"},
		{"the same in another order", `"cohorts":{"3":{"type":"AND","values":[{"type":"AND","values":[]}]}},"static_cohorts":[3]`, true, true, false, false, "the cohort is among cohorts, too"},
		{"a record as well", `"cohorts":[{"id":3,"is_static":true}],"static_cohorts":[3]`, true, true, false, false, ""},
		{"text", `"static_cohorts":["3"]`, true, false, false, true, "a cohort's id must be an integer"},
		{"no array", `"static_cohorts":{"3":true}`, true, false, false, true, "must be an array of ids"},
		{"another spelling", `"staticCohorts":[3]`, true, false, false, true, "static_cohorts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compiled(t, filter+`,`+tt.members+`}`)
			r := &flags.Request{DistinctID: "user-1"}
			if tt.member {
				r.Cohorts = []int64{3}
			}
			in, _ := s.Flag("in", r)
			out, _ := s.Flag("out", r)
			if in.Enabled != tt.in || out.Enabled != tt.out || in.Failed != tt.failed || out.Failed != tt.failed {
				t.Errorf("in is %+v, out is %+v", in, out)
			}
			if tt.problem == "" && len(s.Problems()) > 0 || tt.problem != "" && !slices.ContainsFunc(s.Problems(), func(p flags.Problem) bool { return strings.Contains(p.Error(), tt.problem) }) {
				t.Errorf("problems: %v\nwant %q", s.Problems(), tt.problem)
			}
		})
	}
}

// TestTimeZone: the zone of the document counts where the options have none
// (evaluation.md §1.1).
func TestTimeZone(t *testing.T) {
	for _, tt := range []struct {
		zone    string
		want    bool
		problem string
	}{
		{`"Asia/Tokyo"`, true, ""},
		{`"UTC"`, false, ""},
		{`null`, false, ""},
		{`"Asia/Nowhere"`, false, "unknown time zone"},
		{`"Local"`, false, "unknown time zone"},
		{`9`, false, "must be a string"},
	} {
		s := compiled(t, `{"flags":[{"id":1,"key":"k","active":true,"filters":{"groups":[{"properties":[
			{"key":"at","type":"person","operator":"is_date_after","value":"2025-06-01 08:00:00"}]}]}}],"timezone":`+tt.zone+`}`)
		got, err := s.Flag("k", &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"at": "2025-06-01T03:00:00Z"}})
		if err != nil || got.Enabled != tt.want {
			t.Errorf("%s: %+v, %v", tt.zone, got, err)
		}
		if p := s.Problems(); tt.problem == "" && len(p) > 0 || tt.problem != "" && (len(p) != 1 || p[0].Severity != flags.SeverityError || !strings.Contains(p[0].Error(), tt.problem)) {
			t.Errorf("%s: problems %v", tt.zone, p)
		}
	}
}

// TestNeedsOfNamesEveryDifference evaluates random flags with what a server stores
// and without it. Where the two differ, NeedsOf, Lacking and Explain say so
// (evaluation.md §14.1).
func TestNeedsOfNamesEveryDifference(t *testing.T) {
	seed, pairs, differ := firstSeed(t), 0, 0
	for end := seed + uint64(fulltest.Count(400, 5_000)); seed < end && !t.Failed(); seed++ {
		g := reference.NewGenerator(seed)
		document := g.Document()
		d, err := flags.Decode(bytes.NewReader(document))
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			r := g.Request()
			r.Geo, r.SurveysOnly = nil, false
			for name := range r.StoredGroups {
				if key := r.Groups[name]; len(key) < 3 || key[0] != '"' {
					delete(r.StoredGroups, name)
				}
			}
			bare := *r
			bare.StoredPerson, bare.StoredGroups, bare.Overrides, bare.Cohorts = nil, nil, nil, nil
			local, ok := goRequest(t, &bare, rand.New(rand.NewPCG(seed, 0)))
			if !ok {
				continue // a group key that Go does not have
			}
			s, err := flags.Compile(d, flags.CompileOptions{TimeZone: r.Zone})
			if err != nil {
				t.Fatal(err)
			}
			var in flags.Input
			fill(t, &in, s, r, everything, nil)
			stored, without := in.Evaluate(), s.Evaluate(local)
			local.Keys = nil
			lacking := s.MissingContext(local)
			for key := range s.Keys() {
				pairs++
				want, inStored := stored.Get(key)
				got, inWithout := without.Get(key)
				if inStored == inWithout && bytes.Equal(want.AppendJSON(nil), got.AppendJSON(nil)) {
					continue
				}
				differ++
				trace, err := s.Explain(key, local)
				if err != nil || s.NeedsOf(key).IsZero() || !slices.Contains(lacking, key) || trace.Lacks.IsZero() {
					request, _ := json.Marshal(r)
					t.Errorf("%s needs %v, lacks %v, is lacking %v\nstored:  %s\nwithout: %s\ndocument: %s\nrequest: %s", key, s.NeedsOf(key), trace, lacking, want.AppendJSON(nil), got.AppendJSON(nil), document, request)
					break
				}
			}
		}
	}
	t.Logf("%d pairs of flag and request, %d differ", pairs, differ)
	if differ < pairs/200 {
		t.Errorf("%d of %d pairs differ: the test is too easy", differ, pairs)
	}
}
