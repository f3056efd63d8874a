package reference

import (
	"fmt"
	"slices"
	"strconv"
)

// A theme is a kind of property, with operators and values that fit together.
type theme struct {
	properties []string
	operators  []string
	values     []string // JSON, used for properties and for filters
}

// lists are arrays for filters on word properties, in addition to generated
// lists.
var lists = []string{
	`[]`, `["pro"]`, `["Pro","free"]`, `["a","B","É"]`, `["true","false"]`, `["true","pro"]`, `[true]`, `[1,"5"]`, `[null]`, `[["pro"]]`, `["ΑΣ","ß"]`,
}

// boundaryPatterns look at the edges of words.
var boundaryPatterns = []string{
	`"\\bÉ\\b"`, `"\\bpro\\b"`, `"\\Bo\\B"`, `"e\\b"`, `"\\w\\b\\W"`, `"(?i)\\bécole\\b"`, `"^[\\w--\\d]+$"`,
}

// patterns are regular expressions, some of them invalid, see dotNet.
var patterns = []string{
	`"[a-z&&[^p]]"`, `"[^[a-p]r]"`, `"(?x) ^ p r # o"`,
	`"^\\u{e9}"`, `"\\u00c9"`, `"\\p{Alphabetic}"`, `"^\\P{Lowercase}"`, `"(?i)[^k]"`, `"\\p{Script=Greek}"`, `"[[:upper:]]"`, `"a{02}"`, `"{"`, `"\\hr"`,
	`"\\b{start}pro"`, `"a{1001}"`, `"(?R)a"`, `"(?-u)a"`, `"\\<pro"`, `"p{,2}"`, `"\\Qpro\\E"`, `"[\\w-o]"`, `"\\p{Nonsense}"`,
	`"^p"`, `"o$"`, `"^[a-z]+$"`, `"(?i)PRO"`, `"."`, `""`, `"\\.com$"`, `"^\\w+$"`, `"\\W"`, `"^\\d+(\\.\\d+)?$"`, `"\\s"`, `"^\\S+$"`,
	`"[\\d]"`, `"[^\\w]"`, `"[\\W]"`, `"^[\\S]+$"`, `"[\\D]"`, `"\\bpro\\b"`, `"(?m)^break"`, `"a|b"`, `"^\\[.*\\]$"`, `"null|true"`, `4`, `1.5`, `["a"]`, `true`,
	`"?*"`, `"("`, `"[a"`, `"a**"`, `"\\Z"`, `"a{2,1}"`,
	`"(?=.*a)b"`, `"(a)\\1"`, `"a++"`, `"(?<!p)ro?"`, `"^(?!.*o$)"`, `"(.)(?=\\1)"`, `"(?>[a-z]+)o"`, `"(?<first>[a-z]).*\\k<first>"`,
	`"pro"`, `"^(pro|free)$"`, `"^pro|ro$"`, `"^.*o$"`, `".+o$"`, `"^p.*$"`, `"^(?s:p.*)$"`, `"^.*k.*$"`, `"pro?f?"`, `"(a|line)\\n?"`, `"^$"`, `"^.*$"`, `"^[pP]r"`, `"\\.(com|org)$"`,
}

// words are values of ordinary text properties: some equal except for case, some
// prefixes of others, and some the text of another type.
var words = []string{
	`"pro"`, `"Pro"`, `"PRO"`, `"pr"`, `"free"`, `"a"`, `"A"`, `"B"`, `"b"`, `""`, `" pro"`, `"pro "`, `"professional"`,
	`"école"`, `"ÉCOLE"`, `"É"`, `"é"`, `"e\u0301"`, `"ß"`, `"SS"`, `"ss"`, `"İ"`, `"i"`, `"i̇"`, `"ΑΣ"`, `"ας"`, `"ασ"`, `"K"`, `"k"`, `"😀"`, `"\ud83d\ude00"`,
	`"true"`, `"True"`, `"false"`, `"FALSE"`, `"null"`, `"line\nbreak"`, `"a.com"`, `"a.com\n"`, `"https://x"`, `"\"quoted\\\""`, `"[\"a\"]"`, `"٣"`, `"\u00a0"`, `"\u0001"`,
	`"\ud800"`, "\"\xff\"", `"1"`, `"5"`, `"1.0"`, `"Ÿ"`, `"ÿ"`, `"ProFessional"`, `"\u2126"`, `"ω"`,
}

