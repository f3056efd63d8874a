package storetest_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
	"github.com/flagstaff-go/flagstaff/surveys/internal/reference"
)

func (d *database) raw(t *testing.T) *sql.DB {
	t.Helper()
	driver := "sqlite"
	if d.postgres {
		driver = "pgx"
	}
	raw, err := sql.Open(driver, d.url)
	must(t, err)
	t.Cleanup(func() { must(t, raw.Close()) })
	return raw
}

// TestBacklog: what was stored while the store kept no surveys counts when it does.
func TestBacklog(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		id := numbered(1)
		q := surveys.Query{Project: 1, Surveys: []uuid.UUID{id}}
		without := d.open(t)
		var events []capture.Event
		for i := range 2500 {
			name := []string{"survey shown", "survey sent", "survey sent", "survey dismissed", "survey abandoned", "page", "$identify"}[i%7]
			events = append(events, without.surveyEvent(id, surveyStep{name, fmt.Sprint("u", i%40), i % 1000, fmt.Sprintf(
				`"$anon_distinct_id":"u%d","$survey_submission_id":"%d","$survey_partially_completed":%v,"$survey_response_%d":"%d"`,
				i*7%40, i%900, i%2 == 0, i%3, i), 0}))
		}
		without.write(t, events...)
		oracle := new(reference.Surveys)
		oracle.Write(events)
		for range 2 { // and only once
			wantSame(t, "what is stored", d.open(t, surveys.Extension()), oracle, q)
		}
	})
}

// tables returns the tables of surveys in a store.
func (d *database) tables(t *testing.T) (names []string) {
	t.Helper()
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'survey%' ORDER BY name"
	if d.postgres {
		query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'survey%' ORDER BY tablename"
	}
	rows, err := d.raw(t).QueryContext(t.Context(), query)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		names = append(names, name)
	}
	must(t, rows.Err())
	return names
}

// TestTables: a store has the tables of surveys once it is opened with them.
func TestTables(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		must(t, d.open(t).Close())
		if got := d.tables(t); len(got) > 0 {
			t.Errorf("a store without surveys has the tables %q", got)
		}
		must(t, d.open(t, surveys.Extension()).Close())
		want := []string{"survey", "survey_backlog", "survey_event", "survey_response_archive", "surveys_db_version"}
		if got := d.tables(t); !slices.Equal(got, want) {
			t.Errorf("a store with surveys has the tables %q, want %q", got, want)
		}
	})
}

// TestOldStore opens a store that a version has written whose own migrations made the tables of
// surveys, with chunks of the events that count.
func TestOldStore(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx, id := t.Context(), numbered(1)
		q := surveys.Query{Project: 1, Surveys: []uuid.UUID{id}}
		s := d.open(t, surveys.Extension())
		p := s.project(t, s.organization(t, "acme"))
		kept := s.newSurvey(t, p.ID)
		var events []capture.Event
		for i := range 30 {
			events = append(events, s.surveyEvent(id, surveyStep{"survey sent", "u", i, fmt.Sprintf(`"$survey_submission_id":"%d","$survey_response":"%d"`, i%20, i), byte(i + 1)}))
		}
		s.write(t, events...)
		want(t, "ArchiveResponse", true)(s.ArchiveResponse(ctx, p.ID, id, numbered(30), s.now))
		before := mustList(s.Surveys(ctx, p.ID))
		must(t, s.Close())

		// As it was: without the migrations that are newer.
		raw := d.raw(t)
		blob := "blob"
		if d.postgres {
			blob = "bytea"
		}
		for _, statement := range []string{
			"DROP TABLE surveys_db_version", "DROP INDEX survey_event_counted", "DROP INDEX survey_event_uncounted",
			"DELETE FROM goose_db_version WHERE version_id >= 23", "ALTER TABLE feature_flag DROP COLUMN comment",
			"ALTER TABLE feature_flag_version DROP COLUMN comment", "ALTER TABLE project DROP COLUMN posthog_rules_only", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (4, true)",
			"ALTER TABLE survey_event ADD COLUMN chunk_id bigint",
			"CREATE TABLE survey_chunk (id bigint PRIMARY KEY, project_id bigint NOT NULL, survey_id text NOT NULL, first_at bigint NOT NULL, " +
				"last_at bigint NOT NULL, responses bigint NOT NULL, entries " + blob + " NOT NULL)",
			"INSERT INTO survey_chunk VALUES (1, 1, 'x', 1, 1, 30, '')", "UPDATE survey_event SET chunk_id = 1",
		} {
			if _, err := raw.ExecContext(ctx, statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}

		again := d.open(t, surveys.Extension())
		oracle := new(reference.Surveys)
		oracle.Write(events)
		oracle.Archive(1, id, numbered(30))
		q.ExcludeArchived = true
		wantSame(t, "what is stored", again, oracle, q)
		after := mustList(again.Surveys(ctx, p.ID))
		if diff := cmp.Diff(before, after); diff != "" || len(after) != 1 || after[0].ID != kept {
			t.Errorf("Surveys (-before +after)\n%s", diff)
		}
		if got := d.tables(t); slices.Contains(got, "survey_chunk") {
			t.Errorf("there are the tables %q", got)
		}
		more := again.surveyEvent(id, surveyStep{"survey sent", "v", 40, `"$survey_response":"x"`, 40})
		again.write(t, more) // beside those with a column that is not used any more
		oracle.Write([]capture.Event{more})
		wantSame(t, "what is stored after the upgrade", again, oracle, q)
	})
}

func mustList[T any](list []T, err error) []T {
	if err != nil {
		panic(err)
	}
	return list
}

// TestExpiredEvents: what old events have said goes with them.
func TestExpiredEvents(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		s := d.open(t, surveys.Extension())
		id, old := numbered(1), -9*24*3600
		q := surveys.Query{Project: 1, Surveys: []uuid.UUID{id}}
		for _, step := range []surveyStep{
			{"survey shown", "u0", old, "", 1},
			{"survey sent", "u1", old, `"$survey_submission_id":"a","$survey_response_q":"x"`, 2},
			{"survey sent", "u1", 0, `"$survey_submission_id":"b","$survey_response_q":"y"`, 3},
			{"survey sent", "u2", old, `"$survey_submission_id":"c","$survey_response_q":"old"`, 4},
			{"survey dismissed", "u2", 1, `"$survey_submission_id":"c","$survey_partially_completed":true,"$survey_response_r":"new"`, 5},
		} {
			s.write(t, s.surveyEvent(id, step))
		}
		wantTally(t, "before", s, q, `shown 1 by 1, dismissed 0 by 0, sent 3 by 2, both 0; 3 by u1 {"q":"y"}; 4 by u2 {"q":"old","r":"new"}; 2 by u1 {"q":"x"}`)
		for more := true; more; {
			var err error
			_, more, err = s.ExpireEvents(t.Context(), storage.EventExpiry{Before: s.now.Add(-5 * 24 * time.Hour)})
			must(t, err)
		}
		wantTally(t, "after", s, q, `shown 0 by 0, dismissed 0 by 0, sent 2 by 2, both 0; 5 by u2 {"r":"new"}; 3 by u1 {"q":"y"}`)
	})
}
