package reldate_test

import (
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones must not depend on the machine

	"github.com/flagstaff-go/flagstaff/flags/internal/reldate"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// now is the time of the examples in evaluation.md.
var now = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

func load(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// instant parses an expected result; "" means none.
func instant(t *testing.T, s string) time.Time {
	t.Helper()
	if s == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

var span = regexp.MustCompile("^-?[0-9]+[hdwmy]$")

var forms = []struct {
	name, text, zone string
	want             string // "" if s is not a date
}{
	// Form 1.
	{"hours", "36h", "UTC", "2026-11-19T00:00:00Z"},
	{"days", "7d", "UTC", "2026-11-13T12:00:00Z"},
	{"days with a minus", "-7d", "UTC", "2026-11-13T12:00:00Z"},
	{"weeks", "2w", "UTC", "2026-11-06T12:00:00Z"},
	{"months, not minutes", "1m", "UTC", "2026-10-20T12:00:00Z"},
	{"years", "1y", "UTC", "2025-11-20T12:00:00Z"},
	{"no time at all", "0d", "UTC", "2026-11-20T12:00:00Z"},
	{"leading zeros", "-0000000000000000000000007d", "UTC", "2026-11-13T12:00:00Z"},
	{"the greatest number", "9999h", "UTC", "2025-09-29T21:00:00Z"},
	{"the greatest number of days", "9999d", "UTC", "1999-07-06T12:00:00Z"},
	{"a number that is too great", "10000d", "UTC", ""},
	{"a number that is far too great", "99999999999999999999d", "UTC", ""},
	{"a plus", "+7d", "UTC", ""},
	{"two minuses", "--7d", "UTC", ""},
	{"no number", "d", "UTC", ""},
	{"a minus and no number", "-d", "UTC", ""},
	{"a capital unit", "7D", "UTC", ""},
	{"an unknown unit", "7s", "UTC", ""},
	{"a long unit", "7days", "UTC", ""},
	{"no unit", "7", "UTC", ""},
	{"a fraction", "1.5d", "UTC", ""},
	{"a space before the unit", "7 d", "UTC", ""},
	{"a space behind the unit", "7d ", "UTC", ""},
	{"two units", "1w2d", "UTC", ""},
	{"another script's digits", "٧d", "UTC", ""},
	// Form 2.
	{"RFC 3339", "2024-06-01T07:00:00Z", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"RFC 3339 in lower case", "2024-06-01t07:00:00z", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"RFC 3339 with t and an offset", "2024-06-01t07:00:00+01:00", "US/Pacific", "2024-06-01T06:00:00Z"},
	{"RFC 3339 with an offset", "2024-06-01T09:00:00+02:00", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"RFC 3339 with a negative offset", "2024-06-01T00:30:00-07:30", "US/Pacific", "2024-06-01T08:00:00Z"},
	{"RFC 3339 with an unknown offset", "2024-06-01T07:00:00-00:00", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"RFC 3339 with a fraction", "2024-06-01T07:00:00.25Z", "US/Pacific", "2024-06-01T07:00:00.25Z"},
	{"RFC 3339 with nanoseconds", "2024-06-01T07:00:00.123456789+00:00", "US/Pacific", "2024-06-01T07:00:00.123456789Z"},
	{"RFC 3339 with more digits", "2024-06-01T07:00:00.1234567899999Z", "US/Pacific", "2024-06-01T07:00:00.123456789Z"},
	{"the greatest offset", "2024-06-01T07:00:00+23:59", "UTC", "2024-05-31T07:01:00Z"},
	{"an offset of 24 hours", "2024-06-01T07:00:00+24:00", "UTC", ""},
	{"an offset of 60 minutes", "2024-06-01T07:00:00+01:60", "UTC", ""},
	{"an offset without minutes", "2024-06-01T07:00:00+01", "UTC", "2024-06-01T06:00:00Z"},
	{"an offset of one digit", "2024-06-01T07:00:00+1:00", "UTC", ""},
	{"a comma before the fraction", "2024-06-01T07:00:00,5Z", "UTC", ""},
	{"an empty fraction", "2024-06-01T07:00:00.Z", "UTC", ""},
	{"hour 24", "2024-06-01T24:00:00Z", "UTC", ""},
	{"minute 60", "2024-06-01T07:60:00Z", "UTC", ""},
	{"second 60", "2016-12-31T23:59:60Z", "UTC", "2017-01-01T00:00:00Z"},
	{"month 0", "2024-00-01T07:00:00Z", "UTC", ""},
	{"month 13", "2024-13-01T07:00:00Z", "UTC", ""},
	{"day 0", "2024-06-00T07:00:00Z", "UTC", ""},
	{"31 June", "2024-06-31T07:00:00Z", "UTC", ""},
	{"29 February of a leap year", "2024-02-29T07:00:00Z", "UTC", "2024-02-29T07:00:00Z"},
	{"29 February of another year", "2023-02-29T07:00:00Z", "UTC", ""},
	{"29 February 1900", "1900-02-29T07:00:00Z", "UTC", ""},
	{"29 February 2000", "2000-02-29T07:00:00Z", "UTC", "2000-02-29T07:00:00Z"},
	{"a year of five digits", "12024-06-01T07:00:00Z", "UTC", ""},
	{"a negative year", "-2024-06-01T07:00:00Z", "UTC", ""},
	{"one digit for the hour", "2024-06-01T7:00:00Z", "UTC", "2024-06-01T07:00:00Z"},
	{"text behind", "2024-06-01T07:00:00Zx", "UTC", ""},
	{"a space in front", " 2024-06-01T07:00:00Z", "UTC", "2024-06-01T07:00:00Z"},
	{"a space behind", "2024-06-01T07:00:00Z ", "UTC", ""},
	{"a sign in a field", "2024-06-01T+7:00:00Z", "UTC", ""},
	// Form 3.
	{"a day", "2024-06-01", "UTC", "2024-06-01T00:00:00Z"},
	{"a day in a zone", "2024-06-01", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"a day in winter", "2024-01-01", "US/Pacific", "2024-01-01T08:00:00Z"},
	{"a day without midnight", "2018-11-04", "America/Sao_Paulo", ""},
	{"a day with two midnights", "2024-11-03", "America/Havana", "2024-11-03T04:00:00Z"},
	{"a day that a zone left out", "2011-12-30", "Pacific/Apia", ""},
	{"the day after it", "2011-12-31", "Pacific/Apia", "2011-12-30T10:00:00Z"},
	{"the first day", "0000-01-01", "UTC", "0000-01-01T00:00:00Z"},
	{"the last day", "9999-12-31", "UTC", "9999-12-31T00:00:00Z"},
	{"one digit for the month", "2024-6-01", "UTC", "2024-06-01T00:00:00Z"},
	{"one digit for the day", "2024-06-1", "UTC", "2024-06-01T00:00:00Z"},
	{"three digits for the day", "2024-06-001", "UTC", ""},
	{"two digits for the year", "24-06-01", "UTC", "0024-06-01T00:00:00Z"},
	{"slashes", "2024/06/01", "UTC", "2024-06-01T00:00:00Z"},
	{"no hyphens", "20240601", "UTC", ""},
	{"day first", "01-06-2024", "UTC", ""},
	{"a month alone", "2024-06", "UTC", ""},
	{"30 February", "2024-02-30", "UTC", ""},
	// Form 4.
	{"minutes", "2024-06-01 07:30", "UTC", "2024-06-01T07:30:00Z"},
	{"minutes in a zone", "2024-06-01 07:30", "US/Pacific", "2024-06-01T14:30:00Z"},
	{"seconds", "2024-06-01 07:30:15", "US/Pacific", "2024-06-01T14:30:15Z"},
	{"a fraction", "2024-06-01 07:30:15.5", "US/Pacific", "2024-06-01T14:30:15.5Z"},
	{"a T", "2024-06-01T07:30", "US/Pacific", "2024-06-01T14:30:00Z"},
	{"a T and a fraction", "2024-06-01T07:30:15.123", "US/Pacific", "2024-06-01T14:30:15.123Z"},
	{"a t", "2024-06-01t07:30", "US/Pacific", ""},
	{"autumn, before the change", "2024-11-03 00:59", "US/Pacific", "2024-11-03T07:59:00Z"},
	{"autumn, the earlier of two", "2024-11-03 01:30", "US/Pacific", "2024-11-03T08:30:00Z"},
	{"autumn, after the change", "2024-11-03 02:00", "US/Pacific", "2024-11-03T10:00:00Z"},
	{"spring, before the change", "2024-03-10 01:59:59.999999999", "US/Pacific", "2024-03-10T09:59:59.999999999Z"},
	{"spring, the start of the gap", "2024-03-10 02:00", "US/Pacific", ""},
	{"spring, the end of the gap", "2024-03-10 02:59:59.999999999", "US/Pacific", ""},
	{"spring, after the change", "2024-03-10 03:00", "US/Pacific", "2024-03-10T10:00:00Z"},
	{"autumn, half an hour", "2024-04-07 01:45", "Australia/Lord_Howe", "2024-04-06T14:45:00Z"},
	{"spring, half an hour", "2024-10-06 02:15", "Australia/Lord_Howe", ""},
	{"autumn in years to come", "2090-10-29 02:30", "Europe/Vienna", "2090-10-29T00:30:00Z"},
	{"spring in years to come", "2090-03-26 02:30", "Europe/Vienna", ""},
	{"local mean time", "1800-01-01 00:00", "Europe/Vienna", "1799-12-31T22:54:39Z"},
	{"an hour alone", "2024-06-01 07", "UTC", ""},
	{"one digit for minutes", "2024-06-01 07:3", "UTC", "2024-06-01T07:03:00Z"},
	{"one digit for seconds", "2024-06-01 07:30:1", "UTC", "2024-06-01T07:30:01Z"},
	{"nothing behind the last colon", "2024-06-01 07:30:", "UTC", ""},
	{"nothing behind the T", "2024-06-01T", "UTC", ""},
	{"a fraction of a minute", "2024-06-01 07:30.5", "UTC", ""},
	{"an empty fraction of a second", "2024-06-01 07:30:15.", "UTC", ""},
	{"two spaces", "2024-06-01  07:30", "UTC", "2024-06-01T07:30:00Z"},
	{"an underscore", "2024-06-01_07:30", "UTC", ""},
	{"am and pm", "2024-06-01 07:30 AM", "UTC", "2024-06-01T07:30:00Z"},
	// Form 5.
	{"UTC", "2024-06-01 07:00:00 UTC", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"UTC without a space", "2024-06-01 07:00:00UTC", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"UTC behind a T", "2024-06-01T07:00:00 UTC", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"UTC behind minutes", "2024-06-01 07:00 UTC", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"UTC behind a fraction", "2024-06-01 07:00:00.5 UTC", "US/Pacific", "2024-06-01T07:00:00.5Z"},
	{"Z behind minutes", "2024-06-01T07:00Z", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"Z and a space for T", "2024-06-01 07:00:00Z", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"Z behind a space", "2024-06-01 07:00:00 Z", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"an offset behind a space", "2024-06-01 07:00:00 +02:00", "US/Pacific", "2024-06-01T05:00:00Z"},
	{"an offset behind a space, with T", "2024-06-01T07:00:00 +02:00", "US/Pacific", "2024-06-01T05:00:00Z"},
	{"an offset without a colon", "2024-06-01 07:00:00 +0230", "US/Pacific", "2024-06-01T04:30:00Z"},
	{"an offset without a colon behind a space, with T", "2024-06-01T07:00:00 -0230", "US/Pacific", "2024-06-01T09:30:00Z"},
	{"an offset without a colon, with T", "2024-06-01T07:00:00-0230", "US/Pacific", "2024-06-01T09:30:00Z"},
	{"an offset behind minutes", "2024-06-01 07:00-02:30", "US/Pacific", "2024-06-01T09:30:00Z"},
	{"a negative offset", "2024-06-01 07:00:00-07:00", "US/Pacific", "2024-06-01T14:00:00Z"},
	{"z in lower case behind a space for T", "2024-06-01 07:00:00z", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"z in lower case behind minutes", "2024-06-01T07:00z", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"t in lower case and UTC", "2024-06-01t07:00:00 UTC", "US/Pacific", ""},
	{"t in lower case and an offset behind a space", "2024-06-01t07:00:00 +0200", "US/Pacific", ""},
	{"t in lower case and an offset without a colon", "2024-06-01t07:00:00+0200", "US/Pacific", ""},
	{"utc in lower case", "2024-06-01 07:00:00 utc", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"two spaces before the offset", "2024-06-01 07:00:00  +02:00", "US/Pacific", "2024-06-01T05:00:00Z"},
	{"a space at the end", "2024-06-01 07:00:00 ", "US/Pacific", ""},
	{"GMT", "2024-06-01 07:00:00 GMT", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"the name of a zone", "2024-06-01 07:00:00 PST", "US/Pacific", "2024-06-01T15:00:00Z"},
	{"an offset of 24 hours without a colon", "2024-06-01 07:00:00 +2400", "US/Pacific", ""},
	{"an offset with another sign", "2024-06-01 07:00:00 *02:00", "US/Pacific", ""},
	{"a day and UTC", "2024-06-01 UTC", "US/Pacific", "2024-06-01T00:00:00Z"},
	{"RFC 2822", "Sat, 01 Jun 2024 09:00:00 +0200", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"RFC 2822 with one digit for the day", "Sat, 1 Jun 2024 09:00:00 +0200", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"RFC 2822 without a weekday", "01 Jun 2024 09:00:00 -0230", "US/Pacific", "2024-06-01T11:30:00Z"},
	{"RFC 2822, one digit and no weekday", "1 Jun 2024 07:00:00 GMT", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"RFC 2822 with UTC", "31 Dec 1999 23:59:59 UTC", "US/Pacific", "1999-12-31T23:59:59Z"},
	{"RFC 2822 with UT", "Fri, 31 Dec 1999 23:59:59 UT", "US/Pacific", "1999-12-31T23:59:59Z"},
	{"RFC 2822 with Z", "Fri, 31 Dec 1999 23:59:59 Z", "US/Pacific", "1999-12-31T23:59:59Z"},
	{"RFC 2822 with the wrong weekday", "Mon, 01 Jun 2024 07:00:00 GMT", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"RFC 2822 with no such weekday", "Mop, 01 Jun 2024 07:00:00 GMT", "US/Pacific", ""},
	{"RFC 2822 with a long weekday", "Saturday, 01 Jun 2024 07:00:00 GMT", "US/Pacific", ""},
	{"RFC 2822 with a long month", "01 June 2024 07:00:00 GMT", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"RFC 2822 with no such month", "01 Jux 2024 07:00:00 GMT", "US/Pacific", ""},
	{"RFC 2822 with letters of two months", "01 anF 2024 07:00:00 GMT", "US/Pacific", ""},
	{"RFC 2822 in lower case", "01 jun 2024 07:00:00 GMT", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"RFC 2822 with no such day", "31 Jun 2024 07:00:00 GMT", "US/Pacific", ""},
	{"RFC 2822 with day 0", "0 Jun 2024 07:00:00 GMT", "US/Pacific", ""},
	{"RFC 2822 with a colon for the day", ": Jun 2024 07:00:00 GMT", "US/Pacific", ""},
	{"RFC 2822 with no day", " Jun 2024 07:00:00 GMT", "US/Pacific", ""},
	{"RFC 2822 with three digits for the day", "001 Jun 2024 07:00:00 GMT", "US/Pacific", ""},
	{"RFC 2822 with two digits for the year", "01 Jun 24 07:00:00 GMT", "US/Pacific", ""},
	{"RFC 2822 without seconds", "01 Jun 2024 07:00 GMT", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"RFC 2822 with a fraction", "01 Jun 2024 07:00:00.5 GMT", "US/Pacific", "2024-06-01T07:00:00.5Z"},
	{"RFC 2822 without a zone", "01 Jun 2024 07:00:00", "US/Pacific", "2024-06-01T07:00:00Z"},
	{"RFC 2822 with a space for a zone", "01 Jun 2024 07:00:00 ", "US/Pacific", ""},
	{"RFC 2822 with a military zone", "01 Jun 2024 07:00:00 A", "US/Pacific", ""},
	{"RFC 2822 with another zone", "01 Jun 2024 07:00:00 EST", "US/Pacific", "2024-06-01T12:00:00Z"},
	{"RFC 2822 with a colon in the offset", "01 Jun 2024 07:00:00 +02:00", "US/Pacific", "2024-06-01T05:00:00Z"},
	{"RFC 2822 without a space before the zone", "01 Jun 2024 07:00:00+0200", "US/Pacific", ""},
	{"RFC 2822 with two spaces", "Sat,  1 Jun 2024 07:00:00 GMT", "US/Pacific", "2024-06-01T07:00:00Z"},
	// Anything else.
	{"nothing", "", "UTC", ""},
	{"a space", " ", "UTC", ""},
	{"a word", "yesterday", "UTC", ""},
	{"a zero byte", "2024-06-01\x00", "UTC", ""},
}

func TestParse(t *testing.T) {
	for _, tt := range forms {
		t.Run(tt.name, func(t *testing.T) {
			zone := load(t, tt.zone)
			d, ok := reldate.Parse(tt.text, zone)
			if ok != (tt.want != "") {
				t.Fatalf("Parse(%q) = %v, %v, want %v", tt.text, d, ok, !ok)
			}
			if !ok {
				if d != (reldate.Date{}) {
					t.Errorf("Parse(%q) = %v, false, want no date", tt.text, d)
				}
				return
			}
			if got, want := at(t, d, now, zone), instant(t, tt.want); !got.Equal(want) {
				t.Errorf("Parse(%q) is %v, want %v", tt.text, got.UTC(), want)
			}
			if got, want := d.Relative(), span.MatchString(tt.text); got != want {
				t.Errorf("Parse(%q) is relative: %v, want %v", tt.text, got, want)
			}
		})
	}
}

// at returns the instant of a date that there is.
func at(t *testing.T, d reldate.Date, now time.Time, zone *time.Location) time.Time {
	t.Helper()
	instant, ok := d.At(now, zone)
	if !ok {
		t.Errorf("%v before %v is not a date", d, now)
	}
	return instant
}

func TestProperty(t *testing.T) {
	for _, tt := range forms {
		if tt.text == "7" || tt.text == "20240601" {
			continue // these are numbers
		}
		t.Run(tt.name, func(t *testing.T) {
			got, ok := reldate.Property(tt.text, now, load(t, tt.zone))
			if want := instant(t, tt.want); ok != (tt.want != "") || !got.Equal(want) {
				t.Errorf("Property(%q) = %v, %v, want %v", tt.text, got.UTC(), ok, want)
			}
		})
	}
	for _, tt := range []struct{ name, text, want string }{
		{"seconds", "1717225200", "2024-06-01T07:00:00Z"},
		{"seconds with a fraction", "1717225200.25", "2024-06-01T07:00:00.25Z"},
		{"an exponent", "1.7172252e9", "2024-06-01T07:00:00Z"},
		{"a sign", "-1", "1969-12-31T23:59:59Z"},
		{"seconds, and not a day", "20240601", "1970-08-23T06:23:21Z"},
		{"seconds, and not a year", "2024", "1970-01-01T00:33:44Z"},
		{"infinity", "inf", ""},
		{"not a number", "NaN", ""},
		{"too far", "8000000000001", ""},
		{"a space", " 1717225200", ""},
		{"hexadecimal", "0x10", ""},
		{"an underscore", "1_000", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := reldate.Property(tt.text, now, time.UTC)
			if want := instant(t, tt.want); ok != (tt.want != "") || !got.Equal(want) {
				t.Errorf("Property(%q) = %v, %v, want %v", tt.text, got, ok, want)
			}
		})
	}
	// Milliseconds are not recognised; evaluation.md §4.9 rounds this year up.
	if got, ok := reldate.Property("1717225200000", now, nil); !ok || got.Year() != 56386 {
		t.Errorf("Property of milliseconds = %v, %v, want the year 56386", got, ok)
	}
}

// TestOperators checks the worked examples of evaluation.md §4.9 and the rows
// of §16.3 for dates whose filter value is a string.
func TestOperators(t *testing.T) {
	const (
		before = "before"
		after  = "after"
		exact  = "exact"
	)
	for _, tt := range []struct {
		name, operator, filter, property string
		zone                             string
		now                              time.Time
		want                             bool
	}{
		{"worked: before midnight in the zone", after, "2024-06-01", "2024-06-01T03:00:00Z", "US/Pacific", now, false},
		{"worked: after midnight in the zone", after, "2024-06-01", "2024-06-01T08:00:00Z", "US/Pacific", now, true},
		{"worked: midnight in the zone", exact, "2024-06-01", "2024-06-01T07:00:00Z", "US/Pacific", now, true},
		{"worked: seconds at midnight", after, "2024-06-01", "1717225200", "US/Pacific", now, false},
		{"worked: seconds after midnight", after, "2024-06-01", "1717225201", "US/Pacific", now, true},
		{"worked: a week, day after, after", after, "-7d", "2026-11-14", "UTC", now, true},
		{"worked: a week, day after, before", before, "-7d", "2026-11-14", "UTC", now, false},
		{"worked: a week, day itself", before, "-7d", "2026-11-13", "UTC", now, true},
		{"row 103", before, "-7d", "2026-11-13", "UTC", now, true},
		{"row 104", before, "7d", "2026-11-13", "UTC", now, true},
		{"row 105", after, "-1m", "2026-10-21", "UTC", now, true},
		{"row 105, same day", after, "-1m", "2026-10-20", "UTC", now, false},
		{"row 106", after, "-10000d", "2026-11-14", "UTC", now, false},
		{"row 107", after, "2024-06-01", "2024-06-01T03:00:00Z", "US/Pacific", now, false},
		{"row 108", after, "2024-06-01", "1717225201", "US/Pacific", now, true},
		{"row 109", exact, "2024-06-01T07:00:00Z", "2024-06-01T09:00:00+02:00", "UTC", now, true},
		{"row 112", after, "-2m", "2026-01-29", "UTC", time.Date(2026, time.March, 31, 0, 0, 0, 0, time.UTC), true},
		{"row 112, the instant itself", exact, "-2m", "2026-01-28", "UTC", time.Date(2026, time.March, 31, 0, 0, 0, 0, time.UTC), true},
		{"a date that people write", exact, "May 27, 2012", "2012/5/27", "UTC", now, true},
		{"spans on both sides", before, "-7d", "8d", "UTC", now, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			zone := load(t, tt.zone)
			d, ok1 := reldate.Parse(tt.filter, zone)
			p, ok2 := reldate.Property(tt.property, tt.now, zone)
			got := ok1 && ok2
			if got {
				switch f := at(t, d, tt.now, zone); tt.operator {
				case before:
					got = p.Before(f)
				case after:
					got = p.After(f)
				case exact:
					got = p.Equal(f)
				}
			}
			if got != tt.want {
				t.Errorf("%q is_date_%s %q = %v, want %v", tt.property, tt.operator, tt.filter, got, tt.want)
			}
		})
	}
}

// TestNumberProperty checks the rows of evaluation.md §16.3 whose property is a
// JSON number, and row 110, whose filter value is a number that is not a date
// as text.
func TestNumberProperty(t *testing.T) {
	pacific := load(t, "US/Pacific")
	d, _ := reldate.Parse("2024-06-01", pacific)
	bound := at(t, d, now, pacific)
	for x, want := range map[float64]bool{1717225200: false, 1717225200.5: true, 1717225201: true} {
		if p, ok := reldate.FromSeconds(x); !ok || p.After(bound) != want {
			t.Errorf("FromSeconds(%v) = %v, %v, after midnight: want %v", x, p, ok, want)
		}
	}
}

func TestFromSeconds(t *testing.T) {
	for _, tt := range []struct {
		name string
		x    float64
		want string // "" if it is not an instant
	}{
		{"zero", 0, "1970-01-01T00:00:00Z"},
		{"minus zero", math.Copysign(0, -1), "1970-01-01T00:00:00Z"},
		{"a fraction", 0.5, "1970-01-01T00:00:00.5Z"},
		{"a fraction before 1970", -0.25, "1969-12-31T23:59:59.75Z"},
		{"a fraction that is cut", 1.9999999999, "1970-01-01T00:00:01.999999999Z"},
		{"a fraction too small for nanoseconds", 1e-10, "1970-01-01T00:00:00Z"},
		{"the same before 1970", -1e-10, "1969-12-31T23:59:59.999999999Z"},
		{"nothing but a sign", -1e-300, "1970-01-01T00:00:00Z"},
		{"the last before one", math.Nextafter(1, 0), "1970-01-01T00:00:00.999999999Z"},
		{"NaN", math.NaN(), ""},
		{"infinity", math.Inf(1), ""},
		{"minus infinity", math.Inf(-1), ""},
		{"too far", 8000000000001, ""},
		{"just too far", math.Nextafter(8e12, 9e12), ""},
		{"too far back", -8000000000001, ""},
		{"far too far", math.MaxFloat64, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := reldate.FromSeconds(tt.x)
			if want := instant(t, tt.want); ok != (tt.want != "") || !got.Equal(want) {
				t.Errorf("FromSeconds(%v) = %v, %v, want %v", tt.x, got, ok, want)
			}
		})
	}
	for _, x := range []float64{8e12, -8e12} {
		if got, ok := reldate.FromSeconds(x); !ok || got.Unix() != int64(x) {
			t.Errorf("FromSeconds(%v) = %v, %v, want that many seconds", x, got, ok)
		}
	}
}

