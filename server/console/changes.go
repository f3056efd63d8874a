package console

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
)

// A changeLine is one difference of a definition.
type changeLine struct{ Place, Before, After string }

// placeNames are the words for the fields of a flag and the members of its filters.
var placeNames = map[string]string{
	"key": "key", "name": "description", "active": "state", "archived": "archived", "deleted": "deleted", "tags": "tags",
	"evaluation_contexts": "contexts", "evaluation_contexts_match_mode": "how many contexts", "evaluation_runtime": "runtime",
	"bucketing_identifier": "draws by", "bucketing_hash": "hash", "ensure_experience_continuity": "stays when identified",
	"is_remote_configuration": "remote configuration", "has_encrypted_payloads": "encrypted payloads", "payloads": "payloads",
	"rollout_percentage": "rollout", "properties": "filters", "multivariate": "variants", "early_exit": "early exit", "holdout": "holdout",
	"exclusion_percentage": "held out", "aggregation_group_type_index": "is about", "variant": "variant", "value": "value",
	"operator": "operator", "type": "kind", "description": "note", "feature_enrollment": "early access", "reverted_to": "back to version",
}

// placeWords says in words where in a flag something is.
func placeWords(place string) string {
	steps := strings.Split(strings.TrimPrefix(place, "filters/"), "/")
	var out []string
	for i := 0; i < len(steps); i++ {
		step := steps[i]
		next := ""
		if i+1 < len(steps) {
			next = steps[i+1]
		}
		n, err := strconv.Atoi(next)
		switch {
		case err == nil && step == "groups":
			out = append(out, "condition "+strconv.Itoa(n+1))
			i++
		case err == nil && step == "properties":
			out = append(out, "filter "+strconv.Itoa(n+1))
			i++
		case err == nil && step == "variants":
			out = append(out, "variant "+strconv.Itoa(n+1))
			i++
		case step == "rollout_percentage" && slices.Contains(steps, "variants"):
			out = append(out, "share")
		case step == "multivariate" && next == "variants":
		case step == "payloads" && next != "":
			out = append(out, "payload of "+next)
			i++
		case placeNames[step] != "":
			out = append(out, placeNames[step])
		default:
			out = append(out, strings.ReplaceAll(step, "_", " "))
		}
	}
	return strings.Join(out, ", ")
}

// changes says in words what has changed about a thing of a scope of the activity log, on
// every page that lists changes (management.md §17.2).
func (v *vocabulary) changes(scope string, list []management.FlagChange) []changeLine {
	var out []changeLine
	for _, c := range list {
		line := changeLine{changePlace(scope, c.Field), v.changed(scope, c.Field, c.Before), v.changed(scope, c.Field, c.After)}
		if line.Before == "" && line.After == "" {
			line.After = "changed; what it is stays secret"
		}
		out = append(out, line)
	}
	return out
}

// changePlace says in words where in a thing something has changed.
func changePlace(scope, place string) string {
	switch scope {
	case "FeatureFlag":
		return placeWords(place)
	case "Survey":
		return surveyPlace(place)
	case "Person", "Group": // a property
		return place
	}
	if place == "documentation_url" {
		return "documentation"
	}
	return strings.ReplaceAll(strings.ReplaceAll(place, "/", ", "), "_", " ")
}

// changed says in words what a field was, or is: JSON that may have been shortened, and ""
// for nothing.
func (v *vocabulary) changed(scope, place, value string) string {
	raw := json.RawMessage(value)
	if value == "" || !json.Valid(raw) {
		return value
	}
	steps := strings.Split(place, "/")
	last, kind := steps[len(steps)-1], ""
	if _, err := strconv.Atoi(last); err == nil && len(steps) > 1 {
		kind = steps[len(steps)-2] // it is an element of a list
	}
	switch {
	case scope == "EarlyAccessFeature" && place == "stage":
		return stageOf(text(raw)).Label
	case scope != "FeatureFlag":
	case place == "active" && value == "true":
		return "on"
	case place == "active":
		return "off"
	case last == "rollout_percentage", last == "exclusion_percentage":
		return value + " %"
	case last == "operator":
		return operatorOf("", text(raw)).label
	case kind != "":
		if words := v.part(kind, raw); words != "" {
			return words
		}
	case partJoints[last] != "":
		var list []json.RawMessage
		_ = json.Unmarshal(raw, &list)
		words := make([]string, len(list))
		for i := range list {
			words[i] = v.part(last, list[i])
		}
		if len(words) > 0 && !slices.Contains(words, "") {
			return strings.Join(words, partJoints[last])
		}
	}
	switch {
	case value == "true":
		return "yes"
	case value == "false":
		return "no"
	case value[0] == '[':
		var list []string
		if json.Unmarshal(raw, &list) == nil {
			return strings.Join(list, ", ")
		}
	}
	return text(raw)
}

// partJoints are what is between the parts of filters in words, by the lists that have them.
var partJoints = map[string]string{"groups": "; ", "properties": " and ", "variants": "; "}

// part says in words what a part of filters is, "" if there are no words for it.
func (v *vocabulary) part(list string, raw json.RawMessage) string {
	switch list {
	case "groups":
		var c rawCondition
		if json.Unmarshal(raw, &c) == nil {
			return v.condition(&c, "")
		}
	case "properties":
		var f rawFilter
		if json.Unmarshal(raw, &f) == nil {
			return v.filter(&f)
		}
	case "variants":
		var variant struct {
			Key   string  `json:"key"`
			Share float64 `json:"rollout_percentage"`
		}
		if json.Unmarshal(raw, &variant) == nil {
			return variant.Key + " " + percent(variant.Share)
		}
	}
	return ""
}

// changeVocabulary returns the names of what changes refer to by numbers, if they do.
func (q *request) changeVocabulary(lists ...[]management.FlagChange) (*vocabulary, error) {
	words := &vocabulary{cohorts: make(map[string]string), flags: make(map[string]string), groupTypes: make(map[string]string)}
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
				words.cohorts[strconv.FormatInt(c.ID, 10)] = c.Name
			}
		}
	}
	if flags {
		list, err := q.c.Service.FlagNames(q.Context(), q.by, q.ref, maxOffered)
		if err != nil && !isRefusal(err) {
			return nil, err
		}
		for _, f := range list {
			words.flags[strconv.FormatInt(f.ID, 10)] = f.Key
		}
	}
	if groups {
		types, err := q.groupTypes()
		if err != nil {
			return nil, err
		}
		for _, t := range types {
			words.groupTypes[t.Value] = t.Label
		}
	}
	return words, nil
}
