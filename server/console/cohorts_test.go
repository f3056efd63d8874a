package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
)

func init() {
	actions = append(actions,
		action{
			route: "/projects/{project}/cohorts/new", verb: "save", why: "nothing uses a new cohort",
			run: func(s *site) (string, url.Values) {
				form := s.get("/projects/1/cohorts/new").form("form")
				return "/projects/1/cohorts/new", with(form, "name", "Fresh", "n0.0.key", "plan", "n0.0.operator", "exact", "n0.0.value",
					"pro", "do", "save")
			},
		},
		action{route: "/projects/{project}/cohorts/{cohort}", verb: "save", asks: who, run: func(s *site) (string, url.Values) {
			c := s.cohort(pro)
			s.update("checkout-button",
				fmt.Sprintf(`{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":%d}],"rollout_percentage":100}]}}`,
					c.ID))
			return cohortPath(c.ID), with(s.get(cohortPath(c.ID)).form("form"), "n0.0.value", "free", "do", "save")
		}},
		action{
			route: "/projects/{project}/cohorts/{cohort}", verb: "delete", why: "a cohort that flags use is not deleted",
			run: func(s *site) (string, url.Values) {
				return cohortPath(s.cohort(pro).ID), url.Values{"do": {"delete"}}
			},
		},
		action{
			route: "/projects/{project}/cohorts/{cohort}", verb: "restore", why: "nothing uses a deleted cohort",
			run: func(s *site) (string, url.Values) {
				path := cohortPath(s.cohort(pro).ID)
				s.post(path, url.Values{"do": {"delete"}}).want(303)
				return path, url.Values{"do": {"restore"}}
			},
		},
		action{route: "/projects/{project}/cohorts/{cohort}", verb: "add-member", why: named, run: func(s *site) (string, url.Values) {
			path, _ := s.list("user-001")
			return path, url.Values{"do": {"add-member"}, "person": {"user-002"}}
		}},
		action{route: "/projects/{project}/cohorts/{cohort}", verb: "remove-person", why: named, run: func(s *site) (string, url.Values) {
			path, person := s.list("user-001")
			return path, url.Values{"do": {"remove-person " + person}}
		}},
		action{route: "/projects/{project}/cohorts/{cohort}/members", asks: who, tested: "TestRuling99And100Upload"},
	)
}

// cohort makes a cohort and returns it.
func (s *site) cohort(body string) *management.CohortView {
	s.t.Helper()
	var p management.CohortPatch
	fatal(s.t, json.Unmarshal([]byte(body), &p))
	c, err := s.service.CreateCohort(s.t.Context(), s.owner, "1", p)
	fatal(s.t, err)
	return c
}

// stored returns a cohort as it is now.
func (s *site) stored(id int64) *management.CohortView {
	s.t.Helper()
	c, err := s.service.Cohort(s.t.Context(), s.owner, "1", strconv.FormatInt(id, 10))
	fatal(s.t, err)
	return c
}

// changeCohort changes a cohort as another user would.
func (s *site) changeCohort(id int64, body string) {
	s.t.Helper()
	var p management.CohortPatch
	fatal(s.t, json.Unmarshal([]byte(body), &p))
	_, err := s.service.UpdateCohort(s.t.Context(), s.owner, "1", strconv.FormatInt(id, 10), p)
	fatal(s.t, err)
}

func cohortPath(id int64) string { return fmt.Sprintf("/projects/1/cohorts/%d", id) }

// pro is a cohort of those whose plan is pro.
const pro = `{"name":"Pro","filters":{"properties":{"type":"AND","values":[{"key":"plan","type":"person","operator":"exact",
	"value":"pro"}]}}}`

