package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/survey"
)

// CountSurveyEvents implements [survey.EventStore].
func (db *DB) CountSurveyEvents(ctx context.Context, q survey.Query) (*survey.Counts, error) {
	c := counter{q: newChunkQuery(&q), who: newRespondents()}
	archived, err := db.archivedEvents(ctx, &q)
	if err != nil {
		return nil, fmt.Errorf("count survey events: %w", err)
	}
	var id uuid.UUID
	var entries sql.RawBytes
	err = db.readChunks(ctx, c.q, "survey_id, entries", nil, func(r *sql.Rows) error {
		err := r.Scan(&id, &entries)
		c.add(entries, archived[id])
		return err
	})
	return c.counts(), wrap("count survey events", err)
}

// CountResponses implements [survey.EventStore]. A chunk has its
// number of responses; the entries are read only if a query selects some of
// them.
func (db *DB) CountResponses(ctx context.Context, q survey.Query) (map[uuid.UUID]int, error) {
	cq := newChunkQuery(&q)
	archived, err := db.archivedEvents(ctx, &q)
	if err != nil {
		return nil, fmt.Errorf("count responses: %w", err)
	}
	look := make(slice[string], 0, len(archived)) // all chunks of these surveys must be read
	for id := range archived {
		look = append(look, id.String())
	}
	counts := make(map[uuid.UUID]int)
	var id uuid.UUID
	var all int
	var entries sql.RawBytes
	const columns = "survey_id, responses, CASE WHEN first_at < ? OR last_at > ? OR survey_id IN (?) THEN entries END"
	err = db.readChunks(ctx, cq, columns, []any{cq.from, cq.to, look}, func(r *sql.Rows) error {
		if err := r.Scan(&id, &all, &entries); err != nil {
			return err
		}
		for b := []byte(entries); len(b) > 0; b = b[entrySize:] {
			if e := entryAt(b); e.kind == survey.Sent && !cq.selects(e, archived[id]) {
				all--
			}
		}
		if all > 0 {
			counts[id] += all
		}
		return nil
	})
	return counts, wrap("count responses", err)
}

// archivedEvents returns, by survey, the hashes of the events to leave out.
func (db *DB) archivedEvents(ctx context.Context, q *survey.Query) (map[uuid.UUID]map[hash]bool, error) {
	if !q.ExcludeArchived || len(q.Surveys) == 0 {
		return nil, nil
	}
	archived := make(map[uuid.UUID]map[hash]bool)
	err := db.read(ctx, "SELECT survey_id, response_uuid FROM survey_response_archive WHERE project_id = ? AND survey_id IN (?)",
		[]any{q.Project, idsOf(q.Surveys)}, eachPair(func(id, response uuid.UUID) {
			if archived[id] == nil {
				archived[id] = make(map[hash]bool)
			}
			archived[id][hashEvent(response)] = true
		}))
	return archived, err
}

// A chunkQuery is a [survey.Query] with bounds in microseconds.
type chunkQuery struct {
	project  int64
	surveys  []uuid.UUID
	from, to int64
}

func newChunkQuery(q *survey.Query) *chunkQuery {
	micros := func(t *time.Time, unbounded int64) int64 {
		if t == nil {
			return unbounded
		}
		return t.UnixMicro()
	}
	return &chunkQuery{q.Project, q.Surveys, micros(q.From, math.MinInt64), micros(q.To, math.MaxInt64)}
}

func (q *chunkQuery) selects(e chunkEntry, archived map[hash]bool) bool {
	return q.from <= e.at && e.at <= q.to && (archived == nil || !archived[e.event])
}

// readChunks calls scan for the chunks that may contain entries that a query
// selects.
func (db *DB) readChunks(ctx context.Context, q *chunkQuery, columns string, args []any, scan func(*sql.Rows) error) error {
	if len(q.surveys) == 0 {
		return nil
	}
	query, args, err := db.d.among("SELECT "+columns+" FROM survey_chunk WHERE project_id = ? AND last_at >= ? AND first_at <= ?",
		append(args, q.project, q.from, q.to))
	if err != nil {
		return err
	}
	return db.read(ctx, query+" AND survey_id IN (?)", append(args, idsOf(q.surveys)), func(r *sql.Rows) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return scan(r)
	})
}

// A counter counts entries.
type counter struct {
	q      *chunkQuery
	who    *respondents
	totals [survey.Sent + 1]struct {
		n           int
		first, last int64
	}
}

func (c *counter) add(entries []byte, archived map[hash]bool) {
	for b := entries; len(b) > 0; b = b[entrySize:] {
		e := entryAt(b)
		if !c.q.selects(e, archived) {
			continue
		}
		t := &c.totals[e.kind]
		if t.n == 0 {
			t.first, t.last = e.at, e.at
		}
		t.n, t.first, t.last = t.n+1, min(t.first, e.at), max(t.last, e.at)
		c.who.note(e.who, 1<<(e.kind-1))
	}
}

// Actions of respondents, as bits that hashes do not have.
const (
	hasShown     = 1 << (survey.Shown - 1)
	hasDismissed = 1 << (survey.Dismissed - 1)
	hasSent      = 1 << (survey.Sent - 1)
)

func (c *counter) counts() *survey.Counts {
	var all survey.Counts
	for kind, count := range map[survey.EventKind]*survey.Count{
		survey.Shown: &all.Shown, survey.Dismissed: &all.Dismissed, survey.Sent: &all.Sent,
	} {
		t := c.totals[kind]
		if t.n > 0 {
			count.Total, count.First, count.Last = t.n, new(time.UnixMicro(t.first).UTC()), new(time.UnixMicro(t.last).UTC())
		}
	}
	const both = hasDismissed | hasSent
	for _, slot := range c.who.slots {
		all.Shown.Persons += int(slot & hasShown)
		all.Dismissed.Persons += int(slot & hasDismissed / hasDismissed)
		all.Sent.Persons += int(slot & hasSent / hasSent)
		if slot&both == both {
			all.Both++
		}
	}
	return &all
}

// respondents is a set of hashes, each with bits for the actions of the
// respondent. It is an open hash table without further hashing: a map takes
// several times as long.
type respondents struct {
	slots []hash // 0 if free
	used  int
	shift int // leaves the number of bits that index the slots
}

func newRespondents() *respondents { return &respondents{slots: make([]hash, 1<<10), shift: 64 - 10} }

func (r *respondents) note(who, has hash) {
	i := int(who >> r.shift)
	for r.slots[i] != 0 && r.slots[i]&^noHash != who {
		i = (i + 1) & (len(r.slots) - 1)
	}
	if r.slots[i] == 0 {
		r.slots[i] = who
		r.used++
	}
	r.slots[i] |= has
	if r.used > len(r.slots)/4*3 {
		r.grow()
	}
}

func (r *respondents) grow() {
	old := r.slots
	*r = respondents{slots: make([]hash, 2*len(old)), shift: r.shift - 1}
	for _, slot := range old {
		if slot != 0 {
			r.note(slot&^noHash, slot&noHash)
		}
	}
}
