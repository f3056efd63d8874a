package persons_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

func TestExplain(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Get("/projects/1/explain").Want(200, "Explain").CheckPage()
	all := s.Get("/projects/1/explain?person=user-001").Want(200, "checkout-button", "new-dashboard", "The flag is disabled.")
	all.CheckPage()
	one := s.Get("/projects/1/explain?person=user-001&flag=new-dashboard").Want(200,
		"new-dashboard is on for user-001@example.org, user-001", "Condition set 1 match", "plan person", "is pro, team", "match",
		"Condition set 2 not evaluated")
	one.CheckPage()
	s.Get("/projects/1/explain?person=user-000&flag=new-dashboard").Want(200, "no match", `"user-000" is bucketed at`,
		"the rollout percentage of 50%.")
	s.Get("/projects/1/explain?person=user-000&flag=checkout-button").Want(200, "Everyone is within the rollout percentage of 100%.",
		"The variant is bucketed at").CheckPage()
	s.Get("/projects/1/explain?flag=new-dashboard&key=plan&type=text&value=team").Want(200, "new-dashboard is on", "team").CheckPage()
	s.Get("/projects/1/explain?person=user-001&flag=company-billing&group-0=acme").Want(200, "seats group company", "70")
	s.Get("/projects/1/explain?person=user-001&flag=dashboard-tour").Want(200, "Flag dependencies", "new-dashboard is true")
	s.Get("/projects/1/explain?person=user-001&flag=none").Want(422, "There is no flag with the key none.").CheckPage()
	s.Get("/projects/1/explain?person=x&key=&type=text&value=v").Want(422, "Name the property that has the value.").CheckPage()
	s.Get("/projects/1/explain?key=a&type=text&value=v&key=a&type=text&value=w").Want(422, "The property is there twice.").CheckPage()
	s.Get("/projects/1/explain?key=a&key=b&type=text&value=v").Want(400, "could not be read")
}

// TestExplainRules: how each rule of a rule set has ended (rules.md §3).
func TestExplainRules(t *testing.T) {
	s := consoletest.NewSite(t)
	for key, tt := range map[string]struct {
		rule, held string
		want       []string
	}{
		"paused": {`"paused":true,"rollout_percentage":100`, `0`, []string{
			"paused is other", "Rule 1 no match", "Rule 2 match, but paused",
			"It has no filters: everyone matches.",
		}},
		"held": {`"paused":false,"rollout_percentage":100`, `100`, []string{"held is other", "Rule 2 match, but held out", "Holdout:"}},
		"missed": {`"paused":false,"rollout_percentage":0`, `0`, []string{
			"missed is other", "Rule 2 match, but outside the rollout percentage", "No rule matched",
		}},
		"split": {`"paused":false,"rollout_percentage":100`, `0`, []string{"split is one", "Rule 2 match", "Matched rule 2"}},
	} {
		var patch management.FlagPatch
		consoletest.Fatal(t, json.Unmarshal([]byte(`{"key":"`+key+`","filters":{"version":2,"return_type":"string",
			"default_value":"other","rules":[{"rule_type":"targeted_release","value":"x",
				"targeting":{"properties":[{"key":"plan","type":"person","value":"none"}]}},
				{"rule_type":"experiment","experiment_id":null,"targeting":{"properties":[]},"on_rollout_miss":"continue",
				"assignment_algorithm":"sha1_60_v1",`+tt.rule+`,"holdout":{"id":null,"exclusion_percentage":`+tt.held+`},
				"variants":[{"key":"a","weight":100,"value":"one"},{"key":"b","weight":0,"value":"two"}]}]}}`), &patch))
		_, err := s.Service.CreateFlag(t.Context(), s.Owner, "1", patch)
		consoletest.Fatal(t, err)
		s.Update(key, `{"active":true,"version":1}`)
		s.Get("/projects/1/explain?person=user-001&flag="+key).Want(200, tt.want...).CheckPage()
	}
}