// TestMonths checks the examples of evaluation.md §4.9, and some around
// February.
func TestMonths(t *testing.T) {
	for _, tt := range []struct{ now, span, want string }{
		{"2026-03-31", "1m", "2026-02-28"},
		{"2026-03-31", "2m", "2026-01-28"},
		{"2024-03-31", "1m", "2024-02-29"},
		{"2024-03-31", "2m", "2024-01-29"},
		{"2024-03-31", "13m", "2023-02-28"},
		{"2024-03-31", "14m", "2023-01-28"},
		{"2026-05-31", "1m", "2026-04-30"},
		{"2026-05-31", "2m", "2026-03-30"},
		{"2026-01-31", "1m", "2025-12-31"},
		{"2024-02-29", "1y", "2023-02-28"},
		{"2024-02-29", "4y", "2020-02-29"},
		{"2026-12-31", "1y", "2025-12-31"},
		{"2024-12-31", "1y", "2023-12-31"},
		{"2026-12-31", "12m", "2025-12-28"},
		{"2024-02-28", "1y", "2023-02-28"},
		{"2028-02-29", "128y", "1900-02-28"},
		{"2024-03-31", "1y", "2023-03-31"},
		{"2026-12-28", "9999m", "1193-09-28"},
		{"2026-11-20", "12m", "2025-11-20"},
		{"2100-03-31", "1m", "2100-02-28"},
	} {
		t.Run(tt.now+" "+tt.span, func(t *testing.T) {
			now := instant(t, tt.now+"T06:30:15Z")
			d, ok := reldate.Parse(tt.span, time.UTC)
			if got, want := at(t, d, now, nil), instant(t, tt.want+"T06:30:15Z"); !ok || !got.Equal(want) {
				t.Errorf("%s before %v is %v, want %v", tt.span, now, got, want)
			}
		})
	}
}

