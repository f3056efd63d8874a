package flags_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	screens "github.com/flagstaff-go/flagstaff/server/console/internal/flags"
)

// headline is a rule set with a rule for some and one for everybody.
const headline = `{"version":2,"return_type":"string","default_value":"none","rules":[
	{"rule_type":"targeted_release","targeting":{"properties":[{"key":"plan","value":"pro","type":"person"}]},"value":"for pro"},
	{"rule_type":"experiment","experiment_id":null,"paused":false,"targeting":{"properties":[]},"rollout_percentage":60,
		"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","seed":"s",
		"variants":[{"key":"a","weight":50,"value":"one"},{"key":"b","weight":50,"value":"two"}]},
	{"rule_type":"targeted_release","targeting":{"properties":[]},"value":"for all"}]}`

// TestRulesSayWhoChanges: before a rule set is saved, the page says for how many persons another
// value counts, and nothing if it is for nobody.
func TestRulesSayWhoChanges(t *testing.T) {
	s := consoletest.NewSite(t)
	const none = "Nothing changes for the 40 persons who were seen last"
	whole := s.Get("/projects/1/flags/new").Form("form")
	s.Post("/projects/1/flags/new", consoletest.With(whole, "key", "k", "type", "string", "default", "x", "do", "review")).Want(200,
		"The flag is off for everyone. Switched on: Of the 40 persons who were seen last", "40 gain it").CheckPage()
	made(t, s, "headline", headline)
	s.Update("headline", `{"active":true,"version":1}`)
	path := s.EditPath("headline")
	edit := func() func(do string, pairs ...string) *consoletest.Answer {
		form := s.Get(path).Want(200, "the flag keeps everybody's value", "stays within it when it grows").Form("form")
		return func(do string, pairs ...string) *consoletest.Answer {
			page := s.Post(path, consoletest.With(form, append(pairs, "do", do)...)).Want(200)
			if do != "preview" && do != "save" {
				page.CheckPage()
				form = page.Form("form")
			}
			return page
		}
	}
	press := edit()
	press("preview", "key", "renamed").Want(200, none)
	press("preview", "r1.description", "another text").Want(200, none)
	grown := press("preview", "r1.share", "100").Want(200, "Of the 40 persons who were seen last", "get another value")
	if moves := consoletest.Words(grown.Body); !strings.Contains(moves, "for all one") || strings.Contains(moves, "one for all") ||
		strings.Contains(moves, "one two") {
		t.Errorf("a percentage that grows: %s", moves)
	}
	press("down r0").Want(200, "60% of everyone: 50% one, 50% two")
	press("preview").Want(200, "Of the 40 persons who were seen last", "get another value", "for pro one")
	review := press("save").Want(200, "Review changes", "get another value", "order of the rules 1, 2, 3 → 2, 1, 3")
	review.CheckPage()
	s.Post(path, consoletest.With(review.Form(""), "do", "save")).Leads(s.FlagPath("headline") + "?done=saved")
	s.Get(s.FlagPath("headline")).Want(200,
		"60% of everyone: 50% one, 50% two everyone where plan is pro: for pro everyone: for all otherwise: none", "Value text, by rules")
}

// TestRulesWarn: what is perhaps not meant is said while one edits, on the review and on the page of
// the flag (rules.md §7.8).
func TestRulesWarn(t *testing.T) {
	s := consoletest.NewSite(t)
	made(t, s, "headline", headline)
	const unreachable = "Nobody gets a value of rule 3: rule 1 decides for all whom it includes."
	path := s.EditPath("headline")
	form := s.Get(path).Form("form")
	moved := s.Post(path, consoletest.With(s.Post(path, consoletest.With(form, "do", "up r2")).Form("form"), "do", "up r1")).Form("form")
	s.Post(path, consoletest.With(moved, "do", "preview")).Want(200, unreachable,
		"Rule 1 was below rule 2: somebody gets another value by the order alone.")
	s.Post(path, consoletest.With(moved, "do", "review")).Want(200, unreachable).CheckPage()
	anew := consoletest.With(s.Post(path, consoletest.With(s.Post(path, consoletest.With(form, "do", "copy r1")).Form("form"), "do",
		"remove r1")).Form("form"), "do", "preview")
	s.Post(path, anew).Want(200, "Rule 2 is new, and draws anew in place of one with the same filters that is gone.",
		"Who is within the percentage of a new rule is drawn when it is saved")
	s.Post(path, consoletest.With(moved, "do", "save")).Leads(s.FlagPath("headline") + "?done=saved")
	s.Get(s.FlagPath("headline")).Want(200, unreachable).CheckPage()
}