// boundaryWords have letters beyond ASCII beside words of ASCII.
var boundaryWords = []string{`"proé"`, `"épro"`, `"pro\u0301"`, `"É pro é"`, `"une école-pro"`, `"Ⓐpro"`, `"pro٣"`, `"«pro»"`, `"écologie"`, `"o é"`}

var numbers = []string{
	`1`, `1.0`, `1e3`, `1E3`, `1000`, `-0`, `0`, `0.0`, `1e16`, `10000000000000000`, `1.5`, `5`, `5.0`, `5.1`, `-5`, `100`, `0.00001`, `1e-6`, `1e-5`, `123456789012345678`,
	`18446744073709551615`, `18446744073709551616`, `9007199254740993`, `9007199254740992`, `1e999`,
	`"5"`, `"5.0"`, `"1e3"`, `"1.5"`, `"+5"`, `"5."`, `".5"`, `" 6"`, `"6 "`, `"0x10"`, `"1_000"`, `"inf"`, `"-Infinity"`, `"NaN"`, `"1e999"`, `"abc"`, `""`, `"."`, `"e5"`,
}

// dateStrings is the number of elements of dates that are strings with a date.
const dateStrings = 58

var dates = []string{
	`"2026-11-13"`, `"2026-11-13T12:00:00Z"`, `"2026-11-13T12:00:00.000000001Z"`, `"2026-11-13T13:00:00+01:00"`, `"2026-11-20"`, `"2026-11-21"`, `"2026-10-20"`, `"2026-10-21"`,
	`"2026-03-29"`, `"2026-01-28"`, `"2026-01-29"`, `"2026-03-29 02:30"`, `"2026-10-25 02:30"`, `"2026-10-25T02:30:00"`, `"2026-11-01 01:30"`, `"2024-06-01"`, `"2024-06-01 07:00"`,
	`"2024-06-01T07:00:00.5"`, `"2024-06-01 07:00:00 UTC"`, `"2024-06-01T09:00 +0200"`, `"Sat, 01 Jun 2024 07:00:00 +0000"`, `"1 Jun 2024 07:00:00 GMT"`, `"2024-06-01T07:00:00Z"`,
	`"May 25, 2021"`, `"oct. 7, 70"`, `"Jun 1, 2024 at 07:00am UTC"`, `"June 1, 2024, 0:00:00 PDT"`, `"Nov 13 12:00:00"`, `"november 13 at 12:00 PM"`, `"2026-Nov-13"`, `"13-Nov-2026"`, `"13-November-2026, 12:00"`,
	`"13 nov 26"`, `"1 June 2024 07:00"`, `"6/1/2024"`, `"6/1/24 7:00 AM"`, `"2024/6/1"`, `"2024/06/01 07:00:00.5"`, `"6.1.2024"`, `"2024.06.01"`, `"2024.06"`, `"240601 07:00:00"`, `"2024年06月01日"`, `"2024年06月01日07时00分00秒"`,
	`"2024-06-01 PST"`, `" 2024- 6-1 7:0"`, `"2024-06-01T06:59:60Z"`,
	`"-7d"`, `"7d"`, `"-1w"`, `"-1m"`, `"-2m"`, `"-12m"`, `"-1y"`, `"-36h"`, `"-30d"`, `"0h"`, `"-9999d"`, `"-10000d"`, `"7x"`, `"2024-02-30"`, `"yesterday"`, `"5/31/2014"`, `""`, `"4:00pm"`, `"07:00:00 UTC"`, `"Feb 29 07:00"`, `"13/31/2014"`, `"1717225200000000000"`, `"1717225200000"`,
	`1717225200`, `1717225201`, `1717225200.5`, `1717225200000`, `"1717225200"`, `"1717225201"`, `1.7172252e9`, `8.0e12`, `8000000000001`, `-1`, `"NaN"`, `"inf"`, `1795176000`,
}

