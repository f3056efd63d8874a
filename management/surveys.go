package management

import (
	"bytes"
	"context"
	"time"

	"github.com/flagstaff-go/flagstaff/management/internal/check"
	"github.com/flagstaff-go/flagstaff/management/internal/field"
)

// ListSurveys returns a page of the surveys of a project, newest first. It needs
// scope survey:read.
func (s *Service) ListSurveys(ctx context.Context, p *Principal, ref string, f SurveyFilter, limit, offset int) (*Page[*SurveyView], error) {
	w, err := s.beginAt(ctx, p, ref, "survey:read")
	if err != nil {
		return nil, err
	}
	if err := judgeError(check.Search(f.Search)); err != nil {
		return nil, err
	}
	list, total, err := w.store.FindSurveys(ctx, w.at.Project.ID, f, limit, offset)
	if err != nil {
		return nil, err
	}
	views, err := w.surveyViews(ctx, list)
	if err != nil {
		return nil, err
	}
	return &Page[*SurveyView]{total, views}, nil
}

// surveyByRef returns the survey that a path names.
func (w *work) surveyByRef(ctx context.Context, ref string) (*Survey, error) {
	id, err := check.ParseID(ref)
	if err != nil {
		return nil, errNotFound
	}
	v, err := w.store.Survey(ctx, w.at.Project.ID, id)
	if err != nil {
		return nil, storeError(err)
	}
	return v, nil
}

// readSurvey returns a survey for who may read it.
func (s *Service) readSurvey(ctx context.Context, p *Principal, ref, id string, scopes ...Scope) (*work, *Survey, error) {
	w, err := s.beginAt(ctx, p, ref, append([]Scope{"survey:read"}, scopes...)...)
	if err != nil {
		return nil, nil, err
	}
	v, err := w.surveyByRef(ctx, id)
	return w, v, err
}

// Survey returns a survey. It needs scope survey:read.
func (s *Service) Survey(ctx context.Context, p *Principal, ref, id string) (*SurveyView, error) {
	w, v, err := s.readSurvey(ctx, p, ref, id)
	if err != nil {
		return nil, err
	}
	return w.showSurvey(ctx, v)
}

func (w *work) showSurvey(ctx context.Context, v *Survey) (*SurveyView, error) {
	views, err := w.surveyViews(ctx, []Survey{*v})
	if err != nil {
		return nil, err
	}
	return views[0], nil
}

// newSurvey returns a survey with defaults.
func (w *work) newSurvey() *Survey {
	now := w.now()
	return &Survey{
		ID: newID(), Project: w.at.Project.ID, Schedule: new("once"), IterationStarts: []time.Time{}, SamplingType: new("week"),
		PartialResponses: new(false), IframeEmbedding: new(false), BaseLanguage: "en", CreatedBy: &w.by.User.ID, Created: now, Updated: now,
	}
}

// CreateSurvey makes a survey. It needs scope survey:write, as all methods that
// change surveys do, and feature_flag:write if the survey gets targeting.
func (s *Service) CreateSurvey(ctx context.Context, p *Principal, ref string, patch SurveyPatch) (*SurveyView, error) {
	if err := s.findInsight(ctx, p, ref, &patch); err != nil {
		return nil, err
	}
	var view *SurveyView
	err := s.atomicAt(ctx, p, ref, patch.scopes(), func(w *work) error {
		v, patch := w.newSurvey(), patch
		if err := judgeError(w.surveyFields(v, &patch).Check()); err != nil {
			return err
		}
		c := surveyChange{w, &patch, *v, v}
		if _, err := c.apply(ctx); err != nil {
			return err
		}
		if err := w.addSurvey(ctx, v); err != nil {
			return err
		}
		var err error
		view, err = w.showSurvey(ctx, v)
		return err
	})
	return view, s.rescheduledSurveys(err)
}

// addSurvey stores a new survey and logs it.
func (w *work) addSurvey(ctx context.Context, v *Survey) error {
	if err := surveyStoreError(w.store.CreateSurvey(ctx, v)); err != nil {
		return err
	}
	return w.logSurvey(ctx, v, "created", nil)
}

// UpdateSurvey changes a survey. It needs scope feature_flag:write as well if that
// changes its targeting.
//
// Targeting is a flag that is made for the survey and goes on and off with it, or
// an ordinary one that people have made, which stays as it is.
func (s *Service) UpdateSurvey(ctx context.Context, p *Principal, ref, id string, patch SurveyPatch) (*SurveyView, error) {
	if err := s.findInsight(ctx, p, ref, &patch); err != nil {
		return nil, err
	}
	return s.changeSurvey(ctx, p, ref, id, "updated", patch.scopes(), func(c *surveyChange) ([]field.Change, error) {
		patch := patch
		if err := judgeError(c.surveyFields(c.v, &patch).Check()); err != nil {
			return nil, err
		}
		c.patch = &patch
		return c.apply(ctx)
	})
}

