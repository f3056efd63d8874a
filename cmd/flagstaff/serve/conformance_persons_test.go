package serve

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
)

const (
	setPro  = `"$set":{"plan":"pro"}`
	setFree = `"$set":{"plan":"free"}`
)

// personRows are the table "Persons and groups". Nothing waits: what an event
// says about persons is to be seen by the next request.
var personRows = []row{
	{"P01", "$set among the properties", func(t *testing.T, c *client) {
		c.event(t, "e", "a", `"properties":{`+setPro+`}`)
		c.want(t, "flag-person", true, "a")
	}},
	{"P02", "$set at the top level", func(t *testing.T, c *client) {
		c.event(t, "e", "a", setPro)
		c.want(t, "flag-person", true, "a")
	}},
	{"P03", "$set in both places", func(t *testing.T, c *client) {
		c.event(t, "e", "a", setPro+`,"properties":{`+setFree+`}`)
		c.want(t, "flag-person", true, "a")
	}},
	{"P04", "$set_once", func(t *testing.T, c *client) {
		c.event(t, "e", "a", `"$set_once":{"plan":"pro"}`)
		c.want(t, "flag-person", true, "a")
	}},
	{"P05", "$set_once after $set", func(t *testing.T, c *client) {
		c.event(t, "e", "a", setFree)
		c.event(t, "e", "a", `"$set_once":{"plan":"pro"}`)
		c.want(t, "flag-person", false, "a")
	}},
	{"P06", "$unset of a list", func(t *testing.T, c *client) {
		c.event(t, "e", "a", setPro)
		c.want(t, "flag-person", true, "a")
		c.event(t, "e", "a", `"properties":{"$unset":["plan"]}`)
		c.want(t, "flag-person", false, "a")
	}},
	{"P07", "$unset of an object", func(t *testing.T, c *client) {
		c.event(t, "e", "a", setPro)
		c.want(t, "flag-person", true, "a")
		c.event(t, "e", "a", `"properties":{"$unset":{"plan":""}}`)
		c.want(t, "flag-person", false, "a")
	}},
	{"P08", "$set overwrites", func(t *testing.T, c *client) {
		c.event(t, "e", "a", setFree)
		c.want(t, "flag-person", false, "a")
		c.event(t, "e", "a", setPro)
		c.want(t, "flag-person", true, "a")
	}},
	{"P09", "$identify with $set", func(t *testing.T, c *client) {
		c.identify(t, "u", "a", setPro)
		c.want(t, "flag-person", true, "u")
		c.want(t, "flag-person", true, "a")
	}},
	{"P10", "$identify takes what the other has", func(t *testing.T, c *client) {
		c.event(t, "e", "a", setPro)
		c.want(t, "flag-person", false, "u")
		c.identify(t, "u", "a", "")
		c.want(t, "flag-person", true, "u")
		c.want(t, "flag-person", true, "a")
	}},
	{"P11", "$identify of two persons: the target wins", func(t *testing.T, c *client) {
		c.event(t, "e", "a", setPro)
		c.event(t, "e", "u", setFree)
		c.want(t, "flag-person", true, "a")
		c.identify(t, "u", "a", "")
		c.want(t, "flag-person", false, "u")
		c.want(t, "flag-person", false, "a")
	}},
	{"P12", "$identify of an identified person", func(t *testing.T, c *client) {
		c.identify(t, "a", "a0", setPro)
		c.identify(t, "b", "b0", "")
		c.identify(t, "b", "a", "")
		c.want(t, "flag-person", true, "a")
		c.want(t, "flag-person", false, "b")
	}},
	{"P13", "$create_alias", func(t *testing.T, c *client) {
		c.event(t, "$create_alias", "u", `"properties":{"alias":"@z"}`)
		c.event(t, "e", "z", setPro)
		c.want(t, "flag-person", true, "u")
		c.want(t, "flag-person", true, "z")
	}},
	{"P14", "$create_alias without distinct_id at the top level", func(t *testing.T, c *client) {
		c.capture(t, `{"api_key":"KEY","event":"$create_alias","properties":{"distinct_id":"@u","alias":"@z"}}`)
		c.event(t, "e", "z", setPro)
		c.want(t, "flag-person", true, "u")
	}},
	{"P15", "$merge_dangerously", func(t *testing.T, c *client) {
		c.identify(t, "u", "u0", "")
		c.identify(t, "v", "v0", setPro)
		c.want(t, "flag-person", false, "u")
		c.event(t, "$merge_dangerously", "u", `"properties":{"alias":"@v"}`)
		for _, id := range []string{"u", "u0", "v", "v0"} {
			c.want(t, "flag-person", true, id)
		}
	}},
	{"P16", "$identify with an ID that is nobody's", func(t *testing.T, c *client) {
		c.event(t, "$identify", "u", `"properties":{"$anon_distinct_id":"undefined",`+setPro+`}`)
		c.want(t, "flag-person", true, "u")
		if got := c.flagsOf(t, "/flags?v=2", "undefined", "")["flag-person"]; got != false {
			t.Errorf("flag-person of \"undefined\" = %v, want false", got)
		}
	}},
	{"P17", "$process_person_profile false", func(t *testing.T, c *client) {
		c.event(t, "e", "a", `"properties":{"$process_person_profile":false,`+setPro+`}`)
		c.want(t, "flag-person", false, "a")
		if p := c.person(t, c.id("a")); p != nil {
			t.Errorf("there is a person: %v", p)
		}
		c.one(t)
	}},
	{"P18", "$identify with $process_person_profile false", func(t *testing.T, c *client) {
		c.event(t, "$identify", "u", `"properties":{"$process_person_profile":false,"$anon_distinct_id":"@a"}`)
		c.event(t, "e", "u", setPro)
		c.want(t, "flag-person", true, "u")
		c.want(t, "flag-person", false, "a")
	}},
	{"P19", "$groupidentify", func(t *testing.T, c *client) {
		c.groupIdentify(t, `"@acme"`, `{"tier":"enterprise"}`)
		c.want(t, "flag-group", true, "a", company)
		c.want(t, "flag-group", false, "a", `"groups":{"company":"@other"}`)
		c.want(t, "flag-group", false, "a")
	}},
	{"P20", "$groupidentify adds", func(t *testing.T, c *client) {
		c.groupIdentify(t, `"@acme"`, `{"tier":"enterprise"}`)
		c.groupIdentify(t, `"@acme"`, `{"seats":5}`)
		c.want(t, "flag-group", true, "a", company)
		if diff := gocmp.Diff(map[string]any{"tier": "enterprise", "seats": 5.0}, c.group(t, "company", c.id("acme"))); diff != "" {
			t.Errorf("properties (-want +got):\n%s", diff)
		}
	}},
	{"P21", "group properties of the request overlay", func(t *testing.T, c *client) {
		c.groupIdentify(t, `"@acme"`, `{"tier":"enterprise"}`)
		c.want(t, "flag-group", true, "a", company, `"group_properties":{"company":{"$group_key":"@acme"}}`)
		c.want(t, "flag-group", true, "a", company, `"group_properties":{"company":{"seats":5}}`)
		c.want(t, "flag-group", false, "a", company, `"group_properties":{"company":{"tier":"free"}}`)
	}},
	{"P22", "person properties of the request overlay", func(t *testing.T, c *client) {
		c.event(t, "e", "a", setPro)
		c.want(t, "flag-person", false, "a", `"person_properties":{"plan":"free"}`)
		c.want(t, "flag-person", true, "a", `"person_properties":{"other":1}`)
		c.want(t, "flag-both", true, "a", `"person_properties":{"x":2}`)
	}},
	{"P23", "early access", func(t *testing.T, c *client) {
		id := "0" // of a person who does not have the feature anyway
		for n := 0; flags.Bucket("beta-feature", c.id(id)) <= 0.7; n++ {
			id = fmt.Sprint(n)
		}
		c.want(t, "beta-feature", false, id)
		c.event(t, "$feature_enrollment_update", id, `"properties":{"$set":{"$feature_enrollment/beta-feature":true}}`)
		c.want(t, "beta-feature", true, id)
		c.event(t, "$feature_enrollment_update", id, `"properties":{"$set":{"$feature_enrollment/beta-feature":false}}`)
		c.want(t, "beta-feature", false, id)
	}},
	{"P24", "$set by the other routes", func(t *testing.T, c *client) {
		r := c.do(t, request{path: "/batch/", body: `{"api_key":"KEY","batch":[{"event":"$set","distinct_id":"@a",` + setPro + `}]}`})
		r.checkAccepted(t)
		c.want(t, "flag-person", true, "a")
		c.analyticsOK(t, request{body: analyticsBatch(
			`{"event":"$set","uuid":"<1>","distinct_id":"@b","timestamp":"2026-01-02T03:04:05Z","properties":{` + setPro + `}}`)})
		c.want(t, "flag-person", true, "b")
	}},
	{"P26", "/engage/", func(t *testing.T, c *client) {
		accepts(1, request{path: "/engage/", body: `{"$token":"KEY","$distinct_id":"@a",` + setPro + `}`})(t, c)
		c.want(t, "flag-person", true, "a")
		if e := c.one(t); e.Name != "$identify" {
			t.Errorf("event %q, want $identify", e.Name)
		}
	}},
	{"P27", "an event named $set_once", func(t *testing.T, c *client) {
		c.event(t, "$set_once", "a", `"$set_once":{"plan":"pro"}`)
		c.want(t, "flag-person", true, "a")
	}},
	{"P28", "a long distinct ID", func(t *testing.T, c *client) {
		long := strings.Repeat("ü", 250)
		c.event(t, "e", long, setPro)
		c.want(t, "flag-person", true, long)
		c.want(t, "flag-person", false, long[:2*150])
	}},
	{"P29", "$exception", func(t *testing.T, c *client) {
		c.event(t, "$exception", "a", setPro)
		c.event(t, "$$heatmap", "a", setPro)
		c.want(t, "flag-person", false, "a")
	}},
	{"P30", "$create_alias with distinct_id null at the top level", func(t *testing.T, c *client) {
		c.capture(t, `{"api_key":"KEY","event":"$create_alias","distinct_id":null,"properties":{"distinct_id":"@u","alias":"@z"}}`)
		c.event(t, "e", "z", setPro)
		c.want(t, "flag-person", true, "u")
	}},
}

