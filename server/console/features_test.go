package console_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func init() {
	actions = append(actions,
		action{
			route: "/projects/{project}/features/new", verb: "save", why: "a flag of its own is new",
			run: func(s *site) (string, url.Values) {
				form := s.get(newFeature).form("form")
				return newFeature, with(form, "name", "Fresh", "stage", "beta", "do", "save")
			},
		},
		action{route: "/projects/{project}/features/{feature}", verb: "save", asks: who, run: func(s *site) (string, url.Values) {
			path := s.enrolled()
			return path, with(s.get(path).form("form"), "stage", "draft", "do", "save")
		}},
		action{
			route: "/projects/{project}/features/{feature}", verb: "delete", asks: who,
			run: func(s *site) (string, url.Values) { return s.enrolled(), url.Values{"do": {"delete"}} },
		},
		action{route: "/projects/{project}/features/{feature}", verb: "enrol", why: named, run: func(s *site) (string, url.Values) {
			return s.enrolled(), url.Values{"do": {"enrol"}, "person": {"user-002"}}
		}},
		action{route: "/projects/{project}/features/{feature}", verb: "unenrol", why: named, run: func(s *site) (string, url.Values) {
			return s.enrolled(), url.Values{"do": {"unenrol user-001"}}
		}},
		action{route: "/projects/{project}/features/{feature}", verb: "forget", why: named, run: func(s *site) (string, url.Values) {
			return s.enrolled(), url.Values{"do": {"forget user-001"}}
		}},
	)
}

const newFeature = "/projects/1/features/new"

// feature makes an early access feature by the form, and returns its path and how it is
// stored.
func (s *site) feature(pairs ...string) (path string, stored func() *management.EarlyAccessView) {
	s.t.Helper()
	form := s.get(newFeature).want(200).form("form")
	path = s.post(newFeature, with(form, append(pairs, "do", "save")...)).want(303).thing()
	return path, func() *management.EarlyAccessView {
		s.t.Helper()
		f, err := s.service.EarlyAccessFeature(s.t.Context(), s.owner, "1", strings.TrimPrefix(path, "/projects/1/features/"))
		fatal(s.t, err)
		return f
	}
}

func TestFeatures(t *testing.T) {
	s := newSite(t)
	s.get("/projects/1/features").want(200, "This project has no early access features yet").checkPage()
	s.get(newFeature).want(200, "New feature").checkPage()
	path, stored := s.feature("name", "Dark mode", "description", "Black", "stage", "beta", "documentation",
		"https://docs.example.com/dark", "payload", `{"a": [1]}`)
	f := stored()
	if f.Name != "Dark mode" || f.Description != "Black" || f.Stage != "beta" || f.DocumentationURL != "https://docs.example.com/dark" ||
		compact(t, f.Payload) != `{"a":[1]}` || f.Flag.Key != "dark-mode" {
		t.Errorf("feature %+v", f)
	}
	s.get("/projects/1/features").want(200, "Dark mode Black Beta dark-mode", "1 feature").checkPage()
	page := s.get(path+"?done=feature-made").want(200, "The feature was created.", "No person has enrolled", "Persons can enrol", "created")
	page.checkPage()
	s.post(path, with(page.form("form"), "do", "save")).leads(path + "?done=unchanged")
	if diff := cmp.Diff(f, stored(), same); diff != "" {
		t.Errorf("saved as it is (-before +after)\n%s", diff)
	}
	s.post(path, with(page.form("form"), "do", "save", "name", "Night", "description", "", "stage", "alpha", "documentation", "",
		"payload", "")).leads(path + "?done=saved")
	if f := stored(); f.Name != "Night" || f.Description != "" || f.Stage != "alpha" || f.DocumentationURL != "" ||
		string(f.Payload) != "{}" {
		t.Errorf("feature %+v", f)
	}

	given, stored := s.feature("name", "Given", "stage", "concept", "flag", "retired")
	if key := stored().Flag.Key; key != "retired" {
		t.Errorf("flag %q, want retired", key)
	}
	s.get(given).want(200, "off for everyone")
	s.post(given, url.Values{"do": {"delete"}}).leads("/projects/1/features?done=feature-deleted")
	s.get(given).want(404).checkPage()
	s.get("/projects/1/features/x").want(404)
	s.post(given, url.Values{"do": {"save"}}).want(404)
}

