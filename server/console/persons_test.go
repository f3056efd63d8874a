package console_test

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
)

func init() {
	actions = append(actions,
		action{route: "/projects/{project}/persons/{person}", verb: "set", why: named, run: func(s *site) (string, url.Values) {
			page := s.personPage("user-001")
			return page, with(s.get(page+"?edit=plan").form("property"), "value", "gold", "do", "set")
		}},
		action{route: "/projects/{project}/persons/{person}", verb: "unset", why: named, run: func(s *site) (string, url.Values) {
			page := s.personPage("user-001")
			return page, with(s.get(page+"?edit=plan").form("property"), "do", "unset")
		}},
		action{
			route: "/projects/{project}/persons/{person}", verb: "delete", asks: confirm,
			irreversible: "what was known of the person is gone", tested: "TestPersonDelete",
		},
		action{route: "/projects/{project}/groups/{type}/group", verb: "set", why: named, run: func(s *site) (string, url.Values) {
			page := "/projects/1/groups/0/group?key=acme"
			return page, with(s.get(page+"&edit=seats").form("property"), "value", "1", "do", "set")
		}},
		action{route: "/projects/{project}/groups/{type}/group", verb: "unset", why: named, run: func(s *site) (string, url.Values) {
			page := "/projects/1/groups/0/group?key=acme"
			return page, with(s.get(page+"&edit=seats").form("property"), "do", "unset")
		}},
		action{
			route: "/projects/{project}/groups/{type}/group", verb: "delete", asks: confirm,
			irreversible: "what was known of the group is gone", tested: "TestGroups",
		},
	)
}

// capture stores events as programs send them.
func (s *site) capture(events ...capture.ClientEvent) {
	s.t.Helper()
	c, err := capture.NewClient(capture.ClientConfig{Sink: s.store, Project: s.project, MaxRetries: -1})
	fatal(s.t, err)
	for _, e := range events {
		if e.Time.IsZero() {
			e.Time = time.Now()
		}
		fatal(s.t, c.Capture(e))
	}
	fatal(s.t, c.Close(s.t.Context()))
}

// person returns a person, and the page about the person.
func (s *site) person(distinctID string) (p *management.PersonView, page string) {
	s.t.Helper()
	p, err := s.service.GetPerson(s.t.Context(), s.owner, "1", distinctID)
	fatal(s.t, err)
	return p, "/projects/1/persons/" + p.ID.String()
}

func set(name, value string) map[string]any {
	return map[string]any{"$set": map[string]any{name: value}}
}

var personLink = regexp.MustCompile(`class="key" href="[^"]*/persons/[^"]*" data-open>([^<]*)<`)

// listed returns the names of the persons of a page.
func (a *answer) listed() (names []string) {
	for _, m := range personLink.FindAllStringSubmatch(a.body, -1) {
		names = append(names, strings.TrimSuffix(m[1], "@example.org"))
	}
	return names
}