// company names the row's group.
const company = `"groups":{"company":"@acme"}`

// identify links an anonymous ID to a user's; members are more properties.
func (c *client) identify(t *testing.T, user, anonymous, members string) {
	t.Helper()
	if members != "" {
		members = "," + members
	}
	c.event(t, "$identify", user, `"properties":{"$anon_distinct_id":"@`+anonymous+`"`+members+`}`)
}

// groupIdentify sets properties of a company; both are JSON.
func (c *client) groupIdentify(t *testing.T, key, set string) {
	t.Helper()
	c.event(t, "$groupidentify", "somebody", `"properties":{"$group_type":"company","$group_key":`+key+`,"$group_set":`+set+`}`)
}

// propertyRows are more about what flags make of what is stored.
var propertyRows = []row{
	{"only", "stored properties can be ignored", func(t *testing.T, c *client) {
		c.event(t, "e", "a", setPro)
		for path, want := range map[string]bool{
			"/flags?v=2": true, "/flags?v=2&only_use_override_person_properties=false": true, "/flags?v=2&only_use_override_person_properties=true": false,
		} {
			if got := c.flagsOf(t, path, c.id("a"), "")["flag-person"]; got != want {
				t.Errorf("%s: flag-person = %v, want %v", path, got, want)
			}
		}
		path := "/flags?v=2&only_use_override_person_properties=true"
		if got := c.flagsOf(t, path, c.id("a"), `"person_properties":{"plan":"pro"}`)["flag-person"]; got != true {
			t.Errorf("with the request's: flag-person = %v, want true", got)
		}
	}},
	{"project", "projects have persons of their own", func(t *testing.T, c *client) {
		c.capture(t, `{"api_key":"OTHER","event":"e","distinct_id":"@a",`+setPro+`}`)
		c.want(t, "flag-person", false, "a")
		if n, m := len(c.stored(t, 1)), len(c.stored(t, 2)); n != 0 || m != 1 {
			t.Errorf("%d and %d events are stored, want none and 1", n, m)
		}
	}},
	{"cohort", "a static cohort", func(t *testing.T, c *client) {
		n, _, err := c.store.AddCohortMembers(t.Context(), 1, 7, uuid.Nil, []string{c.id("a")})
		if n != 1 || err != nil {
			t.Fatalf("AddCohortMembers = %d, %v", n, err)
		}
		c.want(t, "flag-cohort", true, "a")
		c.want(t, "flag-cohort", false, "b")
		c.identify(t, "u", "a", "") // the user inherits it
		c.want(t, "flag-cohort", true, "u")
	}},
	{"names", "capture and flags know persons and groups by the same names", func(t *testing.T, c *client) {
		c.capture(t, `{"api_key":"KEY","event":"e","distinct_id":"@a\u0000b",`+setPro+`}`)
		if got := c.flagsOf(t, "/flags?v=2", c.id("a\x00b"), "")["flag-person"]; got != true {
			t.Errorf("with a NUL in the distinct ID: flag-person = %v, want true", got)
		}
		for _, number := range []string{"918273.50", "918273.5", "9182735e-1"} {
			c.capture(t, `{"api_key":"KEY","event":"e","distinct_id":`+number+`,`+setPro+`}`)
			for _, same := range []string{"918273.50", "9182735e-1", `"918273.5"`} {
				got := post(t, c.url+"/flags?v=2", `{"api_key":"`+firstKey+`","distinct_id":`+same+`}`)
				if values(got)["flag-person"] != true {
					t.Errorf("distinct ID %s, captured as %s: flag-person = %v, want true", same, number, values(got)["flag-person"])
				}
			}
		}
		long := strings.Repeat("g", 450)
		for _, key := range []string{"n\\u0000", long} {
			c.groupIdentify(t, `"@`+key+`"`, `{"tier":"enterprise"}`)
			c.want(t, "flag-group", true, "a", `"groups":{"company":"@`+key+`"}`)
		}
	}},
	{"continuity", "a person keeps a flag (evaluation.md §12)", continuity},
	{"linking", "the worked example of wire.md §3.6", linking},
	{"geoip", "places of persons", places},
}

