package management

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/management/internal/check"
)

// countParameter reads a number of a query.
func countParameter(attr, text string, least, most, otherwise int) (int, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, invalid(attr, "invalid_input", "A valid integer is required.")
	}
	if n < least || n > most {
		return 0, invalid(attr, "invalid_input", "Ensure this value is between %d and %d.", least, most)
	}
	return n, nil
}

func scoreParameter(attr, text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != n {
		return nil, invalid(attr, "invalid_input", "A valid number is required.")
	}
	return &n, nil
}

// nameList reads a parameter that is a JSON list of texts.
func nameList(attr, text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		return nil, invalid(attr, "invalid_input", "Expected a JSON list of strings.")
	}
	return names, nil
}

// idList reads a parameter that is an ID, a list of IDs with commas, or a JSON list of
// IDs.
func idList(attr, text string) ([]int64, error) {
	if text == "" {
		return nil, nil
	}
	var ids []int64
	for part := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
		if part = strings.Trim(strings.TrimSpace(part), `"`); part == "" {
			continue
		}
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, invalid(attr, "invalid_input", "Expected IDs of users, not %q.", check.Excerpt(part))
		}
		ids = append(ids, id)
	}
	return ids, nil
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
		return nil, nil, invalid("", "invalid_input", "%s must not be after %s.", fromName, toName)
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
	return nil, invalid("", "invalid_input", "%s is %q: want an ISO 8601 date or time, such as 2026-03-01T12:00:00Z.", name, check.Excerpt(text))
}

// textFinder returns a function that reports whether a text contains the search,
// whatever the case of letters. A blank in the search stands for a blank, - or _.
func textFinder(search string) func(string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.ToValidUTF8(search, "\uFFFD")), " ", "[ _-]")
	return regexp.MustCompile("(?i)" + pattern).MatchString
}