// TestMonthsStepping compares all days of eight years with stepping month by
// month.
func TestMonthsStepping(t *testing.T) {
	spans := []string{"0m", "1m", "2m", "3m", "11m", "12m", "13m", "24m", "25m", "37m", "1y", "2y", "3y", "50m", "9y", "1199m"}
	if fulltest.Enabled() {
		spans = append(spans, "999y")
	}
	vienna := load(t, "Europe/Vienna")
	for day := range 8 * 366 {
		at := time.Date(1996, time.January, 1+day, 1, 2, 3, 4, vienna)
		for _, span := range spans {
			d, _ := reldate.Parse(span, vienna)
			got, ok := d.At(at, vienna)
			want, wantOK := reference.Date(span, false, at, vienna)
			if ok != wantOK || !got.Equal(want) {
				t.Fatalf("%s before %v is %v, %v, want %v, %v", span, at, got, ok, want, wantOK)
			}
			if len(span) > 4 && day%50 != 0 {
				break // long spans would take too long
			}
		}
	}
	for _, now := range []time.Time{
		time.Date(2024, time.March, 31, 0, 0, 0, 0, time.UTC),
		time.Date(2024, time.February, 29, 0, 0, 0, 0, time.UTC),
		time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC),
	} {
		d, _ := reldate.Parse("9999y", nil)
		want, _ := reference.Date("9999y", false, now, time.UTC)
		if got := at(t, d, now, nil); !got.Equal(want) {
			t.Errorf("9999 years before %v is %v, want %v", now, got, want)
		}
	}
}

