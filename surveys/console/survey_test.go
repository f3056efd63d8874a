package console_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// newSurvey returns the form of a new survey.
func (s *site) newSurvey(pairs ...string) url.Values {
	return consoletest.With(s.Get("/projects/1/surveys/new").Form("form"), append([]string{"name", "Fresh"}, pairs...)...)
}

// Draft makes a survey.
func (s *site) Draft() string {
	return s.Post("/projects/1/surveys/new", s.newSurvey("do", "save")).Want(303).Thing()
}

func init() {
	actions = append(actions,
		action{
			Route: "/projects/{project}/surveys/new", Verb: "save",
			Run: with(func(s *site) (string, url.Values) { return "/projects/1/surveys/new", s.newSurvey("do", "save") }),
		},
		action{
			Route: "/projects/{project}/surveys/new", Verb: "launch", Irreversible: "who has answered has answered; it can be stopped",
			Tested: "TestSurveyLife",
		},
		action{Route: "/projects/{project}/surveys/{survey}", Verb: "save", Run: with(func(s *site) (string, url.Values) {
			path := s.Draft()
			return path, consoletest.With(s.Get(path).Form("form"), "description", "Other", "do", "save")
		})},
		action{
			Route: "/projects/{project}/surveys/{survey}", Verb: "launch",
			Run: with(func(s *site) (string, url.Values) { return s.Draft(), url.Values{"do": {"launch"}} }),
		},
		action{Route: "/projects/{project}/surveys/{survey}", Verb: "stop", Run: with(func(s *site) (string, url.Values) {
			path := s.Draft()
			s.Post(path, url.Values{"do": {"launch"}}).Want(303)
			return path, url.Values{"do": {"stop"}}
		})},
		action{Route: "/projects/{project}/surveys/{survey}", Verb: "resume", Run: with(func(s *site) (string, url.Values) {
			path := s.Draft()
			s.Post(path, url.Values{"do": {"launch"}}).Want(303)
			s.Post(path, url.Values{"do": {"stop"}}).Want(303)
			return path, url.Values{"do": {"resume"}}
		})},
		action{
			Route: "/projects/{project}/surveys/{survey}", Verb: "archive",
			Run: with(func(s *site) (string, url.Values) { return s.Draft(), url.Values{"do": {"archive"}} }),
		},
		action{Route: "/projects/{project}/surveys/{survey}", Verb: "unarchive", Run: with(func(s *site) (string, url.Values) {
			path := s.Draft()
			s.Post(path, url.Values{"do": {"archive"}}).Want(303)
			return path, url.Values{"do": {"unarchive"}}
		})},
		action{
			Route: "/projects/{project}/surveys/{survey}", Verb: "copy",
			Run: with(func(s *site) (string, url.Values) { return s.Draft(), url.Values{"do": {"copy"}, "project": {"1"}} }),
		},
		action{
			Route: "/projects/{project}/surveys/{survey}", Verb: "delete", Asks: consoletest.Confirm,
			Irreversible: "its answers belong to its ID, which is gone", Tested: "TestSurveyLife",
		},
	)
}

// Survey makes a survey of the project.
func (s *site) Survey(body string) *surveys.View {
	s.T.Helper()
	v, err := s.surveys.Create(s.T.Context(), s.Owner, "1", surveyPatch(s.T, body))
	consoletest.Fatal(s.T, err)
	return v
}

func surveyPatch(t testing.TB, body string) (p surveys.Patch) {
	t.Helper()
	consoletest.Fatal(t, json.Unmarshal([]byte(body), &p))
	return p
}

func (s *site) storedSurvey(v *surveys.View) *surveys.View {
	s.T.Helper()
	v, err := s.surveys.Survey(s.T.Context(), s.Owner, "1", v.ID.String())
	consoletest.Fatal(s.T, err)
	return v
}

// asJSON is a survey as the API shows it, but for what changes by itself.
func asJSON(t testing.TB, v *surveys.View) string {
	t.Helper()
	raw, err := json.Marshal(v)
	consoletest.Fatal(t, err)
	return strings.Join(consoletest.Indent(t, string(raw)), "\n")
}

func surveyPath(v *surveys.View) string { return "/projects/1/surveys/" + v.ID.String() }

