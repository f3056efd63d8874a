package cohorts_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

func init() {
	actions = append(actions,
		action{
			Route: "/projects/{project}/cohorts/new", Verb: "save", Why: "nothing uses a new cohort",
			Run: func(s *consoletest.Site) (string, url.Values) {
				form := s.Get("/projects/1/cohorts/new").Form("form")
				return "/projects/1/cohorts/new", consoletest.With(form, "name", "Fresh", "n0.0.key", "plan", "n0.0.operator", "exact",
					"n0.0.value",
					"pro", "do", "save")
			},
		},
		action{Route: "/projects/{project}/cohorts/{cohort}", Verb: "save", Asks: consoletest.Who, Run: func(s *consoletest.Site) (string,
			url.Values,
		) {
			c := s.Cohort(consoletest.Pro)
			s.Update("checkout-button",
				fmt.Sprintf(`{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":%d}],"rollout_percentage":100}]}}`,
					c.ID))
			return consoletest.CohortPath(c.ID), consoletest.With(s.Get(consoletest.CohortPath(c.ID)).Form("form"), "n0.0.value", "free",
				"do", "save")
		}},
		action{
			Route: "/projects/{project}/cohorts/{cohort}", Verb: "delete", Why: "a cohort that flags use is not deleted",
			Run: func(s *consoletest.Site) (string, url.Values) {
				return consoletest.CohortPath(s.Cohort(consoletest.Pro).ID), url.Values{"do": {"delete"}}
			},
		},
		action{
			Route: "/projects/{project}/cohorts/{cohort}", Verb: "restore", Why: "nothing uses a deleted cohort",
			Run: func(s *consoletest.Site) (string, url.Values) {
				path := consoletest.CohortPath(s.Cohort(consoletest.Pro).ID)
				s.Post(path, url.Values{"do": {"delete"}}).Want(303)
				return path, url.Values{"do": {"restore"}}
			},
		},
		action{
			Route: "/projects/{project}/cohorts/{cohort}", Verb: "add-member", Why: consoletest.Named,
			Run: func(s *consoletest.Site) (string, url.Values) {
				path, _ := s.List("user-001")
				return path, url.Values{"do": {"add-member"}, "person": {"user-002"}}
			},
		},
		action{
			Route: "/projects/{project}/cohorts/{cohort}", Verb: "remove-person", Why: consoletest.Named,
			Run: func(s *consoletest.Site) (string, url.Values) {
				path, person := s.List("user-001")
				return path, url.Values{"do": {"remove-person " + person}}
			},
		},
		action{Route: "/projects/{project}/cohorts/{cohort}/members", Asks: consoletest.Who, Tested: "TestRuling99And100Upload"},
	)
}

// changeCohort changes a cohort as another user would.
func changeCohort(s *consoletest.Site, id int64, body string) {
	s.T.Helper()
	var p management.CohortPatch
	consoletest.Fatal(s.T, json.Unmarshal([]byte(body), &p))
	_, err := s.Service.UpdateCohort(s.T.Context(), s.Owner, "1", strconv.FormatInt(id, 10), p)
	consoletest.Fatal(s.T, err)
}