func continuity(t *testing.T, c *client) {
	want := func(id, members string, want bool) {
		t.Helper()
		if got := c.flagsOf(t, "/flags?v=2", id, members)["beta-feature"]; got != want {
			t.Errorf("beta-feature of %s with %q = %v, want %v", id, members, got, want)
		}
	}
	// On their own:
	want("anon-1", "", true)
	want("user-1", "", false)
	want("anon-2", "", false)
	want("user-1", `"$anon_distinct_id":"anon-1"`, true) // nobody knows them; only the request says so
	want("user-1", "", false)

	c.capture(t, `{"api_key":"KEY","event":"e","distinct_id":"anon-1"}`)
	c.capture(t, `{"api_key":"KEY","event":"$identify","distinct_id":"user-1","properties":{"$anon_distinct_id":"anon-1"}}`)
	want("user-1", `"$anon_distinct_id":"anon-1"`, true)
	want("user-1", "", true)
	want("user-1", `"$anon_distinct_id":"anon-2"`, true)
	want("user-1", `"person_properties":{"$anon_distinct_id":"anon-2"}`, true)
	want("anon-2", "", false)

	// Another device is merged into the person: nothing changes.
	c.capture(t, `{"api_key":"KEY","event":"e","distinct_id":"anon-2"}`)
	want("anon-2", "", false)
	c.capture(t, `{"api_key":"KEY","event":"$identify","distinct_id":"user-1","properties":{"$anon_distinct_id":"anon-2"}}`)
	want("user-1", "", true)
	want("anon-2", "", true)
}

