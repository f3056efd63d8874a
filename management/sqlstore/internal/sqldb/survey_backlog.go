package sqldb

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

// backlogPart is how many events one transaction searches for survey events. An
// event of another kind takes about a microsecond.
const backlogPart = 50_000

// fillSurveyEvents reads the events that a release without the table
// survey_event has stored. If it is interrupted, the next process goes on, and
// several processes share the work. None of them writes events before all is
// done.
func (db *DB) fillSurveyEvents(ctx context.Context) error {
	for logged := time.Now(); ; {
		var done, last int64
		if err := db.reading.QueryRowContext(ctx, "SELECT done_id, last_id FROM survey_backlog").Scan(&done, &last); err != nil {
			return err
		}
		if done >= last {
			return nil
		}
		if done == 0 || time.Since(logged) > 5*time.Second {
			logged = time.Now()
			db.o.Log.InfoContext(ctx, "reading stored events for those about surveys", "done", done, "of", last)
		}
		if err := db.atomic(ctx, func(t *tx) error { return t.fillSurveyEvents(ctx) }); err != nil {
			return err
		}
	}
}

// fillSurveyEvents reads the next part.
func (t *tx) fillSurveyEvents(ctx context.Context) error {
	var done int64
	n, err := t.run(ctx, "UPDATE survey_backlog SET done_id = done_id + ? WHERE done_id < last_id RETURNING done_id", []any{backlogPart},
		scanTo(&done))
	if err != nil || n == 0 {
		return err
	}
	var events []capture.Event
	_, err = t.run(ctx, `SELECT project_id, uuid, name, distinct_id, ts, properties FROM event
		WHERE id > ? AND id <= ? AND name IN ('survey shown', 'survey dismissed', 'survey sent', 'survey abandoned')
		ORDER BY id`,
		[]any{done - backlogPart, done}, rowsTo(&events, func(e *capture.Event) []any {
			return []any{&e.Project, &e.UUID, &e.Name, &e.DistinctID, moment{&e.Time}, document{&e.Properties}}
		}))
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return nil
	}
	for _, project := range projectsOf(events) {
		if err := t.lock(ctx, project); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(events, 1000) {
		err := t.addSurveyEvents(ctx, surveyRows(part, survey.Events(part)), func(persons.DistinctID) (uuid.UUID, bool) { return uuid.Nil, false })
		if err != nil {
			return fmt.Errorf("read stored events: %w", err)
		}
	}
	return nil
}