// TestDays compares the first and the last day of each month with package time, through
// two of the 400 years after which the calendar repeats itself, and in the last year.
func TestDays(t *testing.T) {
	for year := range 801 {
		if year == 800 {
			year = 9999
		}
		for month := time.January; month <= time.December; month++ {
			for _, want := range []time.Time{
				time.Date(year, month, 1, 0, 0, 0, 0, time.UTC),
				time.Date(year, month+1, 0, 23, 59, 59, 999_999_999, time.UTC),
			} {
				text := want.Format(time.RFC3339Nano)
				if got, ok := reldate.Property(text, now, nil); !ok || !got.Equal(want) {
					t.Fatalf("%s is %v, %v", text, got, ok)
				}
			}
		}
	}
}

// TestSpansInZones checks that all units are taken off the wall clock of the zone.
func TestSpansInZones(t *testing.T) {
	pacific := load(t, "US/Pacific")
	monday := time.Date(2024, time.November, 4, 12, 0, 0, 0, pacific) // the day after the change of clocks
	for span, want := range map[string]string{
		"2d":  "2024-11-02T19:00:00Z",
		"48h": "2024-11-02T19:00:00Z",
		"1w":  "2024-10-28T19:00:00Z",
		"1m":  "2024-10-04T19:00:00Z",
		"1y":  "2023-11-04T19:00:00Z",
	} {
		d, _ := reldate.Parse(span, pacific)
		if got := at(t, d, monday, pacific); !got.Equal(instant(t, want)) {
			t.Errorf("%s before %v is %v, want %v", span, monday, got.UTC(), want)
		}
	}
	// In spring the hour from 2 does not occur, in autumn the hour from 1 is there twice.
	for _, tt := range []struct{ now, span, want string }{
		{"2024-03-11T09:30:00Z", "1d", ""},
		{"2024-03-10T10:30:00Z", "1h", ""},
		{"2024-03-10T10:30:00Z", "2h", "2024-03-10T09:30:00Z"},
		{"2024-11-04T09:30:00Z", "1d", "2024-11-03T08:30:00Z"},
		{"2024-11-03T10:30:00Z", "1h", "2024-11-03T08:30:00Z"},
	} {
		d, _ := reldate.Parse(tt.span, pacific)
		got, ok := d.At(instant(t, tt.now), pacific)
		if ok != (tt.want != "") || ok && !got.Equal(instant(t, tt.want)) {
			t.Errorf("%s before %s is %v, %v, want %q", tt.span, tt.now, got.UTC(), ok, tt.want)
		}
	}
	// The clock of the zone counts, not the location of now.
	d, _ := reldate.Parse("1m", pacific)
	night := time.Date(2024, time.March, 1, 3, 0, 0, 0, time.UTC) // 29 February in the zone
	if got, want := at(t, d, night, pacific), instant(t, "2024-01-30T03:00:00Z"); !got.Equal(want) {
		t.Errorf("1m before %v is %v, want %v", night, got.UTC(), want)
	}
	// A monotonic clock reading is ignored.
	h, _ := reldate.Parse("1h", nil)
	started := time.Now()
	if got, want := at(t, h, started, nil), started.Round(0).Add(-time.Hour).UTC(); got != want {
		t.Errorf("1h before %v is %v, want %v", started, got, want)
	}
}

