package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
)

// A change through one server is seen by itself before it is answered, and by
// others on the same PostgreSQL database within a second.
const (
	atOnce   = 0
	soon     = time.Second
	patience = 20 * time.Second // for changes without a promise
)

// A watcher looks at one server for changes that are made through another one, or
// through the same.
type watcher struct {
	account *account
	writer  *site
	reader  *site
	bound   time.Duration
	again   bool // try again after 503
	took    []time.Duration
}

// see reads until the reader answers what the writer has changed. It must do so if
// it is asked later than the bound after the writer has answered. The time that an
// answer takes does not count, because the machine may be busy.
func (w *watcher) see(t *testing.T, what, want string, read func(context.Context, *site) (string, error)) {
	t.Helper()
	for changed, late := time.Now(), false; ; {
		asked := time.Since(changed)
		got, err := read(t.Context(), w.reader)
		switch {
		case err != nil:
			t.Fatalf("%s: %v", what, err)
		case got == want:
			w.took = append(w.took, time.Since(changed))
			return
		case asked > patience:
			t.Fatalf("%s: %v after the change the answer is %s, want %s", what, asked, got, want)
		case asked >= w.bound && !late:
			late = true
			t.Errorf("%s: %v after the change the answer is still %s, want %s", what, asked, got, want)
		}
		time.Sleep(time.Millisecond) // of a poll; nothing depends on its length
	}
}

// report tells how long the reader took.
func (w *watcher) report(t *testing.T) {
	t.Helper()
	slices.Sort(w.took)
	t.Logf("%d changes were seen after %v, the median, and %v at most", len(w.took), w.took[len(w.took)/2], w.took[len(w.took)-1])
}

// call changes something, as the owner of the account.
func (w *watcher) call(t *testing.T, call, body string) map[string]any {
	t.Helper()
	method, path, _ := strings.Cut(call, " ")
	send := func() *answer {
		return w.writer.as(w.account).call(t, fmt.Sprintf("%s /api/projects/%d%s", method, w.account.project.ID, path), body)
	}
	r := send()
	for start := time.Now(); w.again && r.status == http.StatusServiceUnavailable && time.Since(start) < patience; r = send() {
	}
	if r.status == http.StatusNoContent {
		return nil
	}
	return r.ok(t)
}

// flag reads the value of a flag of the account's project for a person with
// properties: true, false, a variant, or absent; or the status of an error.
func (w *watcher) flag(key string, properties any) func(context.Context, *site) (string, error) {
	return func(ctx context.Context, s *site) (string, error) {
		body := members("api_key", w.account.project.APIToken, "distinct_id", "u", "person_properties", properties)
		r, err := s.stranger().send(ctx, "POST /flags?v=2", body)
		if err != nil || r.status != http.StatusOK {
			return statusOf(r), err
		}
		var answer struct {
			Flags map[string]struct {
				Enabled bool
				Variant *string
			}
		}
		if err := json.Unmarshal([]byte(r.body), &answer); err != nil {
			return "", err
		}
		switch f, ok := answer.Flags[key]; {
		case !ok:
			return "absent", nil
		case f.Variant != nil:
			return *f.Variant, nil
		default:
			return fmt.Sprint(f.Enabled), nil
		}
	}
}

func statusOf(r *answer) string {
	if r == nil {
		return ""
	}
	return fmt.Sprint("status ", r.status)
}

// contains reads whether an answer contains a text.
func contains(call, text string) func(context.Context, *site) (string, error) {
	return func(ctx context.Context, s *site) (string, error) {
		r, err := s.stranger().send(ctx, call, "")
		if err != nil || r.status != http.StatusOK {
			return statusOf(r), err
		}
		return fmt.Sprint(strings.Contains(r.body, text)), nil
	}
}

// variant are filters that give everybody one variant.
func variant(name string) map[string]any {
	return map[string]any{
		"groups":       []any{map[string]any{"rollout_percentage": 100}},
		"multivariate": map[string]any{"variants": []any{map[string]any{"key": name, "rollout_percentage": 100}}},
	}
}