// wholeSurvey has every member, also those that the form has no field for.
const wholeSurvey = `{"name":"Everything","description":"a note","type":"popover","schedule":"recurring","linked_flag_id":2,
	"questions":[
		{"id":"q-a","type":"rating","question":"How <b>much</b>?","description":"<i>Say</i>","descriptionContentType":"html",
			"display":"emoji","scale":5,"isNpsQuestion":false,"lowerBoundLabel":"low","upperBoundLabel":"high","skipSubmitButton":true,
			"optional":true,"buttonText":"Go","x":1,
			"branching":{"type":"response_based","responseValues":{"negative":2,"positive":"end"}}},
		{"id":"q-b","type":"single_choice","question":"Which?","choices":["a, b","c","other"],"hasOpenChoice":true,"shuffleOptions":true,
			"branching":{"type":"response_based","responseValues":{"0":"end","2":3}}},
		{"id":"q-c","type":"multiple_choice","question":"Which ones?","choices":["x","y"],"branching":{"type":"specific_question",
			"index":0}},
		{"id":"q-d","type":"open","question":"Why?\nReally?","validation":[{"type":"min_length","value":3,"errorMessage":"Too short"},
			{"type":"max_length","value":300},{"type":"email"}],"branching":{"type":"next_question"},
			"translations":{"de":{"question":"Warum?"}}},
		{"id":"q-e","type":"link","question":"Look","link":"https://example.com/a?b=c","branching":{"type":"end"}}],
	"conditions":{"url":"/pricing","urlMatchType":"regex","selector":"#buy","seenSurveyWaitPeriodInDays":14,"deviceTypes":["Desktop",
		"Tablet"],"deviceTypesMatchType":"exact",
		"events":{"values":[{"name":"order placed","propertyFilters":{"plan":{"values":["pro"],"operator":"exact"}}},
			{"name":"b"}],"repeatedActivation":true},"cancelEvents":{"values":[{"name":"left"}]},
		"actions":{"values":[{"id":5,"name":"Clicked","steps":[]}]},"linkedFlagVariant":"any","y":{"z":[1]}},
	"appearance":{"position":"left","backgroundColor":"#112233","textColor":"white","submitButtonText":"Send",
		"displayThankYouMessage":true,"thankYouMessageHeader":"Thanks","displayIntroScreen":true,"introScreenHeader":"Hi",
		"whiteLabel":false,"surveyPopupDelaySeconds":2.5,"zIndex":"99","z":null},
	"responses_limit":50,"iteration_count":3,"iteration_frequency_days":7,"enable_partial_responses":true,"enable_iframe_embedding":true,
		"base_language":"fr",
	"translations":{"de":{"name":"Alles"}},"form_content":{"a":[1]},"start_date":"2026-01-02T03:04:05.678Z",
		"end_date":"2031-01-02T03:04:05Z",
	"targeting_flag_filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":["pro","team"]},
		{"key":"id","type":"cohort","operator":"in","value":1}],"rollout_percentage":12.5,"description":"some"},
		{"properties":[],"rollout_percentage":5}]}}`