func TestNilZone(t *testing.T) {
	for _, s := range []string{"2024-06-01", "2024-06-01 07:30", "7d", "1m", "2024-06-01T07:00:00Z"} {
		got, ok1 := reldate.Property(s, now, nil)
		want, ok2 := reldate.Property(s, now, time.UTC)
		if !ok1 || !ok2 || !got.Equal(want) {
			t.Errorf("Property(%q) = %v without a zone and %v in UTC", s, got, want)
		}
	}
}

// TestTime checks that the time to read a text is linear in its length.
func TestTime(t *testing.T) {
	const n = 1_000_000
	start := time.Now()
	for _, s := range []string{
		strings.Repeat("x", n), strings.Repeat(" ", n), strings.Repeat("1", n), strings.Repeat("-", n), strings.Repeat("0", n) + "7d",
		strings.Repeat("9", n) + "d", "2024-06-01T07:00:00." + strings.Repeat("1", n) + "Z", "2024-06-01 " + strings.Repeat("0", n),
		"Mon, " + strings.Repeat("1", n), "1e" + strings.Repeat("9", n), "0." + strings.Repeat("0", n) + "1", "1 " + strings.Repeat("Jan ", n/4),
	} {
		reldate.Property(s, now, time.UTC)
		reldate.Parse(s, time.UTC)
	}
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("24 texts of %d bytes took %v", n, d)
	}
}

