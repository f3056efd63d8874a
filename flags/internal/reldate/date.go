package reldate

import (
	"cmp"
	"math"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/numeral"
)

// A Date is the value of a date operator: an instant, a day of the year of now, or a
// span before now. The zero Date is the instant of the zero time.Time.
type Date struct {
	instant time.Time // with lacksYear: in a leap year
	count   int       // how many units before now
	unit    byte      // one of h, d, w, m and y, or 0 if it is not a span
	lacks   lack
}

// Parse reads a date in one of the forms of evaluation.md §4.9. Forms 3 and 4
// are dates in the zone; nil is UTC. Parse reports false if s is not a date.
func Parse(s string, zone *time.Location) (Date, bool) {
	if isCalendar(s) {
		if t, ok := parseCalendar(s, zone); ok {
			return Date{instant: t}, true
		}
	}
	if d, ok := parseSpan(s); ok {
		return d, true
	}
	if t, ok := parseEpoch(s); ok {
		return Date{instant: t}, true
	}
	d, _, ok := parseForm(s, zone)
	return d, ok
}

// IsTime reports whether s is a time of a day without the day, which is not a date.
func IsTime(s string) bool {
	_, lacks, _ := parseForm(s, nil)
	return lacks == lacksDate
}

// LacksYear reports whether d is a day without a year: it is one of the year of now,
// in UTC.
func (d *Date) LacksYear() bool { return d.lacks == lacksYear }

// LacksDay reports whether d is a month, which counts as its first day.
func (d *Date) LacksDay() bool { return d.lacks == lacksDay }

// Relative reports whether d depends on now.
func (d *Date) Relative() bool { return d.unit != 0 || d.LacksYear() }

// At returns the instant of d. A relative date is taken off the wall clock of the
// zone; nil is UTC (evaluation.md §4.9). If this leads to a wall time that occurs
// twice, the result is the earlier instant; if the wall time does not occur, there is
// none and At reports false. The location of the result is unspecified.
func (d *Date) At(now time.Time, zone *time.Location) (time.Time, bool) {
	if d.unit == 0 {
		if !d.LacksYear() {
			return d.instant, true
		}
		t := d.instant.AddDate(now.UTC().Year()-leapYear, 0, 0)
		if t.Day() != d.instant.Day() { // there is no 29 February
			return time.Time{}, false
		}
		return t, true
	}
	zone = cmp.Or(zone, time.UTC)
	now = now.Round(0).In(zone)
	if back, ok := d.fixed(); ok && zone == time.UTC {
		return now.Add(-back), true // its clocks are never changed
	}
	year, month, day := now.Date()
	hour, minute, second := now.Clock()
	back, _ := d.fixed()
	switch d.unit {
	case 'm':
		year, month, day = monthsBefore(d.count, year, month, day)
	case 'y':
		year -= d.count
		day = min(day, daysIn(year, month))
	}
	// What a clock in the zone shows, as if the zone were UTC.
	shown := time.Date(year, month, day, hour, minute, second, now.Nanosecond(), time.UTC).Add(-back)
	return firstShown(shown, zone)
}

// fixed returns the length of a span of hours, days or weeks.
func (d *Date) fixed() (back time.Duration, ok bool) {
	switch d.unit {
	case 'h':
		return time.Duration(d.count) * time.Hour, true
	case 'd':
		return time.Duration(d.count) * 24 * time.Hour, true
	case 'w':
		return time.Duration(d.count) * 7 * 24 * time.Hour, true
	}
	return 0, false
}

// monthsBefore goes back n months, one by one. If a month is too short, the day
// becomes its last day. The resulting month may be out of range, as time.Date
// allows.
//
// It stops stepping when the day can no longer change. The first February, at
// most twelve steps away, brings the day to 29 or less, and the first one
// outside a leap year brings it to 28.
func monthsBefore(n, year int, month time.Month, day int) (int, time.Month, int) {
	for ; n > 0 && day > 28; n-- {
		if month--; month == 0 {
			year, month = year-1, time.December
		}
		day = min(day, daysIn(year, month))
	}
	return year, month - time.Month(n), day
}

func daysIn(year int, month time.Month) int {
	switch month {
	case time.February:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case time.April, time.June, time.September, time.November:
		return 30
	default:
		return 31
	}
}

// FromSeconds returns the instant x seconds after the start of 1970, with
// fractions cut to nanoseconds (evaluation.md §4.9). It reports false if x is
// NaN or further away than 8e12 seconds, a quarter of a million years.
func FromSeconds(x float64) (time.Time, bool) {
	const limit = 8.0e12
	if !(math.Abs(x) <= limit) {
		return time.Time{}, false
	}
	seconds := math.Floor(x)
	return time.Unix(int64(seconds), int64((x-seconds)*1e9)).UTC(), true
}

// Property returns the instant that the text of a property means (evaluation.md
// §4.9). The text is seconds since the start of 1970 if it is a number by
// [numeral.Float], else a date as for [Parse] and [Date.At]. Property reports
// false if s is neither.
func Property(s string, now time.Time, zone *time.Location) (time.Time, bool) {
	if isCalendar(s) { // numbers and spans do not have two hyphens inside
		if t, ok := parseCalendar(s, zone); ok {
			return t, true
		}
	}
	if x, ok := numeral.Float(s); ok {
		return FromSeconds(x)
	}
	if d, ok := parseSpan(s); ok {
		return d.At(now, zone)
	}
	if d, _, ok := parseForm(s, zone); ok {
		return d.At(now, zone)
	}
	return time.Time{}, false
}

// parseEpoch reads a number of seconds, milliseconds or nanoseconds since the start of
// 1970, which its digits tell apart.
func parseEpoch(s string) (time.Time, bool) {
	n := int64(0)
	for i := range len(s) {
		if s[i]-'0' > 9 || i == 19 {
			return time.Time{}, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	switch len(s) {
	case 10:
		return time.Unix(n, 0).UTC(), true
	case 13:
		return time.UnixMilli(n).UTC(), true
	case 19:
		return time.Unix(0, n).UTC(), n >= 0 // it may be beyond what 64 bits have
	}
	return time.Time{}, false
}

// parseSpan reads form 1.
func parseSpan(s string) (Date, bool) {
	if s == "" {
		return Date{}, false
	}
	unit := s[len(s)-1]
	switch unit {
	case 'h', 'd', 'w', 'm', 'y':
	default:
		return Date{}, false
	}
	digits := s[:len(s)-1]
	if digits != "" && digits[0] == '-' {
		digits = digits[1:]
	}
	n := 0
	for i := range len(digits) {
		c := digits[i] - '0'
		if c > 9 {
			return Date{}, false
		}
		if n = n*10 + int(c); n >= 10_000 {
			return Date{}, false
		}
	}
	return Date{count: n, unit: unit}, digits != ""
}
