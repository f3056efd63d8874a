package surveys_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

func refOf(p *storage.Project) string { return strconv.FormatInt(p.ID, 10) }

// survey makes a survey of Web by a JSON document; a name and a type are added
// where they are missing.
func (w *world) survey(body string) *surveys.View {
	w.t.Helper()
	view, err := w.trySurvey(body)
	if err != nil {
		w.t.Fatalf("create %.300s: %v", body, err)
	}
	return view
}

func (w *world) trySurvey(body string) (*surveys.View, error) {
	w.t.Helper()
	patch := decode[surveys.Patch](w.t, body)
	if !patch.Name.Set {
		patch.Name = optional.Of("Survey " + uuid.NewString())
	}
	if !patch.Type.Set {
		patch.Type = optional.Of("popover")
	}
	return w.Create(w.t.Context(), w.as(w.ada), refOf(w.web), patch)
}

// change changes a survey of Web by a JSON document.
func (w *world) change(id uuid.UUID, body string) *surveys.View {
	w.t.Helper()
	view, err := w.tryChange(id, body)
	if err != nil {
		w.t.Fatalf("change %.300s: %v", body, err)
	}
	return view
}

func (w *world) tryChange(id uuid.UUID, body string) (*surveys.View, error) {
	w.t.Helper()
	return w.Update(w.t.Context(), w.as(w.ada), refOf(w.web), id.String(), decode[surveys.Patch](w.t, body))
}

// storedSurvey returns what is stored of a survey of Web.
func (w *world) storedSurvey(id uuid.UUID) *surveys.Survey {
	w.t.Helper()
	return must(w.store.Survey(w.t.Context(), w.web.ID, id))(w.t)
}

// storedFlag returns a flag of Web, nil if there is none.
func (w *world) storedFlag(id *int64) *storage.Flag {
	w.t.Helper()
	if id == nil {
		return nil
	}
	f, err := w.store.Flags().Get(w.t.Context(), storage.FlagProject.Is(w.web.ID), storage.FlagID.Is(*id))
	if err != nil {
		return nil
	}
	return f
}

// storeFlag stores an ordinary flag as it is.
func (w *world) storeFlag(p *storage.Project, key, filters string) *storage.Flag {
	w.t.Helper()
	f := &storage.Flag{
		Project: p.ID, Key: key, Filters: filtersOf(filters), Active: true, Version: 1, Runtime: "all", Bucketing: "distinct_id",
		Created: begin, Updated: begin,
	}
	w.ok(w.store.Flags().Create(w.t.Context(), f))
	return f
}

const (
	everyone  = `{"groups":[{"properties":[],"rollout_percentage":100}]}`
	byPlan    = `{"groups":[{"properties":[{"key":"plan","value":"pro","operator":"exact","type":"person"}],"rollout_percentage":100}]}`
	byCountry = `{"groups":[{"properties":[{"key":"country","value":"CH","operator":"exact","type":"person"}],"rollout_percentage":50}]}`
	abTest    = `{"groups":[{"properties":[],"rollout_percentage":100}],"multivariate":{"variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]}}`
)

// A surveyState is all that a store keeps of surveys.
type surveyState struct {
	Surveys  []surveys.Survey
	Flags    []storage.Flag
	Archived map[uuid.UUID][]uuid.UUID
}

func (w *world) surveyState() *surveyState {
	w.t.Helper()
	s := new(surveyState)
	for _, p := range []*storage.Project{w.web, w.app, w.shop} {
		s.Surveys = append(s.Surveys, must(w.store.Surveys(w.t.Context(), p.ID))(w.t)...)
		s.Flags = append(s.Flags, must(w.store.CalledFlags(w.t.Context(), p.ID))(w.t)...)
	}
	s.Archived = w.archivedResponses(s.Surveys)
	return s
}

