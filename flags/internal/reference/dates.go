package reference

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// compareDates implements §4.9.
func (c comparison) compareDates(operator string, f, p any) bool {
	text, isText := f.(string)
	if !isText {
		return false // the value of the filter must be a string
	}
	bound, ok1 := c.parseDate(text)
	instant, ok2 := c.propertyDate(p)
	if !ok1 || !ok2 {
		return false
	}
	switch operator {
	case "is_date_before":
		return instant.Before(bound)
	case "is_date_after":
		return instant.After(bound)
	default:
		return instant.Equal(bound)
	}
}

// propertyDate reads the date of a property: epoch seconds as a number or a
// numeric string, or a date string.
func (c comparison) propertyDate(p any) (time.Time, bool) {
	if seconds, isNumber := numeric(p); isNumber {
		return epoch(seconds)
	}
	if text, isText := p.(string); isText {
		return c.parseDate(text)
	}
	return time.Time{}, false
}

// epoch converts seconds since 1970 (§4.9).
func epoch(x float64) (time.Time, bool) {
	if math.IsNaN(x) || math.Abs(x) > 8.0e12 {
		return time.Time{}, false
	}
	seconds := math.Floor(x)
	return time.Unix(int64(seconds), int64(math.Floor((x-seconds)*1e9))), true
}

const (
	datePattern  = `([0-9]{4})-([0-9]{2})-([0-9]{2})`
	clockPattern = `([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?`
)

// The five forms of a date string (§4.9), in the order in which they are tried.
// The last form has two shapes.
var (
	relativeForm = regexp.MustCompile(`^-?([0-9]+)([hdwmy])$`)
	rfc3339Form  = regexp.MustCompile(`^` + datePattern + `[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?([Zz]|[+-][0-9]{2}:[0-9]{2})$`)
	dayForm      = regexp.MustCompile(`^` + datePattern + `$`)
	wallForm     = regexp.MustCompile(`^` + datePattern + `[ T]` + clockPattern + `$`)
	zonedForm    = regexp.MustCompile(`^` + datePattern + `[ T]` + clockPattern + ` ?(UTC|Z|[+-][0-9]{2}:?[0-9]{2})$`)
	rfc2822Form  = regexp.MustCompile(`^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?([0-9]{1,2}) ([A-Z][a-z]{2}) ([0-9]{4}) ` +
		`([0-9]{2}):([0-9]{2}):([0-9]{2}) (GMT|UTC|UT|Z|[+-][0-9]{4})$`)
)

var monthNames = []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}

// parseDate reads a date string (§4.9).
func (c comparison) parseDate(s string) (time.Time, bool) {
	// 1. Relative to now. A number from 10000 on is not a date: no other form
	// looks like this.
	if m := relativeForm.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[1])
		if err != nil || n >= 10000 {
			return time.Time{}, false
		}
		return c.relative(n, m[2])
	}
	// 2. RFC 3339.
	if m := rfc3339Form.FindStringSubmatch(s); m != nil {
		wall, ok := newWallTime(m[1], m[2], m[3], m[4], m[5], m[6], m[7])
		if !ok {
			return time.Time{}, false
		}
		return wall.at(m[8])
	}
	// 3. A day, which means midnight in the project's zone.
	if m := dayForm.FindStringSubmatch(s); m != nil {
		wall, ok := newWallTime(m[1], m[2], m[3], "0", "0", "", "")
		if !ok {
			return time.Time{}, false
		}
		return wall.in(c.zone)
	}
	// 4. Wall time in the project's zone.
	if m := wallForm.FindStringSubmatch(s); m != nil {
		wall, ok := newWallTime(m[1], m[2], m[3], m[4], m[5], m[6], m[7])
		if !ok {
			return time.Time{}, false
		}
		return wall.in(c.zone)
	}
	// 5. Free forms: with a zone after an optional space, or RFC 2822.
	if m := zonedForm.FindStringSubmatch(s); m != nil {
		wall, ok := newWallTime(m[1], m[2], m[3], m[4], m[5], m[6], m[7])
		if !ok {
			return time.Time{}, false
		}
		return wall.at(m[8])
	}
	if m := rfc2822Form.FindStringSubmatch(s); m != nil {
		month := slices.Index(monthNames, m[2]) + 1
		wall, ok := newWallTime(m[3], strconv.Itoa(month), m[1], m[4], m[5], m[6], "")
		if !ok {
			return time.Time{}, false
		}
		return wall.at(m[7])
	}
	return time.Time{}, false
}

// relative goes n units back from now, on the wall clock of the project's zone
// (§4.9).
func (c comparison) relative(n int, unit string) (time.Time, bool) {
	now := c.now.In(c.zone)
	year, month, day := now.Date()
	hour := now.Hour()
	switch unit {
	case "h":
		hour -= n // time.Date normalizes it
	case "d":
		day -= n // time.Date normalizes it
	case "w":
		day -= 7 * n
	case "y":
		if year -= n; month == time.February {
			day = min(day, daysIn(year, month))
		}
	case "m":
		for range n {
			month--
			if month == 0 {
				year, month = year-1, time.December
			}
			day = min(day, daysIn(year, month)) // clamped at each step, and not restored
		}
	}
	return wallTime(time.Date(year, month, day, hour, now.Minute(), now.Second(), now.Nanosecond(), time.UTC)).in(c.zone)
}

func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// A wallTime is the reading of a clock and a calendar, stored as if it were
// UTC.
type wallTime time.Time

// newWallTime checks the ranges of all fields. Seconds and fraction may be
// empty.
func newWallTime(year, month, day, hour, minute, second, fraction string) (wallTime, bool) {
	number := func(digits string) int {
		n, _ := strconv.Atoi(digits) // an empty text is 0
		return n
	}
	nanoseconds := number((fraction + "000000000")[:9])
	y, mo, d := number(year), number(month), number(day)
	h, mi, s := number(hour), number(minute), number(second)
	if mo < 1 || mo > 12 || d < 1 || d > daysIn(y, time.Month(mo)) || h > 23 || mi > 59 || s > 59 {
		return wallTime{}, false
	}
	return wallTime(time.Date(y, time.Month(mo), d, h, mi, s, nanoseconds, time.UTC)), true
}

// at interprets the wall time at an offset such as +02:00 or -0700. An offset
// without a sign means UTC.
func (w wallTime) at(offset string) (time.Time, bool) {
	sign := -1
	switch {
	case strings.HasPrefix(offset, "+"):
		sign = 1
	case !strings.HasPrefix(offset, "-"):
		return time.Time(w), true
	}
	digits := strings.ReplaceAll(offset[1:], ":", "")
	hours, _ := strconv.Atoi(digits[:2])
	minutes, _ := strconv.Atoi(digits[2:])
	if hours > 23 || minutes > 59 {
		return time.Time{}, false
	}
	shift := time.Duration(sign) * (time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute)
	return time.Time(w).Add(-shift), true
}

// in interprets the wall time in a zone: the earlier of two instants, or none
// in a spring gap (§4.9, form 4). It tries every offset that the zone has
// around this day and keeps those at which the clock shows w.
func (w wallTime) in(zone *time.Location) (time.Time, bool) {
	var found []time.Time
	for _, day := range []int{-1, 0, 1} {
		_, offset := time.Time(w).AddDate(0, 0, day).In(zone).Zone()
		instant := time.Time(w).Add(-time.Duration(offset) * time.Second)
		if _, actual := instant.In(zone).Zone(); actual == offset {
			found = append(found, instant)
		}
	}
	if len(found) == 0 {
		return time.Time{}, false
	}
	return slices.MinFunc(found, time.Time.Compare), true
}