// changeSurvey changes a survey as f does, which returns what is to be logged
// besides the survey's own fields.
func (s *Service) changeSurvey(ctx context.Context, p *Principal, ref, id, activity string, scopes []Scope, f func(*surveyChange) ([]field.Change, error)) (*SurveyView, error) {
	var view *SurveyView
	err := s.atomicAt(ctx, p, ref, scopes, func(w *work) error {
		v, err := w.surveyByRef(ctx, id)
		if err != nil {
			return err
		}
		c := surveyChange{w, new(SurveyPatch), *v, v}
		changes, err := f(&c)
		if err != nil {
			return err
		}
		if _, err := w.saveSurvey(ctx, &c.before, v, activity, changes); err != nil {
			return err
		}
		view, err = w.showSurvey(ctx, v)
		return err
	})
	return view, s.rescheduledSurveys(err)
}

// saveSurvey stores and logs a survey if it, or more that is to be logged, has
// changed, and reports whether that is so.
func (w *work) saveSurvey(ctx context.Context, before, v *Survey, activity string, more []field.Change) (bool, error) {
	was, is := w.surveyFields(before, nil), w.surveyFields(v, nil)
	sameFlags := equalPointers(before.TargetingFlag, v.TargetingFlag) && equalPointers(before.InternalFlag, v.InternalFlag) &&
		equalPointers(before.SamplingFlag, v.SamplingFlag)
	if sameFlags && field.Same(was, is) && len(more) == 0 {
		return false, nil
	}
	v.Updated = w.now()
	if !bytes.Equal(before.Questions, v.Questions) {
		v.forgetSummaries()
	}
	changes := append(field.Differences("Survey", was, is), more...)
	if err := surveyStoreError(w.store.UpdateSurvey(ctx, v)); err != nil || len(changes) == 0 {
		return true, err
	}
	return true, w.logSurvey(ctx, v, activity, changes)
}

func (w *work) logSurvey(ctx context.Context, v *Survey, activity string, changes []field.Change) error {
	return w.addProjectActivity(ctx, v.Project, activity, "Survey", v.ID.String(), field.Detail{Name: v.Name, Changes: append([]field.Change{}, changes...)})
}

// apply changes the survey, which the caller stores, and its flags. It returns what
// is to be logged about flags.
func (c *surveyChange) apply(ctx context.Context) ([]field.Change, error) {
	c.surveyFields(c.v, c.patch).Apply()
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	planIterations(&c.before, c.v, c.now())
	if c.patch.samples() {
		if err := planSampling(c.v); err != nil {
			return nil, err
		}
	}
	changes, err := c.target(ctx)
	if err != nil {
		return nil, err
	}
	_, err = c.syncSurveyFlags(ctx, c.v, nil)
	return changes, err
}

// LaunchSurvey begins a survey now, unless it has begun (management.md §9.2).
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

// StopSurvey ends a survey now, unless it has ended (management.md §9.2).
func (s *Service) StopSurvey(ctx context.Context, p *Principal, ref, id string) (*SurveyView, error) {
	return s.actOnSurvey(ctx, p, ref, id, "stopped", func(v *Survey, now time.Time) error {
		if v.End == nil || now.Before(*v.End) {
			v.End = &now
		}
		return nil
	})
}

func (s *Service) actOnSurvey(ctx context.Context, p *Principal, ref, id, activity string, f func(v *Survey, now time.Time) error) (*SurveyView, error) {
	return s.changeSurvey(ctx, p, ref, id, activity, []Scope{"survey:write"}, func(c *surveyChange) ([]field.Change, error) {
		if c.v.Archived {
			return nil, invalid("", "invalid_input", "The survey is archived.")
		}
		if err := f(c.v, s.now()); err != nil {
			return nil, err
		}
		planIterations(&c.before, c.v, s.now())
		_, err := c.syncSurveyFlags(ctx, c.v, nil)
		return nil, err
	})
}

// DeleteSurvey deletes a survey with the flags that were made for it. What was
// captured about it stays, and so does an ordinary flag that it used. It needs
// scope feature_flag:write as well if the survey has targeting.
func (s *Service) DeleteSurvey(ctx context.Context, p *Principal, ref, id string) error {
	return s.atomicAt(ctx, p, ref, []Scope{"survey:write"}, func(w *work) error {
		v, err := w.surveyByRef(ctx, id)
		if err != nil {
			return err
		}
		if v.TargetingFlag != nil {
			if err := p.Require("feature_flag:write"); err != nil {
				return err
			}
		}
		if err := w.store.DeleteSurvey(ctx, v.Project, v.ID); err != nil {
			return storeError(err)
		}
		for _, flag := range []*int64{v.TargetingFlag, v.InternalFlag, v.SamplingFlag} {
			if flag == nil {
				continue
			}
			if err := w.dropSurveyFlag(ctx, v.Project, *flag); err != nil {
				return err
			}
		}
		return w.logSurvey(ctx, v, "deleted", nil)
	})
}
