package flags

import (
	"cmp"
	"encoding/json"
	"iter"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/text"
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

	// The codes of flags with a rule set (rules.md §4.3).
	codeTargeting       = "targeting_match"
	codeSplit           = "experiment_split"
	codeRolloutMiss     = "rollout_miss"
	codePaused          = "experiment_paused"
	codeRuleHoldout     = "holdout"
	codeNoRule          = "no_rule_match"
	ReasonNoGroupKey    = "missing_group_key"
	codeError           = "error"
	codeDependencyError = "dependency_error"

	// Codes of failed results.
	ErrorFlagData   = "flag_data_parsing_error"
	ErrorCohortData = "cohort_filters_parsing_error"
	ErrorOverrides  = "hash_key_override_error"

	errorCohortNotFound = "dependency_not_found_cohort"
	errorCohortCycle    = "dependency_cycle_cohort"
	errorFlagCycle      = "dependency_cycle_flag"
)

// A Result is the value of one flag for one request, with its reason. [json.Marshal]
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

	// Unconfirmed says that a server was asked, see [Request.RemoteResults], and has not
	// answered for this flag, whose value may depend on what only the server knows.
	Unconfirmed bool

	// Answered says that the value is a server's, see [Request.RemoteResults], and was not
	// evaluated here.
	Remote bool

	Reason   Reason
	Metadata Metadata

	// Rule says which rule of a rule set decided. Nil: none, or the flag has none.
	Rule *RuleResult

	typed      string // JSON of the value of a rule set; "": it has none
	hasVariant bool   // Variant may be a variant with an empty key
	basis      basis
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
	// stored as a string, it is the text in that string; what is stored as another
	// value has no white space between its tokens.
	Payload string

	HasExperiment bool

	// MinimalEvents says that events $feature_flag_called about the flag shall have
	// few properties: the definitions ask for it, and the flag has no experiment
	// (wire.md §1.9).
	MinimalEvents bool
}

// Value returns the flag's value: false, true, or the variant's key.
func (r *Result) Value() any {
	if r.hasVariant {
		return r.Variant
	}
	return r.Enabled
}

// Text returns the flag's value as text: "false", "true", or the variant's key, as
// [Evaluator.Variant] does.
func (r *Result) Text() string {
	if r.hasVariant {
		return r.Variant
	}
	return strconv.FormatBool(r.Enabled)
}

// JSON returns the value of a flag with a rule set: JSON of the flag's type, or null for what the
// caller falls back on. It is nil for a flag with condition sets.
func (r *Result) JSON() json.RawMessage {
	if r.typed == "" {
		return nil
	}
	return json.RawMessage(r.typed)
}

// Typed returns what JSON returns, read. It is not ok for a flag with condition sets, for a failed
// one, and where the caller's fallback counts.
func (r *Result) Typed() (v TypedValue, ok bool) {
	v = newTypedValue(r.typed)
	return v, v.Type != ""
}

// PayloadJSON returns the payload as a JSON string, as POST /flags writes it, or nil
// if there is none. Do not change it: it belongs to the Snapshot.
func (r *Result) PayloadJSON() json.RawMessage {
	if len(r.payload) == 0 {
		return nil
	}
	return r.payload
}

// MarshalJSON writes the result as an entry of POST /flags?v=2.
func (r Result) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// AppendJSON appends what MarshalJSON writes, the bytes that [Input.AppendFlags]
// has for the flag (evaluation.md §11.1).
func (r *Result) AppendJSON(dst []byte) []byte {
	dst = text.AppendQuoted(append(dst, `{"key":`...), r.Key)
	v := value{variant: r.Variant, hasVariant: r.hasVariant, enabled: r.Enabled, failed: r.Failed}
	dst, _ = appendTail(r.Reason.append(v.append(dst)), r.Metadata.ID, r.Metadata.Version, r.Metadata.HasExperiment, r.payload)
	return dst
}

// append appends what stands behind the key and before the reason.
func (v *value) append(dst []byte) []byte {
	if v.enabled {
		dst = append(dst, `,"enabled":true`...)
	} else {
		dst = append(dst, `,"enabled":false`...)
	}
	if v.hasVariant {
		dst = text.AppendQuoted(append(dst, `,"variant":`...), v.variant)
	}
	if v.failed {
		dst = append(dst, `,"failed":true`...)
	}
	return append(dst, ',')
}

