package sqldb_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

var (
	surveyA = uuid.MustParse("019c0a11-2f30-7000-8c4e-00000000000a")
	surveyB = uuid.MustParse("019c0a11-2f30-7000-8c4e-00000000000b")
)

// surveyEvent returns an event of project 1, some seconds from now.
func surveyEvent(name string, survey uuid.UUID, distinctID string, second int, properties string) capture.Event {
	e := event(name, distinctID, strings.Replace(fmt.Sprintf(`{"$survey_id":"%s",%s}`, survey, properties), ",}", "}", 1))
	e.Time = now.Add(time.Duration(second) * time.Second)
	return e
}

func countSurvey(t *testing.T, db *sqldb.DB, id uuid.UUID) string {
	t.Helper()
	c, err := db.CountSurveyEvents(t.Context(), survey.Query{Project: 1, Surveys: []uuid.UUID{id}})
	if err != nil {
		t.Fatalf("CountSurveyEvents: %v", err)
	}
	return fmt.Sprintf("shown %d by %d, dismissed %d by %d, sent %d by %d, both %d",
		c.Shown.Total, c.Shown.Persons, c.Dismissed.Total, c.Dismissed.Persons, c.Sent.Total, c.Sent.Persons, c.Both)
}

// A surveyRow is a row of survey_event with the person of its distinct ID.
type surveyRow struct {
	id, project  int64
	survey, uuid uuid.UUID
	kind         survey.EventKind
	distinctID   string
	at           int64
	submission   uuid.NullUUID
	countsAs     survey.EventKind
	chunk        int64
	person       uuid.NullUUID
}

// microseconds scans a time of either database.
type microseconds struct{ at *int64 }

func (m microseconds) Scan(v any) error {
	if t, ok := v.(time.Time); ok {
		*m.at = t.UnixMicro()
		return nil
	}
	*m.at = v.(int64)
	return nil
}