func linking(t *testing.T, c *client) {
	link := func(event, id, property, other string) func() {
		return func() { c.event(t, event, id, fmt.Sprintf(`"properties":{%q:"@%s"}`, property, other)) }
	}
	type person struct {
		ids     string // separated by blanks
		plan, x any
	}
	for i, step := range []struct {
		do   func()
		want []person
	}{
		{func() { c.event(t, "page", "a", setPro) }, []person{{"a", "pro", nil}}},
		{func() { c.event(t, "page", "u", `"$set":{"plan":"free","x":1}`) }, []person{{"a", "pro", nil}, {"u", "free", 1.0}}},
		{link("$identify", "u", "$anon_distinct_id", "a"), []person{{"u a", "free", 1.0}}},
		{link("$create_alias", "u", "alias", "crm-7"), []person{{"u a crm-7", "free", 1.0}}},
		{link("$identify", "v", "$anon_distinct_id", "b"), []person{{"u a crm-7", "free", 1.0}, {"v b", nil, nil}}},
		{link("$identify", "u", "$anon_distinct_id", "v"), []person{{"u a crm-7", "free", 1.0}, {"v b", nil, nil}}},
		{link("$merge_dangerously", "u", "alias", "v"), []person{{"u a crm-7 v b", "free", 1.0}}},
	} {
		step.do()
		for _, p := range step.want {
			for id := range strings.FieldsSeq(p.ids) {
				if got := c.person(t, c.id(id)); got == nil || got["plan"] != p.plan || got["x"] != p.x {
					t.Errorf("after step %d: %s has %v, want plan %v and x %v", i+1, id, got, p.plan, p.x)
				}
			}
		}
	}
	c.want(t, "flag-person", false, "b", `"person_properties":{"x":2}`)
	c.event(t, "page", "crm-7", setPro)
	c.want(t, "flag-both", false, "b")
	c.want(t, "flag-both", true, "b", `"person_properties":{"x":2}`)
}

