package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/survey"
	"github.com/flagstaff-go/flagstaff/server/console"
)

// An action is what a button of the console does.
type action struct {
	route string // as routes has it
	verb  string // of the button, "" for the only one

	// asks is what is asked before: who changes, or confirm; "" is nothing, and then why says
	// why nobody has to be asked, unless the action changes no flag.
	asks string
	why  string

	// irreversible says why the change cannot be taken back, "" if it can.
	irreversible string

	// run presses the button, for a flag that is on where that makes a difference. It is nil
	// for actions whose tests are named in tested.
	run    func(*site) (path string, form url.Values)
	tested string
}

const (
	who     = "who changes"
	confirm = "confirm"
	named   = "who changes is the person that was named"
)

// onlyForm are buttons that change the form alone.
var onlyForm = []string{
	"edit", "preview", "review", "add-condition", "add-variant", "even", "to-json", "to-form", "copy-condition", "up", "down", "remove",
	"add-person", "add-group", "add-cohort", "add-flag", "add-question",
}

// actions is the table of everything that people can do (management.md §5.11). The tests of
// each screen add its rows.
var actions []action

func init() {
	actions = append(actions,
		action{route: "/me/undo", irreversible: "it has an undo itself", tested: "TestRuling100Undo"},
		action{route: "/projects/{project}/undo", irreversible: "it has an undo itself", tested: "TestRuling100Undo"},
	)
}

// beside is a button beside the form of a flag.
func (s *site) beside(flag, verb string) (path string, form url.Values) {
	f := s.flag(flag)
	return fmt.Sprintf("/projects/1/flags/%d", f.ID), url.Values{"do": {verb}, "version": {fmt.Sprint(f.Version)}}
}

func (s *site) personPage(distinctID string) string {
	p, err := s.service.GetPerson(s.t.Context(), s.owner, "1", distinctID)
	fatal(s.t, err)
	return "/projects/1/persons/" + p.ID.String()
}

func (s *site) userID(email string) string {
	u, err := s.store.UserByEmail(s.t.Context(), email)
	fatal(s.t, err)
	return u.UUID.String()
}

// newSurvey returns the form of a new survey.
func (s *site) newSurvey(pairs ...string) url.Values {
	return with(s.get("/projects/1/surveys/new").form("form"), append([]string{"name", "Fresh"}, pairs...)...)
}

// draft makes a survey.
func (s *site) draft() string {
	return s.post("/projects/1/surveys/new", s.newSurvey("do", "save")).want(303).thing()
}

// list makes a static cohort of one person.
func (s *site) list(distinctID string) (path, person string) {
	form := s.get("/projects/1/cohorts/new?kind=static").form("form")
	path = s.post("/projects/1/cohorts/new", with(form, "do", "save", "name", "Listed", "kind", "static")).want(303).thing()
	s.upload(path+"/members", distinctID+"\n", "").want(303)
	p, err := s.service.GetPerson(s.t.Context(), s.owner, "1", distinctID)
	fatal(s.t, err)
	return path, p.ID.String()
}

// enrolled makes an early access feature in which somebody has enrolled.
func (s *site) enrolled() string {
	path, _ := s.feature("name", "Dark mode", "stage", "beta")
	s.post(path, url.Values{"do": {"enrol"}, "person": {"user-001"}}).want(303)
	return path
}

