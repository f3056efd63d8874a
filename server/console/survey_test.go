package console_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

func init() {
	actions = append(actions,
		action{
			route: "/projects/{project}/surveys/new", verb: "save",
			run: func(s *site) (string, url.Values) { return "/projects/1/surveys/new", s.newSurvey("do", "save") },
		},
		action{
			route: "/projects/{project}/surveys/new", verb: "launch", irreversible: "who has answered has answered; it can be stopped",
			tested: "TestSurveyLife",
		},
		action{route: "/projects/{project}/surveys/{survey}", verb: "save", run: func(s *site) (string, url.Values) {
			path := s.draft()
			return path, with(s.get(path).form("form"), "description", "Other", "do", "save")
		}},
		action{
			route: "/projects/{project}/surveys/{survey}", verb: "launch",
			run: func(s *site) (string, url.Values) { return s.draft(), url.Values{"do": {"launch"}} },
		},
		action{route: "/projects/{project}/surveys/{survey}", verb: "stop", run: func(s *site) (string, url.Values) {
			path := s.draft()
			s.post(path, url.Values{"do": {"launch"}}).want(303)
			return path, url.Values{"do": {"stop"}}
		}},
		action{route: "/projects/{project}/surveys/{survey}", verb: "resume", run: func(s *site) (string, url.Values) {
			path := s.draft()
			s.post(path, url.Values{"do": {"launch"}}).want(303)
			s.post(path, url.Values{"do": {"stop"}}).want(303)
			return path, url.Values{"do": {"resume"}}
		}},
		action{
			route: "/projects/{project}/surveys/{survey}", verb: "archive",
			run: func(s *site) (string, url.Values) { return s.draft(), url.Values{"do": {"archive"}} },
		},
		action{route: "/projects/{project}/surveys/{survey}", verb: "unarchive", run: func(s *site) (string, url.Values) {
			path := s.draft()
			s.post(path, url.Values{"do": {"archive"}}).want(303)
			return path, url.Values{"do": {"unarchive"}}
		}},
		action{
			route: "/projects/{project}/surveys/{survey}", verb: "copy",
			run: func(s *site) (string, url.Values) { return s.draft(), url.Values{"do": {"copy"}, "project": {"1"}} },
		},
		action{
			route: "/projects/{project}/surveys/{survey}", verb: "delete", asks: confirm,
			irreversible: "its answers belong to its ID, which is gone", tested: "TestSurveyLife",
		},
	)
}

// survey makes a survey of the project.
func (s *site) survey(body string) *survey.View {
	s.t.Helper()
	v, err := s.surveys.Create(s.t.Context(), s.owner, "1", surveyPatch(s.t, body))
	fatal(s.t, err)
	return v
}

func surveyPatch(t testing.TB, body string) (p survey.Patch) {
	t.Helper()
	fatal(t, json.Unmarshal([]byte(body), &p))
	return p
}

func (s *site) storedSurvey(v *survey.View) *survey.View {
	s.t.Helper()
	v, err := s.surveys.Survey(s.t.Context(), s.owner, "1", v.ID.String())
	fatal(s.t, err)
	return v
}

// asJSON is a survey as the API shows it, but for what changes by itself.
func asJSON(t testing.TB, v *survey.View) string {
	t.Helper()
	raw, err := json.Marshal(v)
	fatal(t, err)
	return strings.Join(indent(t, string(raw)), "\n")
}