func FuzzProperty(f *testing.F) {
	zones := []*time.Location{time.UTC, load(f, "US/Pacific"), load(f, "Australia/Lord_Howe"), load(f, "America/Sao_Paulo"), load(f, "Pacific/Apia"), time.FixedZone("", -3*3600-30*60)}
	for i, tt := range forms {
		f.Add(tt.text, now.Unix(), byte(i))
	}
	for _, tt := range written {
		f.Add(tt.text, now.Unix(), byte(0))
	}
	for _, s := range []string{"1717225200", "1717225200000", "1717225200000000000", "-1.5", "1e3", "inf", "NaN", "8e12"} {
		f.Add(s, int64(0), byte(0))
	}
	f.Fuzz(func(t *testing.T, s string, seconds int64, z byte) {
		if len(s) > 300 {
			return
		}
		at := time.Unix(seconds%(1<<36), 123456789)
		zone := zones[int(z)%len(zones)]
		got, ok := reldate.Property(s, at, zone)
		want, wantOK := reference.Date(s, true, at, zone)
		if ok != wantOK || !got.Equal(want) {
			t.Fatalf("Property(%q, %v, %v) = %v, %v, want %v, %v", s, at.UTC(), zone, got.UTC(), ok, want.UTC(), wantOK)
		}
		d, ok := reldate.Parse(s, zone)
		want, wantOK = reference.Date(s, false, at, zone)
		if ok {
			got, ok = d.At(at, zone)
		}
		if ok != wantOK || ok && !got.Equal(want) {
			t.Fatalf("Parse(%q, %v) = %v, %v, want %v, %v", s, zone, got.UTC(), ok, want.UTC(), wantOK)
		}
		if other, _ := d.At(time.Time{}, nil); ok && !d.Relative() && !other.Equal(got) {
			t.Fatalf("Parse(%q) depends on now", s)
		}
	})
}