func TestFeatureErrors(t *testing.T) {
	s := newSite(t)
	path, stored := s.feature("name", "Dark mode", "stage", "beta")
	before := stored()
	for _, tt := range []struct{ page, field, typed, at, want string }{
		{path, "name", "", "name", "A feature needs a name."},
		{path, "name", strings.Repeat("x", 201), "name", "200"},
		{path, "stage", "soon", "stage", `"soon" is not a valid choice.`},
		{path, "documentation", "docs.example.com", "documentation", "Enter a valid URL."},
		{path, "payload", "{", "payload", "it ends too early, in line 1"},
		{path, "payload", "[1]", "payload", "The payload is an object"},
		{newFeature, "flag", "none", "flag", "There is no flag with the key none."},
		{newFeature, "flag", "checkout-button", "flag", "Multivariate feature flags are not supported"},
		{newFeature, "flag", "dark-mode", "flag", "has an early access feature already"},
		{newFeature, "name", "Dark Mode", "name", "There is already a feature flag with the key dark-mode"},
	} {
		form := with(s.get(tt.page).form("form"), "do", "save")
		if tt.page == newFeature {
			form.Set("name", "Other")
		}
		a := s.post(tt.page, with(form, tt.field, tt.typed)).want(422, tt.want)
		a.checkPage()
		if !strings.Contains(a.body, `id="`+tt.at+`-error"`) {
			t.Errorf("%s %q: no message is beside the field %s", tt.field, tt.typed, tt.at)
		}
		if got := a.form("form").Get(tt.field); got != tt.typed {
			t.Errorf("%s is %q, want what was typed, %q", tt.field, got, tt.typed)
		}
	}
	if diff := cmp.Diff(before, stored(), same); diff != "" {
		t.Errorf("it was changed (-before +after)\n%s", diff)
	}
	form := s.get(path).form("form")
	s.broken.broken.Store(true)
	s.get("/projects/1/features").want(503, "The store does not answer").checkPage()
	s.post(path, with(form, "do", "save")).want(503, "The store does not answer")
	s.broken.broken.Store(false)
}

func TestEnrollments(t *testing.T) {
	s := newSite(t)
	path, stored := s.feature("name", "Dark mode", "stage", "beta")
	post := func(pairs ...string) *answer { t.Helper(); return s.post(path, with(url.Values{}, pairs...)) }
	post("do", "enrol", "person", "").want(422, "Name a person: by a distinct ID, an address or a name.").checkPage()
	post("do", "enrol", "person", "nobody").want(422, "No person with the distinct ID, address or name nobody is known.").checkPage()
	post("do", "enrol", "person", "user-001").leads(path + "?done=enrolled")
	post("do", "enrol", "person", "user-002").leads(path + "?done=enrolled")
	s.get(path).want(200, "Enrolled 2 Opted out 0", "user-001@example.org", "user-002@example.org",
		"$feature_enrollment/dark-mode").checkPage()
	person, err := s.service.GetPerson(t.Context(), s.owner, "1", "user-001")
	fatal(t, err)
	post("do", "unenrol "+person.ID.String()).leads(path + "?done=unenrolled")
	s.get(path+"?show=out").want(200, "Enrolled 1 Opted out 1", "user-001@example.org").checkPage()
	reasons, err := s.service.EvaluationReasons(t.Context(), s.owner, "1", "user-002", "")
	fatal(t, err)
	if reasons["dark-mode"].Value != true {
		t.Errorf("user-002 has %v, want the flag", reasons["dark-mode"].Value)
	}

	// A stage in which enrolment does not count is saved only by somebody who knows that.
	form := s.get(path).form("form")
	a := s.post(path, with(form, "do", "save", "stage", "archived", "description", "typed")).want(200, "Change the stage to Archived?",
		"1 person has enrolled", "1 lose it")
	a.checkPage()
	if stored().Stage != "beta" {
		t.Fatal("it was saved")
	}
	if edit := s.post(path, with(a.form(""), "do", "edit")).want(200).form("form"); edit.Get("description") != "typed" ||
		edit.Get("stage") != "archived" {
		t.Errorf("back in the form: %v", edit)
	}
	s.post(path, with(a.form(""), "do", "save")).leads(path + "?done=saved")
	if f := stored(); f.Stage != "archived" || f.Description != "typed" {
		t.Errorf("feature %+v", f)
	}
	post("do", "forget "+person.ID.String(), "show", "out").leads(path + "?done=choice-forgotten&show=out")
	s.get(path+"?show=out").want(200, "Opted out 0", "No person has opted out.").checkPage()
}

