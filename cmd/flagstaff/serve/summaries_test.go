package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSummaryService: answers are sent to the service of -summary-url once an organization has
// approved it, and the key of the service is in no log and no answer, also if the service fails.
func TestSummaryService(t *testing.T) {
	t.Parallel()
	const key = "the-key-of-the-service"
	fails := false
	var asked []*http.Request
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r)
		if fails {
			http.Error(w, "no "+r.Header.Get("Authorization"), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"- Docs are missed"}}]}`)
	}))
	t.Cleanup(service.Close)
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := emptyStore(t, filepath.Join(t.TempDir(), "summaries.db"))
	d.watch.keep(key, "the key of the service", "", 0)
	s := d.run(t, "-summary-url", service.URL+"/v1/", "-summary-key-file", file, "-summary-model", "small-1", "-summary-timeout", "5s")
	p := &surveyProject{s: s, me: s.with(regexp.MustCompile(`phx_\w+`).FindString(s.stdout.String())), id: 1}
	p.token = p.me.call(t, "GET /api/projects/1/", "").ok(t)["api_token"].(string)
	id := p.create(t, "Docs")
	p.send(t, p.event("survey sent", id, "ada", "10:00:00", "$survey_response_"+openID, "better docs, please"))
	path := "POST surveys/" + id + "/summarize_responses/?question_id=" + openID
	fetched := strings.Replace(path, "surveys", "/api/projects/1/surveys", 1)
	p.call(t, path, "").fails(t, 403, "permission_denied", "")
	p.me.call(t, "PATCH /api/organizations/@current/", `{"is_ai_data_processing_approved":true}`).ok(t)
	got := p.me.fetch(t, fetched, "").ok(t)
	if !strings.Contains(got["content"].(string), "- Docs are missed") || got["written_by"] != strings.TrimPrefix(service.URL, "http://") {
		t.Errorf("summary %v", got)
	}
	fails = true
	got = p.me.fetch(t, fetched, `{"force_refresh":true}`).ok(t)
	if !strings.Contains(got["content"].(string), "better docs, please") || got["written_by"] != nil || got["problem"] == nil {
		t.Errorf("summary when the service fails: %v", got)
	}
	if len(asked) != 2 || asked[0].URL.Path != "/v1/chat/completions" || asked[0].Header.Get("Authorization") != "Bearer "+key {
		t.Errorf("%d requests to the service, want 2 with the key: %+v", len(asked), asked)
	}
	s.stop()
	if log := s.stderr.String(); !strings.Contains(log, "the summarizer failed, and answers were counted instead") || !strings.Contains(log, "answered 500") {
		t.Errorf("the log does not say that the service has failed:\n%s", log)
	}
}
