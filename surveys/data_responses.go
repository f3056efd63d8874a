package surveys

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
)

// An eventStore has the events of surveys in a form that can be counted: [Data] is one. It has
// an event as soon as the event is stored. It is safe for concurrent use.
//
// One event of a submission is representative, whatever a query selects: the latest
// event "survey sent", or if there is none, the latest one that says that the survey
// was dismissed or abandoned partially completed. The latest event is the one with
// the greatest time, then UUID, then the one that was stored last.
type eventStore interface {
	// CountSurveyEvents counts the events of all selected surveys together.
	CountSurveyEvents(ctx context.Context, q Query) (*Counts, error)

	// CountResponses counts the responses of each survey. A survey without
	// responses is not in the map.
	CountResponses(ctx context.Context, q Query) (map[uuid.UUID]int, error)

	// SurveyResponses iterates over the responses of one survey after the
	// other, as the query lists the surveys: newest first, and responses of one
	// time by descending ID. It may leave out answers that are stored meanwhile,
	// also answers of responses that were there before. An error is the last
	// thing that it yields.
	SurveyResponses(ctx context.Context, q Query) iter.Seq2[Response, error]

	// SurveyAnswers is SurveyResponses for statistics, in a fraction of the time: it
	// has only the times and the answers of the responses. An Object is valid until
	// the next one.
	SurveyAnswers(ctx context.Context, q Query) iter.Seq2[Answers, error]
}

// selects returns the condition for the rows r of survey_event that a query selects of some
// surveys. No row is of an empty list.
func (q *Query) selects(surveys []uuid.UUID) (string, []any) {
	where, args := "r.project_id = ? AND r.survey_id IN (?)", []any{q.Project, texts(surveys)}
	if len(surveys) == 1 { // for which an index has the order
		where, args[1] = "r.project_id = ? AND r.survey_id = ?", surveys[0].String()
	}
	if q.From != nil {
		where, args = where+" AND r.ts >= ?", append(args, *q.From)
	}
	if q.To != nil {
		where, args = where+" AND r.ts <= ?", append(args, *q.To)
	}
	if q.ExcludeArchived {
		where += ` AND NOT EXISTS (SELECT 1 FROM survey_response_archive a
			WHERE a.project_id = r.project_id AND a.survey_id = r.survey_id AND a.response_uuid = r.uuid)`
	}
	return where, args
}

// CountSurveyEvents implements eventStore, as do the methods below.
func (d *Data) CountSurveyEvents(ctx context.Context, q Query) (*Counts, error) {
	where, args := q.selects(q.Surveys)
	c := new(Counts)
	var places []any
	var all, respondent string // columns of the counts, and of each respondent
	for _, kind := range []struct {
		count    *Count
		name, as string
	}{{&c.Shown, "shown", "1"}, {&c.Dismissed, "dismissed", "2"}, {&c.Sent, "sent", "3"}} {
		n, first, last := kind.name, kind.name+"_first", kind.name+"_last"
		all += "coalesce(sum(" + n + "), 0), count(" + n + "), min(" + first + "), max(" + last + "), "
		of := func(column string) string { return "(CASE counts_as WHEN " + kind.as + " THEN " + column + " END)" }
		respondent += "sum" + of("n") + " " + n + ", min" + of("first") + " " + first + ", max" + of("last") + " " + last + ", "
		places = append(places, &kind.count.Total, &kind.count.Persons, maybeTime{&kind.count.First}, maybeTime{&kind.count.Last})
	}
	err := d.tx.Query(ctx, `SELECT `+all+`count(CASE WHEN dismissed > 0 AND sent > 0 THEN 1 END) FROM (
		SELECT `+respondent+`p.person_id FROM (
			SELECT distinct_id, counts_as, count(*) n, min(ts) first, max(ts) last FROM survey_event r
			WHERE `+where+` AND r.counts_as > 0 GROUP BY distinct_id, counts_as
		) e LEFT JOIN person_distinct_id p ON p.project_id = ? AND p.distinct_id = e.distinct_id
		GROUP BY p.person_id, CASE WHEN p.person_id IS NULL THEN e.distinct_id END
	) respondents`, append(args, q.Project), func(r *sql.Rows) error { return r.Scan(append(places, &c.Both)...) })
	return c, wrap("count survey events", err)
}

func (d *Data) CountResponses(ctx context.Context, q Query) (map[uuid.UUID]int, error) {
	where, args := q.selects(q.Surveys)
	counts := make(map[uuid.UUID]int)
	err := d.tx.Query(ctx, "SELECT survey_id, count(*) FROM survey_event r WHERE "+where+" AND r.counts_as = 3 GROUP BY survey_id", args, func(r *sql.Rows) error {
		var id uuid.UUID
		var n int
		err := r.Scan(&id, &n)
		counts[id] = n
		return err
	})
	return counts, wrap("count responses", err)
}

