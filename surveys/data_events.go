package surveys

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

//go:embed migrations/*/*.sql
var migrations embed.FS

// extensionName is the name of the Extension.
const extensionName = "surveys"

// Extension returns what a store needs to keep surveys, for the Extensions of
// [sqlstore.Options].
//
// What events say about surveys is stored a second time, in the transaction that stores the
// events: a row of the table survey_event for each event. The column counts_as says as what
// the event counts. Of the events of one submission, one counts, as sent (management.md
// §10.2).
func Extension() sqlstore.Extension {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return sqlstore.Extension{
		Name: extensionName, Migrations: files, Start: readBacklog, Stored: store, Erased: erase,
		Tables: []sqlstore.Table{
			{Name: "survey_event", Key: "id", By: "distinct_id"},
			{Name: "survey_response_archive", Key: "number", By: "response_uuid"},
		},
	}
}

// A surveyOf is a survey of a project. Other projects may use the same ID.
type surveyOf struct {
	project int64
	survey  uuid.UUID
}

// rowsAtOnce is how many rows a statement inserts.
const rowsAtOnce = 64

// store stores what events say about surveys, except events that can never count.
func store(ctx context.Context, tx storage.Tx, events []capture.Event) error {
	submissions := make(map[surveyOf][]uuid.UUID)
	var rows [][]any
	for _, about := range Events(events) {
		e := &events[about.Index]
		countsAs, submission, answers, extra := about.Kind, any(nil), any(nil), any(nil)
		switch {
		case about.OfResponse():
			countsAs, submission = Sent, about.Submission
			answers = jsonObject(about.Answers, func(dst []byte, v json.RawMessage) []byte { return append(dst, v...) })
			extra = jsonObject(about.Extra, text.AppendQuoted)
			of := surveyOf{e.Project, about.Survey}
			submissions[of] = append(submissions[of], about.Submission)
		case about.Kind == Abandoned:
			continue
		}
		rows = append(rows, []any{
			e.Project, about.Survey.String(), e.UUID, int64(about.Kind), e.DistinctID, e.Time, submission, int64(countsAs), answers, extra,
		})
	}
	for part := range slices.Chunk(rows, rowsAtOnce) {
		row := "(" + marks(len(part[0])) + ")"
		statement := "INSERT INTO survey_event (project_id, survey_id, uuid, kind, distinct_id, ts, submission_key, counts_as, answers, extra) VALUES " +
			row + strings.Repeat(", "+row, len(part)-1)
		if _, err := tx.Exec(ctx, statement, slices.Concat(part...)...); err != nil {
			return wrap("store survey events", err)
		}
	}
	return elect(ctx, tx, submissions)
}

// jsonObject returns a JSON object, or nil for an empty one.
func jsonObject[V any](members map[string]V, appendValue func(dst []byte, v V) []byte) any {
	if len(members) == 0 {
		return nil
	}
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(members)) {
		b = text.AppendQuoted(append(b, ','), name)
		b = appendValue(append(b, ':'), members[name])
	}
	b[0] = '{'
	return string(append(b, '}'))
}

// elect makes one event of each submission count: the latest one that was sent, or else the
// latest one.
func elect(ctx context.Context, tx storage.Tx, submissions map[surveyOf][]uuid.UUID) error {
	for of, ids := range submissions {
		_, err := tx.Exec(ctx, `UPDATE survey_event SET counts_as = 3 - counts_as
			WHERE project_id = ? AND survey_id = ? AND submission_key IS NOT NULL AND submission_key IN (?)
			AND (counts_as = 3) <> (id = (SELECT e.id FROM survey_event e WHERE e.project_id = survey_event.project_id
				AND e.survey_id = survey_event.survey_id AND e.submission_key = survey_event.submission_key AND e.submission_key IS NOT NULL
				ORDER BY CASE e.kind WHEN 3 THEN 0 ELSE 1 END, e.ts DESC, e.uuid DESC, e.id DESC LIMIT 1))`, of.project, of.survey.String(), ids)
		if err != nil {
			return wrap("choose the events that count as responses", err)
		}
	}
	return nil
}

// erase deletes what events of distinct IDs have said, from before a time unless it is zero.
func erase(ctx context.Context, tx storage.Tx, project int64, distinctIDs []string, before time.Time) error {
	where, args := "project_id = ? AND distinct_id IN (?)", []any{project, distinctIDs}
	if !before.IsZero() {
		where, args = where+" AND ts < ?", append(args, before)
	}
	submissions := make(map[surveyOf][]uuid.UUID)
	err := tx.Query(ctx, "DELETE FROM survey_event WHERE "+where+" RETURNING survey_id, submission_key", args, func(r *sql.Rows) error {
		of := surveyOf{project: project}
		var id uuid.NullUUID
		err := r.Scan(&of.survey, &id)
		if id.Valid {
			submissions[of] = append(submissions[of], id.UUID)
		}
		return err
	})
	if err != nil {
		return wrap("delete survey events", err)
	}
	return elect(ctx, tx, submissions)
}

// readBacklog reads the events that were stored before the store kept surveys.
func readBacklog(ctx context.Context, tx storage.Tx) error {
	var done, last int64
	scan := func(r *sql.Rows) error { return r.Scan(&done, &last) }
	if err := tx.Query(ctx, "SELECT done_id, last_id FROM survey_backlog", nil, scan); err != nil || done >= last {
		return wrap("read the backlog of survey events", err)
	}
	const part = 1000
	for more := true; more; {
		var events []capture.Event
		err := tx.Query(ctx, `SELECT id, project_id, uuid, name, distinct_id, ts, properties FROM event
			WHERE id > ? AND id <= ? AND name IN (?) ORDER BY id LIMIT ?`, []any{done, last, eventNames, part}, func(r *sql.Rows) error {
			var e capture.Event
			err := r.Scan(&done, &e.Project, &e.UUID, &e.Name, &e.DistinctID, sqlstore.Moment{Time: &e.Time}, document{&e.Properties})
			events = append(events, e)
			return err
		})
		if err == nil {
			err = store(ctx, tx, events)
		}
		if err != nil {
			return fmt.Errorf("read stored events: %w", err)
		}
		more = len(events) == part
	}
	_, err := tx.Exec(ctx, "UPDATE survey_backlog SET done_id = last_id")
	return wrap("read the backlog of survey events", err)
}
