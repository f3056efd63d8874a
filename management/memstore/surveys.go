package memstore

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
)

// An archived response of a survey.
type archived struct {
	project          int64
	survey, response uuid.UUID
}

// Survey implements [management.SurveyStore].
func (a *accounts) Survey(ctx context.Context, project int64, id uuid.UUID) (*management.Survey, error) {
	return one(ctx, a.tables().surveys, "survey", isSurvey(project, id))
}

// Surveys implements [management.SurveyStore].
func (a *accounts) Surveys(ctx context.Context, project int64) ([]management.Survey, error) {
	list, err := all(ctx, a.tables().surveys, func(s *management.Survey) bool { return s.Project == project })
	slices.SortFunc(list, byCreation)
	return list, err
}

func byCreation(a, b management.Survey) int {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}

// FindSurveys implements [management.SurveyStore].
func (a *accounts) FindSurveys(ctx context.Context, project int64, f management.SurveyFilter, limit, offset int) ([]management.Survey, int, error) {
	search := strings.ToLower(f.Search)
	list, err := all(ctx, a.tables().surveys, func(s *management.Survey) bool {
		return s.Project == project && (f.Archived == nil || *f.Archived == s.Archived) && (f.Type == "" || f.Type == s.Type) &&
			(f.IDs == nil || slices.Contains(f.IDs, s.ID)) &&
			(strings.Contains(strings.ToLower(s.Name), search) || strings.Contains(strings.ToLower(s.Description), search))
	})
	slices.SortFunc(list, func(a, b management.Survey) int { return byCreation(b, a) })
	return page(list, limit, offset), len(list), err
}

// ScheduledSurveys implements [management.SurveyStore].
func (a *accounts) ScheduledSurveys(ctx context.Context) ([]management.Survey, error) {
	return all(ctx, a.tables().surveys, func(s *management.Survey) bool {
		return s.Start != nil && s.End == nil && !s.Archived &&
			(s.ResponsesLimit != nil || s.IterationCount != nil || s.SamplingDaily != nil)
	})
}

// CreateSurvey implements [management.SurveyStore].
func (a *accounts) CreateSurvey(ctx context.Context, s *management.Survey) error {
	return a.change(ctx, func(t *tables) error {
		if t.surveys.has(func(other *management.Survey) bool { return other.ID == s.ID }) {
			return taken("survey with this ID")
		}
		if err := t.admitSurvey(s); err != nil {
			return err
		}
		t.surveys.add(*s)
		t.bump(s.Project)
		return nil
	})
}

// UpdateSurvey implements [management.SurveyStore].
func (a *accounts) UpdateSurvey(ctx context.Context, s *management.Survey) error {
	return a.change(ctx, func(t *tables) error {
		if err := t.admitSurvey(s); err != nil {
			return err
		}
		if t.surveys.edit(isSurvey(s.Project, s.ID), func(row *management.Survey) { *row = *s }) == 0 {
			return missing("survey")
		}
		t.bump(s.Project)
		return nil
	})
}

// admitSurvey returns an error if a survey cannot be among the others.
func (t *tables) admitSurvey(s *management.Survey) error {
	clash := func(other *management.Survey) bool {
		return other.ID != s.ID && other.Project == s.Project && other.Name == s.Name
	}
	switch {
	case t.surveys.has(clash):
		return taken("survey with this name")
	case !t.projects.has(isProject(s.Project)):
		return missing("project")
	}
	for _, flag := range []*int64{s.LinkedFlag, s.TargetingFlag, s.InternalFlag, s.SamplingFlag} {
		if err := t.needFlag(s.Project, flag); err != nil {
			return err
		}
	}
	return t.needAuthors(s.CreatedBy)
}

// DeleteSurvey implements [management.SurveyStore].
func (a *accounts) DeleteSurvey(ctx context.Context, project int64, id uuid.UUID) error {
	return a.change(ctx, func(t *tables) error {
		if t.surveys.remove(isSurvey(project, id)) == 0 {
			return missing("survey")
		}
		t.archived.remove(func(a *archived) bool { return a.project == project && a.survey == id })
		t.bump(project)
		return nil
	})
}

func isSurvey(project int64, id uuid.UUID) func(*management.Survey) bool {
	return func(s *management.Survey) bool { return s.Project == project && s.ID == id }
}

// ArchiveResponse implements [management.SurveyStore].
func (a *accounts) ArchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID, _ time.Time) (changed bool, err error) {
	err = a.change(ctx, func(t *tables) error {
		changed = false
		if !t.surveys.has(isSurvey(project, survey)) {
			return missing("survey")
		}
		if t.archived.has(func(a *archived) bool { return a.project == project && a.response == response }) {
			return nil
		}
		t.archived.add(archived{project, survey, response})
		changed = true
		return nil
	})
	return changed, err
}

// UnarchiveResponse implements [management.SurveyStore].
func (a *accounts) UnarchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID) (changed bool, err error) {
	err = a.change(ctx, func(t *tables) error {
		changed = t.archived.remove(func(a *archived) bool { return *a == archived{project, survey, response} }) > 0
		return nil
	})
	return changed, err
}

// ArchivedResponses implements [management.SurveyStore].
func (a *accounts) ArchivedResponses(ctx context.Context, project int64, survey uuid.UUID) ([]uuid.UUID, error) {
	rows, err := all(ctx, a.tables().archived, func(a *archived) bool { return a.project == project && a.survey == survey })
	var list []uuid.UUID
	for _, row := range rows {
		list = append(list, row.response)
	}
	return list, err
}