var versions = []string{
	`"1.2.3"`, `"v1.2.3"`, `"V1.2.3"`, `"1.2"`, `"v1.2"`, `"1"`, `1`, `1.2`, `"1.2.4"`, `"1.3.0"`, `"2.0.0"`, `"0.2.3"`, `"0.2.9"`, `"0.0.3"`, `"0.0.4"`, `"0.0"`, `"0"`,
	`"1.2.3-beta.1"`, `"1.2.3-beta.2"`, `"1.2.3-alpha"`, `"1.2.3-1"`, `"1.2.3-01"`, `"1.2.4-rc.1"`, `"2-rc.1"`, `"1.2.3+build"`, `"1.2.3+1"`, `"1.2.3+01"`, `"1.2.3-beta.1+b"`,
	`"3.08.5"`, `"3.8.5"`, `"3.10"`, `"3.9"`, `"1.2.3.4"`, `" 1.2.3 "`, `"v 1.2.3"`, `"banana"`, `""`, `"18446744073709551616"`, `"1..2"`,
}

var wildcards = []string{
	`"*"`, `"1.*"`, `"1.2.*"`, `"1.*.*"`, `"1.*.3"`, `"*.1"`, `"3.08.*"`, `"1.2.3"`, `"0.2"`, `"v1.*"`, `"1.2.3.*"`, `"*.*.*"`,
	`"x"`, `"1.X"`, `"1.2.x"`, `"0"`, `"0.0"`, `">=1.2.3"`, `">1"`, `"<=1.2"`, `"=1.2.3"`, `"1.2.3, <2"`, `"1, <2"`, `">=1.2.3-rc.1,<1.3"`, `"~1.2, ^1"`, `"1,"`,
}

// strays are values of all JSON types, for implausible cases.
var strays = []string{
	`null`, `true`, `false`, `0`, `1`, `1.0`, `-0`, `"true"`, `"pro"`, `""`, `[]`, `["a"]`, `["pro",1.0,null]`, `{}`, `{"a":1}`, `{"b":1.0,"a":[1e3,{"z":null,"y":"é"}]}`,
	`{"a":1,"a":2}`, `[[]]`, `[true,false]`, `1e16`,
}

var themes = []theme{
	{
		[]string{"plan", "plan", "plan", "email", "x", "utm_source", "$initial_utm_source", "$os", "$os_name", "$initial_os", "$browser", "$initial_browser", "_kx", "$initial__kx"},
		[]string{
			"exact", "exact", "exact", "exact", "is_not", "is_not", "is_set", "is_not_set", "icontains", "not_icontains", "icontains_multi", "not_icontains_multi",
			"starts_with", "not_starts_with", "ends_with", "not_ends_with", "regex", "regex", "not_regex",
		},
		words,
	},
	{[]string{"n", "n", "x", "age"}, []string{"gt", "gte", "lt", "lte", "min", "max", "between", "between", "not_between", "exact", "is_not", "icontains"}, numbers},
	{[]string{"d", "d", "x"}, []string{"is_date_exact", "is_date_before", "is_date_before", "is_date_after", "is_date_after"}, dates},
	{
		[]string{"v", "v", "x"},
		[]string{
			"semver_eq", "semver_neq", "semver_gt", "semver_gte", "semver_lt", "semver_lte", "semver_tilde", "semver_tilde", "semver_caret", "semver_caret",
			"semver_wildcard", "semver_wildcard",
		},
		versions,
	},
	{
		[]string{"$geoip_country_code", "$geoip_city_name"},
		[]string{"exact", "exact", "is_not", "is_set", "icontains"},
		[]string{`"US"`, `"us"`, `"DE"`, `null`, `["US","DE"]`, `"Berkeley"`},
	},
	{
		[]string{"distinct_id", "$device_id", "$anon_distinct_id"},
		[]string{"exact", "is_not", "is_set", "starts_with", "gt"},
		[]string{`"user-1"`, `"user-4"`, `"USER-1"`, `["user-1","user-2"]`, `""`, `"42"`, `42`, `"device-0001"`, `"anon-1"`},
	},
}