// TestSurveyRoundTrip saves forms as they are: nothing changes, also through JSON and back.
func TestSurveyRoundTrip(t *testing.T) {
	s := newSite(t)
	for name, body := range map[string]string{
		"whole": wholeSurvey,
		"plain": `{"name":"Plain","type":"api"}`,
		"flag": `{"name":"By a flag","type":"widget","targeting_flag_id":1,"questions":[],"conditions":{},
			"appearance":{"widgetType":"tab"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			v := s.Survey(body)
			path, before := surveyPath(v), asJSON(t, v)
			page := s.Get(path).Want(200, v.Name)
			page.CheckPage()
			form := page.Form("form")
			same := func(what string, form url.Values) {
				t.Helper()
				s.Post(path, consoletest.With(form, "do", "save")).Leads(path + "?done=unchanged")
				if diff := cmp.Diff(before, asJSON(t, s.storedSurvey(v))); diff != "" {
					t.Errorf("%s (-before +after):\n%s", what, diff)
				}
			}
			same("the form", form)
			raw := s.Post(path, consoletest.With(form, "do", "to-json")).Want(200, "The survey, as JSON")
			raw.CheckPage()
			same("as JSON", raw.Form("form"))
			same("through JSON", s.Post(path, consoletest.With(raw.Form("form"), "do", "to-form")).Want(200).Form("form"))

			// Something else changes, and all the rest stays.
			s.Post(path, consoletest.With(form, "do", "save", "description", "other")).Leads(path + "?done=saved")
			after := strings.Replace(asJSON(t, s.storedSurvey(v)), `"description": "other"`,
				fmt.Sprintf(`"description": %q`, v.Description), 1)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("another note (-before +after):\n%s", diff)
			}
		})
	}
}

// TestCopyQuestion: a copy leads where its question leads, and the others where they did.
func TestCopyQuestion(t *testing.T) {
	s := newSite(t)
	form := s.Get("/projects/1/surveys/new?from=empty").Want(200).Form("form")
	for _, pairs := range [][]string{
		{"do", "add-open"},
		{"do", "add-open"},
		{"do", "add-open"},
		{"do", "edit", "q0.then", "2", "q1.then", "0", "q2.then", "end"},
		{"do", "copy q0"},
	} {
		form = s.Post("/projects/1/surveys/new", consoletest.With(form, pairs...)).Want(200).Form("form")
	}
	for i, want := range []string{"3", "3", "0", "end"} {
		if got := form.Get(fmt.Sprintf("q%d.then", i)); got != want {
			t.Errorf("question %d leads to %q, want %q", i, got, want)
		}
	}
}

// TestNewSurvey makes a survey with the buttons and fields of the form.
func TestNewSurvey(t *testing.T) {
	s := newSite(t)
	page := s.Get("/projects/1/surveys/new?from=empty").Want(200, "New survey", "Without a question there is nothing to show.")
	page.CheckPage()
	form := page.Form("form")
	press := func(do string, pairs ...string) {
		t.Helper()
		a := s.Post("/projects/1/surveys/new", consoletest.With(form, append(pairs, "do", do)...)).Want(200)
		a.CheckPage()
		form = a.Form("form")
	}
	press("add-open", "name", "Made")
	press("add-single", "q0.question", "Why?", "q0.min_length", "5", "q0.email", "yes", "q0.optional", "yes", "q0.then", "end")
	press("add-nps", "q1.question", "Which?", "q1.choices", "one\n\n two \nthree", "q1.hasOpenChoice", "yes", "q1.then", "answers")
	press("copy q0", "q1.then.0", "end", "q1.then.2", "0")
	press("up q2")
	press("add-link", "q3.isNpsQuestion", "yes")
	press("remove q0", "q4.question", "Read", "q4.link", "https://example.com/")
	press("edit", "q1.type", "link")
	press("edit", "q1.type", "open")
	press("edit", "target", "filters")
	press("add-condition")
	press("add-person c0", "c0.share", "50", "conditions.url", "/shop", "conditions.events", "bought\nsold")
	press("edit", "c0.f0.key", "plan", "c0.f0.value", "pro", "appearance.displayThankYouMessage", "yes", "linked_flag_id",
		"checkout-button")
	press("edit", "appearance.thankYouMessageHeader", "Bye", "appearance.backgroundColor", "#123", "responses_limit", "10")
	if got := form.Get("linked_flag_id"); got != "checkout-button" {
		t.Errorf("the linked flag is %q, want its key", got)
	}
	a := s.Post("/projects/1/surveys/new", consoletest.With(form, "do", "save")).Want(303)
	id := strings.TrimPrefix(a.Thing(), "/projects/1/surveys/")
	made, err := s.surveys.Survey(t.Context(), s.Owner, "1", id)
	consoletest.Fatal(t, err)
	want := `[{"type":"single_choice","question":"Which?","choices":["one","two","three"],"hasOpenChoice":true,
		"branching":{"type":"response_based","responseValues":{"0":"end"}}},
		{"type":"open","question":"Why?","validation":[{"type":"min_length","value":5},
			{"type":"email"}],"optional":true,"branching":{"type":"end"}},
		{"type":"rating","question":"How likely are you to recommend us to a friend?","display":"number","scale":10,"isNpsQuestion":true,
			"lowerBoundLabel":"Not likely","upperBoundLabel":"Very likely"},
		{"type":"link","question":"Read","link":"https://example.com/","buttonText":"Open"}]`
	var questions []map[string]any
	consoletest.Fatal(t, json.Unmarshal(made.Questions, &questions))
	for _, q := range questions {
		delete(q, "id")
	}
	got, err := json.Marshal(questions)
	consoletest.Fatal(t, err)
	if diff := cmp.Diff(consoletest.Indent(t, want), consoletest.Indent(t, string(got))); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	for _, part := range []struct{ what, want, got string }{
		{"conditions", `{"url":"/shop","events":{"values":[{"name":"bought"},{"name":"sold"}]}}`, string(made.Conditions)},
		{"appearance", `{"displayThankYouMessage":true,"thankYouMessageHeader":"Bye","backgroundColor":"#123"}`, string(made.Appearance)},
		{
			"filters",
			`{"groups":[{"properties":[{"key":"plan","operator":"exact","type":"person","value":"pro"}],"rollout_percentage":50}]}`,
			consoletest.Shown(made.TargetingFlag.Filters),
		},
	} {
		if diff := cmp.Diff(consoletest.Compact(t, []byte(part.want)), consoletest.Compact(t, []byte(part.got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", part.what, diff)
		}
	}
	if made.LinkedFlag == nil || made.LinkedFlag.Key != "checkout-button" || *made.ResponsesLimit != 10 || made.StartDate != nil {
		t.Errorf("survey %+v", made)
	}

	// From conditions to a flag, and to everyone.
	path := surveyPath(made)
	form = s.Get(path).Form("form")
	form = s.Post(path, consoletest.With(form, "do", "edit", "target", "flag")).Want(200).Form("form")
	s.Post(path, consoletest.With(form, "do", "save")).Want(422, "Name a flag.")
	s.Post(path, consoletest.With(form, "do", "save", "targeting_flag_id", "new-dashboard")).Leads(path + "?done=saved")
	if v := s.storedSurvey(made); v.TargetingFlag == nil || v.TargetingFlag.Key != "new-dashboard" {
		t.Errorf("targeting %+v", v.TargetingFlag)
	}
	form = s.Get(path).Form("form")
	s.Post(path, consoletest.With(form, "do", "save", "target", "")).Leads(path + "?done=saved")
	if v := s.storedSurvey(made); v.TargetingFlag != nil {
		t.Errorf("targeting %+v, want none", v.TargetingFlag)
	}
}

func TestSurveyErrors(t *testing.T) {
	s := newSite(t)
	v := s.Survey(wholeSurvey)
	s.Survey(`{"name":"Taken","type":"api"}`)
	path := surveyPath(v)
	form := s.Get(path).Form("form")
	for _, tt := range []struct {
		name   string
		change []string
		field  string
		want   string
	}{
		{"name", []string{"name", " "}, "name", "blank"},
		{"taken name", []string{"name", "Taken"}, "name", "There is already a survey with this name."},
		{"question", []string{"q1.question", ""}, "q1.question", "must be a string that is not blank."},
		{"choices", []string{"q1.choices", "one"}, "q1.choices", "must be a list of at least 2 strings."},
		{"link", []string{"q4.link", "http://x"}, "q4.link", "must be https"},
		{"rule", []string{"q3.min_length", "x"}, "q3.min_length", "It must be an integer"},
		{"pattern", []string{"conditions.url", "("}, "conditions.url", "must be a regular expression"},
		{"days", []string{"conditions.seenSurveyWaitPeriodInDays", "many"}, "conditions.seenSurveyWaitPeriodInDays", "must be an integer"},
		{"linked flag", []string{"linked_flag_id", "no-such"}, "linked_flag_id", `There is no flag with the key "no-such".`},
		{
			"variant",
			[]string{"conditions.linkedFlagVariant", "purple"},
			"conditions.linkedFlagVariant",
			`is "purple", which is not a variant`,
		},
		{"colour", []string{"appearance.backgroundColor", "red;}"}, "appearance.backgroundColor", "must be one value of CSS"},
		{"limit", []string{"responses_limit", "-1"}, "responses_limit", "0"},
		{"no number", []string{"responses_limit", "ten"}, "responses_limit", "integer"},
		{"date", []string{"start_date", "tomorrow"}, "start_date", "date"},
		{"share", []string{"c0.share", "200"}, "c0.share", `Must be a number from 0 to 100, not "200".`},
		{"everyone", []string{"c1.share", "100"}, "target", "match everyone"},
		{"value", []string{"c0.f0.operator", "gt", "c0.f0.value", "many"}, "c0.f0.value", "number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.Post(path, consoletest.With(form, append(tt.change, "do", "save")...)).Want(422, tt.want)
			a.CheckPage()
			if !strings.Contains(a.Body, `id="`+tt.field+`-error"`) {
				t.Errorf("no message is beside the field %s:\n%s", tt.field, consoletest.Words(a.Body))
			}
			kept := a.Form("form")
			for i := 0; i < len(tt.change); i += 2 {
				if got := kept.Get(tt.change[i]); got != strings.TrimSpace(tt.change[i+1]) {
					t.Errorf("%s is %q, want what was typed, %q", tt.change[i], got, tt.change[i+1])
				}
			}
		})
	}
	raw := s.Post(path, consoletest.With(form, "do", "to-json")).Form("form")
	for _, tt := range []struct{ json, want string }{
		{"{", "it ends too early"},
		{"[]", "A survey is an object"},
		{`{"name":"x","questionz":[]}`, "questionz"},
		{`{"name":[5],"type":"popover"}`, "name: "},
		{`{"name":"x"}`, "type: "},
	} {
		a := s.Post(path, consoletest.With(raw, "do", "save", "json", tt.json)).Want(422, tt.want)
		a.CheckPage()
		if got := a.Form("form").Get("json"); got != tt.json {
			t.Errorf("JSON %q, want what was typed", got)
		}
	}
	if diff := cmp.Diff(asJSON(t, v), asJSON(t, s.storedSurvey(v))); diff != "" {
		t.Errorf("something was saved:\n%s", diff)
	}
}

func TestSurveyConflict(t *testing.T) {
	s := newSite(t)
	v := s.Survey(`{"name":"Both","type":"popover","questions":[{"id":"a","type":"open","question":"Why?"}]}`)
	path := surveyPath(v)
	form := s.Get(path).Form("form")
	theirs := func(body string) {
		t.Helper()
		_, err := s.surveys.Update(t.Context(), s.Owner, "1", v.ID.String(), surveyPatch(t, body))
		consoletest.Fatal(t, err)
	}
	theirs(`{"description":"theirs"}`)
	s.Post(path, consoletest.With(form, "do", "save", "q0.question", "Mine?")).Leads(path + "?done=saved")
	if got := s.storedSurvey(v); got.Description != "theirs" || !strings.Contains(string(got.Questions), "Mine?") {
		t.Errorf("survey %s %s, want both changes", got.Description, got.Questions)
	}
	form = s.Get(path).Form("form")
	theirs(`{"questions":[{"id":"a","type":"open","question":"Theirs?"}],"schedule":"always"}`)
	a := s.Post(path, consoletest.With(form, "do", "save", "q0.question", "Mine again?")).Want(409, "Somebody else changed this survey",
		"Theirs?",
		"question 1, Question", "Mine again?")
	a.CheckPage()
	if strings.Contains(string(s.storedSurvey(v).Questions), "Mine again") {
		t.Fatal("it was saved")
	}
	edit := s.Post(path, consoletest.With(a.Form(""), "do", "edit")).Want(200).Form("form")
	if edit.Get("q0.question") != "Mine again?" || edit.Get("schedule") != "always" {
		t.Errorf("the form after a conflict: %v", edit)
	}
	s.Post(path, consoletest.With(a.Form(""), "do", "save")).Leads(path + "?done=saved")
	if got := s.storedSurvey(v); !strings.Contains(string(got.Questions), "Mine again?") || *got.Schedule != "always" {
		t.Errorf("survey %s, want mine over theirs", got.Questions)
	}
}

// TestSurveyLife takes a survey from a draft to its end.
func TestSurveyLife(t *testing.T) {
	s := newSite(t)
	v := s.Survey(`{"name":"Life","type":"popover","questions":[]}`)
	path := surveyPath(v)
	act := func(do string, pairs ...string) *consoletest.Answer {
		t.Helper()
		return s.Post(path, consoletest.With(url.Values{}, append(pairs, "do", do)...))
	}
	form := s.Get(path).Want(200, "draft").Form("form")
	s.Post(path, consoletest.With(form, "do", "launch")).Want(422, "Add a question before you launch the survey.").CheckPage()
	form = s.Post(path, consoletest.With(form, "do", "add-open")).Form("form")
	s.Post(path, consoletest.With(form, "do", "launch", "q0.question", "Why?")).Leads(path + "?done=survey-launched")
	s.Get(path+"?done=survey-launched").Want(200, "The survey runs.", "running", "Stop").CheckPage()
	act("stop").Leads(path + "?done=survey-stopped")
	s.Get(path).Want(200, "complete", "Resume").CheckPage()
	act("launch").Want(422, "The survey has ended").CheckPage()
	act("resume").Leads(path + "?done=survey-resumed")
	act("archive").Leads(path + "?done=survey-archived")
	s.Get(path).Want(200, "archived", "Unarchive").CheckPage()
	act("unarchive").Leads(path + "?done=survey-unarchived")
	a := act("copy", "project", "1").Want(303)
	if to := consoletest.WithoutUndo(a.Header.Get("Location")); !strings.HasPrefix(to, "/console/projects/1/surveys/") ||
		!strings.HasSuffix(to, "?done=survey-copied") {
		t.Errorf("Location: %s", to)
	}
	s.Get(strings.TrimPrefix(a.Header.Get("Location"), "/console")).Want(200, "Life (copy)", "This is the copy. It is a draft.").CheckPage()
	act("copy", "project", "99").Want(422, "does not exist").CheckPage()
	act("delete", "typed", "Lif").Want(422, "Type Life to delete it.").CheckPage()
	act("delete", "typed", "Life").Leads("/projects/1/surveys?done=survey-deleted")
	s.Get(path).Want(404).CheckPage()
	s.Get("/projects/1/surveys?done=survey-deleted").Want(200, "The survey was deleted.", "Life (copy)").CheckPage()
}

func TestSurveyPreview(t *testing.T) {
	s := newSite(t)
	v := s.Survey(wholeSurvey)
	a := s.Get(surveyPath(v)).Want(200, "Question 1 of 5", "Question 5 of 5", "low", "a, b", "Start typing…", "https://example.com/a?b=c",
		"Thanks", "Hi", "Shown at the bottom left of the page.")
	if !strings.Contains(a.Body, `preview.css?bg=%23112233&amp;text=white"`) {
		t.Error("the preview has no colours")
	}
	form := a.Form("form")
	if a := s.Post(surveyPath(v), consoletest.With(form, "do", "preview", "q0.question", "<script>x")); a.Status != 200 ||
		!strings.Contains(a.Body, "&lt;script&gt;x") || strings.Contains(a.Body, "<html") {
		t.Errorf("preview: %d %s", a.Status, a.Body)
	}
	sheet := s.Get("/projects/1/surveys/preview.css?bg=%23123&text=" + url.QueryEscape("red; } * { display: none") +
		"&button=rgb(1,2,3)").Want(200)
	want := ".preview { --pv-bg: #123; --pv-text: #fff; --pv-border: #c9c6c6; --pv-button: rgb(1,2,3); --pv-label: #000; --pv-rating: " +
		"#fff; --pv-chosen: #000; --pv-rated: #000; }\n"
	if sheet.Body != want || sheet.Header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("style sheet %q, want %q", sheet.Body, want)
	}
}