// append appends the reason.
func (r *Reason) append(dst []byte) []byte {
	dst = text.AppendQuoted(append(dst, `"reason":{"code":`...), cmp.Or(olderCodes[r.Code], r.Code))
	dst = append(dst, `,"condition_index":`...)
	if r.ConditionIndex < 0 {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, int64(r.ConditionIndex), 10)
	}
	dst = text.AppendQuoted(append(dst, `,"description":`...), r.Description)
	return append(dst, '}')
}

// olderCodes are the codes that clients know for those of rule sets (rules.md §4.4).
var olderCodes = map[string]string{
	codeTargeting: ReasonConditionMatch, codeSplit: ReasonConditionMatch, codeRolloutMiss: ReasonOutOfRollout,
	codeRuleHoldout: ReasonHoldout, codePaused: ReasonNoConditionMatch, codeNoRule: ReasonNoConditionMatch,
	ReasonNoGroupKey: ReasonNoConditionMatch, codeError: ReasonNoConditionMatch, codeDependencyError: ReasonNoConditionMatch,
}

// appendTail appends what stands behind the reason. payloadAt is where in dst the
// payload begins, if there is one.
func appendTail(dst []byte, id int64, version int, hasExperiment bool, payload []byte) (_ []byte, payloadAt int) {
	dst = strconv.AppendInt(append(dst, `,"metadata":{"id":`...), id, 10)
	dst = strconv.AppendInt(append(dst, `,"version":`...), int64(version), 10)
	dst = append(dst, `,"description":null`...)
	if len(payload) > 0 {
		dst = append(dst, `,"payload":`...)
		payloadAt = len(dst)
		dst = append(dst, payload...)
	}
	if hasExperiment {
		return append(dst, `,"has_experiment":true}}`...), payloadAt
	}
	return append(dst, `,"has_experiment":false}}`...), payloadAt
}

// Results has the results of all flags that a request may see. It is immutable and
// keeps its Snapshot alive.
type Results struct {
	// Partial says that some flag could not be computed: it failed, or a
	// dependency cycle removed it.
	Partial bool

	snap      *Snapshot
	decisions []decision // by program order; a value below 0 is not a result
	n         int        // how many of them have a result

	answers map[int32]Result // that take the place of decisions; nil: none
}

// newResults returns Results with room for n decisions. For most projects both are one
// allocation.
func newResults(n int) *Results {
	var r *Results
	switch {
	case n <= 128:
		both := new(struct {
			Results
			room [128]decision
		})
		r, both.decisions = &both.Results, both.room[:n]
	case n <= 1024:
		both := new(struct {
			Results
			room [1024]decision
		})
		r, both.decisions = &both.Results, both.room[:n]
	default:
		r = &Results{decisions: make([]decision, n)}
	}
	return r
}

// Len returns the number of results.
func (r *Results) Len() int {
	if r == nil {
		return 0
	}
	return r.n
}

// Get returns the result of the flag with the key. It is not ok if there is no such
// flag, if the flag is inactive or if it was filtered out.
func (r *Results) Get(key string) (result Result, ok bool) {
	if r == nil || r.snap == nil {
		return Result{}, false
	}
	i, ok := r.snap.find(key)
	if !ok || r.decisions[i].value < 0 {
		return Result{}, false
	}
	r.set(&result, i)
	return result, true
}

// set sets a Result that is zero to the result of flag i, which has one.
func (r *Results) set(result *Result, i int32) {
	if r.answers != nil {
		if answer, ok := r.answers[i]; ok {
			*result = answer
			return
		}
	}
	r.snap.setResult(result, i, r.decisions[i])
}

// All iterates over the results by flag key, in the order of the definitions.
func (r *Results) All() iter.Seq2[string, Result] {
	return func(yield func(string, Result) bool) {
		if r == nil || r.snap == nil {
			return
		}
		for _, i := range r.snap.order {
			if r.decisions[i].value < 0 {
				continue
			}
			var result Result
			r.set(&result, i)
			if !yield(result.Key, result) {
				return
			}
		}
	}
}
