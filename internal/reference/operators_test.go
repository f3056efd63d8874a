package reference_test

import (
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// TestValueText checks str of §4.1.
func TestValueText(t *testing.T) {
	for value, want := range map[string]string{
		`"a\"b"`:                 `a"b`,
		`true`:                   `true`,
		`null`:                   `null`,
		`12`:                     `12`,
		`1.5`:                    `1.5`,
		`1.0`:                    `1.0`,
		`1.50`:                   `1.5`,
		`1e16`:                   `1e16`,
		`1e15`:                   `1000000000000000.0`,
		`1E3`:                    `1000.0`,
		`0.00001`:                `0.00001`,
		`1e-6`:                   `1e-6`,
		`1.25e-7`:                `1.25e-7`,
		`0.000012`:               `0.000012`,
		`123456789012345680.0`:   `1.2345678901234568e17`,
		`-0`:                     `-0.0`,
		`-0.0`:                   `-0.0`,
		`0.0`:                    `0.0`,
		`0`:                      `0`,
		`-5`:                     `-5`,
		`18446744073709551615`:   `18446744073709551615`,
		`18446744073709551616`:   `1.8446744073709552e19`,
		`-9223372036854775808`:   `-9223372036854775808`,
		`-9223372036854775809`:   `-9.223372036854776e18`,
		`1e999`:                  `1e999`,
		`33.3`:                   `33.3`,
		`[ "a" , 1.0, {} ]`:      `["a",1.0,{}]`,
		`{"b":1,"a":2,"a":3}`:    `{"a":3,"b":1}`,
		`["\u0001\b\t\n\f\r/é"]`: `["\u0001\b\t\n\f\r/é"]`,
		`["<\u001f>\u2028"]`:     "[\"<\\u001f>\u2028\"]",
		`{"\"\\":"\u007f"}`:      "{\"\\\"\\\\\":\"\u007f\"}",
	} {
		if got := reference.ValueText(value); got != want {
			t.Errorf("ValueText(%s) = %s, want %s", value, got, want)
		}
	}
}

// TestLower checks lower of §4.4.
func TestLower(t *testing.T) {
	for s, want := range map[string]string{
		"ÉCOLE": "école",
		"İ":     "i̇",
		"ß":     "ß",
		"ẞ":     "ß",
		"ΑΣ":    "ας",
		"ΑΣΑ":   "ασα",
		"Σ":     "σ",
		" Σ":    " σ",
		"ΑΣ.":   "ας.",
		"ΑΣ.Α":  "ασ.α",
		"Α'Σ":   "α'ς",
		"1Σ":    "1σ",
		"ΑΣ ΑΣ": "ας ας",
		"K":     "k", // the Kelvin sign
		"Ǆ":     "ǆ",
	} {
		if got := reference.Lower(s); got != want {
			t.Errorf("Lower(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestSubstrings(t *testing.T) {
	for _, tt := range []struct {
		operator, value, property string
		want                      bool
	}{
		{"icontains", `"B"`, `"abc"`, true},
		{"icontains", `["a"]`, `"[\"A\"] etc."`, true}, // an array is compared as its text
		{"icontains", `["a"]`, `"a"`, false},
		{"icontains", `"É"`, `"É"`, true},
		{"starts_with", `""`, `"x"`, true},
		{"starts_with", `12`, `123`, true},
		{"ends_with", `".COM"`, `"a.com"`, true},
		{"not_ends_with", `".com"`, `"a.com"`, false},
		{"icontains_multi", `"b"`, `"abc"`, true}, // a scalar is a list of one element
		{"icontains_multi", `["x",2]`, `123`, true},
		{"icontains_multi", `[null]`, `"nullable"`, true},
		{"not_icontains_multi", `"b"`, `"abc"`, false},
	} {
		if got := matches(t, 1, tt.operator, tt.value, tt.property); got != tt.want {
			t.Errorf("%s %s on %s = %v, want %v", tt.operator, tt.value, tt.property, got, tt.want)
		}
	}
}

// TestNumbers checks §4.7 and §4.8.
func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		operator, value, property string
		want                      bool
	}{
		{"gt", `1`, `"5."`, true},
		{"gt", `0`, `".5"`, true},
		{"gt", `0`, `"+5"`, true},
		{"gt", `0`, `"."`, false},
		{"gt", `0`, `""`, false},
		{"gt", `0`, `"0x10"`, false},
		{"gt", `0`, `"1_000"`, false},
		{"gt", `0`, `"5 "`, false},
		{"gt", `1e300`, `"inf"`, true},
		{"gt", `1e300`, `"Infinity"`, true},
		{"lt", `0`, `"-INF"`, true},
		{"gte", `0`, `"NaN"`, false},
		{"lte", `0`, `"NaN"`, false},
		{"gt", `1e300`, `"1e999"`, true}, // a numeric string overflows to infinity
		{"gt", `1e300`, `1e999`, false},  // a literal beyond float64 is not a number
		{"gt", `"inf"`, `"inf"`, false},
		{"gte", `"inf"`, `"inf"`, true},
		{"gt", `"2024-01-01"`, `"2024-01-02"`, false},
		{"gte", `0`, `-0`, true},
		{"gt", `[1]`, `2`, false},
		{"between", `[1,5]`, `1`, true},
		{"between", `[1,5]`, `"5"`, true},
		{"between", `[1,5]`, `5.1`, false},
		{"not_between", `[1,5]`, `5.1`, true},
		{"not_between", `[1,5]`, `5`, false},
		{"between", `[1,1]`, `1`, true},
		{"between", `[1]`, `1`, false},
		{"not_between", `[1]`, `2`, false},
		{"not_between", `[1,2,3]`, `9`, false},
		{"not_between", `["a",2]`, `9`, false},
		{"not_between", `"1,2"`, `9`, false},
		{"not_between", `[5,1]`, ``, true},
		{"not_between", `[5,1]`, `3`, false},
		{"not_between", `["NaN",1]`, `9`, false},
		{"between", `["-inf","inf"]`, `9`, true},
		{"not_between", `[1,5]`, `"NaN"`, false},
		{"between", `[1,5]`, `"NaN"`, false},
		{"not_between", `[1,5]`, `"x"`, false},
		{"not_between", `[1,5]`, `true`, false},
	} {
		if got := matches(t, 1, tt.operator, tt.value, tt.property); got != tt.want {
			t.Errorf("%s %s on %s = %v, want %v", tt.operator, tt.value, tt.property, got, tt.want)
		}
	}
}

// TestDates checks with is_date_exact which instant a date means (§4.9).
func TestDates(t *testing.T) {
	pacific, berlin := zone(t, "US/Pacific"), zone(t, "Europe/Berlin")
	for _, tt := range []struct {
		date    string
		zone    *time.Location
		now     time.Time
		instant string // RFC 3339, or "" for no date
	}{
		{"2024-06-01", pacific, now, "2024-06-01T07:00:00Z"},
		{"2024-06-01", time.UTC, now, "2024-06-01T00:00:00Z"},
		{"2024-02-30", time.UTC, now, ""},
		{"2024-6-1", time.UTC, now, ""},
		{"2024-06-01T07:00:00+02:00", pacific, now, "2024-06-01T05:00:00Z"},
		{"2024-06-01T07:00:00.123456789Z", pacific, now, "2024-06-01T07:00:00.123456789Z"},
		{"2024-06-01T24:00:00Z", pacific, now, ""},
		{"2024-06-01T07:00:60Z", pacific, now, ""},
		{"2024-06-01 07:00", berlin, now, "2024-06-01T05:00:00Z"},
		{"2024-06-01T07:00:01.5", berlin, now, "2024-06-01T05:00:01.5Z"},
		{"2026-10-25 02:30", berlin, now, "2026-10-25T00:30:00Z"}, // autumn: the earlier instant
		{"2026-03-29 02:30", berlin, now, ""},                     // spring gap
		{"2026-03-29 03:30", berlin, now, "2026-03-29T01:30:00Z"},
		{"2024-06-01 07:00:00 UTC", berlin, now, "2024-06-01T07:00:00Z"},
		{"2024-06-01 07:00Z", berlin, now, "2024-06-01T07:00:00Z"},
		{"2024-06-01 07:00:00 +0200", pacific, now, "2024-06-01T05:00:00Z"},
		{"2024-06-01T07:00:00 -02:00", pacific, now, "2024-06-01T09:00:00Z"},
		{"Sat, 01 Jun 2024 07:00:00 +0000", pacific, now, "2024-06-01T07:00:00Z"},
		{"1 Jun 2024 07:00:00 GMT", pacific, now, "2024-06-01T07:00:00Z"},
		{"5/31/2014", time.UTC, now, ""},
		{"May 27, 2012", time.UTC, now, ""},
		{"1717225200", time.UTC, now, ""}, // a filter value cannot be an epoch
		{"", time.UTC, now, ""},
		{"-7d", time.UTC, now, "2026-11-13T12:00:00Z"},
		{"7d", time.UTC, now, "2026-11-13T12:00:00Z"},
		{"+7d", time.UTC, now, ""},
		{"9999d", time.UTC, now, "1999-07-06T12:00:00Z"},
		{"10000d", time.UTC, now, ""},
		{"-36h", time.UTC, now, "2026-11-19T00:00:00Z"},
		{"-2w", time.UTC, now, "2026-11-06T12:00:00Z"},
		{"-1m", time.UTC, now, "2026-10-20T12:00:00Z"},
		{"-1y", time.UTC, now, "2025-11-20T12:00:00Z"},
		{"-2m", time.UTC, time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC), "2026-01-28T00:00:00Z"},
		{"-1y", time.UTC, time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC), "2025-03-31T00:00:00Z"},
		// All units move the wall clock of the zone: the hour stays over the change
		// of clocks on 25 October.
		{"-30d", berlin, now, "2026-10-21T11:00:00Z"},
		{"-1m", berlin, now, "2026-10-20T11:00:00Z"},
		{"-720h", berlin, now, "2026-10-21T11:00:00Z"},
		{"-1M", time.UTC, now, ""},
		{"-1.5d", time.UTC, now, ""},
	} {
		for _, instant := range []string{tt.instant, "2001-01-01T00:00:00Z"} {
			if instant == "" {
				continue
			}
			want := instant == tt.instant
			if got := matchesAt(t, tt.now, tt.zone, 1, "is_date_exact", `"`+tt.date+`"`, `"`+instant+`"`); got != want {
				t.Errorf("is_date_exact %q on %s, zone %v = %v, want %v", tt.date, instant, tt.zone, got, want)
			}
			// A property can have the same form.
			if tt.date == "1717225200" {
				continue // it is an epoch there
			}
			if got := matchesAt(t, tt.now, tt.zone, 1, "is_date_exact", `"`+instant+`"`, `"`+tt.date+`"`); got != want {
				t.Errorf("is_date_exact %s on %q, zone %v = %v, want %v", instant, tt.date, tt.zone, got, want)
			}
		}
	}
}