func TestCohorts(t *testing.T) {
	s := newSite(t)
	c := s.cohort(pro)
	s.cohort(`{"name":"Testers","is_static":true,"description":"Who tests"}`)
	fatal(t, s.service.CountCohorts(t.Context()))
	a := s.get("/projects/1/cohorts").want(200, "Pro plan is pro 10 persons nothing", "Testers Who tests list 0 persons",
		"Imported cohort 1 logins > 100 and not in Imported cohort 2")
	a.checkPage()
	s.get("/projects/1/cohorts?kind=list").want(200, "Testers", "1 cohort")
	s.get("/projects/1/cohorts?q=pr").want(200, "Pro", "1 cohort", "clear filters")
	s.get("/projects/1/cohorts?q=none").want(200, "No cohorts match").checkPage()
	s.update("retired", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":`+fmt.Sprint(c.ID)+`}]}]}}`)
	s.get("/projects/1/cohorts?q=pr").want(200, "retired flag, off")
	for i := range 55 {
		s.cohort(fmt.Sprintf(`{"name":"Many %d","is_static":true}`, i))
	}
	s.get("/projects/1/cohorts?kind=list").want(200, "1 to 50 of 56 cohorts", "Next")
	s.get("/projects/1/cohorts?kind=list&page=2").want(200, "51 to 56 of 56 cohorts", "Previous")
}

// TestCohortRoundTrip saves the form of cohorts as it is: nothing changes.
func TestCohortRoundTrip(t *testing.T) {
	s := newSite(t)
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
			c := s.cohort(`{"name":"C","description":"two\nlines","filters":{"properties":` + properties + `}}`)
			before, path := s.stored(c.ID), cohortPath(c.ID)
			page := s.get(path).want(200, "C")
			page.checkPage()
			form := page.form("form")
			same := func(what string) {
				t.Helper()
				after := s.stored(c.ID)
				after.LastCalculation, before.LastCalculation, after.Count, before.Count = nil, nil, nil, nil
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("%s: (-before +after)\n%s", what, diff)
				}
			}
			if strings.Contains(properties, `[]`) { // the form wants something in every group
				s.post(path, with(form, "do", "save")).want(422, "Add a criterion to the group, or remove it.")
				return
			}
			s.post(path, with(form, "do", "save")).leads(path + "?done=unchanged")
			same("saved")
			asJSON := s.post(path, with(form, "do", "to-json")).want(200, "Criteria as JSON")
			asJSON.checkPage()
			s.post(path, with(asJSON.form("form"), "do", "save")).leads(path + "?done=unchanged")
			same("saved as JSON")
			back := s.post(path, with(asJSON.form("form"), "do", "to-form")).want(200, "Edit as JSON").form("form")
			s.post(path, with(back, "do", "save")).leads(path + "?done=unchanged")
			same("saved after JSON")
		})
	}
}

// TestNewCohort makes a cohort with everything that the form offers.
func TestNewCohort(t *testing.T) {
	s := newSite(t)
	path := "/projects/1/cohorts/new"
	page := s.get(path).want(200, "New cohort")
	page.checkPage()
	form := page.form("form")
	press := func(do string, pairs ...string) {
		t.Helper()
		a := s.post(path, with(form, append(pairs, "do", do)...)).want(200)
		a.checkPage()
		form = a.form("form")
	}
	press("add-cohort n0", "name", "Made", "description", "By hand", "n0.0.key", "plan", "n0.0.operator", "is_not", "n0.0.value", "pro")
	press("add-group n0", "n0.1.value", "1", "n0.1.not", "yes")
	press("add-person n0.2", "n0.2.0.key", "logins", "n0.2.0.operator", "gte", "n0.2.0.value", "50")
	press("add-group n0.2", "n0.2.1.key", "gone")
	press("remove n0.2.1", "n0.2.2.0.key", "email", "n0.2.2.0.value", "a@b", "n0.2.type", "OR")
	press("edit", "n0.2.1.0.value", "a@b")
	review := s.post(path, with(form, "do", "review")).want(200, "Preview persons", "Of the 40 persons who were seen last",
		"(logins ≥ 50 or email is a@b)")
	review.checkPage()
	form = s.post(path, with(review.form(""), "do", "edit")).want(200).form("form")
	a := s.post(path, with(form, "do", "save")).want(303)
	id, err := strconv.ParseInt(strings.TrimPrefix(a.thing(), "/projects/1/cohorts/"), 10, 64)
	fatal(t, err)
	c := s.stored(id)
	want := `{"properties":{"type":"AND","values":[{"key":"plan","operator":"is_not","type":"person","value":"pro"},
		{"key":"id","negation":true,"operator":"in","type":"cohort","value":1},
		{"type":"OR","values":[{"key":"logins","operator":"gte","type":"person","value":50},
			{"type":"AND","values":[{"key":"email","operator":"exact","type":"person","value":"a@b"}]}]}]}}`
	if diff := cmp.Diff(indent(t, want), indent(t, string(c.Filters))); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	if c.Name != "Made" || c.Description != "By hand" || c.IsStatic {
		t.Errorf("cohort %+v", c)
	}
	s.get(cohortPath(id)+"?done=cohort-made").want(200, "The cohort was created.", "plan is not pro and not in", "by ada@example.com",
		"created").checkPage()
}

