package management

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// ListSurveys returns a page of the surveys of a project, newest first. It needs
// scope survey:read.
func (s *Service) ListSurveys(ctx context.Context, p *Principal, ref string, f SurveyFilter, limit, offset int) (*Page[*SurveyView], error) {
	a, err := s.Access(ctx, p, ref, "survey:read")
	if err != nil {
		return nil, err
	}
	if err := checkSearch(f.Search); err != nil {
		return nil, err
	}
	list, total, err := s.store.FindSurveys(ctx, a.Project.ID, f, limit, offset)
	if err != nil {
		return nil, err
	}
	views, err := s.surveyViews(ctx, s.store, a.Project.ID, list)
	if err != nil {
		return nil, err
	}
	return &Page[*SurveyView]{total, views}, nil
}

// surveyByRef returns the survey that a path names.
func surveyByRef(ctx context.Context, store Store, project int64, ref string) (*Survey, error) {
	id, err := parseID(ref)
	if err != nil {
		return nil, errNotFound
	}
	v, err := store.Survey(ctx, project, id)
	if err != nil {
		return nil, shown(err)
	}
	return v, nil
}

// readSurvey returns a survey for who may read it.
func (s *Service) readSurvey(ctx context.Context, p *Principal, ref, id string, scopes ...Scope) (*ProjectAccess, *Survey, error) {
	a, err := s.Access(ctx, p, ref, append([]Scope{"survey:read"}, scopes...)...)
	if err != nil {
		return nil, nil, err
	}
	v, err := surveyByRef(ctx, s.store, a.Project.ID, id)
	return a, v, err
}

// Survey returns a survey. It needs scope survey:read.
func (s *Service) Survey(ctx context.Context, p *Principal, ref, id string) (*SurveyView, error) {
	_, v, err := s.readSurvey(ctx, p, ref, id)
	if err != nil {
		return nil, err
	}
	return s.showSurvey(ctx, s.store, v)
}

func (s *Service) showSurvey(ctx context.Context, store Store, v *Survey) (*SurveyView, error) {
	views, err := s.surveyViews(ctx, store, v.Project, []Survey{*v})
	if err != nil {
		return nil, err
	}
	return views[0], nil
}

// scopes returns what a change needs: flags are changed through some fields.
func (patch *SurveyPatch) scopes() []Scope {
	if patch.TargetingFlagID.Set || patch.TargetingFlagFilters.Set || patch.RemoveTargetingFlag.Value {
		return []Scope{"survey:write", "feature_flag:write"}
	}
	return []Scope{"survey:write"}
}

// CreateSurvey makes a survey. It needs scope survey:write, as all methods that
// change surveys do, and feature_flag:write if the survey gets targeting.
func (s *Service) CreateSurvey(ctx context.Context, p *Principal, ref string, patch SurveyPatch) (*SurveyView, error) {
	var view *SurveyView
	err := s.inProject(ctx, p, ref, patch.scopes(), func(store Store, a *ProjectAccess) error {
		patch := patch
		if err := patch.validate(true, s.now()); err != nil {
			return err
		}
		v := &Survey{
			ID: newID(), Project: a.Project.ID, Schedule: new("once"), SamplingType: new("week"), PartialResponses: new(false),
			IframeEmbedding: new(false), BaseLanguage: "en", CreatedBy: &p.User.ID, Created: s.now(), Updated: s.now(),
		}
		changes, err := s.applySurvey(ctx, store, a.Project, new(*v), v, &patch)
		if err != nil {
			return err
		}
		if err := surveyStored(store.CreateSurvey(ctx, v)); err != nil {
			return err
		}
		if err := s.logSurvey(ctx, store, p, v, "created", changes); err != nil {
			return err
		}
		view, err = s.showSurvey(ctx, store, v)
		return err
	})
	return view, err
}

func surveyStored(err error) error {
	if errors.Is(err, ErrConflict) {
		return invalid("", "unique", "There is already a survey with this name.")
	}
	return shown(err)
}

// UpdateSurvey changes a survey.
func (s *Service) UpdateSurvey(ctx context.Context, p *Principal, ref, id string, patch SurveyPatch) (*SurveyView, error) {
	return s.changeSurvey(ctx, p, ref, id, "updated", patch.scopes(), func(store Store, project *Project, v *Survey) ([]fieldChange, error) {
		patch := patch
		if err := patch.validate(false, s.now()); err != nil {
			return nil, err
		}
		return s.applySurvey(ctx, store, project, new(*v), v, &patch)
	})
}

