package sqldb

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

// A surveyRow is a row of survey_event.
type surveyRow struct {
	surveyOf
	id         int64 // 0 if it is not stored yet
	uuid       uuid.UUID
	kind       survey.EventKind
	distinctID string
	at         time.Time
	submission uuid.UUID // Nil if it is not part of a response
	answers    *string
	extra      *string

	countsAs survey.EventKind // 0 if it does not count
	chunk    *chunk           // where it counts, unless it was only read
	chunkID  int64            // the ID of chunk, if it was read
	event    int              // its index among the events to write
}

// surveyRows returns the rows of survey events, except events that can never
// count.
func surveyRows(events []capture.Event, surveys []survey.Event) []surveyRow {
	var list []surveyRow
	for _, about := range surveys {
		e := &events[about.Index]
		row := surveyRow{
			surveyOf: surveyOf{e.Project, about.Survey}, uuid: e.UUID, kind: about.Kind,
			distinctID: e.DistinctID, at: e.Time, event: about.Index,
		}
		switch {
		case about.OfResponse():
			row.submission = about.Submission
			row.answers = jsonObject(about.Answers, func(dst []byte, v json.RawMessage) []byte { return append(dst, v...) })
			row.extra = jsonObject(about.Extra, text.AppendQuoted)
		case about.Kind == survey.Abandoned:
			continue
		default:
			row.countsAs = about.Kind
		}
		list = append(list, row)
	}
	return list
}

// freshRows returns copies of the rows whose events are new, or of all rows if
// fresh is nil. The index of the event that fresh begins with is first.
func freshRows(rows []surveyRow, fresh []bool, first int) []surveyRow {
	return slices.DeleteFunc(slices.Clone(rows), func(r surveyRow) bool { return fresh != nil && !fresh[r.event-first] })
}

// jsonObject returns a JSON object, or nil for an empty one.
func jsonObject[V any](members map[string]V, appendValue func(dst []byte, v V) []byte) *string {
	if len(members) == 0 {
		return nil
	}
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(members)) {
		b = text.AppendQuoted(append(b, ','), name)
		b = appendValue(append(b, ':'), members[name])
	}
	b[0] = '{'
	return new(string(append(b, '}')))
}

func (r *surveyRow) person() persons.DistinctID {
	return persons.DistinctID{Project: r.project, ID: r.distinctID}
}

func (r *surveyRow) entry(who hash) chunkEntry {
	return chunkEntry{who, r.countsAs, hashEvent(r.uuid), r.at.UnixMicro()}
}

// represents reports whether an event represents its submission in place of
// other, which was stored before (management.md §10.2).
func (r *surveyRow) represents(other *surveyRow) bool {
	if sent := r.kind == survey.Sent; sent != (other.kind == survey.Sent) {
		return sent
	}
	return cmp.Or(r.at.Compare(other.at), bytes.Compare(r.uuid[:], other.uuid[:])) >= 0
}

// surveyColumns are the columns that scanSurveyRow reads.
const surveyColumns = "id, project_id, survey_id, uuid, kind, distinct_id, ts, submission_key, counts_as, coalesce(chunk_id, 0)"

func scanSurveyRow(list *[]surveyRow) func(*sql.Rows) error {
	return rowsTo(list, func(r *surveyRow) []any {
		return []any{&r.id, &r.project, &r.survey, &r.uuid, &r.kind, &r.distinctID, moment{&r.at}, &r.submission, &r.countsAs, &r.chunkID}
	})
}

// addSurveyEvents stores rows for events that have just been stored, after
// their persons. The function known returns the persons of some distinct IDs.
func (t *tx) addSurveyEvents(ctx context.Context, rows []surveyRow, known func(persons.DistinctID) (uuid.UUID, bool)) error {
	if len(rows) == 0 {
		return nil
	}
	stored, err := t.representatives(ctx, rows)
	if err != nil {
		return err
	}
	over := elect(stored, rows)
	who, err := t.respondents(ctx, slices.Concat(rows, over), known)
	if err != nil {
		return err
	}
	c := newChunks(t)
	if err := c.take(ctx, over, who); err != nil {
		return err
	}
	if err := c.put(ctx, rows, who); err != nil {
		return err
	}
	err = t.in(ctx, "UPDATE survey_event SET counts_as = 0, chunk_id = NULL WHERE id IN (?)", nil,
		collect(over, func(r *surveyRow) int64 { return r.id }), nil)
	if err != nil {
		return err
	}
	return t.insertSurveyRows(ctx, rows)
}

// elect makes the rows count that represent their submissions now. It returns
// the stored rows that no longer do.
func elect(stored, rows []surveyRow) (over []surveyRow) {
	type submission struct {
		surveyOf
		key uuid.UUID
	}
	best := make(map[submission]*surveyRow)
	for _, list := range [][]surveyRow{stored, rows} {
		for i := range list {
			r := &list[i]
			key := submission{r.surveyOf, r.submission}
			if r.submission == uuid.Nil || best[key] != nil && !r.represents(best[key]) {
				continue
			}
			best[key] = r
		}
	}
	for _, r := range best {
		r.countsAs = survey.Sent
	}
	for i := range stored {
		if r := &stored[i]; best[submission{r.surveyOf, r.submission}] != r {
			over = append(over, *r)
		}
	}
	return over
}

