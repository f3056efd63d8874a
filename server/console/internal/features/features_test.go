package features_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

func init() {
	actions = append(actions,
		action{
			Route: "/projects/{project}/features/new", Verb: "save", Why: "a flag of its own is new",
			Run: func(s *consoletest.Site) (string, url.Values) {
				form := s.Get(consoletest.NewFeature).Form("form")
				return consoletest.NewFeature, consoletest.With(form, "name", "Fresh", "stage", "beta", "do", "save")
			},
		},
		action{
			Route: "/projects/{project}/features/{feature}", Verb: "save", Asks: consoletest.Who,
			Run: func(s *consoletest.Site) (string, url.Values) {
				path := s.Enrolled()
				return path, consoletest.With(s.Get(path).Form("form"), "stage", "draft", "do", "save")
			},
		},
		action{
			Route: "/projects/{project}/features/{feature}", Verb: "delete", Asks: consoletest.Who,
			Run: func(s *consoletest.Site) (string, url.Values) { return s.Enrolled(), url.Values{"do": {"delete"}} },
		},
		action{
			Route: "/projects/{project}/features/{feature}", Verb: "enrol", Why: consoletest.Named,
			Run: func(s *consoletest.Site) (string, url.Values) {
				return s.Enrolled(), url.Values{"do": {"enrol"}, "person": {"user-002"}}
			},
		},
		action{
			Route: "/projects/{project}/features/{feature}", Verb: "unenrol", Why: consoletest.Named,
			Run: func(s *consoletest.Site) (string, url.Values) {
				return s.Enrolled(), url.Values{"do": {"unenrol user-001"}}
			},
		},
		action{
			Route: "/projects/{project}/features/{feature}", Verb: "forget", Why: consoletest.Named,
			Run: func(s *consoletest.Site) (string, url.Values) {
				return s.Enrolled(), url.Values{"do": {"forget user-001"}}
			},
		},
	)
}

func TestFeatures(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Get("/projects/1/features").Want(200, "This project has no early access features yet").CheckPage()
	s.Get(consoletest.NewFeature).Want(200, "New feature").CheckPage()
	path, stored := s.Feature("name", "Dark mode", "description", "Black", "stage", "beta", "documentation",
		"https://docs.example.com/dark", "payload", `{"a": [1]}`)
	f := stored()
	if f.Name != "Dark mode" || f.Description != "Black" || f.Stage != "beta" || f.DocumentationURL != "https://docs.example.com/dark" ||
		consoletest.Compact(t, f.Payload) != `{"a":[1]}` || f.Flag.Key != "dark-mode" {
		t.Errorf("feature %+v", f)
	}
	s.Get("/projects/1/features").Want(200, "Dark mode Black Beta dark-mode", "1 feature").CheckPage()
	page := s.Get(path+"?done=feature-made").Want(200, "The feature was created.", "No person has enrolled", "Persons can enrol", "created")
	page.CheckPage()
	s.Post(path, consoletest.With(page.Form("form"), "do", "save")).Leads(path + "?done=unchanged")
	if diff := cmp.Diff(f, stored(), consoletest.Same); diff != "" {
		t.Errorf("saved as it is (-before +after)\n%s", diff)
	}
	s.Post(path, consoletest.With(page.Form("form"), "do", "save", "name", "Night", "description", "", "stage", "alpha", "documentation",
		"",
		"payload", "")).Leads(path + "?done=saved")
	if f := stored(); f.Name != "Night" || f.Description != "" || f.Stage != "alpha" || f.DocumentationURL != "" ||
		string(f.Payload) != "{}" {
		t.Errorf("feature %+v", f)
	}

	given, stored := s.Feature("name", "Given", "stage", "concept", "flag", "retired")
	if key := stored().Flag.Key; key != "retired" {
		t.Errorf("flag %q, want retired", key)
	}
	s.Get(given).Want(200, "off for everyone")
	s.Post(given, url.Values{"do": {"delete"}}).Leads("/projects/1/features?done=feature-deleted")
	s.Get(given).Want(404).CheckPage()
	s.Get("/projects/1/features/x").Want(404)
	s.Post(given, url.Values{"do": {"save"}}).Want(404)
}