// state returns everything that actions change, without what the history adds to it.
func (s *site) state() map[string]any {
	s.t.Helper()
	ctx, out := s.t.Context(), make(map[string]any)
	add := func(kind string, list any, err error) {
		fatal(s.t, err)
		raw, err := json.Marshal(list)
		fatal(s.t, err)
		var things []map[string]any
		fatal(s.t, json.Unmarshal(raw, &things))
		for i, thing := range things {
			forget(thing,
				"id", "version", "updated_at", "last_modified_by", "created_at", "created_by", "status", "last_calculation",
				"is_calculating", "count", "last_called_at",
				"stale_since", "stale_reason", "feature_flag", "targeting_flag", "linked_flag", "features", "surveys", "feature_flag_id")
			out[fmt.Sprint(kind, i, thing["key"], thing["name"])] = thing
		}
	}
	flags, err := s.service.ListFlags(ctx, s.owner, "1", management.FlagQuery{Order: "key"}, 1000, 0)
	add("flag", flags.Items, err)
	cohorts, err := s.service.ListCohorts(ctx, s.owner, "1", management.CohortQuery{}, 1000, 0)
	add("cohort", cohorts.Items, err)
	for _, c := range cohorts.Items {
		members, err := s.service.ListCohortPersons(ctx, s.owner, "1", fmt.Sprint(c.ID), 100, 0)
		if c.IsStatic {
			fatal(s.t, err)
			out["members of "+c.Name] = members.Total
		}
	}
	features, err := s.service.ListEarlyAccessFeatures(ctx, s.owner, "1", 1000, 0)
	add("feature", features.Items, err)
	surveys, err := s.surveys.List(ctx, s.owner, "1", survey.Filter{}, 1000, 0)
	add("survey", surveys.Items, err)
	project, err := s.service.GetProject(ctx, s.owner, "1")
	add("project", []any{project}, err)
	person, err := s.service.GetPerson(ctx, s.owner, "1", "user-001")
	fatal(s.t, err)
	out["person"] = compact(s.t, person.Properties)
	person, err = s.service.GetPerson(ctx, s.owner, "1", "user-002")
	fatal(s.t, err)
	out["other person"] = compact(s.t, person.Properties)
	group, err := s.service.FindGroup(ctx, s.owner, "1", 0, "acme")
	fatal(s.t, err)
	out["group"] = compact(s.t, group.GroupProperties)
	members, err := s.service.ListMembers(ctx, s.owner, "@current", 100, 0)
	fatal(s.t, err)
	for _, m := range members.Items {
		out["member "+m.User.Email] = []any{m.Level, m.User.FirstName, m.User.LastName}
	}
	return out
}

// forget takes members from an object and the objects in it.
func forget(o map[string]any, names ...string) {
	for _, name := range names {
		delete(o, name)
	}
	for _, v := range o {
		if inner, ok := v.(map[string]any); ok {
			forget(inner, names...)
		}
	}
}

// TestRuling99And100Actions: everything that people can do is in the table, asks as it says,
// and is taken back by the button of its notice, unless the table says why not.
func TestRuling99And100Actions(t *testing.T) {
	for _, a := range actions {
		if a.run == nil {
			if a.tested == "" {
				t.Errorf("%s %s is not tried", a.route, a.verb)
			}
			continue
		}
		t.Run(strings.ReplaceAll(a.route+" "+a.verb, "/", "_"), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			path, form := a.run(s)
			before := s.state()
			last := s.post(path, form)
			if asked := last.status == http.StatusOK; asked != (a.asks == who) {
				t.Fatalf("asked %v, want %q; status %d: %s", asked, a.asks, last.status, words(last.body))
			} else if asked {
				last.want(200, "persons who were seen last").checkPage()
				if diff := cmp.Diff(before, s.state(), same); diff != "" {
					t.Fatalf("it was done before it was asked (-before +now)\n%s", diff)
				}
				last = s.post(path, with(last.form(""), last.firstButton()...))
			}
			last.want(http.StatusSeeOther)
			if cmp.Equal(before, s.state()) {
				t.Fatal("nothing was changed")
			}
			page := s.get(strings.TrimPrefix(last.header.Get("Location"), "/console")).want(200, "Undo")
			page.checkPage()
			to, undo := page.undo()
			done := s.post(to, undo).want(http.StatusSeeOther)
			s.get(strings.TrimPrefix(done.header.Get("Location"), "/console")).want(200, "It is as it was before.").checkPage()
			if diff := cmp.Diff(before, s.state(), same); diff != "" {
				t.Errorf("after the undo (-before +now)\n%s", diff)
			}
			if again := s.post(to, undo); again.status != http.StatusConflict && again.status != http.StatusUnprocessableEntity {
				t.Errorf("undone once more: status %d", again.status)
			}
		})
	}
}

// undo returns what the button of a notice sends.
func (a *answer) undo() (path string, form url.Values) {
	a.t.Helper()
	m := regexp.MustCompile(`<form method="post" action="/console([^"]*/undo)">`).FindStringSubmatch(a.body)
	if m == nil {
		a.t.Fatalf("the page has no undo: %s", words(a.body))
	}
	text := a.body[strings.Index(a.body, m[0]):]
	return m[1], (&answer{t: a.t, body: `<form id="x"` + text}).form("x")
}

// firstButton returns the field of the first button of a question.
func (a *answer) firstButton() []string {
	a.t.Helper()
	at := strings.LastIndex(a.body, `<form method="post"`)
	m := regexp.MustCompile(`<button class="(?:primary|danger)"(?: name="(\w+)" value="([^"]*)")?>`).FindStringSubmatch(a.body[at:])
	if m == nil {
		a.t.Fatalf("the question has no button: %s", words(a.body))
	}
	if m[1] == "" {
		return nil
	}
	return []string{m[1], m[2]}
}