func TestCohortErrors(t *testing.T) {
	s := newSite(t)
	c := s.cohort(pro)
	path := cohortPath(c.ID)
	form := s.get(path).form("form")
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
			a := s.post(path, with(form, append(tt.change, "do", "save")...)).want(422, tt.want)
			a.checkPage()
			if !strings.Contains(a.body, `id="`+tt.field+`-error"`) {
				t.Errorf("no message is beside the field %s", tt.field)
			}
			if got := a.form("form").Get(tt.change[0]); got != tt.change[1] {
				t.Errorf("%s is %q, want what was typed, %q", tt.change[0], got, tt.change[1])
			}
		})
	}
	s.post(path, with(form, "do", "save", "n0.0.kind", "cohort", "n0.0.operator", "in", "n0.0.value", fmt.Sprint(c.ID))).want(422,
		"is this one").checkPage()
	s.post(path, with(s.post(path, with(form, "do", "remove n0.0")).want(200).form("form"), "do", "save")).want(422,
		"a cohort without one has no persons").checkPage()
	asJSON := s.post(path, with(form, "do", "to-json")).form("form")
	for typed, message := range map[string]string{
		`[]`: "filters are an object", `{`: "it ends too early",
		`{"properties":{"type":"AND","values":[{"key":"plan","opperator":"exact","value":"x","type":"person"}]}}`: "opperator",
	} {
		a := s.post(path, with(asJSON, "do", "save", "json", typed)).want(422, message)
		a.checkPage()
		if got := a.form("form").Get("json"); got != typed {
			t.Errorf("the JSON is %q, want what was typed, %q", got, typed)
		}
	}
	s.post(path, with(asJSON, "do", "to-form", "json", `{"properties":{"key":"plan"}}`)).want(422, "The form cannot show this").checkPage()
	deep := strings.Repeat(`{"type":"AND","values":[`, 20) + `{"key":"plan","type":"person","value":"pro"}` + strings.Repeat("]}", 20)
	s.post(path, with(asJSON, "do", "to-form", "json", `{"properties":`+deep+`}`)).want(422, "The form cannot show this")
	if got := s.stored(c.ID); !strings.Contains(string(got.Filters), `"plan"`) || got.Name != "Pro" {
		t.Errorf("it was saved: %s", got.Filters)
	}
	s.get("/projects/1/cohorts/999").want(404).checkPage()
	s.get("/projects/1/cohorts/x").want(404)
	s.post("/projects/1/cohorts/999", with(form, "do", "save")).want(404)
	s.post(path, url.Values{"do": {"save"}}).want(422)
}