// answersOf is the column with the answers of the response r: an object, or if its submission
// has several events, a list of their objects, the latest first.
const answersOf = `CASE WHEN NOT EXISTS (SELECT 1 FROM survey_event o WHERE o.project_id = r.project_id AND o.survey_id = r.survey_id
		AND o.submission_key = r.submission_key AND o.counts_as = 0) THEN r.answers
	ELSE '[' || (SELECT string_agg(e.answers, ',' ORDER BY e.ts DESC, e.uuid DESC, e.id DESC) FROM survey_event e WHERE e.project_id = r.project_id
		AND e.survey_id = r.survey_id AND e.submission_key = r.submission_key AND e.submission_key IS NOT NULL) || ']' END`

// mergedAnswers returns the answers in the column answersOf: the latest one to each question.
func mergedAnswers(column []byte) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage)
	add := func(object jsonscan.Value) {
		for o := object.Object(); o.Next(); {
			if _, known := all[string(o.Name())]; !known && len(all) < MaxAnswers {
				all[string(o.Name())] = slices.Clone(json.RawMessage(o.Value()))
			}
		}
	}
	if len(column) == 0 || column[0] != '[' {
		add(column)
		return all
	}
	for list := jsonscan.Value(column).Array(); list.Next(); {
		add(list.Value())
	}
	return all
}

// newestFirst is the order of responses, which the index survey_event_response has.
const newestFirst = " ORDER BY r.ts DESC, r.uuid DESC, r.id DESC"

// responsesAtOnce is how many responses are read at once. No query is open while the
// caller handles them.
const responsesAtOnce = 200

func (d *Data) SurveyResponses(ctx context.Context, q Query) iter.Seq2[Response, error] {
	return func(yield func(Response, error) bool) {
		for _, survey := range unique(q.Surveys) {
			where, args := q.selects([]uuid.UUID{survey})
			for below, from := "", args; ; {
				list, row, err := d.responses(ctx, where+below, from)
				if err != nil {
					yield(Response{}, wrap("read responses", err))
					return
				}
				for _, v := range list {
					v.Survey = survey
					if !yield(v, nil) {
						return
					}
				}
				if len(list) < responsesAtOnce {
					break
				}
				last := &list[len(list)-1]
				below, from = " AND (r.ts, r.uuid, r.id) < (?, ?, ?)", append(slices.Clip(args), last.Time, last.ID, row)
			}
		}
	}
}

// responses returns the newest responses that meet a condition, and the ID of the last row.
func (d *Data) responses(ctx context.Context, where string, args []any) (list []Response, row int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	var extra sql.NullString
	var answers sql.RawBytes
	err = d.tx.Query(ctx, "SELECT r.id, r.uuid, r.distinct_id, r.ts, r.extra, "+answersOf+" FROM survey_event r WHERE "+where+" AND r.counts_as = 3"+newestFirst+" LIMIT ?",
		append(slices.Clip(args), responsesAtOnce), func(r *sql.Rows) error {
			var v Response
			if err := r.Scan(&row, &v.ID, &v.DistinctID, sqlstore.Moment{Time: &v.Time}, &extra, &answers); err != nil {
				return err
			}
			if extra.Valid && json.Unmarshal([]byte(extra.String), &v.Extra) != nil {
				return errors.New("surveys: properties of a response are not stored as JSON")
			}
			v.Answers = mergedAnswers(answers)
			list = append(list, v)
			return nil
		})
	return list, row, err
}

// unique returns the surveys of a query, each at its first place.
func unique(surveys []uuid.UUID) (list []uuid.UUID) {
	for _, id := range surveys {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// errStop ends a query whose further rows nobody wants.
var errStop = errors.New("surveys: stop")

func (d *Data) SurveyAnswers(ctx context.Context, q Query) iter.Seq2[Answers, error] {
	return func(yield func(Answers, error) bool) {
		for _, survey := range unique(q.Surveys) {
			where, args := q.selects([]uuid.UUID{survey})
			var a Answers
			var column sql.RawBytes
			err := d.tx.Query(ctx, "SELECT r.ts, "+answersOf+" FROM survey_event r WHERE "+where+" AND r.counts_as = 3"+newestFirst, args, func(r *sql.Rows) error {
				if err := r.Scan(sqlstore.Moment{Time: &a.Time}, &column); err != nil {
					return err
				}
				if a.Object = json.RawMessage(column); len(column) > 0 && column[0] == '[' {
					text, _ := jsonObject(mergedAnswers(column), func(dst []byte, v json.RawMessage) []byte { return append(dst, v...) }).(string)
					a.Object = json.RawMessage(text)
				}
				if !yield(a, nil) {
					return errStop
				}
				return ctx.Err()
			})
			if errors.Is(err, errStop) {
				return
			}
			if err != nil {
				yield(Answers{}, wrap("read answers", err))
				return
			}
		}
	}
}
