package management

import (
	"cmp"
	"context"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A FlagEvaluation is the value of a flag for somebody, and why it is that.
type FlagEvaluation struct {
	Value      any        `json:"value"` // as in a FlagPreview
	Evaluation FlagReason `json:"evaluation"`
}

// A FlagReason is why a flag has a value.
type FlagReason struct {
	Reason         string `json:"reason"` // a code of POST /flags, disabled or not_evaluated
	ConditionIndex *int   `json:"condition_index"`
	Description    string `json:"description"`
}

// EvaluationReasons returns the values of all flags that people have made, by key,
// for a person and the groups of a JSON object; "" means no groups. What is stored
// counts as for [Service.ExplainFlag]. It needs scope feature_flag:read.
func (s *Service) EvaluationReasons(ctx context.Context, p *Principal, ref, distinctID, groups string) (map[string]FlagEvaluation, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	if distinctID == "" {
		return nil, invalid("distinct_id", "required", "This field is required.")
	}
	r, err := requestFor(distinctID, groups)
	if err != nil {
		return nil, err
	}
	return w.reasonsFor(ctx, r)
}

// ExplainFlags returns the same as [Service.EvaluationReasons] for the request that
// would be the body of POST /flags, as [Service.ExplainFlag] takes it. It needs scopes
// feature_flag:read and person:read.
func (s *Service) ExplainFlags(ctx context.Context, p *Principal, ref string, document []byte) (map[string]FlagEvaluation, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read", "person:read")
	if err != nil {
		return nil, err
	}
	r, err := readRequest(document)
	if err != nil {
		return nil, err
	}
	return w.reasonsFor(ctx, r)
}

func (w *work) reasonsFor(ctx context.Context, r *wire.Request) (map[string]FlagEvaluation, error) {
	list, results, err := w.evaluateFor(ctx, r)
	if err != nil {
		return nil, err
	}
	reasons := make(map[string]FlagEvaluation, len(list))
	for i := range list {
		reasons[list[i].Key] = evaluationOf(&list[i], results)
	}
	return reasons, nil
}

// evaluateFor evaluates the flags of a project, and returns with the results those
// flags that people have made, newest first.
func (w *work) evaluateFor(ctx context.Context, r *wire.Request) ([]storage.Flag, *flags.Results, error) {
	set, err := w.definitionSet(ctx)
	if err != nil {
		return nil, nil, err
	}
	snapshot, err := set.compile(set.flags)
	if err != nil {
		return nil, nil, err
	}
	results, err := w.evaluateRequest(ctx, snapshot, w.at.Project.ID, r)
	if err != nil {
		return nil, nil, err
	}
	list := slices.DeleteFunc(set.flags, func(f storage.Flag) bool { return f.Kind != storage.FlagOrdinary })
	slices.SortFunc(list, func(a, b storage.Flag) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID)) })
	return list, results, nil
}

func evaluationOf(f *storage.Flag, results *flags.Results) FlagEvaluation {
	r, ok := results.Get(f.Key)
	switch {
	case !f.InForce():
		return FlagEvaluation{false, FlagReason{Reason: "disabled", Description: "The flag is disabled."}}
	case f.EncryptedPayloads:
		return FlagEvaluation{false, FlagReason{Reason: "not_evaluated", Description: "Flags with encrypted payloads are not evaluated."}}
	case !ok:
		return FlagEvaluation{false, FlagReason{Reason: "not_evaluated", Description: "The flag depends on itself."}}
	}
	e := FlagEvaluation{resultValue(&r), FlagReason{Reason: r.Reason.Code, Description: r.Reason.Description}}
	if r.Reason.ConditionIndex >= 0 {
		e.Evaluation.ConditionIndex = &r.Reason.ConditionIndex
	}
	return e
}

// MyFlag is the value of a flag for the caller.
type MyFlag struct {
	Flag  *MinimalFlag `json:"feature_flag"`
	Value any          `json:"value"` // as in a FlagPreview
}

// MyFlags returns the values of all flags that people have made, newest first, for
// the Principal's own distinct ID. Groups and scope are as for
// [Service.EvaluationReasons].
func (s *Service) MyFlags(ctx context.Context, p *Principal, ref, groups string) ([]MyFlag, error) {
	w, err := s.beginAt(ctx, p, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	r, err := requestFor(p.User.DistinctID, groups)
	if err != nil {
		return nil, err
	}
	list, results, err := w.evaluateFor(ctx, r)
	if err != nil {
		return nil, err
	}
	return each(list, func(f *storage.Flag) MyFlag {
		value := flagValue(results, f.Key)
		if value == nil && !judge.IsRuleSet(&f.Filters) {
			value = false
		}
		return MyFlag{NewMinimalFlag(f), value}
	}), nil
}