func (d *database) surveyRows(t *testing.T) []surveyRow {
	t.Helper()
	rows, err := d.raw.QueryContext(t.Context(), `SELECT e.id, e.project_id, e.survey_id, e.uuid, e.kind, e.distinct_id, e.ts, e.submission_key,
		e.counts_as, coalesce(e.chunk_id, 0), p.person_id FROM survey_event e
		LEFT JOIN person_distinct_id p ON p.project_id = e.project_id AND p.distinct_id = e.distinct_id ORDER BY e.id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []surveyRow
	for rows.Next() {
		var r surveyRow
		if err := rows.Scan(&r.id, &r.project, &r.survey, &r.uuid, &r.kind, &r.distinctID, microseconds{&r.at}, &r.submission, &r.countsAs, &r.chunk, &r.person); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// checkSurveys checks that the right rows count, and that chunks have exactly
// one entry for each of them.
func (d *database) checkSurveys(t *testing.T) {
	t.Helper()
	type submission struct {
		project     int64
		survey, key uuid.UUID
	}
	list := d.surveyRows(t)
	best := make(map[submission]*surveyRow)
	for i := range list { // in the order in which they were stored
		r := &list[i]
		if !r.submission.Valid {
			continue
		}
		key := submission{r.project, r.survey, r.submission.UUID}
		other := best[key]
		sent := r.kind == survey.Sent
		switch {
		case other == nil, sent && other.kind != survey.Sent:
			best[key] = r
		case sent == (other.kind == survey.Sent):
			if r.at > other.at || r.at == other.at && bytes.Compare(r.uuid[:], other.uuid[:]) >= 0 {
				best[key] = r
			}
		}
	}
	type place struct {
		chunk int64
		sqldb.SurveyEntry
	}
	want, got := make(map[place]int), make(map[place]int)
	for i := range list {
		r := &list[i]
		counts := r.kind
		if r.submission.Valid {
			counts = 0
			if best[submission{r.project, r.survey, r.submission.UUID}] == r {
				counts = survey.Sent
			}
		}
		if r.countsAs != counts || (r.chunk != 0) != (counts != 0) {
			t.Errorf("row %+v should count as %d", *r, counts)
		}
		who := sqldb.HashNobody(r.project, r.distinctID)
		if r.person.Valid {
			who = sqldb.HashPerson(r.person.UUID)
		}
		if counts != 0 {
			want[place{r.chunk, sqldb.SurveyEntry{Survey: r.survey, Who: who, Kind: counts, Event: sqldb.HashEvent(r.uuid), At: r.at, Summed: true}}]++
		}
	}
	rows, err := d.raw.QueryContext(t.Context(), "SELECT id, survey_id, first_at, last_at, responses, entries FROM survey_chunk")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, first, last, responses int64
		var survey uuid.UUID
		var entries []byte
		if err := rows.Scan(&id, &survey, &first, &last, &responses, &entries); err != nil {
			t.Fatal(err)
		}
		all := sqldb.SurveyEntries(survey, first, last, responses, entries)
		if len(all) == 0 || len(all) > sqldb.MostEntries {
			t.Errorf("a chunk has %d entries, want 1 to %d", len(all), sqldb.MostEntries)
		}
		for _, e := range all {
			got[place{id, e}]++
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(place{})); diff != "" {
		t.Errorf("entries (-want +got)\n%s", diff)
	}
}

// TestForgottenPersons deletes persons, with and without their events.
func TestForgottenPersons(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx, db := t.Context(), d.open(t)
		fill := func(survey uuid.UUID, one, two, other string) uuid.UUID {
			t.Helper()
			write(t, db,
				surveyEvent("survey shown", survey, one, 0, ``),
				surveyEvent("survey shown", survey, two, 1, ``),
				surveyEvent("survey dismissed", survey, two, 2, ``),
				surveyEvent("survey sent", survey, one, 3, `"$survey_submission_id":"x","$survey_response_1":"one"`),
				surveyEvent("survey sent", survey, other, 2, `"$survey_submission_id":"x","$survey_response_1":"other"`),
				surveyEvent("survey dismissed", survey, other, 9, `"$survey_submission_id":"x","$survey_partially_completed":true`),
				surveyEvent("survey sent", survey, one, 5, `"$survey_submission_id":"y"`),
				event("$identify", one, `{"$anon_distinct_id":"`+two+`"}`),
			)
			for _, r := range d.surveyRows(t) {
				if r.distinctID == one {
					return r.person.UUID
				}
			}
			t.Fatal("there is no such person")
			return uuid.Nil
		}
		check := func(what string, survey uuid.UUID, want string) {
			t.Helper()
			if got := countSurvey(t, db, survey); got != want {
				t.Errorf("%s:\n got %s\nwant %s", what, got, want)
			}
			d.checkSurveys(t)
		}
		const all = "shown 2 by 1, dismissed 1 by 1, sent 2 by 1, both 1"
		ann := fill(surveyA, "ann-1", "ann-2", "bob")
		check("before", surveyA, all)
		if err := db.ForgetPerson(ctx, 1, ann, []string{"ann-1", "ann-2"}, false); err != nil {
			t.Fatal(err)
		}
		check("without the person", surveyA, "shown 2 by 2, dismissed 1 by 1, sent 2 by 1, both 0")
		write(t, db, event("$identify", "ann-2", `{"$anon_distinct_id":"ann-1"}`))
		check("with another one", surveyA, all)

		cid := fill(surveyB, "cid-1", "cid-2", "dan")
		check("before", surveyB, all)
		if err := db.ForgetPerson(ctx, 1, cid, []string{"cid-1", "cid-2"}, true); err != nil {
			t.Fatal(err)
		}
		check("without the person and the events", surveyB, "shown 0 by 0, dismissed 0 by 0, sent 1 by 1, both 0")
		for r, err := range db.SurveyResponses(ctx, survey.Query{Project: 1, Surveys: []uuid.UUID{surveyB}}) {
			if err != nil || r.DistinctID != "dan" || string(r.Answers["1"]) != `"other"` || !r.Time.Equal(now.Add(2*time.Second)) {
				t.Errorf("the response is %+v, %v", r, err)
			}
		}
		if err := db.ForgetPerson(ctx, 1, uuid.New(), []string{"nobody"}, true); err != nil {
			t.Errorf("ForgetPerson of nobody: %v", err)
		}
		check("the other survey", surveyA, all)
	})
}

// TestSurveyTables checks that rows and chunks stay consistent through random
// histories with merges and deleted persons.
func TestSurveyTables(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		db := d.open(t)
		seeds := uint64(4)
		if raceEnabled {
			seeds = 1
		}
		for seed := range seeds {
			r := rand.New(rand.NewPCG(seed, 2))
			who := func() string { return fmt.Sprintf("u%d-%d", seed, r.IntN(12)) }
			for range 12 {
				var batch []capture.Event
				for range 1 + r.IntN(60) {
					name := []string{"survey shown", "survey sent", "survey sent", "survey dismissed", "$merge_dangerously"}[r.IntN(5)]
					properties := fmt.Sprintf(`"$process_person_profile":%v,"$survey_partially_completed":%v`, name[0] == '$' || r.IntN(2) == 0, r.IntN(2) == 0)
					if r.IntN(4) > 0 {
						properties += fmt.Sprintf(`,"$survey_submission_id":"%d-%d"`, seed, r.IntN(20))
					}
					if r.IntN(4) > 0 {
						properties += fmt.Sprintf(`,"alias":"%s"`, who())
					}
					batch = append(batch, surveyEvent(name, []uuid.UUID{surveyA, surveyB}[r.IntN(2)], who(), r.IntN(20), properties))
				}
				write(t, db, batch...)
				d.checkSurveys(t)
				rows := slices.DeleteFunc(d.surveyRows(t), func(r surveyRow) bool { return !r.person.Valid })
				if len(rows) == 0 {
					continue
				}
				person := rows[r.IntN(len(rows))].person.UUID
				if err := db.ForgetPerson(t.Context(), 1, person, d.distinctIDs(t, person), r.IntN(2) == 0); err != nil {
					t.Fatal(err)
				}
				d.checkSurveys(t)
			}
			if t.Failed() {
				t.Fatalf("that was seed %d", seed)
			}
		}
	})
}

func (d *database) distinctIDs(t *testing.T, person uuid.UUID) []string {
	t.Helper()
	query, arg := "SELECT distinct_id FROM person_distinct_id WHERE person_id = ?", any(person[:])
	if d.postgres {
		query, arg = "SELECT distinct_id FROM person_distinct_id WHERE person_id = $1", person.String()
	}
	rows, err := d.raw.QueryContext(t.Context(), query, arg)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		list = append(list, id)
	}
	return list
}

// TestPurgedSurveys deletes a project.
func TestPurgedSurveys(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx, db := t.Context(), d.open(t)
		created, err := management.Bootstrap(ctx, db, management.First{})
		if err != nil {
			t.Fatal(err)
		}
		for _, project := range []int64{created.Project.ID, 2} {
			for i := range 200 {
				e := surveyEvent("survey sent", surveyA, fmt.Sprint("u", i), i, ``)
				e.Project = project
				write(t, db, e)
			}
			if _, err := db.ArchiveResponse(ctx, project, surveyA, uuid.New(), now); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.DeleteProject(ctx, created.Project.ID); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			if more, err = db.PurgeProjects(ctx, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		for table, n := range map[string]int{"survey_event": 200, "survey_chunk": 2, "survey_response_archive": 1} {
			if got := d.count(t, "SELECT count(*) FROM "+table); got != n {
				t.Errorf("%d rows of %s, want %d, those of the other project", got, table, n)
			}
		}
		d.checkSurveys(t)
	})
}

// TestForgottenArchive checks that archived responses of a deleted survey are
// forgotten.
func TestForgottenArchive(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx, db := t.Context(), d.open(t)
		for _, survey := range []uuid.UUID{surveyA, surveyB} {
			if changed, err := db.ArchiveResponse(ctx, 1, survey, uuid.New(), now); !changed || err != nil {
				t.Fatalf("ArchiveResponse = %v, %v; want true, nil", changed, err)
			}
		}
		if err := db.ForgetArchivedResponses(ctx, 1, surveyA); err != nil {
			t.Fatal(err)
		}
		for survey, n := range map[uuid.UUID]int{surveyA: 0, surveyB: 1} {
			if list, err := db.ArchivedResponses(ctx, 1, survey); len(list) != n || err != nil {
				t.Errorf("ArchivedResponses = %v, %v; want %d", list, err, n)
			}
		}
	})
}

// TestRespondents compares respondents with a map.
func TestRespondents(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	set, want := sqldb.NewRespondents(), make(map[uint64]uint64)
	note := func(who uint64) {
		has := uint64(1) << r.IntN(3)
		set.Note(who, has)
		want[who] |= has
	}
	for i := range uint64(5000) {
		note(r.Uint64() &^ 7)
		note((r.Uint64N(2000) + 1) << 3)             // hashes that begin alike
		note(^uint64(0) - 7 - (i%1000)<<3)           // hashes at the end of the table
		note((i%50)<<57 | (uint64(r.IntN(20))+1)<<3) // hashes that occur often
	}
	if diff := cmp.Diff(want, set.All()); diff != "" {
		t.Errorf("respondents (-want +got)\n%s", diff)
	}
}

// TestSurveyBacklog opens stores of a release without survey events.
func TestSurveyBacklog(t *testing.T) {
	skipUnderRace(t)
	onEach(t, func(t *testing.T, d *database) {
		db := d.open(t)
		r := rand.New(rand.NewPCG(1, 3))
		var batch []capture.Event
		for i := range 3000 {
			name := []string{"survey shown", "survey sent", "survey sent", "survey dismissed", "survey abandoned", "page", "$identify"}[r.IntN(7)]
			e := surveyEvent(name, []uuid.UUID{surveyA, surveyB}[r.IntN(2)], fmt.Sprint("u", r.IntN(400)), r.IntN(10_000), fmt.Sprintf(
				`"$anon_distinct_id":"u%d","$survey_submission_id":"%d","$survey_partially_completed":%v,"$survey_response_%d":"%d"`, r.IntN(400), r.IntN(900), r.IntN(2) == 0, r.IntN(3), i))
			e.Project, e.NoPerson = 1+int64(r.IntN(2)), r.IntN(5) == 0
			if batch = append(batch, e); len(batch) == 100 {
				write(t, db, batch...)
				batch = batch[:0]
			}
		}
		want := surveyAnswers(t, db)
		d.checkSurveys(t)

		d.migrate(t, 2)
		d.addPages(t, 2*sqldb.BacklogPart) // between the first survey events and the last ones
		d.migrate(t, 4)
		// Nothing of the second part can be stored, so the work is interrupted.
		d.exec(t, "CREATE UNIQUE INDEX poison ON survey_event (project_id) WHERE distinct_id = 'poison'")
		last := []capture.Event{surveyEvent("survey shown", uuid.New(), "poison", 0, ``), surveyEvent("survey shown", uuid.New(), "poison", 1, ``)}
		d.addEvents(t, last...)
		d.exec(t, "UPDATE survey_backlog SET last_id = (SELECT max(id) FROM event)")
		if again, err := d.openLogged(t.Context(), nil); err == nil {
			_ = again.Close()
			t.Fatal("the work was not interrupted")
		}
		if n := d.count(t, "SELECT done_id FROM survey_backlog"); n != 2*sqldb.BacklogPart {
			t.Errorf("%d events are done, want those of two parts, %d", n, 2*sqldb.BacklogPart)
		}
		d.exec(t, "DROP INDEX poison")

		var log bytes.Buffer
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 3 { // several processes at once
			wg.Go(func() {
				again, err := d.openLogged(t.Context(), slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
					mu.Lock()
					defer mu.Unlock()
					return log.Write(b)
				}), nil)))
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				if err := again.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
		}
		wg.Wait()
		again := d.open(t)
		if diff := cmp.Diff(want, surveyAnswers(t, again)); diff != "" {
			t.Errorf("after the upgrade (-want +got)\n%s", diff)
		}
		d.checkSurveys(t)
		if n := d.count(t, "SELECT count(*) FROM survey_event WHERE distinct_id = 'poison'"); n != 2 {
			t.Errorf("%d of the last events, want 2", n)
		}
		write(t, again, surveyEvent("survey shown", surveyA, "new", 0, ``))
		d.checkSurveys(t)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// openLogged opens a database as another process would.
func (d *database) openLogged(ctx context.Context, log *slog.Logger) (sqlstore.Storage, error) {
	if d.postgres {
		return postgres.Open(ctx, d.url, sqlstore.Options{Log: log})
	}
	return sqlite.Open(ctx, d.url, sqlstore.Options{Log: log})
}

// addPages stores events of other kinds, as an earlier release did.
func (d *database) addPages(t *testing.T, n int) {
	t.Helper()
	series := fmt.Sprintf("WITH RECURSIVE series(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < %d) ", n)
	const columns = "INSERT INTO event (project_id, uuid, hash, name, distinct_id, ts, received_at, properties) "
	if d.postgres {
		d.exec(t, columns+series+`SELECT 1, gen_random_uuid(), n, 'page', 'u', '2026-03-04T05:06:07Z', '2026-03-04T05:06:07Z', '{}' FROM series`)
		return
	}
	d.exec(t, series+columns+`SELECT 1, randomblob(16), n, 'page', 'u', 1772600767000890, 1772600767000890, '{}' FROM series`)
}

// addEvents stores only events, as an earlier release did.
func (d *database) addEvents(t *testing.T, events ...capture.Event) {
	t.Helper()
	for _, e := range events {
		id, at, marks := any(e.UUID[:]), any(e.Time.UnixMicro()), "?, ?, ?, ?, ?, ?, ?, ?"
		if d.postgres {
			id, at, marks = e.UUID.String(), e.Time, "$1, $2, $3, $4, $5, $6, $7, $8"
		}
		_, err := d.raw.ExecContext(t.Context(), "INSERT INTO event (project_id, uuid, hash, name, distinct_id, ts, received_at, properties) VALUES ("+marks+")",
			e.Project, id, 0, e.Name, e.DistinctID, at, at, string(e.Properties))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// surveyAnswers returns the answers of all queries about both surveys in two
// projects.
func surveyAnswers(t *testing.T, db *sqldb.DB) []any {
	t.Helper()
	var list []any
	for project := range int64(3) {
		for _, id := range []uuid.UUID{surveyA, surveyB} {
			q := survey.Query{Project: project, Surveys: []uuid.UUID{id}}
			counts, err := db.CountSurveyEvents(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, *counts)
			for r, err := range db.SurveyResponses(t.Context(), q) {
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, r)
			}
		}
	}
	return list
}

// TestSurveyQueriesUseIndexes checks the query plans of SQLite.
func TestSurveyQueriesUseIndexes(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, sqlstore.Options{})
	for second := range 2 { // of one submission
		write(t, db, surveyEvent("survey sent", surveyA, "u", -second, `"$survey_submission_id":"x"`))
	}
	for _, q := range []survey.Query{{}, {ExcludeArchived: true}, {From: new(now), To: new(now)}, {From: new(now), To: new(now), ExcludeArchived: true}} {
		q.Project, q.Surveys = 1, []uuid.UUID{surveyA, surveyB}
		if _, err := db.CountSurveyEvents(ctx, q); err != nil {
			t.Fatal(err)
		}
		if n, err := db.CountResponses(ctx, q); n[surveyA] != 1 || err != nil {
			t.Fatalf("CountResponses = %v, %v", n, err)
		}
		for _, err := range db.SurveyResponses(ctx, q) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, err := range db.SurveyAnswers(ctx, q) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := db.ArchivedResponses(ctx, 1, surveyA); err != nil {
		t.Fatal(err)
	}
	raw := openRaw(t, "sqlite", path)
	seen := 0
	for _, query := range db.Queries() {
		if !strings.Contains(query, "survey_") {
			continue
		}
		seen++
		for _, step := range plan(t, raw, query) {
			// Within a page of responses, only the events of each response are
			// sorted.
			sorted := strings.HasPrefix(step, "USE TEMP B-TREE FOR LAST") || strings.HasPrefix(step, "USE TEMP B-TREE FOR RIGHT")
			scanned := strings.HasPrefix(step, "SCAN") && step != "SCAN r" && !strings.HasPrefix(step, "SCAN json_each")
			if scanned || strings.HasPrefix(step, "USE TEMP B-TREE") && !sorted {
				t.Errorf("%s\n\t%s", query, step)
			}
		}
	}
	if seen < 8 {
		t.Errorf("%d queries, want all", seen)
	}
}

func plan(t *testing.T, raw *sql.DB, query string) []string {
	t.Helper()
	rows, err := raw.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var a, b, c int
		var step string
		if err := rows.Scan(&a, &b, &c, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	return steps
}

// TestLongQueryEnds: what surveys count over all their events ends when nobody waits for it
// any more.
func TestLongQueryEnds(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		db := d.open(t)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		const endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i % 7 + 1 FROM n) SELECT count(*) FROM n"
		if err := db.ReadLong(ctx, endless); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ReadLong = %v, want %v", err, context.DeadlineExceeded)
		}
		if err := db.ReadLong(t.Context(), "SELECT 1"); err != nil {
			t.Errorf("ReadLong after it = %v", err)
		}
	})
}