// representatives returns the stored representatives of the submissions of
// rows.
func (t *tx) representatives(ctx context.Context, rows []surveyRow) ([]surveyRow, error) {
	keys := make(map[surveyOf][]uuid.UUID)
	for i := range rows {
		if r := &rows[i]; r.submission != uuid.Nil {
			keys[r.surveyOf] = append(keys[r.surveyOf], r.submission)
		}
	}
	// This condition avoids counts_as = 3: it has an index of the survey's
	// responses, which PostgreSQL may choose while there are few responses, and
	// keep using.
	const one = "SELECT " + surveyColumns + ` FROM survey_event WHERE project_id = ? AND survey_id = ?
		AND submission_key IS NOT NULL AND counts_as > 2 AND submission_key `
	var list []surveyRow
	for s, submissions := range keys {
		slices.SortFunc(submissions, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		submissions = slices.Compact(submissions)
		args, values := []any{s.project, s.survey}, uuids(&t.db.d, "", submissions, func(id *uuid.UUID) uuid.UUID { return *id }).values
		var err error
		if t.pg != nil {
			_, err = t.run(ctx, "SELECT r.* FROM unnest(?::uuid[]) k CROSS JOIN LATERAL ("+one+"= k LIMIT 1) r",
				append([]any{values.array()}, args...), scanSurveyRow(&list))
		} else {
			err = t.in(ctx, one+"IN (?)", args, values, scanSurveyRow(&list))
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// respondents returns the hashes of the respondents for which the rows count.
func (t *tx) respondents(ctx context.Context, rows []surveyRow, known func(persons.DistinctID) (uuid.UUID, bool)) (map[persons.DistinctID]hash, error) {
	who := make(map[persons.DistinctID]hash)
	unknown := make(map[int64]slice[string])
	for i := range rows {
		id := rows[i].person()
		if _, ok := who[id]; ok {
			continue
		}
		if p, ok := known(id); ok {
			who[id] = hashPerson(p)
			continue
		}
		who[id] = hashNobody(id)
		unknown[id.Project] = append(unknown[id.Project], id.ID)
	}
	for project, ids := range unknown {
		err := t.in(ctx, "SELECT distinct_id, person_id FROM person_distinct_id WHERE project_id = ? AND distinct_id IN (?)", []any{project}, ids, eachPair(func(id string, person uuid.UUID) {
			who[persons.DistinctID{Project: project, ID: id}] = hashPerson(person)
		}))
		if err != nil {
			return nil, err
		}
	}
	return who, nil
}

// take removes rows from the chunks in which they count.
func (c *chunks) take(ctx context.Context, rows []surveyRow, who map[persons.DistinctID]hash) error {
	if err := c.load(ctx, chunksOf(rows)...); err != nil {
		return err
	}
	for i := range rows {
		if k := c.byID[rows[i].chunkID]; k != nil {
			k.remove(rows[i].entry(who[rows[i].person()]))
		}
	}
	return nil
}

func chunksOf(rows []surveyRow) []int64 {
	var list []int64
	for i := range rows {
		if id := rows[i].chunkID; id != 0 {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// put adds the rows that count to chunks, and saves all chunks.
func (c *chunks) put(ctx context.Context, rows []surveyRow, who map[persons.DistinctID]hash) error {
	for i := range rows {
		r := &rows[i]
		if r.countsAs == 0 {
			continue
		}
		var err error
		if r.chunk, err = c.add(ctx, r.surveyOf, r.entry(who[r.person()])); err != nil {
			return err
		}
	}
	return c.save(ctx)
}

func (t *tx) insertSurveyRows(ctx context.Context, rows []surveyRow) error {
	type row = surveyRow
	d := &t.db.d
	_, err := t.insert(ctx, "survey_event", []column{
		integers("project_id", rows, func(r *row) int64 { return r.project }),
		{"survey_id", "uuid", collect(rows, func(r *row) string { return r.survey.String() })},
		uuids(d, "uuid", rows, func(r *row) uuid.UUID { return r.uuid }),
		integers("kind", rows, func(r *row) int64 { return int64(r.kind) }),
		texts("distinct_id", rows, func(r *row) string { return r.distinctID }),
		times(d, "ts", rows, func(r *row) time.Time { return r.at }),
		submissionKeys(d, rows),
		integers("counts_as", rows, func(r *row) int64 { return int64(r.countsAs) }),
		{"chunk_id", "bigint", collect(rows, func(r *row) *int64 {
			if r.chunk == nil {
				return nil
			}
			return &r.chunk.id
		})},
		{"answers", "text", collect(rows, func(r *row) *string { return r.answers })},
		{"extra", "text", collect(rows, func(r *row) *string { return r.extra })},
	}, "", nil)
	return err
}

func submissionKeys(d *Dialect, rows []surveyRow) column {
	if d.Postgres {
		return column{"submission_key", "uuid", collect(rows, func(r *surveyRow) *string {
			if r.submission == uuid.Nil {
				return nil
			}
			return new(r.submission.String())
		})}
	}
	return column{"submission_key", "", collect(rows, func(r *surveyRow) any {
		if r.submission == uuid.Nil {
			return nil
		}
		return r.submission[:]
	})}
}

// moveSurveyEvents makes events count for the persons that own their distinct
// IDs after the changes. It is called before the changes are made.
func (t *tx) moveSurveyEvents(ctx context.Context, changes *persons.Changes) error {
	if len(changes.Merges) == 0 && len(changes.Links) == 0 {
		return nil
	}
	ids := make(map[int64]bool) // of chunks
	scan := eachValue(func(id int64) { ids[id] = true })
	err := t.in(ctx, `SELECT DISTINCT e.chunk_id FROM person_distinct_id d
		JOIN survey_event e ON e.project_id = d.project_id AND e.distinct_id = d.distinct_id
		WHERE e.chunk_id IS NOT NULL AND d.person_id IN (?)`, nil,
		uuids(&t.db.d, "", changes.Merges, func(m *persons.Merge) uuid.UUID { return m.From }).values, scan)
	if err != nil {
		return err
	}
	linked := make(map[int64]slice[string])
	for _, l := range changes.Links {
		linked[l.Project] = append(linked[l.Project], l.ID)
	}
	for project, list := range linked {
		err := t.in(ctx, "SELECT DISTINCT chunk_id FROM survey_event WHERE chunk_id IS NOT NULL AND project_id = ? AND distinct_id IN (?)",
			[]any{project}, list, scan)
		if err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		return nil
	}
	c := newChunks(t)
	if err := c.load(ctx, slices.Sorted(maps.Keys(ids))...); err != nil {
		return err
	}
	to := moves(changes)
	for _, k := range c.all {
		k.move(to)
	}
	return c.save(ctx)
}

// moves returns the replacement of each hash.
func moves(changes *persons.Changes) map[hash]hash {
	to := make(map[hash]hash)
	for _, m := range slices.Backward(changes.Merges) {
		into := hashPerson(m.Into)
		if later, ok := to[into]; ok { // this person was merged itself
			into = later
		}
		to[hashPerson(m.From)] = into
	}
	for _, l := range changes.Links {
		to[hashNobody(l.DistinctID)] = hashPerson(l.Person)
	}
	return to
}

// forgetSurveyPerson must be called when a person is deleted with all its
// distinct IDs, by a transaction that has locked the project. If the person's
// events are deleted as well, now or later, they no longer count. Otherwise
// they count for their distinct IDs.
func (t *tx) forgetSurveyPerson(ctx context.Context, project int64, person uuid.UUID, distinctIDs []string, events bool) error {
	var rows []surveyRow
	err := t.in(ctx, "SELECT "+surveyColumns+" FROM survey_event WHERE project_id = ? AND distinct_id IN (?)", []any{project},
		slice[string](distinctIDs), scanSurveyRow(&rows))
	if err != nil {
		return err
	}
	c := newChunks(t)
	was := make(map[persons.DistinctID]hash)
	for i := range rows {
		was[rows[i].person()] = hashPerson(person)
	}
	if err := c.take(ctx, rows, was); err != nil {
		return err
	}
	if events {
		return t.dropSurveyRows(ctx, c, rows)
	}
	for i := range rows {
		if k := c.byID[rows[i].chunkID]; k != nil {
			k.add(rows[i].entry(hashNobody(rows[i].person())))
		}
	}
	return c.save(ctx)
}

// dropSurveyRows deletes rows that were removed from their chunks. The
// remaining rows of their submissions get another representative.
func (t *tx) dropSurveyRows(ctx context.Context, c *chunks, rows []surveyRow) error {
	err := t.in(ctx, "DELETE FROM survey_event WHERE id IN (?)", nil, collect(rows, func(r *surveyRow) int64 { return r.id }), nil)
	if err != nil {
		return err
	}
	var heirs []surveyRow
	for i := range rows {
		r := &rows[i]
		if r.countsAs != survey.Sent {
			continue
		}
		_, err := t.run(ctx, "SELECT "+surveyColumns+` FROM survey_event
			WHERE project_id = ? AND survey_id = ? AND submission_key IS NOT NULL AND submission_key = ?
			ORDER BY CASE kind WHEN 3 THEN 0 ELSE 1 END, ts DESC, uuid DESC, id DESC LIMIT 1`,
			[]any{r.project, r.survey, t.db.d.id(r.submission)}, scanSurveyRow(&heirs))
		if err != nil {
			return err
		}
	}
	for i := range heirs {
		heirs[i].countsAs = survey.Sent
	}
	who, err := t.respondents(ctx, heirs, func(persons.DistinctID) (uuid.UUID, bool) { return uuid.Nil, false })
	if err != nil {
		return err
	}
	if err := c.put(ctx, heirs, who); err != nil {
		return err
	}
	for i := range heirs {
		_, err := t.exec(ctx, "UPDATE survey_event SET counts_as = 3, chunk_id = ? WHERE id = ?", heirs[i].chunk.id, heirs[i].id)
		if err != nil {
			return err
		}
	}
	return nil
}
