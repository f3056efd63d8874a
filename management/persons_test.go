package management_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// persons returns the persons of a project, newest first.
func (w *world) persons(p *storage.Project) []storage.Person {
	w.t.Helper()
	list, _, err := w.store.Persons(w.t.Context(), p.ID, storage.PersonFilter{}, 1000, 0)
	w.ok(err)
	return list
}

// groups returns the groups of a project.
func (w *world) groups(p *storage.Project) []storage.Group {
	w.t.Helper()
	var all []storage.Group
	for index := range persons.MaxGroupTypes {
		list, _, err := w.store.Groups(w.t.Context(), p.ID, index, "", 1000, 0)
		w.ok(err)
		all = append(all, list...)
	}
	return all
}

// seize captures a person u and a group acme in Web and Shop.
func (w *world) seize() {
	w.t.Helper()
	for _, p := range []*storage.Project{w.web, w.shop} {
		w.capture(p, "$identify", "u", `{"$anon_distinct_id":"0190c8a0-0000-7000-8000-00000000000a","$set":{"email":"u@example.com","plan":"secret-free"}}`)
		w.capture(p, "$groupidentify", "u", `{"$group_type":"company","$group_key":"acme","$group_set":{"plan":"secret-free"}}`)
	}
}

func setProperty(key, value string) management.PropertyPatch {
	return management.PropertyPatch{Key: optional.Of(key), Value: optional.Of(json.RawMessage(value))}
}

func unsetProperty(key string) management.PropertyRemoval {
	return management.PropertyRemoval{Unset: optional.Of(key)}
}

// capturedEvent is the UUID of an event.
var capturedEvent = uuid.MustParse("0190c8a0-0000-7000-8000-0000000000e1")