// FuzzWall makes wall times around the changes of clocks.
func FuzzWall(f *testing.F) {
	names := []string{"US/Pacific", "Europe/Vienna", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "America/Havana", "Asia/Gaza", "Africa/Casablanca", "Antarctica/Troll"}
	zones := make([]*time.Location, len(names))
	for i, name := range names {
		zones[i] = load(f, name)
		f.Add(byte(i), int64(1710000000), int16(0))
		f.Add(byte(i), int64(1730000000), int16(-1800))
	}
	f.Fuzz(func(t *testing.T, z byte, seconds int64, distance int16) {
		zone := zones[int(z)%len(zones)]
		at := time.Unix(seconds%(1<<33), 0).In(zone)
		if _, end := at.ZoneBounds(); !end.IsZero() {
			at = end
		}
		_, offset := at.Zone()
		s := at.Add(time.Duration(offset)*time.Second + time.Duration(distance)*time.Second).UTC().Format("2006-01-02 15:04:05")
		got, ok := reldate.Property(s, now, zone)
		want, wantOK := reference.Date(s, true, now, zone)
		if ok != wantOK || !got.Equal(want) {
			t.Fatalf("Property(%q) in %v = %v, %v, want %v, %v", s, zone, got.UTC(), ok, want.UTC(), wantOK)
		}
	})
}

