package reference

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Generate returns a random history of n events, the same for the same rng. All
// that it draws from is small, so that ids, names and types meet often; ids
// grow out of use after some dozen events, so that a long history does not end
// in one person.
//
// It stays clear of what the rules leave open: $groups with the same name twice,
// and texts that are not valid Unicode.
func Generate(rng *rand.Rand, n int) []Event {
	g := generator{rng: rng}
	events := make([]Event, n)
	for i := range events {
		g.era = i / 40
		events[i] = g.event()
	}
	return events
}

type generator struct {
	rng *rand.Rand
	era int
}

var (
	// Those that link come often, and often in a row.
	eventNames = []string{
		"page", "page", "$pageview", "$set", "$set_once", "$unset", "$feature_enrollment_update",
		"$identify", "$identify", "$identify", "$identify",
		"$create_alias", "$create_alias", "$merge_dangerously",
		"$groupidentify", "$groupidentify", "$groupidentify",
		"$exception", "$$heatmap", "$Identify", "survey shown",
	}

	// Ids that any era uses, as JSON; id has the ids of one era. Upper case, blanks
	// and quotes decide whether some are legal.
	commonIDs = []string{
		`"undefined"`, `"Guest"`, `"'Email'"`, `"\"null\""`, `"0"`, `"[object Object]"`, `"TRUE"`,
		`"NONE"`, `"Null"`, `"nan"`, `" undefined"`, `"'guest\""`, `"user@example.com"`, `"ünï 💥"`, `"7"`, `"7.0"`,
		`"n\ufffdl"`, `"` + strings.Repeat("é", 200) + `"`,
	}

	// What a client may send in place of an id to link. The last two become
	// the last two of commonIDs.
	oddSources = []string{
		`null`, `true`, `false`, `{}`, `{"id":"a"}`, `["a"]`, `""`, `" "`, `"\u2003\t\u0085"`,
		`0`, `0.0`, `7`, `7.0`, `-0`, `1e2`, `"NaN"`, `"none"`, `"\"Anonymous\""`, `"''"`,
		`"n\u0000l"`, `"` + strings.Repeat("é", 200) + `x"`,
	}

	propertyNames = []string{
		`"$survey_last_seen_date"`, `"$last_seen_survey_date"`,
		`"plan"`, `"plan"`, `"x"`, `"x"`, `"pl\u0061n"`, `""`, `"Straße"`, `"a b"`, `"a.b"`, `"__proto__"`, `"n\u0000l"`,
		`"$browser"`, `"$initial_browser"`, `"$os"`, `"$initial_os"`, `"utm_source"`, `"$initial_utm_source"`,
	}

	// Values as JSON.
	values = []string{
		`null`, `null`, `true`, `false`, `0`, `1`, `1.0`, `-0`, `1e3`, `12345678901234567890`, `0.1`,
		`"pro"`, `"free"`, `""`, `"7"`, `"<&>"`, `"\u0041"`, `"\u00e9é💥"`, `"line\nbreak"`,
		`[]`, `{}`, `[1,"x",null,{"b":1,"a":2.50}]`, `{"z":{"y":[]},"a":null}`, `{"plan":"inner"}`, `{"a":1,"a":2}`,
	}

	notObjects = []string{`null`, `"plan"`, `7`, `true`, `[]`, `["plan"]`, `[{"plan":"pro"}]`}

	// More than five, so that some are never known.
	groupTypes = []string{
		`"company"`, `"company"`, `"team"`, `"Team"`, `"project"`, `"país"`, `"channel"`, `"shop"`, `"t\u0000"`, `"t\ufffd"`,
		`"` + strings.Repeat("t", 400) + `"`,
	}

	oddGroupTypes = []string{
		`""`, `" "`, `"` + strings.Repeat("t", 401) + `"`, `"` + strings.Repeat("é", 201) + `"`,
	}

	groupKeys = []string{
		`"acme"`, `"acme"`, `"Acme"`, `"7"`, `7`, `7`, `7.0`, `"7.0"`, `0`, `"0"`, `-1e2`, `" "`, `"undefined"`,
		`"k\u0000"`, `"k\ufffd"`,
		`"` + strings.Repeat("ß", 400) + `"`, `"` + strings.Repeat("ß", 401) + `"`,
	}

	oddGroupKeys = []string{`""`, `null`, `true`, `false`, `{}`, `[]`, `["acme"]`, `{"key":"acme"}`}
)

var epoch = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func (g *generator) event() Event {
	e := Event{
		Name:     g.pick(eventNames),
		Time:     epoch.Add(time.Duration(g.rng.IntN(90)) * time.Second).Add(time.Duration(g.rng.IntN(3)) * time.Microsecond),
		NoPerson: g.once(25),
	}
	if err := json.Unmarshal([]byte(g.id()), &e.DistinctID); err != nil {
		panic(err) // id writes JSON strings only
	}
	e.Properties = g.properties(e.Name)
	return e
}

