package flags

import (
	"encoding/json"
	"iter"
)

// The reason codes of a result (evaluation.md §3.7 and §3.9).
const (
	ReasonConditionMatch   = "condition_match"
	ReasonNoConditionMatch = "no_condition_match"
	ReasonOutOfRollout     = "out_of_rollout_bound"
	ReasonNoGroupType      = "no_group_type"
	ReasonSuperCondition   = "super_condition_value"
	ReasonHoldout          = "holdout_condition_value"
	ReasonFlagDisabled     = "flag_disabled"
	ReasonMissingFlag      = "missing_dependency"

	// Codes of failed results.
	ErrorFlagData       = "flag_data_parsing_error"
	ErrorCohortNotFound = "dependency_not_found_cohort"
	ErrorCohortCycle    = "dependency_cycle_cohort"
	ErrorCohortData     = "cohort_filters_parsing_error"
	ErrorFlagCycle      = "dependency_cycle_flag"
	ErrorOverrides      = "hash_key_override_error"
)

// A Result is the value of one flag for one request, with its reason. json.Marshal
// writes it in the form of POST /flags?v=2.
type Result struct {
	Key     string
	Enabled bool

	// Variant is the variant's key, or "" for none. A subject in a holdout has the
	// variant "holdout-<id>".
	Variant string

	// Failed says that the flag could not be computed: Enabled is false, and the
	// Reason's code tells why. Clients keep the value that they had before.
	Failed bool

	Reason   Reason
	Metadata Metadata

	hasVariant bool // Variant may be a variant with an empty key
	basis      Basis
	form       form
	payload    json.RawMessage
}

// A Reason explains a result.
type Reason struct {
	Code string

	// ConditionIndex is the condition set that decided, counted from 0, or -1 for
	// none (null on the wire). If no condition set matched, it is the condition
	// set of the reported reason (evaluation.md §3.7).
	ConditionIndex int

	Description string
}

// Metadata is what a definition says about the flag and its value.
type Metadata struct {
	ID      int64
	Version int

	// Payload is the payload's JSON text, or "" if there is none. If a payload is
	// stored as a string, it is the text in that string.
	Payload string

	HasExperiment bool
}

// Value returns the flag's value: false, true, or the variant's key.
func (r *Result) Value() any {
	if r.hasVariant {
		return r.Variant
	}
	return r.Enabled
}

// MarshalJSON writes the result as an entry of POST /flags?v=2. The bytes that
// AppendFlags copies are the same.
func (r Result) MarshalJSON() ([]byte, error) {
	type reason struct {
		Code        string `json:"code"`
		Index       *int   `json:"condition_index"`
		Description string `json:"description"`
	}
	type metadata struct {
		ID            int64           `json:"id"`
		Version       int             `json:"version"`
		Description   *string         `json:"description"`
		Payload       json.RawMessage `json:"payload,omitempty"`
		HasExperiment bool            `json:"has_experiment"`
	}
	out := struct {
		Key      string   `json:"key"`
		Enabled  bool     `json:"enabled"`
		Variant  *string  `json:"variant,omitempty"`
		Failed   bool     `json:"failed,omitempty"`
		Reason   reason   `json:"reason"`
		Metadata metadata `json:"metadata"`
	}{
		Key: r.Key, Enabled: r.Enabled, Failed: r.Failed,
		Reason:   reason{Code: r.Reason.Code, Description: r.Reason.Description},
		Metadata: metadata{ID: r.Metadata.ID, Version: r.Metadata.Version, Payload: r.payload, HasExperiment: r.Metadata.HasExperiment},
	}
	if r.hasVariant {
		out.Variant = &r.Variant
	}
	if r.Reason.ConditionIndex >= 0 {
		out.Reason.Index = &r.Reason.ConditionIndex
	}
	return json.Marshal(out)
}

// Results has the results of all flags that a request may see. It is immutable and
// keeps its Snapshot alive.
type Results struct {
	// Partial says that some flag could not be computed: it failed, or a
	// dependency cycle removed it.
	Partial bool

	snap      *Snapshot
	decisions []decision // by program order; a value below 0 is no result
	n         int        // how many of them have a result
}

// Len returns the number of results.
func (r *Results) Len() int { return r.n }

// Get returns the result of the flag with the key. It is not ok if there is no such
// flag, if the flag is inactive or if it was filtered out.
func (r *Results) Get(key string) (_ Result, ok bool) {
	i, ok := r.snap.index[key]
	if !ok || r.decisions[i].value < 0 {
		return Result{}, false
	}
	return r.snap.result(i, r.decisions[i]), true
}

// All iterates over the results by flag key, in the order of the definitions.
func (r *Results) All() iter.Seq2[string, Result] {
	return func(yield func(string, Result) bool) {
		for _, i := range r.snap.order {
			if r.decisions[i].value < 0 {
				continue
			}
			if !yield(r.snap.flags[i].key, r.snap.result(i, r.decisions[i])) {
				return
			}
		}
	}
}
