package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
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
		action{route: "/projects/{project}/flags/new", verb: "save", asks: who, run: func(s *site) (string, url.Values) {
			form := s.get("/projects/1/flags/new").form("form")
			return "/projects/1/flags/new", with(form, "key", "fresh", "active", "yes", "do", "save")
		}},
		action{route: "/projects/{project}/flags/{flag}", verb: "save", asks: who, run: func(s *site) (string, url.Values) {
			path := s.flagPath("new-dashboard")
			return path, with(s.get(path).form("form"), "c1.share", "0", "do", "save")
		}},
		action{
			route: "/projects/{project}/flags/{flag}", verb: "archive", asks: who,
			run: func(s *site) (string, url.Values) { return s.beside("checkout-button", "archive") },
		},
		action{
			route: "/projects/{project}/flags/{flag}", verb: "unarchive", why: "an archived flag is off, and stays off",
			run: func(s *site) (string, url.Values) {
				s.update("retired", `{"archived":true}`)
				return s.beside("retired", "unarchive")
			},
		},
		action{
			route: "/projects/{project}/flags/{flag}", verb: "delete", asks: who,
			run: func(s *site) (string, url.Values) { return s.beside("checkout-button", "delete") },
		},
		action{route: "/projects/{project}/flags/{flag}", verb: "restore", asks: who, run: func(s *site) (string, url.Values) {
			path := s.flagPath("checkout-button")
			s.update("checkout-button", `{"deleted":true}`)
			return s.beside(strings.TrimPrefix(path, "/projects/1/flags/"), "restore")
		}},
		action{route: "/projects/{project}/flags/{flag}/history", asks: who, run: func(s *site) (string, url.Values) {
			path := s.flagPath("checkout-button")
			was := s.flag("checkout-button").Version
			s.update("checkout-button", `{"filters":{"groups":[{"properties":[],"rollout_percentage":0}]}}`)
			return path + "/history", url.Values{"to": {fmt.Sprint(was)}, "version": {fmt.Sprint(was + 1)}}
		}},
	)
}

// update changes a flag as another user would.
func (s *site) update(key, body string) {
	s.t.Helper()
	var p management.FlagPatch
	fatal(s.t, json.Unmarshal([]byte(body), &p))
	_, err := s.service.UpdateFlag(s.t.Context(), s.owner, "1", key, p)
	fatal(s.t, err)
}

// TestFormRoundTrip saves the form of each flag as it is: nothing changes.
func TestFormRoundTrip(t *testing.T) {
	s := newSite(t)
	s.update("checkout-button", `{"filters":{"early_exit":true,"groups":[{"properties":[
		{"key":"a","type":"person","operator":"exact","value":["x, y","z"]},{"key":"b","operator":"gt","value":"7","type":"person"},
		{"key":"c","type":"person","operator":"is_set","value":"is_set"},{"key":"d","type":"person","operator":"between","value":[1,
			"2.50"]},
		{"key":"e","type":"person","operator":"exact","value":""},{"key":"f","type":"person","operator":"exact","value":true},
		{"key":"id","type":"cohort","operator":"not_in","value":1}],
		"rollout_percentage":12.5,"variant":"green","description":"a note","sort_key":"k"},
		{"properties":[],"rollout_percentage":null,"aggregation_group_type_index":null},
		{"properties":[{"key":"seats","type":"group","group_type_index":0,"operator":"lt","value":1e3}],"aggregation_group_type_index":0}],
		"payloads":{"blue":{"a":[1,2]},"green":"\"text\""}},
		"tags":["b","a"],"evaluation_contexts":["web"],"evaluation_contexts_match_mode":"all","bucketing_hash":"xxhash64",
			"ensure_experience_continuity":true}`)
	for _, key := range []string{
		"new-dashboard", "checkout-button", "mobile-update", "power-tools", "company-billing", "bulk-export", "animations", "docs-search",
		"assistant", "pricing-page", "dashboard-tour", "retired",
	} {
		t.Run(key, func(t *testing.T) {
			before, path := s.flag(key), s.flagPath(key)
			page := s.get(path).want(200, key)
			page.checkPage()
			form := page.form("form")
			s.post(path, with(form, "do", "save", "reviewed", fmt.Sprint(before.Version))).leads(path + "?done=unchanged")
			after := s.flag(key)
			if diff := cmp.Diff(shown(before.Filters), shown(after.Filters)); diff != "" {
				t.Errorf("filters (-before +after):\n%s", diff)
			}
			if before.Version != after.Version {
				t.Errorf("version %d, want %d", after.Version, before.Version)
			}

			// Through JSON and back, nothing is lost either.
			asJSON := s.post(path, with(form, "do", "to-json")).want(200, "Targeting as JSON").form("form")
			back := s.post(path, with(asJSON, "do", "to-form")).want(200).form("form")
			s.post(path, with(asJSON, "do", "save", "reviewed", fmt.Sprint(before.Version))).leads(path + "?done=unchanged")
			s.post(path, with(back, "do", "save", "reviewed", fmt.Sprint(before.Version))).leads(path + "?done=unchanged")
			if diff := cmp.Diff(shown(before.Filters), shown(s.flag(key).Filters)); diff != "" {
				t.Errorf("filters by JSON (-before +after):\n%s", diff)
			}
		})
	}
}

