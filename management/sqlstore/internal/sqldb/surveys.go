package sqldb

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/survey"
)

var surveys = newTable(table[survey.Survey]{
	name: "survey", noun: "a survey", key: 2,
	fields: func(d *Dialect, s *survey.Survey) []field {
		return []field{
			{"id", &s.ID},
			{"project_id", &s.Project},
			{"name", &s.Name},
			{"description", &s.Description},
			{"type", &s.Type},
			{"schedule", &s.Schedule},
			{"linked_flag_id", &s.LinkedFlag},
			{"targeting_flag_id", &s.TargetingFlag},
			{"internal_targeting_flag_id", &s.InternalFlag},
			{"internal_sampling_flag_id", &s.SamplingFlag},
			{"linked_insight_id", &s.LinkedInsight},
			{"questions", document{&s.Questions}},
			{"conditions", document{&s.Conditions}},
			{"appearance", document{&s.Appearance}},
			{"translations", document{&s.Translations}},
			{"form_content", document{&s.FormContent}},
			{"base_language", &s.BaseLanguage},
			{"start_date", maybeStamp{d, &s.Start}},
			{"end_date", maybeStamp{d, &s.End}},
			{"archived", &s.Archived},
			{"responses_limit", &s.ResponsesLimit},
			{"iteration_count", &s.IterationCount},
			{"iteration_frequency_days", &s.IterationDays},
			{"iteration_start_dates", jsonList[time.Time]{&s.IterationStarts}},
			{"current_iteration", &s.CurrentIteration},
			{"current_iteration_start_date", maybeStamp{d, &s.IterationStart}},
			{"sampling_start_date", maybeStamp{d, &s.SamplingStart}},
			{"sampling_interval_type", &s.SamplingType},
			{"sampling_interval", &s.SamplingInterval},
			{"sampling_limit", &s.SamplingLimit},
			{"sampling_daily_limits", document{&s.SamplingDaily}},
			{"enable_partial_responses", &s.PartialResponses},
			{"enable_iframe_embedding", &s.IframeEmbedding},
			{"headline_summary", &s.Headline},
			{"headline_sample_count", &s.HeadlineSample},
			{"headline_response_count", &s.HeadlineResponses},
			{"question_summaries", document{&s.Summaries}},
			{"created_by", &s.CreatedBy},
			{"created_at", stamp{d, &s.Created}},
			{"updated_at", stamp{d, &s.Updated}},
		}
	},
})

// Survey implements [survey.Store], as do the methods below.
func (a *accounts) Survey(ctx context.Context, project int64, id uuid.UUID) (*survey.Survey, error) {
	return surveys.one(ctx, a, "WHERE id = ? AND project_id = ?", id.String(), project)
}

func (a *accounts) Surveys(ctx context.Context, project int64) ([]survey.Survey, error) {
	return surveys.list(ctx, a, "WHERE project_id = ? ORDER BY created_at, id", project)
}

func (a *accounts) FindSurveys(ctx context.Context, project int64, f survey.Filter, limit, offset int) ([]survey.Survey, int, error) {
	where, args := "WHERE project_id = ?", []any{project}
	if f.Archived != nil {
		where, args = where+" AND archived = ?", append(args, *f.Archived)
	}
	if f.Type != "" {
		where, args = where+" AND type = ?", append(args, f.Type)
	}
	if f.IDs != nil {
		where, args = where+" AND id IN (?)", append(args, idsOf(f.IDs))
	}
	ids, err := a.searchSurveys(ctx, where, args, f.Search)
	if err != nil {
		return nil, 0, err
	}
	total := len(ids)
	if ids = page(ids, limit, offset); len(ids) == 0 {
		return nil, total, nil
	}
	list, err := surveys.list(ctx, a, "WHERE id IN (?) ORDER BY created_at DESC, id DESC", slice[string](ids))
	return list, total, err
}

// searchSurveys returns the IDs of surveys with a text in their name or
// description, newest first. Go compares the texts, because databases fold the
// case of fewer or of other letters.
func (a *accounts) searchSurveys(ctx context.Context, where string, args []any, text string) (ids []string, err error) {
	columns := "id, '', ''"
	if text != "" {
		columns, text = "id, name, description", strings.ToLower(text)
	}
	err = a.read(ctx, "SELECT "+columns+" FROM survey "+where+" ORDER BY created_at DESC, id DESC", args, func(r *sql.Rows) error {
		var id, name, description string
		err := r.Scan(&id, &name, &description)
		if strings.Contains(strings.ToLower(name), text) || strings.Contains(strings.ToLower(description), text) {
			ids = append(ids, id)
		}
		return err
	})
	return ids, wrap("search surveys", err)
}

func (a *accounts) ScheduledSurveys(ctx context.Context) ([]survey.Survey, error) {
	return surveys.list(ctx, a, `WHERE start_date IS NOT NULL AND end_date IS NULL AND archived = false
		AND (responses_limit IS NOT NULL OR iteration_count IS NOT NULL OR sampling_daily_limits IS NOT NULL) ORDER BY created_at, id`)
}

func (a *accounts) CreateSurvey(ctx context.Context, s *survey.Survey) error {
	return alterUser(ctx, a, s.Project, surveyFlags(s), surveys.insert, s)
}

func (a *accounts) UpdateSurvey(ctx context.Context, s *survey.Survey) error {
	return alterUser(ctx, a, s.Project, surveyFlags(s), surveys.update, s)
}

func surveyFlags(s *survey.Survey) []*int64 {
	return []*int64{s.LinkedFlag, s.TargetingFlag, s.InternalFlag, s.SamplingFlag}
}

func (a *accounts) DeleteSurvey(ctx context.Context, project int64, id uuid.UUID) error {
	return a.alter(ctx, project, func(a *accounts) error {
		if err := surveys.removeOne(ctx, a, "id = ? AND project_id = ?", id.String(), project); err != nil {
			return err
		}
		return a.change(ctx, func(t *tx) error { return t.forgetArchivedResponses(ctx, project, id) })
	})
}