func TestFeatureErrors(t *testing.T) {
	s := consoletest.NewSite(t)
	path, stored := s.Feature("name", "Dark mode", "stage", "beta")
	before := stored()
	for _, tt := range []struct{ page, field, typed, at, want string }{
		{path, "name", "", "name", "A feature needs a name."},
		{path, "name", strings.Repeat("x", 201), "name", "200"},
		{path, "stage", "soon", "stage", `"soon" is not a valid choice.`},
		{path, "documentation", "docs.example.com", "documentation", "Enter a valid URL."},
		{path, "payload", "{", "payload", "it ends too early, in line 1"},
		{path, "payload", "[1]", "payload", "The payload is an object"},
		{consoletest.NewFeature, "flag", "none", "flag", "There is no flag with the key none."},
		{consoletest.NewFeature, "flag", "checkout-button", "flag", "Multivariate feature flags are not supported"},
		{consoletest.NewFeature, "flag", "dark-mode", "flag", "has an early access feature already"},
		{consoletest.NewFeature, "name", "Dark Mode", "name", "There is already a feature flag with the key dark-mode"},
	} {
		form := consoletest.With(s.Get(tt.page).Form("form"), "do", "save")
		if tt.page == consoletest.NewFeature {
			form.Set("name", "Other")
		}
		a := s.Post(tt.page, consoletest.With(form, tt.field, tt.typed)).Want(422, tt.want)
		a.CheckPage()
		if !strings.Contains(a.Body, `id="`+tt.at+`-error"`) {
			t.Errorf("%s %q: no message is beside the field %s", tt.field, tt.typed, tt.at)
		}
		if got := a.Form("form").Get(tt.field); got != tt.typed {
			t.Errorf("%s is %q, want what was typed, %q", tt.field, got, tt.typed)
		}
	}
	if diff := cmp.Diff(before, stored(), consoletest.Same); diff != "" {
		t.Errorf("it was changed (-before +after)\n%s", diff)
	}
	form := s.Get(path).Form("form")
	s.Broken.Broken.Store(true)
	s.Get("/projects/1/features").Want(503, "The store does not answer").CheckPage()
	s.Post(path, consoletest.With(form, "do", "save")).Want(503, "The store does not answer")
	s.Broken.Broken.Store(false)
}

func TestEnrollments(t *testing.T) {
	s := consoletest.NewSite(t)
	path, stored := s.Feature("name", "Dark mode", "stage", "beta")
	post := func(pairs ...string) *consoletest.Answer {
		t.Helper()
		return s.Post(path, consoletest.With(url.Values{}, pairs...))
	}
	post("do", "enrol", "person", "").Want(422, "Name a person: by a distinct ID, an address or a name.").CheckPage()
	post("do", "enrol", "person", "nobody").Want(422, "No person with the distinct ID, address or name nobody is known.").CheckPage()
	post("do", "enrol", "person", "user-001").Leads(path + "?done=enrolled")
	post("do", "enrol", "person", "user-002").Leads(path + "?done=enrolled")
	s.Get(path).Want(200, "Enrolled 2 Opted out 0", "user-001@example.org", "user-002@example.org",
		"$feature_enrollment/dark-mode").CheckPage()
	person, err := s.Service.GetPerson(t.Context(), s.Owner, "1", "user-001")
	consoletest.Fatal(t, err)
	post("do", "unenrol "+person.ID.String()).Leads(path + "?done=unenrolled")
	s.Get(path+"?show=out").Want(200, "Enrolled 1 Opted out 1", "user-001@example.org").CheckPage()
	reasons, err := s.Service.EvaluationReasons(t.Context(), s.Owner, "1", "user-002", "")
	consoletest.Fatal(t, err)
	if reasons["dark-mode"].Value != true {
		t.Errorf("user-002 has %v, want the flag", reasons["dark-mode"].Value)
	}

	// A stage in which enrolment does not count is saved only by somebody who knows that.
	form := s.Get(path).Form("form")
	a := s.Post(path, consoletest.With(form, "do", "save", "stage", "archived", "description", "typed")).Want(200,
		"Change the stage to Archived?",
		"1 person has enrolled", "1 lose it")
	a.CheckPage()
	if stored().Stage != "beta" {
		t.Fatal("it was saved")
	}
	if edit := s.Post(path, consoletest.With(a.Form(""), "do", "edit")).Want(200).Form("form"); edit.Get("description") != "typed" ||
		edit.Get("stage") != "archived" {
		t.Errorf("back in the form: %v", edit)
	}
	s.Post(path, consoletest.With(a.Form(""), "do", "save")).Leads(path + "?done=saved")
	if f := stored(); f.Stage != "archived" || f.Description != "typed" {
		t.Errorf("feature %+v", f)
	}
	post("do", "forget "+person.ID.String(), "show", "out").Leads(path + "?done=choice-forgotten&show=out")
	s.Get(path+"?show=out").Want(200, "Opted out 0", "No person has opted out.").CheckPage()
}