// TestRuling101Why names a person by everything that people call persons.
func TestRuling101Why(t *testing.T) {
	s := consoletest.NewSite(t)
	const page = "/projects/1/explain"
	named := func(person string) string { return page + "?person=" + url.QueryEscape(person) + "&flag=new-dashboard" }
	p, _ := s.Person("user-001")
	for _, name := range []string{"USER-001@example.org", " user-001@example.org ", p.ID.String()} {
		s.Get(named(name)).Leads(page + "?person=user-001&flag=new-dashboard")
	}
	s.Get(page + "?person=user-001&flag=new-dashboard&key=&type=text&value=&key=&type=text&value=&group-0=").Leads(page +
		"?person=user-001&flag=new-dashboard")
	s.Get(page + "?person=user-001&flag=&key=plan&type=text&value=free&group-0=acme").Leads(page +
		"?person=user-001&group-0=acme&key=plan&type=text&value=free")
	s.Get(page + "?person=user-001&flag=new-dashboard&new=yes").Leads(page + "?person=user-001&flag=new-dashboard") // who is not new

	for _, id := range []string{"user-002", "user-003"} {
		_, own := s.Person(id)
		s.Post(own, url.Values{"do": {"set"}, "was": {""}, "name": {"name"}, "type": {"text"}, "value": {"Ada Lovelace"}}).Want(303)
	}
	several := s.Get(named("ada lovelace")).Want(200, "Several persons are called ada lovelace.", "user-002@example.org user-002",
		"user-003@example.org user-003")
	several.CheckPage()
	s.Get(several.Link("user-003@example.org")).Leads(page + "?person=user-003&flag=new-dashboard")
	similar := s.Get(named("user-00")).Want(200, "No person with the distinct ID, address or name user-00 is known. These are similar.",
		"user-009@example.org")
	similar.CheckPage()
	unknown := s.Get(named("Charles")).Want(200, "No person with the distinct ID, address or name Charles is known.")
	unknown.CheckPage()
	for name, a := range map[string]*consoletest.Answer{"several": several, "similar": similar, "unknown": unknown} {
		for _, flags := range []string{"new-dashboard is", "All flags", "Condition 1"} {
			if strings.Contains(consoletest.Words(a.Body), flags) {
				t.Errorf("%s: the page says %q of somebody who is not known", name, flags)
			}
		}
	}
	anew := s.Get(unknown.Link("What somebody new with the distinct ID <code>Charles</code> gets")).Want(200, "new-dashboard is",
		"for somebody new, Charles",
		"Nothing is stored about Charles: this is what somebody new with that distinct ID gets.")
	anew.CheckPage()
	s.Get(page+"?flag=new-dashboard&key=plan&type=text&value=team").Want(200, "No person is named",
		"The rollout is computed with the distinct ID nobody.", "Typed in, in place of what is stored: plan team.")
	s.Get(page+"?person=Charles&flag=new-dashboard&key=plan&type=text&value=team").Want(200,
		"No person with the distinct ID, address or name Charles is known.")
	s.Get(page+"?person="+strings.Repeat("x", 300)).Want(200, "is known.").CheckPage()
	s.Get(page+"?person=%00").Want(200, "is known.").CheckPage()
}

// create makes a flag that is on.
func create(s *consoletest.Site, key, filters string) {
	s.T.Helper()
	var patch management.FlagPatch
	consoletest.Fatal(s.T, json.Unmarshal([]byte(`{"key":"`+key+`","filters":`+filters+`}`), &patch))
	_, err := s.Service.CreateFlag(s.T.Context(), s.Owner, "1", patch)
	consoletest.Fatal(s.T, err)
}

// TestExplainTyped has properties and groups that are typed in, with a type each.
func TestExplainTyped(t *testing.T) {
	s := consoletest.NewSite(t)
	filters := func(operator, value string) string {
		return `{"groups":[{"properties":[{"key":"p","type":"person","operator":"` + operator + `","value":` + value +
			`}],"rollout_percentage":100}]}`
	}
	create(s, "over-nine", filters("gt", "9"))
	create(s, "is-true", filters("exact", `"true"`))
	create(s, "is-set", filters("is_set", "null"))
	create(s, "has-x", filters("icontains", `"x"`))
	for _, tt := range []struct {
		kind, value string
		on          []string
	}{
		{"text", "10", []string{"is-set", "over-nine"}},
		{"text", "max", []string{"has-x", "is-set"}},
		{"number", " 10 ", []string{"is-set", "over-nine"}},
		{"number", "8", []string{"is-set"}},
		{"truth", "true", []string{"is-set", "is-true"}},
		{"truth", "false", []string{"is-set"}},
		{"json", `["x"]`, []string{"has-x", "is-set"}},
	} {
		a := s.Get("/projects/1/explain?"+url.Values{"key": {"p"}, "type": {tt.kind}, "value": {tt.value}}.Encode()).Want(200, "All flags")
		a.CheckPage()
		var on []string
		for _, key := range []string{"has-x", "is-set", "is-true", "over-nine"} {
			if strings.Contains(consoletest.Words(a.Body), key+" on ") {
				on = append(on, key)
			}
		}
		if diff := cmp.Diff(tt.on, on); diff != "" {
			t.Errorf("%s %q (-want +got)\n%s", tt.kind, tt.value, diff)
		}
		if form := a.GetForm("/explain"); form.Get("key") != "p" || form.Get("type") != tt.kind || form.Get("value") != tt.value {
			t.Errorf("the form has %v", form)
		}
	}
	for _, tt := range []struct{ kind, value, want string }{
		{"number", "ten", "Must be a number, such as 5 or -0.5."},
		{"number", "", "Must be a number"},
		{"number", "0x10", "Must be a number"},
		{"truth", "yes", "Must be true or false."},
		{"nothing", "0", "Nothing has no value"},
		{"json", `{"plan":}`, "line 1, character 9"},
	} {
		s.Get("/projects/1/explain?"+url.Values{"key": {"p"}, "type": {tt.kind}, "value": {tt.value}}.Encode()).Want(422,
			tt.want).CheckPage()
	}
	s.Get("/projects/1/explain?group-0=acme").Want(200, "company-billing on").CheckPage()
	s.Get("/projects/1/explain?group-0=none").Want(200, "company-billing off")
	s.Get("/projects/1/explain?person=user-001&key=plan&type=text&value=free").Want(200, "new-dashboard",
		"All flags of user-001@example.org, user-001", "Typed in, in place of what is stored: plan free.").CheckPage()
	script := "<script>alert(1)</script>"
	s.Get("/projects/1/explain?" +
		url.Values{"key": {script}, "type": {script}, "value": {script}, "group-0": {script}}.Encode()).Want(200).CheckPage()
}