// TestSurveyRefusals is about who may not, what is not there, and a store that is down.
func TestSurveyRefusals(t *testing.T) {
	s := newSite(t)
	v := s.Survey(`{"name":"Down","type":"popover","questions":[{"id":"a","type":"open","question":"Why?"}]}`)
	path := surveyPath(v)
	form := s.Get(path).Form("form")
	s.Broken.Broken.Store(true)
	a := s.Post(path, consoletest.With(form, "do", "save", "name", "typed"))
	if a.Want(503, "The store does not answer"); strings.Contains(a.Body, "disk is gone") {
		t.Error("the page tells why the store has failed")
	}
	s.Broken.Broken.Store(false)
	for _, p := range []string{
		"/projects/1/surveys/nope", "/projects/1/surveys/0197a000-0000-7000-8000-000000000000", "/projects/99/surveys", path + "/nope",
		path + "/answers?question=none", path + "/chart.csv?of=none",
	} {
		s.Get(p).Want(404).CheckPage()
	}
	other := storage.NewProject(s.Organization(), "Other")
	consoletest.Fatal(t, s.Store.Projects().Create(t.Context(), other))
	s.Get(fmt.Sprintf("/projects/%d/surveys/%s", other.ID, v.ID)).Want(404).CheckPage()
	s.Get(fmt.Sprintf("/projects/%d/surveys", other.ID)).Want(200, "This project has no surveys yet", "Net promoter score").CheckPage()
	s.Post(path, url.Values{"do": {"boom"}}).Want(200)
	for _, level := range []int{storage.LevelMember, storage.LevelAdmin} {
		s := newSite(t)
		v := s.Survey(`{"name":"Ours","type":"popover"}`)
		s.Member("cyd@example.com", level)
		s.SignIn("cyd@example.com")
		form := s.Get(surveyPath(v)).Want(200, "Ours").Form("form")
		s.Post(surveyPath(v), consoletest.With(form, "do", "save", "description", "by another")).Leads(surveyPath(v) + "?done=saved")
	}
	without := consoletest.NewSite(t)
	without.Get("/projects/1/surveys").Want(404).CheckPage()
	if strings.Contains(without.Get("/projects/1/flags").Body, "Surveys</a>") {
		t.Error("a console without surveys leads to them")
	}
}
