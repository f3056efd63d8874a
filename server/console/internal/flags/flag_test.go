package flags_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

func init() {
	actions = append(actions,
		action{Route: "/projects/{project}/flags/new", Verb: "save", Asks: consoletest.Who, Run: func(s *consoletest.Site) (string,
			url.Values,
		) {
			form := s.Get("/projects/1/flags/new").Form("form")
			return "/projects/1/flags/new", consoletest.With(form, "key", "fresh", "active", "yes", "do", "save")
		}},
		action{Route: "/projects/{project}/flags/{flag}/edit", Verb: "save", Asks: consoletest.Who, Run: func(s *consoletest.Site) (string,
			url.Values,
		) {
			path := s.EditPath("new-dashboard")
			return path, consoletest.With(s.Get(path).Form("form"), "c1.share", "0", "do", "save")
		}},
		action{
			Route: "/projects/{project}/flags/{flag}", Verb: "archive", Asks: consoletest.Who,
			Run: func(s *consoletest.Site) (string, url.Values) { return s.Beside("checkout-button", "archive") },
		},
		action{
			Route: "/projects/{project}/flags/{flag}", Verb: "unarchive", Why: "an archived flag is off, and stays off",
			Run: func(s *consoletest.Site) (string, url.Values) {
				s.Update("retired", `{"archived":true}`)
				return s.Beside("retired", "unarchive")
			},
		},
		action{
			Route: "/projects/{project}/flags/{flag}", Verb: "delete", Asks: consoletest.Who,
			Run: func(s *consoletest.Site) (string, url.Values) { return s.Beside("checkout-button", "delete") },
		},
		action{Route: "/projects/{project}/flags/{flag}", Verb: "restore", Asks: consoletest.Who, Run: func(s *consoletest.Site) (string,
			url.Values,
		) {
			path := s.FlagPath("checkout-button")
			s.Update("checkout-button", `{"deleted":true}`)
			return s.Beside(strings.TrimPrefix(path, "/projects/1/flags/"), "restore")
		}},
		action{Route: "/projects/{project}/flags/{flag}/history", Asks: consoletest.Who, Run: func(s *consoletest.Site) (string,
			url.Values,
		) {
			path := s.FlagPath("checkout-button")
			was := s.Flag("checkout-button").Version
			s.Update("checkout-button", `{"filters":{"groups":[{"properties":[],"rollout_percentage":0}]}}`)
			return path + "/history", url.Values{"to": {fmt.Sprint(was)}, "version": {fmt.Sprint(was + 1)}}
		}},
	)
}