// obviousSeconds cuts fractions to whole nanoseconds, after the arithmetic of
// float64.
func obviousSeconds(x float64) time.Time {
	whole := new(big.Float).SetMode(big.ToNegativeInf).SetPrec(100).SetFloat64(x)
	seconds, accuracy := whole.Int(nil)
	if accuracy != big.Exact && x < 0 {
		seconds.Sub(seconds, big.NewInt(1)) // Int rounds towards zero
	}
	n, _ := new(big.Float).SetInt(seconds).Float64()
	return time.Unix(seconds.Int64(), 0).Add(time.Duration(math.Floor((x - n) * 1e9)))
}

func FuzzFromSeconds(f *testing.F) {
	for _, x := range []float64{0, 1.5, -1.5, 1717225200.123, 8e12, -8e12, 1e-300, -1e-300, math.Inf(1), math.NaN()} {
		f.Add(x)
	}
	f.Fuzz(func(t *testing.T, x float64) {
		got, ok := reldate.FromSeconds(x)
		if want := x >= -8e12 && x <= 8e12; ok != want {
			t.Fatalf("FromSeconds(%v) = %v, %v, want %v", x, got, ok, want)
		}
		if ok && !got.Equal(obviousSeconds(x)) {
			t.Fatalf("FromSeconds(%v) = %v, want %v", x, got, obviousSeconds(x).UTC())
		}
	})
}

func TestNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, tt := range forms {
		zone := load(t, tt.zone)
		d, _ := reldate.Parse(tt.text, zone)
		n := testing.AllocsPerRun(100, func() {
			reldate.Property(tt.text, now, zone)
			reldate.Parse(tt.text, zone)
			d.At(now, zone)
		})
		if n != 0 {
			t.Errorf("%q costs %v allocations, want 0", tt.text, n)
		}
	}
}

func BenchmarkProperty(b *testing.B) {
	pacific := load(b, "US/Pacific")
	for _, tt := range []struct {
		name, text string
		zone       *time.Location
	}{
		{"RFC 3339", "2024-06-01T07:00:00Z", pacific},
		{"RFC 3339 with offset and fraction", "2024-06-01T07:00:00.123+02:00", pacific},
		{"day, UTC", "2024-06-01", time.UTC},
		{"day in a zone", "2024-06-01", pacific},
		{"day in a zone, later", "2044-06-01", pacific},
		{"seconds", "1717225200", pacific},
		{"days ago, UTC", "7d", time.UTC},
		{"days ago in a zone", "7d", pacific},
		{"months ago", "18m", time.UTC},
		{"RFC 2822", "Sat, 01 Jun 2024 09:00:00 +0200", pacific},
		{"no date", "enterprise", pacific},
	} {
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				reldate.Property(tt.text, now, tt.zone)
			}
		})
	}
}

// BenchmarkFloor measures time.Parse for RFC 3339.
func BenchmarkFloor(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := time.Parse(time.RFC3339, "2024-06-01T07:00:00Z"); err != nil {
			b.Fatal(err)
		}
	}
}
