package persons_test

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
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

func init() {
	actions = append(actions,
		action{Route: "/projects/{project}/persons/{person}", Verb: "set", Why: consoletest.Named, Run: func(s *consoletest.Site) (string,
			url.Values,
		) {
			page := s.PersonPage("user-001")
			return page, consoletest.With(s.Get(page+"?edit=plan").Form("property"), "value", "gold", "do", "set")
		}},
		action{
			Route: "/projects/{project}/persons/{person}", Verb: "unset", Why: consoletest.Named,
			Run: func(s *consoletest.Site) (string, url.Values) {
				page := s.PersonPage("user-001")
				return page, consoletest.With(s.Get(page+"?edit=plan").Form("property"), "do", "unset")
			},
		},
		action{
			Route: "/projects/{project}/persons/{person}", Verb: "delete", Asks: consoletest.Confirm,
			Irreversible: "what was known of the person is gone", Tested: "TestPersonDelete",
		},
		action{
			Route: "/projects/{project}/groups/{type}/group", Verb: "set", Why: consoletest.Named,
			Run: func(s *consoletest.Site) (string, url.Values) {
				page := "/projects/1/groups/0/group?key=acme"
				return page, consoletest.With(s.Get(page+"&edit=seats").Form("property"), "value", "1", "do", "set")
			},
		},
		action{
			Route: "/projects/{project}/groups/{type}/group", Verb: "unset", Why: consoletest.Named,
			Run: func(s *consoletest.Site) (string, url.Values) {
				page := "/projects/1/groups/0/group?key=acme"
				return page, consoletest.With(s.Get(page+"&edit=seats").Form("property"), "do", "unset")
			},
		},
		action{
			Route: "/projects/{project}/groups/{type}/group", Verb: "delete", Asks: consoletest.Confirm,
			Irreversible: "what was known of the group is gone", Tested: "TestGroups",
		},
	)
}

// captured stores events as programs send them.
func captured(s *consoletest.Site, events ...capture.ClientEvent) {
	s.T.Helper()
	c, err := capture.NewClient(capture.ClientConfig{Sink: s.Store, Project: s.Project, MaxRetries: -1})
	consoletest.Fatal(s.T, err)
	for _, e := range events {
		if e.Time.IsZero() {
			e.Time = time.Now()
		}
		consoletest.Fatal(s.T, c.Capture(e))
	}
	consoletest.Fatal(s.T, c.Close(s.T.Context()))
}

func set(name, value string) map[string]any {
	return map[string]any{"$set": map[string]any{name: value}}
}

var personLink = regexp.MustCompile(`class="key" href="[^"]*/persons/[^"]*" data-open>([^<]*)<`)

// listed returns the names of the persons of a page.
func listed(a *consoletest.Answer) (names []string) {
	for _, m := range personLink.FindAllStringSubmatch(a.Body, -1) {
		names = append(names, strings.TrimSuffix(m[1], "@example.org"))
	}
	return names
}

func TestPersons(t *testing.T) {
	s := consoletest.NewSite(t)
	captured(s, capture.ClientEvent{
		Name: "seen", DistinctID: "0190c8a0-0000-7000-8000-00000000000a",
		Properties: map[string]any{"$set": map[string]any{"<i>": "<script>alert(1)</script>"}},
	})
	first := s.Get("/projects/1/persons").Want(200, "Persons", "company", "anonymous", "<i> <script>alert(1)</script>")
	first.CheckPage()
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
		a := s.Get("/projects/1/persons?"+tt.query).Want(200, "clear the search")
		a.CheckPage()
		got := listed(a)
		slices.Sort(got) // events of one write have no order
		slices.Sort(tt.want)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.query, diff)
		}
	}
	p, _ := s.Person("user-007")
	if got := listed(s.Get("/projects/1/persons?q=" + p.ID.String())); len(got) != 1 || got[0] != "user-007" {
		t.Errorf("by UUID: %v", got)
	}
	for query, want := range map[string]string{
		"value=pro": "Name the property", "property=plan&operator=exact&value=": "A value is missing.",
		"property=n&operator=between&value=1": "two numbers",
		"property=n&operator=regex&value=(":   "", "q=" + strings.Repeat("x", 201): "200", "property=n&operator=none&value=1": "none",
	} {
		a := s.Get("/projects/1/persons?"+query).Want(422, want)
		a.CheckPage()
		asked, err := url.ParseQuery(query)
		consoletest.Fatal(t, err)
		for name, value := range a.GetForm("/persons") {
			if typed := asked.Get(name); name != "operator" && typed != value[0] {
				t.Errorf("%s: field %s has %q, want %q", query, name, value[0], typed)
			}
		}
	}
	s.Get("/projects/1/persons?after=x").Want(404).CheckPage()
	s.Get("/projects/2/persons").Want(404).CheckPage()
}

