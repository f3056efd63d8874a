package management

import (
	"context"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A FlagExplanation tells how a flag came to its value for somebody. It shows
// properties of persons.
type FlagExplanation struct {
	Key   string `json:"key"`
	Value any    `json:"value"` // as in a FlagPreview

	// Result is the flag's entry in the answer of POST /flags?v=2. Hidden says
	// why the flag would not be in it, "" if it would be; the result is then
	// what flags see that depend on it.
	Result flags.Result `json:"result"`
	Hidden string       `json:"hidden"`

	// See [flags.Trace].
	Why          string                  `json:"why"`
	Dependencies []flags.DependencyTrace `json:"dependencies"`
	Enrollment   *flags.FilterTrace      `json:"enrollment"`
	Holdout      *flags.BucketTrace      `json:"holdout"`
	Conditions   []flags.ConditionTrace  `json:"conditions"`

	trace *flags.Trace
}

// String returns the explanation as lines for people, see [flags.Trace.String].
func (e *FlagExplanation) String() string { return e.trace.String() }

// ExplainFlag tells how a flag comes to its value, for the request that would be
// the body of POST /flags (evaluation.md §8.1): distinct_id, which it must have,
// and person_properties, groups, group_properties, $device_id, $anon_distinct_id,
// evaluation_runtime and evaluation_contexts. What is stored about the person, its
// groups, cohorts and experience continuity counts as it does there, except that
// nothing is stored and no address is looked up. It needs scopes feature_flag:read
// and person:read.
func (s *Service) ExplainFlag(ctx context.Context, p *Principal, ref, flag string, document []byte) (*FlagExplanation, error) {
	w, f, err := s.readFlag(ctx, p, ref, flag, "person:read")
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
		Key: t.Key, Value: resultValue(&t.Result), Result: t.Result, Hidden: t.Hidden, Why: t.Why,
		Dependencies: append([]flags.DependencyTrace{}, t.Dependencies...), Enrollment: t.Enrollment, Holdout: t.Holdout,
		Conditions: append([]flags.ConditionTrace{}, t.Conditions...), trace: t,
	}
	if t.Failed {
		e.Value = nil
	}
	return e
}
