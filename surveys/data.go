package surveys

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A Filter selects surveys. An empty field excludes nothing.
type Filter struct {
	Archived *bool
	Type     string
	IDs      []uuid.UUID // nil: all
	Search   string      // part of the name or the description, in any case
}

// Data are the surveys in a store, with their events and which of their responses are
// archived. What [storage.Store] says of its methods holds for these, too. Outside of a
// transaction it is safe for concurrent use.
type Data struct{ tx storage.Tx }

// DataIn returns the surveys in a store that was opened with [Extension], or in the
// transaction that its Atomic passes on.
func DataIn(store storage.Store) (*Data, error) {
	tx, err := store.Extension(extensionName)
	if err != nil {
		return nil, fmt.Errorf("surveys: %w", err)
	}
	return &Data{tx}, nil
}

// A column is a column of the table survey and the place of its value: a pointer into a
// Survey, or a wrapper of such a pointer that can be written and read.
type column struct {
	name string
	at   any
}

// columns returns the columns of a survey. The first two are its key.
func columns(s *Survey) []column {
	return []column{
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
		{"start_date", maybeTime{&s.Start}},
		{"end_date", maybeTime{&s.End}},
		{"archived", &s.Archived},
		{"responses_limit", &s.ResponsesLimit},
		{"iteration_count", &s.IterationCount},
		{"iteration_frequency_days", &s.IterationDays},
		{"iteration_start_dates", timeList{&s.IterationStarts}},
		{"current_iteration", &s.CurrentIteration},
		{"current_iteration_start_date", maybeTime{&s.IterationStart}},
		{"sampling_start_date", maybeTime{&s.SamplingStart}},
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
		{"created_at", sqlstore.Moment{Time: &s.Created}},
		{"updated_at", sqlstore.Moment{Time: &s.Updated}},
	}
}