var verbButton = regexp.MustCompile(`<button[^>]* name="do" value="([a-z-]+)[ "]`)

// TestRuling100TableOfActionsIsWhole: the table above has every route that changes something, and every
// button.
func TestRuling100TableOfActionsIsWhole(t *testing.T) {
	verbs := slices.Clone(onlyForm)
	routes := make(map[string]bool)
	for _, a := range actions {
		routes[a.route] = true
		verbs = append(verbs, a.verb)
		if a.asks == "" && a.why == "" && strings.Contains(a.route, "/flags/") && a.run != nil {
			t.Errorf("%s %s changes a flag, and does not say why it does not ask", a.route, a.verb)
		}
	}
	list := console.Routes("POST")
	if len(list) < 40 {
		t.Fatalf("%d routes were found", len(list))
	}
	for _, route := range list {
		if !routes[route] {
			t.Errorf("the action of %s is not in the table", route)
		}
		delete(routes, route)
	}
	for route := range routes {
		t.Errorf("the table has %s, which is not a route", route)
	}
	files, err := filepath.Glob("templates/*.html")
	fatal(t, err)
	partials, err := filepath.Glob("templates/partials/*.html")
	fatal(t, err)
	for _, name := range append(files, partials...) {
		text, err := os.ReadFile(name)
		fatal(t, err)
		for _, m := range verbButton.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(verbs, m[1]) {
				t.Errorf("%s: the button %s is not in the table", name, m[1])
			}
		}
	}
	tests, err := filepath.Glob("*_test.go")
	fatal(t, err)
	var all strings.Builder
	for _, name := range tests {
		text, err := os.ReadFile(name)
		fatal(t, err)
		all.Write(text)
	}
	for _, a := range actions {
		if a.tested != "" && !strings.Contains(all.String(), "func "+a.tested+"(") {
			t.Errorf("%s %s: there is no test %s", a.route, a.verb, a.tested)
		}
	}
}

// TestRuling100Undo: an undo takes back one change, of the thing as the change has left it,
// and can be taken back itself.
func TestRuling100Undo(t *testing.T) {
	s := newSite(t)
	path := s.flagPath("retired")
	page := s.get(path)
	last := s.post(path, with(page.form("form"), "name", "Mine", "do", "save")).want(303)
	to, undo := s.get(strings.TrimPrefix(last.header.Get("Location"), "/console")).undo()
	s.update("retired", `{"name":"Theirs"}`)
	s.post(to, undo).want(409, "This cannot be undone any more").checkPage()
	if name := s.flag("retired").Name; name != "Theirs" {
		t.Errorf("name %q", name)
	}

	// Back, and forth.
	was := s.flag("retired").Name
	last = s.post(path, with(s.get(path).form("form"), "name", "Mine", "do", "save")).want(303)
	for _, want := range []string{was, "Mine", was} {
		to, undo := s.get(strings.TrimPrefix(last.header.Get("Location"), "/console")).undo()
		if last = s.post(to, undo).want(303); s.flag("retired").Name != want {
			t.Fatalf("name %q, want %q", s.flag("retired").Name, want)
		}
	}

	// Nothing that was made up is done.
	for _, form := range []url.Values{
		{},
		{"undo": {"what=Else"}, "back": {"/console/"}},
		{"undo": undo["undo"], "back": {"https://example.com/"}},
		{"undo": undo["undo"]},
		{"undo": {"what=Name&item=@me&mark=[]"}, "back": {"/console/"}},
		{"undo": {"what=Person&mark=1"}, "back": {"/console/"}},
		{"undo": {"what=FeatureFlag&item=1&mark=x"}, "back": {"/console/"}},
	} {
		if a := s.post(to, form); a.status != 400 {
			t.Errorf("%v: status %d", form, a.status)
		}
	}
	s.post(to, url.Values{"undo": {"what=FeatureFlag&item=999&mark=1"}, "back": {"/console/"}}).want(409)
	s.token = ""
	s.post(to, undo).want(401)
}

// location is the page that an answer leads to.
func (a *answer) location() string {
	a.t.Helper()
	return strings.TrimPrefix(a.want(http.StatusSeeOther).header.Get("Location"), "/console")
}