// TestNewFlag makes a flag with everything that the form offers.
func TestNewFlag(t *testing.T) {
	s := newSite(t)
	page := s.get("/projects/1/flags/new").want(200, "New flag")
	page.checkPage()
	form := page.form("form")
	press := func(do string, pairs ...string) {
		t.Helper()
		a := s.post("/projects/1/flags/new", with(form, append(pairs, "do", do)...)).want(200)
		a.checkPage()
		form = a.form("form")
	}
	press("add-person c0", "key", "made", "name", "By hand", "tags", "one, two", "contexts", "Web", "runtime", "server")
	press("add-cohort c0", "c0.f0.key", "plan", "c0.f0.operator", "is_not", "c0.f0.value", "pro")
	form.Add("c0.f0.value", "team")
	press("add-flag c0", "c0.f1.value", "1")
	press("add-condition", "c0.f2.key", "new-dashboard")
	press("copy c0", "c0.share", "20")
	press("up c2", "c2.share", "5.5", "c2.description", "the last")
	press("remove c2")
	press("add-variant")
	press("add-variant", "v0.payload", "[1]")
	press("even", "v2.key", "third")
	press("add-condition", "c0.variant", "third")
	press("add-group c2", "c2.aggregation", "0", "c2.share", "100")
	press("add-group c2", "c2.f0.key", "seats", "c2.f0.operator", "gte", "c2.f0.value", "50")
	press("remove c2.f1")
	review := s.post("/projects/1/flags/new", with(form, "do", "review", "active", "yes")).want(200, "Review changes",
		"Of the 40 persons who were seen last")
	review.checkPage()
	a := s.post("/projects/1/flags/new", with(review.form(""), "do", "save")).want(303)
	made := s.flag("made")
	a.leads(s.flagPath("made") + "?done=created")
	want := `{"groups":[
		{"properties":[{"key":"plan","operator":"is_not","type":"person","value":["pro","team"]},
			{"cohort_name":"Imported cohort 2","key":"id","operator":"in","type":"cohort","value":1},
			{"key":"1","operator":"flag_evaluates_to","type":"flag","value":true}],"rollout_percentage":20,"variant":"third"},
		{"properties":[],"rollout_percentage":5.5,"description":"the last"},
		{"properties":[{"group_type_index":0,"key":"seats","operator":"gte","type":"group","value":50}],"aggregation_group_type_index":0}],
		"multivariate":{"variants":[{"key":"control","rollout_percentage":33.34},{"key":"test","rollout_percentage":33.33},
			{"key":"third","rollout_percentage":33.33}]},"payloads":{"control":"[1]"}}`
	got := shown(made.Filters)
	if diff := cmp.Diff(indent(t, compact(t, []byte(want))), indent(t, got)); diff != "" {
		t.Logf("filters (-want +got):\n%s", diff)
		t.Fail()
	}
	if !made.Active || made.Name != "By hand" || !slices.Equal(made.Tags, []string{"one", "two"}) ||
		!slices.Equal(made.Contexts, []string{"web"}) || made.Runtime != "server" {
		t.Errorf("flag %+v", made)
	}
}

