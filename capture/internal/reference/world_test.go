package reference_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture/internal/reference"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// event returns an event at noon.
func event(name, id, properties string) reference.Event {
	return reference.Event{Name: name, DistinctID: id, Time: noon, Properties: properties}
}

// after returns the project in which these events happened.
func after(events ...reference.Event) *reference.World {
	var w reference.World
	for _, e := range events {
		w.Apply(e)
	}
	return &w
}

// persons shows each person as its ids, a * if it is identified, and its
// properties.
func persons(w *reference.World) string {
	var all []string
	for _, p := range w.Persons() {
		star := ""
		if p.Identified {
			star = "*"
		}
		all = append(all, strings.Join(p.IDs, ",")+star+p.Properties)
	}
	return strings.Join(all, " ")
}

// groups shows the group types, then each group.
func groups(w *reference.World) string {
	all := []string{strings.Join(w.GroupTypes(), ",")}
	for _, g := range w.Groups() {
		all = append(all, g.Type+":"+g.Key+g.Properties)
	}
	return strings.Join(all, " ")
}

// Wire document, section 3.6.
func TestWorkedExample(t *testing.T) {
	var w reference.World
	for i, step := range []struct {
		event reference.Event
		want  string
	}{
		{event("page", "a", `{"$set":{"plan":"pro"}}`), `a{"plan":"pro"}`},
		{event("page", "u", `{"$set":{"plan":"free","x":1}}`), `a{"plan":"pro"} u{"plan":"free","x":1}`},
		{event("$identify", "u", `{"$anon_distinct_id":"a"}`), `a,u*{"plan":"free","x":1}`},
		{event("$create_alias", "u", `{"alias":"crm-7"}`), `a,crm-7,u*{"plan":"free","x":1}`},
		{event("$identify", "v", `{"$anon_distinct_id":"b"}`), `a,crm-7,u*{"plan":"free","x":1} b,v*{}`},
		{event("$identify", "u", `{"$anon_distinct_id":"v"}`), `a,crm-7,u*{"plan":"free","x":1} b,v*{}`},
		{event("$merge_dangerously", "u", `{"alias":"v"}`), `a,b,crm-7,u,v*{"plan":"free","x":1}`},
	} {
		w.Apply(step.event)
		if got := persons(&w); got != step.want {
			t.Fatalf("persons after event %d = %s, want %s", i+1, got, step.want)
		}
	}
}