func TestCohorts(t *testing.T) {
	s := consoletest.NewSite(t)
	c := s.Cohort(consoletest.Pro)
	s.Cohort(`{"name":"Testers","is_static":true,"description":"Who tests"}`)
	consoletest.Fatal(t, s.Service.CountCohorts(t.Context()))
	a := s.Get("/projects/1/cohorts").Want(200, "Pro plan is pro 10 persons nothing", "Testers Who tests list 0 persons",
		"Imported cohort 1 logins > 100 and not in Imported cohort 2")
	a.CheckPage()
	s.Get("/projects/1/cohorts?kind=list").Want(200, "Testers", "1 cohort")
	s.Get("/projects/1/cohorts?q=pr").Want(200, "Pro", "1 cohort", "clear filters")
	s.Get("/projects/1/cohorts?q=none").Want(200, "No cohorts match").CheckPage()
	s.Update("retired", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":`+fmt.Sprint(c.ID)+`}]}]}}`)
	s.Get("/projects/1/cohorts?q=pr").Want(200, "retired flag, off")
	for i := range 55 {
		s.Cohort(fmt.Sprintf(`{"name":"Many %d","is_static":true}`, i))
	}
	s.Get("/projects/1/cohorts?kind=list").Want(200, "1 to 50 of 56 cohorts", "Next")
	s.Get("/projects/1/cohorts?kind=list&page=2").Want(200, "51 to 56 of 56 cohorts", "Previous")
}

// TestCohortRoundTrip saves the form of cohorts as it is: nothing changes.
func TestCohortRoundTrip(t *testing.T) {
	s := consoletest.NewSite(t)
	for i, properties := range []string{
		`{"type":"AND","values":[{"key":"plan","type":"person","operator":"exact","value":["pro","team"]},
			{"key":"logins","type":"person","operator":"gt","value":7,"negation":true}]}`,
		`{"type":"OR","values":[{"type":"AND","values":[{"key":"id","type":"cohort","value":1,"negation":true},
			{"type":"OR","values":[{"key":"a","type":"person","operator":"is_set","value":"is_set"}]}]},{"type":"and","values":[]},
			{"key":"b","operator":"not_between","value":[1,2.50],"type":"person"}]}`,
		`{"type":"OR","values":[{"key":"e","type":"person","value":""},{"key":"id","type":"cohort","operator":"not_in","value":1},
			{"key":"created_at","type":"person_metadata","operator":"is_date_after","value":"-3d"}]}`,
		`{"OR":[{"AND":[{"key":"plan","type":"person","value":"pro"}]}]}`,
		`{"type":"AND","values":[{"key":"$pageview","type":"behavioral","value":"performed_event","event_type":"events","time_value":30,
			"time_interval":"day"},{"key":"plan","type":"person","value":"pro"}]}`,
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			c := s.Cohort(`{"name":"C","description":"two\nlines","filters":{"properties":` + properties + `}}`)
			before, path := s.Stored(c.ID), consoletest.CohortPath(c.ID)
			page := s.Get(path).Want(200, "C")
			page.CheckPage()
			form := page.Form("form")
			same := func(what string) {
				t.Helper()
				after := s.Stored(c.ID)
				after.LastCalculation, before.LastCalculation, after.Count, before.Count = nil, nil, nil, nil
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("%s: (-before +after)\n%s", what, diff)
				}
			}
			if strings.Contains(properties, `[]`) { // the form wants something in every group
				s.Post(path, consoletest.With(form, "do", "save")).Want(422, "Add a criterion to the group, or remove it.")
				return
			}
			s.Post(path, consoletest.With(form, "do", "save")).Leads(path + "?done=unchanged")
			same("saved")
			asJSON := s.Post(path, consoletest.With(form, "do", "to-json")).Want(200, "Criteria as JSON")
			asJSON.CheckPage()
			s.Post(path, consoletest.With(asJSON.Form("form"), "do", "save")).Leads(path + "?done=unchanged")
			same("saved as JSON")
			back := s.Post(path, consoletest.With(asJSON.Form("form"), "do", "to-form")).Want(200, "Edit as JSON").Form("form")
			s.Post(path, consoletest.With(back, "do", "save")).Leads(path + "?done=unchanged")
			same("saved after JSON")
		})
	}
}