// filter writes one filter for a condition of flag i.
func (g *Generator) filter(i int, plain, grouped bool) string {
	n := g.rng.IntN(100)
	switch {
	case plain && n < 85:
		return g.propertyFilter(typePerson)
	case grouped && n < 35:
		return g.propertyFilter(typeGroup)
	case n < 52:
		return g.propertyFilter(typePerson)
	case n < 61:
		return g.propertyFilter(typeGroup)
	case n < 65:
		return g.propertyFilter(typePersonMetadata)
	case n < 81:
		return g.cohortFilter()
	case n < 98:
		return g.flagFilter(i)
	default:
		return g.oddFilter()
	}
}

// propertyFilter writes a filter on a person, group or metadata property.
func (g *Generator) propertyFilter(kind string) string {
	t := themes[pick(g, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5)]
	property := pick(g, t.properties...)
	operator := pick(g, t.operators...)
	switch kind {
	case typeGroup:
		if g.chance(25) {
			property = "$group_key"
		}
	case typePersonMetadata:
		t = themes[2]
		property, operator = pick(g, "created_at", "created_at", "created_at", "plan"), pick(g, t.operators...)
	}
	if g.chance(5) {
		operator = pick(g, propertyOperators...) // may not fit the values
	}
	if g.chance(1) {
		operator = pick(g, otherOperators...)
	}
	value := g.filterValue(t, operator)

	members := []string{"key", g.text(property)}
	if kind != typePerson || g.chance(92) {
		members = append(members, "type", quote(kind))
	} else if g.chance(50) {
		members = append(members, "type", "null")
	}
	if value != "" {
		members = append(members, "value", value)
	}
	switch {
	case operator != "exact":
		members = append(members, "operator", quote(operator))
	case g.chance(80):
		members = append(members, "operator", `"exact"`)
	case g.chance(50):
		members = append(members, "operator", "null")
	}
	groupType := ""
	if kind == typeGroup {
		index := pick(g, "0", "0", "0", "0", "1", "7", "", "null")
		if index != "" {
			members = append(members, "group_type_index", index)
		}
		groupType = "company"
		if index == "1" {
			groupType = "project"
		}
	}
	if g.chance(5) {
		members = append(members, "negation", pick(g, "true", "false", "null"))
	}
	g.compared = append(g.compared, comparedValue{kind: kind, property: property, groupType: groupType, value: value})
	return object(g.strayMember(members, 1)...)
}

// filterValue chooses the value of a filter, or "" for no value.
func (g *Generator) filterValue(t theme, operator string) string {
	if g.chance(6) {
		return pick(g, slices.Concat(strays, []string{""})...)
	}
	switch operator {
	case "is_set", "is_not_set":
		return pick(g, "", `null`, quote(operator), `"pro"`)
	case "regex", "not_regex":
		if g.chance(20) {
			return pick(g, boundaryPatterns...)
		}
		return pick(g, patterns...)
	case "semver_wildcard", "semver_tilde", "semver_caret":
		if operator == "semver_wildcard" || g.chance(40) {
			return pick(g, wildcards...)
		}
	case "gt", "gte", "lt", "lte", "min", "max":
		if g.chance(80) {
			return pick(g, `0`, `1`, `1.0`, `1.5`, `5`, `5.0`, `100`, `1e3`, `-5`, `"5"`, `"1e3"`, `1e16`, `0.00001`)
		}
	case "is_date_exact", "is_date_before", "is_date_after":
		if g.chance(80) {
			return pick(g, dates[:dateStrings]...)
		}
	case "between", "not_between":
		if g.chance(85) {
			return array(pick(g, numbers[:12]...), pick(g, `1`, `5`, `100`, `"1e3"`, `1e16`, `"inf"`, `0`, `"5"`))
		}
		return pick(g, `[1]`, `[1,2,3]`, `["a",2]`, `["NaN",5]`, `[1,null]`, `"1,5"`, `5`, `[]`)
	case "exact", "is_not", "icontains_multi", "not_icontains_multi":
		switch {
		case g.chance(15):
			return pick(g, lists...)
		case g.chance(25):
			return array(pick(g, t.values...), pick(g, t.values...))
		case g.chance(6):
			return pick(g, `true`, `false`)
		}
	case "icontains", "not_icontains", "starts_with", "not_starts_with", "ends_with", "not_ends_with":
		if g.chance(50) {
			return pick(g, `"p"`, `"P"`, `"o"`, `"RO"`, `"é"`, `"É"`, `""`, `"a"`, `".COM"`, `"http"`, `1`, `5`)
		}
	}
	return pick(g, t.values...)
}