func indent(t testing.TB, raw string) []string {
	t.Helper()
	var v any
	fatal(t, json.Unmarshal([]byte(raw), &v))
	b, err := json.MarshalIndent(v, "", " ")
	fatal(t, err)
	return strings.Split(string(b), "\n")
}

func TestFormErrors(t *testing.T) {
	s := newSite(t)
	path := s.flagPath("checkout-button")
	form := s.get(path).form("form")
	for _, tt := range []struct {
		name   string
		change []string
		field  string
		want   string
	}{
		{"key", []string{"key", "a b"}, "key", `Only letters, numbers, hyphens (-) and underscores (_) are allowed, not "a b".`},
		{"taken key", []string{"key", "retired"}, "key", "There is already a feature flag with this key."},
		{"share", []string{"c0.share", "101"}, "c0.share", `Must be a number from 0 to 100, not "101".`},
		{"no number", []string{"c1.share", "0x1"}, "c1.share", `not "0x1".`},
		{"property", []string{"c0.f0.key", ""}, "c0.f0.key", "Name a property."},
		{"value", []string{"c0.f0.value", ""}, "c0.f0.value", "A value is missing."},
		{"pattern", []string{"c0.f0.operator", "regex", "c0.f0.value", "("}, "c0.f0.value", "regular expression"},
		{"shares", []string{"v0.share", "49"}, "variants", "The weights of the variants must sum to 100%, not 99%."},
		{"payload", []string{"v1.payload", "{\n \"a\": x}"}, "v1.payload", "line 2, character 7"},
		{"half payload", []string{"v1.payload", `{"a":`}, "v1.payload", "it ends too early, in line 1"},
		{"variant", []string{"v1.key", "control"}, "v1.key", "control"},
		{"holdout", []string{"holdout_id", "x", "holdout_share", "5"}, "holdout_id", `Must be a number, not "x".`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.post(path, with(form, append(tt.change, "do", "review")...)).want(422, tt.want)
			a.checkPage()
			if !strings.Contains(a.body, `id="`+tt.field+`-error"`) {
				t.Errorf("no message is beside the field %s", tt.field)
			}
			kept := a.form("form")
			for i := 0; i < len(tt.change); i += 2 {
				if got := kept[tt.change[i]]; tt.change[i+1] != "" && !slices.Contains(got, tt.change[i+1]) {
					t.Errorf("%s is %q, want what was typed, %q", tt.change[i], got, tt.change[i+1])
				}
			}
		})
	}
	asJSON := s.post(path, with(form, "do", "to-json")).form("form")
	s.post(path, with(asJSON, "do", "review", "json", `{"groups":[{"rollout_percentage":-1}]}`)).want(422,
		"groups/0/rollout_percentage").checkPage()
	s.post(path, with(asJSON, "do", "to-form", "json", `[]`)).want(422, "filters are an object").checkPage()
	if v := s.flag("checkout-button").Version; v != 3 {
		t.Errorf("version %d, want 3: nothing was saved", v)
	}
}

