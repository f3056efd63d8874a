package persons_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func event(name, id, properties string) capture.Event {
	return capture.Event{
		Project: 1, UUID: uuid.New(), Name: name, DistinctID: id, Time: now, Received: now,
		Properties: json.RawMessage(properties),
	}
}

// describe returns the persons as "ids properties", with an exclamation mark if
// they are identified, in the order of their IDs, and the groups as "type/key
// properties".
func (w *world) describe() []string {
	ids := make(map[uuid.UUID][]string)
	for id, p := range w.ids {
		ids[p] = append(ids[p], id)
	}
	list := []string{}
	for id, p := range w.persons {
		slices.Sort(ids[id])
		mark := ""
		if p.Identified {
			mark = "!"
		}
		list = append(list, fmt.Sprintf("%s%s %s", strings.Join(ids[id], ","), mark, p.Properties))
	}
	for g, properties := range w.groups {
		list = append(list, fmt.Sprintf("%s/%s %s", g.Name, g.Key, properties))
	}
	slices.Sort(list)
	return list
}

// TestEffects has the rows of wire.md §7 about persons and groups, with their
// numbers there, and then the rules of §3 that have no row. Each history is
// applied both as one batch and event by event.
func TestEffects(t *testing.T) {
	long := strings.Repeat("ü", 201)
	for _, tt := range []struct {
		name   string
		events []capture.Event
		want   []string
	}{
		{"P01 $set", []capture.Event{event("page", "u", `{"$set":{"plan":"pro"}}`)}, []string{`u {"plan":"pro"}`}},
		{"P04 $set_once", []capture.Event{event("page", "u", `{"$set_once":{"plan":"pro"}}`)}, []string{`u {"plan":"pro"}`}},
		{"P05 $set_once does not overwrite", []capture.Event{
			event("page", "u", `{"$set":{"plan":"free"}}`), event("page", "u", `{"$set_once":{"plan":"pro"}}`),
		}, []string{`u {"plan":"free"}`}},
		{"P06 $unset with names", []capture.Event{
			event("page", "u", `{"$set":{"plan":"pro","x":1}}`), event("page", "u", `{"$unset":["plan",7,null,"none"]}`),
		}, []string{`u {"x":1}`}},
		{"P07 $unset with an object", []capture.Event{
			event("page", "u", `{"$set":{"plan":"pro"}}`), event("page", "u", `{"$unset":{"plan":""}}`),
		}, []string{`u {}`}},
		{"P08 $set overwrites", []capture.Event{
			event("page", "u", `{"$set":{"plan":"free"}}`), event("page", "u", `{"$set":{"plan":"pro"}}`),
		}, []string{`u {"plan":"pro"}`}},
		{"P09 $identify links and sets", []capture.Event{
			event("$identify", "u", `{"$anon_distinct_id":"a","$set":{"plan":"pro"}}`),
		}, []string{`a,u! {"plan":"pro"}`}},
		{"P10 $identify takes what was", []capture.Event{
			event("page", "a", `{"$set":{"plan":"pro"}}`), event("$identify", "u", `{"$anon_distinct_id":"a"}`),
		}, []string{`a,u! {"plan":"pro"}`}},
		{"P11 the target wins", []capture.Event{
			event("page", "a", `{"$set":{"plan":"pro","only":"a"}}`), event("page", "u", `{"$set":{"plan":"free"}}`),
			event("$identify", "u", `{"$anon_distinct_id":"a"}`),
		}, []string{`a,u! {"plan":"free","only":"a"}`}},
		{"P12 identified persons are not merged", []capture.Event{
			event("$identify", "a", `{"$anon_distinct_id":"a0","$set":{"plan":"pro"}}`),
			event("$identify", "b", `{"$anon_distinct_id":"b0"}`),
			event("$identify", "b", `{"$anon_distinct_id":"a","$set":{"seen":true}}`),
		}, []string{`a,a0! {"plan":"pro"}`, `b,b0! {"seen":true}`}},
		{"P13 $create_alias", []capture.Event{
			event("$create_alias", "u", `{"alias":"z"}`), event("page", "z", `{"$set":{"plan":"pro"}}`),
		}, []string{`u,z! {"plan":"pro"}`}},
		{"P15 $merge_dangerously", []capture.Event{
			event("$identify", "a", `{"$anon_distinct_id":"a0","$set":{"plan":"pro"}}`),
			event("$identify", "b", `{"$anon_distinct_id":"b0"}`),
			event("$merge_dangerously", "b", `{"alias":"a"}`),
		}, []string{`a,a0,b,b0! {"plan":"pro"}`}},
		{"P16 illegal IDs are not linked", []capture.Event{
			event("$identify", "u", `{"$anon_distinct_id":"undefined","$set":{"plan":"pro"}}`),
			event("$identify", "Guest", `{"$anon_distinct_id":"g"}`),
		}, []string{`Guest {}`, `u {"plan":"pro"}`}},
		{"P17 $process_person_profile: false", []capture.Event{
			event("page", "u", `{"$process_person_profile":false,"$set":{"plan":"pro"},"$groups":{"company":"c"}}`),
		}, []string{}},
		{"P18 nor does it link", []capture.Event{
			event("$identify", "u", `{"$anon_distinct_id":"a","$process_person_profile":false}`),
			event("page", "u", `{"$set":{"plan":"pro"}}`),
		}, []string{`u {"plan":"pro"}`}},
		{"P19 $groupidentify", []capture.Event{
			event("$groupidentify", "u", `{"$group_type":"company","$group_key":"c","$group_set":{"tier":"enterprise"}}`),
		}, []string{`company/c {"tier":"enterprise"}`, `u {}`}},
		{"P20 $groupidentify adds", []capture.Event{
			event("$groupidentify", "u", `{"$group_type":"company","$group_key":"c","$group_set":{"tier":"enterprise"}}`),
			event("$groupidentify", "u", `{"$group_type":"company","$group_key":"c","$group_set":{"size":7}}`),
		}, []string{`company/c {"tier":"enterprise","size":7}`, `u {}`}},
		{"P23 $feature_enrollment_update", []capture.Event{
			event("$feature_enrollment_update", "u", `{"$set":{"$feature_enrollment/beta":true}}`),
		}, []string{`u {"$feature_enrollment/beta":true}`}},
		{"browsers' name of when a survey was seen last (management.md §9.6)", []capture.Event{
			event("survey shown", "u", `{"$set":{"$survey_last_seen_date":"2026-03-01"}}`),
			event("survey shown", "v", `{"$set":{"$survey_last_seen_date":"2026-03-01","$last_seen_survey_date":"2026-03-02"}}`),
			event("page", "w", `{"$set":{"$survey_last_seen_date":"2026-03-01"}}`),
		}, []string{
			`u {"$survey_last_seen_date":"2026-03-01","$last_seen_survey_date":"2026-03-01"}`,
			`v {"$survey_last_seen_date":"2026-03-01","$last_seen_survey_date":"2026-03-02"}`,
			`w {"$survey_last_seen_date":"2026-03-01"}`,
		}},
		{"P29 $exception changes nobody", []capture.Event{
			event("$exception", "u", `{"$set":{"plan":"pro"},"$browser":"Firefox"}`),
			event("$$heatmap", "u", `{"$set_once":{"plan":"pro"}}`),
		}, []string{`u {}`}},
		{"T20 IDs to link with have 200 characters", []capture.Event{
			event("$identify", "u", `{"$anon_distinct_id":"`+long+`"}`),
		}, []string{"u," + long[:400] + "! {}"}},
		{"T21 NUL in an ID to link with", []capture.Event{
			event("$identify", "u", `{"$anon_distinct_id":"a\u0000b"}`),
		}, []string{"a\uFFFDb,u! {}"}},
		{"T23 $unset is last", []capture.Event{event("page", "u", `{"$unset":["a"],"$set":{"a":1,"b":2},"$set_once":{"a":3}}`)}, []string{`u {"b":2}`}},
		{"T24 nothing said, nothing changed", []capture.Event{
			event("$identify", "u", `{"$anon_distinct_id":"a","$set":{"plan":"pro"}}`), event("page", "u", `{}`),
		}, []string{`a,u! {"plan":"pro"}`}},
		{"T27 group keys that are numbers", []capture.Event{
			event("$groupidentify", "u", `{"$group_type":"company","$group_key":7,"$group_set":{"a":1}}`),
			event("$groupidentify", "u", `{"$group_type":"company","$group_key":"7","$group_set":{"b":2}}`),
		}, []string{`company/7 {"a":1,"b":2}`, `u {}`}},

		{"a plain event creates its person", []capture.Event{event("page", "u", `{}`)}, []string{`u {}`}},
		{"NoPerson does not", []capture.Event{{Project: 1, Name: "page", DistinctID: "u", Properties: json.RawMessage(`{"$set":{"a":1}}`), NoPerson: true}}, []string{}},
		{"null and nested values are values", []capture.Event{
			event("page", "u", `{"$set":{"a":null,"b":[1,{"c":"d"}]},"$set_once":{"a":1}}`),
		}, []string{`u {"a":null,"b":[1,{"c":"d"}]}`}},
		{"what is not an object is ignored", []capture.Event{
			event("page", "u", `{"$set":[1],"$set_once":"x","$unset":"a","$groups":["company"]}`),
		}, []string{`u {}`}},
		{"the last of several members with one name", []capture.Event{
			event("page", "u", `{"$set":{"a":0},"$set":{"a":1,"a":2},"$set_once":{"b":1,"b":2}}`),
		}, []string{`u {"b":2,"a":2}`}},
		{"names with escapes are the names they mean", []capture.Event{
			event("page", "u", `{"$set":{"caf\u00e9":1,"a\/b":2,"q\"":3}}`),
			event("page", "u", `{"\u0024set":{"café":4},"$unset":["a/b"]}`),
		}, []string{`u {"caf\u00e9":4,"q\"":3}`}},
		{"properties keep their order", []capture.Event{
			event("page", "u", `{"$set":{"c":1,"a":1,"b":1}}`), event("page", "u", `{"$set":{"a":2,"d":1},"$unset":["c"]}`),
			event("page", "u", `{"$set":{"c":3}}`),
		}, []string{`u {"a":2,"b":1,"d":1,"c":3}`}},
		{"automatic properties", []capture.Event{
			event("page", "u", `{"$browser":"Firefox","utm_source":"ad","$os_name":"Plan 9","$referrer":null,"other":1}`),
			event("page", "u", `{"$browser":"Lynx"}`),
		}, []string{`u {"$initial_browser":"Firefox","$initial_utm_source":"ad","$initial_os":"Plan 9","$browser":"Lynx","utm_source":"ad","$os":"Plan 9"}`}},
		{"what is set explicitly wins", []capture.Event{
			event("page", "u", `{"$browser":"Firefox","$set":{"$browser":"mine"},"$set_once":{"$initial_browser":"first"}}`),
		}, []string{`u {"$initial_browser":"first","$browser":"mine"}`}},
		{"$os goes before $os_name", []capture.Event{event("page", "u", `{"$os":"a","$os_name":"b"}`)}, []string{`u {"$initial_os":"a","$os":"a"}`}},
		{"servers have no system", []capture.Event{
			event("page", "u", `{"$os":"Linux","$os_version":"6","$is_server":true,"$app_version":"1"}`),
		}, []string{`u {"$initial_app_version":"1","$app_version":"1"}`}},
		{"link with oneself", []capture.Event{event("$identify", "u", `{"$anon_distinct_id":"u"}`)}, []string{`u {}`}},
		{"link of what is linked identifies", []capture.Event{
			event("$create_alias", "u", `{"alias":"z"}`), event("$identify", "z", `{"$anon_distinct_id":"u"}`),
		}, []string{`u,z! {}`}},
		{"numbers are IDs", []capture.Event{event("$create_alias", "u", `{"alias":17}`)}, []string{`17,u! {}`}},
		{"chain of merges", []capture.Event{
			event("page", "a", `{"$set":{"a":1}}`), event("page", "b", `{"$set":{"b":1}}`), event("page", "c", `{"$set":{"c":1}}`),
			event("$identify", "b", `{"$anon_distinct_id":"a"}`), event("$merge_dangerously", "c", `{"alias":"b"}`),
			event("page", "a", `{"$set":{"d":1}}`),
		}, []string{`a,b,c! {"a":1,"b":1,"c":1,"d":1}`}},
		{"$groupidentify without a type or a key", []capture.Event{
			event("$groupidentify", "u", `{"$group_key":"c"}`), event("$groupidentify", "u", `{"$group_type":"company"}`),
			event("$groupidentify", "u", `{"$group_type":"`+strings.Repeat("x", 401)+`","$group_key":"c"}`),
		}, []string{`u {}`}},
		{"$groupidentify without properties", []capture.Event{
			event("$groupidentify", "u", `{"$group_type":"company","$group_key":"c"}`),
		}, []string{`company/c {}`, `u {}`}},
		{"of group keys 400 characters count", []capture.Event{
			event("$groupidentify", "u", `{"$group_type":"company","$group_key":"`+strings.Repeat("ü", 401)+`"}`),
		}, []string{"company/" + strings.Repeat("ü", 400) + " {}", `u {}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			batch := newWorld()
			batch.write(t, tt.events)
			if diff := cmp.Diff(tt.want, batch.describe()); diff != "" {
				t.Errorf("as one batch (-want +got)\n%s", diff)
			}
			single := newWorld()
			for i := range tt.events {
				single.write(t, tt.events[i:i+1])
			}
			if diff := cmp.Diff(tt.want, single.describe()); diff != "" {
				t.Errorf("event by event (-want +got)\n%s", diff)
			}
		})
	}
}

// TestCreated checks that a merged person is as old as the older of the two.
func TestCreated(t *testing.T) {
	older, newer := event("page", "a", `{}`), event("page", "u", `{}`)
	older.Time = now.Add(-time.Hour)
	for _, events := range [][]capture.Event{{older, newer}, {newer, older}} {
		w := newWorld()
		w.write(t, append(events, event("$identify", "u", `{"$anon_distinct_id":"a"}`)))
		for _, p := range w.persons {
			if !p.Created.Equal(older.Time) {
				t.Errorf("created %v, want %v", p.Created, older.Time)
			}
		}
	}
}

// TestGroupTypes uses seven group types and more groups (T26).
func TestGroupTypes(t *testing.T) {
	w := newWorld()
	w.write(t, []capture.Event{
		event("page", "u", `{"$groups":{"a":"1","b":7,"":"x","none":"","nothing":null}}`),
		event("$groupidentify", "u", `{"$group_type":"c","$group_key":"1","$group_set":{"x":1}}`),
	})
	w.write(t, []capture.Event{
		event("page", "u", `{"$groups":{"b":"1","d":"1","e":"1","f":"1"}}`),
		event("$groupidentify", "u", `{"$group_type":"g","$group_key":"1","$group_set":{"x":1}}`),
		event("$groupidentify", "u", `{"$group_type":"e","$group_key":"1","$group_set":{"x":1},"$set":{"y":2}}`),
	})
	// All types are taken; the rest of these events still has its effect.
	w.write(t, []capture.Event{
		event("$groupidentify", "v", `{"$group_type":"g","$group_key":"1","$group_set":{"x":1},"$set":{"y":3}}`),
		event("$groupidentify", "u", `{"$group_type":"a","$group_key":"1","$group_set":{"x":2}}`),
	})
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "e"}, w.types); diff != "" {
		t.Errorf("group types (-want +got)\n%s", diff)
	}
	want := []string{`a/1 {"x":2}`, `c/1 {"x":1}`, `e/1 {"x":1}`, `u {"y":2}`, `v {"y":3}`}
	if diff := cmp.Diff(want, w.describe()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// apply applies events to one person and one group, and returns the changes.
func apply(p persons.Person, group string, events ...capture.Event) persons.Changes {
	u := persons.NewUnit(events)
	for id := range u.DistinctIDs() {
		if id.ID == "u" {
			u.SetPerson(id, persons.Load(p))
		}
	}
	company := persons.GroupType{Project: 1, Name: "company"}
	u.SetGroupType(company, 0)
	for g := range u.Groups() {
		u.SetGroup(g, json.RawMessage(group))
	}
	for i := range events {
		u.Apply(i)
	}
	return u.Changes()
}

func TestNothingChanges(t *testing.T) {
	p := persons.Person{ID: uuid.New(), Properties: json.RawMessage(`{"plan":"pro","n":1}`), Identified: true, Created: now}
	for _, e := range []capture.Event{
		event("page", "u", `{}`),
		event("page", "u", `{"$set":{"plan":"pro"}}`),
		event("page", "u", `{"$set_once":{"plan":"free","n":2}}`),
		event("page", "u", `{"$unset":["other"]}`),
		event("page", "u", `{"$set":{"pl\u0061n":"pro"}}`),
		event("$identify", "u", `{"$anon_distinct_id":"u"}`),
		event("$exception", "u", `{"$set":{"plan":"free"}}`),
		event("page", "u", `{"$groups":{"company":"c"}}`),
		event("$groupidentify", "u", `{"$group_type":"company","$group_key":"c","$group_set":{"a":1}}`),
		event("$groupidentify", "u", `{"$group_type":"company","$group_key":"c"}`),
	} {
		if diff := cmp.Diff(persons.Changes{}, apply(p, `{"a":1}`, e)); diff != "" {
			t.Errorf("%s %s changes something (-want +got)\n%s", e.Name, e.Properties, diff)
		}
	}
}

// TestMaxProperties goes up to the limit and beyond.
func TestMaxProperties(t *testing.T) {
	text := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	big := `{"big":` + text(persons.MaxProperties-100) + `}`
	huge := `{"big":` + text(persons.MaxProperties+100) + `,"b":1}` // as stored before there was a limit
	const company = `"$group_type":"company","$group_key":"c"`
	for _, tt := range []struct {
		name        string
		stored      string
		event       capture.Event
		want        string // "" means no change
		wantRefused int
	}{
		{"room for a little", big, event("page", "u", `{"$set":{"a":1}}`), strings.TrimSuffix(big, "}") + `,"a":1}`, 0},
		{"too much at once", `{}`, event("page", "u", `{"$set":{"a":`+text(persons.MaxProperties)+`}}`), "", 1},
		{"too much together", big, event("page", "u", `{"$set":{"a":`+text(200)+`,"b":1}}`), "", 1},
		{"$set_once", big, event("page", "u", `{"$set_once":{"a":`+text(200)+`}}`), "", 1},
		{"$set_once of what is there", big, event("page", "u", `{"$set_once":{"big":`+text(200)+`}}`), "", 0},
		{"automatic", big, event("page", "u", `{"$current_url":`+text(200)+`}`), "", 1},
		{"in place of what is there", big, event("page", "u", `{"$set":{"big":`+text(200)+`}}`), `{"big":` + text(200) + `}`, 0},
		{"with room made by $unset", big, event("page", "u", `{"$set":{"a":`+text(200)+`},"$unset":["big"]}`), `{"a":` + text(200) + `}`, 0},
		{"shrinking what is too large", huge, event("page", "u", `{"$unset":["b"]}`), strings.Replace(huge, `,"b":1`, "", 1), 0},
		{"changing what is too large", huge, event("page", "u", `{"$set":{"b":2}}`), strings.Replace(huge, `"b":1`, `"b":2`, 1), 0},
		{"growing what is too large", huge, event("page", "u", `{"$set":{"b":22}}`), "", 1},
		{"group: room for a little", big, event("$groupidentify", "v", `{`+company+`,"$group_set":{"a":1}}`), strings.TrimSuffix(big, "}") + `,"a":1}`, 0},
		{"group: too much", big, event("$groupidentify", "v", `{`+company+`,"$group_set":{"a":`+text(200)+`}}`), "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := apply(persons.Person{ID: uuid.New(), Properties: json.RawMessage(tt.stored), Created: now}, tt.stored, tt.event)
			got := ""
			for _, p := range c.Persons {
				if !p.New {
					got = string(p.Properties)
				}
			}
			for _, g := range c.Groups {
				got = string(g.Properties)
			}
			if got != tt.want {
				t.Errorf("properties of %d bytes, want %d", len(got), len(tt.want))
			}
			if c.Refused != tt.wantRefused {
				t.Errorf("Refused = %d, want %d", c.Refused, tt.wantRefused)
			}
		})
	}
}

func TestMergeTooLarge(t *testing.T) {
	half := strings.Repeat("x", persons.MaxProperties*2/3)
	w := newWorld()
	w.write(t, []capture.Event{
		event("page", "a", `{"$set":{"a":"`+half+`"}}`),
		event("page", "u", `{"$set":{"u":"`+half+`"}}`),
	})
	w.write(t, []capture.Event{event("$identify", "u", `{"$anon_distinct_id":"a","$set":{"plan":"pro"}}`)})
	if diff := cmp.Diff([]string{`a,u! {"u":"` + half + `","plan":"pro"}`}, w.describe()); diff != "" {
		t.Errorf("the target does not keep what it had: %.200s", diff)
	}
}

// TestProjects checks that the projects of a batch do not affect each other.
func TestProjects(t *testing.T) {
	events := []capture.Event{event("page", "u", `{"$set":{"a":1},"$groups":{"x":"1"}}`), event("page", "u", `{"$set":{"b":1},"$groups":{"y":"1"}}`)}
	events[1].Project = 2
	u := persons.NewUnit(events)
	for i := range events {
		u.Apply(i)
	}
	c := u.Changes()
	got := make(map[int64]string)
	for _, p := range c.Persons {
		got[p.Project] = string(p.Properties)
	}
	if diff := cmp.Diff(map[int64]string{1: `{"a":1}`, 2: `{"b":1}`}, got); diff != "" {
		t.Errorf("persons (-want +got)\n%s", diff)
	}
	want := []persons.NewGroupType{
		{GroupType: persons.GroupType{Project: 1, Name: "x"}},
		{GroupType: persons.GroupType{Project: 2, Name: "y"}},
	}
	if diff := cmp.Diff(want, c.GroupTypes); diff != "" {
		t.Errorf("group types (-want +got)\n%s", diff)
	}
}

// TestSkipped checks that events that are not applied have no effect.
func TestSkipped(t *testing.T) {
	events := []capture.Event{event("$identify", "u", `{"$anon_distinct_id":"a","$groups":{"x":"1"}}`)}
	if diff := cmp.Diff(persons.Changes{}, persons.NewUnit(events).Changes()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
