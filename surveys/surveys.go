package surveys

import (
	"bytes"
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// List returns a page of the surveys of a project, newest first. It needs
// scope survey:read.
func (s *Service) List(ctx context.Context, p *management.Principal, ref string, f Filter, limit, offset int) (*management.Page[*View], error) {
	w, err := s.begin(ctx, p, ref, "survey:read")
	if err != nil {
		return nil, err
	}
	if err := refusal(cmp.Or(check.Selected("type", f.Type, types...), check.Search(f.Search))); err != nil {
		return nil, err
	}
	list, total, err := w.surveys.FindSurveys(ctx, w.at.Project.ID, f, limit, offset)
	if err != nil {
		return nil, err
	}
	views, err := w.views(ctx, list)
	if err != nil {
		return nil, err
	}
	return &management.Page[*View]{Total: total, Items: views}, nil
}

// byRef returns the survey that a path names.
func (w *work) byRef(ctx context.Context, ref string) (*Survey, error) {
	id, err := check.ParseID(ref)
	if err != nil {
		return nil, errNotFound
	}
	v, err := w.surveys.Survey(ctx, w.at.Project.ID, id)
	return v, storeError(err)
}

// read returns a survey for a caller who may read it.
func (s *Service) read(ctx context.Context, p *management.Principal, ref, id string, scopes ...management.Scope) (*work, *Survey, error) {
	w, err := s.begin(ctx, p, ref, append([]management.Scope{"survey:read"}, scopes...)...)
	if err != nil {
		return nil, nil, err
	}
	v, err := w.byRef(ctx, id)
	return w, v, err
}

// Survey returns a survey. It needs scope survey:read.
func (s *Service) Survey(ctx context.Context, p *management.Principal, ref, id string) (*View, error) {
	w, v, err := s.read(ctx, p, ref, id)
	if err != nil {
		return nil, err
	}
	return w.show(ctx, v)
}

func (w *work) show(ctx context.Context, v *Survey) (*View, error) {
	views, err := w.views(ctx, []Survey{*v})
	if err != nil {
		return nil, err
	}
	return views[0], nil
}

// newSurvey returns a survey with defaults.
func (w *work) newSurvey() *Survey {
	now := w.now()
	return &Survey{
		ID: uuid.Must(uuid.NewV7()), Project: w.at.Project.ID, Schedule: new("once"), IterationStarts: []time.Time{}, SamplingType: new("week"),
		PartialResponses: new(false), IframeEmbedding: new(false), BaseLanguage: "en", CreatedBy: &w.by.User.ID, Created: now, Updated: now,
	}
}

// Create makes a survey. It needs scope survey:write, as all methods that
// change surveys do, and feature_flag:write if the survey gets targeting.
func (s *Service) Create(ctx context.Context, p *management.Principal, ref string, patch Patch) (*View, error) {
	if err := s.findInsight(ctx, p, ref, &patch); err != nil {
		return nil, err
	}
	var view *View
	err := s.atomicAt(ctx, p, ref, patch.scopes(), func(w *work) error {
		v, patch := w.newSurvey(), patch
		if err := w.checkFields(v, &patch); err != nil {
			return err
		}
		c := change{w, &patch, *v, v}
		if _, err := c.apply(ctx); err != nil {
			return err
		}
		if err := w.add(ctx, v); err != nil {
			return err
		}
		var err error
		view, err = w.show(ctx, v)
		return err
	})
	return view, s.rescheduled(err)
}

// add stores a new survey and logs it.
func (w *work) add(ctx context.Context, v *Survey) error {
	if err := nameError(w.surveys.CreateSurvey(ctx, v)); err != nil {
		return err
	}
	return w.logSurvey(ctx, v, "created", nil)
}

// Update changes a survey. It needs scope feature_flag:write as well if the patch changes
// the targeting.
//
// The targeting of a survey is a flag that is made for it, which goes on and off with the
// survey, or an ordinary flag, which stays as it is.
func (s *Service) Update(ctx context.Context, p *management.Principal, ref, id string, patch Patch) (*View, error) {
	if err := s.findInsight(ctx, p, ref, &patch); err != nil {
		return nil, err
	}
	return s.change(ctx, p, ref, id, "updated", patch.scopes(), func(c *change) ([]field.Change, error) {
		patch := patch
		if patch.IfUpdated != nil && !patch.IfUpdated.Equal(c.v.Updated) {
			return nil, &management.Error{Kind: management.ErrConflict, Code: "conflict", Detail: "The survey was changed by somebody else."}
		}
		if err := c.checkFields(c.v, &patch); err != nil {
			return nil, err
		}
		c.patch = &patch
		return c.apply(ctx)
	})
}

// Replace is Update for a patch that must have the fields that a new survey needs: its name
// and its type. Fields that it leaves out stay, all the same.
func (s *Service) Replace(ctx context.Context, p *management.Principal, ref, id string, patch Patch) (*View, error) {
	patch.whole = true
	return s.Update(ctx, p, ref, id, patch)
}

// change changes a survey by f, which returns what is to be logged besides the survey's own
// fields.
func (s *Service) change(ctx context.Context, p *management.Principal, ref, id, activity string, scopes []management.Scope, f func(*change) ([]field.Change, error)) (*View, error) {
	var view *View
	err := s.atomicAt(ctx, p, ref, scopes, func(w *work) error {
		v, err := w.byRef(ctx, id)
		if err != nil {
			return err
		}
		c := change{w, new(Patch), *v, v}
		changes, err := f(&c)
		if err != nil {
			return err
		}
		if _, err := w.save(ctx, &c.before, v, activity, changes); err != nil {
			return err
		}
		view, err = w.show(ctx, v)
		return err
	})
	return view, s.rescheduled(err)
}

// save stores and logs a survey if it has changed, or if there is more to log, and
// reports whether that is so.
func (w *work) save(ctx context.Context, before, v *Survey, activity string, more []field.Change) (bool, error) {
	was, is := w.fields(before, nil), w.fields(v, nil)
	if flagsFor(before) == flagsFor(v) && field.Same(was, is) && len(more) == 0 {
		return false, nil
	}
	v.Updated = w.now()
	if !bytes.Equal(before.Questions, v.Questions) {
		v.forgetSummaries()
	}
	changes := append(field.Differences("Survey", was, is), more...)
	if err := nameError(w.surveys.UpdateSurvey(ctx, v)); err != nil || len(changes) == 0 {
		return true, err
	}
	return true, w.logSurvey(ctx, v, activity, changes)
}

// logSurvey adds an entry about a survey to the activity log.
func (w *work) logSurvey(ctx context.Context, v *Survey, activity string, changes []field.Change) error {
	return logEntry(ctx, w.UnitOfWork, v, activity, v.Name, changes)
}

// logEntry adds an entry about a survey to the activity log under a name, which is not
// always the survey's.
func logEntry(ctx context.Context, w *management.UnitOfWork, v *Survey, activity, name string, changes []field.Change) error {
	return w.Log(ctx, storage.Activity{
		Project: &v.Project, Activity: activity, Scope: "Survey", ItemID: v.ID.String(),
		Detail: rawjson.Must(field.Detail{Name: name, Changes: append([]field.Change{}, changes...)}),
	})
}

// apply changes the survey, which the caller stores, and its flags. It returns what is to be
// logged about flags.
func (c *change) apply(ctx context.Context) ([]field.Change, error) {
	c.fields(c.v, c.patch).Apply()
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
	_, err = c.syncFlags(ctx, c.v, nil)
	return changes, err
}

// Launch begins a survey now, unless it has begun (management.md §9.2).
func (s *Service) Launch(ctx context.Context, p *management.Principal, ref, id string) (*View, error) {
	return s.act(ctx, p, ref, id, "launched", func(v *Survey, now time.Time) error {
		switch {
		case v.End != nil && !now.Before(*v.End):
			return invalid("", "The survey has ended; set end_date to null to resume it.")
		case v.Start == nil || now.Before(*v.Start):
			v.Start = &now
		}
		return nil
	})
}

// Stop ends a survey now, unless it has ended (management.md §9.2).
func (s *Service) Stop(ctx context.Context, p *management.Principal, ref, id string) (*View, error) {
	return s.act(ctx, p, ref, id, "stopped", func(v *Survey, now time.Time) error {
		if v.End == nil || now.Before(*v.End) {
			v.End = &now
		}
		return nil
	})
}

func (s *Service) act(ctx context.Context, p *management.Principal, ref, id, activity string, f func(v *Survey, now time.Time) error) (*View, error) {
	return s.change(ctx, p, ref, id, activity, []management.Scope{"survey:write"}, func(c *change) ([]field.Change, error) {
		if c.v.Archived {
			return nil, invalid("", "The survey is archived.")
		}
		if err := f(c.v, s.now()); err != nil {
			return nil, err
		}
		planIterations(&c.before, c.v, s.now())
		_, err := c.syncFlags(ctx, c.v, nil)
		return nil, err
	})
}

// Delete deletes a survey with the flags that were made for it. Captured events stay, and so
// does an ordinary flag that the survey used. It needs scope feature_flag:write as well if
// the survey has targeting.
func (s *Service) Delete(ctx context.Context, p *management.Principal, ref, id string) error {
	return s.atomicAt(ctx, p, ref, []management.Scope{"survey:write"}, func(w *work) error {
		v, err := w.byRef(ctx, id)
		if err != nil {
			return err
		}
		if v.TargetingFlag != nil {
			if err := p.Require("feature_flag:write"); err != nil {
				return err
			}
		}
		if err := w.surveys.DeleteSurvey(ctx, v.Project, v.ID); err != nil {
			return storeError(err)
		}
		for _, flag := range flagsFor(v) {
			if flag == 0 {
				continue
			}
			if err := w.dropFlag(ctx, v.Project, flag); err != nil {
				return err
			}
		}
		return w.logSurvey(ctx, v, "deleted", nil)
	})
}
