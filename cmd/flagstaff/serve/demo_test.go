package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// demoCommand is a command that the demo prints, with the lines that belong to it.
var demoCommand = regexp.MustCompile(`(?m)^  curl .*(\n    .*)+`)

// TestDemoCommands runs the commands that the demo prints, as they stand.
func TestDemoCommands(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	stdout, stderr := newOutput(), newOutput()
	ctx, cancel := context.WithCancel(t.Context())
	m := Main{Args: []string{"-demo", "-addr", "127.0.0.1:0"}, Stdout: stdout, Stderr: stderr}
	code := make(chan int, 1)
	go func() { code <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-code
	})
	stdout.await(t, `(?s)preview/.*\n\n$`)
	for _, key := range []string{"project API key     phc_demo", "project secret key  phs_demo", "personal API key    phx_demo"} {
		if !strings.Contains(stdout.String(), key) {
			t.Errorf("%q is not printed:\n%s", key, stdout)
		}
	}
	if lines := strings.Count(stderr.String(), "\n"); lines != 2 {
		t.Errorf("there is more to read than where the server and its console are:\n%s", stderr)
	}
	tryConsole(t, true, stderr.await(t, `console  (http://\S+/console)/join/(\S+)`))
	var answers []string
	for _, command := range demoCommand.FindAllString(stdout.String(), -1) {
		answer, err := exec.CommandContext(t.Context(), "sh", "-c", command).Output()
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		answers = append(answers, string(answer))
	}
	if len(answers) != 3 {
		t.Fatalf("%d commands, want 3:\n%s", len(answers), stdout)
	}
	var flags struct {
		Flags map[string]struct{ Variant string }
	}
	if err := json.Unmarshal([]byte(answers[0]), &flags); err != nil || flags.Flags["checkout-button"].Variant != "blue" {
		t.Errorf("the flags of a person: %s", answers[0])
	}
	if !strings.HasPrefix(answers[1], "checkout-button = \"blue\" (Matched condition set 1)\n") || !strings.Contains(answers[1], "user-001@example.com") {
		t.Errorf("the explanation: %s", answers[1])
	}
	var preview struct {
		Subjects, Changed int
		Transitions       []struct{ From, To any }
	}
	if err := json.Unmarshal([]byte(answers[2]), &preview); err != nil || preview.Subjects != demoPersons || preview.Changed == 0 || len(preview.Transitions) != 1 {
		t.Errorf("the preview: %s", answers[2])
	}

	// What else has something to show.
	url := stderr.await(t, `listening on (http://\S+)`)[1]
	project := url + "/api/projects/@current"
	radius := post(t, project+"/feature_flags/user_blast_radius/",
		`{"condition":{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}}`, "Authorization", "Bearer phx_demo")
	if pro := radius["users_affected"].(float64); radius["total_users"] != float64(demoPersons) || pro < 20 || pro > 60 {
		t.Errorf("blast radius: %v", radius)
	}
	companies := post(t, project+"/feature_flags/user_blast_radius/",
		`{"group_type_index":0,"condition":{"properties":[{"key":"seats","type":"group","group_type_index":0,"operator":"gte","value":50}]}}`, "Authorization", "Bearer phx_demo")
	if companies["total_users"] != float64(demoCompanies) || companies["users_affected"] != float64(16) {
		t.Errorf("blast radius for companies: %v", companies)
	}
	stats, err := exec.CommandContext(t.Context(), "curl", "-s", project+"/surveys/stats/", "-H", "Authorization: Bearer phx_demo").Output()
	if err != nil || !bytes.Contains(stats, []byte(`"survey sent":{"total_count":`)) {
		t.Errorf("statistics of surveys: %s, %v", stats, err)
	}
}

// A demoSink keeps the events of the demo.
type demoSink struct {
	mu     sync.Mutex
	events []capture.Event
}

func (s *demoSink) Write(_ context.Context, events []capture.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		e.Properties = bytes.Clone(e.Properties) // the client uses its memory again
		e.UUID, e.Received = uuid.UUID{}, time.Time{}
		s.events = append(s.events, e)
	}
	return nil
}

