package management

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/internal/field"
	"github.com/flagstaff-go/flagstaff/management/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/internal/survey"
)

// targeting is what is logged of the flag that targets a survey (management.md
// §11.7): Filters of one that was made for it, Deleted the filters of one that is
// gone, and ID that of an ordinary flag.
type targeting struct {
	ID      *int64
	Deleted *flags.Filters
	Filters *flags.Filters
}

func (t targeting) fields() field.Table {
	return field.Table{
		field.Logged("targeting_flag_id", t.ID), field.Logged("targeting_flag", loggedFilters{t.Deleted}), field.Logged("targeting_flag_filters", loggedFilters{t.Filters}),
	}
}

func targetingOf(f *FeatureFlag) targeting {
	switch {
	case f == nil:
		return targeting{}
	case f.Kind == FlagOrdinary:
		return targeting{ID: &f.ID}
	}
	return targeting{Filters: new(f.Filters)}
}

// target gives the survey the targeting flag that the change asks for, and returns
// what is to be logged about it. A flag that was made for the survey goes when the
// survey does without it; an ordinary one stays as it is.
func (c *surveyChange) target(ctx context.Context) ([]field.Change, error) {
	var current *FeatureFlag
	if c.v.TargetingFlag != nil {
		var err error
		if current, err = c.store.Flag(ctx, c.at.Project.ID, *c.v.TargetingFlag); err != nil {
			return nil, storeError(err)
		}
	}
	before := targetingOf(current)
	next, err := c.nextTarget(ctx, current)
	if err != nil {
		return nil, err
	}
	if current != nil && (next == nil || next.ID != current.ID) {
		if err := c.by.Require("feature_flag:write"); err != nil {
			return nil, err
		}
		if err := c.dropSurveyFlag(ctx, c.at.Project.ID, current.ID); err != nil {
			return nil, err
		}
		before.Deleted, before.Filters = before.Filters, nil
	}
	c.v.TargetingFlag = nil
	if next != nil {
		c.v.TargetingFlag = &next.ID
	}
	return field.Differences("Survey", before.fields(), targetingOf(next).fields()), nil
}

// nextTarget returns the targeting flag that the change asks for, nil for none.
func (c *surveyChange) nextTarget(ctx context.Context, current *FeatureFlag) (*FeatureFlag, error) {
	id := &c.patch.TargetingFlagID
	switch {
	case c.patch.filters():
		return c.ownTarget(ctx, current)
	case c.patch.RemoveTargetingFlag.Value, id.Null:
		return nil, nil
	case !id.Set, current != nil && id.Value == current.ID:
		return current, nil
	}
	return c.ordinaryFlag(ctx, id.Value)
}

// ownTarget returns a flag for the survey with the filters of the change: the
// current one, or a new one if that is not the survey's own.
func (c *surveyChange) ownTarget(ctx context.Context, current *FeatureFlag) (*FeatureFlag, error) {
	f := c.newSurveyFlag(c.v, FlagSurveyTargeting, "")
	if current != nil && current.Kind == FlagSurveyTargeting {
		f = current
	}
	world, err := c.definitionWorld(ctx)
	if err != nil {
		return nil, err
	}
	var filters flags.Filters
	err = judge.Read(c.patch.TargetingFlagFilters.Value, f.Key, &filters)
	if err == nil {
		err = judge.Judge(&filters, judge.Subject{ID: f.ID, Key: f.Key, Create: true}, world)
	}
	if err != nil {
		err = judgeError(err)
		if e, ok := errors.AsType[*Error](err); ok {
			e.Attr = "targeting_flag_filters"
		}
		return nil, err
	}
	_, err = c.putSurveyFlag(ctx, c.v, f, filters)
	return f, err
}

// dropSurveyFlag deletes a flag if it was made for a survey.
func (w *work) dropSurveyFlag(ctx context.Context, project, id int64) error {
	f, err := w.store.Flag(ctx, project, id)
	if err != nil || f.Kind == FlagOrdinary {
		return storeError(err)
	}
	return storeError(w.store.DeleteFlag(ctx, project, id))
}

// runsNow reports whether the flags of a survey are on (management.md §9.2).
func runsNow(v *Survey) bool { return v.Start != nil && v.End == nil && !v.Archived }

