package rules

import (
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// lastSeen is the property with the time at which a person last saw any survey.
const lastSeen = "$last_seen_survey_date"

// InternalFilters returns the filters of the flag that hides a survey from
// people who have answered or dismissed it, or who have seen any survey within
// a number of days (management.md §9.6). The key is the id of the survey, or
// <id>/<iteration>.
func InternalFilters(key string, waitDays int) flags.Filters {
	undismissed, unanswered := isNotSet("$survey_dismissed/"+key), isNotSet("$survey_responded/"+key)
	if waitDays <= 0 {
		return flags.Filters{Groups: []flags.Condition{share(100, undismissed, unanswered)}}
	}
	long := person(lastSeen, strconv.Itoa(waitDays)+"d", "is_date_before")
	return flags.Filters{Groups: []flags.Condition{
		share(100, undismissed, unanswered, isNotSet(lastSeen)),
		share(100, undismissed, unanswered, long),
	}}
}

// SamplingFilters returns the filters of the flag that selects a share of all
// people (management.md §9.6, §9.9).
func SamplingFilters(percentage float64) flags.Filters {
	return flags.Filters{Groups: []flags.Condition{share(percentage)}}
}

// share returns a condition set for a share of the people who have some properties.
// It pins no variant, in the way in which the public system says so.
func share(percentage float64, properties ...flags.Filter) flags.Condition {
	return flags.Condition{Properties: append([]flags.Filter{}, properties...), RolloutPercentage: &percentage, Variant: new("")}
}

func isNotSet(key string) flags.Filter { return person(key, "is_not_set", "is_not_set") }

func person(key, value, operator string) flags.Filter {
	return flags.Filter{Key: key, Value: text.AppendQuoted(nil, value), Operator: operator, Type: "person"}
}

// TargetsEveryone reports whether filters have a group that matches everyone: a
// group without properties whose percentage is 100 or missing (management.md
// §9.6). A survey for everyone needs no filters.
func TargetsEveryone(f *flags.Filters) bool {
	return f.Err() == nil && slices.ContainsFunc(f.Groups, func(g flags.Condition) bool {
		return len(g.Properties) == 0 && (g.RolloutPercentage == nil || *g.RolloutPercentage >= 100)
	})
}
