package survey

import (
	"encoding/json"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// lastSeen is the property with the time at which a person last saw any survey.
const lastSeen = "$last_seen_survey_date"

// InternalFilters returns the filters of the flag that hides a survey from
// people who have answered or dismissed it, or who have seen any survey within
// a number of days (management.md §9.6). The key is the id of the survey, or
// <id>/<iteration>.
func InternalFilters(key string, waitDays int) json.RawMessage {
	base := []json.RawMessage{isNotSet("$survey_dismissed/" + key), isNotSet("$survey_responded/" + key)}
	if waitDays <= 0 {
		return filters(group(100, base...))
	}
	long := property(lastSeen, strconv.Itoa(waitDays)+"d", "is_date_before")
	return filters(
		group(100, base[0], base[1], isNotSet(lastSeen)),
		group(100, base[0], base[1], long),
	)
}

// SamplingFilters returns the filters of the flag that selects a share of all
// people (management.md §9.6, §9.9).
func SamplingFilters(percentage float64) json.RawMessage { return filters(group(percentage)) }

func filters(groups ...json.RawMessage) json.RawMessage {
	return object{{"groups", appendList(nil, groups)}}.append(nil)
}

func group(percentage float64, properties ...json.RawMessage) json.RawMessage {
	return object{
		{"variant", json.RawMessage(`""`)},
		{"rollout_percentage", strconv.AppendFloat(nil, percentage, 'f', -1, 64)},
		{"properties", appendList(nil, properties)},
	}.append(nil)
}

func isNotSet(key string) json.RawMessage { return property(key, "is_not_set", "is_not_set") }

func property(key, value, operator string) json.RawMessage {
	return object{
		{"key", text.AppendQuoted(nil, key)},
		{"value", text.AppendQuoted(nil, value)},
		{"operator", text.AppendQuoted(nil, operator)},
		{"type", json.RawMessage(`"person"`)},
	}.append(nil)
}

// TargetsEveryone reports whether filters have a group that matches everyone: a
// group without properties whose percentage is 100 or missing (management.md
// §9.6). A survey for everyone needs no filters.
func TargetsEveryone(filters json.RawMessage) bool {
	f, _ := decodeObject(filters)
	groups, _ := decodeList(f.get("groups"))
	for _, v := range groups {
		g, ok := decodeObject(v)
		if properties, _ := decodeList(g.get("properties")); !ok || len(properties) > 0 {
			continue
		}
		percentage := g.get("rollout_percentage")
		if x, ok := jsonscan.Value(percentage).Float(); percentage == nil || ok && x >= 100 {
			return true
		}
	}
	return false
}