func TestFeatureConflict(t *testing.T) {
	s := newSite(t)
	path, stored := s.feature("name", "Dark mode", "stage", "beta")
	change := func(body string) {
		t.Helper()
		var p management.EarlyAccessPatch
		fatal(t, json.Unmarshal([]byte(body), &p))
		_, err := s.service.UpdateEarlyAccessFeature(t.Context(), s.owner, "1", stored().ID.String(), p)
		fatal(t, err)
	}
	form := s.get(path).form("form")
	change(`{"description":"Theirs"}`)
	s.post(path, with(form, "do", "save", "name", "Mine")).leads(path + "?done=saved")
	if f := stored(); f.Name != "Mine" || f.Description != "Theirs" {
		t.Errorf("%q, %q: want both changes", f.Name, f.Description)
	}
	form = s.get(path).form("form")
	change(`{"stage":"alpha"}`)
	a := s.post(path, with(form, "do", "save", "stage", "general-availability")).want(409,
		"Somebody else changed this early access feature", "Beta → Alpha", "Alpha → General availability")
	a.checkPage()
	s.post(path, with(a.form(""), "do", "edit")).want(200).checkPage()
	s.post(path, with(a.form(""), "do", "save")).leads(path + "?done=saved")
	if got := stored().Stage; got != "general-availability" {
		t.Errorf("stage %q", got)
	}
}

// TestFeatureTexts: scripts in texts come out as text.
func TestFeatureTexts(t *testing.T) {
	s := newSite(t)
	const evil = `<script>alert(1)</script>"'>`
	path, _ := s.feature("name", evil, "description", evil, "stage", "beta", "payload", `{"a":"<script>alert(1)</script>"}`)
	for _, page := range []string{path, "/projects/1/features"} {
		a := s.get(page).want(200)
		a.checkPage()
		if strings.Contains(a.body, "<script>alert") {
			t.Errorf("%s has the script", page)
		}
	}
}

// TestMembersMayEdit: what the Service lets members do, they can do here.
func TestMembersMayEdit(t *testing.T) {
	s := newSite(t)
	c := s.cohort(pro)
	feature, stored := s.feature("name", "Dark mode", "stage", "beta")
	s.member("bob@example.com", storage.LevelMember)
	s.signIn("bob@example.com")
	s.get("/projects/1/cohorts").want(200, "Pro").checkPage()
	s.post(cohortPath(c.ID), with(s.get(cohortPath(c.ID)).form("form"), "do", "save", "name", "Bob's")).leads(cohortPath(c.ID) +
		"?done=saved")
	s.post(feature, with(s.get(feature).form("form"), "do", "save", "name", "Bob's")).leads(feature + "?done=saved")
	if s.stored(c.ID).Name != "Bob's" || stored().Name != "Bob's" {
		t.Error("it was not saved")
	}
	s.token = ""
	s.get("/projects/1/cohorts").want(303)
	s.post(cohortPath(c.ID), url.Values{"do": {"delete"}}).want(401)
	s.post(feature, url.Values{"do": {"delete"}, "typed": {"Bob's"}}).want(401)
}

// same compares filters by what clients see of them.
var same = cmp.Comparer(func(a, b flags.Filters) bool { return shown(a) == shown(b) })
