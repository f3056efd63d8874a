package reference

import (
	"fmt"
	"strings"
	"time"
)

// operatorCases returns rows 62–127, the table of §16.3.
func operatorCases() []Case {
	var cases []Case

	// A row is a filter "key operator value" for a property. The property "" is
	// missing.
	const missing = ""
	for _, row := range []struct {
		row             int
		filter          string // key, operator and JSON value, separated by the first two spaces
		property        string // JSON
		match           bool
		matchingVersion int // 0 means absent
	}{
		{62, `plan exact "Pro"`, `"pro"`, true, 0},
		{62, `plan exact "Pro"`, `"pro"`, true, 2},
		{63, `plan exact ["a","B"]`, `"b"`, true, 0},
		{64, `n exact 5`, `"5"`, true, 0},
		{65, `n exact 5`, `5.0`, false, 0},
		{66, `x exact false`, `"banana"`, true, 0},
		{66, `x exact false`, `"banana"`, true, 1},
		{67, `x exact false`, `"banana"`, false, 2},
		{68, `x exact "true"`, `1`, false, 1},
		{69, `x exact ["true","false"]`, `"true"`, false, 1},
		{70, `x exact ["true","false"]`, `"true"`, true, 2},
		{71, `x exact []`, `true`, true, 1},
		{71, `x exact []`, `true`, true, 2},
		{72, `x is_not []`, `"us"`, true, 1},
		{72, `x is_not []`, `"us"`, true, 2},
		{73, `x is_not "a"`, missing, true, 0},
		{74, `x is_not null`, `"b"`, false, 0},
		{75, `x exact "null"`, `null`, true, 0},
		{76, `x is_set null`, `null`, true, 0},
		{76, `x is_set "is_set"`, `null`, true, 0},
		{77, `x is_not_set null`, missing, true, 0},
		{77, `x is_not_set "is_not_set"`, missing, true, 0},
		{78, `x is_not_set null`, `null`, false, 0},
		{79, `x icontains "ÉCOLE"`, `"école"`, false, 0},
		{80, `x exact "ÉCOLE"`, `"école"`, true, 0},
		{81, `x icontains ""`, `"a"`, true, 0},
		{82, `x icontains 3`, `1234`, true, 0},
		{83, `x not_icontains "a"`, missing, true, 0},
		{84, `x icontains_multi []`, `"a"`, false, 0},
		{85, `x not_icontains_multi []`, `"a"`, true, 0},
		{86, `x starts_with "HTTP"`, `"https://x"`, true, 0},
		{87, `x regex "\\.com$"`, `"a.com"`, true, 0},
		{88, `x regex "\\.com$"`, `"a.com\n"`, false, 0},
		{89, `x regex "?*"`, `"a"`, false, 0},
		{90, `x not_regex "?*"`, `"a"`, false, 0},
		{91, `x not_regex "a"`, missing, true, 0},
		{92, `x regex 4`, `"x4"`, true, 0},
		{94, `n gt 5`, `"6"`, true, 0},
		{95, `n lt "30"`, `"100"`, false, 0},
		{96, `n gt 5`, `" 6"`, false, 0},
		{97, `n gt "abc"`, `"b"`, false, 0},
		{98, `n gte 1`, `true`, false, 0},
		{99, `n gt 1`, `"1e3"`, true, 0},
		{100, `n between [1,"5"]`, `5`, true, 0},
		{101, `n between [5,1]`, `3`, false, 0},
		{101, `n not_between [5,1]`, `3`, false, 0},
		{102, `n not_between [1,5]`, missing, true, 0},
		{103, `d is_date_before "-7d"`, `"2026-11-13"`, true, 0},
		{104, `d is_date_before "7d"`, `"2026-11-13"`, true, 0},
		{105, `d is_date_after "-1m"`, `"2026-10-21"`, true, 0},
		{105, `d is_date_after "-1m"`, `"2026-10-20T12:00:00Z"`, false, 0},
		{105, `d is_date_after "-1m"`, `"2026-10-20T12:00:01Z"`, true, 0},
		{106, `d is_date_after "-10000d"`, `"2026-11-13"`, false, 0},
		{106, `d is_date_before "-10000d"`, `"1900-01-01"`, false, 0},
		{109, `d is_date_exact "2024-06-01T07:00:00Z"`, `"2024-06-01T09:00:00+02:00"`, true, 0},
		{110, `d is_date_after 1700000000`, `"2026-01-01"`, false, 0},
		{111, `d is_date_before "2024-01-01"`, `true`, false, 0},
		{113, `v semver_gt "3.9"`, `"3.10"`, true, 0},
		{114, `v semver_eq "1.2.0"`, `"v1.2"`, true, 0},
		{115, `v semver_neq "1.0.0"`, missing, false, 0},
		{116, `v semver_neq "1.0.0"`, `"banana"`, false, 0},
		{117, `v semver_gte "1.0.0"`, `"1.0.0-rc.1"`, false, 0},
		{118, `v semver_eq "1.0.0"`, `"1.0.0+build"`, false, 0},
		{119, `v semver_tilde "1"`, `"1.5.0"`, false, 0},
		{119, `v semver_tilde "1"`, `"1.0.9"`, true, 0},
		{120, `v semver_tilde "3.08"`, `"3.8.5"`, true, 0},
		{120, `v semver_tilde "3.08"`, `"3.9.0"`, false, 0},
		{121, `v semver_caret "0.0"`, `"0.0.1"`, false, 0},
		{121, `v semver_caret "0.0"`, `"0.0.0"`, true, 0},
		{122, `v semver_wildcard "1.*"`, `"1.9.0-beta"`, false, 0},
		{122, `v semver_wildcard "1.*"`, `"1.9.0"`, true, 0},
		{123, `v semver_wildcard "1.*.3"`, `"1.5.3"`, false, 0},
		{124, `v semver_eq "1.2.3"`, `"1.2.3.4"`, false, 0},
		{125, `v semver_eq "1.2.3"`, `"V1.2.3"`, false, 0},
	} {
		parts := strings.SplitN(row.filter, " ", 3)
		document := caseDocument(caseFlag("k", conditions(where(filterJSON(parts[0], parts[1], parts[2])))))
		if row.matchingVersion != 0 {
			document = withMember(document, fmt.Sprintf(`"property_matching_version":%d`, row.matchingVersion))
		}
		request, on, property := caseRequest("user-1"), wantOn("k", 0), "a missing property"
		if row.property != missing {
			property = row.property
			request = caseRequest("user-1", person(fmt.Sprintf(`{%q:%s}`, parts[0], row.property)))
		}
		want := off("k", codeNoMatch, 0)
		if row.match {
			want = on
		}
		name := fmt.Sprintf("%s on %s, version %d", row.filter, property, row.matchingVersion)
		cases = append(cases, Case{row.row, name, document, request, []Want{want}, false})
	}

	// These rows need more than one filter and one property.
	one := func(filter string) string { return caseDocument(caseFlag("k", conditions(where(filter)))) }
	pacific := func(property string) *Request {
		return caseRequest("user-1", person(`{"d":`+property+`}`), func(r *Request) { r.Zone = location("US/Pacific") })
	}
	june := one(filterJSON("d", "is_date_after", `"2024-06-01"`))
	march := func(property string) *Request {
		return caseRequest("user-1", person(`{"d":`+property+`}`), func(r *Request) { r.Now = time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC) })
	}
	twoMonths := one(filterJSON("d", "is_date_after", `"-2m"`))
	negated := one(`{"key":"x","type":"person","operator":"exact","value":"a","negation":true}`)
	return append(cases, []Case{
		{93, "look-ahead", one(filterJSON("x", "regex", `"(?=.*a)b"`)), caseRequest("user-1", person(`{"x":"ba"}`)), []Want{wantOn("k", 0)}, false},
		{93, "look-ahead that is not satisfied", one(filterJSON("x", "regex", `"(?=.*a)b"`)), caseRequest("user-1", person(`{"x":"ab"}`)), []Want{off("k", codeNoMatch, 0)}, false},
		{93, "look-ahead, missing property", one(filterJSON("x", "not_regex", `"(?=.*a)b"`)), caseRequest("user-1"), []Want{wantOn("k", 0)}, false},
		{107, "the day begins in the project's zone", june, pacific(`"2024-06-01T03:00:00Z"`), []Want{off("k", codeNoMatch, 0)}, false},
		{107, "after the beginning", june, pacific(`"2024-06-01T08:00:00Z"`), []Want{wantOn("k", 0)}, false},
		{108, "epoch seconds after the beginning", june, pacific(`1717225201`), []Want{wantOn("k", 0)}, false},
		{108, "epoch seconds at the beginning", june, pacific(`1717225200`), []Want{off("k", codeNoMatch, 0)}, false},
		{112, "two months before 31 March", twoMonths, march(`"2026-01-29"`), []Want{wantOn("k", 0)}, false},
		{112, "the instant itself", twoMonths, march(`"2026-01-28"`), []Want{off("k", codeNoMatch, 0)}, false},
		{126, "unknown operator", one(filterJSON("x", "foo_bar", `1`)), caseRequest("user-1", person(`{"x":1}`)), []Want{failed("k", codeFlagData)}, true},
		{126, "unknown operator without value", one(filterJSON("x", "foo_bar", `null`)), caseRequest("user-1"), []Want{failed("k", codeFlagData)}, true},
		{
			126, "unknown operator in a later condition", caseDocument(caseFlag("k", conditions(rollout("100"), where(filterJSON("x", "foo_bar", `1`))))),
			caseRequest("user-1"),
			[]Want{wantOn("k", 0)},
			false,
		},
		{127, "negation on a match", negated, caseRequest("user-1", person(`{"x":"a"}`)), []Want{wantOn("k", 0)}, false},
		{127, "negation on a mismatch", negated, caseRequest("user-1", person(`{"x":"b"}`)), []Want{off("k", codeNoMatch, 0)}, false},
	}...)
}

// location returns a zone of the embedded database.
func location(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err) // cannot happen: time/tzdata is imported
	}
	return zone
}