// cohortFilter writes a filter that mostly names a cohort of the document.
func (g *Generator) cohortFilter() string {
	members := []string{"key", pick(g, `"id"`, `"id"`, `"id"`, `"cohort"`, `null`), "type", `"cohort"`, "value", g.cohortID()}
	if g.chance(80) {
		members = append(members, "operator", pick(g, `"in"`, `"in"`, `"in"`, `"in"`, `"not_in"`, `"not_in"`, `"exact"`, `"gt"`, `null`))
	}
	if g.chance(8) {
		members = append(members, "negation", "true")
	}
	return object(members...)
}

// cohortID writes the value of a cohort filter.
func (g *Generator) cohortID() string {
	switch {
	case g.chance(4):
		return pick(g, `999`, `"999"`)
	case g.chance(2):
		return pick(g, `null`, `"x"`, `1.5`, `[1]`, `true`, `""`, `1.0`, `"1.0"`)
	case len(g.cohorts) == 0:
		return "1"
	}
	id := strconv.FormatInt(pick(g, g.cohorts...), 10)
	if g.chance(15) {
		return pick(g, quote(id), quote("+"+id), quote("0"+id))
	}
	return id
}

// flagFilter writes a dependency of flag i, mostly on an earlier flag, which
// makes chains.
func (g *Generator) flagFilter(i int) string {
	target := generatedFlag{id: "99", key: "nope"}
	switch {
	case g.chance(3):
		// The target is missing.
	case len(g.failing) > 0 && g.chance(35):
		target = g.flags[pick(g, g.failing...)]
	case g.chance(6):
		target = pick(g, g.flags...) // makes cycles and self-references
	case i > 0:
		target = g.flags[g.rng.IntN(i)]
	default:
		return g.propertyFilter(typePerson)
	}
	var members []string
	id := target.id
	if id == "" {
		id = "0" // an absent id counts as 0
	}
	switch {
	case g.chance(2):
		members = append(members, "key", pick(g, `""`, `null`, `1.5`, `true`, `{}`))
	case g.chance(35):
		members = append(members, "key", quote(id))
	case g.chance(25):
		members = append(members, "key", id)
	case g.chance(50):
		members = append(members, "key", g.text(target.key))
	default:
		members = append(members, "key", g.text(target.key), "dependency_chain", pick(g, array(g.text(target.key)), `[]`, `null`))
	}
	members = append(members, "type", `"flag"`, "operator", `"flag_evaluates_to"`)
	if g.chance(4) {
		members[len(members)-1] = pick(g, `"exact"`, `"in"`, `null`)
	}
	value := pick(g, `true`, `true`, `true`, `true`, `false`, `false`, `"test"`, `"control"`, `"true"`, `"Test"`, `"holdout-42"`)
	if len(target.variants) > 0 && g.chance(50) {
		value = g.text(pick(g, target.variants...))
	}
	if g.chance(4) {
		value = pick(g, strays...)
	}
	return object(append(members, "value", value)...)
}

// oddFilter writes a filter that cannot be decoded, or only just.
func (g *Generator) oddFilter() string {
	return pick(g,
		`{"key":"x","type":"person","operator":"nonsense","value":1}`,
		`{"key":"x","type":"person","operator":"Exact","value":1}`,
		`{"key":"x","type":"person","operator":"nonsense","value":null}`,
		`{"key":"x","type":"event","operator":"exact","value":1}`,
		`{"key":"x","type":"behavioral","value":"performed_event"}`,
		`{"key":"x","type":"hogql","value":"1"}`,
		`{"type":"person","operator":"exact","value":"pro"}`,
		`{"key":5,"type":"person","operator":"is_not_set"}`,
		`{"key":null,"type":"group","operator":"exact","value":"pro"}`,
		`{"key":"x","type":"person","operator":5,"value":"pro"}`,
		`{"key":"id","type":"cohort","operator":"nonsense","value":1}`,
		`{"key":"1","type":"flag","operator":"nonsense","value":true}`,
	)
}

