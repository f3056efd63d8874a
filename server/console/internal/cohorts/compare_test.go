package cohorts_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// TestCompareCohorts: two cohorts stand side by side, field by field, and what is the same in both is
// folded.
func TestCompareCohorts(t *testing.T) {
	s := consoletest.NewSite(t)
	const (
		pro   = `{"key":"plan","type":"person","operator":"exact","value":"pro"}`
		loyal = `{"key":"logins","type":"person","operator":"gt","value":7}`
		team  = `{"key":"plan","type":"person","operator":"exact","value":"team"}`
	)
	made := func(name, fields string) int64 { return s.Cohort(`{"name":"` + name + `",` + fields + `}`).ID }
	dynamic := func(name, kind, values string) int64 {
		return made(name, `"filters":{"properties":{"type":"`+kind+`","values":[`+values+`]}}`)
	}
	a := dynamic("A", "AND", pro+","+loyal)
	reader := made("Readers", `"is_static":true,"description":"They read."`)
	both := func(change string) string {
		return fmt.Sprintf(`{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":%d},
			{"key":"id","type":"cohort","value":%d}]}]}%s}`, a, reader, change)
	}
	s.Update("retired", both(""))
	s.Update("checkout-button", fmt.Sprintf(`{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":%d}]}]}}`, a))
	tests := []struct {
		name            string
		other           int64
		different, same string
	}{
		{
			"itself", a, "The two cohorts are the same.",
			"name A type dynamic persons 9 match all of these are true criterion 1 plan is pro criterion 2 logins > 7 " +
				"used by checkout-button (flag), retired (flag, off)",
		},
		{
			"a criterion before others", dynamic("B", "AND", team+","+pro+","+loyal),
			"A B name A B persons 9 0 criterion 1 nothing plan is team used by checkout-button (flag), retired (flag, off) nothing",
			"type dynamic match all of these are true criterion 2 plan is pro criterion 3 logins > 7",
		},
		{
			"a group", dynamic("C", "OR", `{"type":"OR","values":[`+pro+`,`+team+`]},`+loyal),
			"match all of these are true one of these is true group 1 plan is pro plan is pro or plan is team used by",
			"criterion 2 logins > 7",
		},
		{
			"what no words tell", dynamic("D", "AND", strings.Replace(pro, `"operator":"exact",`, "", 1)+","+loyal),
			`criterion 1 {"key":"plan","operator":"exact","type":"person","value":"pro"} {"key":"plan","type":"person","value":"pro"}`,
			"logins > 7",
		},
		{
			"a list", reader,
			"name A Readers type dynamic static persons 9 0 description nothing They read. match all of these are true nothing " +
				"criterion 1 plan is pro nothing criterion 2 logins > 7 nothing " +
				"used by checkout-button (flag), retired (flag, off) retired (flag, off)", "",
		},
	}
	consoletest.Fatal(t, s.Service.CountCohorts(t.Context()))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.T = t
			page := s.Get(fmt.Sprintf("/projects/1/cohorts/compare?one=%d&other=%d", a, tt.other)).Want(200)
			page.CheckPage()
			different, same, _ := strings.Cut(consoletest.Words(page.Body), " same in both ")
			if !strings.Contains(different, tt.different) || !strings.Contains(same, tt.same) {
				t.Errorf("want %q different and %q the same:\n%s\n%s", tt.different, tt.same, different, same)
			}
		})
	}
	s.T = t
	for _, other := range []string{"", "x", "999999", `"><b>`} {
		query := url.Values{"one": {strconv.FormatInt(a, 10)}, "other": {other}}
		s.Get("/projects/1/cohorts/compare?" + query.Encode()).Want(404).CheckPage()
	}
	page := s.Get(consoletest.CohortPath(a)).Want(200, "Compare with…")
	if page.CheckPage(); strings.Contains(page.Body, fmt.Sprintf(`<option value="%d">A<`, a)) {
		t.Error("the page offers to compare the cohort with itself")
	}
}
