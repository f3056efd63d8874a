package reldate

import (
	"strings"
	"time"
)

// The usual forms are parsed by hand: time.Parse allocates an error for each layout
// that does not fit, and accepts more than it should, such as a comma before the
// fraction. The file free.go reads other spaces and fewer digits.

// A wall is the reading of a calendar and a clock.
type wall struct {
	year, month, day, hour, minute, second, nanosecond int
}

// isCalendar reports whether s begins like YYYY-MM-DD.
func isCalendar(s string) bool {
	return len(s) >= len("2006-01-02") && s[4] == '-' && s[7] == '-'
}

// parseCalendar reads the forms that begin with YYYY-MM-DD.
func parseCalendar(s string, zone *time.Location) (time.Time, bool) {
	w := wall{year: fourDigits(s), month: twoDigits(s, 5), day: twoDigits(s, 8)}
	s = s[10:]
	if s == "" { // form 3
		return w.in(zone)
	}
	if len(s) < len("T15:04") || s[3] != ':' {
		return time.Time{}, false
	}
	separator := s[0]
	w.hour, w.minute = twoDigits(s, 1), twoDigits(s, 4)
	s = s[6:]
	seconds := len(s) >= len(":05") && s[0] == ':'
	if seconds {
		w.second = twoDigits(s, 1)
		s = s[3:]
		if s != "" && s[0] == '.' {
			var ok bool
			if w.nanosecond, s, ok = fraction(s[1:]); !ok {
				return time.Time{}, false
			}
		}
	}

	// Only form 2, RFC 3339, has letters in lower case.
	if seconds && (separator == 'T' || separator == 't') &&
		(s == "Z" || s == "z" || len(s) == len("+07:00") && s[0] != ' ') {
		separator = 'T'
		if s == "z" {
			s = "Z"
		}
	}
	if separator != ' ' && separator != 'T' {
		return time.Time{}, false
	}
	if s == "" { // form 4
		return w.in(zone)
	}
	s = strings.TrimPrefix(s, " ") // forms 2 and 5
	if s == "UTC" {
		return w.at(0)
	}
	offset, ok := parseOffset(s)
	if !ok {
		return time.Time{}, false
	}
	return w.at(offset)
}

// twoDigits returns the number with the two digits at s[i], or -1 if they are not
// digits.
func twoDigits(s string, i int) int {
	a, b := s[i]-'0', s[i+1]-'0'
	if a > 9 || b > 9 {
		return -1
	}
	return int(a)*10 + int(b)
}

// fourDigits returns the number with the four digits at the start of s, or a negative
// number if they are not digits.
func fourDigits(s string) int {
	high, low := twoDigits(s, 0), twoDigits(s, 2)
	if low < 0 {
		return -1
	}
	return high*100 + low
}

// fraction reads the digits of a fraction of a second. Digits after the ninth
// do not count.
func fraction(s string) (nanoseconds int, rest string, ok bool) {
	i, unit := 0, 100_000_000
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		nanoseconds += unit * int(s[i]-'0')
		unit /= 10
	}
	return nanoseconds, s[i:], i > 0
}

// parseOffset reads Z, +07:00 or +0700 and returns the seconds east of UTC.
func parseOffset(s string) (int, bool) {
	if s == "Z" {
		return 0, true
	}
	var minutes int
	switch {
	case len(s) == len("+0700"):
		minutes = twoDigits(s, 3)
	case len(s) == len("+07:00") && s[3] == ':':
		minutes = twoDigits(s, 4)
	default:
		return 0, false
	}
	hours := twoDigits(s, 1)
	if uint(hours) > 23 || uint(minutes) > 59 {
		return 0, false
	}
	offset := (hours*60 + minutes) * 60
	switch s[0] {
	case '+':
		return offset, true
	case '-':
		return -offset, true
	}
	return 0, false
}

// valid reports whether this date and this time of day exist.
func (w *wall) valid() bool {
	return w.year >= 0 &&
		uint(w.month-1) < 12 &&
		uint(w.day-1) < uint(daysIn(w.year, time.Month(w.month))) &&
		uint(w.hour) < 24 && uint(w.minute) < 60 && uint(w.second) <= 60 // 60 is the second after 59
}

// at returns the instant at which a clock with this offset, in seconds east of
// UTC, shows w.
func (w *wall) at(offset int) (time.Time, bool) {
	if !w.valid() {
		return time.Time{}, false
	}
	seconds := int64(w.days())*24*3600 + int64((w.hour*60+w.minute)*60+w.second-offset)
	return time.Unix(seconds, int64(w.nanosecond)).UTC(), true
}

// days returns the days from 1970-01-01 to a date that exists. [time.Date] takes twice the
// time, since it accepts others, too.
func (w *wall) days() int {
	// Years begin in March, so that the day that only some years have is their last one.
	year, month := w.year, w.month-3
	if month < 0 {
		year, month = year-1, month+12
	}
	year += 400 // not negative: the calendar repeats itself every 400 years
	const (
		every400  = 400*365 + 97
		until1970 = 719_468 // from 0000-03-01
	)
	return year*365 + year/4 - year/100 + year/400 + (153*month+2)/5 + w.day - 1 - every400 - until1970
}

// in returns the first instant at which clocks in the zone show w. It reports
// false if there is none.
func (w *wall) in(zone *time.Location) (time.Time, bool) {
	t, ok := w.at(0)
	if !ok || zone == nil {
		return t, ok
	}
	return firstShown(t, zone)
}

// firstShown returns the first instant at which clocks in the zone show what clocks
// in UTC show at t. It reports false if there is none.
func firstShown(t time.Time, zone *time.Location) (time.Time, bool) {
	if zone == time.UTC {
		return t, true
	}
	// Around t, the zone has periods with one offset each, mostly a single one.
	// All offsets are smaller than margin, so the instant is less than margin
	// away from t.
	const margin = 26 * time.Hour
	last := t.Add(margin)
	for at := t.Add(-margin).In(zone); ; {
		_, offset := at.Zone()
		start, end := at.ZoneBounds()
		instant := t.Add(-time.Duration(offset) * time.Second)
		if (start.IsZero() || !instant.Before(start)) && (end.IsZero() || instant.Before(end)) {
			return instant, true
		}
		if end.IsZero() || end.After(last) {
			return time.Time{}, false
		}
		at = end
	}
}