func (g *generator) properties(event string) string {
	var w objectWriter

	// A link also appears where it means nothing.
	if event == "$identify" && !g.once(8) || g.once(12) {
		w.add(`"$anon_distinct_id"`, g.source())
	}
	if (event == "$create_alias" || event == "$merge_dangerously") && !g.once(8) || g.once(12) {
		w.add(`"alias"`, g.source())
	}
	if g.once(15) {
		w.add(`"distinct_id"`, g.id())
	}

	if g.once(2) {
		w.add(`"$set"`, g.bag())
	}
	if g.once(3) {
		w.add(`"$set_once"`, g.bag())
	}
	if g.once(4) {
		w.add(`"$unset"`, g.unset())
	}
	if g.once(30) {
		w.add(`"$set"`, g.bag()) // perhaps a second time
	}

	if g.once(2) {
		for range 1 + g.rng.IntN(4) {
			w.add(`"`+g.automatic()+`"`, g.pick(values))
		}
	}
	if g.once(5) {
		w.add(`"$is_server"`, g.pick([]string{`true`, `true`, `true`, `false`, `"true"`, `1`, `null`}))
	}
	if g.once(6) {
		w.add(`"$process_person_profile"`, g.pick([]string{`false`, `false`, `true`, `null`, `"false"`, `0`, `{}`}))
	}

	if event == "$groupidentify" || g.once(25) {
		typ := g.pickOdd(groupTypes, append([]string{`7`, `null`, `["company"]`}, oddGroupTypes...))
		key := g.pickOdd(groupKeys, oddGroupKeys)
		if g.once(2) { // so that groups are met again
			typ, key = `"company"`, g.pick([]string{`"acme"`, `"7"`, `7`})
		}
		if !g.once(20) {
			w.add(`"$group_type"`, typ)
		}
		if !g.once(20) {
			w.add(`"$group_key"`, key)
		}
		if !g.once(8) {
			w.add(`"$group_set"`, g.bag())
		}
	}
	if g.once(4) {
		w.add(`"$groups"`, g.groups())
	}
	if g.once(4) {
		w.add(g.pick(propertyNames), g.pick(values))
	}
	return w.write(g.rng)
}

// id returns a distinct id as JSON: mostly one of this era, at times one of
// the era before, or one that all eras share.
func (g *generator) id() string {
	switch {
	case g.once(6):
		return g.pick(commonIDs)
	case g.once(12):
		return fmt.Sprintf(`"%c%d"`, 'a'+g.rng.IntN(8), max(0, g.era-1))
	default:
		return fmt.Sprintf(`"%c%d"`, 'a'+g.rng.IntN(8), g.era)
	}
}

func (g *generator) source() string {
	if g.once(5) {
		return g.pick(oddSources)
	}
	return g.id()
}

// bag returns an object of person or group properties, at times something else
// in its place.
func (g *generator) bag() string {
	if g.once(12) {
		return g.pick(notObjects)
	}
	var w objectWriter
	for range g.rng.IntN(4) {
		w.add(g.pick(propertyNames), g.pick(values)) // perhaps one name twice
	}
	return w.write(g.rng)
}

func (g *generator) unset() string {
	switch {
	case g.once(12):
		return g.pick([]string{`null`, `"plan"`, `7`, `true`, `[]`, `{}`})
	case g.once(2):
		return g.bag()
	}
	var names []string
	for range 1 + g.rng.IntN(3) {
		name := g.pick(propertyNames)
		if g.once(8) {
			name = g.pick([]string{`7`, `null`, `["plan"]`, `{"plan":1}`})
		}
		names = append(names, name)
	}
	return "[" + strings.Join(names, ",") + "]"
}

func (g *generator) groups() string {
	if g.once(12) {
		return g.pick([]string{`null`, `"company"`, `7`, `[]`, `["company"]`, `[{"company":"acme"}]`})
	}
	var w objectWriter
	used := map[string]bool{}
	for range g.rng.IntN(4) {
		name := g.pickOdd(groupTypes, oddGroupTypes)
		if used[name] {
			continue
		}
		used[name] = true
		w.add(name, g.pickOdd(groupKeys, oddGroupKeys))
	}
	return w.write(g.rng)
}

// automatic returns the name of a property that may become one of the person,
// preferring those with rules of their own.
func (g *generator) automatic() string {
	if g.once(2) {
		return g.pick([]string{
			"$os", "$os_name", "$os_name", "$os_version", "$browser", "utm_source", "_kx",
			"$geoip_country_code", "$geoip_disable", "$ip", "os", "browser", "$utm_source",
		})
	}
	return g.pick(automatic)
}

func (g *generator) pick(from []string) string { return from[g.rng.IntN(len(from))] }

func (g *generator) pickOdd(usual, odd []string) string {
	if g.once(8) {
		return g.pick(odd)
	}
	return g.pick(usual)
}

// once is true once in n times.
func (g *generator) once(n int) bool { return g.rng.IntN(n) == 0 }

// An objectWriter collects the members of a JSON object, both parts as JSON.
type objectWriter struct{ members []string }

func (w *objectWriter) add(name, value string) { w.members = append(w.members, name+":"+value) }

// write returns the object with its members in random order, at times with
// white space between them.
func (w *objectWriter) write(rng *rand.Rand) string {
	rng.Shuffle(len(w.members), func(i, j int) {
		w.members[i], w.members[j] = w.members[j], w.members[i]
	})
	separator := ","
	if rng.IntN(10) == 0 {
		separator = " ,\n\t"
	}
	return "{" + strings.Join(w.members, separator) + "}"
}
