package reference

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Result is the answer for one flag (§3.7–§3.9).
type Result struct {
	Key           string
	Enabled       bool
	Variant       string
	HasVariant    bool
	Failed        bool
	Code          string // of the reason or of the failure
	Index         int    // of the condition, -1 if there is none
	Description   string // of the reason
	ID            int64
	Version       int
	Payload       json.RawMessage // a JSON string, nil if there is none
	HasExperiment bool
}

// The reason codes of §3.7, and the failure codes of §3.9 that are possible
// without infrastructure.
const (
	codeEnrolment         = "super_condition_value"
	codeHoldout           = "holdout_condition_value"
	codeMatch             = "condition_match"
	codeOutOfRollout      = "out_of_rollout_bound"
	codeNoMatch           = "no_condition_match"
	codeNoGroup           = "no_group_type"
	codeMissingDependency = "missing_dependency"

	codeCohortNotFound = "dependency_not_found_cohort"
	codeCohortCycle    = "dependency_cycle_cohort"
	codeCohortParsing  = "cohort_filters_parsing_error"
	codeFlagData       = "flag_data_parsing_error"
)

// descriptions are the texts of §3.7 and §3.9. The text of condition_match has
// a number, and no_condition_match has variants. The specification has no text
// for flag_data_parsing_error.
var descriptions = map[string]string{
	codeEnrolment:         "Super condition value",
	codeHoldout:           "Holdout condition value",
	codeOutOfRollout:      "Out of rollout bound",
	codeNoMatch:           "No matching condition set",
	codeNoGroup:           "No group type",
	codeMissingDependency: "Flag cannot be evaluated due to missing dependency",
	codeCohortNotFound:    "Cohort dependency not found",
	codeCohortCycle:       "Cohort dependency cycle detected",
	codeCohortParsing:     "Failed to parse cohort filters",
	codeFlagData:          "Failed to parse flag data",
}

const (
	noMatchBehavioral = "This condition targets a behavioral or realtime cohort. Its membership is not fully evaluated " +
		"here, so this result can differ from the cohort's member list."
	noMatchWithoutGroup = "No matching condition set (group conditions were not evaluated because no group type was provided)"
)

// An evaluation is the evaluation of one request against one document.
type evaluation struct {
	document *Document
	request  *Request
	compare  comparison

	distinctID, deviceID, anonymousID string
	person, metadata                  map[string]any

	included []*flag          // the flags to evaluate
	results  map[*flag]Result // shared by all flags that depend on one (§7.2)
}

// Evaluate evaluates all requested flags, in document order. partial is
// errorsWhileComputingFlags of §3.9: a flag failed, or a dependency cycle
// removed flags.
func (d *Document) Evaluate(r *Request) (results []Result, partial bool) {
	zone := r.Zone
	if zone == nil {
		zone = d.zone
	}
	e := &evaluation{
		document:    d,
		request:     r,
		compare:     comparison{matchingVersion: d.matchingVersion, now: r.Now, zone: zone},
		distinctID:  r.distinctID(),
		deviceID:    r.deviceID(),
		anonymousID: r.anonymousID(),
		person:      r.personMap(),
		metadata:    r.metadataMap(),
		results:     map[*flag]Result{},
	}
	requested := d.requested(r)
	for _, f := range d.flags {
		if slices.Contains(requested, f) && passesFilters(f, r) {
			e.included = append(e.included, f)
		}
	}
	for _, f := range e.included {
		if d.leftOut(f) {
			partial = true // §7.2: the flag is absent, but the cycle is reported
			continue
		}
		result := e.result(f)
		results = append(results, result)
		partial = partial || result.Failed
	}
	return results, partial
}

// requested applies flag_keys of §7.4: the named flags and their transitive
// dependencies, before all other filters.
func (d *Document) requested(r *Request) []*flag {
	if !r.HasKeys {
		return d.flags
	}
	var list []*flag
	for _, key := range r.Keys {
		if f := d.flagByKey(key); f != nil {
			list = append(append(list, f), d.reachable(f)...)
		}
	}
	return list
}

// passesFilters implements §3.1 step 3.
func passesFilters(f *flag, r *Request) bool {
	if !f.active || f.encrypted {
		return false
	}
	if r.SurveysOnly && !strings.HasPrefix(f.key, "survey-targeting-") {
		return false
	}
	return inRuntime(f, r.Kind) && inContexts(f, r.Tags)
}

// inRuntime implements the table of §9.1. Without a kind there is no filtering
// (§8.6).
func inRuntime(f *flag, kind string) bool {
	runtime := strings.ToLower(f.runtime)
	if kind == "" || runtime != "client" && runtime != "server" {
		return true
	}
	return runtime == kind // an unknown request is neither client nor server
}

// inContexts implements §9.2.
func inContexts(f *flag, tags []string) bool {
	if len(tags) == 0 || len(f.contexts) == 0 {
		return true
	}
	met := 0
	for _, wanted := range f.contexts {
		if slices.Contains(tags, wanted) {
			met++
		}
	}
	return met == len(f.contexts) || met > 0 && !f.matchAll
}

// result evaluates a flag once per request (§7.2).
func (e *evaluation) result(f *flag) Result {
	result, done := e.results[f]
	if !done {
		result = e.evaluate(f)
		e.results[f] = result
	}
	return result
}