// staticCohorts writes the member "static_cohorts", or "" for none. Some of its ids
// have an entry in "cohorts", too.
func (g *Generator) staticCohorts() string {
	if !g.chance(25) {
		return ""
	}
	if g.chance(5) {
		return pick(g, "null", "[]", "{}", `"5"`, `["5"]`, "[5.5]")
	}
	var ids []string
	for id := int64(5); id <= 8; id++ {
		if !g.chance(60) {
			continue
		}
		ids = append(ids, strconv.FormatInt(id, 10))
		if !slices.Contains(g.cohorts, id) {
			g.cohorts = append(g.cohorts, id)
		}
	}
	return array(ids...)
}

// cohortsMember writes the member "cohorts", or "" for none: a map of trees, or
// an array of full records.
func (g *Generator) cohortsMember() string {
	if g.chance(35) {
		return pick(g, "", "", "{}", "null", "[]")
	}
	records := g.chance(55)
	for id := int64(1); id <= 6; id++ {
		if g.chance(75) {
			g.cohorts = append(g.cohorts, id)
		}
	}
	var members, list []string
	for _, id := range g.cohorts {
		text := strconv.FormatInt(id, 10)
		if !records {
			members = append(members, text, g.cohortTree(id))
			continue
		}
		list = append(list, g.cohortRecord(id))
	}
	// The order must not matter.
	g.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if records {
		return array(list...)
	}
	return object(members...)
}

func (g *Generator) cohortRecord(id int64) string {
	members := []string{"id", strconv.FormatInt(id, 10), "name", `"ignored"`}
	switch {
	case g.chance(15):
		members = append(members, "is_static", "true")
	case g.chance(15):
		members = append(members, "cohort_type", pick(g, `"behavioral"`, `"realtime"`, `"analytical"`))
	default:
		members = append(members, "is_static", "false", "cohort_type", pick(g, `null`, `null`, `"person_property"`))
	}
	if g.chance(4) {
		members = append(members, "deleted", "true")
	}
	switch {
	case g.chance(12):
		members = append(members, "groups", g.legacyGroups())
		if g.chance(50) {
			members = append(members, "filters", pick(g, `null`, `{}`, `{"properties":{}}`))
		}
	case g.chance(4):
		members = append(members, "filters", pick(g, `null`, `{}`, `{"properties":{}}`, `{"properties":null}`), "groups", pick(g, `[]`, `null`))
	default:
		members = append(members, "filters", object("properties", g.cohortTree(id)))
		if g.chance(10) {
			members = append(members, "groups", g.legacyGroups()) // ignored, because there are properties
		}
	}
	return object(append(members, "query", "null")...)
}

// legacyGroups writes the field "groups" of §5.6.
func (g *Generator) legacyGroups() string {
	var list []string
	for range 1 + g.rng.IntN(2) {
		switch {
		case g.chance(15):
			list = append(list, pick(g, `{"event_id":"$pageview","days":7}`, `{"action_id":5,"properties":[]}`))
		case g.chance(15):
			list = append(list, pick(g, `{}`, `{"name":"all"}`, `{"properties":[]}`, `{"properties":{}}`, `{"properties":null}`, `{"property":[]}`,
				`7`, `null`, `{"properties":{"type":"OR"}}`, `{"properties":{"type":"and","values":null}}`, `{"type":"OR"}`, `{"properties":{"type":"OR","values":[]}}`, `{"properties":{"type":"AND","values":[{"type":"OR","values":[]}]}}`))
		case g.chance(15):
			value := pick(g, words[:13]...)
			g.compared = append(g.compared, comparedValue{kind: typePerson, property: "plan", value: value})
			tree := object("type", pick(g, `"OR"`, `"AND"`, `"property"`, `"NO"`), "values", array(object("key", `"plan"`, "value", value, "type", `"person"`)))
			list = append(list, pick(g, tree, object("properties", tree), object("event_id", `"$pageview"`, "properties", tree)))
		case g.chance(40):
			value := pick(g, words[:13]...)
			g.compared = append(g.compared, comparedValue{kind: typePerson, property: "plan", value: value})
			list = append(list, object("properties", object("plan", value)))
		default:
			value := pick(g, words[:13]...)
			g.compared = append(g.compared, comparedValue{kind: typePerson, property: "plan", value: value})
			list = append(list, object("properties", array(
				object("key", `"plan"`, "value", value, "type", pick(g, `"event"`, `"person"`, `null`), "operator", pick(g, `"exact"`, `"icontains"`, `"is_not"`)))))
		}
	}
	return array(list...)
}

