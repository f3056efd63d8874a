package storebench

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/surveys"
)

var (
	surveyID    = uuid.MustParse("019c0a11-2f30-7000-8c4e-1a2b3c4d5e6f")
	surveyStart = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
)

// answerSurvey stores a million events about a survey within thirty days.
// 600,000 distinct IDs are shown the survey, and a third of them dismiss it.
// 200,000 events are responses from 166,667 submissions, every fifth of which
// is sent twice. One in a hundred responses is archived.
func answerSurvey(b *testing.B, db sqlstore.Storage) {
	b.Helper()
	people := 600_000
	if testing.Short() {
		people = 6000
	}
	step := 30 * 24 * time.Hour / time.Duration(people)
	var batch []capture.Event
	add := func(i int, after time.Duration, name, properties string) uuid.UUID {
		at := surveyStart.Add(time.Duration(i)*step + after).Truncate(time.Microsecond)
		batch = append(batch, capture.Event{
			Project: 1, UUID: capture.NewUUID(at), Name: name, DistinctID: fmt.Sprintf("user-%07d", i), Time: at, Received: at,
			Properties: fmt.Appendf(nil, `{"$survey_id":"%s"%s}`, surveyID, properties), NoPerson: true,
		})
		return batch[len(batch)-1].UUID
	}
	for i := range people {
		add(i, 0, "survey shown", "")
		if i%3 == 0 {
			add(i, time.Second, "survey dismissed", "")
		}
		if kind := i % 18; kind < 15 && kind%3 == 1 {
			answers := fmt.Sprintf(`,"$survey_submission_id":"submission-%d","$survey_response_1":"%d"`, i, i%11)
			if kind == 1 {
				add(i, time.Second, "survey sent", answers+`,"$survey_completed":false`)
			}
			id := add(i, 2*time.Second, "survey sent", answers+`,"$survey_completed":true,"$survey_response_2":"I like it"`)
			if i%360 == 4 {
				if _, err := dataIn(b, db).ArchiveResponse(b.Context(), 1, surveyID, id, surveyStart); err != nil {
					b.Fatal(err)
				}
			}
		}
		if len(batch) >= 1000 || i == people-1 {
			if err := db.Write(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
}

func dataIn(b *testing.B, db sqlstore.Storage) *surveys.Data {
	b.Helper()
	data, err := surveys.DataIn(db)
	if err != nil {
		b.Fatal(err)
	}
	return data
}

// BenchmarkM1 measures row M1 of docs/performance.md: the statistics of a survey
// with a million events for all days, for ten of thirty days, and without
// archived responses; and the number of responses in twenty days. The floor
// counts the rows that the same filter selects, with an index for the filter.
func BenchmarkM1(b *testing.B) {
	b.Run("SQLite", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "bench.db")
		db, err := sqlite.Open(b.Context(), path, sqlstore.Options{Extensions: []sqlstore.Extension{surveys.Extension()}})
		if err != nil {
			b.Fatal(err)
		}
		raw, err := sql.Open("sqlite", "file:"+path+"?_pragma=cache_size(-16384)")
		if err != nil {
			b.Fatal(err)
		}
		countSurvey(b, db, raw, "ANALYZE survey_event", func(t time.Time) any { return t.UnixMicro() })
	})
	b.Run("PostgreSQL", func(b *testing.B) {
		dsn := postgrestest.Open(b)
		db, err := postgres.Open(b.Context(), dsn, sqlstore.Options{Extensions: []sqlstore.Extension{surveys.Extension()}})
		if err != nil {
			b.Fatal(err)
		}
		raw, err := sql.Open("pgx", dsn)
		if err != nil {
			b.Fatal(err)
		}
		countSurvey(b, db, raw, "VACUUM ANALYZE survey_event", func(t time.Time) any { return t })
	})
}

func countSurvey(b *testing.B, db sqlstore.Storage, raw *sql.DB, analyze string, param func(time.Time) any) {
	b.Cleanup(func() {
		if err := raw.Close(); err != nil {
			b.Error(err)
		}
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	answerSurvey(b, db)
	data := dataIn(b, db)
	for _, statement := range []string{"CREATE INDEX floor ON survey_event (project_id, survey_id, ts)", analyze} {
		if _, err := raw.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	day := func(n int) *time.Time { return new(surveyStart.AddDate(0, 0, n)) }
	all := surveys.Query{Project: 1, Surveys: []uuid.UUID{surveyID}}
	window, rest, most := all, all, all
	window.From, window.To = day(10), day(20)
	rest.ExcludeArchived = true
	most.From, most.To = day(5), day(25)
	const count = "SELECT count(*) FROM survey_event e WHERE project_id = 1 AND survey_id = $1"
	between := []any{surveyID, param(*window.From), param(*window.To)}
	for _, c := range []struct {
		name  string
		q     surveys.Query
		floor string
		args  []any
	}{
		{"all", all, count, []any{surveyID}},
		{"window", window, count + " AND ts BETWEEN $2 AND $3", between},
		{"not archived", rest, count + ` AND NOT EXISTS (SELECT 1 FROM survey_response_archive a
			WHERE a.project_id = 1 AND a.survey_id = e.survey_id AND a.response_uuid = e.uuid)`, []any{surveyID}},
		{"responses", most, count + " AND ts BETWEEN $2 AND $3 AND counts_as = 3", []any{surveyID, param(*most.From), param(*most.To)}},
	} {
		b.Run(c.name+"/floor", func(b *testing.B) {
			floor, err := raw.PrepareContext(b.Context(), c.floor)
			if err != nil {
				b.Fatal(err)
			}
			defer floor.Close()
			b.ReportAllocs()
			for b.Loop() {
				var n int
				if err := floor.QueryRowContext(b.Context(), c.args...).Scan(&n); err != nil || n == 0 {
					b.Fatal(n, err)
				}
			}
		})
		b.Run(c.name+"/flagstaff", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var n int
				if c.name == "responses" {
					counts, err := data.CountResponses(b.Context(), c.q)
					if err != nil {
						b.Fatal(err)
					}
					n = counts[surveyID]
				} else {
					counts, err := data.CountSurveyEvents(b.Context(), c.q)
					if err != nil {
						b.Fatal(err)
					}
					n = counts.Shown.Persons
				}
				if n == 0 {
					b.Fatal("nothing is counted")
				}
			}
		})
	}
}
