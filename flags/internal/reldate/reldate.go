package reldate

import (
	"math"
	"time"

	"github.com/flagstaff-go/flagstaff/flags/internal/text"
)

// A Date is an instant, or a span back from now.
type Date struct {
	at   time.Time
	n    int
	unit byte // 'h', 'd', 'w', 'm' or 'y'; 0: at counts
}

// maxDate is the longest text that can be a date.
const maxDate = 64

// Parse reads a date in one of the forms of evaluation.md §4.9, tried in the
// order given there. A nil zone is UTC.
func Parse(s string, zone *time.Location) (Date, bool) {
	if len(s) < 2 || len(s) > maxDate {
		return Date{}, false
	}
	if n, unit, ok := span(s); ok {
		return Date{n: n, unit: unit}, true
	}
	if zone == nil {
		zone = time.UTC
	}
	t, ok := instant(s, zone)
	return Date{at: t}, ok
}

// span reads a number below 10,000 with a unit. The sign does not matter: spans
// always go back.
func span(s string) (n int, unit byte, ok bool) {
	unit = s[len(s)-1]
	switch unit {
	case 'h', 'd', 'w', 'm', 'y':
	default:
		return 0, 0, false
	}
	digits := s[:len(s)-1]
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if digits == "" {
		return 0, 0, false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, 0, false
		}
		if n = n*10 + int(digits[i]-'0'); n >= 10_000 {
			return 0, 0, false
		}
	}
	return n, unit, true
}

// Relative reports whether d is a span.
func (d Date) Relative() bool { return d.unit != 0 }

// At returns the instant that d means at the moment now. Days, weeks, months
// and years are those of the calendar in the zone; nil is UTC.
func (d Date) At(now time.Time, zone *time.Location) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	switch d.unit {
	case 0:
		return d.at
	case 'h':
		return now.Add(-time.Duration(d.n) * time.Hour)
	case 'd':
		return now.In(zone).AddDate(0, 0, -d.n)
	case 'w':
		return now.In(zone).AddDate(0, 0, -7*d.n)
	case 'm':
		return monthsBack(now.In(zone), d.n)
	default:
		return monthsBack(now.In(zone), 12*d.n)
	}
}

// monthsBack goes back month by month. The day is cut to each month on the way
// and not restored: two months before 31 March is 28 or 29 January.
func monthsBack(t time.Time, n int) time.Time {
	year, month, day := t.Date()
	for ; n > 0 && day > 28; n-- {
		if month--; month == 0 {
			year, month = year-1, time.December
		}
		day = min(day, daysIn(year, month))
	}
	hour, minute, second := t.Clock()
	// No month is shorter than 28 days, so the rest needs no cutting.
	return time.Date(year, month-time.Month(n), day, hour, minute, second, t.Nanosecond(), t.Location())
}

func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// maxSeconds bounds epoch seconds to the years that calendars know.
const maxSeconds = 8.0e12

// FromSeconds takes a number as seconds since 1970.
func FromSeconds(x float64) (time.Time, bool) {
	if !(math.Abs(x) <= maxSeconds) {
		return time.Time{}, false
	}
	whole := math.Floor(x)
	return time.Unix(int64(whole), int64(math.Floor((x-whole)*1e9))), true
}

// Property reads the text of a property: epoch seconds, or a date.
func Property(s string, now time.Time, zone *time.Location) (time.Time, bool) {
	if x, ok := text.Float(s); ok {
		return FromSeconds(x)
	}
	d, ok := Parse(s, zone)
	if !ok {
		return time.Time{}, false
	}
	return d.At(now, zone), true
}