// TestCohortReview: who is in a cohort that a flag uses is not changed unseen.
func TestCohortReview(t *testing.T) {
	s := newSite(t)
	c := s.cohort(pro)
	s.update("new-dashboard", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":`+fmt.Sprint(c.ID)+`}]}]}}`)
	path := cohortPath(c.ID)
	page := s.get(path).want(200, "Review changes", "new-dashboard flag", "It cannot be deleted while this uses it")
	form := page.form("form")
	review := s.post(path, with(form, "do", "save", "n0.0.value", "team")).want(200, "Review changes",
		"10 are in it then: 10 come in and 10 leave.", "plan is pro", "plan is team", "new-dashboard for 20 persons")
	review.checkPage()
	if !strings.Contains(string(s.stored(c.ID).Filters), `"pro"`) {
		t.Fatal("it was saved")
	}
	s.post(path, with(review.form(""), "do", "save")).leads(path + "?done=saved")
	if !strings.Contains(string(s.stored(c.ID).Filters), `"team"`) {
		t.Error("it was not saved")
	}
	// A name changes nobody.
	s.post(path, with(s.get(path).form("form"), "do", "save", "name", "Teams")).leads(path + "?done=saved")
	if a := s.post(path, with(form, "do", "preview", "n0.0.value", "free")); a.status != 200 || !strings.Contains(a.body, "come in") ||
		strings.Contains(a.body, "<html") {
		t.Errorf("preview: %d %s", a.status, a.body)
	}
	if a := s.post(path, with(form, "do", "preview", "n0.0.value", "")); a.status != 204 {
		t.Errorf("preview of what cannot be read: %d", a.status)
	}
	s.post(path, url.Values{"do": {"delete"}}).want(422, "The cohort cannot be deleted: active flags use it: new-dashboard").checkPage()
	s.update("new-dashboard", `{"filters":{"groups":[{"properties":[]}]}}`)
	s.post(path, url.Values{"do": {"delete"}}).leads("/projects/1/cohorts?done=cohort-deleted")
	s.get(path).want(200, "deleted", "Restore").checkPage()
	s.post(path, url.Values{"do": {"restore"}}).leads(path + "?done=cohort-restored")
}

func TestCohortConflict(t *testing.T) {
	s := newSite(t)
	c := s.cohort(pro)
	path := cohortPath(c.ID)
	form := s.get(path).form("form")
	s.changeCohort(c.ID, `{"description":"Theirs"}`)
	s.post(path, with(form, "do", "save", "name", "Mine")).leads(path + "?done=saved")
	if c := s.stored(c.ID); c.Name != "Mine" || c.Description != "Theirs" {
		t.Errorf("%q, %q: want both changes", c.Name, c.Description)
	}
	form = s.get(path).form("form")
	s.changeCohort(c.ID, `{"name":"Theirs"}`)
	a := s.post(path, with(form, "do", "save", "name", "Ours")).want(409, "Somebody else changed this cohort", "Mine → Theirs",
		"Theirs → Ours")
	a.checkPage()
	if got := s.post(path, with(a.form(""), "do", "edit")).want(200).form("form").Get("name"); got != "Ours" {
		t.Errorf("back in the form the name is %q, want Ours", got)
	}
	s.post(path, with(a.form(""), "do", "save")).leads(path + "?done=saved")
	if got := s.stored(c.ID).Name; got != "Ours" {
		t.Errorf("name %q, want Ours", got)
	}
}

// upload posts a form with distinct IDs and a file.
func (s *site) upload(path, ids, file string) *answer {
	s.t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	fatal(s.t, m.WriteField("ids", ids))
	w, err := m.CreateFormFile("file", "ids.csv")
	fatal(s.t, err)
	_, err = w.Write([]byte(file))
	fatal(s.t, err)
	fatal(s.t, m.Close())
	r := httptest.NewRequestWithContext(s.t.Context(), "POST", "https://flags.example.com/console"+path, &b)
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return s.do(r)
}

func TestStaticCohort(t *testing.T) {
	s := newSite(t)
	form := s.get("/projects/1/cohorts/new?kind=static").want(200, "Static: a list of persons").form("form")
	a := s.post("/projects/1/cohorts/new", with(form, "do", "save", "name", "Testers", "kind", "static")).want(303)
	path := a.thing()
	s.get(path).want(200, "The cohort has no persons.", "Add persons").checkPage()

	members := path + "/members"
	s.upload(members, "", "").want(422, "Choose a file, or type distinct IDs.").checkPage()
	s.upload(members, "user-001\r\nuser-002\r\n", "name,distinct_id\nx,user-003\ny,stranger\n").leads(path + "?done=list-added")
	s.get(path).want(200,
		"The newest list had 4 distinct IDs: 4 persons were not in the cohort before. 1 of the distinct IDs was not found", "stranger",
		"user-003@example.org", "4 persons").checkPage()
	s.upload(members, "", `["user-004", "user-001"]`).leads(path + "?done=list-added")
	page := s.get(members).want(200, "Persons in Testers", "5 persons")
	page.checkPage()
	s.upload(members, "kept\n", "\"broken").want(422, "The list cannot be read", "kept").checkPage()

	person, err := s.service.GetPerson(t.Context(), s.owner, "1", "user-002")
	fatal(t, err)
	s.post(path, url.Values{"do": {"remove-person " + person.ID.String()}}).leads(path + "?done=member-removed")
	s.post(path, url.Values{"do": {"remove-person x"}}).want(422).checkPage()
	if body := s.get(members).want(200).body; strings.Contains(body, "user-002") || !strings.Contains(body, "user-001") {
		t.Error("user-002 is in the cohort, or user-001 is not")
	}

	// A list is not filters, and filters are not a list.
	s.post(path, with(s.get(path).form("form"), "do", "save", "name", "Other")).leads(path + "?done=saved")
	c := s.cohort(pro)
	s.upload(cohortPath(c.ID)+"/members", "user-001", "").want(422, "The cohort is not a list").checkPage()
	s.post(members, url.Values{"ids": {"user-001"}}).want(400)
	s.get(cohortPath(c.ID)+"/members").want(200, "10 persons").checkPage()
}

// TestCohortTexts: scripts in texts come out as text.
func TestCohortTexts(t *testing.T) {
	s := newSite(t)
	const evil = `<script>alert(1)</script>"'>`
	body, err := json.Marshal(map[string]any{
		"name": evil, "description": evil,
		"filters": map[string]any{
			"properties": map[string]any{
				"type": "AND", "values": []any{map[string]any{"key": evil, "type": "person", "operator": "exact", "value": evil}},
			},
		},
	})
	fatal(t, err)
	c := s.cohort(string(body))
	for _, path := range []string{"/projects/1/cohorts", cohortPath(c.ID), cohortPath(c.ID) + "/members"} {
		a := s.get(path).want(200)
		a.checkPage()
		if strings.Contains(a.body, "<script>alert") {
			t.Errorf("%s has the script", path)
		}
	}
}

// TestCohortStoreDown keeps what was typed.
func TestCohortStoreDown(t *testing.T) {
	s := newSite(t)
	c := s.cohort(pro)
	form := s.get(cohortPath(c.ID)).form("form")
	s.broken.broken.Store(true)
	defer s.broken.broken.Store(false)
	s.get("/projects/1/cohorts").want(503, "The store does not answer").checkPage()
	s.post(cohortPath(c.ID), with(form, "do", "save", "name", "typed")).want(503, "The store does not answer")
}
