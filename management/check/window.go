package check

import (
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/judge"
)

// boundForms are the layouts of bounds with a time, with or without a zone. Without one a
// bound is in UTC (management.md §11.1).
var boundForms = func() []string {
	var forms []string
	for _, clock := range []string{"T15:04:05.999999999", "T15:04", " 15:04:05.999999999", " 15:04"} {
		for _, zone := range []string{"", "Z07:00", "Z0700", "Z07"} {
			forms = append(forms, time.DateOnly+clock+zone)
		}
	}
	return forms
}()

// Window reads the two bounds of a window of time from the parameters with the given names.
// A bound that was not sent is nil. A day belongs to the window as a whole, as the zone has
// it.
func Window(zone *time.Location, fromName, from, toName, to string) (begin, end *time.Time, err error) {
	if begin, err = timeBound(zone, 0, fromName, from); err != nil {
		return nil, nil, err
	}
	if end, err = timeBound(zone, 1, toName, to); err != nil {
		return nil, nil, err
	}
	if begin != nil && end != nil && begin.After(*end) {
		return nil, nil, judge.New("", "invalid_input", "%s must not be after %s.", fromName, toName)
	}
	return begin, end, nil
}

// timeBound reads a bound, nil if it was not sent. A day stands for its first moment, or
// for the last one before as many days later as days says.
func timeBound(zone *time.Location, days int, name, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	// A + in the query of an address stands for a blank.
	clean := strings.TrimSpace(text)
	if day, err := time.Parse(time.DateOnly, clean); err == nil {
		t := time.Date(day.Year(), day.Month(), day.Day()+days, 0, 0, 0, 0, zone)
		if days > 0 {
			t = t.Add(-time.Microsecond) // the resolution of events
		}
		return new(t.UTC()), nil
	}
	if i := strings.LastIndexByte(clean, ' '); i > len(time.DateOnly) {
		clean = clean[:i] + "+" + clean[i+1:]
	}
	for _, form := range boundForms {
		if t, err := time.Parse(form, clean); err == nil {
			return new(t.UTC()), nil
		}
	}
	return nil, judge.New("", "invalid_input", "%s is %q: want an ISO 8601 date or time, such as 2026-03-01T12:00:00Z.", name, Excerpt(text))
}