// TestPersonPages walks through all persons, which are on several pages.
func TestPersonPages(t *testing.T) {
	s := consoletest.NewSite(t)
	var events []capture.ClientEvent
	for i := range 100 {
		events = append(events, capture.ClientEvent{
			Name: "seen", DistinctID: fmt.Sprintf("more-%03d", i), Properties: set("team", []string{"a", "b"}[i%2]),
		})
	}
	captured(s, events...)
	for query, want := range map[string]int{
		"": 140, "?q=more": 100, "?property=team&operator=exact&value=a": 50, "?q=0&property=team&operator=exact&value=b": 50,
	} {
		seen := make(map[string]bool)
		path, pages := "/projects/1/persons"+query, 0
		for ; path != "" && pages < 9; pages++ {
			a := s.Get(path).Want(200)
			a.CheckPage()
			for _, name := range listed(a) {
				if seen[name] {
					t.Errorf("%s: %s is there twice", query, name)
				}
				seen[name] = true
			}
			path = a.Link("Next")
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

func TestPerson(t *testing.T) {
	s := consoletest.NewSite(t)
	captured(s,
		capture.ClientEvent{
			Name: "$identify", DistinctID: "user-001",
			Properties: map[string]any{"$anon_distinct_id": "0190c8a0-0000-7000-8000-00000000000a"},
		},
		capture.ClientEvent{
			Name: "order <b>paid", DistinctID: "user-001", Properties: map[string]any{"amount": 5, "script": "<script>alert(1)</script>"},
		},
	)
	_, page := s.Person("user-001")
	a := s.Get(page).Want(200, "user-001@example.org", "plan pro", "logins number 5", "new-dashboard on", "order <b>paid",
		"0190c8a0-0000-7000-8000-00000000000a", "Last seen just now", `"script": "\u003cscript`)
	a.CheckPage()
	s.Get("/projects/1/persons/user-001").Want(200, "user-001@example.org")
	s.Get("/projects/1/persons/nobody").Want(404).CheckPage()
	if cohorts := s.Get(page).Body; !strings.Contains(cohorts, "Cohorts") {
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
		form := s.Get(path).Want(200).Form("property")
		form.Set("name", tt.name)
		s.Post(page, consoletest.With(form, "type", tt.kind, "value", tt.value, "do", "set")).Leads(page + "?done=property-set")
		p, _ := s.Person("user-001")
		if got := properties(t, p)[tt.name]; got != consoletest.Compact(t, []byte(tt.stored)) {
			t.Errorf("%s %s %q is stored as %s", tt.name, tt.kind, tt.value, got)
		}
		again := s.Get(path).Want(200).Form("property")
		if again.Get("type") != tt.kind || again.Get("value") != tt.value {
			t.Errorf("%s %q: the form has %q", tt.kind, tt.value, again)
		}
	}

	// What is wrong is said beside the field, with what was typed.
	form := s.Get(page+"?edit=logins").Want(200, "Change a property").Form("property")
	for _, tt := range []struct{ name, kind, value, want string }{
		{"logins", "number", "five", "Must be a number"},
		{"logins", "truth", "1", "Must be true or false."},
		{"logins", "json", "{", "it ends too early, in line 1"},
		{"", "text", "x", "A property needs a name."},
		{strings.Repeat("x", 401), "text", "x", "400"},
	} {
		was := form
		if tt.name != "logins" {
			was = consoletest.With(form, "was", "")
		}
		a := s.Post(page, consoletest.With(was, "name", tt.name, "type", tt.kind, "value", tt.value, "do", "set")).Want(422, tt.want)
		a.CheckPage()
		if got := a.Form("property"); got.Get("name") != tt.name || got.Get("type") != tt.kind || got.Get("value") != tt.value {
			t.Errorf("%v: the form has %v", tt, got)
		}
	}

	// Changed by somebody else meanwhile: both values, and a choice.
	captured(s, capture.ClientEvent{Name: "seen", DistinctID: "user-001", Properties: set("logins", "many")})
	mine := consoletest.With(form, "value", "6", "do", "set")
	conflict := s.Post(page, mine).Want(409, "has changed the property meanwhile: its value is many")
	conflict.CheckPage()
	if got := conflict.Form("property"); got.Get("value") != "6" || got.Get("type") != "number" {
		t.Errorf("what was typed is lost: %v", got)
	}
	s.Post(page, consoletest.With(form, "value", "6", "do", "unset")).Want(409)
	s.Post(page, consoletest.With(conflict.Form("property"), "do", "set")).Leads(page + "?done=property-set")
	s.Post(page, consoletest.With(form, "was", "", "name", "plan", "value", "1", "do", "set")).Want(409,
		"There is a property with this name")

	form = s.Get(page + "?edit=logins").Form("property")
	s.Post(page, consoletest.With(form, "do", "unset")).Leads(page + "?done=property-removed")
	p, _ := s.Person("user-001")
	if _, there := properties(t, p)["logins"]; there {
		t.Error("the property is still there")
	}
	s.Post(page, consoletest.With(form, "do", "set")).Want(409, "has removed the property meanwhile")
	s.Post(page, consoletest.With(form, "do", "unset")).Want(409)
}

func properties(t *testing.T, p *management.PersonView) map[string]string {
	out := make(map[string]string)
	for name, raw := range consoletest.Object(t, p.Properties) {
		out[name] = consoletest.Compact(t, raw)
	}
	return out
}

func TestPersonDelete(t *testing.T) {
	s := consoletest.NewSite(t)
	_, page := s.Person("user-001")
	a := s.Post(page, url.Values{"do": {"delete"}, "typed": {"user-001"}, "events": {"yes"}}).Want(422,
		"Type user-001@example.org to delete the person.")
	a.CheckPage()
	if !strings.Contains(a.Body, `value="yes" checked`) || !strings.Contains(a.Body, `value="user-001"`) {
		t.Error("what was typed is lost")
	}
	s.Post(page, url.Values{
		"do": {"delete"}, "typed": {"user-001@example.org"}, "events": {"yes"},
	}).Leads("/projects/1/persons?done=person-erased")
	s.Get("/projects/1/persons?done=person-erased").Want(200, "The events are being deleted now")
	s.Get(page).Want(404)
	s.Post(page, url.Values{"do": {"delete"}, "typed": {"user-001@example.org"}}).Want(404)
	_, page = s.Person("user-002")
	s.Post(page, url.Values{"do": {"delete"}, "typed": {"user-002@example.org"}}).Leads("/projects/1/persons?done=person-deleted")
	s.Get("/projects/1/audit-log?scope=Person").Want(200, "deleted the person")
}

// TestPersonStoreDown: what was typed is still there.
func TestPersonStoreDown(t *testing.T) {
	s := consoletest.NewSite(t)
	_, page := s.Person("user-001")
	form := consoletest.With(s.Get(page+"?edit=plan").Form("property"), "value", "typed with care", "do", "set")
	s.Broken.Update.Store(true)
	a := s.Post(page, form).Want(503, "The store does not answer, so nothing was saved.")
	a.CheckPage()
	if got := a.Form("property"); got.Get("value") != "typed with care" {
		t.Errorf("what was typed is lost: %v", got)
	}
	s.Broken.Update.Store(false)
	s.Post(page, consoletest.With(a.Form("property"), "do", "set")).Leads(page + "?done=property-set")
}

func TestGroups(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Get("/projects/1/groups/0").Want(200, "Groups: company", "acme", "seats 70").CheckPage()
	s.Get("/projects/1/groups/0?q=ac").Want(200, "acme", "1 group", "clear the search").CheckPage()
	s.Get("/projects/1/groups/0?q=x").Want(200, "No groups match").CheckPage()
	s.Get("/projects/1/groups/4").Want(404).CheckPage()
	s.Get("/projects/1/groups/x").Want(404)
	page := "/projects/1/groups/0/group?key=acme"
	s.Get(page).Want(200, "seats number 70", "company-billing on").CheckPage()
	s.Get("/projects/1/groups/0/group?key=none").Want(404)

	form := s.Get(page+"&edit=seats").Want(200, "Change a property").Form("property")
	s.Post(page, consoletest.With(form, "value", "many", "do", "set")).Want(422, "Must be a number").CheckPage()
	s.Post(page, consoletest.With(form, "value", "5", "do", "set")).Leads(strings.Replace(page, "?", "?done=property-set&", 1))
	s.Post(page, consoletest.With(form, "value", "6", "do", "set")).Want(409, "its value is 5").CheckPage()
	s.Get(page).Want(200, "seats number 5", "company-billing off")
	form = s.Get(page + "&edit=seats").Form("property")
	s.Post(page, consoletest.With(form, "do", "unset")).Leads(strings.Replace(page, "?", "?done=property-removed&", 1))
	s.Post(page, url.Values{"name": {"x"}, "type": {"truth"}, "value": {"true"}, "was": {""}, "do": {"set"}}).Leads(strings.Replace(page,
		"?", "?done=property-set&", 1))
	s.Get(page).Want(200, "x true or false true")

	s.Post(page, url.Values{"do": {"delete"}, "typed": {"acm"}}).Want(422, "Type acme to delete the group.").CheckPage()
	s.Post(page, url.Values{"do": {"delete"}, "typed": {"acme"}}).Leads("/projects/1/groups/0?done=group-deleted")
	s.Get("/projects/1/groups/0").Want(200, "There are no groups of this type").CheckPage()
	s.Post(page, url.Values{"do": {"delete"}, "typed": {"acme"}}).Want(404)

	// A key can be anything.
	key := "../<b>?&=/"
	captured(s, capture.ClientEvent{
		Name: "$groupidentify", DistinctID: "user-001", Properties: map[string]any{"$group_type": "company", "$group_key": key},
	})
	a := s.Get("/projects/1/groups/0").Want(200, key)
	s.Get(a.Link(regexp.QuoteMeta("../&lt;b&gt;?&amp;=/"))).Want(200, key, "None are known.").CheckPage()
}