// capturedMethods are the methods about what was captured.
func capturedMethods() []method {
	seize := func(c *callable) { c.seize() }
	return []method{
		{
			name: "ListPersons", scope: "person:read", kind: ofProject, first: seize,
			call: func(c *callable) error {
				return second(c.ListPersons(c.ctx, c.p, c.web, storage.PersonFilter{Search: "u"}, 10, 0))
			},
		},
		{
			name: "ListPersons of a cohort", scope: "person:read", kind: ofProject,
			first: func(c *callable) {
				c.ok(c.store.Cohorts().Create(c.t.Context(), &storage.Cohort{Project: c.world.web.ID, Static: true, Created: begin}))
			},
			call: func(c *callable) error {
				return second(c.ListPersons(c.ctx, c.p, c.web, storage.PersonFilter{Cohort: 1}, 10, 0))
			},
		},
		{
			name: "GetPerson", scope: "person:read", kind: ofProject, first: seize,
			call: func(c *callable) error { return second(c.GetPerson(c.ctx, c.p, c.web, "u")) },
		},
		{
			name: "SearchPersons", scope: "person:read", kind: ofProject, first: seize,
			call: func(c *callable) error {
				return second(c.SearchPersons(c.ctx, c.p, c.web, management.PersonSearch{Text: "u", Properties: `[{"key":"plan","type":"person","value":"secret-free"}]`}, 10))
			},
		},
		{
			name: "FindPerson", scope: "person:read", kind: ofProject, first: seize,
			call: func(c *callable) error { return second(c.FindPerson(c.ctx, c.p, c.web, "ada")) },
		},
		{
			name: "PersonEvents", scope: "person:read", kind: ofProject, first: seize,
			call: func(c *callable) error { return second(c.PersonEvents(c.ctx, c.p, c.web, "u", 10)) },
		},
		{
			name: "ListEvents", scope: "query:read", kind: ofProject, first: seize,
			call: func(c *callable) error {
				return second(c.ListEvents(c.ctx, c.p, c.web, management.EventQuery{PersonID: "u"}, "", 10))
			},
		},
		{
			name: "GetEvent", scope: "query:read", kind: ofProject,
			first: func(c *callable) {
				c.ok(c.store.Write(c.t.Context(), []capture.Event{{Project: c.world.web.ID, UUID: capturedEvent, Name: "page", DistinctID: "u", Time: begin, Received: begin, Properties: json.RawMessage(`{}`)}}))
			},
			call: func(c *callable) error {
				return second(c.GetEvent(c.ctx, c.p, c.web, capturedEvent.String()))
			},
		},
		{
			name: "WriteEvents", scope: "query:read", kind: ofProject, first: seize,
			call: func(c *callable) error {
				return second(c.WriteEvents(c.ctx, io.Discard, c.p, c.web, management.EventExport{}))
			},
		},
		{
			name: "PersonCohorts", scope: "cohort:read", also: "person:read", kind: ofProject, first: seize,
			call: func(c *callable) error { return second(c.PersonCohorts(c.ctx, c.p, c.web, "u")) },
		},
		{
			name: "UpdatePersonProperty", early: true, scope: "person:write", kind: ofProject, first: seize, log: []string{"Person updated by ada in Acme"},
			call: func(c *callable) error {
				return second(c.UpdatePersonProperty(c.ctx, c.p, c.web, "u", setProperty("plan", `"secret-pro"`)))
			},
		},
		{
			name: "DeletePersonProperty", early: true, scope: "person:write", kind: ofProject, first: seize, log: []string{"Person delete_property by ada in Acme"},
			call: func(c *callable) error {
				return second(c.DeletePersonProperty(c.ctx, c.p, c.web, "u", unsetProperty("plan")))
			},
		},
		{
			name: "DeletePerson", early: true, scope: "person:write", kind: ofProject, first: seize, log: []string{"Person deleted by ada in Acme"}, once: "not found not_found",
			call: func(c *callable) error { return c.DeletePerson(c.ctx, c.p, c.web, "u", false) },
		},
		{
			name: "DeletePerson with events", early: true, scope: "person:write", kind: ofProject, first: seize, log: []string{"Person deleted by ada in Acme"}, once: "not found not_found",
			call: func(c *callable) error { return c.DeletePerson(c.ctx, c.p, c.web, "u", true) },
		},
		{
			name: "GroupTypes", scope: "group:read", kind: ofProject, first: seize,
			call: func(c *callable) error { return second(c.GroupTypes(c.ctx, c.p, c.web)) },
		},
		{
			name: "ListGroups", scope: "group:read", kind: ofProject, first: seize,
			call: func(c *callable) error { return second(c.ListGroups(c.ctx, c.p, c.web, 0, "", 10, 0)) },
		},
		{
			name: "EventDefinitions", scope: "event_definition:read", kind: ofProject, first: seize,
			call: func(c *callable) error {
				return second(c.EventDefinitions(c.ctx, c.p, c.web, management.DefinitionQuery{}, 10, 0))
			},
		},
		{
			name: "PropertyDefinitions", scope: "property_definition:read", kind: ofProject, first: seize,
			call: func(c *callable) error {
				return second(c.PropertyDefinitions(c.ctx, c.p, c.web, management.DefinitionQuery{}, 10, 0))
			},
		},
		{
			name: "FindGroup", scope: "group:read", kind: ofProject, first: seize,
			call: func(c *callable) error { return second(c.FindGroup(c.ctx, c.p, c.web, 0, "acme")) },
		},
		{
			name: "UpdateGroupProperty", early: true, scope: "group:write", kind: ofProject, first: seize, log: []string{"Group update_property by ada in Acme"},
			call: func(c *callable) error {
				return second(c.UpdateGroupProperty(c.ctx, c.p, c.web, 0, "acme", setProperty("tier", `"secret-gold"`)))
			},
		},
		{
			name: "DeleteGroupProperty", early: true, scope: "group:write", kind: ofProject, first: seize, log: []string{"Group delete_property by ada in Acme"},
			call: func(c *callable) error {
				return second(c.DeleteGroupProperty(c.ctx, c.p, c.web, 0, "acme", unsetProperty("plan")))
			},
		},
		{
			name: "DeleteGroup", early: true, scope: "group:write", kind: ofProject, first: seize, log: []string{"Group deleted by ada in Acme"}, once: "not found not_found",
			call: func(c *callable) error { return c.DeleteGroup(c.ctx, c.p, c.web, 0, "acme") },
		},
	}
}