func TestPersons(t *testing.T) {
	s := newSite(t)
	s.capture(capture.ClientEvent{
		Name: "seen", DistinctID: "0190c8a0-0000-7000-8000-00000000000a",
		Properties: map[string]any{"$set": map[string]any{"<i>": "<script>alert(1)</script>"}},
	})
	first := s.get("/projects/1/persons").want(200, "Persons", "company", "anonymous", "<i> <script>alert(1)</script>")
	first.checkPage()
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{
			"q=user-00",
			[]string{
				"user-009", "user-008", "user-007", "user-006", "user-005", "user-004", "user-003", "user-002", "user-001", "user-000",
			},
		},
		{"q=USER-011%40EX", []string{"user-011"}},
		{"q=" + url.QueryEscape("user-012@example.org"), []string{"user-012"}},
		{"property=plan&operator=exact&value=pro&q=user-00", []string{"user-009", "user-005", "user-001"}},
		{"property=logins&operator=gte&value=190", []string{"user-039", "user-038"}},
		{"property=logins&operator=between&value=" + url.QueryEscape("10, 20"), []string{"user-004", "user-003", "user-002"}},
		{"property=plan&operator=icontains_multi&value=" + url.QueryEscape("nothing, ria") + "&q=1%40", []string{"user-031", "user-011"}},
		{"property=plan&operator=is_not_set&value=", []string{"0190c8a0-0000-7000-8000-00000000000a"}},
		{"q=nobody", nil},
	} {
		a := s.get("/projects/1/persons?"+tt.query).want(200, "clear the search")
		a.checkPage()
		got := a.listed()
		slices.Sort(got) // events of one write have no order
		slices.Sort(tt.want)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.query, diff)
		}
	}
	p, _ := s.person("user-007")
	if got := s.get("/projects/1/persons?q=" + p.ID.String()).listed(); len(got) != 1 || got[0] != "user-007" {
		t.Errorf("by UUID: %v", got)
	}
	for query, want := range map[string]string{
		"value=pro": "Name the property", "property=plan&operator=exact&value=": "A value is missing.",
		"property=n&operator=between&value=1": "two numbers",
		"property=n&operator=regex&value=(":   "", "q=" + strings.Repeat("x", 201): "200", "property=n&operator=none&value=1": "none",
	} {
		a := s.get("/projects/1/persons?"+query).want(422, want)
		a.checkPage()
		asked, err := url.ParseQuery(query)
		fatal(t, err)
		for name, value := range a.getForm("/persons") {
			if typed := asked.Get(name); name != "operator" && typed != value[0] {
				t.Errorf("%s: field %s has %q, want %q", query, name, value[0], typed)
			}
		}
	}
	s.get("/projects/1/persons?after=x").want(404).checkPage()
	s.get("/projects/2/persons").want(404).checkPage()
}

// TestPersonPages walks through all persons, which are on several pages.
func TestPersonPages(t *testing.T) {
	s := newSite(t)
	var events []capture.ClientEvent
	for i := range 100 {
		events = append(events, capture.ClientEvent{
			Name: "seen", DistinctID: fmt.Sprintf("more-%03d", i), Properties: set("team", []string{"a", "b"}[i%2]),
		})
	}
	s.capture(events...)
	for query, want := range map[string]int{
		"": 140, "?q=more": 100, "?property=team&operator=exact&value=a": 50, "?q=0&property=team&operator=exact&value=b": 50,
	} {
		seen := make(map[string]bool)
		path, pages := "/projects/1/persons"+query, 0
		for ; path != "" && pages < 9; pages++ {
			a := s.get(path).want(200)
			a.checkPage()
			for _, name := range a.listed() {
				if seen[name] {
					t.Errorf("%s: %s is there twice", query, name)
				}
				seen[name] = true
			}
			path = a.link("Next")
		}
		if query == "?q=0&property=team&operator=exact&value=b" {
			want = 0
			for i := range 100 {
				if i%2 == 1 && strings.Contains(fmt.Sprintf("%03d", i), "0") {
					want++
				}
			}
		}
		if len(seen) != want || pages != (want+49)/50 {
			t.Errorf("%s: %d persons on %d pages, want %d", query, len(seen), pages, want)
		}
	}
}

// link returns where the link with a text leads, below the prefix.
func (a *answer) link(text string) string {
	m := regexp.MustCompile(`<a [^>]*href="/console([^"]*)"[^>]*>` + text + `</a>`).FindStringSubmatch(a.body)
	if m == nil {
		return ""
	}
	return strings.ReplaceAll(m[1], "&amp;", "&")
}

// getForm reads the fields of the form that asks for a page whose path ends so.
func (a *answer) getForm(path string) url.Values {
	a.t.Helper()
	at := regexp.MustCompile(`<form [^>]*action="[^"]*` + path + `"`).FindStringIndex(a.body)
	if at == nil {
		a.t.Fatalf("there is no form for %s", path)
	}
	copied := &answer{t: a.t, body: `<form method="post"` + a.body[at[1]:]}
	copied.body = copied.body[:strings.Index(copied.body, "</form>")+len("</form>")]
	return copied.form("")
}

