package surveys_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// An explainer is a Tx that asks SQLite how it will answer each query.
type explainer struct {
	storage.Tx
	steps map[string][]string // by query
}

func (e explainer) Query(ctx context.Context, statement string, args []any, scan func(*sql.Rows) error) error {
	err := e.Tx.Query(ctx, "EXPLAIN QUERY PLAN "+statement, args, func(r *sql.Rows) error {
		var id, parent, unused int
		var step string
		err := r.Scan(&id, &parent, &unused, &step)
		e.steps[statement] = append(e.steps[statement], step)
		return err
	})
	if err != nil {
		return err
	}
	return e.Tx.Query(ctx, statement, args, scan)
}

// Events and responses are found by indexes, and come in the order of one.
func TestIndexes(t *testing.T) {
	w := newWorld(t)
	e := explainer{must(w.store.Storage.Extension("surveys"))(t), make(map[string][]string)}
	data := surveys.DataOver(e)
	for _, q := range []surveys.Query{{}, {ExcludeArchived: true}, {From: &begin, To: &begin}, {From: &begin, To: &begin, ExcludeArchived: true}} {
		q.Project, q.Surveys = 1, []uuid.UUID{uuid.New()}
		must(data.CountSurveyEvents(t.Context(), q))(t)
		must(data.CountResponses(t.Context(), q))(t)
		for _, err := range data.SurveyResponses(t.Context(), q) {
			w.ok(err)
		}
		for _, err := range data.SurveyAnswers(t.Context(), q) {
			w.ok(err)
		}
	}
	if len(e.steps) != 16 {
		t.Errorf("%d queries, want 16", len(e.steps))
	}
	for query, steps := range e.steps {
		for _, step := range steps {
			table, found := strings.CutPrefix(step, "SCAN ")
			sorted := strings.HasPrefix(step, "USE TEMP B-TREE") && step != "USE TEMP B-TREE FOR string_agg(ORDER BY)" && !strings.Contains(query, "respondents")
			if found && table != "e" && table != "respondents" || sorted {
				t.Errorf("%s\n\t%s", query, strings.Join(steps, "\n\t"))
			}
		}
	}
}
