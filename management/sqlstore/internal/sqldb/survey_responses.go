package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

// responsesPerPage is how many responses are read at once. No query is open
// while the caller handles them.
const responsesPerPage = 200

// SurveyResponses implements [survey.EventStore].
func (db *DB) SurveyResponses(ctx context.Context, q survey.Query) iter.Seq2[survey.Response, error] {
	return func(yield func(survey.Response, error) bool) {
		seen := make(map[uuid.UUID]bool)
		for _, id := range q.Surveys {
			if seen[id] {
				continue
			}
			seen[id] = true
			for page := (responsePage{}); ; {
				more, err := page.next(ctx, db, &q, id)
				if err != nil {
					yield(survey.Response{}, fmt.Errorf("read responses: %w", err))
					return
				}
				for _, r := range page.list {
					if !yield(r, nil) {
						return
					}
				}
				if !more {
					break
				}
			}
		}
	}
}

// A responsePage has some of the responses of a survey.
type responsePage struct {
	list []survey.Response
	id   int64 // of the last row
}

// next reads the responses after the page, and reports whether there may be
// more.
func (p *responsePage) next(ctx context.Context, db *DB, q *survey.Query, survey uuid.UUID) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	query, args := p.query(&db.d, q, survey)
	p.list = nil
	rows, err := db.query(ctx, query, args...)
	if err != nil {
		return false, db.fail(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := p.scan(rows); err != nil {
			return false, db.fail(err)
		}
	}
	for i := range p.list {
		p.list[i].Survey = survey
	}
	return len(p.list) == responsesPerPage, db.fail(rows.Err())
}

// query returns a query for the next page. It returns one row for each event of
// a submission, the latest first.
func (p *responsePage) query(d *Dialect, q *survey.Query, survey uuid.UUID) (string, []any) {
	args := []any{q.Project, survey}
	conditions := ""
	add := func(condition string, values ...any) {
		conditions += " AND " + condition
		args = append(args, values...)
	}
	if q.From != nil {
		add("r.ts >= ?", d.time(*q.From))
	}
	if q.To != nil {
		add("r.ts <= ?", d.time(*q.To))
	}
	if n := len(p.list); n > 0 {
		last := &p.list[n-1]
		add("(r.ts, r.uuid, r.id) < (?, ?, ?)", d.time(last.Time), d.id(last.ID), p.id)
	}
	if q.ExcludeArchived {
		add(`NOT EXISTS (SELECT 1 FROM survey_response_archive a
			WHERE a.project_id = r.project_id AND a.survey_id = r.survey_id AND a.response_uuid = r.uuid)`)
	}
	return `SELECT r.id, r.uuid, r.distinct_id, r.ts, r.extra, e.answers FROM (
			SELECT * FROM survey_event r WHERE r.project_id = ? AND r.survey_id = ? AND r.counts_as = 3` + conditions + `
			ORDER BY r.ts DESC, r.uuid DESC, r.id DESC LIMIT ?
		) r CROSS JOIN survey_event e
		WHERE e.project_id = r.project_id AND e.survey_id = r.survey_id AND e.submission_key = r.submission_key AND e.submission_key IS NOT NULL
		ORDER BY r.ts DESC, r.uuid DESC, r.id DESC, e.ts DESC, e.uuid DESC, e.id DESC`, append(args, responsesPerPage)
}

// scan reads a row.
func (p *responsePage) scan(r *sql.Rows) error {
	var id int64
	var extra, answers sql.NullString
	var s survey.Response
	if err := r.Scan(&id, &s.ID, &s.DistinctID, moment{&s.Time}, &extra, &answers); err != nil {
		return err
	}
	if len(p.list) == 0 || id != p.id {
		if extra.Valid {
			if err := json.Unmarshal([]byte(extra.String), &s.Extra); err != nil {
				return errors.New("sqlstore: properties of a response are not stored as JSON")
			}
		}
		s.Answers = make(map[string]json.RawMessage)
		p.id, p.list = id, append(p.list, s)
	}
	all := p.list[len(p.list)-1].Answers
	for o := jsonscan.Value(answers.String).Object(); o.Next(); {
		question := string(o.Name())
		if _, ok := all[question]; !ok && len(all) < survey.MaxAnswers {
			all[question] = json.RawMessage(o.Value())
		}
	}
	return nil
}