func TestReview(t *testing.T) {
	s := newSite(t)
	path := s.flagPath("new-dashboard")
	form := s.get(path).form("form")
	a := s.post(path, with(form, "do", "review", "c1.share", "100")).want(200, "gain it", "stay as they are",
		"condition set 2, rollout percentage 50% → 100%", "dashboard-tour")
	a.checkPage()
	back := s.post(path, with(a.form(""), "do", "edit")).want(200).form("form")
	if got := back.Get("c1.share"); got != "100" {
		t.Errorf("back in the form the share is %q, want 100", got)
	}
	// Without the page the flag is not saved.
	s.post(path, with(form, "do", "save", "c1.share", "100")).want(200, "Review changes")
	if v := s.flag("new-dashboard").Version; v != 1 {
		t.Fatalf("version %d, want 1", v)
	}
	s.post(path, with(a.form(""), "do", "save")).leads(path + "?done=saved")
	s.get(path+"?done=saved").want(200, "Saved.", "everyone where plan is pro or team; everyone")
	s.post(path, with(s.get(path).form("form"), "do", "review")).want(200, "Nothing has changed yet.")
	if a := s.post(path, with(form, "do", "preview", "c1.share", "0")); a.status != 200 || !strings.Contains(a.body, "lose it") ||
		strings.Contains(a.body, "<html") {
		t.Errorf("preview: %d %s", a.status, a.body)
	}
	if a := s.post(path, with(form, "do", "preview", "c0.f0.value", "gold", "c1.share", "7")); !strings.Contains(a.body,
		`data-words="c0">everyone where plan is gold<`) || !strings.Contains(a.body, `data-words="c1">7% of everyone<`) {
		t.Errorf("the sentences of conditions do not follow their fields: %s", a.body)
	}
	if a := s.post(path, with(form, "do", "preview", "c0.f0.value", "gold", "c1.share", "x")); a.status != 200 ||
		!strings.Contains(a.body, "plan is gold") || strings.Contains(a.body, "lead") {
		t.Errorf("preview of what cannot be read: %d %s", a.status, a.body)
	}
}

func TestConflict(t *testing.T) {
	s := newSite(t)
	path := s.flagPath("new-dashboard")
	form := s.get(path).form("form")
	s.update("new-dashboard", `{"name":"Theirs"}`)

	// Another field is not a conflict.
	review := s.review(path, with(form, "c1.share", "60"))
	s.post(path, with(review, "do", "save")).leads(path + "?done=saved")
	if f := s.flag("new-dashboard"); f.Name != "Theirs" || !strings.Contains(shown(f.Filters), "60") {
		t.Errorf("flag %s %s, want both changes", f.Name, shown(f.Filters))
	}

	// The same field is one.
	form = s.get(path).form("form")
	s.update("new-dashboard", `{"filters":{"groups":[{"properties":[],"rollout_percentage":10}]}}`)
	a := s.post(path, with(form, "do", "review", "c1.share", "70")).want(409, "Somebody else changed this flag", "Version 4",
		"Your changes", "70")
	a.checkPage()
	if strings.Contains(shown(s.flag("new-dashboard").Filters), "70") {
		t.Fatal("it was saved")
	}
	edit := s.post(path, with(a.form(""), "do", "edit")).want(200).form("form")
	if edit.Get("c1.share") != "70" || edit.Get("version") != "4" {
		t.Errorf("the form after a conflict: %v", edit)
	}
	s.post(path, with(a.form(""), "do", "save")).leads(path + "?done=saved")
	if !strings.Contains(shown(s.flag("new-dashboard").Filters), "70") {
		t.Error("it was not saved")
	}
}

func TestHistory(t *testing.T) {
	s := newSite(t)
	path := s.flagPath("retired")
	s.update("retired", `{"name":"Other words","tags":["x"]}`)
	a := s.get(path+"/history").want(200, "Version 10", "Version 9", "Go back to this version", "Other words")
	a.checkPage()
	s.post(path+"/history", url.Values{"version": {"10"}, "to": {"9"}}).leads(path + "?done=reverted")
	s.get(path+"/history").want(200, "back to version 9")
	if f := s.flag("retired"); f.Name != "Inactive: never in an answer." {
		t.Errorf("name %q", f.Name)
	}
	s.post(path+"/history", url.Values{"version": {"10"}, "to": {"9"}}).want(422, "changed by somebody else").checkPage()
	s.post(path+"/history", url.Values{"version": {"11"}, "to": {"99"}}).want(422).checkPage()
}