func TestPersonUpdates(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events []reference.Event
		want   string
	}{
		{"P01 $set", []reference.Event{event("page", "u", `{"$set":{"plan":"pro"}}`)}, `u{"plan":"pro"}`},
		{"P04 $set_once", []reference.Event{event("page", "u", `{"$set_once":{"plan":"pro"}}`)}, `u{"plan":"pro"}`},
		{"P05 $set_once does not overwrite", []reference.Event{
			event("page", "u", `{"$set":{"plan":"free"}}`),
			event("page", "u", `{"$set_once":{"plan":"pro"}}`),
		}, `u{"plan":"free"}`},
		{"$set_once does not overwrite null", []reference.Event{
			event("page", "u", `{"$set":{"plan":null}}`),
			event("page", "u", `{"$set_once":{"plan":"pro"}}`),
		}, `u{"plan":null}`},
		{"P06 $unset with an array", []reference.Event{
			event("page", "u", `{"$set":{"plan":"pro","x":1}}`),
			event("page", "u", `{"$unset":["plan",7,null,["x"]]}`),
		}, `u{"x":1}`},
		{"P07 $unset with an object", []reference.Event{
			event("page", "u", `{"$set":{"plan":"pro","x":1}}`),
			event("page", "u", `{"$unset":{"plan":""}}`),
		}, `u{"x":1}`},
		{"$unset with anything else", []reference.Event{
			event("page", "u", `{"$set":{"plan":"pro"}}`),
			event("page", "u", `{"$unset":"plan"}`),
		}, `u{"plan":"pro"}`},
		{"P08 $set overwrites", []reference.Event{
			event("page", "u", `{"$set":{"plan":"free"}}`),
			event("page", "u", `{"$set":{"plan":"pro"}}`),
		}, `u{"plan":"pro"}`},
		{"P17 no person profile", []reference.Event{event("page", "u", `{"$process_person_profile":false,"$set":{"plan":"pro"}}`)}, ``},
		{"other values of $process_person_profile", []reference.Event{
			event("page", "u", `{"$process_person_profile":"false"}`),
			event("page", "v", `{"$process_person_profile":0}`),
			event("page", "w", `{"$process_person_profile":null}`),
		}, `u{} v{} w{}`},
		{"NoPerson", []reference.Event{{Name: "page", DistinctID: "u", Time: noon, Properties: `{"$process_person_profile":true}`, NoPerson: true}}, ``},
		{"P27 event named $set_once", []reference.Event{event("$set_once", "u", `{"$set_once":{"plan":"pro"}}`)}, `u{"plan":"pro"}`},
		{"P29 $exception creates only", []reference.Event{event("$exception", "u", `{"$set":{"plan":"pro"},"$browser":"Lynx"}`)}, `u{}`},
		{"$$heatmap updates nothing", []reference.Event{
			event("page", "u", `{"$set":{"plan":"pro"}}`),
			event("$$heatmap", "u", `{"$set":{"plan":"free"},"$unset":["plan"]}`),
		}, `u{"plan":"pro"}`},
		{"T23 $unset runs last", []reference.Event{event("page", "u", `{"$unset":["plan","x"],"$set":{"plan":"pro"},"$set_once":{"x":1}}`)}, `u{}`},
		{"T24 no $set", []reference.Event{
			event("$identify", "u", `{"$anon_distinct_id":"a","$set":{"plan":"pro"}}`),
			event("page", "u", `{}`),
		}, `a,u*{"plan":"pro"}`},
		{"$set beats $set_once", []reference.Event{event("page", "u", `{"$set":{"x":1},"$set_once":{"x":2,"y":2}}`)}, `u{"x":1,"y":2}`},
		{"not objects", []reference.Event{event("page", "u", `{"$set":["x"],"$set_once":"x","$browser":"Lynx"}`)}, `u{"$browser":"Lynx","$initial_browser":"Lynx"}`},
		{"duplicate names", []reference.Event{event("page", "u", `{"$set":{"y":1},"$set":{"x":1,"\u0078":2}}`)}, `u{"x":2}`},
		{"numbers and odd names as written", []reference.Event{event("page", "u", `{"$set":{"":1.0,"n\u0000":1E2,"b":{"z":1,"a":[-0]}}}`)}, `u{"":1.0,"b":{"a":[-0],"z":1},"n\u0000":1E2}`},
		{"no properties", []reference.Event{event("page", "u", ``)}, `u{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := persons(after(tt.events...)); got != tt.want {
				t.Errorf("persons = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAutomaticProperties(t *testing.T) {
	for _, tt := range []struct {
		name, properties, want string
	}{
		{"names with and without $", `{"$browser":"Lynx","utm_source":"x","_kx":7,"other":1,"$ip":"1.2.3.4"}`, `{"$browser":"Lynx","$initial__kx":7,"$initial_browser":"Lynx","$initial_utm_source":"x","_kx":7,"utm_source":"x"}`},
		{"null is absent", `{"$browser":null}`, `{}`},
		{"explicit $set", `{"$browser":"Lynx","$set":{"$browser":null}}`, `{"$browser":null,"$initial_browser":"Lynx"}`},
		{"explicit $set_once", `{"$browser":"Lynx","$set_once":{"$initial_browser":"w3m"}}`, `{"$browser":"Lynx","$initial_browser":"w3m"}`},
		{"$set_once of the name itself", `{"$browser":"Lynx","$set_once":{"$browser":"w3m"}}`, `{"$browser":"Lynx","$initial_browser":"Lynx"}`},
		{"$unset", `{"$browser":"Lynx","$unset":["$initial_browser"]}`, `{"$browser":"Lynx"}`},
		{"$os_name alone", `{"$os_name":"Plan 9","$os":null}`, `{"$initial_os":"Plan 9","$os":"Plan 9"}`},
		{"$os_name beside $os", `{"$os_name":"Plan 9","$os":"Inferno"}`, `{"$initial_os":"Inferno","$os":"Inferno"}`},
		{"server", `{"$is_server":true,"$os":"a","$os_version":"b","$os_name":"c","$browser":"d"}`, `{"$browser":"d","$initial_browser":"d"}`},
		{"not quite a server", `{"$is_server":"true","$os_version":"b"}`, `{"$initial_os_version":"b","$os_version":"b"}`},
		{"location", `{"$geoip_time_zone":"Europe/Rome","$geoip_latitude":1}`, `{"$geoip_time_zone":"Europe/Rome","$initial_geoip_time_zone":"Europe/Rome"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := persons(after(event("page", "u", tt.properties))), "u"+tt.want; got != want {
				t.Errorf("person after %s = %s, want %s", tt.properties, got, want)
			}
		})
	}

	w := after(event("page", "u", `{"utm_source":"first"}`), event("page", "u", `{"utm_source":"second"}`))
	if got, want := persons(w), `u{"$initial_utm_source":"first","utm_source":"second"}`; got != want {
		t.Errorf("person after two campaigns = %s, want %s", got, want)
	}
}

