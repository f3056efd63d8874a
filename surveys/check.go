package surveys

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// A change is a change of a survey within a transaction.
type change struct {
	*work
	patch  *Patch
	before Survey
	v      *Survey // the survey after the change
}

// check checks the survey as a whole, in the order of the fields.
func (c *change) check(ctx context.Context) error {
	if err := cmp.Or(c.checkLinkedFlag(ctx), c.checkInsight()); err != nil {
		return err
	}
	if err := cmp.Or(c.checkTargeting(ctx), c.checkExternal()); err != nil {
		return err
	}
	return cmp.Or(refusal(rules.CheckShuffle(c.v.Questions, c.v.Appearance)), c.checkIterations(), c.checkSampling())
}

// checkLinkedFlag checks the linked flag, and the variant that the conditions name
// (management.md §9.4).
func (c *change) checkLinkedFlag(ctx context.Context) error {
	if !c.patch.LinkedFlagID.Set && !c.patch.Conditions.Set {
		return nil
	}
	variant := rules.LinkedVariant(c.v.Conditions)
	if c.v.LinkedFlag == nil {
		if variant != "" {
			return invalidAt(linkedVariant, "needs a linked flag.")
		}
		return nil
	}
	f, err := c.ordinaryFlag(ctx, "linked_flag_id", *c.v.LinkedFlag)
	if err != nil {
		return err
	}
	if variant != "" && variant != "any" && !slices.Contains(judge.Variants(&f.Filters), variant) {
		return invalidAt(linkedVariant, "is %q, which is not a variant of the feature flag %s.", check.Excerpt(variant), f.Key)
	}
	return nil
}

// linkedVariant is the place of the variant of the linked flag.
var linkedVariant = []string{"conditions", "linkedFlagVariant"}

// ordinaryFlag returns a flag that a field of a survey may refer to. It refuses a flag that was made
// for a survey, because that flag is deleted with its survey.
func (c *change) ordinaryFlag(ctx context.Context, field string, id int64) (*storage.Flag, error) {
	f, err := c.Store().Flags().Get(ctx, storage.FlagProject.Is(c.at.Project.ID), storage.FlagID.Is(id))
	switch {
	case errors.Is(err, management.ErrNotFound), err == nil && (f.Deleted || f.Kind != storage.FlagOrdinary):
		return nil, invalidAt([]string{field}, "There is no feature flag with the ID %d in this project.", id)
	}
	return f, err
}

// checkInsight refuses an insight that findInsight has not found.
func (c *change) checkInsight() error {
	if id := &c.patch.LinkedInsightID; id.Set && !id.Null && !c.patch.insightExists {
		return invalidAt([]string{"linked_insight_id"}, "There is no insight with the ID %d in this project.", id.Value)
	}
	return nil
}

// findInsight asks the host application for the insight that a change links to. It is
// called before the transaction, which must wait for nothing but the store.
func (s *Service) findInsight(ctx context.Context, p *management.Principal, ref string, patch *Patch) error {
	id := &patch.LinkedInsightID
	if !id.Set || id.Null || id.Undecoded() != nil {
		return nil
	}
	if s.c.InsightExists == nil {
		patch.insightExists = true
		return nil
	}
	w, err := s.begin(ctx, p, ref, patch.scopes()...)
	if err != nil {
		return err
	}
	patch.insightExists, err = s.c.InsightExists(ctx, w.at.Project.ID, id.Value)
	return err
}

func (c *change) checkTargeting(ctx context.Context) error {
	id, current := &c.patch.TargetingFlagID, c.before.TargetingFlag
	if id.Set && !id.Null && (current == nil || *current != id.Value) {
		if _, err := c.ordinaryFlag(ctx, "targeting_flag_id", id.Value); err != nil {
			return err
		}
		if c.patch.filters() {
			return invalidAt([]string{"targeting_flag_id"}, "targeting_flag_id and targeting_flag_filters exclude each other.")
		}
	}
	if c.patch.filters() && rules.TargetsEveryone(&c.patch.TargetingFlagFilters.Value) {
		return invalidAt([]string{"targeting_flag_filters"}, "would target everyone: give every condition set a filter or a rollout percentage, or leave targeting out.")
	}
	return nil
}

// checkExternal refuses what the page of an external survey cannot do
// (management.md §9.4).
func (c *change) checkExternal() error {
	if c.v.Type != "external_survey" {
		return nil
	}
	id := &c.patch.TargetingFlagID
	switch {
	case c.v.LinkedFlag != nil:
		return invalid("linked_flag_id", "External surveys cannot have a linked flag.")
	case id.Set && !id.Null:
		return invalid("targeting_flag_id", "External surveys cannot have a targeting flag.")
	case c.patch.filters(), c.before.TargetingFlag != nil && !id.Set && !c.patch.RemoveTargetingFlag.Value:
		return invalid("targeting_flag_filters", "External surveys cannot have targeting.")
	}
	return refusal(rules.CheckExternal(c.v.Conditions, c.v.Appearance))
}

// checkIterations refuses a number of iterations below the current one. Zero, which
// means no iterations, is always allowed.
func (c *change) checkIterations() error {
	if count, current := orZero(c.v.IterationCount), orZero(c.before.CurrentIteration); c.patch.IterationCount.Set && count > 0 && count < current {
		return invalidAt([]string{"iteration_count"}, "must be 0, or at least the current iteration, %d, not %d.", current, count)
	}
	return nil
}

func (c *change) checkSampling() error {
	if orZero(c.v.SamplingLimit) > 0 && (c.v.SamplingStart == nil || c.v.SamplingInterval == nil) {
		return invalid("response_sampling_start_date", "A limit of response sampling needs response_sampling_start_date and response_sampling_interval.")
	}
	return nil
}
