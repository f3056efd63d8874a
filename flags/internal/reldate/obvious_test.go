package reldate_test

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// This file is an independent implementation of evaluation.md §4.9, with
// regular expressions and time.Parse. It steps through months one by one, and
// searches for wall times.

var (
	relative = regexp.MustCompile(`^-?([0-9]+)([hdwmy])$`)
	float    = regexp.MustCompile(`^[+-]?(?:(?i:inf|infinity|nan)|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)$`)

	rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
	day     = regexp.MustCompile(`^\d{4}-\d\d-\d\d$`)
	naive   = regexp.MustCompile(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?$`)
	zoned   = regexp.MustCompile(`^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(UTC|Z|[+-]([01]\d|2[0-3]):?[0-5]\d)$`)
	mail    = regexp.MustCompile(`^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?(\d\d?) ([A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d) (GMT|UTC|UT|Z|[+-]([01]\d|2[0-3])[0-5]\d)$`)
)

// obviousProperty reads the text of a property: as a number first, then as a
// date.
func obviousProperty(s string, now time.Time, zone *time.Location) (time.Time, bool) {
	if float.MatchString(s) {
		x, err := strconv.ParseFloat(strings.TrimLeft(s, "+-"), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(x) || x > 8e12 {
			return time.Time{}, false
		}
		if s[0] == '-' {
			x = -x
		}
		return obviousSeconds(x), true
	}
	return obviousDate(s, now, zone)
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

func obviousDate(s string, now time.Time, zone *time.Location) (time.Time, bool) {
	if m := relative.FindStringSubmatch(s); m != nil {
		n, ok := new(big.Int).SetString(m[1], 10)
		if !ok || n.Cmp(big.NewInt(10_000)) >= 0 {
			return time.Time{}, false
		}
		return obviousRelative(int(n.Int64()), m[2], now, zone)
	}
	switch {
	case rfc3339.MatchString(s):
		return parseLayouts(strings.ToUpper(s), time.RFC3339Nano)
	case day.MatchString(s):
		return search(s+" 00:00", zone)
	case naive.MatchString(s):
		return search(s, zone)
	case zoned.MatchString(s):
		m := zoned.FindStringSubmatch(s)
		wall, offset := strings.Replace(m[1], "T", " ", 1), strings.Replace(m[2], ":", "", 1)
		if offset == "UTC" || offset == "Z" {
			offset = "+0000"
		}
		return parseLayouts(wall+offset, "2006-01-02 15:04-0700", "2006-01-02 15:04:05-0700")
	case mail.MatchString(s):
		m := mail.FindStringSubmatch(s)
		offset := m[3]
		if strings.Trim(offset, "GMUTCZ") == "" {
			offset = "+0000"
		}
		return parseLayouts(m[1]+" "+m[2]+" "+offset, "_2 Jan 2006 15:04:05 -0700", "02 Jan 2006 15:04:05 -0700")
	}
	return time.Time{}, false
}

func parseLayouts(s string, layouts ...string) (time.Time, bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// search tries all offsets of whole minutes, beginning with the one that gives
// the earliest instant.
func search(s string, zone *time.Location) (time.Time, bool) {
	wall, ok := parseLayouts(strings.Replace(s, "T", " ", 1), "2006-01-02 15:04", "2006-01-02 15:04:05")
	if !ok {
		return time.Time{}, false
	}
	return searchWall(wall, zone)
}

// searchWall returns the first instant at which clocks in the zone show what clocks
// in UTC show at wall.
func searchWall(wall time.Time, zone *time.Location) (time.Time, bool) {
	for offset := 24 * 60; offset > -24*60; offset-- {
		t := wall.Add(-time.Duration(offset) * time.Minute)
		if _, actual := t.In(zone).Zone(); actual == offset*60 {
			return t, true
		}
	}
	return time.Time{}, false
}

func obviousRelative(n int, unit string, now time.Time, zone *time.Location) (time.Time, bool) {
	local := now.In(zone)
	year, month, day := local.Date()
	shown := time.Date(year, month, day, local.Hour(), local.Minute(), local.Second(), local.Nanosecond(), time.UTC)
	switch unit {
	case "h":
		shown = shown.Add(time.Duration(-n) * time.Hour)
	case "d":
		shown = shown.AddDate(0, 0, -n)
	case "w":
		shown = shown.AddDate(0, 0, -7*n)
	case "y":
		before := shown.AddDate(-n, 0, 0)
		if before.Day() != day { // 29 February became 1 March
			before = before.AddDate(0, 0, -1)
		}
		shown = before
	case "m":
		shown = stepMonths(n, shown)
	}
	return searchWall(shown, zone)
}

// stepMonths goes back month by month.
func stepMonths(n int, t time.Time) time.Time {
	year, month, day := t.Date()
	for range n {
		first := time.Date(year, month-1, 1, 0, 0, 0, 0, time.UTC)
		year, month = first.Year(), first.Month()
		if last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day(); day > last {
			day = last
		}
	}
	return time.Date(year, month, day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}