func TestFeatureConflict(t *testing.T) {
	s := consoletest.NewSite(t)
	path, stored := s.Feature("name", "Dark mode", "stage", "beta")
	change := func(body string) {
		t.Helper()
		var p management.EarlyAccessPatch
		consoletest.Fatal(t, json.Unmarshal([]byte(body), &p))
		_, err := s.Service.UpdateEarlyAccessFeature(t.Context(), s.Owner, "1", stored().ID.String(), p)
		consoletest.Fatal(t, err)
	}
	form := s.Get(path).Form("form")
	change(`{"description":"Theirs"}`)
	s.Post(path, consoletest.With(form, "do", "save", "name", "Mine")).Leads(path + "?done=saved")
	if f := stored(); f.Name != "Mine" || f.Description != "Theirs" {
		t.Errorf("%q, %q: want both changes", f.Name, f.Description)
	}
	form = s.Get(path).Form("form")
	change(`{"stage":"alpha"}`)
	a := s.Post(path, consoletest.With(form, "do", "save", "stage", "general-availability")).Want(409,
		"Somebody else changed this early access feature", "Beta → Alpha", "Alpha → General availability")
	a.CheckPage()
	s.Post(path, consoletest.With(a.Form(""), "do", "edit")).Want(200).CheckPage()
	s.Post(path, consoletest.With(a.Form(""), "do", "save")).Leads(path + "?done=saved")
	if got := stored().Stage; got != "general-availability" {
		t.Errorf("stage %q", got)
	}
}

// TestFeatureTexts: scripts in texts come out as text.
func TestFeatureTexts(t *testing.T) {
	s := consoletest.NewSite(t)
	const evil = `<script>alert(1)</script>"'>`
	path, _ := s.Feature("name", evil, "description", evil, "stage", "beta", "payload", `{"a":"<script>alert(1)</script>"}`)
	for _, page := range []string{path, "/projects/1/features"} {
		a := s.Get(page).Want(200)
		a.CheckPage()
		if strings.Contains(a.Body, "<script>alert") {
			t.Errorf("%s has the script", page)
		}
	}
}

// TestMembersMayEdit: what the Service lets members do, they can do here.
func TestMembersMayEdit(t *testing.T) {
	s := consoletest.NewSite(t)
	c := s.Cohort(consoletest.Pro)
	feature, stored := s.Feature("name", "Dark mode", "stage", "beta")
	s.Member("bob@example.com", storage.LevelMember)
	s.SignIn("bob@example.com")
	s.Get("/projects/1/cohorts").Want(200, "Pro").CheckPage()
	s.Post(consoletest.CohortPath(c.ID), consoletest.With(s.Get(consoletest.CohortPath(c.ID)).Form("form"), "do", "save", "name",
		"Bob's")).Leads(consoletest.CohortPath(c.ID) +
		"?done=saved")
	s.Post(feature, consoletest.With(s.Get(feature).Form("form"), "do", "save", "name", "Bob's")).Leads(feature + "?done=saved")
	if s.Stored(c.ID).Name != "Bob's" || stored().Name != "Bob's" {
		t.Error("it was not saved")
	}
	s.Token = ""
	s.Get("/projects/1/cohorts").Want(303)
	s.Post(consoletest.CohortPath(c.ID), url.Values{"do": {"delete"}}).Want(401)
	s.Post(feature, url.Values{"do": {"delete"}, "typed": {"Bob's"}}).Want(401)
}