func surveyPath(v *survey.View) string { return "/projects/1/surveys/" + v.ID.String() }

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
			v := s.survey(body)
			path, before := surveyPath(v), asJSON(t, v)
			page := s.get(path).want(200, v.Name)
			page.checkPage()
			form := page.form("form")
			same := func(what string, form url.Values) {
				t.Helper()
				s.post(path, with(form, "do", "save")).leads(path + "?done=unchanged")
				if diff := cmp.Diff(before, asJSON(t, s.storedSurvey(v))); diff != "" {
					t.Errorf("%s (-before +after):\n%s", what, diff)
				}
			}
			same("the form", form)
			raw := s.post(path, with(form, "do", "to-json")).want(200, "The survey, as JSON")
			raw.checkPage()
			same("as JSON", raw.form("form"))
			same("through JSON", s.post(path, with(raw.form("form"), "do", "to-form")).want(200).form("form"))

			// Something else changes, and all the rest stays.
			s.post(path, with(form, "do", "save", "description", "other")).leads(path + "?done=saved")
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
	form := s.get("/projects/1/surveys/new?from=empty").want(200).form("form")
	for _, pairs := range [][]string{
		{"do", "add-open"},
		{"do", "add-open"},
		{"do", "add-open"},
		{"do", "edit", "q0.then", "2", "q1.then", "0", "q2.then", "end"},
		{"do", "copy q0"},
	} {
		form = s.post("/projects/1/surveys/new", with(form, pairs...)).want(200).form("form")
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
	page := s.get("/projects/1/surveys/new?from=empty").want(200, "New survey", "Without a question there is nothing to show.")
	page.checkPage()
	form := page.form("form")
	press := func(do string, pairs ...string) {
		t.Helper()
		a := s.post("/projects/1/surveys/new", with(form, append(pairs, "do", do)...)).want(200)
		a.checkPage()
		form = a.form("form")
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
	a := s.post("/projects/1/surveys/new", with(form, "do", "save")).want(303)
	id := strings.TrimPrefix(a.thing(), "/projects/1/surveys/")
	made, err := s.surveys.Survey(t.Context(), s.owner, "1", id)
	fatal(t, err)
	want := `[{"type":"single_choice","question":"Which?","choices":["one","two","three"],"hasOpenChoice":true,
		"branching":{"type":"response_based","responseValues":{"0":"end"}}},
		{"type":"open","question":"Why?","validation":[{"type":"min_length","value":5},
			{"type":"email"}],"optional":true,"branching":{"type":"end"}},
		{"type":"rating","question":"How likely are you to recommend us to a friend?","display":"number","scale":10,"isNpsQuestion":true,
			"lowerBoundLabel":"Not likely","upperBoundLabel":"Very likely"},
		{"type":"link","question":"Read","link":"https://example.com/","buttonText":"Open"}]`
	var questions []map[string]any
	fatal(t, json.Unmarshal(made.Questions, &questions))
	for _, q := range questions {
		delete(q, "id")
	}
	got, err := json.Marshal(questions)
	fatal(t, err)
	if diff := cmp.Diff(indent(t, want), indent(t, string(got))); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	for _, part := range []struct{ what, want, got string }{
		{"conditions", `{"url":"/shop","events":{"values":[{"name":"bought"},{"name":"sold"}]}}`, string(made.Conditions)},
		{"appearance", `{"displayThankYouMessage":true,"thankYouMessageHeader":"Bye","backgroundColor":"#123"}`, string(made.Appearance)},
		{
			"filters",
			`{"groups":[{"properties":[{"key":"plan","operator":"exact","type":"person","value":"pro"}],"rollout_percentage":50}]}`,
			shown(made.TargetingFlag.Filters),
		},
	} {
		if diff := cmp.Diff(compact(t, []byte(part.want)), compact(t, []byte(part.got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", part.what, diff)
		}
	}
	if made.LinkedFlag == nil || made.LinkedFlag.Key != "checkout-button" || *made.ResponsesLimit != 10 || made.StartDate != nil {
		t.Errorf("survey %+v", made)
	}

	// From conditions to a flag, and to everyone.
	path := surveyPath(made)
	form = s.get(path).form("form")
	form = s.post(path, with(form, "do", "edit", "target", "flag")).want(200).form("form")
	s.post(path, with(form, "do", "save")).want(422, "Name a flag.")
	s.post(path, with(form, "do", "save", "targeting_flag_id", "new-dashboard")).leads(path + "?done=saved")
	if v := s.storedSurvey(made); v.TargetingFlag == nil || v.TargetingFlag.Key != "new-dashboard" {
		t.Errorf("targeting %+v", v.TargetingFlag)
	}
	form = s.get(path).form("form")
	s.post(path, with(form, "do", "save", "target", "")).leads(path + "?done=saved")
	if v := s.storedSurvey(made); v.TargetingFlag != nil {
		t.Errorf("targeting %+v, want none", v.TargetingFlag)
	}
}

func TestSurveyErrors(t *testing.T) {
	s := newSite(t)
	v := s.survey(wholeSurvey)
	s.survey(`{"name":"Taken","type":"api"}`)
	path := surveyPath(v)
	form := s.get(path).form("form")
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
			a := s.post(path, with(form, append(tt.change, "do", "save")...)).want(422, tt.want)
			a.checkPage()
			if !strings.Contains(a.body, `id="`+tt.field+`-error"`) {
				t.Errorf("no message is beside the field %s:\n%s", tt.field, words(a.body))
			}
			kept := a.form("form")
			for i := 0; i < len(tt.change); i += 2 {
				if got := kept.Get(tt.change[i]); got != strings.TrimSpace(tt.change[i+1]) {
					t.Errorf("%s is %q, want what was typed, %q", tt.change[i], got, tt.change[i+1])
				}
			}
		})
	}
	raw := s.post(path, with(form, "do", "to-json")).form("form")
	for _, tt := range []struct{ json, want string }{
		{"{", "it ends too early"},
		{"[]", "A survey is an object"},
		{`{"name":"x","questionz":[]}`, "questionz"},
		{`{"name":[5],"type":"popover"}`, "name: "},
		{`{"name":"x"}`, "type: "},
	} {
		a := s.post(path, with(raw, "do", "save", "json", tt.json)).want(422, tt.want)
		a.checkPage()
		if got := a.form("form").Get("json"); got != tt.json {
			t.Errorf("JSON %q, want what was typed", got)
		}
	}
	if diff := cmp.Diff(asJSON(t, v), asJSON(t, s.storedSurvey(v))); diff != "" {
		t.Errorf("something was saved:\n%s", diff)
	}
}

