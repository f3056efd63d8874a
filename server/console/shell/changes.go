package shell

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
)

// ChangesIn says in words what has changed about a thing of a scope of the audit log, on
// every page that lists changes (management.md §17.2).
func (q *Request) ChangesIn(names Names, scope string, list []management.FlagChange) []Change {
	var out []Change
	place, value := q.Thing(scope).Place, q.Thing(scope).Value
	if place == nil {
		place = PlainPlace
	}
	if value == nil { // other things name nothing by numbers
		value = func(_ Names, _, value string) string { return new(words.Names).Value("", value) }
	}
	for _, c := range list {
		line := Change{place(c.Field), value(names, c.Field, c.Before), value(names, c.Field, c.After)}
		if line.Before == "" && line.After == "" {
			line.After = "changed; what it is stays secret"
		}
		out = append(out, line)
	}
	return out
}

// ChangeVocabulary returns the names of what changes refer to by numbers, if they do.
func (q *Request) ChangeVocabulary(lists ...[]management.FlagChange) (Names, error) {
	names := words.NewNames()
	var cohorts, flags, groups bool
	for _, c := range slices.Concat(lists...) {
		for _, value := range []string{c.Before, c.After} {
			cohorts = cohorts || strings.Contains(value, `"cohort"`)
			flags = flags || strings.Contains(value, `"flag"`)
			groups = groups || strings.Contains(value, "group_type_index")
		}
	}
	if cohorts {
		list, err := q.c.Service.ListCohorts(q.Context(), q.By, q.Ref, management.CohortQuery{}, MaxOffered, 0)
		if err != nil && !IsRefusal(err) {
			return nil, err
		}
		if err == nil {
			for _, c := range list.Items {
				names.Cohorts[strconv.FormatInt(c.ID, 10)] = c.Name
			}
		}
	}
	if flags {
		list, err := q.c.Service.FlagNames(q.Context(), q.By, q.Ref, MaxOffered)
		if err != nil && !IsRefusal(err) {
			return nil, err
		}
		for _, f := range list {
			names.Flags[strconv.FormatInt(f.ID, 10)] = f.Key
		}
	}
	if groups {
		types, err := q.GroupTypes()
		if err != nil {
			return nil, err
		}
		for _, t := range types {
			names.GroupTypes[t.Value] = t.Label
		}
	}
	return names, nil
}
