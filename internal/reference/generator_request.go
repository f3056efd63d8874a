package reference

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// distinctIDs are mostly from §2.8; the others are hard cases.
var distinctIDs = []string{
	"user-1", "user-1", "user-2", "user-3", "user-4", "user-5", "user-6", "user-7", "user-8", "distinct_id_0", "distinct_id_1", "42", "1.0", "anon-1", "José",
	"", "", " ", "😀", "b.c", "c", "e\u0301", "\xff",
	strings.Repeat("x", 199), strings.Repeat("x", 200), strings.Repeat("x", 201), strings.Repeat("é", 101), strings.Repeat("é", 201), strings.Repeat("😀", 51) + "y",
	strings.Repeat("a", 199) + "éé", strings.Repeat("\xff", 90),
}

// instants are the specification's "now", ends of months, and days on which
// clocks change.
var instants = []time.Time{
	time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
	time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC), time.Date(2024, 2, 29, 23, 59, 59, 999, time.UTC), time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC),
	time.Date(2026, 4, 29, 0, 30, 0, 0, time.UTC), time.Date(2026, 11, 25, 1, 30, 0, 0, time.UTC), time.Date(2027, 1, 31, 8, 30, 0, 0, time.UTC),
}

var zoneNames = []string{"UTC", "UTC", "US/Pacific", "Europe/Berlin", "Asia/Kolkata", "America/Sao_Paulo"}

// Request returns a random request for the last document, or for none.
func (g *Generator) Request() *Request {
	r := &Request{
		DistinctID: pick(g, distinctIDs...),
		Now:        pick(g, instants...),
		Zone:       location(pick(g, zoneNames...)),
	}
	if g.chance(15) {
		r.DeviceID = pick(g, "device-0001", "device-0001", "user-4", "x")
	}
	if g.chance(15) {
		r.AnonymousID = pick(g, "anon-1", "anon-2", "anon-3", "user-4")
	}
	if g.chance(85) {
		r.Person = json.RawMessage(g.personJSON(typePerson))
	}
	if g.chance(35) {
		r.StoredPerson = json.RawMessage(g.personJSON("stored"))
	}
	g.addGroups(r)
	if g.chance(20) {
		r.Overrides = map[string]string{}
		for _, f := range g.flags {
			if g.chance(60) {
				r.Overrides[f.key] = pick(g, "anon-1", "anon-2", "user-4", "stored-key")
			}
		}
	}
	if g.chance(50) {
		for _, id := range g.cohorts {
			if g.chance(50) {
				r.Cohorts = append(r.Cohorts, id)
			}
		}
		if g.chance(10) {
			r.Cohorts = append(r.Cohorts, 999) // the document has no such cohort
		}
	}
	if g.chance(20) {
		r.Geo = map[string]string{"$geoip_country_code": pick(g, "US", "DE"), "$geoip_city_name": "Berkeley"}
	}
	r.Kind = pick(g, "", "", "", "", "client", "client", "server", "server", "unknown")
	if g.chance(20) {
		r.Tags = pick(g, []string{"docs"}, []string{"app", "docs"}, []string{"Docs"}, []string{"other"}, []string{})
	}
	if g.chance(15) {
		r.HasKeys = true
		for _, f := range g.flags {
			if g.chance(35) {
				r.Keys = append(r.Keys, f.key)
			}
		}
		if g.chance(20) {
			r.Keys = append(r.Keys, pick(g, "nope", "", "1"))
		}
	}
	r.SurveysOnly = g.chance(4)
	return r
}

// personJSON writes person properties, of the request or "stored", that are
// often close to the values of filters.
func (g *Generator) personJSON(kind string) string {
	properties := map[string]string{}
	for _, c := range g.compared {
		switch {
		case c.kind == typePerson && g.chance(70):
			properties[c.property] = g.nearValue(c.value)
		case c.kind == typePersonMetadata && g.chance(70):
			if c.property == "created_at" && (kind == typePerson || g.chance(10)) {
				properties[createdAtProperty] = g.nearValue(c.value)
			}
		}
	}
	for _, t := range themes {
		if g.chance(15) {
			properties[pick(g, t.properties...)] = pick(g, t.values...)
		}
	}
	if g.chance(6) {
		properties[pick(g, "x", "plan", "n")] = pick(g, strays...)
	}
	for _, f := range g.flags {
		if g.chance(25) {
			properties["$feature_enrollment/"+f.key] = pick(g, `true`, `true`, `"true"`, `false`, `"false"`, `"True"`, `1`, `null`)
		}
	}
	if g.chance(8) {
		properties["$device_id"] = pick(g, `"device-0001"`, `"user-4"`, `""`, `5`, `null`)
	}
	if g.chance(8) {
		properties["$anon_distinct_id"] = pick(g, `"anon-1"`, `"anon-2"`, `""`, `5`, `null`)
	}
	if !g.chance(10) {
		delete(properties, "distinct_id") // mostly the injected one remains
	}
	return g.sortedObject(properties)
}