// TestRuling100UndoImport: an import says first who gets its flags, and is taken back as a
// whole or not at all (management.md §5.11).
func TestRuling100UndoImport(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	before := s.state()
	// A flag that needs another one, and a cohort that a flag and a cohort use.
	const document = `{"flags":[
		{"id":1,"key":"base","active":true,"filters":{"groups":[{"rollout_percentage":0}]}},
		{"id":2,"key":"after","active":true,"filters":{"groups":[{"properties":[{"key":"1","type":"flag","value":false,
			"operator":"flag_evaluates_to"}]}]}},
		{"id":3,"key":"listed","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":98}]}]}},
		{"id":4,"key":"quiet","active":false,"filters":{"groups":[{}]}}],
		"cohorts":[{"id":97,"name":"Of the file","is_static":true},
			{"id":98,"name":"In it","filters":{"properties":{"type":"OR","values":[{"type":"OR","values":[{"key":"id","type":"cohort",
				"value":97}]}]}}}]}`
	run := func() (page string) {
		form := s.checked("shop.json", document).want(200, "4 flags and 2 cohorts would be imported.",
			"Of the 40 persons who were seen last, since ", ", 40 would get one of the new flags or more.", "after for 40 persons",
			"listed for none of them",
			"It can be undone as a whole").form("import")
		return s.sent(form, "import").location()
	}
	page := run()
	done := s.get(page).want(200, "The document was imported.", "Names of group types stay.")
	done.checkPage()
	to, undo := done.undo()
	s.post(to, undo).leads(strings.TrimPrefix(page, "/console") + "?done=undone")
	s.get(page+"?done=undone").want(200, "It is as it was before.", "The import was undone").checkPage()
	if diff := cmp.Diff(before, s.state(), same); diff != "" {
		t.Errorf("after the undo (-before +now)\n%s", diff)
	}
	if body := s.get(page).body; strings.Contains(body, "/undo") {
		t.Error("an import that was undone can be undone")
	}
	s.get(importPath).want(200, "undone")
	s.post(to, undo).want(409, "This cannot be undone any more", "Flags that the import has made are deleted already.").checkPage()

	// What somebody has changed, or uses, is left alone, and all else with it.
	for name, tt := range map[string]struct {
		do     func()
		status int
		says   string
	}{
		"a changed flag": {func() { s.update("quiet", `{"name":"Mine"}`) }, 409, "The flag quiet was changed after the import."},
		"a cohort with more": {func() {
			s.post(cohortPath(s.named("Of the file")), url.Values{"do": {"add-member"}, "person": {"user-001"}})
		}, 409, "The cohort \"Of the file\", or who is in it, was changed"},
		"a cohort that a flag uses": {func() {
			s.update("checkout-button", fmt.Sprintf(`{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":%d}]}]}}`,
				s.named("In it")))
		}, 422, "active flags use it: checkout-button"},
		"a flag that another needs": {func() {
			s.update("checkout-button", fmt.Sprintf(`{"filters":{"groups":[{"properties":[{"key":"%d","type":"flag","value":true,
				"operator":"flag_evaluates_to"}]}]}}`, s.flag("base").ID))
		}, 422, "other active flags depend on it: checkout-button"},
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			to, undo := s.get(run()).undo()
			tt.do()
			before := s.state()
			s.post(to, undo).want(tt.status, "Nothing was changed.", tt.says).checkPage()
			if diff := cmp.Diff(before, s.state(), same); diff != "" {
				t.Errorf("a refused undo has done something (-before +now)\n%s", diff)
			}
			for _, key := range []string{"after", "base", "listed", "quiet"} {
				s.update("checkout-button", `{"filters":{"groups":[{}]}}`)
				s.update(key, `{"deleted":true}`)
			}
			for _, name := range []string{"In it", "Of the file"} {
				s.post(cohortPath(s.named(name)), url.Values{"do": {"delete"}}).want(303)
			}
		})
	}
	s.t = t

	// Marks that were made up name nothing.
	for _, mark := range []string{"", " ", "x 1", "9-1 ", "1-99999999999 ", "0 ", "-3 ", "1,, "} {
		form := url.Values{"undo": {url.Values{"what": {"Import"}, "mark": {mark}}.Encode()}, "back": {"/console/"}}
		if a := s.post(to, form); a.status != http.StatusBadRequest {
			t.Errorf("mark %q: status %d", mark, a.status)
		}
	}
	// Only what nobody has touched since it was made is deleted.
	s.post(to, url.Values{"undo": {url.Values{"what": {"Import"}, "mark": {"1-3 "}}.Encode()}, "back": {"/console/"}}).want(409)
}

