package management

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"

	"github.com/flagstaff-go/flagstaff/management/internal/definition"
	"github.com/flagstaff-go/flagstaff/management/internal/survey"
)

// checkSurveyFlags checks what a survey says about flags that people have made.
func (s *Service) checkSurveyFlags(ctx context.Context, store Store, v *Survey, patch *SurveyPatch) error {
	if patch.LinkedInsightID.Set && v.LinkedInsight != nil {
		known := false
		if s.c.InsightExists != nil {
			var err error
			if known, err = s.c.InsightExists(ctx, v.Project, *v.LinkedInsight); err != nil {
				return err
			}
		}
		if !known {
			return invalid("", "invalid_input", "There is no insight with the ID %d.", *v.LinkedInsight)
		}
	}
	if patch.TargetingFlagID.Set && !patch.TargetingFlagID.Null {
		if _, err := surveyFlag(ctx, store, v.Project, patch.TargetingFlagID.Value); err != nil {
			return err
		}
	}
	variant := survey.LinkedVariant(v.Conditions)
	if v.LinkedFlag == nil {
		if variant != "" && patch.Conditions.Set {
			return invalid("", "invalid_input", "conditions.linkedFlagVariant needs a linked flag.")
		}
		return nil
	}
	if !patch.LinkedFlagID.Set && !patch.Conditions.Set {
		return nil
	}
	linked, err := surveyFlag(ctx, store, v.Project, *v.LinkedFlag)
	if err != nil {
		return err
	}
	if variants := definition.Variants(linked.Filters); variant != "" && variant != "any" && !slices.Contains(variants, variant) {
		return invalid("", "invalid_input", "conditions.linkedFlagVariant is %q, which is no variant of the feature flag %s.", excerpt(variant), linked.Key)
	}
	return nil
}

// surveyFlag returns a flag that a survey refers to.
func surveyFlag(ctx context.Context, store Store, project, id int64) (*FeatureFlag, error) {
	f, err := store.Flag(ctx, project, id)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	if err != nil || f.Deleted {
		return nil, invalid("", "invalid_input", "There is no feature flag with the ID %d in this project.", id)
	}
	return f, nil
}

// targetSurvey gives a survey the targeting flag that a change asks for, and
// returns what is to be logged about it (management.md §11.7).
func (s *Service) targetSurvey(ctx context.Context, store Store, project *Project, v *Survey, patch *SurveyPatch) ([]fieldChange, error) {
	var changes []fieldChange
	switch {
	case patch.RemoveTargetingFlag.Value:
		if v.TargetingFlag == nil {
			return nil, nil
		}
		old, err := store.Flag(ctx, project.ID, *v.TargetingFlag)
		if err != nil {
			return nil, shown(err)
		}
		v.TargetingFlag = nil
		changes = append(changes, fieldChange{"Survey", "targeting_flag", old.Filters, nil, "deleted"})
		return changes, s.release(ctx, store, v, old)
	case patch.TargetingFlagID.Set:
		setNullable(&v.TargetingFlag, &patch.TargetingFlagID)
	}
	if !patch.TargetingFlagFilters.Set || patch.TargetingFlagFilters.Null {
		return changes, nil
	}
	w, err := s.definitionWorld(ctx, store, project)
	if err != nil {
		return nil, err
	}
	f := s.newSurveyFlag(project, v, FlagSurveyTargeting, "")
	if v.TargetingFlag != nil {
		if f, err = store.Flag(ctx, project.ID, *v.TargetingFlag); err != nil {
			return nil, shown(err)
		}
	}
	filters, err := definition.Filters(patch.TargetingFlagFilters.Value, definition.Subject{ID: f.ID, Key: f.Key, Create: true}, w)
	if err != nil {
		err = judged(err)
		if e, ok := errors.AsType[*Error](err); ok {
			e.Attr = "targeting_flag_filters"
		}
		return nil, err
	}
	change := fieldChange{"Survey", "targeting_flag_filters", orNull(f.Filters), filters, "changed"}
	if f.Filters == nil {
		change.Action = "created"
	}
	if string(f.Filters) != string(filters) {
		changes = append(changes, change)
	}
	id, err := s.putSurveyFlag(ctx, store, f, filters, active(v))
	v.TargetingFlag = &id
	return changes, err
}