// interactionKey is what the properties of persons who have answered or dismissed
// a survey end with (management.md §9.6).
func interactionKey(v *Survey) string {
	if orZero(v.IterationCount) == 0 {
		return v.ID.String()
	}
	return v.ID.String() + "/" + strconv.Itoa(max(orZero(v.CurrentIteration), 1))
}

// syncSurveyFlags makes the flags that were made for a survey what it says
// (management.md §9.6), and reports whether they were not: one that keeps those out
// who have answered or dismissed it, always; one that lets in as many as are wanted
// each day, if they are limited; and the one for targeting, if there is one. Rollout
// is the percentage to let in from now on; nil leaves it.
func (w *work) syncSurveyFlags(ctx context.Context, v *Survey, rollout *float64) (changed bool, err error) {
	internal, err := w.surveyFlag(ctx, v, v.InternalFlag, FlagSurveyInternal, "-custom")
	if err != nil {
		return false, err
	}
	changed, err = w.putSurveyFlag(ctx, v, internal, survey.InternalFilters(interactionKey(v), survey.WaitDays(v.Conditions)))
	if err != nil {
		return false, err
	}
	v.InternalFlag = &internal.ID

	sampled, err := w.syncSampling(ctx, v, rollout)
	if err != nil || v.TargetingFlag == nil {
		return changed || sampled, err
	}
	f, err := w.store.Flag(ctx, v.Project, *v.TargetingFlag)
	if err != nil || f.Kind == FlagOrdinary {
		return changed || sampled, storeError(err)
	}
	targeted, err := w.putSurveyFlag(ctx, v, f, f.Filters)
	return changed || sampled || targeted, err
}

// syncSampling is syncSurveyFlags for the flag that limits how many are asked.
func (w *work) syncSampling(ctx context.Context, v *Survey, rollout *float64) (changed bool, err error) {
	if v.SamplingDaily == nil {
		if v.SamplingFlag == nil {
			return false, nil
		}
		id := *v.SamplingFlag
		v.SamplingFlag = nil
		return true, w.dropSurveyFlag(ctx, v.Project, id)
	}
	f, err := w.surveyFlag(ctx, v, v.SamplingFlag, FlagSurveySampling, "-sampling")
	if err != nil {
		return false, err
	}
	filters := f.Filters
	switch {
	case rollout != nil:
		filters = survey.SamplingFilters(*rollout)
	case f.ID == 0:
		filters = survey.SamplingFilters(100)
	}
	changed, err = w.putSurveyFlag(ctx, v, f, filters)
	v.SamplingFlag = &f.ID
	return changed, err
}

// surveyFlag returns the flag with an ID, or a new one without.
func (w *work) surveyFlag(ctx context.Context, v *Survey, id *int64, kind FlagKind, suffix string) (*FeatureFlag, error) {
	if id == nil {
		return w.newSurveyFlag(v, kind, suffix), nil
	}
	f, err := w.store.Flag(ctx, v.Project, *id)
	return f, storeError(err)
}

// newSurveyFlag returns a flag for a survey with a key that nobody guesses.
func (w *work) newSurveyFlag(v *Survey, kind FlagKind, suffix string) *FeatureFlag {
	f := w.defaultFlag(v.Project)
	b := make([]byte, 5)
	rand.Read(b) // never fails
	f.Kind, f.Key, f.CreatedBy = kind, "survey-targeting-"+hex.EncodeToString(b)+suffix, v.CreatedBy
	return f
}

// putSurveyFlag stores a flag of a survey with filters, and reports whether that
// changes anything.
func (w *work) putSurveyFlag(ctx context.Context, v *Survey, f *FeatureFlag, filters flags.Filters) (changed bool, err error) {
	name, on := "Targeting flag for survey "+v.Name, runsNow(v)
	if f.ID != 0 && f.Name == name && f.Active == on && sameFilters(&f.Filters, &filters) {
		return false, nil
	}
	f.Name, f.Active, f.Filters, f.Updated = name, on, filters, w.now()
	if f.ID == 0 {
		return true, storeError(w.store.CreateFlag(ctx, f))
	}
	f.Version++
	return true, storeError(w.store.UpdateFlag(ctx, f))
}
