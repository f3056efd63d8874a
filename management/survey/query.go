package survey

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/internal/check"
)

// countParameter reads an integer of a query, from least to most.
func countParameter(attr, text string, least, most, otherwise int) (int, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, invalid(attr, "A valid integer is required.")
	}
	if n < least || n > most {
		return 0, invalid(attr, "Ensure this value is between %d and %d.", least, most)
	}
	return n, nil
}

// scoreParameter reads a number of a query, nil if it was not sent.
func scoreParameter(attr, text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != n {
		return nil, invalid(attr, "A valid number is required.")
	}
	return &n, nil
}

// boundForms are the layouts of bounds: a date, or a date and a time with or without a
// zone. A bound without a zone is in UTC (management.md §11.1).
var boundForms = func() []string {
	forms := []string{time.DateOnly}
	for _, clock := range []string{"T15:04:05.999999999", "T15:04", " 15:04:05.999999999", " 15:04"} {
		for _, zone := range []string{"", "Z07:00", "Z0700", "Z07"} {
			forms = append(forms, time.DateOnly+clock+zone)
		}
	}
	return forms
}()

// timeWindow reads the two bounds of a window of time from the parameters with the given
// names. A bound that was not sent is nil.
func timeWindow(fromName, from, toName, to string) (begin, end *time.Time, err error) {
	if begin, err = timeBound(fromName, from); err != nil {
		return nil, nil, err
	}
	if end, err = timeBound(toName, to); err != nil {
		return nil, nil, err
	}
	if begin != nil && end != nil && begin.After(*end) {
		return nil, nil, invalid("", "%s must not be after %s.", fromName, toName)
	}
	return begin, end, nil
}

func timeBound(name, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	// A + in the query of an address stands for a blank.
	clean := strings.TrimSpace(text)
	if i := strings.LastIndexByte(clean, ' '); i > len(time.DateOnly) {
		clean = clean[:i] + "+" + clean[i+1:]
	}
	for _, form := range boundForms {
		if t, err := time.Parse(form, clean); err == nil {
			return new(t.UTC()), nil
		}
	}
	return nil, invalid("", "%s is %q: want an ISO 8601 date or time, such as 2026-03-01T12:00:00Z.", name, check.Excerpt(text))
}

// parseIDs returns the IDs in a list, and leaves out what is no ID.
func parseIDs(list []string) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, text := range list {
		if id, err := check.ParseID(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