// Where nothing is captured, and in projects of others, there is nothing: a caller
// that may not ask is told so first.
func TestCapturedElsewhere(t *testing.T) {
	for _, m := range capturedMethods() {
		t.Run(m.name, func(t *testing.T) {
			c := m.callable(t, func(config *management.Config) { config.Data = nil })
			err := m.call(c)
			checkFault(t, m.name+" without a storage.Data", err, "not found not_available")
			if err != nil && !strings.Contains(err.Error(), "nothing is captured") {
				t.Errorf("%s without a storage.Data: %v, want it to say why", m.name, err)
			}
			c.p = c.world.key(c.ada, scopes("survey:write"))
			checkFault(t, m.name+" without a scope", m.call(c), "forbidden permission_denied")

			c = m.callable(t)
			c.p = c.as(c.dov)
			before := c.state()
			checkFault(t, m.name+" by somebody else", m.call(c), "not found not_found")
			c.p, c.web = c.as(c.ada), fmt.Sprint(c.world.shop.ID)
			checkFault(t, m.name+" in a project of others", m.call(c), "not found not_found")
			c.web = fmt.Sprint(c.world.app.ID)
			switch c.checkUnchanged(m.name, before); {
			case strings.HasPrefix(m.name, "ListPersons of"):
				checkFault(t, m.name+" in another project", m.call(c), "invalid does_not_exist cohort")
			case strings.HasPrefix(m.name, "List"), m.name == "WriteEvents", m.name == "GroupTypes", m.name == "EventDefinitions", m.name == "PropertyDefinitions", m.name == "SearchPersons", m.name == "FindPerson":
				checkFault(t, m.name+" in another project", m.call(c), "")
			default:
				checkFault(t, m.name+" in another project", m.call(c), "not found not_found")
			}
			c.checkUnchanged(m.name, before)
		})
	}
}

func TestPersonView(t *testing.T) {
	w := newWorld(t, withData)
	w.seize()
	id := w.persons(w.web)[0].ID
	want := fmt.Sprintf(`{"id":%q,"uuid":%[1]q,"name":"u@example.com","distinct_ids":["u","0190c8a0-0000-7000-8000-00000000000a"],`+
		`"properties":{"email":"u@example.com","plan":"secret-free"},"created_at":"2026-03-04T05:06:07.001Z","is_identified":true}`, id)
	for _, ref := range []string{id.String(), strings.ToUpper(id.String()), "u", "0190c8a0-0000-7000-8000-00000000000a"} {
		if got := encode(t, must(w.GetPerson(t.Context(), w.as(w.cyd), "1", ref))(t)); got != want {
			t.Errorf("GetPerson(%s) = %s, want %s", ref, got, want)
		}
	}
	for _, ref := range []string{
		"", "nobody", uuid.NewString(), "0190c8a0-0000-7000-8000-00000000000A", w.persons(w.shop)[0].ID.String(), "{" + id.String() + "}",
		strings.ReplaceAll(id.String(), "-", ""), "urn:uuid:" + id.String(), "u\x00",
	} {
		_, err := w.GetPerson(t.Context(), w.as(w.cyd), "1", ref)
		checkFault(t, "GetPerson("+ref+")", err, "not found not_found")
	}

	// What is a UUID of a person and a distinct ID of another one is the former.
	w.capture(w.web, "page", id.String(), `{"$set":{"name":"impostor"}}`)
	if got := must(w.GetPerson(t.Context(), w.as(w.cyd), "1", id.String()))(t); got.ID != id {
		t.Errorf("GetPerson = %+v, want %s", got, id)
	}
}

