package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

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
		for _, id := range uniqueSurveys(&q) {
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

// uniqueSurveys returns the surveys of a query, each at its first place.
func uniqueSurveys(q *survey.Query) []uuid.UUID {
	seen := make(map[uuid.UUID]bool)
	return slices.DeleteFunc(slices.Clone(q.Surveys), func(id uuid.UUID) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}

// A place is where a response stands among the responses of its survey.
type place struct {
	at   time.Time
	uuid uuid.UUID
	id   int64
}

func (p *place) args(d *Dialect) []any { return []any{d.time(p.at), d.id(p.uuid), p.id} }

// newestFirst is the order of responses, which survey_event_response has.
const newestFirst = " ORDER BY r.ts DESC, r.uuid DESC, r.id DESC"

// selectResponses returns a condition for the rows r of a survey that represent the
// responses between the bounds of a query, below a place unless it is nil.
func selectResponses(d *Dialect, q *survey.Query, survey uuid.UUID, below *place) (string, []any) {
	conditions, args := "r.project_id = ? AND r.survey_id = ? AND r.counts_as = 3", []any{q.Project, survey}
	if q.From != nil {
		conditions, args = conditions+" AND r.ts >= ?", append(args, d.time(*q.From))
	}
	if q.To != nil {
		conditions, args = conditions+" AND r.ts <= ?", append(args, d.time(*q.To))
	}
	if below != nil {
		conditions, args = conditions+" AND (r.ts, r.uuid, r.id) < (?, ?, ?)", append(args, below.args(d)...)
	}
	return conditions, args
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
	var below *place
	if n := len(p.list); n > 0 {
		below = &place{p.list[n-1].Time, p.list[n-1].ID, p.id}
	}
	conditions, args := selectResponses(d, q, survey, below)
	if q.ExcludeArchived {
		conditions += ` AND NOT EXISTS (SELECT 1 FROM survey_response_archive a
			WHERE a.project_id = r.project_id AND a.survey_id = r.survey_id AND a.response_uuid = r.uuid)`
	}
	return `SELECT r.id, r.uuid, r.distinct_id, r.ts, r.extra, e.answers FROM (
			SELECT * FROM survey_event r WHERE ` + conditions + newestFirst + ` LIMIT ?
		) r CROSS JOIN survey_event e
		WHERE e.project_id = r.project_id AND e.survey_id = r.survey_id AND e.submission_key = r.submission_key AND e.submission_key IS NOT NULL` +
		newestFirst + ", e.ts DESC, e.uuid DESC, e.id DESC", append(args, responsesPerPage)
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
	mergeAnswers(p.list[len(p.list)-1].Answers, answers.String)
	return nil
}

// mergeAnswers adds answers of an earlier event of a submission.
func mergeAnswers(all map[string]json.RawMessage, earlier string) {
	for o := jsonscan.Value(earlier).Object(); o.Next(); {
		question := string(o.Name())
		if _, ok := all[question]; !ok && len(all) < survey.MaxAnswers {
			all[question] = json.RawMessage(o.Value())
		}
	}
}
