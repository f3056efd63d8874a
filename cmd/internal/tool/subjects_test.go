package tool

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	ffruntime "github.com/flagstaff-go/flagstaff/runtime"
)

// TestSubjects: a line is a distinct ID or a request.
func TestSubjects(t *testing.T) {
	for line, want := range map[string]*flags.Request{
		`user 1`: {DistinctID: "user 1"},
		`"u"`:    {DistinctID: `"u"`},
		`{"distinct_id":7,"$device_id":"d","$anon_distinct_id":"a","groups":{"company":"acme","team":3,"none":null},` +
			`"group_properties":{"company":{"tier":"free"}},"person_properties":{"n":7},"evaluation_contexts":["shop"],"evaluation_runtime":"server","flag_keys":["beta"]}`: {
			DistinctID: "7", DeviceID: "d", AnonymousID: "a", Groups: map[string]string{"company": "acme", "team": "3"},
			GroupProperties: map[string]map[string]any{"company": {"tier": "free"}}, Filter: ffruntime.Filter{Kind: ffruntime.Server, Tags: []string{"shop"}}, Keys: []string{"beta"},
		},
	} {
		got, err := subjectOf([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if n := got.PersonProperties["n"]; n != nil && fmt.Sprint(n) != "7" {
			t.Errorf("%s: n is %v", line, n)
		}
		got.PersonProperties = nil
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	for _, line := range []string{`{`, `{"distinct_id":"a","groups":7}`, `{"distinct_id":{}}x`, `{}`} {
		if r, err := subjectOf([]byte(line)); err == nil {
			t.Errorf("%s is %+v, want an error", line, r)
		}
	}
}

func FuzzSubject(f *testing.F) {
	f.Add([]byte(`{"distinct_id":"u","groups":{"a":1},"person_properties":{"n":NaN},"group_properties":{"a":null}}`))
	f.Add([]byte("user-1"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) == 0 {
			return
		}
		if r, err := subjectOf(line); (r == nil) == (err == nil) {
			t.Errorf("%q: %+v, %v", line, r, err)
		}
	})
}
