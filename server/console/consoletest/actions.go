package consoletest

import (
	"encoding/json"
	"fmt"
	"io/fs"
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
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

// An Action is what a button of the console does.
type Action struct {
	Route string // as routes has it
	Verb  string // of the button, "" for the only one

	// Asks is what is asked before: who changes, or confirm; "" is nothing, and then why says
	// why nobody has to be asked, unless the action changes no flag.
	Asks string
	Why  string

	// Irreversible says why the change cannot be taken back, "" if it can.
	Irreversible string

	// Run presses the button, for a flag that is on where that makes a difference. It is nil
	// for actions whose tests are named in tested.
	Run    func(*Site) (path string, form url.Values)
	Tested string
}

const (
	Who     = "who changes"
	Confirm = "confirm"
	Named   = "who changes is the person that was named"
)

// onlyForm are buttons that change the form alone.
var onlyForm = []string{
	"edit", "preview", "review", "settle", "add-condition", "add-variant", "even", "to-json", "to-form", "copy", "up", "down", "remove",
	"add-person", "add-group", "add-cohort", "add-flag", "add-question", "add-rule",
}

// Beside is a button beside the form of a flag.
func (s *Site) Beside(flag, verb string) (path string, form url.Values) {
	f := s.Flag(flag)
	return fmt.Sprintf("/projects/1/flags/%d", f.ID), url.Values{"do": {verb}, "version": {fmt.Sprint(f.Version)}}
}

func (s *Site) PersonPage(distinctID string) string {
	p, err := s.Service.GetPerson(s.T.Context(), s.Owner, "1", distinctID)
	Fatal(s.T, err)
	return "/projects/1/persons/" + p.ID.String()
}

func (s *Site) UserID(email string) string {
	u, err := s.Store.Users().Get(s.T.Context(), storage.UserEmail.Is(email))
	Fatal(s.T, err)
	return u.UUID.String()
}

// List makes a static cohort of one person.
func (s *Site) List(distinctID string) (path, person string) {
	form := s.Get("/projects/1/cohorts/new?kind=static").Form("form")
	path = s.Post("/projects/1/cohorts/new", With(form, "do", "save", "name", "Listed", "kind", "static")).Want(303).Thing()
	s.Upload(path+"/members", distinctID+"\n", "").Want(303)
	p, err := s.Service.GetPerson(s.T.Context(), s.Owner, "1", distinctID)
	Fatal(s.T, err)
	return path, p.ID.String()
}

// Enrolled makes an early access feature in which somebody has enrolled.
func (s *Site) Enrolled() string {
	path, _ := s.Feature("name", "Dark mode", "stage", "beta")
	s.Post(path, url.Values{"do": {"enrol"}, "person": {"user-001"}}).Want(303)
	return path
}

// State returns everything that actions change, without what the history adds to it.
func (s *Site) State() map[string]any {
	s.T.Helper()
	ctx, out := s.T.Context(), make(map[string]any)
	add := func(kind string, list any, err error) {
		Fatal(s.T, err)
		raw, err := json.Marshal(list)
		Fatal(s.T, err)
		var things []map[string]any
		Fatal(s.T, json.Unmarshal(raw, &things))
		for i, thing := range things {
			forget(thing,
				"id", "version", "updated_at", "last_modified_by", "created_at", "created_by", "status", "last_calculation",
				"is_calculating", "count", "last_called_at",
				"stale_since", "stale_reason", "feature_flag", "targeting_flag", "linked_flag", "features", "surveys", "feature_flag_id")
			out[fmt.Sprint(kind, i, thing["key"], thing["name"])] = thing
		}
	}
	flags, err := s.Service.ListFlags(ctx, s.Owner, "1", management.FlagQuery{Order: "key"}, 1000, 0)
	add("flag", flags.Items, err)
	cohorts, err := s.Service.ListCohorts(ctx, s.Owner, "1", management.CohortQuery{}, 1000, 0)
	add("cohort", cohorts.Items, err)
	for _, c := range cohorts.Items {
		members, err := s.Service.ListCohortPersons(ctx, s.Owner, "1", fmt.Sprint(c.ID), 100, 0)
		if c.IsStatic {
			Fatal(s.T, err)
			out["members of "+c.Name] = members.Total
		}
	}
	features, err := s.Service.ListEarlyAccessFeatures(ctx, s.Owner, "1", 1000, 0)
	add("feature", features.Items, err)
	for kind, list := range s.More {
		things, err := list()
		add(kind, things, err)
	}
	project, err := s.Service.GetProject(ctx, s.Owner, "1")
	add("project", []any{project}, err)
	person, err := s.Service.GetPerson(ctx, s.Owner, "1", "user-001")
	Fatal(s.T, err)
	out["person"] = Compact(s.T, person.Properties)
	person, err = s.Service.GetPerson(ctx, s.Owner, "1", "user-002")
	Fatal(s.T, err)
	out["other person"] = Compact(s.T, person.Properties)
	group, err := s.Service.FindGroup(ctx, s.Owner, "1", 0, "acme")
	Fatal(s.T, err)
	out["group"] = Compact(s.T, group.GroupProperties)
	members, err := s.Service.ListMembers(ctx, s.Owner, "@current", 100, 0)
	Fatal(s.T, err)
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

// TryActions checks that everything that people can do asks as a table says, and is taken back
// by the button of its notice, unless the table says why not (management.md §5.11).
func TryActions(t *testing.T, newSite func(testing.TB) *Site, actions []Action) {
	for _, a := range actions {
		if a.Run == nil {
			if a.Tested == "" {
				t.Errorf("%s %s is not tried", a.Route, a.Verb)
			}
			continue
		}
		t.Run(strings.ReplaceAll(a.Route+" "+a.Verb, "/", "_"), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			path, form := a.Run(s)
			before := s.State()
			last := s.Post(path, form)
			if asked := last.Status == http.StatusOK; asked != (a.Asks == Who) {
				t.Fatalf("asked %v, want %q; status %d: %s", asked, a.Asks, last.Status, Words(last.Body))
			} else if asked {
				last.Want(200, "persons who were seen last").CheckPage()
				if diff := cmp.Diff(before, s.State(), Same); diff != "" {
					t.Fatalf("it was done before it was asked (-before +now)\n%s", diff)
				}
				last = s.Post(path, With(last.Form(""), last.firstButton()...))
			}
			last.Want(http.StatusSeeOther)
			if cmp.Equal(before, s.State()) {
				t.Fatal("nothing was changed")
			}
			page := s.Get(strings.TrimPrefix(last.Header.Get("Location"), "/console")).Want(200, "Undo")
			page.CheckPage()
			to, undo := page.Undo()
			done := s.Post(to, undo).Want(http.StatusSeeOther)
			s.Get(strings.TrimPrefix(done.Header.Get("Location"), "/console")).Want(200, "It is as it was before.").CheckPage()
			if diff := cmp.Diff(before, s.State(), Same); diff != "" {
				t.Errorf("after the undo (-before +now)\n%s", diff)
			}
			if again := s.Post(to, undo); again.Status != http.StatusConflict && again.Status != http.StatusUnprocessableEntity {
				t.Errorf("undone once more: status %d", again.Status)
			}
		})
	}
}

// Undo returns what the button of a notice sends.
func (a *Answer) Undo() (path string, form url.Values) {
	a.T.Helper()
	m := regexp.MustCompile(`<form method="post" action="/console([^"]*/undo)">`).FindStringSubmatch(a.Body)
	if m == nil {
		a.T.Fatalf("the page has no undo: %s", Words(a.Body))
	}
	text := a.Body[strings.Index(a.Body, m[0]):]
	return m[1], (&Answer{T: a.T, Body: `<form id="x"` + text}).Form("x")
}

// firstButton returns the field of the first button of a question.
func (a *Answer) firstButton() []string {
	a.T.Helper()
	at := strings.LastIndex(a.Body, `<form method="post"`)
	m := regexp.MustCompile(`<button class="(?:primary|danger)"(?: name="(\w+)" value="([^"]*)")?>`).FindStringSubmatch(a.Body[at:])
	if m == nil {
		a.T.Fatalf("the question has no button: %s", Words(a.Body))
	}
	if m[1] == "" {
		return nil
	}
	return []string{m[1], m[2]}
}

var verbButton = regexp.MustCompile(`<button[^>]* name="do" value="([a-z-]+)[ "]`)

// CheckActions checks that a table has every route of some screens that changes something, and
// every button of their templates, and that its tests are in the package of the caller. Buttons
// of others are in the tables of the screens to which they belong.
func CheckActions(t *testing.T, of shell.Group, actions []Action, others ...string) {
	verbs := append(others, onlyForm...)
	routes := make(map[string]bool)
	for _, a := range actions {
		routes[a.Route] = true
		verbs = append(verbs, a.Verb)
		if a.Asks == "" && a.Why == "" && strings.Contains(a.Route, "/flags/") && a.Run != nil {
			t.Errorf("%s %s changes a flag, and does not say why it does not ask", a.Route, a.Verb)
		}
	}
	for _, route := range Routes(of, "POST") {
		if !routes[route] {
			t.Errorf("the action of %s is not in the table", route)
		}
		delete(routes, route)
	}
	for route := range routes {
		t.Errorf("the table has %s, which is not a route", route)
	}
	for _, templates := range of.Templates {
		Fatal(t, fs.WalkDir(templates, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(templates, name)
			for _, m := range verbButton.FindAllStringSubmatch(string(text), -1) {
				if !slices.Contains(verbs, m[1]) {
					t.Errorf("%s: the button %s is not in the table", name, m[1])
				}
			}
			return err
		}))
	}
	tests, err := filepath.Glob("*_test.go")
	Fatal(t, err)
	var all strings.Builder
	for _, name := range tests {
		text, err := os.ReadFile(name)
		Fatal(t, err)
		all.Write(text)
	}
	for _, a := range actions {
		if a.Tested != "" && !strings.Contains(all.String(), "func "+a.Tested+"(") {
			t.Errorf("%s %s: there is no test %s", a.Route, a.Verb, a.Tested)
		}
	}
}

// Location is the page that an answer leads to.
func (a *Answer) Location() string {
	a.T.Helper()
	return strings.TrimPrefix(a.Want(http.StatusSeeOther).Header.Get("Location"), "/console")
}

// Named returns the ID of a cohort.
func (s *Site) Named(name string) int64 {
	s.T.Helper()
	list, err := s.Service.ListCohorts(s.T.Context(), s.Owner, "1", management.CohortQuery{}, 1000, 0)
	Fatal(s.T, err)
	for _, c := range list.Items {
		if c.Name == name {
			return c.ID
		}
	}
	s.T.Fatalf("there is no cohort %q", name)
	return 0
}

// Routes returns the paths that a method has in some screens.
func Routes(of shell.Group, method string) (paths []string) {
	for _, s := range of.Screens {
		for route := range s.Pages {
			if path, ok := strings.CutPrefix(route, method+" "); ok {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return paths
}