// archivedResponses returns the archived responses of surveys that have any.
func (w *world) archivedResponses(surveys []surveys.Survey) map[uuid.UUID][]uuid.UUID {
	w.t.Helper()
	var archived map[uuid.UUID][]uuid.UUID
	for i := range surveys {
		v := &surveys[i]
		if list := must(w.store.ArchivedResponses(w.t.Context(), v.Project, v.ID))(w.t); len(list) > 0 {
			if archived == nil {
				archived = make(map[uuid.UUID][]uuid.UUID)
			}
			archived[v.ID] = list
		}
	}
	return archived
}

// checkGolden compares a text with a file; IDs and keys that differ from run
// to run are counted.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	for _, random := range []struct{ what, form string }{
		{"id", `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`}, {"key", `survey-targeting-[0-9a-f]{10}`},
	} {
		known := make(map[string]string)
		got = regexp.MustCompile(random.form).ReplaceAllStringFunc(got, func(s string) string {
			if known[s] == "" {
				known[s] = fmt.Sprintf("(%s %d)", random.what, len(known)+1)
			}
			return known[s]
		})
	}
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(must(os.ReadFile(path))(t)), got, same); diff != "" {
		t.Errorf("%s (-want +got); go test -update rewrites it\n%s", name, diff)
	}
}

// indented returns JSON that can be read.
func indented(t *testing.T, v any) string {
	t.Helper()
	return string(must(json.MarshalIndent(v, "", "  "))(t)) + "\n"
}

// at returns a time so long after the world began.
func at(d time.Duration) time.Time { return begin.Add(d) }

const aDay = 24 * time.Hour

// management.md §9.11: a page of surveys, newest first, with filters.
func TestListSurveys(t *testing.T) {
	w := newWorld(t)
	var ids []uuid.UUID
	for i, body := range []string{
		`{"name":"First NPS"}`, `{"name":"Second","description":"for customers, nps too","type":"widget"}`, `{"name":"Third","archived":true}`,
		`{"name":"Fourth","type":"api"}`, `{"name":"Fifth_100%"}`, `{"name":"Sixth"}`, `{"name":"Seventh"}`,
	} {
		w.clock.advance(time.Duration(i) * time.Second)
		ids = append(ids, w.survey(body).ID)
	}
	must(w.Create(t.Context(), w.as(w.ada), refOf(w.app), decode[surveys.Patch](t, `{"name":"of App","type":"popover"}`)))(t)
	for _, tt := range []struct {
		name          string
		filter        surveys.Filter
		limit, offset int
		want          []int // indexes of ids
		total         int
	}{
		{"all", surveys.Filter{}, 100, 0, []int{6, 5, 4, 3, 2, 1, 0}, 7},
		{"a page", surveys.Filter{}, 2, 1, []int{5, 4}, 7},
		{"behind the end", surveys.Filter{}, 2, 9, nil, 7},
		{"archived", surveys.Filter{Archived: new(true)}, 100, 0, []int{2}, 1},
		{"not archived", surveys.Filter{Archived: new(false)}, 2, 0, []int{6, 5}, 6},
		{"of a type", surveys.Filter{Type: "widget"}, 100, 0, []int{1}, 1},
		{"by IDs, of which one is unknown", surveys.Filter{IDs: []uuid.UUID{ids[0], uuid.New(), ids[3]}}, 100, 0, []int{3, 0}, 2},
		{"by no ID", surveys.Filter{IDs: []uuid.UUID{}}, 100, 0, nil, 0},
		{"search in names and descriptions", surveys.Filter{Search: "Nps"}, 100, 0, []int{1, 0}, 2},
		{"search without wildcards", surveys.Filter{Search: "_100%"}, 100, 0, []int{4}, 1},
		{"search of the longest text", surveys.Filter{Search: chars(200)}, 100, 0, nil, 0},
		{"two filters", surveys.Filter{Search: "nps", Type: "popover"}, 100, 0, []int{0}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			page := must(w.List(t.Context(), w.as(w.cyd), refOf(w.web), tt.filter, tt.limit, tt.offset))(t)
			var got []int
			for _, v := range page.Items {
				got = append(got, slices.Index(ids, v.ID))
			}
			if !slices.Equal(got, tt.want) || page.Total != tt.total {
				t.Errorf("ListSurveys = %v of %d, want %v of %d", got, page.Total, tt.want, tt.total)
			}
		})
	}
	_, err := w.List(t.Context(), w.as(w.cyd), refOf(w.web), surveys.Filter{Search: chars(201)}, 10, 0)
	checkFault(t, "ListSurveys with a long search", err, "invalid max_length search")
	_, err = w.List(t.Context(), w.as(w.cyd), refOf(w.web), surveys.Filter{Type: "button"}, 10, 0)
	checkFault(t, "ListSurveys of a type that does not exist", err, "invalid invalid_choice type")
}

