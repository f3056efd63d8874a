package console

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
)

// A changeLine is one difference of a definition.
type changeLine struct{ Place, Before, After string }

// different returns the lines that are differences.
func different(lines ...changeLine) []changeLine {
	return slices.DeleteFunc(lines, func(c changeLine) bool { return c.Before == c.After })
}

// changesIn says in words what has changed about a thing of a scope of the audit log, on
// every page that lists changes (management.md §17.2).
func changesIn(names *words.Names, scope string, list []management.FlagChange) []changeLine {
	var out []changeLine
	place, value := thingOf(scope).place, thingOf(scope).value
	if place == nil {
		place = plainPlace
	}
	if value == nil { // other things name nothing by numbers
		value = func(_ *words.Names, _, value string) string { return new(words.Names).Value("", value) }
	}
	for _, c := range list {
		line := changeLine{place(c.Field), value(names, c.Field, c.Before), value(names, c.Field, c.After)}
		if line.Before == "" && line.After == "" {
			line.After = "changed; what it is stays secret"
		}
		out = append(out, line)
	}
	return out
}

// plainPlace says where something is by the names of the members on the way to it.
func plainPlace(field string) string { return strings.NewReplacer("/", ", ", "_", " ").Replace(field) }

// changeVocabulary returns the names of what changes refer to by numbers, if they do.
func (q *request) changeVocabulary(lists ...[]management.FlagChange) (*words.Names, error) {
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
		list, err := q.c.Service.ListCohorts(q.Context(), q.by, q.ref, management.CohortQuery{}, maxOffered, 0)
		if err != nil && !isRefusal(err) {
			return nil, err
		}
		if err == nil {
			for _, c := range list.Items {
				names.Cohorts[strconv.FormatInt(c.ID, 10)] = c.Name
			}
		}
	}
	if flags {
		list, err := q.c.Service.FlagNames(q.Context(), q.by, q.ref, maxOffered)
		if err != nil && !isRefusal(err) {
			return nil, err
		}
		for _, f := range list {
			names.Flags[strconv.FormatInt(f.ID, 10)] = f.Key
		}
	}
	if groups {
		types, err := q.groupTypes()
		if err != nil {
			return nil, err
		}
		for _, t := range types {
			names.GroupTypes[t.Value] = t.Label
		}
	}
	return names, nil
}