// columnNames are the names of the columns.
var columnNames = func() string {
	var names []string
	for _, c := range columns(new(Survey)) {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}()

// argument returns the value of a column as an argument of a statement.
func (c *column) argument() any {
	switch at := c.at.(type) {
	case *uuid.UUID:
		return at.String()
	case sqlstore.Moment:
		return *at.Time
	case maybeTime:
		if *at.at == nil {
			return nil
		}
		return **at.at
	}
	return c.at
}

// list returns the surveys that the end of a SELECT selects.
func (d *Data) list(ctx context.Context, tail string, args ...any) ([]Survey, error) {
	var list []Survey
	var row Survey
	var places []any
	for _, c := range columns(&row) { // scanning replaces all values, and not the data behind their pointers
		places = append(places, c.at)
	}
	err := d.tx.Query(ctx, "SELECT "+columnNames+" FROM survey "+tail, args, func(r *sql.Rows) error {
		err := r.Scan(places...)
		list = append(list, row)
		return err
	})
	return list, wrap("read surveys", err)
}

// Survey returns one survey.
func (d *Data) Survey(ctx context.Context, project int64, id uuid.UUID) (*Survey, error) {
	list, err := d.list(ctx, "WHERE id = ? AND project_id = ?", id.String(), project)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("read a survey: %w", storage.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// Surveys returns all surveys of a project in order of creation.
func (d *Data) Surveys(ctx context.Context, project int64) ([]Survey, error) {
	return d.list(ctx, "WHERE project_id = ? ORDER BY created_at, id", project)
}

// FindSurveys returns a page of the surveys that a filter selects, newest first, and how
// many it selects.
func (d *Data) FindSurveys(ctx context.Context, project int64, f Filter, limit, offset int) ([]Survey, int, error) {
	where, args := "WHERE project_id = ?", []any{project}
	if f.Archived != nil {
		where, args = where+" AND archived = ?", append(args, *f.Archived)
	}
	if f.Type != "" {
		where, args = where+" AND type = ?", append(args, f.Type)
	}
	if f.IDs != nil {
		where, args = where+" AND id IN (?)", append(args, texts(f.IDs))
	}
	// Go compares the texts, because databases fold the case of fewer or of other letters.
	names, text := "'', ''", strings.ToLower(f.Search)
	if text != "" {
		names = "name, description"
	}
	var ids []string
	err := d.tx.Query(ctx, "SELECT id, "+names+" FROM survey "+where+" ORDER BY created_at DESC, id DESC", args, func(r *sql.Rows) error {
		var id, name, description string
		err := r.Scan(&id, &name, &description)
		if strings.Contains(strings.ToLower(name), text) || strings.Contains(strings.ToLower(description), text) {
			ids = append(ids, id)
		}
		return err
	})
	if err != nil {
		return nil, 0, wrap("search surveys", err)
	}
	page := ids[min(offset, len(ids)):]
	list, err := d.list(ctx, "WHERE id IN (?) ORDER BY created_at DESC, id DESC", page[:min(limit, len(page))])
	return list, len(ids), err
}

// ScheduledSurveys returns the surveys of all projects that have a start and no end, are not
// archived, and have a limit of responses, iterations, or limits by day.
func (d *Data) ScheduledSurveys(ctx context.Context) ([]Survey, error) {
	return d.list(ctx, `WHERE start_date IS NOT NULL AND end_date IS NULL AND archived = false
		AND (responses_limit IS NOT NULL OR iteration_count IS NOT NULL OR sampling_daily_limits IS NOT NULL) ORDER BY created_at, id`)
}

// CreateSurvey stores a new survey, in a transaction. It returns [storage.ErrConflict] if the
// name is taken.
func (d *Data) CreateSurvey(ctx context.Context, s *Survey) error {
	if err := d.checkFlags(ctx, s); err != nil {
		return wrap("create a survey", err)
	}
	var args []any
	for _, c := range columns(s) {
		args = append(args, c.argument())
	}
	_, err := d.tx.Exec(ctx, "INSERT INTO survey ("+columnNames+") VALUES ("+marks(len(args))+")", args...)
	return wrap("create a survey", d.changed(ctx, s.Project, err))
}

// UpdateSurvey changes a survey, in a transaction. It returns [storage.ErrConflict] if the
// name is taken.
func (d *Data) UpdateSurvey(ctx context.Context, s *Survey) error {
	if err := d.checkFlags(ctx, s); err != nil {
		return wrap("change a survey", err)
	}
	var set []string
	var args []any
	all := columns(s)
	for _, c := range all[2:] {
		set, args = append(set, c.name+" = ?"), append(args, c.argument())
	}
	n, err := d.tx.Exec(ctx, "UPDATE survey SET "+strings.Join(set, ", ")+" WHERE id = ? AND project_id = ?", append(args, s.ID.String(), s.Project)...)
	if err == nil && n == 0 {
		err = storage.ErrNotFound
	}
	return wrap("change a survey", d.changed(ctx, s.Project, err))
}

// DeleteSurvey deletes a survey, and forgets which of its responses are archived.
func (d *Data) DeleteSurvey(ctx context.Context, project int64, id uuid.UUID) error {
	n, err := d.tx.Exec(ctx, "DELETE FROM survey WHERE id = ? AND project_id = ?", id.String(), project)
	if err == nil && n == 0 {
		err = storage.ErrNotFound
	}
	if err == nil {
		_, err = d.tx.Exec(ctx, "DELETE FROM survey_response_archive WHERE project_id = ? AND survey_id = ?", project, id.String())
	}
	return wrap("delete a survey", d.changed(ctx, project, err))
}

// checkFlags returns [storage.ErrNotFound] unless the project has the flags of a survey.
func (d *Data) checkFlags(ctx context.Context, s *Survey) error {
	for _, id := range []*int64{s.LinkedFlag, s.TargetingFlag, s.InternalFlag, s.SamplingFlag} {
		if id == nil {
			continue
		}
		err := storage.ErrNotFound
		scan := func(*sql.Rows) error { err = nil; return nil }
		if err := d.tx.Query(ctx, "SELECT 1 FROM feature_flag WHERE id = ? AND project_id = ?", []any{*id, s.Project}, scan); err != nil {
			return err
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// changed says that clients see other surveys, unless there is an error, which it returns.
func (d *Data) changed(ctx context.Context, project int64, err error) error {
	if err != nil {
		return err
	}
	return d.tx.Changed(ctx, project)
}

// ArchiveResponse archives a response, and reports whether it was not archived before.
func (d *Data) ArchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID, at time.Time) (bool, error) {
	n, err := d.tx.Exec(ctx, "INSERT INTO survey_response_archive (project_id, survey_id, response_uuid, archived_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		project, survey.String(), response, at)
	return n > 0, wrap("archive a response", err)
}

// UnarchiveResponse undoes ArchiveResponse, and reports whether the response was archived.
func (d *Data) UnarchiveResponse(ctx context.Context, project int64, survey, response uuid.UUID) (bool, error) {
	n, err := d.tx.Exec(ctx, "DELETE FROM survey_response_archive WHERE project_id = ? AND survey_id = ? AND response_uuid = ?",
		project, survey.String(), response)
	return n > 0, wrap("unarchive a response", err)
}

// ArchivedResponses returns the responses that are archived, in the order in which they
// became so.
func (d *Data) ArchivedResponses(ctx context.Context, project int64, survey uuid.UUID) (list []uuid.UUID, err error) {
	err = d.tx.Query(ctx, "SELECT response_uuid FROM survey_response_archive WHERE project_id = ? AND survey_id = ? ORDER BY number",
		[]any{project, survey.String()}, func(r *sql.Rows) error {
			var id uuid.UUID
			err := r.Scan(&id)
			list = append(list, id)
			return err
		})
	return list, wrap("read archived responses", err)
}

// wrap adds a description to an error, unless it is nil.
func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// marks returns a number of parameters.
func marks(n int) string { return strings.Repeat("?, ", n-1) + "?" }

// texts returns UUIDs as texts: the databases keep the IDs of surveys so.
func texts(ids []uuid.UUID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	return list
}

// A maybeTime is a time that can be missing.
type maybeTime struct{ at **time.Time }

func (m maybeTime) Scan(v any) error {
	if *m.at = nil; v == nil {
		return nil
	}
	*m.at = new(time.Time)
	return sqlstore.Moment{Time: *m.at}.Scan(v)
}

// A document is JSON, or NULL if it is nil.
type document struct{ at *json.RawMessage }

func (d document) Scan(v any) error {
	var text sql.NullString
	err := text.Scan(v)
	if *d.at = nil; text.Valid {
		*d.at = json.RawMessage(text.String)
	}
	return err
}

func (d document) Value() (driver.Value, error) {
	return sql.NullString{String: string(*d.at), Valid: *d.at != nil}.Value()
}

// A timeList is a list of times as JSON, or NULL if it is nil.
type timeList struct{ at *[]time.Time }

func (l timeList) Scan(v any) error {
	var raw json.RawMessage
	if err := (document{&raw}).Scan(v); err != nil {
		return err
	}
	if *l.at = nil; raw != nil && json.Unmarshal(raw, l.at) != nil {
		return errors.New("surveys: a list of times is not stored as JSON")
	}
	return nil
}

func (l timeList) Value() (driver.Value, error) {
	if *l.at == nil {
		return nil, nil
	}
	b, err := json.Marshal(*l.at)
	return string(b), err
}