// A page of many surveys shows the same as each survey by itself.
func TestListSurveysShowsFlags(t *testing.T) {
	w := newWorld(t)
	linked := w.storeFlag(w.web, "linked", everyone)
	for i := range 8 {
		w.survey(fmt.Sprintf(`{"name":"S%d","linked_flag_id":%d,"targeting_flag_filters":%s}`, i, linked.ID, byPlan))
	}
	page := must(w.List(t.Context(), w.as(w.ada), refOf(w.web), surveys.Filter{}, 100, 0))(t)
	for _, got := range page.Items {
		want := must(w.Survey(t.Context(), w.as(w.ada), refOf(w.web), got.ID.String()))(t)
		if diff := cmp.Diff(want, got, same); diff != "" || got.TargetingFlag == nil || got.LinkedFlag == nil {
			t.Errorf("in the list (-alone +list)\n%s", diff)
		}
	}
}

// management.md §9.11, §9.1: names are unique in a project, by case.
func TestSurveyNames(t *testing.T) {
	w := newWorld(t)
	first, second := w.survey(`{"name":"NPS"}`), w.survey(`{"name":"Other"}`)
	before := w.surveyState()
	_, err := w.trySurvey(`{"name":" NPS "}`)
	checkFault(t, "CreateSurvey with a name that is taken", err, "invalid unique")
	_, err = w.tryChange(second.ID, `{"name":"NPS","archived":true}`)
	checkFault(t, "UpdateSurvey with a name that is taken", err, "invalid unique")
	if diff := cmp.Diff(before, w.surveyState(), same); diff != "" {
		t.Errorf("what was refused has changed something (-before +after)\n%s", diff)
	}
	w.survey(`{"name":"nps"}`)
	w.change(first.ID, `{"name":"NPS"}`)
	must(w.Create(t.Context(), w.as(w.ada), refOf(w.app), decode[surveys.Patch](t, `{"name":"NPS","type":"api"}`)))(t)
}