func TestNamesOfPersons(t *testing.T) {
	for _, tt := range []struct{ id, properties, want string }{
		{"u", `{}`, "u"},
		{"u", `{"name":"Ada"}`, "Ada"},
		{"u", `{"username":"ada","name":"Ada","email":"ada@example.com"}`, "ada@example.com"},
		{"u", `{"UserName":"1","Username":"2","Name":"3"}`, "3"},
		{"u", `{"email":"","name":null,"username":"ada"}`, "ada"},
		{"u", `{"email":7,"name":["Ada"],"username":{"a":1}}`, "u"},
		{"u", `{"EMAIL":"ada@example.com"}`, "u"},
		{"u", `{"name":"\ud83d\ude00"}`, "😀"},
		{"0190c8a0-0000-7000-8000-00000000000b", `{}`, "0190c8a0-0000-7000-8000-00000000000b"},
	} {
		w := newWorld(t, withData)
		w.capture(w.web, "page", tt.id, `{"$set":`+tt.properties+`}`)
		if got := must(w.GetPerson(t.Context(), w.as(w.ada), "1", tt.id))(t); got.Name != tt.want {
			t.Errorf("%q with %s is shown as %q, want %q", tt.id, tt.properties, got.Name, tt.want)
		}
	}
	// Of several distinct IDs the one that somebody has chosen.
	for chosen, random := range map[string]bool{
		"0-user": false, "00000000-user": false, "u-s-e-r-1": true, "a-b-c--d": false, "A-b-c-d-e": false, "-a-b-c-d": false, "a-b-c-d-": false, "a-b-c-d-é": false,
	} {
		const anonymous = "0190c8a0-0000-7000-8000-00000000000b"
		w := newWorld(t, withData)
		w.capture(w.web, "$identify", chosen, `{"$anon_distinct_id":"`+anonymous+`"}`)
		want := []string{chosen, anonymous}
		if random {
			want = sortedCopy(want)
		}
		got := must(w.GetPerson(t.Context(), w.as(w.ada), "1", chosen))(t)
		if diff := cmp.Diff(want, got.DistinctIDs); diff != "" || got.Name != want[0] {
			t.Errorf("name %q, distinct IDs (-want +got)\n%s", got.Name, diff)
		}
	}
}