// TestFormRoundTrip saves the form of each flag as it is: nothing changes.
func TestFormRoundTrip(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Update("checkout-button", `{"filters":{"early_exit":true,"groups":[{"properties":[
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
			before, path, shown := s.Flag(key), s.EditPath(key), s.FlagPath(key)
			page := s.Get(path).Want(200, key)
			page.CheckPage()
			form := page.Form("form")
			s.Post(path, consoletest.With(form, "do", "save", "reviewed", fmt.Sprint(before.Version))).Leads(shown + "?done=unchanged")
			after := s.Flag(key)
			if diff := cmp.Diff(consoletest.Shown(before.Filters), consoletest.Shown(after.Filters)); diff != "" {
				t.Errorf("filters (-before +after):\n%s", diff)
			}
			if before.Version != after.Version {
				t.Errorf("version %d, want %d", after.Version, before.Version)
			}

			// Through JSON and back, nothing is lost either.
			asJSON := s.Post(path, consoletest.With(form, "do", "to-json")).Want(200, "Targeting as JSON").Form("form")
			back := s.Post(path, consoletest.With(asJSON, "do", "to-form")).Want(200).Form("form")
			s.Post(path, consoletest.With(asJSON, "do", "save", "reviewed", fmt.Sprint(before.Version))).Leads(shown + "?done=unchanged")
			s.Post(path, consoletest.With(back, "do", "save", "reviewed", fmt.Sprint(before.Version))).Leads(shown + "?done=unchanged")
			if diff := cmp.Diff(consoletest.Shown(before.Filters), consoletest.Shown(s.Flag(key).Filters)); diff != "" {
				t.Errorf("filters by JSON (-before +after):\n%s", diff)
			}
		})
	}
}

// TestNewFlag makes a flag with everything that the form offers.
func TestNewFlag(t *testing.T) {
	s := consoletest.NewSite(t)
	page := s.Get("/projects/1/flags/new").Want(200, "New flag")
	page.CheckPage()
	form := page.Form("form")
	press := func(do string, pairs ...string) {
		t.Helper()
		a := s.Post("/projects/1/flags/new", consoletest.With(form, append(pairs, "do", do)...)).Want(200)
		a.CheckPage()
		form = a.Form("form")
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
	review := s.Post("/projects/1/flags/new", consoletest.With(form, "do", "review", "active", "yes")).Want(200, "Review changes",
		"Of the 40 persons who were seen last")
	review.CheckPage()
	a := s.Post("/projects/1/flags/new", consoletest.With(review.Form(""), "do", "save")).Want(303)
	made := s.Flag("made")
	a.Leads(s.FlagPath("made") + "?done=created")
	want := `{"groups":[
		{"properties":[{"key":"plan","operator":"is_not","type":"person","value":["pro","team"]},
			{"cohort_name":"Imported cohort 2","key":"id","operator":"in","type":"cohort","value":1},
			{"key":"1","operator":"flag_evaluates_to","type":"flag","value":true}],"rollout_percentage":20,"variant":"third"},
		{"properties":[],"rollout_percentage":5.5,"description":"the last"},
		{"properties":[{"group_type_index":0,"key":"seats","operator":"gte","type":"group","value":50}],"aggregation_group_type_index":0}],
		"multivariate":{"variants":[{"key":"control","rollout_percentage":33.34},{"key":"test","rollout_percentage":33.33},
			{"key":"third","rollout_percentage":33.33}]},"payloads":{"control":"[1]"}}`
	got := consoletest.Shown(made.Filters)
	if diff := cmp.Diff(consoletest.Indent(t, consoletest.Compact(t, []byte(want))), consoletest.Indent(t, got)); diff != "" {
		t.Logf("filters (-want +got):\n%s", diff)
		t.Fail()
	}
	if !made.Active || made.Name != "By hand" || !slices.Equal(made.Tags, []string{"one", "two"}) ||
		!slices.Equal(made.Contexts, []string{"web"}) || made.Runtime != "server" {
		t.Errorf("flag %+v", made)
	}
}

func TestFormErrors(t *testing.T) {
	s := consoletest.NewSite(t)
	path := s.EditPath("checkout-button")
	form := s.Get(path).Form("form")
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
			a := s.Post(path, consoletest.With(form, append(tt.change, "do", "review")...)).Want(422, tt.want)
			a.CheckPage()
			if !strings.Contains(a.Body, `id="`+tt.field+`-error"`) {
				t.Errorf("no message is beside the field %s", tt.field)
			}
			kept := a.Form("form")
			for i := 0; i < len(tt.change); i += 2 {
				if got := kept[tt.change[i]]; tt.change[i+1] != "" && !slices.Contains(got, tt.change[i+1]) {
					t.Errorf("%s is %q, want what was typed, %q", tt.change[i], got, tt.change[i+1])
				}
			}
		})
	}
	asJSON := s.Post(path, consoletest.With(form, "do", "to-json")).Form("form")
	s.Post(path, consoletest.With(asJSON, "do", "review", "json", `{"groups":[{"rollout_percentage":-1}]}`)).Want(422,
		"groups/0/rollout_percentage").CheckPage()
	s.Post(path, consoletest.With(asJSON, "do", "to-form", "json", `[]`)).Want(422, "filters are an object").CheckPage()
	if v := s.Flag("checkout-button").Version; v != 3 {
		t.Errorf("version %d, want 3: nothing was saved", v)
	}
}

func TestReview(t *testing.T) {
	s := consoletest.NewSite(t)
	path, shown := s.EditPath("new-dashboard"), s.FlagPath("new-dashboard")
	form := s.Get(path).Form("form")
	a := s.Post(path, consoletest.With(form, "do", "review", "c1.share", "100")).Want(200, "gain it", "stay as they are",
		"condition set 2, rollout percentage 50% → 100%", "dashboard-tour")
	a.CheckPage()
	back := s.Post(path, consoletest.With(a.Form(""), "do", "edit")).Want(200).Form("form")
	if got := back.Get("c1.share"); got != "100" {
		t.Errorf("back in the form the share is %q, want 100", got)
	}
	// Without the page the flag is not saved.
	s.Post(path, consoletest.With(form, "do", "save", "c1.share", "100")).Want(200, "Review changes")
	if v := s.Flag("new-dashboard").Version; v != 1 {
		t.Fatalf("version %d, want 1", v)
	}
	s.Post(path, consoletest.With(a.Form(""), "do", "save")).Leads(shown + "?done=saved")
	s.Get(shown+"?done=saved").Want(200, "Saved.", "everyone where plan is pro or team everyone")
	s.Post(path, consoletest.With(s.Get(path).Form("form"), "do", "review")).Want(200, "Nothing has changed yet.")
	if a := s.Post(path, consoletest.With(form, "do", "preview", "c1.share", "0")); a.Status != 200 || !strings.Contains(a.Body,
		"lose it") ||
		strings.Contains(a.Body, "<html") {
		t.Errorf("preview: %d %s", a.Status, a.Body)
	}
	if a := s.Post(path, consoletest.With(form, "do", "preview", "c0.f0.value", "gold", "c1.share", "7")); !strings.Contains(a.Body,
		`data-words="c0">everyone where plan is gold<`) || !strings.Contains(a.Body, `data-words="c1">7% of everyone<`) {
		t.Errorf("the sentences of conditions do not follow their fields: %s", a.Body)
	}
	if a := s.Post(path, consoletest.With(form, "do", "preview", "c0.f0.value", "gold", "c1.share", "x")); a.Status != 200 ||
		!strings.Contains(a.Body, "plan is gold") || strings.Contains(a.Body, "lead") {
		t.Errorf("preview of what cannot be read: %d %s", a.Status, a.Body)
	}
}

func TestConflict(t *testing.T) {
	s := consoletest.NewSite(t)
	path, shown := s.EditPath("new-dashboard"), s.FlagPath("new-dashboard")
	form := s.Get(path).Form("form")
	s.Update("new-dashboard", `{"name":"Theirs"}`)

	// Another field is not a conflict.
	review := review(s, path, consoletest.With(form, "c1.share", "60"))
	s.Post(path, consoletest.With(review, "do", "save")).Leads(shown + "?done=saved")
	if f := s.Flag("new-dashboard"); f.Name != "Theirs" || !strings.Contains(consoletest.Shown(f.Filters), "60") {
		t.Errorf("flag %s %s, want both changes", f.Name, consoletest.Shown(f.Filters))
	}

	// The same field is one.
	form = s.Get(path).Form("form")
	s.Update("new-dashboard", `{"filters":{"groups":[{"properties":[],"rollout_percentage":10}]}}`)
	a := s.Post(path, consoletest.With(form, "do", "review", "c1.share", "70")).Want(409, "Somebody else changed this flag", "version 4",
		"Your changes", "70")
	a.CheckPage()
	if strings.Contains(consoletest.Shown(s.Flag("new-dashboard").Filters), "70") {
		t.Fatal("it was saved")
	}
	edit := s.Post(path, consoletest.With(a.Form(""), "do", "edit")).Want(200).Form("form")
	if edit.Get("c1.share") != "70" || edit.Get("version") != "4" {
		t.Errorf("the form after a conflict: %v", edit)
	}
	s.Post(path, consoletest.With(a.Form(""), "do", "save")).Leads(shown + "?done=saved")
	if !strings.Contains(consoletest.Shown(s.Flag("new-dashboard").Filters), "70") {
		t.Error("it was not saved")
	}
}

func TestHistory(t *testing.T) {
	s := consoletest.NewSite(t)
	path := s.FlagPath("retired")
	s.Update("retired", `{"name":"Other words","tags":["x"]}`)
	a := s.Get(path+"/history").Want(200, "Version 10", "Version 9", "Go back to this version", "Other words")
	a.CheckPage()
	s.Post(path+"/history", url.Values{"version": {"10"}, "to": {"9"}}).Leads(path + "?done=reverted")
	s.Get(path+"/history").Want(200, "back to version 9")
	if f := s.Flag("retired"); f.Name != "Inactive: never in an answer." {
		t.Errorf("name %q", f.Name)
	}
	s.Post(path+"/history", url.Values{"version": {"10"}, "to": {"9"}}).Want(422, "changed by somebody else").CheckPage()
	s.Post(path+"/history", url.Values{"version": {"11"}, "to": {"99"}}).Want(422).CheckPage()
}

func TestArchiveAndDelete(t *testing.T) {
	s := consoletest.NewSite(t)
	path := s.FlagPath("retired")
	version := func() string { return fmt.Sprint(s.Flag(strings.TrimPrefix(path, "/projects/1/flags/")).Version) }
	s.Post(path, url.Values{"do": {"archive"}, "version": {version()}}).Leads(path + "?done=archived")
	s.Get(path).Want(200, "archived").CheckPage()
	s.Post(path, url.Values{"do": {"unarchive"}, "version": {version()}}).Leads(path + "?done=unarchived")
	s.Post(path, url.Values{"do": {"delete"}, "version": {version()}}).Leads("/projects/1/flags?done=deleted")
	s.Get(path).Want(200, "deleted", "Restore").CheckPage()
	s.Post(path, url.Values{"do": {"restore"}, "version": {version()}}).Leads(path + "?done=restored")
	s.Post(s.FlagPath("new-dashboard"), url.Values{"do": {"delete"}, "version": {fmt.Sprint(s.Flag("new-dashboard").Version)}}).Want(422,
		"other active flags depend on it").CheckPage()
}

// TestStoreDown keeps what was typed.
// TestFlagUsage: the page of a flag shows what programs have reported.
func TestFlagUsage(t *testing.T) {
	s := consoletest.NewSite(t)
	path := fmt.Sprintf("/projects/%d/flags/checkout-button", s.Project)
	s.Get(path).Want(http.StatusOK, "No program has reported a value of the flag in the last 30 days.").CheckPage()
	events, err := capture.NewClient(capture.ClientConfig{Sink: s.Store, Project: s.Project, MaxRetries: -1})
	consoletest.Fatal(t, err)
	for i, value := range []any{"green", "green", "<control>", true, false, nil} {
		consoletest.Fatal(t, events.Capture(capture.ClientEvent{
			Name: "$feature_flag_called", DistinctID: fmt.Sprint("user-", i), Time: time.Now(),
			Properties: map[string]any{"$feature_flag": "checkout-button", "$feature_flag_response": value, "$lib": "posthog-ruby"},
		}))
	}
	consoletest.Fatal(t, events.Close(t.Context()))
	page := s.Get(path).Want(http.StatusOK, "Evaluations", "6 evaluations reported in 30 days", "green 2 33.3%", "off 1 16.7%",
		"no value 1 16.7%", "on 1 16.6%", "posthog-ruby 6 100%")
	if strings.Contains(page.Body, "<control>") {
		t.Error("a value is markup")
	}
}

func TestStoreDown(t *testing.T) {
	s := consoletest.NewSite(t)
	path := s.EditPath("retired")
	form := s.Get(path).Form("form")
	s.Broken.Broken.Store(true)
	a := s.Get(path).Want(503, "The store does not answer")
	a.CheckPage()
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if strings.Contains(s.Post(path, consoletest.With(form, "do", "save", "name", "typed")).Want(503, "The store does not answer").Body,
		"disk is gone") {
		t.Error("the page tells why the store has failed")
	}
	s.Broken.Broken.Store(false)
}

// TestRuling99PanelOfNewFlag: while a new flag is edited, the panel says who would get it, also
// while it is off and has no key yet; off, it is saved without a question.
func TestRuling99PanelOfNewFlag(t *testing.T) {
	s := consoletest.NewSite(t)
	page := "/projects/1/flags/new"
	a := s.Get(page).Want(200, "Impact", "Targeting")
	if !strings.Contains(a.Body, `id="effect"`) {
		t.Error("the page has no panel")
	}
	form := a.Form("form")
	s.Post(page, consoletest.With(form, "do", "preview")).Want(200,
		"The flag is off for everyone. Switched on: Of the 40 persons who were seen last",
		"40 gain it")
	s.Post(page, consoletest.With(form, "do", "preview", "active", "yes")).Want(200, "Of the 40 persons who were seen last", "40 gain it")
	s.Post(page, consoletest.With(form, "key", "fresh", "do", "save")).Want(303)
	s.Post(page, consoletest.With(form, "key", "other", "active", "yes", "do", "save")).Want(200, "Review changes").CheckPage()
}
