package flags_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestRulings has rules that are easily got wrong, by the numbers that docs/spec/README.md
// lists with their sections. The flag of each row is f.
func TestRulings(t *testing.T) {
	dependent := func(target string) string {
		return `{"flags":[{"id":2,"key":"target",` + target + `},{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[
			{"key":"2","type":"flag","operator":"flag_evaluates_to","value":false}]}]}}]}`
	}
	cohort := func(record string) string {
		return `{"cohorts":[{"id":7,` + record + `}],"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[
			{"key":"id","type":"cohort","value":7}]}]}}]}`
	}
	tree := func(tree string) string { return cohort(`"filters":{"properties":` + tree + `}`) }
	filter := func(operator, value string) string {
		return property(`{"key":"p","type":"person","operator":"` + operator + `","value":` + value + `}`)
	}
	fiveHours := `{"timezone":"Europe/Berlin",` + filter("is_date_after", `"-5h"`)[1:]
	const (
		matched, unmatched = flags.ReasonConditionMatch, flags.ReasonNoConditionMatch
		sound              = `"active":false,"filters":{"groups":[{}]}`
		broken             = `"active":false,"filters":{"groups":{}}`
		older              = `{"properties":[{"key":"p","operator":"exact","value":"x"}]}`
	)
	p := func(value any) map[string]any { return map[string]any{"p": value} }
	at := func(text string) time.Time {
		now, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	for _, tt := range []struct {
		name, document string
		properties     map[string]any
		now            time.Time
		want           string // code of the reason
	}{
		// evaluation.md §1.3: null is not a value of version, which says how filters are read.
		{"Ruling 40 version of 1", withFilters(`{"version":1,"groups":[{}]}`), nil, time.Time{}, matched},
		{"Ruling 40 version of null", withFilters(`{"version":null,"groups":[{}]}`), nil, time.Time{}, flags.ErrorFlagData},
		{"Ruling 40 version of 2", withFilters(`{"version":2,"groups":[{}]}`), nil, time.Time{}, flags.ErrorFlagData},

		// evaluation.md §7.2: an inactive target is false, but not if it cannot be understood.
		{"Ruling 41 inactive target", dependent(sound), nil, time.Time{}, matched},
		{"Ruling 41 inactive target that is broken", dependent(broken), nil, time.Time{}, flags.ErrorFlagData},

		// evaluation.md §4.6: neither operator matches a property that is set by an invalid
		// pattern.
		{"Ruling 42 invalid pattern", filter("regex", `"("`), p("("), time.Time{}, unmatched},
		{"Ruling 42 invalid pattern, negated", filter("not_regex", `"("`), p("x"), time.Time{}, unmatched},
		{"Ruling 42 pattern", filter("not_regex", `"a"`), p("x"), time.Time{}, matched},

		// evaluation.md §4.10: ranges are lists of comparators.
		{"Ruling 44 caret without a sign", filter("semver_wildcard", `"1.2.3"`), p("1.9.0"), time.Time{}, matched},
		{"Ruling 44 list", filter("semver_wildcard", `"1.2.3, <2"`), p("1.9.0"), time.Time{}, matched},
		{"Ruling 44 list that ends before", filter("semver_wildcard", `"1.2.3, <1.5"`), p("1.9.0"), time.Time{}, unmatched},
		{"Ruling 44 star in the middle", filter("semver_wildcard", `"1.*.3"`), p("1.2.3"), time.Time{}, unmatched},
		{"Ruling 44 tilde with a star", filter("semver_tilde", `"1.2.*"`), p("1.2.9"), time.Time{}, matched},

		// evaluation.md §5.6: a group of the older form that defines nothing is nobody.
		{"Ruling 77 older form", cohort(`"groups":[` + older + `]`), p("x"), time.Time{}, matched},
		{"Ruling 77 group of nothing", cohort(`"groups":[{}]`), nil, time.Time{}, unmatched},
		{"Ruling 77 misspelt", cohort(strings.Replace(`"groups":[`+older+`]`, "properties", "property", 1)), p("x"), time.Time{}, unmatched},
		{"Ruling 77 group of an empty list", cohort(`"groups":[{"properties":[]}]`), nil, time.Time{}, unmatched},

		// evaluation.md §5.3, §5.5: a record without a tree is malformed, an empty root nobody.
		{"Ruling 78 empty filters", cohort(`"filters":{}`), nil, time.Time{}, flags.ErrorCohortData},
		{"Ruling 78 empty object below the root", tree(`{"type":"OR","values":[{}]}`), nil, time.Time{}, flags.ErrorCohortData},
		{"Ruling 78 unknown type", tree(`{"type":"XOR","values":[]}`), nil, time.Time{}, flags.ErrorCohortData},
		{"Ruling 78 empty root", tree(`{"type":"AND","values":[]}`), nil, time.Time{}, unmatched},

		// evaluation.md §4.9: years keep the month and the day.
		{"Ruling 79 a day after", filter("is_date_after", `"-1y"`), p("2027-03-01"), at("2028-02-29T12:00:00Z"), matched},
		{"Ruling 79 29 February", filter("is_date_after", `"-1y"`), p("2027-02-28T13:00:00Z"), at("2028-02-29T12:00:00Z"), matched},
		{"Ruling 79 28 February", filter("is_date_after", `"-1y"`), p("2027-02-28T11:00:00Z"), at("2028-02-29T12:00:00Z"), unmatched},

		// evaluation.md §4.9: all units, hours too, are taken off the wall clock of the project.
		// On 29 March 2026 clocks in Berlin went from 02:00 to 03:00: five hours before 06:30 it was
		// 01:30, which is 00:30 in UTC.
		{"Ruling 80 after the hour", fiveHours, p("2026-03-29T00:45:00Z"), at("2026-03-29T04:30:00Z"), matched},
		{"Ruling 80 before it", fiveHours, p("2026-03-29T00:15:00Z"), at("2026-03-29T04:30:00Z"), unmatched},

		// evaluation.md §4.2: min and max are gte and lte.
		{"Ruling 81 min", filter("min", "5"), p(5), time.Time{}, matched},
		{"Ruling 81 below min", filter("min", "5"), p(4), time.Time{}, unmatched},
		{"Ruling 81 max", filter("max", "5"), p(5), time.Time{}, matched},
		{"Ruling 81 above max", filter("max", "5"), p(6), time.Time{}, unmatched},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compiled(t, tt.document)
			result, err := s.Flag("f", &flags.Request{DistinctID: "u", PersonProperties: maps.Clone(tt.properties), Now: tt.now})
			if err != nil || result.Reason.Code != tt.want || result.Enabled != (tt.want == matched) {
				t.Errorf("%v, %v, %v; want %s", result.Enabled, result.Reason, err, tt.want)
			}
		})
	}
}
