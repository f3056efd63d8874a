package capture

import (
	"strings"
	"time"
)

// layouts are the accepted forms of times, after a T has replaced a blank.
// Fractions of seconds need no layout of their own.
var layouts = [...]string{
	time.RFC3339,
	"2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04:05Z07",
	"2006-01-02T15:04:05",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	time.DateOnly,
}

// outOfRange stands for times that have no four-digit year. It stays out of range
// when the clock of a client is corrected.
var outOfRange = time.Date(100_000, 1, 1, 0, 0, 0, 0, time.UTC)

// parseTime reads a time as SDKs write it: RFC 3339 with any number of fraction
// digits, a blank instead of the T, any form of the zone or none, which means UTC,
// or only a date (wire.md §2.6). A year below 0 or above 9999 gives outOfRange.
func parseTime(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	const date = len("2006-01-02")
	if len(s) < date || len(s) > 64 {
		return time.Time{}, false
	}
	if oddYear(s) {
		return outOfRange, true
	}
	if len(s) > date && (s[date] == ' ' || s[date] == 't') {
		s = s[:date] + "T" + s[date+1:]
	}
	if strings.HasSuffix(s, "z") {
		s = s[:len(s)-1] + "Z"
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// oddYear reports whether s begins with a year that is negative or has more than
// four digits.
func oddYear(s string) bool {
	digits, negative := s, s[0] == '-'
	if negative || s[0] == '+' {
		digits = s[1:]
	}
	year, rest, _ := strings.Cut(digits, "-")
	if !digitsOnly(year) || len(rest) < len("01-02") || !digitsOnly(rest[:2]) || rest[2] != '-' || !digitsOnly(rest[3:5]) {
		return false
	}
	return len(year) > 4 || negative && len(year) == 4
}

// digitsOnly reports whether s consists of digits.
func digitsOnly(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// inRange makes t a time that stores accept: UTC with microseconds, and a year that
// all stores know. Other years become 1970-01-01.
func inRange(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Microsecond)
	if y := t.Year(); y < 0 || y > 9999 {
		return time.Unix(0, 0).UTC()
	}
	return t
}

// maxAhead is how far in the future an event may be.
const maxAhead = 23 * time.Hour

// A clock computes the times of the events of one request (wire.md §2.6).
type clock struct {
	now    time.Time // of arrival, on our clock
	sentAt time.Time // of sending, on the client's; zero if unknown
}

// at returns when an event happened. stated is its timestamp; exact says that the
// timestamp is not from the clock of sentAt. The zero Time, which programs without
// a time write, counts as no timestamp.
func (c clock) at(stated time.Time, exact bool) time.Time {
	if stated.IsZero() {
		return c.now
	}
	t := stated
	if !c.sentAt.IsZero() && !exact {
		// A Duration is too short for what clients may send.
		t = time.Unix(t.Unix()+c.now.Unix()-c.sentAt.Unix(), int64(t.Nanosecond()+c.now.Nanosecond()-c.sentAt.Nanosecond()))
	}
	return c.past(t)
}

// before returns the time that lies offset milliseconds before arrival.
func (c clock) before(offset float64) time.Time {
	const maxOffset = 10_000 * 366 * 24 * 60 * 60 * 1000 // milliseconds, ten thousand years
	return c.past(time.UnixMicro(c.now.UnixMicro() - int64(max(-maxOffset, min(offset, maxOffset)))*1000))
}

// past returns t in the form in which it is stored, or now if t is too far in the
// future.
func (c clock) past(t time.Time) time.Time {
	t = inRange(t)
	if t.Sub(c.now) > maxAhead {
		return c.now
	}
	return t
}

// believable is the first time at which a client can have sent something.
var believable = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// SentAt returns the time that a client gives in milliseconds, as in the query
// parameter "_", or the zero Time if it cannot be right (wire.md §2.6).
func SentAt(milliseconds int64) time.Time {
	t := time.UnixMilli(milliseconds).UTC()
	if t.Before(believable) || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}