// TestEpoch checks seconds since 1970 (§4.9).
func TestEpoch(t *testing.T) {
	for _, tt := range []struct {
		operator, value, property string
		want                      bool
	}{
		{"is_date_exact", `"2024-06-01T07:00:00Z"`, `1717225200`, true},
		{"is_date_exact", `"2024-06-01T07:00:00Z"`, `"1717225200"`, true},
		{"is_date_exact", `"2024-06-01T07:00:00.5Z"`, `1717225200.5`, true},
		{"is_date_exact", `"2024-06-01T07:00:00Z"`, `1.7172252e9`, true},
		{"is_date_before", `"1970-01-01"`, `-0.5`, true},
		{"is_date_exact", `"1969-12-31T23:59:59.5Z"`, `-0.5`, true},
		{"is_date_after", `"9999-01-01"`, `1717225200000`, true}, // milliseconds are a date in the far future
		{"is_date_after", `"9999-01-01"`, `8.0e12`, true},
		{"is_date_after", `"9999-01-01"`, `8000000000001`, false},
		{"is_date_after", `"0001-01-01"`, `"inf"`, false},
		{"is_date_after", `"0001-01-01"`, `"NaN"`, false},
		{"is_date_after", `"0001-01-01"`, `1e999`, false},
		{"is_date_after", `"0001-01-01"`, `null`, false},
		{"is_date_after", `"0001-01-01"`, `["2024-06-01"]`, false},
		{"is_date_after", `["0001-01-01"]`, `"2024-06-01"`, false},
	} {
		if got := matches(t, 1, tt.operator, tt.value, tt.property); got != tt.want {
			t.Errorf("%s %s on %s = %v, want %v", tt.operator, tt.value, tt.property, got, tt.want)
		}
	}
}