// cohortTree writes a property group in one of its shapes.
func (g *Generator) cohortTree(id int64) string {
	switch {
	case g.chance(3):
		return `{}`
	case g.chance(4):
		return g.malformedTree()
	case g.chance(3):
		return object("type", `"OR"`, "values", array(object("key", `"id"`, "type", `"cohort"`, "value", strconv.FormatInt(id, 10))))
	case g.chance(8):
		return object(pick(g, "AND", "OR"), array(g.cohortNode(id, 2), g.cohortNode(id, 2)))
	case g.chance(6):
		return pick(g, `{"type":"AND","values":[]}`, `{"type":"OR","values":[]}`, `{"type":"OR"}`, `{"type":"AND","values":null}`)
	}
	var children []string
	for range 1 + g.rng.IntN(3) {
		children = append(children, g.cohortNode(id, 1))
	}
	return object("type", pick(g, `"AND"`, `"OR"`, `"OR"`, `"or"`, `"And"`), "values", array(children...))
}

func (g *Generator) malformedTree() string {
	return pick(g,
		`{"type":"XOR","values":[]}`,
		`{"values":[]}`,
		`{"type":"AND","values":{}}`,
		`{"type":"AND","values":[{}]}`,
		`{"type":"AND","values":[{"type":"person","value":"pro"}]}`,
		`{"type":"AND","values":[{"key":"x","type":"person","operator":"nonsense","value":1}]}`,
		`{"type":"OR","values":[{"key":"id","type":"cohort","value":"x"}]}`,
		`{"type":"AND","values":["pro"]}`,
	)
}

// cohortNode writes a group or a leaf of the cohort id.
func (g *Generator) cohortNode(id int64, depth int) string {
	if depth < 3 && g.chance(25) {
		var children []string
		for range g.rng.IntN(3) {
			children = append(children, g.cohortNode(id, depth+1))
		}
		members := []string{"type", pick(g, `"AND"`, `"OR"`, `"property"`), "values", array(children...)}
		if g.chance(15) {
			members = append(members, "negation", "true") // ignored in groups
		}
		return object(members...)
	}
	negation := []string{}
	if g.chance(30) {
		negation = []string{"negation", pick(g, "true", "true", "false")}
	}
	switch n := g.rng.IntN(100); {
	case n < 55:
		leaf := g.propertyFilter(typePerson)
		if len(negation) > 0 {
			leaf = withMember(leaf, fmt.Sprintf(`"negation":%s`, negation[1]))
		}
		return leaf
	case n < 58:
		return g.propertyFilter(typePersonMetadata)
	case n < 78:
		// Mostly a later cohort is chosen, which keeps cycles rare.
		later := slices.DeleteFunc(slices.Clone(g.cohorts), func(other int64) bool { return other <= id })
		next := pick(g, slices.Concat(g.cohorts, []int64{id + 1})...)
		if len(later) > 0 && g.chance(70) {
			next = pick(g, later...)
		}
		members := []string{"key", `"id"`, "type", `"cohort"`, "value", pick(g, strconv.FormatInt(next, 10), strconv.Quote(strconv.FormatInt(next, 10)))}
		if g.chance(40) {
			members = append(members, "operator", pick(g, `"in"`, `"not_in"`, `"exact"`))
		}
		return object(append(members, negation...)...)
	case n < 93:
		return object(append([]string{"key", `"$pageview"`, "type", pick(g, `"behavioral"`, `"event"`, `"hogql"`), "value", `"performed_event"`}, negation...)...)
	case n < 97:
		return object(append([]string{"key", `"plan"`, "type", `"group"`, "group_type_index", "0", "operator", `"is_not_set"`}, negation...)...)
	default:
		return object(append([]string{"key", `"1"`, "type", `"flag"`, "operator", `"flag_evaluates_to"`, "value", "true"}, negation...)...)
	}
}