// where are filters for persons with properties.
func where(properties ...any) map[string]any {
	return map[string]any{"groups": []any{map[string]any{"properties": append([]any{}, properties...), "rollout_percentage": 100}}}
}

func property(key, operator string, value any) map[string]any {
	return map[string]any{"key": key, "operator": operator, "value": value, "type": "person"}
}

// changeFlag gives a flag so many variants, one after the other. Every second
// change is made by the other server.
func (w *watcher) changeFlag(t *testing.T, n int) {
	t.Helper()
	key := newName()
	id := w.call(t, "POST /feature_flags/", members("key", key, "filters", variant("new")))["id"]
	w.see(t, "a new flag", "new", w.flag(key, nil))
	for i := range n {
		w.writer, w.reader = w.reader, w.writer
		want := fmt.Sprint("v", i)
		w.call(t, fmt.Sprintf("PATCH /feature_flags/%v/", id), members("filters", variant(want)))
		w.see(t, fmt.Sprint("change ", i), want, w.flag(key, nil))
	}
}

// changeEverything changes everything on which answers to clients depend, and the
// project last.
func (w *watcher) changeEverything(t *testing.T) {
	t.Helper()
	for _, change := range []func(*watcher, *testing.T){
		(*watcher).changeFlagsLife, (*watcher).changeCohorts, (*watcher).changeEarlyAccess, (*watcher).changeSurveys,
		(*watcher).changeTimezone, (*watcher).changeDefinitions, (*watcher).changeStream, (*watcher).changeProject,
	} {
		w.writer, w.reader = w.reader, w.writer
		change(w, t)
	}
}

func (w *watcher) changeFlagsLife(t *testing.T) {
	t.Helper()
	key := newName()
	id := w.call(t, "POST /feature_flags/", members("key", key, "filters", where()))["id"]
	w.see(t, "a new flag", "true", w.flag(key, nil))
	path := fmt.Sprintf("/feature_flags/%v/", id)
	for _, step := range []struct{ call, body, want string }{
		{"POST " + path + "disable/", "", "absent"},
		{"POST " + path + "enable/", "", "true"},
		{"PATCH " + path, members("filters", where(property("plan", "exact", "pro"))), "false"},
		{"PATCH " + path, `{"deleted":true}`, "absent"},
		{"PATCH " + path, `{"deleted":false}`, "false"},
	} {
		w.call(t, step.call, step.body)
		w.see(t, "a flag after "+step.call+step.body, step.want, w.flag(key, nil))
	}
}

func (w *watcher) changeCohorts(t *testing.T) {
	t.Helper()
	planOf := func(plan string) map[string]any {
		return map[string]any{"properties": map[string]any{"type": "OR", "values": []any{
			map[string]any{"type": "AND", "values": []any{property("plan", "exact", plan)}},
		}}}
	}
	cohort := w.call(t, "POST /cohorts/", members("name", newName(), "filters", planOf("pro")))["id"]
	key := newName()
	w.call(t, "POST /feature_flags/", members("key", key, "filters", where(map[string]any{"key": "id", "type": "cohort", "value": cohort})))
	free := map[string]any{"plan": "free"}
	w.see(t, "a flag for a cohort", "false", w.flag(key, free))
	w.call(t, fmt.Sprintf("PATCH /cohorts/%v/", cohort), members("filters", planOf("free")))
	w.see(t, "another cohort", "true", w.flag(key, free))
}