func TestSurveyConflict(t *testing.T) {
	s := newSite(t)
	v := s.survey(`{"name":"Both","type":"popover","questions":[{"id":"a","type":"open","question":"Why?"}]}`)
	path := surveyPath(v)
	form := s.get(path).form("form")
	theirs := func(body string) {
		t.Helper()
		_, err := s.surveys.Update(t.Context(), s.owner, "1", v.ID.String(), surveyPatch(t, body))
		fatal(t, err)
	}
	theirs(`{"description":"theirs"}`)
	s.post(path, with(form, "do", "save", "q0.question", "Mine?")).leads(path + "?done=saved")
	if got := s.storedSurvey(v); got.Description != "theirs" || !strings.Contains(string(got.Questions), "Mine?") {
		t.Errorf("survey %s %s, want both changes", got.Description, got.Questions)
	}
	form = s.get(path).form("form")
	theirs(`{"questions":[{"id":"a","type":"open","question":"Theirs?"}],"schedule":"always"}`)
	a := s.post(path, with(form, "do", "save", "q0.question", "Mine again?")).want(409, "Somebody else changed this survey", "Theirs?",
		"question 1, Question", "Mine again?")
	a.checkPage()
	if strings.Contains(string(s.storedSurvey(v).Questions), "Mine again") {
		t.Fatal("it was saved")
	}
	edit := s.post(path, with(a.form(""), "do", "edit")).want(200).form("form")
	if edit.Get("q0.question") != "Mine again?" || edit.Get("schedule") != "always" {
		t.Errorf("the form after a conflict: %v", edit)
	}
	s.post(path, with(a.form(""), "do", "save")).leads(path + "?done=saved")
	if got := s.storedSurvey(v); !strings.Contains(string(got.Questions), "Mine again?") || *got.Schedule != "always" {
		t.Errorf("survey %s, want mine over theirs", got.Questions)
	}
}

// TestSurveyLife takes a survey from a draft to its end.
func TestSurveyLife(t *testing.T) {
	s := newSite(t)
	v := s.survey(`{"name":"Life","type":"popover","questions":[]}`)
	path := surveyPath(v)
	act := func(do string, pairs ...string) *answer {
		t.Helper()
		return s.post(path, with(url.Values{}, append(pairs, "do", do)...))
	}
	form := s.get(path).want(200, "draft").form("form")
	s.post(path, with(form, "do", "launch")).want(422, "Add a question before you launch the survey.").checkPage()
	form = s.post(path, with(form, "do", "add-open")).form("form")
	s.post(path, with(form, "do", "launch", "q0.question", "Why?")).leads(path + "?done=survey-launched")
	s.get(path+"?done=survey-launched").want(200, "The survey runs.", "running", "Stop").checkPage()
	act("stop").leads(path + "?done=survey-stopped")
	s.get(path).want(200, "complete", "Resume").checkPage()
	act("launch").want(422, "The survey has ended").checkPage()
	act("resume").leads(path + "?done=survey-resumed")
	act("archive").leads(path + "?done=survey-archived")
	s.get(path).want(200, "archived", "Unarchive").checkPage()
	act("unarchive").leads(path + "?done=survey-unarchived")
	a := act("copy", "project", "1").want(303)
	if to := withoutUndo(a.header.Get("Location")); !strings.HasPrefix(to, "/console/projects/1/surveys/") ||
		!strings.HasSuffix(to, "?done=survey-copied") {
		t.Errorf("Location: %s", to)
	}
	s.get(strings.TrimPrefix(a.header.Get("Location"), "/console")).want(200, "Life (copy)", "This is the copy. It is a draft.").checkPage()
	act("copy", "project", "99").want(422, "does not exist").checkPage()
	act("delete", "typed", "Lif").want(422, "Type Life to delete it.").checkPage()
	act("delete", "typed", "Life").leads("/projects/1/surveys?done=survey-deleted")
	s.get(path).want(404).checkPage()
	s.get("/projects/1/surveys?done=survey-deleted").want(200, "The survey was deleted.", "Life (copy)").checkPage()
}

