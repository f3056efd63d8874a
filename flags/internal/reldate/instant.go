package reldate

import (
	"strings"
	"time"
)

// The forms 2 to 5 are parsed by hand: time.Parse allocates an error for each
// layout that does not fit, and accepts more than it should, such as a comma
// before the fraction.

// A wall is what a calendar and a clock show.
type wall struct {
	year, month, day, hour, minute, second, nanosecond int
}

// parseInstant reads the forms 2 to 5.
func parseInstant(s string, zone *time.Location) (time.Time, bool) {
	if len(s) >= len("2006-01-02") && s[4] == '-' && s[7] == '-' {
		return parseCalendar(s, zone)
	}
	return parseMail(s)
}

// parseCalendar reads the forms that begin with YYYY-MM-DD.
func parseCalendar(s string, zone *time.Location) (time.Time, bool) {
	w := wall{year: number(s[:4]), month: number(s[5:7]), day: number(s[8:10])}
	s = s[10:]
	if s == "" { // form 3
		return w.in(zone)
	}
	if len(s) < len("T15:04") || s[3] != ':' {
		return time.Time{}, false
	}
	separator := s[0]
	w.hour, w.minute = number(s[1:3]), number(s[4:6])
	s = s[6:]
	seconds := len(s) >= len(":05") && s[0] == ':'
	if seconds {
		w.second = number(s[1:3])
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

// parseMail reads what form 5 has from RFC 2822.
func parseMail(s string) (time.Time, bool) {
	if len(s) > len("Mon, 02 Jan 2006 15:04:05 -0700") {
		return time.Time{}, false
	}
	if len(s) > 5 && s[3] == ',' && s[4] == ' ' {
		if indexName("SunMonTueWedThuFriSat", s[:3]) < 0 {
			return time.Time{}, false
		}
		s = s[5:]
	}
	day, s, ok := strings.Cut(s, " ")
	const rest = "Jan 2006 15:04:05 "
	if !ok || len(day) > 2 || len(s) < len(rest) ||
		s[3] != ' ' || s[8] != ' ' || s[11] != ':' || s[14] != ':' || s[17] != ' ' {
		return time.Time{}, false
	}
	w := wall{
		year:   number(s[4:8]),
		month:  1 + indexName("JanFebMarAprMayJunJulAugSepOctNovDec", s[:3]),
		day:    number(day),
		hour:   number(s[9:11]),
		minute: number(s[12:14]),
		second: number(s[15:17]),
	}
	switch s = s[len(rest):]; {
	case s == "GMT" || s == "UTC" || s == "UT":
		return w.at(0)
	case len(s) == len("Z") || len(s) == len("+0700"):
		offset, ok := parseOffset(s)
		if !ok {
			return time.Time{}, false
		}
		return w.at(offset)
	}
	return time.Time{}, false
}

// indexName returns which of the three-letter names is name, or -1.
func indexName(names, name string) int {
	for i := 0; i < len(names); i += 3 {
		if names[i:i+3] == name {
			return i / 3
		}
	}
	return -1
}

// number returns the value of a few digits, or -1 if there is anything else.
func number(digits string) int {
	if digits == "" {
		return -1
	}
	n := 0
	for i := range len(digits) {
		c := digits[i] - '0'
		if c > 9 {
			return -1
		}
		n = n*10 + int(c)
	}
	return n
}

// fraction reads the digits behind the point of a second. Those after the ninth
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
		minutes = number(s[3:5])
	case len(s) == len("+07:00") && s[3] == ':':
		minutes = number(s[4:6])
	default:
		return 0, false
	}
	hours := number(s[1:3])
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

// valid reports whether the calendar and the clock have such a date and time.
func (w *wall) valid() bool {
	return w.year >= 0 &&
		uint(w.month-1) < 12 &&
		uint(w.day-1) < uint(daysIn(w.year, time.Month(w.month))) &&
		uint(w.hour) < 24 && uint(w.minute) < 60 && uint(w.second) < 60
}

// at returns the instant at which clocks so many seconds east of UTC show w.
func (w *wall) at(offset int) (time.Time, bool) {
	if !w.valid() {
		return time.Time{}, false
	}
	t := time.Date(w.year, time.Month(w.month), w.day, w.hour, w.minute, w.second, w.nanosecond, time.UTC)
	if offset != 0 {
		t = t.Add(-time.Duration(offset) * time.Second)
	}
	return t, true
}

// in returns the first instant at which clocks in the zone show w. It reports
// false if they never do.
func (w *wall) in(zone *time.Location) (time.Time, bool) {
	t, ok := w.at(0)
	if !ok || zone == nil || zone == time.UTC {
		return t, ok
	}
	// Around t the zone has periods with one offset each, mostly just one. No
	// offset is as large as margin, so the instant lies at most that far from t.
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