// management.md §9.2: launch and stop, which do nothing the second time.
func TestLaunchAndStop(t *testing.T) {
	for _, tt := range []struct {
		name, body  string
		stop        bool
		want        string // fault
		start, end  *time.Time
		active, log bool
	}{
		{"launch a draft", `{}`, false, "", &begin, nil, true, true},
		{"launch what is scheduled", `{"start_date":"2026-03-05T00:00:00Z"}`, false, "", &begin, nil, true, true},
		{"launch what runs", `{"start_date":"2026-03-03T00:00:00Z"}`, false, "", new(time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)), nil, true, false},
		{"launch what runs since now", `{"start_date":"2026-03-04T05:06:07Z"}`, false, "", &begin, nil, true, false},
		{"launch what has ended", `{"start_date":"2026-03-03T00:00:00Z","end_date":"2026-03-04T05:06:07Z"}`, false, "invalid invalid_input", nil, nil, false, false},
		{"launch what will end", `{"end_date":"2026-03-04T05:06:08Z"}`, false, "", &begin, new(at(time.Second)), false, true},
		{"launch what is archived", `{"archived":true}`, false, "invalid invalid_input", nil, nil, false, false},
		{"stop what runs", `{"start_date":"2026-03-04T05:06:07Z"}`, true, "", &begin, &begin, false, true},
		{"stop what will end", `{"start_date":"2026-03-04T05:06:07Z","end_date":"2027-01-01T00:00:00Z"}`, true, "", &begin, &begin, false, true},
		{"stop what has ended", `{"start_date":"2026-03-04T05:06:07Z","end_date":"2026-03-04T05:06:07Z"}`, true, "", &begin, &begin, false, false},
		{"stop what is archived", `{"archived":true}`, true, "invalid invalid_input", nil, nil, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			id := w.survey(tt.body).ID
			before, entries := w.surveyState(), len(w.activities())
			call, activity := w.Launch, "launched"
			if tt.stop {
				call, activity = w.Stop, "stopped"
			}
			view, err := call(t.Context(), w.as(w.ada), refOf(w.web), id.String())
			checkFault(t, tt.name, err, tt.want)
			log := w.activities()[:len(w.activities())-entries]
			if (len(log) == 1) != tt.log || tt.log && log[0].Activity != activity {
				t.Errorf("activities: %+v, want %t", log, tt.log)
			}
			if tt.want != "" || !tt.log {
				if diff := cmp.Diff(before, w.surveyState(), same); diff != "" {
					t.Errorf("it has changed something (-before +after)\n%s", diff)
				}
			}
			if tt.want != "" {
				return
			}
			if diff := cmp.Diff([]*time.Time{tt.start, tt.end}, []*time.Time{view.StartDate, view.EndDate}, same); diff != "" || view.InternalTargetingFlag.Active != tt.active {
				t.Errorf("start and end (-want +got)\n%sflags are on: %t, want %t", diff, view.InternalTargetingFlag.Active, tt.active)
			}
		})
	}
}

// management.md §9.11: a survey is deleted with its flags and with what was said of
// its responses, but not with flags that people have made.
func TestDeleteSurvey(t *testing.T) {
	w := newWorld(t)
	linked, ordinary := w.storeFlag(w.web, "linked", everyone), w.storeFlag(w.web, "ordinary", byPlan)
	kept := w.survey(`{"targeting_flag_filters":` + byPlan + `}`)
	before := w.surveyState()
	for _, targeting := range []string{`"targeting_flag_filters":` + byPlan, fmt.Sprintf(`"targeting_flag_id":%d`, ordinary.ID)} {
		v := w.survey(fmt.Sprintf(`{"linked_flag_id":%d,"response_sampling_start_date":"2026-03-05T00:00:00Z","response_sampling_interval":1,"response_sampling_limit":7,%s}`, linked.ID, targeting))
		for _, id := range []uuid.UUID{v.ID, kept.ID} {
			w.ok(w.ArchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), id.String(), uuid.NewString()))
		}
		w.ok(w.Delete(t.Context(), w.as(w.ada), refOf(w.web), v.ID.String()))
		err := w.Delete(t.Context(), w.as(w.ada), refOf(w.web), v.ID.String())
		checkFault(t, "DeleteSurvey again", err, "not found not_found")
	}
	before.Archived = map[uuid.UUID][]uuid.UUID{
		kept.ID: must(w.ArchivedResponses(t.Context(), w.as(w.ada), refOf(w.web), kept.ID.String()))(t),
	}
	if diff := cmp.Diff(before, w.surveyState(), same); diff != "" || len(before.Archived[kept.ID]) != 2 {
		t.Errorf("what is left (-want +got)\n%s", diff)
	}
}