// TestVersions checks §4.10. Both sides are texts of versions.
func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		operator, value, property string
		want                      bool
	}{
		{"gt", "3.9", "3.10", true},
		{"wildcard", "3.08.*", "3.8.5", true},
		{"eq", "1.2.0", "v1.2", true},
		{"eq", "1.2.0", "v 1.2 ", true},
		{"eq", "1.2.0", " v1.2", false},
		{"eq", "1.2.0", "vv1.2", false},
		{"neq", "1.2.0", "V1.2.3", false},
		{"neq", "1.2.0", "1.2.3.4", false},
		{"neq", "1.2.0", "1..2", false},
		{"neq", "1.2.0", "1.", false},
		{"neq", "1.2.0", "", false},
		{"neq", "banana", "1.0.0", false},
		{"neq", "1.2.0", "18446744073709551616", false},
		{"gt", "1", "18446744073709551615", true},
		{"gte", "1.0.0", "1.0.0-alpha", false},
		{"eq", "2.0.0-rc.1", "2-rc.1", true},
		{"eq", "1.0.0-01", "1.0.0-01", false}, // a numeric identifier with leading zeros
		{"eq", "1.0.0-0a", "1.0.0-0a", true},
		{"lt", "1.0.0-beta", "1.0.0-alpha.1", true},
		{"lt", "1.0.0-alpha.1", "1.0.0-alpha", true},
		{"lt", "1.0.0-alpha.beta", "1.0.0-alpha.1", true},
		{"lt", "1.0.0-10", "1.0.0-9", true},
		{"neq", "1.0.0", "1.0.0+a", true},
		{"gt", "1.0.0", "1.0.0+a", true},
		{"lt", "1.0.0+b", "1.0.0+a", true},
		{"lt", "1.0.0+a", "1.0.0+1", true},
		{"lt", "1.0.0+10", "1.0.0+9", true},
		{"gt", "1.0.0+1", "1.0.0+01", true},
		{"lt", "1.0.0+a.b", "1.0.0+a", true},
		{"lte", "1.0.0+a", "1.0.0+a", true},
		{"tilde", "1.2.3", "1.2.9", true},
		{"tilde", "1.2.3", "1.2.2", false},
		{"tilde", "1.2.3", "1.3.0", false},
		{"tilde", "1.2.3", "1.2.3+build", true},
		{"tilde", "1", "1.0.5", true},
		{"tilde", "1", "1.1.0", false},
		{"tilde", "1.2.3-beta.1", "1.2.3-beta.2", true},
		{"tilde", "1.2.3-beta.1", "1.2.3-alpha", false},
		{"tilde", "1.2.3-beta.1", "1.2.3", true},
		{"tilde", "1.2.3-beta.1", "1.2.4", true},
		{"tilde", "1.2.3-beta.1", "1.2.4-beta.1", false},
		{"caret", "1.2.3", "1.9.0", true},
		{"caret", "1.2.3", "2.0.0", false},
		{"caret", "1.2.3", "1.2.2", false},
		{"caret", "0.2.3", "0.2.9", true},
		{"caret", "0.2.3", "0.3.0", false},
		{"caret", "0.0.3", "0.0.3", true},
		{"caret", "0.0.3", "0.0.4", false},
		{"caret", "0.0", "0.0.1", false},
		{"caret", "0", "0.0.0", true},
		{"caret", "0", "0.1.0", false},
		{"wildcard", "*", "9.9.9", true},
		{"wildcard", "*.*", "9.9.9", false},
		{"wildcard", "x", "9.9.9", true},
		{"wildcard", "0", "0.9.0", true},
		{"wildcard", ">=1.2, <2", "1.9.0", true},
		{"wildcard", ">=1.2, <2", "2.0.0", false},
		{"tilde", "1.2.x", "1.2.9", true},
		{"tilde", "1.*", "1.0.0", false},
		{"tilde", "1, <2", "1.7.0", true},
		{"caret", ">=1.2.3", "1.2.3", false},
		{"wildcard", "*", "9.9.9-rc.1", false},
		{"wildcard", "1.*", "1.9.0-beta", false},
		{"wildcard", "1.*.*", "1.9.0", true},
		{"wildcard", "1.*", "2.0.0", false},
		{"wildcard", "1.2.*", "1.2.7", true},
		{"wildcard", "1.2.*", "1.3.0", false},
		{"wildcard", "v1.2.*", "1.2.0", true},
		{"wildcard", "1.*.3", "1.5.3", false},
		{"wildcard", "*.1", "1.1.0", false},
		{"wildcard", "1.2.3.*", "1.2.3", false},
		{"wildcard", "1.2.3", "1.3.0", true}, // the range is the one of semver_caret
		{"wildcard", "1.x", "1.3.0", true},
	} {
		if got := matches(t, 1, "semver_"+tt.operator, `"`+tt.value+`"`, `"`+tt.property+`"`); got != tt.want {
			t.Errorf("semver_%s %s on %s = %v, want %v", tt.operator, tt.value, tt.property, got, tt.want)
		}
	}
	if !matches(t, 1, "semver_eq", `1.5`, `"1.5.0"`) {
		t.Error("semver_eq 1.5 (number) does not match 1.5.0")
	}
}