// TestNewCohort makes a cohort with everything that the form offers.
func TestNewCohort(t *testing.T) {
	s := consoletest.NewSite(t)
	path := "/projects/1/cohorts/new"
	page := s.Get(path).Want(200, "New cohort")
	page.CheckPage()
	form := page.Form("form")
	press := func(do string, pairs ...string) {
		t.Helper()
		a := s.Post(path, consoletest.With(form, append(pairs, "do", do)...)).Want(200)
		a.CheckPage()
		form = a.Form("form")
	}
	press("add-cohort n0", "name", "Made", "description", "By hand", "n0.0.key", "plan", "n0.0.operator", "is_not", "n0.0.value", "pro")
	press("add-group n0", "n0.1.value", "1", "n0.1.not", "yes")
	press("add-person n0.2", "n0.2.0.key", "logins", "n0.2.0.operator", "gte", "n0.2.0.value", "50")
	press("add-group n0.2", "n0.2.1.key", "gone")
	press("remove n0.2.1", "n0.2.2.0.key", "email", "n0.2.2.0.value", "a@b", "n0.2.type", "OR")
	press("edit", "n0.2.1.0.value", "a@b")
	review := s.Post(path, consoletest.With(form, "do", "review")).Want(200, "Preview persons", "Of the 40 persons who were seen last",
		"(logins ≥ 50 or email is a@b)")
	review.CheckPage()
	form = s.Post(path, consoletest.With(review.Form(""), "do", "edit")).Want(200).Form("form")
	a := s.Post(path, consoletest.With(form, "do", "save")).Want(303)
	id, err := strconv.ParseInt(strings.TrimPrefix(a.Thing(), "/projects/1/cohorts/"), 10, 64)
	consoletest.Fatal(t, err)
	c := s.Stored(id)
	want := `{"properties":{"type":"AND","values":[{"key":"plan","operator":"is_not","type":"person","value":"pro"},
		{"key":"id","negation":true,"operator":"in","type":"cohort","value":1},
		{"type":"OR","values":[{"key":"logins","operator":"gte","type":"person","value":50},
			{"type":"AND","values":[{"key":"email","operator":"exact","type":"person","value":"a@b"}]}]}]}}`
	if diff := cmp.Diff(consoletest.Indent(t, want), consoletest.Indent(t, string(c.Filters))); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	if c.Name != "Made" || c.Description != "By hand" || c.IsStatic {
		t.Errorf("cohort %+v", c)
	}
	s.Get(consoletest.CohortPath(id)+"?done=cohort-made").Want(200, "The cohort was created.", "plan is not pro and not in",
		"by ada@example.com",
		"created").CheckPage()
}

func TestCohortErrors(t *testing.T) {
	s := consoletest.NewSite(t)
	c := s.Cohort(consoletest.Pro)
	path := consoletest.CohortPath(c.ID)
	form := s.Get(path).Form("form")
	for _, tt := range []struct {
		name   string
		change []string
		field  string
		want   string
	}{
		{"name", []string{"name", ""}, "name", "A cohort needs a name."},
		{"long name", []string{"name", strings.Repeat("x", 401)}, "name", "400"},
		{"property", []string{"n0.0.key", ""}, "n0.0.key", "Name a property."},
		{"value", []string{"n0.0.value", ""}, "n0.0.value", "A value is missing."},
		{"pattern", []string{"n0.0.operator", "regex", "n0.0.value", "("}, "n0.0.value", "regular expression"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.Post(path, consoletest.With(form, append(tt.change, "do", "save")...)).Want(422, tt.want)
			a.CheckPage()
			if !strings.Contains(a.Body, `id="`+tt.field+`-error"`) {
				t.Errorf("no message is beside the field %s", tt.field)
			}
			if got := a.Form("form").Get(tt.change[0]); got != tt.change[1] {
				t.Errorf("%s is %q, want what was typed, %q", tt.change[0], got, tt.change[1])
			}
		})
	}
	s.Post(path, consoletest.With(form, "do", "save", "n0.0.kind", "cohort", "n0.0.operator", "in", "n0.0.value",
		fmt.Sprint(c.ID))).Want(422,
		"is this one").CheckPage()
	s.Post(path, consoletest.With(s.Post(path, consoletest.With(form, "do", "remove n0.0")).Want(200).Form("form"), "do", "save")).Want(422,
		"a cohort without one has no persons").CheckPage()
	asJSON := s.Post(path, consoletest.With(form, "do", "to-json")).Form("form")
	for typed, message := range map[string]string{
		`[]`: "filters are an object", `{`: "it ends too early",
		`{"properties":{"type":"AND","values":[{"key":"plan","opperator":"exact","value":"x","type":"person"}]}}`: "opperator",
	} {
		a := s.Post(path, consoletest.With(asJSON, "do", "save", "json", typed)).Want(422, message)
		a.CheckPage()
		if got := a.Form("form").Get("json"); got != typed {
			t.Errorf("the JSON is %q, want what was typed, %q", got, typed)
		}
	}
	s.Post(path, consoletest.With(asJSON, "do", "to-form", "json", `{"properties":{"key":"plan"}}`)).Want(422,
		"The form cannot show this").CheckPage()
	deep := strings.Repeat(`{"type":"AND","values":[`, 20) + `{"key":"plan","type":"person","value":"pro"}` + strings.Repeat("]}", 20)
	s.Post(path, consoletest.With(asJSON, "do", "to-form", "json", `{"properties":`+deep+`}`)).Want(422, "The form cannot show this")
	if got := s.Stored(c.ID); !strings.Contains(string(got.Filters), `"plan"`) || got.Name != "Pro" {
		t.Errorf("it was saved: %s", got.Filters)
	}
	s.Get("/projects/1/cohorts/999").Want(404).CheckPage()
	s.Get("/projects/1/cohorts/x").Want(404)
	s.Post("/projects/1/cohorts/999", consoletest.With(form, "do", "save")).Want(404)
	s.Post(path, url.Values{"do": {"save"}}).Want(422)
}

