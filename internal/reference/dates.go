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
	bound, ok1 := c.filterDate(text)
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

// Date reads the text of a filter, or of a property, as §4.9 does.
func Date(text string, property bool, now time.Time, zone *time.Location) (time.Time, bool) {
	if zone == nil {
		zone = time.UTC
	}
	c := comparison{now: now, zone: zone}
	if property {
		return c.propertyDate(text)
	}
	return c.filterDate(text)
}

// filterDate reads the value of a filter. Digits alone are a date here (form 6).
func (c comparison) filterDate(s string) (time.Time, bool) {
	if regexp.MustCompile(`^[0-9]+$`).MatchString(s) {
		n, err := strconv.ParseInt(s, 10, 64)
		switch {
		case err != nil:
		case len(s) == 10:
			return time.Unix(n, 0), true
		case len(s) == 13:
			return time.UnixMilli(n), true
		case len(s) == 19:
			return time.Unix(n/1e9, n%1e9), true
		}
		return time.Time{}, false
	}
	return c.parseDate(s)
}

// The parts of dates (§4.9). A name in braces stands for one of them.
var dateParts = strings.NewReplacer(
	"{year}", `\s*(?P<year>[0-9]{1,4})`,
	"{year4}", `\s*(?P<year>[0-9]{4})`,
	"{year2}", `\s*(?:(?P<year>[0-9]{4})|(?P<short>[0-9]{2}))`,
	"{month}", `\s*(?P<month>[0-9]{1,2})`,
	"{name}", `(?P<month>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))`,
	"{weekday}", `(?:(?i:mon|tue|wed|thu|fri|sat|sun),\s+)?`,
	"{day}", `\s*(?P<day>[0-9]{1,2})`,
	"{time}", `\s*(?P<hour>[0-9]{1,2}):\s*(?P<minute>[0-9]{1,2})(?::\s*(?P<second>[0-9]{1,2})(?:\.(?P<fraction>[0-9]+))?)?`,
	"{half}", `(?:\s*(?P<half>(?i:am|pm)))?`,
	"{zone}", `(?P<zone>(?i:utc|ut|gmt|z|[ecmp][sd]t)|[+-][0-9]{2}(?::?[0-9]{2})?)`,
	"{zone4}", `(?P<zone>(?i:utc|ut|gmt|z|[ecmp][sd]t)|[+-][0-9]{2}:?[0-9]{2})`,
)

// A dateForm is one of the forms 2 to 7 of §4.9.
type dateForm struct {
	pattern *regexp.Regexp
	project bool // a wall time in the zone of the project, if there is no zone
}

// dateForms are in the order in which they are tried. \s is Unicode's.
var dateForms = func() []dateForm {
	var forms []dateForm
	for _, f := range []struct {
		text    string
		project bool
	}{
		{`(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})[Tt](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]+))?(?P<zone>[Zz]|[+-][0-9]{2}:[0-9]{2})`, false}, // 2
		{`{year}-{month}-{day}`, true},                          // 3
		{`{year}-{month}-{day}(?:\s+|T){time}`, true},           // 4
		{`{year}-{month}-{day}(?:\s+|T){time}\s*{zone}`, false}, // 5
		{`{weekday}{day}\s+{name}\s+{year4}\s+{time}\s+{zone}`, false},
		{`{year}-{month}-{day}\s*{zone4}`, false}, // 7
		{`{year}-{month}-{day}\s+{time}{half}`, false},
		{`{name}\.?\s+{day},\s+{year2}`, false},
		{`{name}\.?\s+{day},\s+{year4},?\s+(?:(?i:at)\s+)?{time}{half}(?:\s+{zone})?`, false},
		{`{name}\s+{day}\s+(?:(?i:at)\s+)?{time}{half}`, false},
		{`{year4}-{name}-{day}`, false},
		{`{day}-{name}-{year4}(?:,?\s+{time})?`, false},
		{`{day}\s+{name}\s+{year2}`, false},
		{`{day}\s+{name}\s+{year4},?\s+{time}`, false},
		{`{month}/{day}/{year2}(?:\s+{time}{half})?`, false},
		{`{year4}/{month}/{day}(?:\s+{time})?`, false},
		{`{month}\.{day}\.{year2}`, false},
		{`{year4}\.{month}(?:\.{day})?`, false},
		{`\s*(?P<short>[0-9]{2})(?P<month>[0-9]{2})(?P<day>[0-9]{2})\s+(?P<hour>[0-9]{1,2}):\s*(?P<minute>[0-9]{1,2}):\s*(?P<second>[0-9]{1,2})`, false},
		{`{year4}年{month}月{day}日(?:\s*(?P<hour>[0-9]{1,2})时\s*(?P<minute>[0-9]{1,2})分\s*(?P<second>[0-9]{1,2})秒)?`, false},
	} {
		text := strings.ReplaceAll(dateParts.Replace(f.text), `\s`, `[\t-\r \x{85}\p{Z}]`)
		forms = append(forms, dateForm{regexp.MustCompile(`^(?:` + text + `)$`), f.project})
	}
	return forms
}()