// The addresses of testdata/geoip/test.mmdb that tests use, as a header.
var (
	london  = []string{"X-Forwarded-For", "192.0.2.1"}
	tokyo   = []string{"X-Forwarded-For", "203.0.113.1"}
	germany = []string{"X-Forwarded-For", "192.0.2.129"} // no city
)

func places(t *testing.T, c *client) {
	c.event(t, "e", "a", "", london...)
	got := make(map[string]any)
	for name, value := range properties(t, c.one(t)) {
		if strings.HasPrefix(name, "$geoip_") {
			got[name] = value
		}
	}
	want := map[string]any{
		"$geoip_city_name": "London", "$geoip_country_name": "United Kingdom", "$geoip_country_code": "GB", "$geoip_continent_name": "Europe",
		"$geoip_continent_code": "EU", "$geoip_postal_code": "SW1A", "$geoip_time_zone": "Europe/London",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("properties of the event (-want +got):\n%s", diff)
	}

	// flag-country is for GB, flag-city for Tokyo.
	type values struct{ country, city bool }
	for _, tt := range []struct {
		name, id, members string
		header            []string
		want              values
	}{
		{"nothing is known", "b", "", nil, values{false, false}},
		{"only what is stored is known", "a", "", nil, values{true, false}},
		{"what is looked up wins over what is stored", "a", "", tokyo, values{false, true}},
		{"name by name", "a", "", germany, values{false, false}},
		{"the request wins over what is looked up", "a", `"person_properties":{"$geoip_country_code":"GB"}`, tokyo, values{true, true}},
		{"null does not", "a", `"person_properties":{"$geoip_country_code":null}`, tokyo, values{false, true}},
		{"nothing is looked up when it is not wanted", "a", `"geoip_disable":true`, tokyo, values{true, false}},
		{"the header that api.md §4.5 names", "b", "", []string{"HTTP_X_FORWARDED_FOR", "203.0.113.1"}, values{false, true}},
	} {
		m := c.flags(t, tt.id, tt.members, tt.header...)
		if got := (values{m["flag-country"] == true, m["flag-city"] == true}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}

	// The latest event says where a person is, unless it is told not to.
	c.event(t, "e", "a", `"properties":{"$geoip_disable":true}`, tokyo...)
	c.want(t, "flag-country", true, "a")
	c.event(t, "e", "a", "", tokyo...)
	c.want(t, "flag-country", false, "a")
	c.want(t, "flag-city", true, "a")
	if got := c.person(t, c.id("a"))["$initial_geoip_city_name"]; got != "London" {
		t.Errorf("$initial_geoip_city_name = %v, want London", got)
	}
}