// TestCohortReview: who is in a cohort that a flag uses is not changed unseen.
func TestCohortReview(t *testing.T) {
	s := consoletest.NewSite(t)
	c := s.Cohort(consoletest.Pro)
	s.Update("new-dashboard", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":`+fmt.Sprint(c.ID)+`}]}]}}`)
	path := consoletest.CohortPath(c.ID)
	page := s.Get(path).Want(200, "Review changes", "new-dashboard flag", "It cannot be deleted while this uses it")
	form := page.Form("form")
	review := s.Post(path, consoletest.With(form, "do", "save", "n0.0.value", "team")).Want(200, "Review changes",
		"10 are in it then: 10 come in and 10 leave.", "plan is pro", "plan is team", "new-dashboard for 20 persons")
	review.CheckPage()
	if !strings.Contains(string(s.Stored(c.ID).Filters), `"pro"`) {
		t.Fatal("it was saved")
	}
	s.Post(path, consoletest.With(review.Form(""), "do", "save")).Leads(path + "?done=saved")
	if !strings.Contains(string(s.Stored(c.ID).Filters), `"team"`) {
		t.Error("it was not saved")
	}
	// A name changes nobody.
	s.Post(path, consoletest.With(s.Get(path).Form("form"), "do", "save", "name", "Teams")).Leads(path + "?done=saved")
	if a := s.Post(path, consoletest.With(form, "do", "preview", "n0.0.value", "free")); a.Status != 200 || !strings.Contains(a.Body,
		"come in") ||
		strings.Contains(a.Body, "<html") {
		t.Errorf("preview: %d %s", a.Status, a.Body)
	}
	if a := s.Post(path, consoletest.With(form, "do", "preview", "n0.0.value", "")); a.Status != 204 {
		t.Errorf("preview of what cannot be read: %d", a.Status)
	}
	s.Post(path, url.Values{"do": {"delete"}}).Want(422, "The cohort cannot be deleted: active flags use it: new-dashboard").CheckPage()
	s.Update("new-dashboard", `{"filters":{"groups":[{"properties":[]}]}}`)
	s.Post(path, url.Values{"do": {"delete"}}).Leads("/projects/1/cohorts?done=cohort-deleted")
	s.Get(path).Want(200, "deleted", "Restore").CheckPage()
	s.Post(path, url.Values{"do": {"restore"}}).Leads(path + "?done=cohort-restored")
}

func TestCohortConflict(t *testing.T) {
	s := consoletest.NewSite(t)
	c := s.Cohort(consoletest.Pro)
	path := consoletest.CohortPath(c.ID)
	form := s.Get(path).Form("form")
	changeCohort(s, c.ID, `{"description":"Theirs"}`)
	s.Post(path, consoletest.With(form, "do", "save", "name", "Mine")).Leads(path + "?done=saved")
	if c := s.Stored(c.ID); c.Name != "Mine" || c.Description != "Theirs" {
		t.Errorf("%q, %q: want both changes", c.Name, c.Description)
	}
	form = s.Get(path).Form("form")
	changeCohort(s, c.ID, `{"name":"Theirs"}`)
	a := s.Post(path, consoletest.With(form, "do", "save", "name", "Ours")).Want(409, "Somebody else changed this cohort", "Mine → Theirs",
		"Theirs → Ours")
	a.CheckPage()
	if got := s.Post(path, consoletest.With(a.Form(""), "do", "edit")).Want(200).Form("form").Get("name"); got != "Ours" {
		t.Errorf("back in the form the name is %q, want Ours", got)
	}
	s.Post(path, consoletest.With(a.Form(""), "do", "save")).Leads(path + "?done=saved")
	if got := s.Stored(c.ID).Name; got != "Ours" {
		t.Errorf("name %q, want Ours", got)
	}
}

func TestStaticCohort(t *testing.T) {
	s := consoletest.NewSite(t)
	form := s.Get("/projects/1/cohorts/new?kind=static").Want(200, "Static: a list of persons").Form("form")
	a := s.Post("/projects/1/cohorts/new", consoletest.With(form, "do", "save", "name", "Testers", "kind", "static")).Want(303)
	path := a.Thing()
	s.Get(path).Want(200, "The cohort has no persons.", "Add persons").CheckPage()

	members := path + "/members"
	s.Upload(members, "", "").Want(422, "Choose a file, or type distinct IDs.").CheckPage()
	s.Upload(members, "user-001\r\nuser-002\r\n", "name,distinct_id\nx,user-003\ny,stranger\n").Leads(path + "?done=list-added")
	s.Get(path).Want(200,
		"The newest list had 4 distinct IDs: 4 persons were not in the cohort before. 1 of the distinct IDs was not found", "stranger",
		"user-003@example.org", "4 persons").CheckPage()
	s.Upload(members, "", `["user-004", "user-001"]`).Leads(path + "?done=list-added")
	page := s.Get(members).Want(200, "Persons in Testers", "5 persons")
	page.CheckPage()
	s.Upload(members, "kept\n", "\"broken").Want(422, "The list cannot be read", "kept").CheckPage()

	person, err := s.Service.GetPerson(t.Context(), s.Owner, "1", "user-002")
	consoletest.Fatal(t, err)
	s.Post(path, url.Values{"do": {"remove-person " + person.ID.String()}}).Leads(path + "?done=member-removed")
	s.Post(path, url.Values{"do": {"remove-person x"}}).Want(422).CheckPage()
	if body := s.Get(members).Want(200).Body; strings.Contains(body, "user-002") || !strings.Contains(body, "user-001") {
		t.Error("user-002 is in the cohort, or user-001 is not")
	}

	// A list is not filters, and filters are not a list.
	s.Post(path, consoletest.With(s.Get(path).Form("form"), "do", "save", "name", "Other")).Leads(path + "?done=saved")
	c := s.Cohort(consoletest.Pro)
	s.Upload(consoletest.CohortPath(c.ID)+"/members", "user-001", "").Want(422, "The cohort is not a list").CheckPage()
	s.Post(members, url.Values{"ids": {"user-001"}}).Want(400)
	s.Get(consoletest.CohortPath(c.ID)+"/members").Want(200, "10 persons").CheckPage()
}

// TestCohortTexts: scripts in texts come out as text.
func TestCohortTexts(t *testing.T) {
	s := consoletest.NewSite(t)
	const evil = `<script>alert(1)</script>"'>`
	body, err := json.Marshal(map[string]any{
		"name": evil, "description": evil,
		"filters": map[string]any{
			"properties": map[string]any{
				"type": "AND", "values": []any{map[string]any{"key": evil, "type": "person", "operator": "exact", "value": evil}},
			},
		},
	})
	consoletest.Fatal(t, err)
	c := s.Cohort(string(body))
	for _, path := range []string{"/projects/1/cohorts", consoletest.CohortPath(c.ID), consoletest.CohortPath(c.ID) + "/members"} {
		a := s.Get(path).Want(200)
		a.CheckPage()
		if strings.Contains(a.Body, "<script>alert") {
			t.Errorf("%s has the script", path)
		}
	}
}

// TestCohortStoreDown keeps what was typed.
func TestCohortStoreDown(t *testing.T) {
	s := consoletest.NewSite(t)
	c := s.Cohort(consoletest.Pro)
	form := s.Get(consoletest.CohortPath(c.ID)).Form("form")
	s.Broken.Broken.Store(true)
	defer s.Broken.Broken.Store(false)
	s.Get("/projects/1/cohorts").Want(503, "The store does not answer").CheckPage()
	s.Post(consoletest.CohortPath(c.ID), consoletest.With(form, "do", "save", "name", "typed")).Want(503, "The store does not answer")
}
