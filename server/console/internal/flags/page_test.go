package flags_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// pageText returns what stands on a page between its navigation and its dialogs.
func pageText(t *testing.T, page *consoletest.Answer) string {
	t.Helper()
	_, body, ok := strings.Cut(page.Body, `<main id="main" tabindex="-1">`)
	body, _, closed := strings.Cut(body, "</main>")
	if !ok || !closed {
		t.Fatalf("the page has no main part: %s", page.Body)
	}
	return minutesAgo.ReplaceAllString(consoletest.Words(body), "just now")
}

// minutesAgo is how old flags of a site are if other tests that began with it have taken long.
var minutesAgo = regexp.MustCompile(`\d+ minutes? ago`)

// TestFlagPage: the page of a flag says in words what the flag does, what it depends on, what
// depends on it and who has changed it last.
func TestFlagPage(t *testing.T) {
	t.Parallel()
	s := consoletest.NewSite(t)
	const facts = "Overview Edit details State %s Last evaluated never Last changed just now by %s Created just now by the system " +
		"Version %s Used by %s Archive or delete Archive Delete " +
		"An archived flag is off, and hidden from the list. A deleted one can be restored from its history."
	const unused = "Evaluations No program has reported a value of the flag in the last 30 days. Connect a program to see how often " +
		"each value is given."
	code := func(ask, key string) string {
		return ` Ask for it from code Go ada := client.For(&flags.Request{DistinctID: "ada"}) ` + ask + " curl curl " +
			`'https://flags.example.com/flags?v=2' \ -H 'Content-Type: application/json' \ -d '{"api_key": "` + token(t, s) +
			`", "distinct_id": "ada", "flag_keys": [` + key + "]}' Activity"
	}
	about := func(users string) string {
		return fmt.Sprintf(facts, "On, but no program has reported a value of it yet", "the system", "1", users)
	}
	for _, tt := range []struct{ name, key, change, want string }{
		{
			"a plain flag that others depend on", "new-dashboard", "",
			"Flags / new-dashboard new-dashboard Switch off On Edit Boolean: half of all persons, and everybody on the plan pro. " +
				"Targeting Edit targeting everyone where plan is pro or team 50% of everyone Evaluated from the top: the first condition " +
				"set that matches decides. " + unused +
				code(`if ada.Bool("new-dashboard", false) { … }`, `"new-dashboard"`) +
				" History the system just now , version 1 The first version. " +
				about("flag dashboard-tour"),
		},
		{
			"one with a dependency", "dashboard-tour", "",
			"Flags / dashboard-tour dashboard-tour Switch off On Edit Dependency: a tour for those who have the new dashboard. " +
				"Targeting Edit targeting everyone where flag new-dashboard is true Depends on the flag new-dashboard . " + unused +
				code(`if ada.Bool("dashboard-tour", false) { … }`, `"dashboard-tour"`) +
				" History the system just now , version 1 The first version. " +
				about("No other flag, survey or early access feature."),
		},
		{
			"one with everything", "retired",
			`{"name":"","tags":["b","a"],"active":false,"evaluation_runtime":"server","evaluation_contexts":["web"],
				"evaluation_contexts_match_mode":"all","bucketing_hash":"xxhash64","bucketing_identifier":"device_id",
				"ensure_experience_continuity":false,"filters":{"early_exit":true,"holdout":{"id":7,"exclusion_percentage":5},"groups":[
				{"properties":[{"key":"id","type":"cohort","operator":"in","value":1}],"rollout_percentage":12.5,"variant":"blue",
					"description":"testers"},
				{"properties":[],"rollout_percentage":30}],
				"multivariate":{"variants":[{"key":"blue","name":"Sky","rollout_percentage":25},{"key":"green","rollout_percentage":75}]},
				"payloads":{"blue":"{\"a\":1}"}}}`,
			"Flags / retired retired Switch on Off Edit a b Targeting Edit targeting Off for everyone. " +
				"Switched on, it has these condition sets. " +
				"12.5% of everyone where in Imported cohort 2 (always blue) testers 30% of everyone Evaluated from the top: the first " +
				"condition set that matches decides. Depends on the cohort Imported cohort 2 . " +
				`Variants Edit variants blue 25% green 75% Variant Weight Payload blue Sky 25% {"a":1} green 75% none ` +
				"Settings Edit settings runtime Server only contexts web contexts match mode all of them bucket by Device ID " +
				"bucketing hash xxHash64 holdout 5% are held out, by holdout 7 early exit yes " + unused,
		},
		{
			"one for groups", "company-billing",
			`{"filters":{"aggregation_group_type_index":0,"groups":[{"rollout_percentage":40}],"payloads":{"true":"[1]"}}}`,
			"Targeting Edit targeting 40% of company groups Payload Edit payload [1] Settings Edit settings group type company Evaluations",
		},
		{
			"one for nobody", "retired",
			`{"active":true,"evaluation_runtime":"all","evaluation_contexts":[],"evaluation_contexts_match_mode":"any",
				"bucketing_hash":null,"bucketing_identifier":"distinct_id","filters":{"early_exit":null,"holdout":null,"groups":[],
				"multivariate":null,"payloads":null}}`,
			"Targeting Edit targeting Without a condition set the flag is off for everyone. Evaluations",
		},
		{
			"one that is deleted", "retired", `{"deleted":true}`,
			"Deleted Restore",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.T = t
			path := s.FlagPath(tt.key)
			if tt.change != "" {
				s.Update(tt.key, tt.change)
			}
			page := s.Get(path).Want(200)
			page.CheckPage()
			if got := pageText(t, page); !strings.Contains(got, tt.want) {
				t.Errorf("the page (-want +got):\n%s", cmp.Diff(strings.SplitAfter(tt.want, ". "), strings.SplitAfter(got, ". ")))
			}
		})
	}
	s.T = t
}