func TestSurveyPreview(t *testing.T) {
	s := newSite(t)
	v := s.survey(wholeSurvey)
	a := s.get(surveyPath(v)).want(200, "Question 1 of 5", "Question 5 of 5", "low", "a, b", "Start typing…", "https://example.com/a?b=c",
		"Thanks", "Hi", "Shown at the bottom left of the page.")
	if !strings.Contains(a.body, `preview.css?bg=%23112233&amp;text=white"`) {
		t.Error("the preview has no colours")
	}
	form := a.form("form")
	if a := s.post(surveyPath(v), with(form, "do", "preview", "q0.question", "<script>x")); a.status != 200 ||
		!strings.Contains(a.body, "&lt;script&gt;x") || strings.Contains(a.body, "<html") {
		t.Errorf("preview: %d %s", a.status, a.body)
	}
	sheet := s.get("/projects/1/surveys/preview.css?bg=%23123&text=" + url.QueryEscape("red; } * { display: none") +
		"&button=rgb(1,2,3)").want(200)
	want := ".preview { --pv-bg: #123; --pv-text: #fff; --pv-border: #c9c6c6; --pv-button: rgb(1,2,3); --pv-label: #000; --pv-rating: " +
		"#fff; --pv-chosen: #000; --pv-rated: #000; }\n"
	if sheet.body != want || sheet.header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("style sheet %q, want %q", sheet.body, want)
	}
}

// TestSurveyRefusals is about who may not, what is not there, and a store that is down.
func TestSurveyRefusals(t *testing.T) {
	s := newSite(t)
	v := s.survey(`{"name":"Down","type":"popover","questions":[{"id":"a","type":"open","question":"Why?"}]}`)
	path := surveyPath(v)
	form := s.get(path).form("form")
	s.broken.broken.Store(true)
	a := s.post(path, with(form, "do", "save", "name", "typed"))
	if a.want(503, "The store does not answer"); strings.Contains(a.body, "disk is gone") {
		t.Error("the page tells why the store has failed")
	}
	s.broken.broken.Store(false)
	for _, p := range []string{
		"/projects/1/surveys/nope", "/projects/1/surveys/0197a000-0000-7000-8000-000000000000", "/projects/99/surveys", path + "/nope",
		path + "/answers?question=none", path + "/chart.csv?of=none",
	} {
		s.get(p).want(404).checkPage()
	}
	other := storage.NewProject(s.organization(), "Other")
	fatal(t, s.store.CreateProject(t.Context(), other))
	s.get(fmt.Sprintf("/projects/%d/surveys/%s", other.ID, v.ID)).want(404).checkPage()
	s.get(fmt.Sprintf("/projects/%d/surveys", other.ID)).want(200, "This project has no surveys yet", "Net promoter score").checkPage()
	s.post(path, url.Values{"do": {"boom"}}).want(200)
	for _, level := range []int{storage.LevelMember, storage.LevelAdmin} {
		s := newSite(t)
		v := s.survey(`{"name":"Ours","type":"popover"}`)
		s.member("cyd@example.com", level)
		s.signIn("cyd@example.com")
		form := s.get(surveyPath(v)).want(200, "Ours").form("form")
		s.post(surveyPath(v), with(form, "do", "save", "description", "by another")).leads(surveyPath(v) + "?done=saved")
	}
	without := newSite(t, withoutSurveys)
	without.get("/projects/1/surveys").want(404).checkPage()
	if strings.Contains(without.get("/projects/1/flags").body, "Surveys</a>") {
		t.Error("a console without surveys leads to them")
	}
}
