package console_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
)

func TestExplain(t *testing.T) {
	s := newSite(t)
	s.get("/projects/1/explain").want(200, "Explain").checkPage()
	all := s.get("/projects/1/explain?person=user-001").want(200, "checkout-button", "new-dashboard", "The flag is disabled.")
	all.checkPage()
	one := s.get("/projects/1/explain?person=user-001&flag=new-dashboard").want(200,
		"new-dashboard is on for user-001@example.org, user-001", "Condition set 1 match", "plan person", "is pro, team", "match",
		"Condition set 2 not evaluated")
	one.checkPage()
	s.get("/projects/1/explain?person=user-000&flag=new-dashboard").want(200, "no match", `"user-000" is bucketed at`,
		"the rollout percentage of 50%.")
	s.get("/projects/1/explain?person=user-000&flag=checkout-button").want(200, "Everyone is within the rollout percentage of 100%.",
		"The variant is bucketed at").checkPage()
	s.get("/projects/1/explain?flag=new-dashboard&key=plan&type=text&value=team").want(200, "new-dashboard is on", "team").checkPage()
	s.get("/projects/1/explain?person=user-001&flag=company-billing&group-0=acme").want(200, "seats group company", "70")
	s.get("/projects/1/explain?person=user-001&flag=dashboard-tour").want(200, "Flag dependencies", "new-dashboard is true")
	s.get("/projects/1/explain?person=user-001&flag=none").want(422, "There is no flag with the key none.").checkPage()
	s.get("/projects/1/explain?person=x&key=&type=text&value=v").want(422, "Name the property that has the value.").checkPage()
	s.get("/projects/1/explain?key=a&type=text&value=v&key=a&type=text&value=w").want(422, "The property is there twice.").checkPage()
	s.get("/projects/1/explain?key=a&key=b&type=text&value=v").want(400, "could not be read")
}

// TestRuling101Why names a person by everything that people call persons.
func TestRuling101Why(t *testing.T) {
	s := newSite(t)
	const page = "/projects/1/explain"
	named := func(person string) string { return page + "?person=" + url.QueryEscape(person) + "&flag=new-dashboard" }
	p, _ := s.person("user-001")
	for _, name := range []string{"USER-001@example.org", " user-001@example.org ", p.ID.String()} {
		s.get(named(name)).leads(page + "?person=user-001&flag=new-dashboard")
	}
	s.get(page + "?person=user-001&flag=new-dashboard&key=&type=text&value=&key=&type=text&value=&group-0=").leads(page +
		"?person=user-001&flag=new-dashboard")
	s.get(page + "?person=user-001&flag=&key=plan&type=text&value=free&group-0=acme").leads(page +
		"?person=user-001&group-0=acme&key=plan&type=text&value=free")
	s.get(page + "?person=user-001&flag=new-dashboard&new=yes").leads(page + "?person=user-001&flag=new-dashboard") // who is not new

	for _, id := range []string{"user-002", "user-003"} {
		_, own := s.person(id)
		s.post(own, url.Values{"do": {"set"}, "was": {""}, "name": {"name"}, "type": {"text"}, "value": {"Ada Lovelace"}}).want(303)
	}
	several := s.get(named("ada lovelace")).want(200, "Several persons are called ada lovelace.", "user-002@example.org user-002",
		"user-003@example.org user-003")
	several.checkPage()
	s.get(several.link("user-003@example.org")).leads(page + "?person=user-003&flag=new-dashboard")
	similar := s.get(named("user-00")).want(200, "No person with the distinct ID, address or name user-00 is known. These are similar.",
		"user-009@example.org")
	similar.checkPage()
	unknown := s.get(named("Charles")).want(200, "No person with the distinct ID, address or name Charles is known.")
	unknown.checkPage()
	for name, a := range map[string]*answer{"several": several, "similar": similar, "unknown": unknown} {
		for _, flags := range []string{"new-dashboard is", "All flags", "Condition 1"} {
			if strings.Contains(words(a.body), flags) {
				t.Errorf("%s: the page says %q of somebody who is not known", name, flags)
			}
		}
	}
	anew := s.get(unknown.link("What somebody new with the distinct ID <code>Charles</code> gets")).want(200, "new-dashboard is",
		"for somebody new, Charles",
		"Nothing is stored about Charles: this is what somebody new with that distinct ID gets.")
	anew.checkPage()
	s.get(page+"?flag=new-dashboard&key=plan&type=text&value=team").want(200, "No person is named",
		"The rollout is computed with the distinct ID nobody.", "Typed in, in place of what is stored: plan team.")
	s.get(page+"?person=Charles&flag=new-dashboard&key=plan&type=text&value=team").want(200,
		"No person with the distinct ID, address or name Charles is known.")
	s.get(page+"?person="+strings.Repeat("x", 300)).want(200, "is known.").checkPage()
	s.get(page+"?person=%00").want(200, "is known.").checkPage()
}

// create makes a flag that is on.
func (s *site) create(key, filters string) {
	s.t.Helper()
	var patch management.FlagPatch
	fatal(s.t, json.Unmarshal([]byte(`{"key":"`+key+`","filters":`+filters+`}`), &patch))
	_, err := s.service.CreateFlag(s.t.Context(), s.owner, "1", patch)
	fatal(s.t, err)
}

// TestExplainTyped has properties and groups that are typed in, with a type each.
func TestExplainTyped(t *testing.T) {
	s := newSite(t)
	filters := func(operator, value string) string {
		return `{"groups":[{"properties":[{"key":"p","type":"person","operator":"` + operator + `","value":` + value +
			`}],"rollout_percentage":100}]}`
	}
	s.create("over-nine", filters("gt", "9"))
	s.create("is-true", filters("exact", `"true"`))
	s.create("is-set", filters("is_set", "null"))
	s.create("has-x", filters("icontains", `"x"`))
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
		a := s.get("/projects/1/explain?"+url.Values{"key": {"p"}, "type": {tt.kind}, "value": {tt.value}}.Encode()).want(200, "All flags")
		a.checkPage()
		var on []string
		for _, key := range []string{"has-x", "is-set", "is-true", "over-nine"} {
			if strings.Contains(words(a.body), key+" on ") {
				on = append(on, key)
			}
		}
		if diff := cmp.Diff(tt.on, on); diff != "" {
			t.Errorf("%s %q (-want +got)\n%s", tt.kind, tt.value, diff)
		}
		if form := a.getForm("/explain"); form.Get("key") != "p" || form.Get("type") != tt.kind || form.Get("value") != tt.value {
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
		s.get("/projects/1/explain?"+url.Values{"key": {"p"}, "type": {tt.kind}, "value": {tt.value}}.Encode()).want(422,
			tt.want).checkPage()
	}
	s.get("/projects/1/explain?group-0=acme").want(200, "company-billing on").checkPage()
	s.get("/projects/1/explain?group-0=none").want(200, "company-billing off")
	s.get("/projects/1/explain?person=user-001&key=plan&type=text&value=free").want(200, "new-dashboard",
		"All flags of user-001@example.org, user-001", "Typed in, in place of what is stored: plan free.").checkPage()
	script := "<script>alert(1)</script>"
	s.get("/projects/1/explain?" +
		url.Values{"key": {script}, "type": {script}, "value": {script}, "group-0": {script}}.Encode()).want(200).checkPage()
}