func TestArchiveAndDelete(t *testing.T) {
	s := newSite(t)
	path := s.flagPath("retired")
	version := func() string { return fmt.Sprint(s.flag(strings.TrimPrefix(path, "/projects/1/flags/")).Version) }
	s.post(path, url.Values{"do": {"archive"}, "version": {version()}}).leads(path + "?done=archived")
	s.get(path).want(200, "archived").checkPage()
	s.post(path, url.Values{"do": {"unarchive"}, "version": {version()}}).leads(path + "?done=unarchived")
	s.post(path, url.Values{"do": {"delete"}, "version": {version()}}).leads("/projects/1/flags?done=deleted")
	s.get(path).want(200, "deleted", "Restore").checkPage()
	s.post(path, url.Values{"do": {"restore"}, "version": {version()}}).leads(path + "?done=restored")
	s.post(s.flagPath("new-dashboard"), url.Values{"do": {"delete"}, "version": {fmt.Sprint(s.flag("new-dashboard").Version)}}).want(422,
		"other active flags depend on it").checkPage()
}

// TestStoreDown keeps what was typed.
// TestFlagUsage: the page of a flag shows what programs have reported.
func TestFlagUsage(t *testing.T) {
	s := newSite(t)
	path := fmt.Sprintf("/projects/%d/flags/checkout-button", s.project)
	if page := s.get(path).want(http.StatusOK); strings.Contains(page.body, "Evaluations") {
		t.Error("a flag that nobody has asked for has usage")
	}
	events, err := capture.NewClient(capture.ClientConfig{Sink: s.store, Project: s.project, MaxRetries: -1})
	fatal(t, err)
	for i, value := range []any{"green", "green", "<control>", true, false, nil} {
		fatal(t, events.Capture(capture.ClientEvent{
			Name: "$feature_flag_called", DistinctID: fmt.Sprint("user-", i), Time: time.Now(),
			Properties: map[string]any{"$feature_flag": "checkout-button", "$feature_flag_response": value, "$lib": "posthog-ruby"},
		}))
	}
	fatal(t, events.Close(t.Context()))
	page := s.get(path).want(http.StatusOK, "Evaluations", "6 evaluations reported in 30 days", "green 2 33.3%", "off 1 16.7%",
		"no value 1 16.7%", "on 1 16.6%", "posthog-ruby 6 100%")
	if strings.Contains(page.body, "<control>") {
		t.Error("a value is markup")
	}
}

func TestStoreDown(t *testing.T) {
	s := newSite(t)
	path := s.flagPath("retired")
	form := s.get(path).form("form")
	s.broken.broken.Store(true)
	a := s.get(path).want(503, "The store does not answer")
	a.checkPage()
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if strings.Contains(s.post(path, with(form, "do", "save", "name", "typed")).want(503, "The store does not answer").body,
		"disk is gone") {
		t.Error("the page tells why the store has failed")
	}
	s.broken.broken.Store(false)
}

// TestRuling99PanelOfNewFlag: while a new flag is edited, the panel says who would get it, also
// while it is off and has no key yet; off, it is saved without a question.
func TestRuling99PanelOfNewFlag(t *testing.T) {
	s := newSite(t)
	page := "/projects/1/flags/new"
	a := s.get(page).want(200, "Impact", "Targeting")
	if !strings.Contains(a.body, `id="effect"`) {
		t.Error("the page has no panel")
	}
	form := a.form("form")
	s.post(page, with(form, "do", "preview")).want(200, "The flag is off for everyone. Switched on: Of the 40 persons who were seen last",
		"40 gain it")
	s.post(page, with(form, "do", "preview", "active", "yes")).want(200, "Of the 40 persons who were seen last", "40 gain it")
	s.post(page, with(form, "key", "fresh", "do", "save")).want(303)
	s.post(page, with(form, "key", "other", "active", "yes", "do", "save")).want(200, "Review changes").checkPage()
}
