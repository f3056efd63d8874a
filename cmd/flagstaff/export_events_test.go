package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/cmd/internal/tool"
)

// TestExportEvents exports what a server has captured.
func TestExportEvents(t *testing.T) {
	t.Parallel()
	server := serveProcess(t, "-store", filepath.Join(t.TempDir(), "a.db"), "-drain", "0s")
	s := server.session(t)
	var project struct {
		APIToken string `json:"api_token"`
	}
	server.ask(t, "GET", "/api/projects/@current/", "", &project)
	server.ask(t, "POST", "/batch/", `{"api_key":"`+project.APIToken+`","batch":[
		{"event":"page","distinct_id":"u","timestamp":"2026-02-03T00:00:00Z","uuid":"0190c8a0-0000-7000-8000-0000000000e1","properties":{"$ip":"10.0.0.1"}},
		{"event":"$feature_flag_called","distinct_id":"u","timestamp":"2026-02-04T00:00:00Z","uuid":"0190c8a0-0000-7000-8000-0000000000e2","properties":{"$feature_flag":"beta","$feature_flag_response":"a","$process_person_profile":false}},
		{"event":"page","distinct_id":"v","timestamp":"2026-02-05T00:00:00Z","uuid":"0190c8a0-0000-7000-8000-0000000000e3"}]}`, nil)
	file := filepath.Join(t.TempDir(), "events")
	for _, tt := range []struct {
		args []string
		want []string // beginnings of the lines
	}{
		{[]string{"-from", "2026-02-03", "-to", "2026-02-05"}, []string{`{"id":"0190c8a0-0000-7000-8000-0000000000e1"`, `{"id":"0190c8a0-0000-7000-8000-0000000000e2"`}},
		{[]string{"-event", "page", "-person", "v", "-distinct-id", "v", "-format", "csv"}, []string{"uuid,event,", "0190c8a0-0000-7000-8000-0000000000e3,page,v,2026-02-05T00:00:00Z,"}},
		{[]string{"-exposures", "-format", "csv"}, []string{"uuid,timestamp,distinct_id,person_id,groups,flag,variant", "0190c8a0-0000-7000-8000-0000000000e2,2026-02-04T00:00:00Z,u,"}},
		{[]string{"-event", "nothing"}, nil},
	} {
		lines := func(text string) (list []string) {
			for line := range strings.Lines(text) {
				list = append(list, line[:min(len(line)-1, len(tt.want[min(len(list), len(tt.want)-1)]))])
			}
			return list
		}
		if diff := gocmp.Diff(tt.want, lines(s.do(append([]string{"export", "events"}, tt.args...)...))); diff != "" {
			t.Errorf("%q (-want +got)\n%s", tt.args, diff)
		}
		n := len(tt.want)
		if strings.Contains(strings.Join(tt.args, " "), "csv") {
			n--
		}
		s.prints(fmt.Sprintf("wrote %s to %s\n", tool.Count(n, "event"), file), append([]string{"export", "events", "-o", file}, tt.args...)...)
		if content, err := os.ReadFile(file); err != nil || gocmp.Diff(tt.want, lines(string(content))) != "" {
			t.Errorf("%q writes %q, %v", tt.args, content, err)
		}
	}
	got := call{args: []string{"export", "events", "-event", strings.Repeat("x", 201)}, env: s.env}.run(t)
	if got.Code != 1 || !strings.Contains(got.Stderr, "event: Ensure this field has no more than 200 characters.") {
		t.Errorf("a long name: %+v", got)
	}
}

// TestExportEventsBreaksOff: an export that ends early fails, and leaves the file as it
// was.
func TestExportEventsBreaksOff(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(http.Header)
		want string
	}{
		"broken":          {func(http.Header) { panic(http.ErrAbortHandler) }, "the export is not complete: the answer of HOST breaks off: unexpected EOF"},
		"without trailer": {func(http.Header) {}, "the export is not complete: the answer of HOST ends without saying that it is complete: is there a proxy that leaves trailers out, or a server that is not a Flagstaff server?"},
		"no number":       {func(h http.Header) { h.Set("X-Event-Count", "many") }, `the export is not complete: the server says that it has "many" events`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Trailer", "X-Event-Count")
				fmt.Fprintln(w, "{}")
				_ = http.NewResponseController(w).Flush()
				tt.end(w.Header())
			}))
			defer server.Close()
			dir := t.TempDir()
			file := filepath.Join(dir, "events")
			if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			env := []string{"FLAGSTAFF_URL=" + server.URL, "FLAGSTAFF_KEY=phx_s3cret"}
			for _, to := range []string{file, "-"} {
				got := call{args: []string{"export", "events", "-o", to}, env: env}.run(t)
				got.Stderr = strings.ReplaceAll(got.Stderr, strings.TrimPrefix(server.URL, "http://"), "HOST")
				out := ""
				if to == "-" {
					out = "{}\n"
				}
				got.want(t, outcome{1, out, "flagstaff export events: " + tt.want + "\n"})
			}
			content, err := os.ReadFile(file)
			left, _ := os.ReadDir(dir)
			if string(content) != "before" || err != nil || len(left) != 1 {
				t.Errorf("the file has %q, %v, beside %v", content, err, left)
			}
		})
	}
}