// TestDemoEvents: the demo is the same at each start, and lies in the past.
func TestDemoEvents(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	write := func() []capture.Event {
		s := new(demoSink)
		if err := addDemoEvents(t.Context(), s, 1, &surveys.View{Name: "A survey"}, now); err != nil {
			t.Fatal(err)
		}
		return s.events
	}
	events := write()
	if diff := gocmp.Diff(events, write()); diff != "" {
		t.Errorf("a second demo differs (-first +second):\n%s", diff)
	}
	count := make(map[string]int)
	for _, e := range events {
		count[e.Name]++
		if e.Time.After(now) || e.Time.Before(now.AddDate(0, 0, -demoDays)) {
			t.Errorf("%s of %s at %v", e.Name, e.DistinctID, e.Time)
		}
	}
	for name, want := range map[string]int{"signed up": demoPersons, "$feature_flag_called": 3 * demoPersons, "$groupidentify": demoCompanies} {
		if count[name] != want {
			t.Errorf("%d events %q, want %d", count[name], name, want)
		}
	}
	for _, name := range []string{"page viewed", "order paid", "survey shown", "survey sent", "survey dismissed"} {
		if count[name] < 10 {
			t.Errorf("%d events %q, want some", count[name], name)
		}
	}
	if !slices.ContainsFunc(events, func(e capture.Event) bool {
		return bytes.Contains(e.Properties, []byte(`$survey_response_`+demoRemark))
	}) {
		t.Error("nobody says what to do better")
	}
}

// tryConsole opens the link that the demo prints, and signs in with it.
func tryConsole(t *testing.T, demo bool, link []string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ask := func(method, url, accept string, cookies []*http.Cookie, headers ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		for i := 0; i < len(headers); i += 2 {
			if headers[i+1] != "" {
				r.Header.Set(headers[i], headers[i+1])
			}
		}
		for _, c := range cookies {
			r.AddCookie(c)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	base, join := link[1], link[1]+"/join/"+link[2]
	a := ask("GET", join, "text/html", nil)
	if !demo {
		if a.StatusCode != http.StatusOK || len(a.Cookies()) != 0 {
			t.Errorf("the link: %s, cookies %v", a.Status, a.Cookies())
		}
		a = ask("POST", join, "text/html", nil)
	}
	if a.StatusCode != http.StatusSeeOther || len(a.Cookies()) != 1 {
		t.Fatalf("the link, or its button: %s, cookies %v", a.Status, a.Cookies())
	}
	if a := ask("GET", base+"/projects/1/flags", "text/html", a.Cookies()); a.StatusCode != http.StatusOK {
		t.Errorf("the flags: %s", a.Status)
	}
	parts := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[demo]
	if a := ask("GET", base+"/parts", "text/html", a.Cookies()); a.StatusCode != parts {
		t.Errorf("the page of the parts: %s, want %d", a.Status, parts)
	}
	root := strings.TrimSuffix(base, "console")
	if a := ask("GET", root, "text/html,*/*", nil); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/console/" {
		t.Errorf("a browser at /: %s, Location %q", a.Status, a.Header.Get("Location"))
	}
	// The session opens the management API, for pages of the same origin.
	for _, tt := range []struct {
		site, origin string
		cookie       string
		want         int
	}{
		{"same-origin", "", a.Cookies()[0].Value, http.StatusOK},
		{"", "", a.Cookies()[0].Value, http.StatusOK},
		{"cross-site", "https://evil.example", a.Cookies()[0].Value, http.StatusUnauthorized},
		{"same-site", "http://127.0.0.1:1", a.Cookies()[0].Value, http.StatusUnauthorized},
		{"", "https://evil.example", a.Cookies()[0].Value, http.StatusUnauthorized},
		{"same-origin", "", "chosen-by-somebody-else-chosen-by-somebody-else", http.StatusUnauthorized},
	} {
		got := ask("GET", root+"api/users/@me/", "*/*", []*http.Cookie{{Name: a.Cookies()[0].Name, Value: tt.cookie}}, "Sec-Fetch-Site", tt.site, "Origin", tt.origin)
		if got.StatusCode != tt.want || got.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("the API with a session from %q, %q: %s, %v", tt.site, tt.origin, got.Status, got.Header)
		}
	}
	if out := ask("POST", base+"/signout", "text/html", a.Cookies()); out.StatusCode != http.StatusSeeOther {
		t.Errorf("signing out: %s", out.Status)
	}
	if got := ask("GET", root+"api/users/@me/", "*/*", a.Cookies()); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("the API with a session that has ended: %s", got.Status)
	}
	if got := ask("GET", root+"signup/x", "text/html", nil); got.Header.Get("Location") != "/console/join/x" {
		t.Errorf("the link of an invitation leads to %q", got.Header.Get("Location"))
	}
	if a := ask("GET", root, "*/*", nil); a.StatusCode == http.StatusSeeOther {
		t.Errorf("a program at /: %s, want what the server has always answered", a.Status)
	}
}
