package surveys_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// manyResponses are the events of a survey that was answered often, until they fail.
type manyResponses struct {
	surveys.EventStore
	n   int
	err error
}

func (m *manyResponses) SurveyResponses(context.Context, surveys.Query) iter.Seq2[surveys.Response, error] {
	return func(yield func(surveys.Response, error) bool) {
		for range m.n {
			if !yield(surveys.Response{ID: uuid.New(), DistinctID: "user", Time: begin}, nil) {
				return
			}
		}
		if m.err != nil {
			yield(surveys.Response{}, m.err)
		}
	}
}

// TestResponsesAsCSV: a table that cannot be finished is cut off, so that no client
// takes it for whole; an error before its first byte is answered as usual.
func TestResponsesAsCSV(t *testing.T) {
	data := new(manyResponses)
	w := newWorld(t, func(c *config) {
		c.events = func(e surveys.EventStore) surveys.EventStore { data.EventStore = e; return data }
	})
	value := storage.NewPersonalKey()
	w.ok(w.store.Keys().Create(t.Context(), &storage.PersonalKey{ID: "key", User: w.ada.ID, Hash: storage.HashKey(value), Scopes: []string{"*"}, Created: begin}))
	id := w.survey(`{}`).ID
	handler := must(server.New(server.Config{
		Projects: new(server.Registry), Management: server.ManagementConfig{Service: w.management, Routes: w.Routes()},
	}))(t)
	srv := httptest.NewServer(handler)
	defer srv.Close()
	fetch := func(query string) (*http.Response, string, error) {
		t.Helper()
		r := must(http.NewRequestWithContext(t.Context(), "GET", srv.URL+"/api/projects/"+refOf(w.web)+"/surveys/"+id.String()+"/responses"+query, nil))(t)
		r.Header.Set("Authorization", "Bearer "+value)
		resp := must(srv.Client().Do(r))(t)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp, string(body), err
	}
	for n, rows := range []int{1, 1001} {
		data.n = n * 1000
		resp, body, err := fetch("?format=csv")
		h := resp.Header
		if err != nil || resp.StatusCode != 200 || strings.Count(body, "\n") != rows || h.Get("Content-Type") != "text/csv; charset=utf-8" ||
			h.Get("Content-Disposition") != `attachment; filename="responses.csv"` || h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%d %v, %d lines, %v", resp.StatusCode, err, strings.Count(body, "\n"), h)
		}
	}
	data.err = errors.New("disk full")
	if resp, body, err := fetch("?format=csv"); err == nil || resp.StatusCode != 200 {
		t.Errorf("cut off: %d %v, %d bytes", resp.StatusCode, err, len(body))
	}
	data.n = 0
	if resp, body, err := fetch("?format=csv"); err != nil || resp.StatusCode != 500 || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Content-Disposition") != "" {
		t.Errorf("before it has begun: %d %v %s %v", resp.StatusCode, err, body, resp.Header)
	}
	data.err = nil
	if resp, body, err := fetch("?format=xml"); err != nil || resp.StatusCode != 400 || !strings.Contains(body, `"attr":"format"`) {
		t.Errorf("unknown format: %d %v %s", resp.StatusCode, err, body)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if !strings.Contains(recorder.Body.String(), `{route="/api/projects/{project}/surveys/{id}/responses",status="200"} 3`) {
		t.Error("not counted")
	}
}