var relativeForm = regexp.MustCompile(`^-?([0-9]+)([hdwmy])$`)

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
	for _, f := range dateForms {
		m := f.pattern.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		part := func(name string) string {
			if i := f.pattern.SubexpIndex(name); i >= 0 {
				return m[i]
			}
			return ""
		}
		wall, ok := c.wallOf(part)
		switch {
		case !ok:
			return time.Time{}, false
		case part("zone") != "":
			return wall.at(part("zone"))
		case f.project:
			return wall.in(c.zone)
		}
		return time.Time(wall), true
	}
	return time.Time{}, false
}

// wallOf puts the parts of a date together.
func (c comparison) wallOf(part func(string) string) (wallTime, bool) {
	year, month, day, hour := part("year"), part("month"), part("day"), part("hour")
	if short := part("short"); short != "" {
		year = "20" + short
		if short >= "70" {
			year = "19" + short
		}
	}
	if year == "" {
		year = strconv.Itoa(c.now.UTC().Year()) // a day without a year is one of this year
	}
	if i := slices.IndexFunc(monthNames, func(name string) bool { return len(month) > 2 && strings.EqualFold(name, month[:3]) }); i >= 0 {
		month = strconv.Itoa(i + 1)
	}
	if day == "" {
		day = "1"
	}
	if half := strings.ToLower(part("half")); half != "" {
		n, _ := strconv.Atoi(hour)
		if n < 1 || n > 12 {
			return wallTime{}, false
		}
		n %= 12
		if half == "pm" {
			n += 12
		}
		hour = strconv.Itoa(n)
	}
	return newWallTime(year, month, day, hour, part("minute"), part("second"), part("fraction"))
}

var monthNames = []string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}

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
	if mo < 1 || mo > 12 || d < 1 || d > daysIn(y, time.Month(mo)) || h > 23 || mi > 59 || s > 60 {
		return wallTime{}, false
	}
	return wallTime(time.Date(y, time.Month(mo), d, h, mi, s, nanoseconds, time.UTC)), true
}

// zoneHours are the zones with a name that are not UTC.
var zoneHours = map[string]string{
	"EST": "-05", "EDT": "-04", "CST": "-06", "CDT": "-05", "MST": "-07", "MDT": "-06", "PST": "-08", "PDT": "-07",
}

// at interprets the wall time in a zone with a name, or at an offset such as +02:00,
// -0700 or -08.
func (w wallTime) at(offset string) (time.Time, bool) {
	if hours, named := zoneHours[strings.ToUpper(offset)]; named {
		offset = hours
	}
	sign := -1
	switch {
	case strings.HasPrefix(offset, "+"):
		sign = 1
	case !strings.HasPrefix(offset, "-"):
		return time.Time(w), true
	}
	digits := strings.ReplaceAll(offset[1:], ":", "") + "00"
	hours, _ := strconv.Atoi(digits[:2])
	minutes, _ := strconv.Atoi(digits[2:4])
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