func TestListPersons(t *testing.T) {
	w := newWorld(t, withData)
	for _, id := range []string{"user-1", "user-2", "user-20", "x"} {
		w.capture(w.web, "page", id, `{}`)
		w.capture(w.shop, "page", id+" of others", `{}`)
	}
	cohorts := []storage.Cohort{
		{Project: w.web.ID, Static: true, Created: begin},
		{Project: w.web.ID, Created: begin, Criteria: &flags.CohortNode{Type: "OR"}},
		{Project: w.web.ID, Static: true, Deleted: true, Created: begin},
		{Project: w.shop.ID, Static: true, Created: begin},
	}
	for i := range cohorts {
		w.ok(w.store.Cohorts().Create(t.Context(), &cohorts[i]))
		if _, _, err := w.store.AddCohortMembers(t.Context(), cohorts[i].Project, cohorts[i].ID, uuid.Nil, []string{"x", "user-2"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name          string
		q             storage.PersonFilter
		limit, offset int
		want          string
	}{
		{"all", storage.PersonFilter{}, 10, 0, "x user-20 user-2 user-1 of 4"},
		{"a page", storage.PersonFilter{}, 2, 1, "user-20 user-2 of 4"},
		{"behind the end", storage.PersonFilter{}, 2, 4, " of 4"},
		{"nonsense", storage.PersonFilter{}, -1, -1, " of 4"},
		{"a distinct ID", storage.PersonFilter{DistinctID: "user-2"}, 10, 0, "user-2 of 1"},
		{"a beginning", storage.PersonFilter{Search: "user-2"}, 10, 0, "user-20 user-2 of 2"},
		{"a cohort", storage.PersonFilter{Cohort: 1}, 10, 0, "x user-2 of 2"},
		{"all of it", storage.PersonFilter{Cohort: 1, Search: "user", DistinctID: "user-2"}, 10, 0, "user-2 of 1"},
		{"a cohort that is computed", storage.PersonFilter{Cohort: 2}, 10, 0, "invalid invalid_input cohort"},
		{"a cohort that is deleted", storage.PersonFilter{Cohort: 3}, 10, 0, "invalid does_not_exist cohort"},
		{"a cohort of others", storage.PersonFilter{Cohort: 4}, 10, 0, "invalid does_not_exist cohort"},
		{"an unknown cohort", storage.PersonFilter{Cohort: -5}, 10, 0, "invalid does_not_exist cohort"},
	} {
		page, err := w.ListPersons(t.Context(), w.as(w.cyd), "1", tt.q, tt.limit, tt.offset)
		got := fault(err)
		if err == nil {
			var names []string
			for _, p := range page.Items {
				names = append(names, p.Name)
			}
			got = fmt.Sprintf("%s of %d", strings.Join(names, " "), page.Total)
			if page.Items == nil {
				t.Errorf("%s: Items is nil", tt.name)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// properties are bodies that set a property, and what becomes of {"a":1}.
var properties = []struct{ body, want string }{
	{`{"key":"a","value":2}`, `{"a":2}`},
	{`{"key":"b","value":"x"}`, `{"a":1,"b":"x"}`},
	{`{"key":"b","value": [ 1, {"c" : null} ]}`, `{"a":1,"b":[1,{"c":null}]}`},
	{`{"key":"a","value":null}`, `{"a":null}`},
	{`{"key":" a ","value":false}`, `{"a":1," a ":false}`},
	{`{"key":7,"value":1.50}`, `{"a":1,"7":1.50}`},
	{`{"key":"é \" \\","value":"\ud83d\ude00\u0000","other":1}`, `{"a":1,"é \" \\":"\ud83d\ude00\u0000"}`},
	{`{"key":"` + chars(400) + `","value":1}`, `{"a":1,"` + chars(400) + `":1}`},
	{`{}`, "invalid required key"},
	{`{"value":1}`, "invalid required key"},
	{`{"key":null,"value":1}`, "invalid null key"},
	{`{"key":"","value":1}`, "invalid blank key"},
	{`{"key":["a"],"value":1}`, "invalid invalid_input key"},
	{`{"key":"a\u0000","value":1}`, "invalid null_characters_not_allowed key"},
	{`{"key":"` + chars(401) + `","value":1}`, "invalid max_length key"},
	{`{"key":"a"}`, "invalid required value"},
	{`{"key":"b","value":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "invalid invalid_input value"},
	{`{"key":"b","value":"` + strings.Repeat("x", persons.MaxProperties-10) + `"}`, "invalid max_length value"},
	{`{"key":"b","value":"` + strings.Repeat("x", persons.MaxProperties) + `"}`, "invalid invalid_input value"},
}

// removals are bodies that remove a property, and what becomes of {"a":1,"b":2}.
var removals = []struct{ body, want string }{
	{`{"$unset":"a"}`, `{"b":2}`},
	{`{"$unset":"b","a":"b"}`, `{"a":1}`},
	{`{"$unset":"c"}`, `{"a":1,"b":2}`},
	{`{"$unset":" a"}`, `{"a":1,"b":2}`},
	{`{}`, "invalid required $unset"},
	{`{"$unset":null}`, "invalid null $unset"},
	{`{"$unset":""}`, "invalid blank $unset"},
	{`{"$unset":["a"]}`, "invalid invalid_input $unset"},
	{`{"$unset":"a\u0000"}`, "invalid null_characters_not_allowed $unset"},
	{`{"$unset":"` + chars(401) + `"}`, "invalid max_length $unset"},
}

// checkEdit checks what became of properties, or what is wrong.
func (w *world) checkEdit(call string, before *state, got json.RawMessage, err error, want string) {
	w.t.Helper()
	if !strings.HasPrefix(want, "{") {
		checkFault(w.t, call, err, want)
		w.checkUnchanged(call, before)
		return
	}
	if err != nil || string(got) != want {
		w.t.Errorf("%.200s = %.200s, %v; want %.200s", call, got, err, want)
	}
}

func TestPersonProperties(t *testing.T) {
	for _, tt := range properties {
		w := newWorld(t, withData)
		w.capture(w.web, "page", "u", `{"$set":{"a":1}}`)
		before := w.state()
		view, err := w.UpdatePersonProperty(t.Context(), w.as(w.cyd), "1", "u", decode[management.PropertyPatch](t, tt.body))
		if err != nil {
			view = new(management.PersonView)
		}
		w.checkEdit("UpdatePersonProperty "+tt.body, before, view.Properties, err, tt.want)
		if err == nil {
			w.checkEdit("the person after "+tt.body, before, w.persons(w.web)[0].Properties, nil, tt.want)
		}
	}
	for _, tt := range removals {
		w := newWorld(t, withData)
		w.capture(w.web, "page", "u", `{"$set":{"a":1,"b":2}}`)
		before := w.state()
		view, err := w.DeletePersonProperty(t.Context(), w.as(w.cyd), "1", "u", decode[management.PropertyRemoval](t, tt.body))
		if err != nil {
			view = new(management.PersonView)
		}
		w.checkEdit("DeletePersonProperty "+tt.body, before, view.Properties, err, tt.want)
	}
	w := newWorld(t, withData)
	for name, value := range map[string]string{"no JSON": "{", "no UTF-8": "\"\xff\"", "two values": "1 2", "nothing": ""} {
		w.capture(w.web, "page", "u", `{}`)
		before := w.state()
		_, err := w.UpdatePersonProperty(t.Context(), w.as(w.cyd), "1", "u", setProperty("a", value))
		checkFault(t, "UpdatePersonProperty to "+name, err, "invalid invalid_input value")
		_, err = w.UpdatePersonProperty(t.Context(), w.as(w.cyd), "1", "u", setProperty("\xff", "1"))
		checkFault(t, "UpdatePersonProperty of no UTF-8", err, "invalid invalid_input key")
		w.checkUnchanged("UpdatePersonProperty", before)
	}
}

// What is logged tells neither who a person is nor what was known of it, and not
// what stays as it is.
func TestActivityOfPersons(t *testing.T) {
	w := newWorld(t, withData)
	w.seize()
	ctx, cyd := t.Context(), w.as(w.cyd)
	id := w.persons(w.web)[0].ID.String()
	set := func(key, value string) {
		must(w.UpdatePersonProperty(ctx, cyd, "1", id, setProperty(key, value)))(t)
		must(w.UpdateGroupProperty(ctx, cyd, "1", 0, "acme", setProperty(key, value)))(t)
	}
	set("plan", `"secret-free"`) // as before
	set("plan", `"secret-pro"`)
	set("age", `"secret-age"`)
	must(w.DeletePersonProperty(ctx, cyd, "1", "u", unsetProperty("plan")))(t)
	must(w.DeleteGroupProperty(ctx, cyd, "1", 0, "acme", unsetProperty("none")))(t)
	w.ok(w.DeletePerson(ctx, cyd, "1", "u", true))
	w.ok(w.DeleteGroup(ctx, cyd, "1", 0, "acme"))
	var got []string
	for _, a := range w.activities() {
		if *a.Project != w.web.ID || *a.User != w.cyd.ID || *a.Organization != w.acme.ID {
			t.Errorf("activity %+v", a)
		}
		got = append(got, fmt.Sprintf("%s %s %s %s", a.Scope, a.ItemID, a.Activity, a.Detail))
	}
	change := func(scope, field, action string) string {
		return fmt.Sprintf(`{"type":%q,"field":%q,"before":null,"after":null,"action":%q}`, scope, field, action)
	}
	person := func(activity, changes string) string {
		return fmt.Sprintf(`Person %s %s {"name":%[1]q,"changes":[%[3]s]}`, id, activity, changes)
	}
	group := func(activity, changes string) string {
		return fmt.Sprintf(`Group 0/acme %s {"name":"acme","changes":[%s]}`, activity, changes)
	}
	want := []string{
		group("deleted", ""),
		person("deleted", change("Person", "events", "deleted")),
		person("delete_property", change("Person", "plan", "deleted")),
		group("update_property", change("Group", "age", "created")),
		person("updated", change("Person", "age", "created")),
		group("update_property", change("Group", "plan", "changed")),
		person("updated", change("Person", "plan", "changed")),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("activities (-want +got)\n%s", diff)
	}
	if log := w.log.String(); strings.Contains(log, "secret-") || strings.Contains(log, "u@example.com") {
		t.Errorf("log %s", log)
	}
}

func TestDeletePerson(t *testing.T) {
	for _, events := range []bool{false, true} {
		w := newWorld(t, withData)
		w.seize()
		w.ok(w.DeletePerson(t.Context(), w.as(w.cyd), "1", w.persons(w.web)[0].ID.String(), events))
		if list := w.persons(w.web); len(list) != 0 {
			t.Errorf("persons %v", list)
		}
		if list := w.persons(w.shop); len(list) != 1 {
			t.Errorf("persons of others %v", list)
		}
		must(w.store.PurgeEvents(t.Context()))(t)
		left := 0
		for range w.store.AllEvents(t.Context(), w.web.ID, storage.EventFilter{}) {
			left++
		}
		if want := map[bool]int{false: 2, true: 0}[events]; left != want {
			t.Errorf("%d events are left, want %d", left, want)
		}
	}
}

// A lateStore refuses what it was asked whether it is possible.
type lateStore struct {
	storage.Data
	err error
}

func (s *lateStore) UpdatePerson(context.Context, int64, uuid.UUID, map[string]json.RawMessage, []string) (*storage.Person, error) {
	return nil, s.err
}

func (s *lateStore) UpdateGroup(context.Context, int64, int, string, map[string]json.RawMessage, []string) (*storage.Group, error) {
	return nil, s.err
}

func (s *lateStore) DeletePerson(context.Context, int64, uuid.UUID, bool) error { return s.err }

func (s *lateStore) DeleteGroup(context.Context, int64, int, string) error { return s.err }

// Somebody else has changed or deleted a person in the meantime, or storage fails.
func TestLateFailures(t *testing.T) {
	for _, tt := range []struct {
		err                error
		updating, deleting string
	}{
		{management.ErrNotFound, "not found not_found", "not found not_found"},
		{storage.ErrTooLarge, "invalid max_length value", ""},
		{errBroken, "failure: broken", "failure: broken"},
	} {
		late := &lateStore{err: tt.err}
		w := newWorld(t, withData, func(c *management.Config) { late.Data, c.Data = c.Data, late })
		w.seize()
		ctx, cyd := t.Context(), w.as(w.cyd)
		checkFault(t, "UpdatePersonProperty", second(w.UpdatePersonProperty(ctx, cyd, "1", "u", setProperty("a", "1"))), tt.updating)
		checkFault(t, "UpdateGroupProperty", second(w.UpdateGroupProperty(ctx, cyd, "1", 0, "acme", setProperty("a", "1"))), tt.updating)
		if tt.deleting != "" {
			checkFault(t, "DeletePerson", w.DeletePerson(ctx, cyd, "1", "u", true), tt.deleting)
			checkFault(t, "DeleteGroup", w.DeleteGroup(ctx, cyd, "1", 0, "acme"), tt.deleting)
		}
	}
}

// An eventPurger is a storage.Data that answers PurgeEvents.
type eventPurger struct {
	storage.Data
	answers []error // then nil
	more    int     // how often there is more
	calls   []time.Time
}

func (p *eventPurger) PurgeEvents(context.Context) (bool, error) {
	p.calls = append(p.calls, time.Now())
	if n := len(p.calls); n <= len(p.answers) && p.answers[n-1] != nil {
		return false, p.answers[n-1]
	}
	return len(p.calls) <= p.more, nil
}

// Run deletes events of deleted persons.
func TestRunPurgesEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &eventPurger{answers: []error{nil, nil, nil, errBroken}, more: 2}
		w := newWorld(t, withData, alter(new(altered)), func(c *management.Config) { p.Data, c.Data = c.Data, p })
		start := time.Now()
		stop := w.run()
		time.Sleep(3*time.Minute + time.Second)
		synctest.Wait()
		var calls []time.Duration
		for _, at := range p.calls {
			calls = append(calls, at.Sub(start))
		}
		if diff := cmp.Diff([]time.Duration{0, 0, 0, time.Minute, 2 * time.Minute, 3 * time.Minute}, calls); diff != "" {
			t.Errorf("PurgeEvents is called (-want +got)\n%s", diff)
		}
		if log := w.log.String(); strings.Count(log, "events of deleted persons are not deleted") != 1 {
			t.Errorf("log %s", log)
		}
		stop()
	})
}

// TestRuling101FindPerson names persons by everything that people call persons.
func TestRuling101FindPerson(t *testing.T) {
	w := newWorld(t, withData)
	ctx, ada, web := t.Context(), w.as(w.ada), ref(w.web)
	for i, properties := range []string{
		`{"$set":{"email":"ada@example.com","name":"Ada Lovelace"}}`, `{"$set":{"email":"Édith@example.com","name":"Ada"}}`,
		`{"$set":{"name":"Charles"}}`, `{"$set":{"name":"charles"}}`, `{"$set":{"plan":"pro"}}`,
	} {
		w.capture(w.web, "page", fmt.Sprint("u", i), properties)
	}
	for i := range 30 {
		w.capture(w.web, "page", fmt.Sprint("many-", i), `{"$set":{"name":"Number `+strconv.Itoa(i)+`"}}`)
	}
	w.capture(w.app, "page", "elsewhere", `{"$set":{"name":"Elsewhere"}}`)
	first := must(w.GetPerson(ctx, ada, web, "u0"))(t)
	for _, tt := range []struct{ text, person, others string }{
		{"u0", "u0", ""},
		{first.ID.String(), "u0", ""},
		{"ADA@Example.com", "u0", ""},
		{"ada lovelace", "u0", ""},
		{"éDITH@example.com", "u1", ""},
		{"ada", "u1", ""}, // as a whole
		{"number 7", "many-7", ""},
		{"Charles", "", "namesakes u3 u2"},
		{"lovelace", "", "u0"},
		{"u", "", "u4 u3 u2 u1 u0 and more"},
		{"@example", "", "u1 u0"},
		{"nobody", "", ""},
		{"Elsewhere", "", ""},
		{"%", "", ""},
		{strings.Repeat("x", 300), "", ""},
	} {
		got := must(w.FindPerson(ctx, ada, web, tt.text))(t)
		person, others := "", []string{}
		if got.Person != nil {
			person = got.Person.DistinctIDs[0]
		}
		if got.Namesakes {
			others = append(others, "namesakes")
		}
		for i, p := range got.Others {
			if i == 5 {
				others = append(others, "and more")
				break
			}
			others = append(others, p.DistinctIDs[0])
		}
		if person != tt.person || strings.Join(others, " ") != tt.others || len(got.Others) > 20 {
			t.Errorf("FindPerson(%q) = %q, %q; want %q, %q", tt.text, person, strings.Join(others, " "), tt.person, tt.others)
		}
	}
	_, err := w.FindPerson(ctx, ada, web, "")
	checkFault(t, "FindPerson without a name", err, "invalid required person")
}