// management.md §15.2, 7: what belongs to one project is not found through another.
func TestSurveysOfOtherProjects(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{"questions":[{"type":"open","question":"Why?"}],"start_date":"2026-03-01T00:00:00Z"}`).ID.String()
	response := uuid.NewString()
	w.ok(w.ArchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), id, response))
	before := w.surveyState()
	for _, who := range []struct {
		user *storage.User
		ref  string
		want string
	}{
		{w.ada, refOf(w.app), "not found not_found"}, // hers as well
		{w.dov, refOf(w.shop), "not found not_found"},
		{w.dov, refOf(w.web), "not found not_found"},
		{w.sam, refOf(w.web), "not found not_found"},
		{w.ada, "12345", "not found not_found"},
	} {
		for name, call := range w.callsOfSurveys(who.user, who.ref, id, response) {
			checkFault(t, name+" by "+who.user.FirstName+" in project "+who.ref, call(), who.want)
		}
	}
	for _, wrong := range []string{"", "x", strings.ReplaceAll(id, "-", ""), "{" + id + "}", uuid.NewString(), "urn:uuid:" + id} {
		for name, call := range w.callsOfSurveys(w.ada, refOf(w.web), wrong, response) {
			checkFault(t, name+" of survey "+wrong, call(), "not found not_found")
		}
	}
	if diff := cmp.Diff(before, w.surveyState(), same); diff != "" {
		t.Errorf("something has changed (-before +after)\n%s", diff)
	}
}

// callsOfSurveys are calls of all methods that name one survey.
func (w *world) callsOfSurveys(u *storage.User, ref, id, response string) map[string]func() error {
	ctx, p := w.t.Context(), w.as(u)
	return map[string]func() error{
		"Survey": func() error { return second(w.Survey(ctx, p, ref, id)) },
		"UpdateSurvey": func() error {
			return second(w.Update(ctx, p, ref, id, surveys.Patch{Name: optional.Of("x")}))
		},
		"LaunchSurvey": func() error { return second(w.Launch(ctx, p, ref, id)) },
		"StopSurvey":   func() error { return second(w.Stop(ctx, p, ref, id)) },
		"DeleteSurvey": func() error { return w.Delete(ctx, p, ref, id) },
		"CopySurvey": func() error {
			return second(w.Copy(ctx, p, ref, id, surveys.CopyRequest{Projects: anyJSON([]int64{w.web.ID})}))
		},
		"ArchiveResponse":   func() error { return w.ArchiveResponse(ctx, p, ref, id, uuid.NewString()) },
		"UnarchiveResponse": func() error { return w.UnarchiveResponse(ctx, p, ref, id, response) },
		"ArchivedResponses": func() error { return second(w.ArchivedResponses(ctx, p, ref, id)) },
		"SurveyStats":       func() error { return second(w.Stats(ctx, p, ref, id, surveys.StatsQuery{})) },
		"SurveyResponses":   func() error { return second(w.Responses(ctx, p, ref, id, surveys.ResponseQuery{})) },
		"WriteResponses": func() error {
			return w.WriteResponses(ctx, new(strings.Builder), p, ref, id, surveys.ResponseQuery{})
		},
		"SummarizeResponses": func() error {
			return second(w.Summarize(ctx, p, ref, id, surveys.SummaryQuery{QuestionIndex: "0"}))
		},
		"SurveyHeadline": func() error { return second(w.Headline(ctx, p, ref, id, surveys.SummaryRefresh{})) },
	}
}

// TestIfUpdated refuses changes of a survey that somebody else has changed.
func TestIfUpdated(t *testing.T) {
	w := newWorld(t)
	before := w.survey(`{}`)
	w.clock.advance(time.Second)
	update := func(name string, at time.Time) (*surveys.View, error) {
		return w.Update(t.Context(), w.as(w.ada), refOf(w.web), before.ID.String(), surveys.Patch{Name: optional.Of(name), IfUpdated: &at})
	}
	after := must(update("One", before.UpdatedAt))(t)
	if _, err := update("Two", before.UpdatedAt); !errors.Is(err, management.ErrConflict) {
		t.Errorf("a change of an older state: %v, want ErrConflict", err)
	}
	if v := must(update("Three", after.UpdatedAt))(t); v.Name != "Three" {
		t.Errorf("name %q", v.Name)
	}
}