// addGroups adds keys for all group types, and properties that often fit.
func (g *Generator) addGroups(r *Request) {
	r.Groups = map[string]json.RawMessage{}
	r.GroupProperties = map[string]json.RawMessage{}
	r.StoredGroups = map[string]json.RawMessage{}
	for _, name := range []string{"company", "project", "team", "nowhere"} {
		percent := map[string]int{"company": 72, "project": 35, "team": 15, "nowhere": 5}[name]
		if g.chance(percent) {
			r.Groups[name] = json.RawMessage(pick(g, `"acme"`, `"acme"`, `"acme"`, `"Acme"`, `"12"`, `12`, `12.5`, `1.0`, `1e3`, `true`, `null`, `""`, `["acme"]`, `{}`, `" "`))
		}
		_, given := r.Groups[name]
		if g.chance(40) && (given || g.chance(10)) {
			r.GroupProperties[name] = json.RawMessage(g.groupJSON(name))
			if g.chance(4) {
				r.GroupProperties[name] = json.RawMessage(`null`)
			}
		}
		if g.chance(25) && given {
			r.StoredGroups[name] = json.RawMessage(g.groupJSON(name))
		}
	}
}

func (g *Generator) groupJSON(name string) string {
	properties := map[string]string{}
	for _, c := range g.compared {
		if c.kind == typeGroup && c.groupType == name && g.chance(75) {
			properties[c.property] = g.nearValue(c.value)
		}
	}
	if g.chance(20) {
		properties["plan"] = pick(g, words...)
	}
	if !g.chance(20) {
		delete(properties, "$group_key")
	}
	return g.sortedObject(properties)
}

// sortedObject writes the members in a fixed order, because the order of a map
// must not affect the random numbers.
func (g *Generator) sortedObject(members map[string]string) string {
	var names []string
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	var list []string
	for _, name := range names {
		list = append(list, name, members[name])
	}
	return string(g.escapeNames(object(list...)))
}

// nearValue turns the value of a filter into the value of a property: the same,
// nearly the same, or a different one.
func (g *Generator) nearValue(value string) string {
	if value == "" {
		return pick(g, words...)
	}
	decoded := decodeValue(json.RawMessage(value))
	if list, isArray := decoded.([]any); isArray && len(list) > 0 && g.chance(85) {
		decoded = pick(g, list...)
		value = jsonText(decoded)
	}
	switch n := g.rng.IntN(100); {
	case n < 40:
		return value
	case n < 46:
		return pick(g, strays...)
	}
	switch v := decoded.(type) {
	case string:
		return g.nearText(v)
	case json.Number:
		if x, ok := jsonNumber(v); ok {
			return pick(g, quote(v.String()), floatText(x), floatText(x+1), floatText(x-1), floatText(x+1), floatText(x-1), quote(floatText(x)), pick(g, numbers...))
		}
	}
	return pick(g, words...)
}

// nearText varies a text. Dates, versions and patterns may also become other
// values of their kind.
func (g *Generator) nearText(s string) string {
	characters := []rune(s)
	switch g.rng.IntN(8) {
	case 0:
		return g.text(strings.ToUpper(s))
	case 1:
		return g.text(strings.ToLower(s))
	case 2:
		return g.text(s + pick(g, "x", " ", "\n", ".0"))
	case 3:
		if len(characters) > 0 {
			return g.text(string(characters[:len(characters)-1]))
		}
	case 4:
		if json.Valid([]byte(s)) {
			return s // as JSON: "5" becomes 5
		}
	}
	switch {
	case strings.Contains(strings.ToLower(s), `\b`):
		return pick(g, boundaryWords...)
	case slices.Contains(dates, quote(s)):
		return pick(g, dates...)
	case slices.Contains(versions, quote(s)), slices.Contains(wildcards, quote(s)):
		return pick(g, versions...)
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return pick(g, numbers...)
	}
	return pick(g, words...)
}
