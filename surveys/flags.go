package surveys

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/normal"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// targeting is what is logged of the flag that targets a survey (management.md §11.7):
// the ID of an ordinary flag, the filters of a flag that was made for the survey, or, as
// Deleted, the filters of such a flag that the change deletes.
type targeting struct {
	ID      *int64
	Deleted *flags.Filters
	Filters *flags.Filters
}

func (t targeting) fields() field.Table {
	return field.Table{
		field.Logged("targeting_flag_id", t.ID), field.Logged("targeting_flag", normal.LoggedFilters{Filters: t.Deleted}), field.Logged("targeting_flag_filters", normal.LoggedFilters{Filters: t.Filters}),
	}
}

func targetingOf(f *storage.Flag) targeting {
	switch {
	case f == nil:
		return targeting{}
	case f.Kind == storage.FlagOrdinary:
		return targeting{ID: &f.ID}
	}
	return targeting{Filters: new(f.Filters)}
}

// target gives the survey the targeting flag that the change asks for, and returns
// what is to be logged about it. A flag that was made for the survey goes when the
// survey does without it; an ordinary one stays as it is.
func (c *change) target(ctx context.Context) ([]field.Change, error) {
	var current *storage.Flag
	if c.v.TargetingFlag != nil {
		var err error
		if current, err = c.Store().Flags().Get(ctx, storage.FlagProject.Is(c.at.Project.ID), storage.FlagID.Is(*c.v.TargetingFlag)); err != nil {
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
		if err := c.dropFlag(ctx, c.at.Project.ID, current.ID); err != nil {
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
func (c *change) nextTarget(ctx context.Context, current *storage.Flag) (*storage.Flag, error) {
	id := &c.patch.TargetingFlagID
	switch {
	case c.patch.filters():
		return c.ownTarget(ctx, current)
	case c.patch.RemoveTargetingFlag.Value, id.Null:
		return nil, nil
	case !id.Set, current != nil && id.Value == current.ID:
		return current, nil
	}
	return c.ordinaryFlag(ctx, "targeting_flag_id", id.Value)
}

// ownTarget returns a flag for the survey with the filters of the change: the
// current one, or a new one if that is not the survey's own.
func (c *change) ownTarget(ctx context.Context, current *storage.Flag) (*storage.Flag, error) {
	f := c.newFlag(c.v, storage.FlagSurveyTargeting, "")
	if current != nil && current.Kind == storage.FlagSurveyTargeting {
		f = current
	}
	judged := *f
	if err := c.SetFilters(ctx, &judged, c.patch.TargetingFlagFilters.Value); err != nil {
		if e, ok := errors.AsType[*management.Error](err); ok {
			e.Attr = "targeting_flag_filters"
		}
		return nil, err
	}
	if len(judged.Filters.Groups) == 0 {
		return nil, &management.Error{
			Kind: management.ErrInvalid, Code: "invalid_input", Attr: "targeting_flag_filters", Path: []string{"groups"},
			Detail: "must have at least one condition set, or the survey would target nobody.",
		}
	}
	_, err := c.putFlag(ctx, c.v, f, judged.Filters)
	return f, err
}

// dropFlag deletes a flag if it was made for a survey.
func (w *work) dropFlag(ctx context.Context, project, id int64) error {
	f, err := w.Store().Flags().Get(ctx, storage.FlagProject.Is(project), storage.FlagID.Is(id))
	if err != nil || f.Kind == storage.FlagOrdinary {
		return storeError(err)
	}
	return storeError(w.Store().Flags().Delete(ctx, storage.FlagProject.Is(project), storage.FlagID.Is(id)))
}

// flagsFor returns the IDs of the flag that targets a survey and of the flags that were
// made for it, 0 for none.
func flagsFor(v *Survey) [3]int64 {
	return [...]int64{orZero(v.TargetingFlag), orZero(v.InternalFlag), orZero(v.SamplingFlag)}
}

// runsNow reports whether the flags of a survey are on (management.md §9.2).
func runsNow(v *Survey) bool { return v.Start != nil && v.End == nil && !v.Archived }

// interactionKey returns the end of the names of the properties by which persons are known
// to have answered or dismissed a survey (management.md §9.6).
func interactionKey(v *Survey) string {
	if orZero(v.IterationCount) == 0 {
		return v.ID.String()
	}
	return v.ID.String() + "/" + strconv.Itoa(max(orZero(v.CurrentIteration), 1))
}

// syncFlags brings the flags that were made for a survey into line with it (management.md
// §9.6), and reports whether that has changed one. A flag that keeps out the persons who
// have answered or dismissed the survey is always there; a flag that lets in as many
// persons as a day wants is there if the survey has daily limits; and the survey may have
// a flag for its targeting. Rollout is the percentage of persons to let in from now on;
// nil leaves it as it is.
func (w *work) syncFlags(ctx context.Context, v *Survey, rollout *float64) (changed bool, err error) {
	internal, err := w.ownFlag(ctx, v, v.InternalFlag, storage.FlagSurveyInternal, "-custom")
	if err != nil {
		return false, err
	}
	changed, err = w.putFlag(ctx, v, internal, rules.InternalFilters(interactionKey(v), rules.WaitDays(v.Conditions)))
	if err != nil {
		return false, err
	}
	v.InternalFlag = &internal.ID

	sampled, err := w.syncSampling(ctx, v, rollout)
	if err != nil || v.TargetingFlag == nil {
		return changed || sampled, err
	}
	f, err := w.Store().Flags().Get(ctx, storage.FlagProject.Is(v.Project), storage.FlagID.Is(*v.TargetingFlag))
	if err != nil || f.Kind == storage.FlagOrdinary {
		return changed || sampled, storeError(err)
	}
	targeted, err := w.putFlag(ctx, v, f, f.Filters)
	return changed || sampled || targeted, err
}

// syncSampling is syncFlags for the flag that limits how many are asked.
func (w *work) syncSampling(ctx context.Context, v *Survey, rollout *float64) (changed bool, err error) {
	if v.SamplingDaily == nil {
		if v.SamplingFlag == nil {
			return false, nil
		}
		id := *v.SamplingFlag
		v.SamplingFlag = nil
		return true, w.dropFlag(ctx, v.Project, id)
	}
	f, err := w.ownFlag(ctx, v, v.SamplingFlag, storage.FlagSurveySampling, "-sampling")
	if err != nil {
		return false, err
	}
	filters := f.Filters
	switch {
	case rollout != nil:
		filters = rules.SamplingFilters(*rollout)
	case f.ID == 0:
		filters = rules.SamplingFilters(100)
	}
	changed, err = w.putFlag(ctx, v, f, filters)
	v.SamplingFlag = &f.ID
	return changed, err
}

// ownFlag returns the flag of a survey with an ID, or a new flag if the ID is nil.
func (w *work) ownFlag(ctx context.Context, v *Survey, id *int64, kind storage.FlagKind, suffix string) (*storage.Flag, error) {
	if id == nil {
		return w.newFlag(v, kind, suffix), nil
	}
	f, err := w.Store().Flags().Get(ctx, storage.FlagProject.Is(v.Project), storage.FlagID.Is(*id))
	return f, storeError(err)
}

// newFlag returns a flag for a survey with a key that cannot be guessed.
func (w *work) newFlag(v *Survey, kind storage.FlagKind, suffix string) *storage.Flag {
	f := storage.NewFlag(v.Project, w.now())
	b := make([]byte, 5)
	rand.Read(b) // never fails
	f.Kind, f.Key, f.CreatedBy = kind, "survey-targeting-"+hex.EncodeToString(b)+suffix, v.CreatedBy
	return f
}

// putFlag stores a flag of a survey with filters. It reports whether that changes anything.
func (w *work) putFlag(ctx context.Context, v *Survey, f *storage.Flag, filters flags.Filters) (changed bool, err error) {
	name, on := "Targeting flag for survey "+v.Name, runsNow(v)
	if f.ID != 0 && f.Name == name && f.Active == on && bytes.Equal(normal.Shown(&f.Filters), normal.Shown(&filters)) {
		return false, nil
	}
	f.Name, f.Active, f.Filters, f.Updated = name, on, filters, w.now()
	if f.ID == 0 {
		return true, storeError(w.Store().Flags().Create(ctx, f))
	}
	f.Version++
	return true, storeError(w.Store().Flags().Update(ctx, f))
}