// changeSurvey changes a survey as f does, which returns what is to be logged
// besides the survey's own fields.
func (s *Service) changeSurvey(ctx context.Context, p *Principal, ref, id, activity string, scopes []Scope, f func(Store, *Project, *Survey) ([]fieldChange, error)) (*SurveyView, error) {
	var view *SurveyView
	err := s.inProject(ctx, p, ref, scopes, func(store Store, a *ProjectAccess) error {
		v, err := surveyByRef(ctx, store, a.Project.ID, id)
		if err != nil {
			return err
		}
		before := *v
		changes, err := f(store, a.Project, v)
		if err != nil {
			return err
		}
		if err := s.saveSurvey(ctx, store, p, &before, v, activity, changes); err != nil {
			return err
		}
		view, err = s.showSurvey(ctx, store, v)
		return err
	})
	return view, err
}

// saveSurvey stores and logs a survey that has changed.
func (s *Service) saveSurvey(ctx context.Context, store Store, p *Principal, before, v *Survey, activity string, changes []fieldChange) error {
	changes = append(differences("Survey", surveyRecordOf(before), surveyRecordOf(v), surveyFields), changes...)
	v.Updated = s.now()
	if err := surveyStored(store.UpdateSurvey(ctx, v)); err != nil || len(changes) == 0 {
		return err
	}
	return s.logSurvey(ctx, store, p, v, activity, changes)
}

func (s *Service) logSurvey(ctx context.Context, store Store, p *Principal, v *Survey, activity string, changes []fieldChange) error {
	return s.addIn(ctx, store, p, v.Project, activity, "Survey", v.ID.String(), detail{v.Name, append([]fieldChange{}, changes...)})
}

// applySurvey changes a survey with its flags, as far as they are not the caller's
// to store. It returns what is to be logged about flags.
func (s *Service) applySurvey(ctx context.Context, store Store, project *Project, before, v *Survey, patch *SurveyPatch) ([]fieldChange, error) {
	patch.apply(v)
	if err := s.checkSurvey(ctx, store, before, v, patch); err != nil {
		return nil, err
	}
	now := s.now()
	iterate(before, v, now)
	if patch.SamplingStart.Set || patch.SamplingType.Set || patch.SamplingInterval.Set || patch.SamplingLimit.Set {
		if err := sample(v); err != nil {
			return nil, err
		}
	}
	changes, err := s.targetSurvey(ctx, store, project, v, patch)
	if err != nil {
		return nil, err
	}
	return changes, s.syncSurveyFlags(ctx, store, project, v)
}

// LaunchSurvey begins a survey now, and StopSurvey ends it, unless that has
// happened (management.md §9.2).
func (s *Service) LaunchSurvey(ctx context.Context, p *Principal, ref, id string) (*SurveyView, error) {
	return s.actOnSurvey(ctx, p, ref, id, "launched", func(v *Survey, now time.Time) error {
		switch {
		case v.End != nil && !now.Before(*v.End):
			return invalid("", "invalid_input", "The survey has ended; set end_date to null to resume it.")
		case v.Start == nil || now.Before(*v.Start):
			v.Start = &now
		}
		return nil
	})
}

func (s *Service) StopSurvey(ctx context.Context, p *Principal, ref, id string) (*SurveyView, error) {
	return s.actOnSurvey(ctx, p, ref, id, "stopped", func(v *Survey, now time.Time) error {
		if v.End == nil || now.Before(*v.End) {
			v.End = &now
		}
		return nil
	})
}

func (s *Service) actOnSurvey(ctx context.Context, p *Principal, ref, id, activity string, f func(v *Survey, now time.Time) error) (*SurveyView, error) {
	return s.changeSurvey(ctx, p, ref, id, activity, []Scope{"survey:write"}, func(store Store, project *Project, v *Survey) ([]fieldChange, error) {
		if v.Archived {
			return nil, invalid("", "invalid_input", "The survey is archived.")
		}
		before := *v
		if err := f(v, s.now()); err != nil {
			return nil, err
		}
		iterate(&before, v, s.now())
		return nil, s.syncSurveyFlags(ctx, store, project, v)
	})
}

// DeleteSurvey deletes a survey with the flags that were made for it. What was
// captured about it stays. It needs scope feature_flag:write as well if the survey
// has targeting.
func (s *Service) DeleteSurvey(ctx context.Context, p *Principal, ref, id string) error {
	return s.inProject(ctx, p, ref, []Scope{"survey:write"}, func(store Store, a *ProjectAccess) error {
		v, err := surveyByRef(ctx, store, a.Project.ID, id)
		if err != nil {
			return err
		}
		if v.TargetingFlag != nil {
			if err := p.Require("feature_flag:write"); err != nil {
				return err
			}
		}
		if err := store.DeleteSurvey(ctx, v.Project, v.ID); err != nil {
			return shown(err)
		}
		for _, flag := range []*int64{v.TargetingFlag, v.InternalFlag, v.SamplingFlag} {
			if err := dropSurveyFlag(ctx, store, v.Project, flag); err != nil {
				return err
			}
		}
		return s.logSurvey(ctx, store, p, v, "deleted", nil)
	})
}

// surveyIDs returns the IDs of a comma list, without what is none.
func surveyIDs(list []string) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, text := range list {
		if id, err := parseID(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
