package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/parallel"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

// Statistics look at the answers of all responses of a survey. answerReaders read
// pages of answersPerPage responses at once, at most answerPages beyond the one that the
// caller handles. A bound that is found first divides two pages: it costs the tenth of a
// page, as an index has it.
const (
	answersPerPage = 2000
	answerPages    = 2
	answerReaders  = 2
)

// SurveyAnswers implements [survey.EventStore].
func (db *DB) SurveyAnswers(ctx context.Context, q survey.Query) iter.Seq2[survey.Answers, error] {
	return func(yield func(survey.Answers, error) bool) {
		for _, id := range uniqueSurveys(&q) {
			more, err := db.readAnswers(ctx, &q, id, func(a survey.Answers) bool { return yield(a, nil) })
			if err != nil {
				yield(survey.Answers{}, fmt.Errorf("read answers: %w", err))
				return
			}
			if !more {
				return
			}
		}
	}
}

// An answerReader reads the answers of a survey.
type answerReader struct {
	db       *DB
	q        *survey.Query
	survey   uuid.UUID
	archived map[uuid.UUID]bool // responses to leave out

	// parted is known when partedKnown is closed, unless partedErr is not nil.
	parted      *submissions
	partedErr   error
	partedKnown chan struct{}
}

// An answerPage has the answers of the responses between two places, when done is closed.
// A place that is nil is not a bound.
type answerPage struct {
	below, last *place
	list        []survey.Answers
	err         error
	done        chan struct{}
}