func (w *watcher) changeEarlyAccess(t *testing.T) {
	t.Helper()
	name := newName()
	feature := w.call(t, "POST /early_access_feature/", members("name", name, "stage", "draft"))
	path := fmt.Sprintf("/early_access_feature/%v/", feature["id"])
	key := feature["feature_flag"].(map[string]any)["key"].(string)
	list := "GET /api/early_access_features/?stage=beta&stage=draft&token=" + w.account.project.APIToken
	enrolled := map[string]any{"$feature_enrollment/" + key: "true"}
	w.see(t, "a feature nobody can enrol in", "false", w.flag(key, enrolled))
	w.see(t, "a feature in the list", "true", contains(list, name))
	w.call(t, "PATCH "+path, `{"stage":"beta"}`)
	w.see(t, "a feature in beta", "true", w.flag(key, enrolled))
	w.see(t, "its stage in the list", "true", contains(list, `"stage":"beta"`))
	w.call(t, "PATCH "+path, `{"stage":"archived"}`)
	w.see(t, "an archived feature", "false", w.flag(key, enrolled))
	w.see(t, "the list without it", "false", contains(list, name))
	w.call(t, "DELETE "+path, "")
}

func (w *watcher) changeSurveys(t *testing.T) {
	t.Helper()
	name := newName()
	list := "GET /api/surveys/?token=" + w.account.project.APIToken
	survey := w.call(t, "POST /surveys/", members("name", name, "type", "popover", "targeting_flag_filters", where(property("plan", "exact", "pro"))))
	w.see(t, "a survey in the list", "true", contains(list, name))
	path := fmt.Sprintf("/surveys/%v/", survey["id"])
	pro := map[string]any{"plan": "pro"}
	targeting := survey["targeting_flag"].(map[string]any)["key"].(string)
	internal := survey["internal_targeting_flag"].(map[string]any)["key"].(string)
	for _, step := range []struct{ call, body, want string }{
		{"POST " + path + "launch/", "", "true"},
		{"PATCH " + path, members("targeting_flag_filters", where(property("plan", "exact", "free"))), "false"},
		{"PATCH " + path, members("targeting_flag_filters", where(property("plan", "is_set", "is_set"))), "true"},
		{"POST " + path + "stop/", "", "absent"},
		{"PATCH " + path, `{"end_date":null}`, "true"},
	} {
		w.call(t, step.call, step.body)
		w.see(t, "the targeting flag after "+step.call, step.want, w.flag(targeting, pro))
	}
	w.see(t, "the internal flag", "true", w.flag(internal, pro))
	w.see(t, "the internal flag of who has answered", "false", w.flag(internal, map[string]any{"$survey_responded/" + survey["id"].(string): true}))
	w.call(t, "PATCH "+path, `{"archived":true}`)
	w.see(t, "the list without the survey", "false", contains(list, name))
	w.see(t, "the internal flag of an archived survey", "absent", w.flag(internal, pro))
}

func (w *watcher) changeTimezone(t *testing.T) {
	t.Helper()
	key := newName()
	w.call(t, "POST /feature_flags/", members("key", key, "filters", where(property("joined", "is_date_after", "2024-06-01"))))
	evening := map[string]any{"joined": "2024-05-31T20:00:00Z"}
	w.see(t, "a date in UTC", "false", w.flag(key, evening))
	w.call(t, "PATCH /", `{"timezone":"Asia/Tokyo"}`)
	w.see(t, "a date in Tokyo", "true", w.flag(key, evening))
	w.call(t, "PATCH /", `{"timezone":"UTC"}`)
	w.see(t, "a date in UTC", "false", w.flag(key, evening))
}

