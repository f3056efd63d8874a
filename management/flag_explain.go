package management

import (
	"context"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A FlagExplanation tells how a flag came to its value for somebody. It shows
// properties of persons.
type FlagExplanation struct {
	Key   string `json:"key"`
	Value any    `json:"value"` // false, true or a variant; null if it cannot be computed

	// Result is the flag's entry in the answer of POST /flags?v=2. Hidden says
	// why the flag would not be in it, "" if it would be; the result is then
	// what flags see that depend on it.
	Result flags.Result `json:"result"`
	Hidden string       `json:"hidden"`

	Why          string                `json:"why"`
	Dependencies []ExplainedDependency `json:"dependencies"`
	Enrollment   *ExplainedFilter      `json:"enrollment"`
	Holdout      *ExplainedDraw        `json:"holdout"`
	Conditions   []ExplainedCondition  `json:"conditions"`

	trace *flags.Trace
}

// String returns the explanation as lines for people, see [flags.Trace.String].
func (e *FlagExplanation) String() string { return e.trace.String() }

// An ExplainedDependency is the value of a flag that another one depends on.
type ExplainedDependency struct {
	Key   string `json:"key"`
	Value string `json:"value"` // true, false or a variant
	Note  string `json:"note"`
}

// An ExplainedCondition is what happened to a condition set; see
// [flags.ConditionTrace].
type ExplainedCondition struct {
	Index       int               `json:"index"`
	Outcome     string            `json:"outcome"`
	Matched     bool              `json:"matched"`
	Aggregation string            `json:"aggregation"`
	Subject     string            `json:"subject"`
	Filters     []ExplainedFilter `json:"properties"`
	Rollout     *ExplainedDraw    `json:"rollout"`
	Variant     *ExplainedVariant `json:"variant"`
	Pinned      string            `json:"pinned_variant"`
}

// An ExplainedFilter is one comparison; see [flags.FilterTrace].
type ExplainedFilter struct {
	Source   string `json:"source"`
	Key      string `json:"key"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
	Present  bool   `json:"present"`
	Seen     string `json:"seen"`
	Result   string `json:"result"`
}

// An ExplainedDraw is whether a subject is in a rollout or a holdout; see
// [flags.BucketTrace].
type ExplainedDraw struct {
	Subject   string  `json:"subject"`
	Bucket    float64 `json:"bucket"`
	Hashed    bool    `json:"hashed"`
	Threshold float64 `json:"threshold"`
	In        bool    `json:"in"`
}

// An ExplainedVariant is the draw of a variant; see [flags.VariantTrace].
type ExplainedVariant struct {
	Bucket  float64          `json:"bucket"`
	Bounds  []ExplainedShare `json:"bounds"`
	Variant string           `json:"variant"`
}

// An ExplainedShare is where the share of a variant ends.
type ExplainedShare struct {
	Variant string  `json:"variant"`
	Below   float64 `json:"below"`
}

// ExplainFlag tells how a flag comes to its value, for the request that would be
// the body of POST /flags (evaluation.md §8.1): distinct_id, which it must have,
// and person_properties, groups, group_properties, $device_id, $anon_distinct_id,
// evaluation_runtime and evaluation_contexts. What is stored about the person, its
// groups, cohorts and experience continuity counts as it does there, except that
// nothing is stored and no address is looked up. It needs scopes feature_flag:read
// and person:read.
func (s *Service) ExplainFlag(ctx context.Context, p *Principal, ref, flag string, document []byte) (*FlagExplanation, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read", "person:read")
	if err != nil {
		return nil, err
	}
	f, err := w.flagByRef(ctx, flag)
	if err != nil {
		return nil, err
	}
	if f.Deleted {
		return nil, plainNotFound
	}
	r, err := readRequest(document)
	if err != nil {
		return nil, err
	}
	r.Keys, r.HasKeys = []string{f.Key}, true
	set, err := w.definitionSet(ctx)
	if err != nil {
		return nil, err
	}
	snapshot, err := set.compile(set.flags)
	if err != nil {
		return nil, err
	}
	in := new(flags.Input)
	if err := s.fillInput(ctx, in, snapshot, w.at.Project.ID, r); err != nil {
		return nil, err
	}
	t, err := in.Explain(f.Key)
	if err != nil {
		return nil, plainNotFound // deleted just now
	}
	return explanationOf(t), nil
}

// explanationOf is a trace as the API shows it.
func explanationOf(t *flags.Trace) *FlagExplanation {
	e := &FlagExplanation{
		Key: t.Key, Value: t.Value(), Result: t.Result, Hidden: t.Hidden, Why: t.Why,
		Dependencies: []ExplainedDependency{}, Enrollment: (*ExplainedFilter)(t.Enrollment), Holdout: (*ExplainedDraw)(t.Holdout),
		Conditions: []ExplainedCondition{}, trace: t,
	}
	if t.Failed {
		e.Value = nil
	}
	for _, d := range t.Dependencies {
		e.Dependencies = append(e.Dependencies, ExplainedDependency(d))
	}
	for i := range t.Conditions {
		c := &t.Conditions[i]
		conditions := ExplainedCondition{
			Index: c.Index, Outcome: c.Outcome, Matched: c.Matched, Aggregation: c.Aggregation, Subject: c.Subject,
			Filters: []ExplainedFilter{}, Rollout: (*ExplainedDraw)(c.Rollout), Pinned: c.Pinned,
		}
		for _, f := range c.Filters {
			conditions.Filters = append(conditions.Filters, ExplainedFilter(f))
		}
		if v := c.Variant; v != nil {
			conditions.Variant = &ExplainedVariant{Bucket: v.Bucket, Bounds: []ExplainedShare{}, Variant: v.Variant}
			for _, b := range v.Bounds {
				conditions.Variant.Bounds = append(conditions.Variant.Bounds, ExplainedShare(b))
			}
		}
		e.Conditions = append(e.Conditions, conditions)
	}
	return e
}
