package reldate

import (
	"strings"
	"time"
)

// instant reads the absolute forms. The ISO forms are read by hand: time.Parse
// allocates an error for each layout that does not fit.
func instant(s string, zone *time.Location) (time.Time, bool) {
	if len(s) >= len("2006-01-02") && s[4] == '-' {
		return iso(s, zone)
	}
	return rfc2822(s)
}

// iso reads YYYY-MM-DD, alone or with a wall time, and a zone after that.
// RFC 3339 is one of these forms.
func iso(s string, zone *time.Location) (time.Time, bool) {
	year, ok1 := digits(s[0:4])
	month, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:10])
	if !ok1 || !ok2 || !ok3 || s[7] != '-' || month < 1 || month > 12 || day < 1 || day > daysIn(year, time.Month(month)) {
		return time.Time{}, false
	}
	s = s[10:]
	if s == "" {
		return wall(year, month, day, 0, 0, 0, 0, zone)
	}
	strict := s[0] == 'T' || s[0] == 't' // may be RFC 3339
	if !strict && s[0] != ' ' || len(s) < len(" 15:04") || s[3] != ':' {
		return time.Time{}, false
	}
	lower := s[0] == 't'
	hour, ok1 := digits(s[1:3])
	minute, ok2 := digits(s[4:6])
	if !ok1 || !ok2 || hour > 23 || minute > 59 {
		return time.Time{}, false
	}
	s = s[6:]
	second, nanos, hasSeconds := 0, 0, false
	if len(s) >= 3 && s[0] == ':' {
		var ok bool
		if second, ok = digits(s[1:3]); !ok || second > 59 {
			return time.Time{}, false
		}
		hasSeconds = true
		s = s[3:]
		if s != "" && s[0] == '.' {
			if nanos, s, ok = fraction(s[1:]); !ok {
				return time.Time{}, false
			}
		}
	}
	if s == "" {
		if lower {
			return time.Time{}, false
		}
		return wall(year, month, day, hour, minute, second, nanos, zone)
	}
	if lower && (!hasSeconds || s[0] == ' ') {
		return time.Time{}, false
	}
	offset, ok := zoneOffset(strings.TrimPrefix(s, " "))
	if !ok {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC)
	return t.Add(-time.Duration(offset) * time.Minute), true
}

// wall is a wall time in a zone: of two instants the earlier, and none if
// clocks skip it.
func wall(year, month, day, hour, minute, second, nanos int, zone *time.Location) (time.Time, bool) {
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanos, zone)
	if t.Hour() != hour || t.Minute() != minute || t.Day() != day {
		return time.Time{}, false
	}
	// If clocks went back since yesterday, the same wall time came before with
	// the offset of yesterday.
	_, now := t.Zone()
	_, before := t.Add(-24 * time.Hour).Zone()
	if before > now {
		earlier := t.Add(-time.Duration(before-now) * time.Second)
		if _, offset := earlier.Zone(); offset == before && earlier.Hour() == hour && earlier.Minute() == minute {
			return earlier, true
		}
	}
	return t, true
}

func digits(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

// fraction reads the digits after a decimal point; what is below nanoseconds
// does not count.
func fraction(s string) (nanos int, rest string, ok bool) {
	scale := 100_000_000
	i := 0
	for ; i < len(s) && '0' <= s[i] && s[i] <= '9'; i++ {
		nanos += int(s[i]-'0') * scale
		scale /= 10
	}
	return nanos, s[i:], i > 0
}

// zoneOffset reads Z, UTC, ±hh:mm or ±hhmm as minutes east.
func zoneOffset(s string) (int, bool) {
	switch s {
	case "Z", "z", "UTC":
		return 0, true
	}
	if len(s) == 6 && s[3] == ':' {
		return offset(s[0], s[1:3], s[4:6])
	}
	if len(s) == 5 {
		return offset(s[0], s[1:3], s[3:5])
	}
	return 0, false
}

func offset(sign byte, hours, minutes string) (int, bool) {
	h, ok1 := digits(hours)
	m, ok2 := digits(minutes)
	if !ok1 || !ok2 || h > 23 || m > 59 {
		return 0, false
	}
	switch sign {
	case '+':
		return h*60 + m, true
	case '-':
		return -h*60 - m, true
	}
	return 0, false
}

// rfc2822 reads dates such as Fri, 20 Nov 2026 12:00:00 +0000.
func rfc2822(s string) (time.Time, bool) {
	// Cheap refusals first: most texts that come here are no dates at all.
	if len(s) < len("2 Jan 2006 15:04:05 Z") || !strings.Contains(s, ":") {
		return time.Time{}, false
	}
	for _, name := range []string{" GMT", " UTC", " UT", " Z"} {
		if rest, ok := strings.CutSuffix(s, name); ok {
			s = rest + " +0000"
			break
		}
	}
	for _, layout := range []string{"Mon, 2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 -0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