func TestPerson(t *testing.T) {
	s := newSite(t)
	s.capture(
		capture.ClientEvent{
			Name: "$identify", DistinctID: "user-001",
			Properties: map[string]any{"$anon_distinct_id": "0190c8a0-0000-7000-8000-00000000000a"},
		},
		capture.ClientEvent{
			Name: "order <b>paid", DistinctID: "user-001", Properties: map[string]any{"amount": 5, "script": "<script>alert(1)</script>"},
		},
	)
	_, page := s.person("user-001")
	a := s.get(page).want(200, "user-001@example.org", "plan pro", "logins number 5", "new-dashboard on", "order <b>paid",
		"0190c8a0-0000-7000-8000-00000000000a", "Last seen just now", `"script": "\u003cscript`)
	a.checkPage()
	s.get("/projects/1/persons/user-001").want(200, "user-001@example.org")
	s.get("/projects/1/persons/nobody").want(404).checkPage()
	if cohorts := s.get(page).body; !strings.Contains(cohorts, "Cohorts") {
		t.Error("no cohorts")
	}

	// Every type of property comes back as it was set.
	for _, tt := range []struct{ name, kind, value, stored string }{
		{"plan", "text", "<b>team</b>", `"<b>team</b>"`},
		{"plan", "text", "two\nlines", `"two\nlines"`},
		{"plan", "number", "1e3", "1e3"},
		{"plan", "truth", "true", "true"},
		{"plan", "nothing", "", "null"},
		{"plan", "json", `{"a":[1,null]}`, `{"a":[1,null]}`},
		{"a b/c", "text", "new", `"new"`},
	} {
		path := page + "?edit=" + url.QueryEscape(tt.name)
		form := s.get(path).want(200).form("property")
		form.Set("name", tt.name)
		s.post(page, with(form, "type", tt.kind, "value", tt.value, "do", "set")).leads(page + "?done=property-set")
		p, _ := s.person("user-001")
		if got := properties(t, p)[tt.name]; got != compact(t, []byte(tt.stored)) {
			t.Errorf("%s %s %q is stored as %s", tt.name, tt.kind, tt.value, got)
		}
		again := s.get(path).want(200).form("property")
		if again.Get("type") != tt.kind || again.Get("value") != tt.value {
			t.Errorf("%s %q: the form has %q", tt.kind, tt.value, again)
		}
	}

	// What is wrong is said beside the field, with what was typed.
	form := s.get(page+"?edit=logins").want(200, "Change a property").form("property")
	for _, tt := range []struct{ name, kind, value, want string }{
		{"logins", "number", "five", "Must be a number"},
		{"logins", "truth", "1", "Must be true or false."},
		{"logins", "json", "{", "it ends too early, in line 1"},
		{"", "text", "x", "A property needs a name."},
		{strings.Repeat("x", 401), "text", "x", "400"},
	} {
		was := form
		if tt.name != "logins" {
			was = with(form, "was", "")
		}
		a := s.post(page, with(was, "name", tt.name, "type", tt.kind, "value", tt.value, "do", "set")).want(422, tt.want)
		a.checkPage()
		if got := a.form("property"); got.Get("name") != tt.name || got.Get("type") != tt.kind || got.Get("value") != tt.value {
			t.Errorf("%v: the form has %v", tt, got)
		}
	}

	// Changed by somebody else meanwhile: both values, and a choice.
	s.capture(capture.ClientEvent{Name: "seen", DistinctID: "user-001", Properties: set("logins", "many")})
	mine := with(form, "value", "6", "do", "set")
	conflict := s.post(page, mine).want(409, "has changed the property meanwhile: its value is many")
	conflict.checkPage()
	if got := conflict.form("property"); got.Get("value") != "6" || got.Get("type") != "number" {
		t.Errorf("what was typed is lost: %v", got)
	}
	s.post(page, with(form, "value", "6", "do", "unset")).want(409)
	s.post(page, with(conflict.form("property"), "do", "set")).leads(page + "?done=property-set")
	s.post(page, with(form, "was", "", "name", "plan", "value", "1", "do", "set")).want(409, "There is a property with this name")

	form = s.get(page + "?edit=logins").form("property")
	s.post(page, with(form, "do", "unset")).leads(page + "?done=property-removed")
	p, _ := s.person("user-001")
	if _, there := properties(t, p)["logins"]; there {
		t.Error("the property is still there")
	}
	s.post(page, with(form, "do", "set")).want(409, "has removed the property meanwhile")
	s.post(page, with(form, "do", "unset")).want(409)
}

func properties(t *testing.T, p *management.PersonView) map[string]string {
	out := make(map[string]string)
	for name, raw := range object(t, p.Properties) {
		out[name] = compact(t, raw)
	}
	return out
}