// Wire document, section 3.3: one case for each row, and for the refused row
// one for each kind of event.
func TestLinks(t *testing.T) {
	a, u := event("page", "a", `{"$set":{"plan":"pro","x":1}}`), event("page", "u", `{"$set":{"plan":"free"}}`)
	identify := event("$identify", "u", `{"$anon_distinct_id":"a"}`)
	aIdentified := event("$identify", "a", `{"$anon_distinct_id":"a0"}`)

	for _, tt := range []struct {
		name   string
		events []reference.Event
		want   string
	}{
		{"same text", []reference.Event{event("$identify", "u", `{"$anon_distinct_id":"u","$set":{"y":1}}`)}, `u{"y":1}`},
		{"illegal source", []reference.Event{event("$identify", "u", `{"$anon_distinct_id":"undefined","$set":{"y":1}}`)}, `u{"y":1}`},
		{"illegal target", []reference.Event{a, event("$identify", "undefined", `{"$anon_distinct_id":"a","$set":{"y":1}}`)}, `a{"plan":"pro","x":1} undefined{"y":1}`},
		{"neither known", []reference.Event{event("$identify", "u", `{"$anon_distinct_id":"a","$set":{"y":1}}`)}, `a,u*{"y":1}`},
		{"source known", []reference.Event{a, identify}, `a,u*{"plan":"pro","x":1}`},
		{"target known", []reference.Event{u, identify}, `a,u*{"plan":"free"}`},
		{"identified source, target unknown", []reference.Event{aIdentified, identify}, `a,a0,u*{}`},
		{"same person", []reference.Event{identify, identify}, `a,u*{}`},
		{"P11 merge, target wins", []reference.Event{a, u, identify}, `a,u*{"plan":"free","x":1}`},
		{"merge, then updates", []reference.Event{a, u, event("$identify", "u", `{"$anon_distinct_id":"a","$set_once":{"x":2,"y":2},"$unset":["plan"]}`)}, `a,u*{"x":1,"y":2}`},
		{"all ids move", []reference.Event{aIdentified, u, event("$create_alias", "a", `{"alias":"u"}`)}, `a,a0,u*{"plan":"free"}`},
		{"P12 refused", []reference.Event{aIdentified, u, event("$identify", "u", `{"$anon_distinct_id":"a","$set":{"y":1}}`)}, `a,a0*{} u{"plan":"free","y":1}`},
		{"refused alias", []reference.Event{aIdentified, u, event("$create_alias", "u", `{"alias":"a"}`)}, `a,a0*{} u{"plan":"free"}`},
		{"P15 dangerous", []reference.Event{aIdentified, u, event("$merge_dangerously", "u", `{"alias":"a"}`)}, `a,a0,u*{"plan":"free"}`},
		{"P18 no person profile", []reference.Event{event("$identify", "u", `{"$anon_distinct_id":"a","$process_person_profile":false}`), event("$set", "u", `{"$set":{"plan":"pro"}}`)}, `u{"plan":"pro"}`},
		{"no source", []reference.Event{event("$identify", "u", `{"alias":"a"}`), event("$create_alias", "v", `{"$anon_distinct_id":"a"}`)}, `u{} v{}`},
		{"source of another type", []reference.Event{event("$identify", "u", `{"$anon_distinct_id":["a"]}`), event("$create_alias", "v", `{"alias":true}`)}, `u{} v{}`},
		{"number as written", []reference.Event{event("$identify", "u", `{"$anon_distinct_id":7.0}`)}, `7.0,u*{}`},
		{"plain event", []reference.Event{event("page", "u", `{"$anon_distinct_id":"a","alias":"b"}`)}, `u{}`},
		{"NUL", []reference.Event{event("$identify", "u", `{"$anon_distinct_id":"n\u0000l"}`)}, "n\ufffdl,u*{}"},
		// T25: of one anonymous id and two users, the first gets it.
		{"two users", []reference.Event{a, u, event("page", "v", ``), identify, event("$identify", "v", `{"$anon_distinct_id":"a"}`)}, `a,u*{"plan":"free","x":1} v{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := persons(after(tt.events...)); got != tt.want {
				t.Errorf("persons = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestLongSourceIsCut(t *testing.T) {
	cut := strings.Repeat("é", 200)
	w := after(event("$identify", "u", `{"$anon_distinct_id":"`+cut+`x"}`), event("page", cut, `{"$set":{"y":1}}`))
	if got, want := persons(w), "u,"+cut+`*{"y":1}`; got != want {
		t.Errorf("persons = %s, want %s", got, want)
	}
	w = after(event("$identify", cut, `{"$anon_distinct_id":"`+cut+`x"}`))
	if got, want := persons(w), cut+`{}`; got != want {
		t.Errorf("persons after a link to the same id = %s, want %s", got, want)
	}
}

// Wire document, section 3.4.
func TestIllegalIDs(t *testing.T) {
	for _, tt := range []struct {
		id      string // as JSON
		illegal bool
	}{
		{`"anonymous"`, true},
		{`"Guest"`, true},
		{`"distinctid"`, true},
		{`"distinct_id"`, true},
		{`"ID"`, true},
		{`"not_authenticated"`, true},
		{`"email"`, true},
		{`"UNDEFINED"`, true},
		{`"True"`, true},
		{`"false"`, true},
		{`"[object Object]"`, true},
		{`"NaN"`, true},
		{`"None"`, true},
		{`"none"`, true},
		{`"null"`, true},
		{`"0"`, true},
		{`0`, true},
		{`"undefined"`, true},
		{`"'Guest'"`, true},
		{`"\"NaN\""`, true},
		{`""`, true},
		{`" \t\u2003"`, true},

		{`"[object object]"`, false},
		{`"nan"`, false},
		{`"NONE"`, false},
		{`"Null"`, false},
		{`0.0`, false},
		{`"00"`, false},
		{`" guest"`, false},
		{`"'guest\""`, false},
		{`"\"'guest'\""`, false},
		{`"' '"`, true},
		{`"''"`, true},
		{`"gue\u017ft"`, false},
		{`"\u0130d"`, false},
		{`"user@example.com"`, false},
	} {
		linked := len(after(event("$create_alias", "u", `{"alias":`+tt.id+`}`)).Persons()[0].IDs) == 2
		if linked == tt.illegal {
			t.Errorf("alias %s links = %v, want %v", tt.id, linked, !tt.illegal)
		}
	}
}

func TestCreated(t *testing.T) {
	at := func(e reference.Event, minute int) reference.Event {
		e.Time = noon.Add(time.Duration(minute) * time.Minute)
		return e
	}
	a, u := event("page", "a", ``), event("page", "u", ``)
	identify := event("$identify", "u", `{"$anon_distinct_id":"a"}`)
	for _, tt := range []struct {
		name   string
		events []reference.Event
		want   int
	}{
		{"first event", []reference.Event{at(u, 3), at(u, 1)}, 3},
		{"new by a link", []reference.Event{at(identify, 5), at(u, 1)}, 5},
		{"attached", []reference.Event{at(a, 3), at(identify, 1)}, 3},
		{"merged, source earlier", []reference.Event{at(a, 3), at(u, 4), at(identify, 1)}, 3},
		{"merged, target earlier", []reference.Event{at(a, 4), at(u, 3), at(identify, 5)}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := after(tt.events...).Persons()[0].Created
			if want := noon.Add(time.Duration(tt.want) * time.Minute); !got.Equal(want) {
				t.Errorf("created = %v, want %v", got, want)
			}
		})
	}
}

func TestGroups(t *testing.T) {
	identify := func(typ, key, set string) reference.Event {
		return event("$groupidentify", "u", fmt.Sprintf(`{"$group_type":%s,"$group_key":%s,"$group_set":%s}`, typ, key, set))
	}
	five := event("page", "u", `{"$groups":{"e":"1","d":"1","c":"1","b":"1","a":"1"}}`)

	for _, tt := range []struct {
		name   string
		events []reference.Event
		want   string
	}{
		{"P19 new group", []reference.Event{identify(`"company"`, `"acme"`, `{"tier":"enterprise"}`)}, `company company:acme{"tier":"enterprise"}`},
		{"P20 merged", []reference.Event{identify(`"company"`, `"acme"`, `{"tier":"a","x":1}`), identify(`"company"`, `"acme"`, `{"tier":null,"y":1}`)}, `company company:acme{"tier":null,"x":1,"y":1}`},
		{"no $group_set", []reference.Event{event("$groupidentify", "u", `{"$group_type":"company","$group_key":"acme"}`)}, `company company:acme{}`},
		{"$group_set not an object", []reference.Event{identify(`"company"`, `"acme"`, `["x"]`)}, `company company:acme{}`},
		{"number as written", []reference.Event{identify(`"company"`, `7`, `{"x":1}`), identify(`"company"`, `"7"`, `{"y":1}`), identify(`"company"`, `7.0`, `{}`)}, `company company:7{"x":1,"y":1} company:7.0{}`},
		{"unusable type or key", []reference.Event{identify(`""`, `"acme"`, `{}`), identify(`7`, `"acme"`, `{}`), identify(`"a"`, `""`, `{}`), identify(`"b"`, `null`, `{}`), identify(`"c"`, `["acme"]`, `{}`)}, ``},
		{"long type", []reference.Event{identify(`"`+strings.Repeat("t", 401)+`"`, `"acme"`, `{}`), identify(`"`+strings.Repeat("é", 201)+`"`, `"acme"`, `{}`)}, ``},
		{"long key", []reference.Event{identify(`"company"`, `"`+strings.Repeat("ß", 401)+`"`, `{}`)}, `company company:` + strings.Repeat("ß", 400) + `{}`},
		{"NUL", []reference.Event{identify(`"t\u0000"`, `"k\u0000"`, `{"n\u0000":1}`)}, "t\ufffd t\ufffd:k\ufffd{\"n\\u0000\":1}"},
		{"another event", []reference.Event{event("page", "u", `{"$group_type":"company","$group_key":"acme"}`)}, ``},
		{"$groups name types in order", []reference.Event{five}, `e,d,c,b,a`},
		{"T27 $groups with a number", []reference.Event{event("page", "u", `{"$groups":{"company":7}}`), identify(`"company"`, `"7"`, `{}`)}, `company company:7{}`},
		{"$groups with unusable keys", []reference.Event{event("page", "u", `{"$groups":{"a":"","b":null,"c":true,"d":["x"],"":"x","e":0}}`)}, `e`},
		{"$groups not an object", []reference.Event{event("page", "u", `{"$groups":["company"]}`), event("page", "u", `{"$groups":"company"}`)}, ``},
		{"$groups twice", []reference.Event{event("page", "u", `{"$groups":{"a":"1"},"$groups":{"b":"1"}}`)}, `b`},
		{"T26 sixth type", []reference.Event{five, identify(`"f"`, `"acme"`, `{}`), identify(`"a"`, `"acme"`, `{}`)}, `e,d,c,b,a a:acme{}`},
		{"$groupidentify before $groups", []reference.Event{event("$groupidentify", "u", `{"$groups":{"a":"1","b":"1"},"$group_type":"b","$group_key":"1"}`)}, `b,a b:1{}`},
		{"no person profile", []reference.Event{event("$groupidentify", "u", `{"$process_person_profile":false,"$groups":{"a":"1"},"$group_type":"b","$group_key":"1"}`)}, ``},
		{"$exception", []reference.Event{event("$exception", "u", `{"$groups":{"a":"1"}}`)}, `a`},
		{"sorted", []reference.Event{identify(`"b"`, `"2"`, `{}`), identify(`"b"`, `"10"`, `{}`), identify(`"a"`, `"3"`, `{}`)}, `b,a a:3{} b:10{} b:2{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := groups(after(tt.events...)); got != tt.want {
				t.Errorf("groups = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestGroupIdentifyIsAPlainEventToo(t *testing.T) {
	w := after(event("$groupidentify", "u", `{"$group_type":"company","$group_key":"acme","$group_set":{"x":1},"$set":{"y":1},"$browser":"Lynx"}`))
	if got, want := persons(w), `u{"$browser":"Lynx","$initial_browser":"Lynx","y":1}`; got != want {
		t.Errorf("persons = %s, want %s", got, want)
	}
}

func TestApplyWantsAnObject(t *testing.T) {
	for _, properties := range []string{`null`, `[]`, `"{}"`, `{"a":1`, `{"a" 1}`, `{"a":x}`, `{} {}`} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Apply with properties %s does not panic", properties)
				}
			}()
			after(event("page", "u", properties))
		}()
	}
}
