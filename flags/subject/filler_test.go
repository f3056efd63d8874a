package subject_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/subject"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// A fakeStore knows user-1, who is in cohort 8, and the group acme. It writes down
// what it is asked, and fails if it is asked for what broken says.
type fakeStore struct {
	calls  []string
	broken string
}

var errBroken = errors.New("broken")

func (f *fakeStore) note(call string) error {
	f.calls = append(f.calls, call)
	if f.broken != "" && strings.HasPrefix(call, f.broken) {
		return errBroken
	}
	return nil
}

func (f *fakeStore) AppendPerson(_ context.Context, dst []byte, project int64, id string) ([]byte, error) {
	if id == "user-1" {
		dst = append(dst, `{"plan":"pro"}`...)
	}
	return dst, f.note(fmt.Sprintf("person %d %s", project, id))
}

func (f *fakeStore) PersonCreated(_ context.Context, project int64, id string) (created time.Time, err error) {
	if id == "user-1" {
		created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	return created, f.note(fmt.Sprintf("created %d %s", project, id))
}

func (f *fakeStore) AppendGroup(_ context.Context, dst []byte, project int64, groupType, key string) ([]byte, error) {
	if key == "acme" {
		dst = append(dst, `{"tier":"enterprise"}`...)
	}
	return dst, f.note(fmt.Sprintf("group %d %s %s", project, groupType, key))
}

func (f *fakeStore) AppendCohorts(_ context.Context, dst []int64, project int64, id string) ([]int64, error) {
	if id == "user-1" {
		dst = append(dst, 8)
	}
	return dst, f.note(fmt.Sprintf("cohorts %d %s", project, id))
}

func (f *fakeStore) Overrides(_ context.Context, project int64, id, anonymous string, keys []string, found func(flagKey, hashKey string)) error {
	if err := f.note(fmt.Sprintf("overrides %d %s %q %q", project, id, anonymous, keys)); err != nil {
		return err
	}
	found("continuity", "half") // which is in the half that has the flag
	return nil
}

type fakeLocator map[string]string

func (f fakeLocator) Properties(netip.Addr) iter.Seq2[string, string] { return maps.All(f) }

// document has a flag for each kind of knowledge.
const document = `{"group_type_mapping": {"0": "company"}, "flags": [
	{"id": 1, "key": "person", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "value": "pro"}]}]}},
	{"id": 2, "key": "group", "active": true, "filters": {"aggregation_group_type_index": 0,
		"groups": [{"properties": [{"key": "tier", "type": "group", "group_type_index": 0, "value": "enterprise"}]}]}},
	{"id": 3, "key": "cohort", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "value": 8}]}]}},
	{"id": 4, "key": "continuity", "active": true, "ensure_experience_continuity": true, "filters": {"groups": [{"rollout_percentage": 50}]}},
	{"id": 5, "key": "geo", "active": true, "filters": {"groups": [{"properties": [{"key": "$geoip_country_code", "type": "person", "value": "AT"}]}]}}],
	"cohorts": [{"id": 8, "name": "friends", "is_static": true}]}`

func TestFill(t *testing.T) {
	const all = `"groups":{"company":"acme"}`
	client := subject.Request{Addr: netip.MustParseAddr("192.0.2.1"), ContinuityFlags: []string{"continuity"}}
	calls := []string{"person 7 user-1", "group 7 company acme", "cohorts 7 user-1", `overrides 7 user-1 "" ["continuity"]`}
	for _, tt := range []struct {
		name, members string
		request       subject.Request
		readOnly      bool
		broken        string
		calls         []string
		failures      []subject.Failure
		want          string // the flags that are on
	}{
		{"everything", all, client, false, "", calls, nil, "person group cohort continuity geo"},
		{
			"nothing that the request says itself", all + `,"person_properties":{"plan":"free","$geoip_country_code":"DE"},"flag_keys":["group","geo"]`,
			client, false, "",
			[]string{"group 7 company acme"},
			nil, "group",
		},
		{
			"only the person of the request", `"person_properties":{"x":1}`,
			subject.Request{RequestPersonOnly: true},
			false, "",
			[]string{"cohorts 7 user-1", `overrides 7 user-1 "" []`},
			nil, "cohort continuity",
		},
		{
			"no place", `"flag_keys":["geo"],"geoip_disable":true`, client, false, "",
			[]string{"person 7 user-1"},
			nil, "",
		},
		{
			"a person that was anonymous", `"flag_keys":["continuity"],"$anon_distinct_id":"anon"`, client, false, "",
			[]string{`overrides 7 user-1 "anon" ["continuity"]`},
			nil, "continuity",
		},
		{
			"a person that was anonymous, and nothing is stored", `"flag_keys":["continuity"],"$anon_distinct_id":"anon"`, client, true, "",
			[]string{"created 7 user-1", `overrides 7 user-1 "" ["continuity"]`},
			nil, "continuity",
		},
		{
			"a person that does not exist, and nothing is stored", `"distinct_id":"user-2","flag_keys":["continuity"],"person_properties":{"$anon_distinct_id":"anon"}`,
			client, true, "",
			[]string{"created 7 user-2", `overrides 7 anon "" ["continuity"]`},
			nil, "continuity",
		},
		{
			"an ID as it is stored", `"distinct_id":"` + strings.Repeat("ä", 201) + `","flag_keys":["cohort"]`, client, false, "",
			[]string{"cohorts 7 " + strings.Repeat("ä", 200)},
			nil, "",
		},
		{
			"no person", `"distinct_id":"",` + all, client, false, "",
			[]string{"group 7 company acme"},
			nil, "group continuity geo",
		},
		{"persons fail", all, client, false, "person", calls, []subject.Failure{{What: "person", Err: errBroken}}, "group cohort continuity geo"},
		{"groups fail", all, client, false, "group", calls, []subject.Failure{{What: "group", Err: errBroken}}, "person cohort continuity geo"},
		{"cohorts fail", all, client, false, "cohorts", calls, []subject.Failure{{What: "cohorts", Err: errBroken}}, "person group continuity geo"},
		{"overrides fail", all, client, false, "overrides", calls, []subject.Failure{{What: "overrides", Err: errBroken}}, "person group cohort geo"},
		{
			"creation fails", `"flag_keys":["continuity"],"$anon_distinct_id":"anon"`, client, true, "created",
			[]string{"created 7 user-1"},
			[]subject.Failure{{What: "overrides", Err: errBroken}},
			"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r wire.Request
			if err := r.Parse([]byte(`{"distinct_id":"user-1",` + tt.members + `}`)); err != nil {
				t.Fatal(err)
			}
			var one, two flags.Input
			snapshot := compile(document)
			for _, in := range []*flags.Input{&one, &two} {
				if err := r.Fill(in, snapshot, runtime.All, time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			store := &fakeStore{broken: tt.broken}
			filler := subject.Filler{Store: store, Locator: fakeLocator{"$geoip_country_code": "AT"}, ReadOnly: tt.readOnly}
			tt.request.Request, tt.request.Project = &r, 7
			failures := filler.Fill(t.Context(), tt.request, &one, &two)
			if diff := cmp.Diff(tt.failures, failures, cmpopts.EquateErrors(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.calls, store.calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			for _, in := range []*flags.Input{&one, &two} {
				var on []string
				for key, result := range in.Evaluate().All() {
					if result.Enabled {
						on = append(on, key)
					}
				}
				if got := strings.Join(on, " "); got != tt.want {
					t.Errorf("on: %s, want %s", got, tt.want)
				}
			}
		})
	}
}

// A silentStore answers nothing before its context ends.
type silentStore struct{ subject.Store }

func (silentStore) AppendPerson(ctx context.Context, dst []byte, _ int64, _ string) ([]byte, error) {
	<-ctx.Done()
	return dst, ctx.Err()
}

func (silentStore) AppendGroup(ctx context.Context, dst []byte, _ int64, _, _ string) ([]byte, error) {
	<-ctx.Done()
	return dst, ctx.Err()
}

func (silentStore) AppendCohorts(ctx context.Context, dst []int64, _ int64, _ string) ([]int64, error) {
	<-ctx.Done()
	return dst, ctx.Err()
}

func (silentStore) Overrides(ctx context.Context, _ int64, _, _ string, _ []string, _ func(string, string)) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestFillTimeout: all reads of a request have one deadline together.
func TestFillTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r wire.Request
		if err := r.Parse([]byte(`{"distinct_id":"user-1","groups":{"company":"acme"}}`)); err != nil {
			t.Fatal(err)
		}
		var in flags.Input
		if err := r.Fill(&in, compile(document), runtime.All, time.Now()); err != nil {
			t.Fatal(err)
		}
		filler := subject.Filler{Store: silentStore{}, Timeout: time.Second}
		start := time.Now()
		failures := filler.Fill(t.Context(), subject.Request{Request: &r, Project: 7}, &in)
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
		var want []subject.Failure
		for _, what := range []string{"person", "group", "cohorts", "overrides"} {
			want = append(want, subject.Failure{What: what, Err: context.DeadlineExceeded})
		}
		if diff := cmp.Diff(want, failures, cmpopts.EquateErrors()); diff != "" {
			t.Errorf("failures (-want +got):\n%s", diff)
		}
	})
}