// token returns the API key of the project.
func token(t testing.TB, s *consoletest.Site) string {
	t.Helper()
	p, err := s.Store.Projects().Get(t.Context(), storage.ProjectID.Is(s.Project))
	consoletest.Fatal(t, err)
	return p.APIKey
}

// TestFlagSnippets: the page of a flag has lines of Go that fit the kind of the flag, and a request
// for curl that the server reads, and that asks for this flag.
func TestFlagSnippets(t *testing.T) {
	t.Parallel()
	s := consoletest.NewSite(t)
	made := func(definition string) string {
		d, err := flags.Decode(strings.NewReader(`{"flags":[` + definition + `]}`))
		consoletest.Fatal(t, err)
		consoletest.Fatal(t, s.Store.Flags().Create(t.Context(), storage.FlagOf(1, time.Now(), &d.Flags[0])))
		return d.Flags[0].Key
	}
	for _, tt := range []struct{ name, key, want, runtime string }{
		{"variants", "pricing-page", `switch ada.Variant("pricing-page", "control") { … }`, ""},
		{"for clients only", "animations", `if ada.Bool("animations", false) { … }`, "client"},
		{"for servers only", "bulk-export", `if ada.Bool("bulk-export", false) { … }`, ""},
		{
			"a payload", made(`{"id":901,"key":"limits","is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"1"}}}`),
			`err := ada.Payload("limits", &config)`, "",
		},
		{
			"signs, as flags of a file can have", made(`{"id":902,"key":"it's <b>\"é\"","filters":{"groups":[{}]}}`),
			`if ada.Bool("it\u0027s \u003cb\u003e\"é\"", false) { … }`, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.T = t
			page := s.Get(s.FlagPath(tt.key)).Want(200, tt.want)
			page.CheckPage()
			_, body, _ := strings.Cut(html.UnescapeString(page.Body), "-d '")
			body, _, _ = strings.Cut(body, "'</pre>")
			var r wire.Request
			if err := r.Parse([]byte(body)); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			if strings.Contains(body, "'") {
				t.Errorf("the shell ends the body early: %s", body)
			}
			keys, _ := json.Marshal([]string{tt.key})
			sent := consoletest.Object(t, []byte(body))
			got := []string{r.APIKey, r.DistinctID, consoletest.Compact(t, sent["flag_keys"]), string(sent["evaluation_runtime"])}
			want := []string{token(t, s), "ada", string(keys), ""}
			if tt.runtime != "" {
				want[3] = strconv.Quote(tt.runtime)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the request (-want +got):\n%s", diff)
			}
		})
	}
	s.T = t
	s.Get(s.FlagPath("retired")).Want(200, "As long as the flag is off, the server's answer does not have it.")
}