// readAnswers calls yield for the answers of each response, until it returns false, and
// reports whether it never did.
func (db *DB) readAnswers(ctx context.Context, q *survey.Query, id uuid.UUID, yield func(survey.Answers) bool) (more bool, err error) {
	r := &answerReader{db: db, q: q, survey: id, archived: make(map[uuid.UUID]bool), partedKnown: make(chan struct{})}
	if q.ExcludeArchived {
		list, err := db.ArchivedResponses(ctx, q.Project, id)
		if err != nil {
			return false, err
		}
		for _, response := range list {
			r.archived[response] = true
		}
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	wg.Go(func() {
		defer close(r.partedKnown)
		if err := parallel.Recovered(func() { r.parted, r.partedErr = r.findParted(ctx) }); err != nil {
			r.partedErr = err
		}
	})
	todo, pages := make(chan *answerPage), make(chan *answerPage, answerPages)
	for range answerReaders {
		wg.Go(func() {
			for p := range todo {
				if err := parallel.Recovered(func() { p.list, p.err = r.read(ctx, p) }); err != nil {
					p.err = err
				}
				close(p.done)
			}
		})
	}
	var undivided error // known when pages is closed
	wg.Go(func() {
		defer close(pages)
		defer close(todo)
		if err := parallel.Recovered(func() { undivided = r.divide(ctx, todo, pages) }); err != nil {
			undivided = err
		}
	})
	for p := range pages {
		<-p.done
		if p.err != nil {
			return false, p.err
		}
		for _, a := range p.list {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			if !yield(a) {
				return false, nil
			}
		}
	}
	return true, undivided
}

// divide sends the pages to be read, in the order of their responses.
func (r *answerReader) divide(ctx context.Context, todo, pages chan<- *answerPage) error {
	for below := (*place)(nil); ; {
		last, err := r.lastPlace(ctx, below)
		if err != nil {
			return err
		}
		p := &answerPage{below: below, last: last, done: make(chan struct{})}
		select {
		case todo <- p:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case pages <- p:
		case <-ctx.Done():
			return ctx.Err()
		}
		if last == nil {
			return nil
		}
		below = last
	}
}

// lastPlace returns the place of the last response of the page below a place, nil if it is
// the last page.
func (r *answerReader) lastPlace(ctx context.Context, below *place) (last *place, err error) {
	where, args := selectResponses(&r.db.d, r.q, r.survey, below)
	query := "SELECT r.ts, r.uuid, r.id FROM survey_event r WHERE " + where + newestFirst + " LIMIT 1 OFFSET ?"
	err = r.db.read(ctx, query, append(args, answersPerPage-1), func(rows *sql.Rows) error {
		last = new(place)
		return rows.Scan(moment{&last.at}, &last.uuid, &last.id)
	})
	return last, err
}

// read reads a page.
func (r *answerReader) read(ctx context.Context, p *answerPage) ([]survey.Answers, error) {
	where, args := selectResponses(&r.db.d, r.q, r.survey, p.below)
	if p.last != nil {
		where, args = where+" AND (r.ts, r.uuid, r.id) >= (?, ?, ?)", append(args, p.last.args(&r.db.d)...)
	}
	type response struct {
		at         time.Time
		submission uuid.UUID
		end        int // of its answers in text
	}
	list, text := make([]response, 0, answersPerPage), make([]byte, 0, answersPerPage*100)
	var next response
	var id uuid.UUID
	var answers sql.RawBytes
	columns, values := "r.ts, r.submission_key, r.answers", []any{moment{&next.at}, &next.submission, &answers}
	if len(r.archived) > 0 {
		columns, values = columns+", r.uuid", append(values, &id)
	}
	err := r.db.read(ctx, "SELECT "+columns+" FROM survey_event r WHERE "+where+newestFirst, args, func(rows *sql.Rows) error {
		err := rows.Scan(values...)
		if err != nil || r.archived[id] {
			return err
		}
		text = append(text, answers...)
		next.end = len(text)
		list = append(list, next)
		return nil
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-r.partedKnown:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if r.partedErr != nil {
		return nil, r.partedErr
	}
	parted := make(map[uuid.UUID]map[string]json.RawMessage)
	for i := range list {
		if r.parted.mayHave(list[i].submission) {
			parted[list[i].submission] = make(map[string]json.RawMessage)
		}
	}
	if err := r.merge(ctx, parted); err != nil {
		return nil, err
	}
	out, begin := make([]survey.Answers, len(list)), 0
	for i, v := range list {
		out[i].Time = v.at
		if all, ok := parted[v.submission]; ok {
			if object := jsonObject(all, func(dst []byte, v json.RawMessage) []byte { return append(dst, v...) }); object != nil {
				out[i].Object = json.RawMessage(*object)
			}
		} else if v.end > begin {
			out[i].Object = json.RawMessage(text[begin:v.end:v.end])
		}
		begin = v.end
	}
	return out, nil
}

// merge gives submissions the answers of all their events.
func (r *answerReader) merge(ctx context.Context, parted map[uuid.UUID]map[string]json.RawMessage) error {
	if len(parted) == 0 {
		return nil
	}
	ids := slices.Collect(maps.Keys(parted))
	const query = `SELECT e.submission_key, e.answers FROM survey_event e
		WHERE e.project_id = ? AND e.survey_id = ? AND e.submission_key IS NOT NULL AND e.submission_key IN (?)
		ORDER BY e.submission_key, e.ts DESC, e.uuid DESC, e.id DESC`
	var id uuid.UUID
	var answers sql.NullString
	values := uuids(&r.db.d, "", ids, func(id *uuid.UUID) uuid.UUID { return *id }).values
	return r.db.d.in(query, []any{r.q.Project, r.survey}, values, func(query string, args []any) error {
		return r.db.read(ctx, query, args, func(rows *sql.Rows) error {
			err := rows.Scan(&id, &answers)
			if err == nil {
				mergeAnswers(parted[id], answers.String)
			}
			return err
		})
	})
}

// findParted returns the submissions that have several events. Most have one: then its
// answers are all there are. If there are as many events as responses, which chunks have
// counted, all submissions have one.
func (r *answerReader) findParted(ctx context.Context) (*submissions, error) {
	const query = `SELECT submission_key FROM survey_event WHERE project_id = ? AND survey_id = ? AND submission_key IS NOT NULL
		AND (SELECT count(*) FROM survey_event e WHERE e.project_id = ? AND e.survey_id = ? AND e.submission_key IS NOT NULL) <>
			(SELECT coalesce(sum(responses), 0) FROM survey_chunk c WHERE c.project_id = ? AND c.survey_id = ?)
		GROUP BY submission_key HAVING count(*) > 1`
	s := new(submissions)
	var id uuid.UUID
	err := r.db.read(asLongQuery(ctx), query, []any{r.q.Project, r.survey, r.q.Project, r.survey, r.q.Project, r.survey}, func(rows *sql.Rows) error {
		err := rows.Scan(&id)
		s.add(id)
		return err
	})
	return s, err
}

// submissions is a set that takes the same memory for all numbers of members. It may
// seem to have others as well.
type submissions struct {
	seed maphash.Seed
	bits []uint64 // nil if it is empty
}

// submissionBits is how many bits a set has.
const submissionBits = 1 << 23

func (s *submissions) add(id uuid.UUID) {
	if s.bits == nil {
		s.seed, s.bits = maphash.MakeSeed(), make([]uint64, submissionBits/64)
	}
	bit := s.bit(id)
	s.bits[bit/64] |= 1 << (bit % 64)
}

// mayHave reports whether an ID was added, or shares its bit with another one.
func (s *submissions) mayHave(id uuid.UUID) bool {
	if s.bits == nil {
		return false
	}
	bit := s.bit(id)
	return s.bits[bit/64]&(1<<(bit%64)) != 0
}

func (s *submissions) bit(id uuid.UUID) uint64 {
	return maphash.Bytes(s.seed, id[:]) % submissionBits
}