// TestRulesOfTwo: what two people have changed of a rule set is told apart, and taken over.
func TestRulesOfTwo(t *testing.T) {
	s := consoletest.NewSite(t)
	made(t, s, "headline", headline)
	path := s.EditPath("headline")
	theirs := s.Get(path).Form("form")
	mine := consoletest.With(theirs, "r0.value", "mine", "r1.share", "70", "comment", "why")
	s.Post(path, consoletest.With(theirs, "r1.share", "65", "r2.value", "theirs", "do", "save")).Want(303)
	page := s.Post(path, consoletest.With(mine, "do", "save")).Want(409, "Somebody else changed this flag",
		"rule 2 Before: 60% of everyone: 50% one, 50% two Theirs 65% of everyone: 50% one, 50% two Mine 70% of everyone: 50% one, 50% two",
		"rule 1 yours everyone where plan is pro: for pro → everyone where plan is pro: mine",
		"rule 3 theirs everyone: for all → everyone: theirs")
	page.CheckPage()
	settled := s.Post(path, consoletest.With(page.Form(""), "do", "settle")).Want(200).Form("form")
	for name, want := range map[string]string{"r0.value": "mine", "r1.share": "70", "r2.value": "theirs", "comment": "why"} {
		if got := settled.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	s.Post(path, consoletest.With(settled, "do", "save")).Want(303)

	// Rules in another order are one field.
	mine = s.Get(path).Form("form")
	moved := s.Post(path, consoletest.With(mine, "do", "up r1")).Want(200).Form("form")
	s.Post(path, consoletest.With(moved, "do", "save")).Want(303)
	s.Post(path, consoletest.With(mine, "r0.value", "again", "do", "save")).Want(409, "rules Before: everyone where plan is pro: mine; 70%")

	version := s.Flag("headline").Version
	s.Get(fmt.Sprintf("%s/compare?from=%d&to=%d", s.FlagPath("headline"), version-1, version)).Want(200,
		"rule 1 everyone where plan is pro: mine nothing rule 2 nothing everyone where plan is pro: mine", "default value none").CheckPage()
}

// TestRulesRefused: what the Service says against a rule set stands at the field (rules.md §7).
func TestRulesRefused(t *testing.T) {
	s := consoletest.NewSite(t)
	made(t, s, "headline", headline)
	path := s.EditPath("headline")
	form := s.Post(path, consoletest.With(s.Get(path).Form("form"), "do", "add-cohort r1")).Form("form")
	form = consoletest.With(form, "r1.f0.value", "1")
	for _, tt := range []struct {
		pairs        []string
		beside, text string
	}{
		{[]string{"r0.value", "$true"}, "r0.value", "reserved"},
		{[]string{"r1.v1.value", "$false"}, "r1.v1.value", "reserved"},
		{[]string{"default", "$true"}, "default", "reserved"},
		{[]string{"r0.f0.operator", "regex", "r0.f0.value", "("}, "r0.f0.value", "compiles"},
		{[]string{"r1.f0.value", "99"}, "r1.f0.value", "cohort"},
		{[]string{"r0.raw", `{"id":"99999999-9999-4999-8999-999999999999"}`}, "r0", "ID"},
		{[]string{"key", "no blanks"}, "key", ""},
	} {
		page := s.Post(path, consoletest.With(form, append(tt.pairs, "do", "save")...)).Want(422)
		page.CheckPage()
		page.Says(strings.Join(tt.pairs, " "), tt.beside, tt.text)
	}
}

// TestRulesFieldsAreWhole is TestFieldsAreWhole for a rule set.
func TestRulesFieldsAreWhole(t *testing.T) {
	s := consoletest.NewSite(t)
	made(t, s, "headline", headline)
	form := s.Get(s.EditPath("headline")).Form("form")
	if paths := screens.Differences(form, form); paths != nil {
		t.Errorf("it differs from itself in %q", paths)
	}
	changed := []string{"r1.paused", "r1.held"}
	for name := range form {
		if kept := slices.ContainsFunc([]string{".raw", ".f0.kind", "base", "version", "comment", "type"}, func(end string) bool {
			return strings.HasSuffix(name, end)
		}); !kept {
			changed = append(changed, name)
		}
	}
	for _, name := range changed {
		// A targeted release keeps what only others have, in case that it becomes one.
		hidden := slices.Contains([]string{"r0.share", "r0.miss", "r0.held", "r1.value", "r2.share", "r2.miss", "r2.held"}, name)
		if paths := screens.Differences(form, consoletest.With(form, name, "1")); len(paths) != map[bool]int{true: 0, false: 1}[hidden] {
			t.Errorf("with another %s it differs in %q", name, paths)
		}
	}
}

// TestRulesInCode: the lines for a flag ask for a value of its type.
func TestRulesInCode(t *testing.T) {
	s := consoletest.NewSite(t)
	for kind, want := range map[string]string{
		"boolean": `if ada.Bool("of-boolean", false) { … }`, "string": `text := ada.String("of-string", "fallback")`,
		"number": `n := ada.Float("of-number", 0)`, "object": `err := ada.JSON("of-object", &config)`,
	} {
		made(t, s, "of-"+kind, `{"version":2,"return_type":"`+kind+`","default_value":null,"rules":[]}`)
		s.Get(s.FlagPath("of-"+kind)).Want(200, want, "/flags?v=3", "otherwise: the fallback of the program").CheckPage()
	}
	s.Get("/projects/1/flags?q=of-").Want(200, "of-number number", "of-boolean by rules").CheckPage()
}