// TestFlagActivity: the page of a flag names the five newest versions, with three changes of each.
func TestFlagActivity(t *testing.T) {
	t.Parallel()
	s := consoletest.NewSite(t)
	for _, change := range []string{
		`{"name":"One"}`, `{"name":"Two"}`, `{"name":"Three"}`, `{"name":"Four"}`,
		`{"name":"Five","tags":["x"],"evaluation_runtime":"client","ensure_experience_continuity":true,"active":true}`,
	} {
		s.Update("retired", change)
	}
	got := pageText(t, s.Get(s.FlagPath("retired")).Want(200))
	for _, want := range []string{"and 2 more ada@example.com just now , version", "description Three → Four", "description One → Two"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q: %s", want, got)
		}
	}
	if n := strings.Count(got, ", version"); n != 5 {
		t.Errorf("%d versions, want 5: %s", n, got)
	}
}

// TestFlagsOfFile: flags that come from a file can be read, and the page says where they are changed.
func TestFlagsOfFile(t *testing.T) {
	t.Parallel()
	s := consoletest.NewSite(t)
	document, err := s.Service.ExportDefinitions(t.Context(), s.Owner, "1", management.ExportOptions{})
	consoletest.Fatal(t, err)
	const list = `"flags": [`
	document = bytes.Replace(document, []byte(list), []byte(list+`{"key":"broken","active":true,"filters":{"groups":7}},`), 1)
	d, err := flags.Decode(bytes.NewReader(document))
	consoletest.Fatal(t, err)
	first, err := s.Store.Projects().Get(t.Context(), storage.ProjectID.Is(1))
	consoletest.Fatal(t, err)
	project := storage.NewProject(&storage.Organization{ID: first.Organization}, "Of a file")
	consoletest.Fatal(t, s.Store.Projects().Create(t.Context(), project))
	consoletest.Fatal(t, s.Service.ImportFile(t.Context(), project.ID, "flags.json", d))
	s.Project = project.ID
	path := s.FlagPath("new-dashboard")
	const why = "The flags of this project come from the file flags.json, so that they cannot be changed here: change them there."
	page := s.Get(path).Want(200, why, "everyone where plan is pro or team")
	page.CheckPage()
	main := page.Body[strings.Index(page.Body, "<main"):strings.Index(page.Body, "</main>")]
	if strings.Contains(main, "<form") || strings.Contains(main, "/edit") {
		t.Errorf("the page offers to change the flag: %s", main)
	}
	all := s.Get(fmt.Sprintf("/projects/%d/flags", project.ID)).Want(200, "on new-dashboard", "off retired")
	all.CheckPage()
	for _, button := range []string{`"bulk"`, "/switch"} {
		if strings.Contains(all.Body, button) {
			t.Errorf("the list offers to change flags: it has %s", button)
		}
	}
	s.Get(s.FlagPath("broken")).Want(200, "Targeting no one: the filters cannot be read").CheckPage()
	s.Get(path+"/edit").Want(409, why).CheckPage()
	s.Get(fmt.Sprintf("/projects/%d/flags/new", project.ID)).Want(409, why).CheckPage()
}
