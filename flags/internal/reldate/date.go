package reldate

import (
	"math"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A Date is the value of a date operator: an instant, or a span before now. The
// zero Date is the instant that time.Time's zero value stands for.
type Date struct {
	instant time.Time
	count   int  // how many units before now
	unit    byte // one of h, d, w, m and y, or 0 for an instant
}

// Parse reads a date in one of the forms of evaluation.md §4.9. The zone is
// that in which forms 3 and 4 are meant; nil is UTC. It reports false if s is
// no date.
func Parse(s string, zone *time.Location) (Date, bool) {
	if isCalendar(s) {
		t, ok := parseCalendar(s, zone)
		return Date{instant: t}, ok
	}
	if d, ok := parseSpan(s); ok {
		return d, true
	}
	t, ok := parseMail(s)
	return Date{instant: t}, ok
}

// Relative reports whether d depends on now.
func (d Date) Relative() bool { return d.unit != 0 }

// At returns the instant of d. For a relative date the span counts back from
// now, and the zone is the one whose wall clock moves; nil is UTC
// (evaluation.md §4.9). Where that leads to a wall time that occurs twice or
// not at all, the result is that of time.Date. The location of the result is
// unspecified.
func (d Date) At(now time.Time, zone *time.Location) time.Time {
	switch d.unit {
	case 0:
		return d.instant
	case 'h':
		return now.Round(0).Add(-time.Duration(d.count) * time.Hour)
	}
	if zone == nil || zone == time.UTC {
		// No day of UTC is longer or shorter than another.
		const day = 24 * time.Hour
		switch d.unit {
		case 'd':
			return now.Round(0).Add(-time.Duration(d.count) * day)
		case 'w':
			return now.Round(0).Add(-time.Duration(d.count) * 7 * day)
		}
		zone = time.UTC
	}
	now = now.In(zone)
	year, month, day := now.Date()
	switch d.unit {
	case 'd':
		day -= d.count
	case 'w':
		day -= 7 * d.count
	case 'm':
		year, month, day = monthsBefore(d.count, year, month, day)
	case 'y':
		year, month, day = monthsBefore(12*d.count, year, month, day)
	}
	hour, minute, second := now.Clock()
	return time.Date(year, month, day, hour, minute, second, now.Nanosecond(), zone)
}

// monthsBefore goes back n months, one by one, each time to the last day of the
// month if the month is too short. The resulting month may be out of range, as
// time.Date allows.
//
// Steps are taken only while the day may still have to change. The first
// February, at most twelve steps away, brings it to 29 or less, and the one
// after a leap year's to 28.
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

// FromSeconds returns the instant x seconds after the start of 1970, fractions
// cut to nanoseconds (evaluation.md §4.9). It reports false if x is NaN or
// further away than 8e12 seconds, a quarter of a million years.
func FromSeconds(x float64) (time.Time, bool) {
	const limit = 8.0e12
	if !(math.Abs(x) <= limit) {
		return time.Time{}, false
	}
	seconds := math.Floor(x)
	return time.Unix(int64(seconds), int64((x-seconds)*1e9)).UTC(), true
}

// Property returns the instant that a property's text stands for
// (evaluation.md §4.9): seconds since the start of 1970 if it is a number in
// the sense of [text.Float], else a date as [Parse] and [Date.At] read it. It
// reports false if s is neither.
func Property(s string, now time.Time, zone *time.Location) (time.Time, bool) {
	if isCalendar(s) { // neither a number nor a span has two hyphens inside
		return parseCalendar(s, zone)
	}
	if x, ok := text.Float(s); ok {
		return FromSeconds(x)
	}
	if d, ok := parseSpan(s); ok {
		return d.At(now, zone), true
	}
	return parseMail(s)
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