// release deletes a targeting flag that no survey needs any more, if it was made
// for one; v is stored first, since it refers to the flag.
func (s *Service) release(ctx context.Context, store Store, v *Survey, f *FeatureFlag) error {
	if f.Kind != FlagSurveyTargeting {
		return nil
	}
	return dropSurveyFlag(ctx, store, v.Project, &f.ID)
}

// dropSurveyFlag deletes a flag that was made for a survey.
func dropSurveyFlag(ctx context.Context, store Store, project int64, id *int64) error {
	if id == nil {
		return nil
	}
	f, err := store.Flag(ctx, project, *id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil || f.Kind == FlagOrdinary {
		return err
	}
	return store.DeleteFlag(ctx, project, *id)
}

// active reports whether the flags of a survey are on (management.md §9.2).
func active(v *Survey) bool { return v.Start != nil && v.End == nil && !v.Archived }

// syncSurveyFlags makes the flags of a survey what it says (management.md §9.6):
// one that keeps those out who have answered or dismissed it, always, and one that
// lets in as many as are wanted each day, if they are limited. The flag for
// targeting goes on and off with the others if it was made for the survey.
func (s *Service) syncSurveyFlags(ctx context.Context, store Store, project *Project, v *Survey) error {
	on := active(v)
	key := v.ID.String()
	if orZero(v.IterationCount) > 0 {
		iteration := max(orZero(v.CurrentIteration), 1)
		key += "/" + string(mustJSON(iteration))
	}
	id, err := s.syncSurveyFlag(ctx, store, project, v, v.InternalFlag, FlagSurveyInternal, "-custom", survey.InternalFilters(key, survey.WaitDays(v.Conditions)), on)
	if err != nil {
		return err
	}
	v.InternalFlag = &id
	switch {
	case v.SamplingDaily != nil:
		filters := survey.SamplingFilters(100)
		if v.SamplingFlag != nil {
			filters = nil // as the schedule has left them
		}
		id, err := s.syncSurveyFlag(ctx, store, project, v, v.SamplingFlag, FlagSurveySampling, "-sampling", filters, on)
		if err != nil {
			return err
		}
		v.SamplingFlag = &id
	case v.SamplingFlag != nil:
		if err := dropSurveyFlag(ctx, store, v.Project, v.SamplingFlag); err != nil {
			return err
		}
		v.SamplingFlag = nil
	}
	if v.TargetingFlag == nil {
		return nil
	}
	f, err := store.Flag(ctx, v.Project, *v.TargetingFlag)
	if err != nil {
		return shown(err)
	}
	if f.Kind != FlagSurveyTargeting {
		return nil
	}
	_, err = s.putSurveyFlag(ctx, store, f, f.Filters, on)
	return err
}

// syncSurveyFlag makes or changes one flag. Nil filters stay as they are.
func (s *Service) syncSurveyFlag(ctx context.Context, store Store, project *Project, v *Survey, id *int64, kind FlagKind, suffix string, filters json.RawMessage, on bool) (int64, error) {
	f := s.newSurveyFlag(project, v, kind, suffix)
	if id != nil {
		var err error
		if f, err = store.Flag(ctx, v.Project, *id); err != nil {
			return 0, shown(err)
		}
	}
	if filters == nil {
		filters = f.Filters
	}
	return s.putSurveyFlag(ctx, store, f, filters, on)
}

// newSurveyFlag returns a flag for a survey with a key that nobody guesses.
func (s *Service) newSurveyFlag(project *Project, v *Survey, kind FlagKind, suffix string) *FeatureFlag {
	f := s.newFlag(nil, project)
	b := make([]byte, 5)
	rand.Read(b) // never fails
	f.Kind, f.Key, f.Name = kind, "survey-targeting-"+hex.EncodeToString(b)+suffix, "Targeting flag for survey "+v.Name
	f.CreatedBy, f.BucketingHash = v.CreatedBy, ""
	return f
}

// putSurveyFlag stores a flag of a survey with filters, if that changes anything,
// and returns its ID.
func (s *Service) putSurveyFlag(ctx context.Context, store Store, f *FeatureFlag, filters json.RawMessage, on bool) (int64, error) {
	if f.ID != 0 && f.Active == on && string(f.Filters) == string(filters) {
		return f.ID, nil
	}
	f.Filters, f.Active, f.Updated = filters, on, s.now()
	if f.ID == 0 {
		err := store.CreateFlag(ctx, f)
		return f.ID, shown(err)
	}
	f.Version++
	return f.ID, shown(store.UpdateFlag(ctx, f))
}
