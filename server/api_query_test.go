package server_test

import (
	"net/url"
	"slices"
	"testing"

	"github.com/flagstaff-go/flagstaff/server"
)

// FuzzValuesOf: the values of a parameter are the values that net/url finds.
func FuzzValuesOf(f *testing.F) {
	for _, query := range []string{
		"", "a", "a=", "a=1", "a=1&a=2&b=3", "a=%zz&a=2", "%61=1", "a=1;2&a=3", "a;b=1", "&&a=1&", "=1&a==1", "a=x+y%20z", "%=1&a=%", "a=%00", "a=%ff",
	} {
		f.Add(query, "a")
		f.Add(query, "")
	}
	f.Fuzz(func(t *testing.T, query, name string) {
		want, _ := url.ParseQuery(query) // as net/http does
		if got := slices.Collect(server.ValuesOf(query, name)); !slices.Equal(got, want[name]) {
			t.Errorf("ValuesOf(%q, %q) = %q, want %q", query, name, got, want[name])
		}
	})
}

// TestRuling57Lists: a list of IDs has all values, with commas, repeated, or with
// brackets behind the name (management.md §11.3).
func TestRuling57Lists(t *testing.T) {
	a := newManaged(t, nil)
	const path = "/api/projects/1/surveys/responses_count/?"
	const id, other = "019c0a11-2f30-7000-8c4e-1a2b3c4d5e6f", "019c0a22-8e10-7000-ab6d-7a8b9c0d1e2f"
	for _, query := range []string{
		"survey_ids=" + id, "survey_ids=" + id + ",%20," + other, "survey_ids=" + id + "&survey_ids=" + other,
		"survey_ids[]=" + id + "&survey_ids%5B%5D=" + other, "survey_ids=" + id + "&survey_ids[]=" + other, "survey_ids=", "survey_ids[]=",
	} {
		a.ok(api("GET", path+query, ""))
	}
	for _, query := range []string{
		"survey_ids=x", "survey_ids=x&survey_ids=" + id, "survey_ids=" + id + "&survey_ids=x", "survey_ids[]=x", "survey_ids=" + id + "&survey_ids[]=x", "survey_ids=" + id + ";" + other + "&survey_ids=x",
	} {
		a.fails(api("GET", path+query, ""), 400, "invalid_input")
	}
}