// named returns the ID of a cohort.
func (s *site) named(name string) int64 {
	s.t.Helper()
	list, err := s.service.ListCohorts(s.t.Context(), s.owner, "1", management.CohortQuery{}, 1000, 0)
	fatal(s.t, err)
	for _, c := range list.Items {
		if c.Name == name {
			return c.ID
		}
	}
	s.t.Fatalf("there is no cohort %q", name)
	return 0
}

// TestRuling99And100Upload: a list for a cohort that decides a flag shows first who changes,
// and is taken back as a whole (management.md §5.11).
func TestRuling99And100Upload(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	path, _ := s.list("user-001")
	id := strings.TrimPrefix(path, "/projects/1/cohorts/")
	members := path + "/members"
	listed := func() map[string]bool {
		t.Helper()
		page, err := s.service.ListCohortPersons(t.Context(), s.owner, "1", id, 100, 0)
		fatal(t, err)
		in := make(map[string]bool)
		for _, p := range page.Items {
			in[p.DistinctIDs[0]] = true
		}
		return in
	}
	only := map[string]bool{"user-001": true}

	// Nothing uses it: nobody is asked, and the list goes as a whole. Who was in it stays.
	page := s.get(s.upload(members, "user-001\nuser-002\n", "distinct_id\nstranger\n").location()).want(200, "Undo",
		"Persons who were created for unknown distinct IDs stay.")
	page.checkPage()
	to, undo := page.undo()
	if in := listed(); len(in) != 3 {
		t.Fatalf("in the cohort: %v", in)
	}
	s.post(to, undo).leads(path + "?done=undone")
	if diff := cmp.Diff(only, listed(), same); diff != "" {
		t.Errorf("after the undo (-want +got)\n%s", diff)
	}
	s.post(to, undo).want(409, "This cannot be undone any more")
	s.get("/projects/1/persons?q=stranger").want(200, "stranger")
	if body := s.get(s.upload(members, "user-001", "").location()).want(200).body; strings.Contains(body, "<button>Undo") {
		t.Error("an upload that has added nobody can be undone")
	}

	// An active flag uses it.
	s.update("checkout-button",
		`{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":`+id+`}],"rollout_percentage":100}]}}`)
	s.get(s.upload(members, "user-001", "").location()).want(200) // nobody changes
	const odd = "\"a,\"\"b\"\"\"\n<i>\u2028&\n"                   // two distinct IDs, as CSV has them
	ask := s.upload(members, "", "distinct_id\nuser-001\nuser-002\nuser-003\n"+odd).want(200, "Review changes",
		"The list has 5 distinct IDs for Listed.", "Nothing is stored yet.", "persons who were seen last, 3 are in it then: 2 come in.",
		"checkout-button for 2 persons")
	ask.checkPage()
	if diff := cmp.Diff(only, listed(), same); diff != "" {
		t.Fatalf("it was done before it was asked (-want +got)\n%s", diff)
	}
	form := ask.form("")
	page = s.get(s.do(s.multi(members, form, "", nil)).location()).want(200,
		"The newest list had 5 distinct IDs: 4 persons were not in the cohort before.")
	if in := listed(); len(in) != 5 || !in[`a,"b"`] || !in["<i>\u2028&"] || !in["user-003"] {
		t.Errorf("in the cohort: %v", in)
	}
	// Who comes in by another way later stays.
	person, err := s.service.GetPerson(t.Context(), s.owner, "1", "user-003")
	fatal(t, err)
	s.post(path, url.Values{"do": {"remove-person " + person.ID.String()}}).want(303)
	s.post(path, url.Values{"do": {"add-member"}, "person": {"user-003"}}).want(303)
	to, undo = page.undo()
	s.post(to, undo).leads(path + "?done=undone")
	if diff := cmp.Diff(map[string]bool{"user-001": true, "user-003": true}, listed(), same); diff != "" {
		t.Errorf("after the undo (-want +got)\n%s", diff)
	}

	// What cannot be read is said before anything is stored.
	s.upload(members, "kept\n", "\"broken").want(422, "The list cannot be read", "No person of the list is in the cohort yet.",
		"kept").checkPage()
	s.upload(members, "", "").want(422, "Choose a file, or type distinct IDs.")
	s.do(s.multi(members, with(form, "kept_list", "%%"), "", nil)).want(400)
	s.do(s.multi(members, with(form, "kept_list", form.Get("kept_list")[:20]), "", nil)).want(400)
	if in := listed(); len(in) != 2 {
		t.Errorf("in the cohort: %v", in)
	}
}