func TestPersonDelete(t *testing.T) {
	s := newSite(t)
	_, page := s.person("user-001")
	a := s.post(page, url.Values{"do": {"delete"}, "typed": {"user-001"}, "events": {"yes"}}).want(422,
		"Type user-001@example.org to delete the person.")
	a.checkPage()
	if !strings.Contains(a.body, `value="yes" checked`) || !strings.Contains(a.body, `value="user-001"`) {
		t.Error("what was typed is lost")
	}
	s.post(page, url.Values{
		"do": {"delete"}, "typed": {"user-001@example.org"}, "events": {"yes"},
	}).leads("/projects/1/persons?done=person-erased")
	s.get("/projects/1/persons?done=person-erased").want(200, "The events are being deleted now")
	s.get(page).want(404)
	s.post(page, url.Values{"do": {"delete"}, "typed": {"user-001@example.org"}}).want(404)
	_, page = s.person("user-002")
	s.post(page, url.Values{"do": {"delete"}, "typed": {"user-002@example.org"}}).leads("/projects/1/persons?done=person-deleted")
	s.get("/projects/1/audit-log?scope=Person").want(200, "deleted the person")
}

// TestPersonStoreDown: what was typed is still there.
func TestPersonStoreDown(t *testing.T) {
	s := newSite(t)
	_, page := s.person("user-001")
	form := with(s.get(page+"?edit=plan").form("property"), "value", "typed with care", "do", "set")
	s.broken.update.Store(true)
	a := s.post(page, form).want(503, "The store does not answer, so nothing was saved.")
	a.checkPage()
	if got := a.form("property"); got.Get("value") != "typed with care" {
		t.Errorf("what was typed is lost: %v", got)
	}
	s.broken.update.Store(false)
	s.post(page, with(a.form("property"), "do", "set")).leads(page + "?done=property-set")
}

func TestGroups(t *testing.T) {
	s := newSite(t)
	s.get("/projects/1/groups/0").want(200, "Groups: company", "acme", "seats 70").checkPage()
	s.get("/projects/1/groups/0?q=ac").want(200, "acme", "1 group", "clear the search").checkPage()
	s.get("/projects/1/groups/0?q=x").want(200, "No groups match").checkPage()
	s.get("/projects/1/groups/4").want(404).checkPage()
	s.get("/projects/1/groups/x").want(404)
	page := "/projects/1/groups/0/group?key=acme"
	s.get(page).want(200, "seats number 70", "company-billing on").checkPage()
	s.get("/projects/1/groups/0/group?key=none").want(404)

	form := s.get(page+"&edit=seats").want(200, "Change a property").form("property")
	s.post(page, with(form, "value", "many", "do", "set")).want(422, "Must be a number").checkPage()
	s.post(page, with(form, "value", "5", "do", "set")).leads(strings.Replace(page, "?", "?done=property-set&", 1))
	s.post(page, with(form, "value", "6", "do", "set")).want(409, "its value is 5").checkPage()
	s.get(page).want(200, "seats number 5", "company-billing off")
	form = s.get(page + "&edit=seats").form("property")
	s.post(page, with(form, "do", "unset")).leads(strings.Replace(page, "?", "?done=property-removed&", 1))
	s.post(page, url.Values{"name": {"x"}, "type": {"truth"}, "value": {"true"}, "was": {""}, "do": {"set"}}).leads(strings.Replace(page,
		"?", "?done=property-set&", 1))
	s.get(page).want(200, "x true or false true")

	s.post(page, url.Values{"do": {"delete"}, "typed": {"acm"}}).want(422, "Type acme to delete the group.").checkPage()
	s.post(page, url.Values{"do": {"delete"}, "typed": {"acme"}}).leads("/projects/1/groups/0?done=group-deleted")
	s.get("/projects/1/groups/0").want(200, "There are no groups of this type").checkPage()
	s.post(page, url.Values{"do": {"delete"}, "typed": {"acme"}}).want(404)

	// A key can be anything.
	key := "../<b>?&=/"
	s.capture(capture.ClientEvent{
		Name: "$groupidentify", DistinctID: "user-001", Properties: map[string]any{"$group_type": "company", "$group_key": key},
	})
	a := s.get("/projects/1/groups/0").want(200, key)
	s.get(a.link(regexp.QuoteMeta("../&lt;b&gt;?&amp;=/"))).want(200, key, "None are known.").checkPage()
}