// changeDefinitions: the polled document gets another entity tag, which is the same
// on both servers.
func (w *watcher) changeDefinitions(t *testing.T) {
	t.Helper()
	definitions := func(s *site, etag string) *answer {
		t.Helper()
		r, err := s.with(w.account.key).send(t.Context(), "GET /flags/definitions?send_cohorts&token="+w.account.project.APIToken, "", "If-None-Match", etag)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	old := definitions(w.writer, "").header.Get("Etag")
	if again := definitions(w.reader, old); again.status != http.StatusNotModified || old == "" {
		t.Errorf("the other server answers %d to the entity tag %q, want 304", again.status, old)
	}
	key := newName()
	w.call(t, "POST /feature_flags/", members("key", key, "filters", where()))
	own := definitions(w.writer, old)
	if own.status != http.StatusOK || !strings.Contains(own.body, `"`+key+`"`) {
		t.Errorf("definitions after a change = %d %s, want 200 and the new flag", own.status, own.body)
	}
	w.see(t, "the entity tag of definitions", own.header.Get("Etag"), func(context.Context, *site) (string, error) {
		return definitions(w.reader, "").header.Get("Etag"), nil
	})
	if other := definitions(w.reader, old); other.status != http.StatusOK || other.body != own.body {
		t.Errorf("definitions of the other server = %d %s, want %s", other.status, other.body, own.body)
	}
}

// changeProject gives the project another key, and deletes it.
func (w *watcher) changeProject(t *testing.T) {
	t.Helper()
	old := *w.account.project
	w.account.project.APIToken = w.call(t, "POST /reset_token/", "")["api_token"].(string)
	w.see(t, "another key", "absent", w.flag("none", nil))
	gone := &watcher{account: &account{project: &old}, reader: w.reader, bound: w.bound}
	gone.see(t, "the key of before", "status 401", gone.flag("none", nil))
	w.call(t, "DELETE /", "")
	w.see(t, "a deleted project", "status 401", w.flag("none", nil))
	w.took = append(w.took, gone.took...)
}

// servedAtOnce: a change is served by the process that has made it before it is
// answered.
func servedAtOnce(t *testing.T, s *site) {
	w := &watcher{account: s.account(t), writer: s, reader: s, bound: atOnce}
	w.changeFlag(t, 100)
	w.changeEverything(t)
}

// TestPropagation runs two servers on one PostgreSQL database, which is restarted
// in between.
func TestPropagation(t *testing.T) {
	database := postgrestest.Start(t)
	db, err := postgres.Open(t.Context(), database.URL, uncached)
	if err != nil {
		t.Fatal(err)
	}
	d := deploy(t, openSQL(t, db, database.URL, "pgx", database.URL))
	one, other := d.startWithoutMail(t), d.startWithoutMail(t)
	a := d.account(t)
	w := &watcher{account: a, writer: one, reader: other, bound: soon}
	// The project is made without the servers, and both have to see it.
	w.see(t, "a new project", "absent", w.flag("none", nil))
	w.reader = one
	w.see(t, "a new project", "absent", w.flag("none", nil))
	w.reader = other

	w.changeFlag(t, fulltest.Count(20, 100))
	w.report(t)

	key := newName()
	w.call(t, "POST /feature_flags/", members("key", key, "filters", variant("kept")))
	w.see(t, "a new flag", "kept", w.flag(key, nil))
	restarts := fulltest.Count(1, 2)
	for range restarts {
		database.Stop(t)
		for _, s := range []*site{one, other} {
			for range 20 {
				if got, err := w.flag(key, nil)(t.Context(), s); got != "kept" || err != nil {
					t.Errorf("without the database the flag is %s, %v; want what it was", got, err)
				}
			}
			me := s.as(a)
			for _, call := range []string{"GET /feature_flags/", "POST /feature_flags/", "GET /surveys/", "GET /"} {
				method, path, _ := strings.Cut(call, " ")
				me.call(t, fmt.Sprintf("%s /api/projects/%d%s", method, a.project.ID, path), "").fails(t, 503, "service_unavailable", "")
			}
			r, err := me.send(t.Context(), "GET /flags/definitions?token="+a.project.APIToken, "")
			if err != nil || r.status != http.StatusServiceUnavailable {
				t.Errorf("definitions without the database = %s, %v; want 503", statusOf(r), err)
			}
		}
		database.Run(t)
		w.again = true // old connections may be found broken one by one
		w.took = nil
		w.changeFlag(t, fulltest.Count(20, 100)/restarts)
		w.report(t)
	}
	w.changeEverything(t)
}
