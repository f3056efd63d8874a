package surveys_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// event stores an event about a survey of Web, so long after the world began.
func (w *world) event(name string, survey uuid.UUID, person string, after time.Duration, properties string) uuid.UUID {
	w.t.Helper()
	e := captured(w.web, "survey "+name, survey, person, at(after), properties)
	w.ok(w.store.Write(w.t.Context(), []capture.Event{e}))
	return e.UUID
}

func (w *world) stats(id uuid.UUID, q surveys.StatsQuery) *surveys.Stats {
	w.t.Helper()
	return must(w.Stats(w.t.Context(), w.as(w.ada), refOf(w.web), id.String(), q))(w.t)
}

func (w *world) projectStats(q surveys.StatsQuery) *surveys.ProjectStats {
	w.t.Helper()
	return must(w.ProjectStats(w.t.Context(), w.as(w.ada), refOf(w.web), q))(w.t)
}

// management.md §11.1 and §15.3, rows 26 to 30, as JSON.
func TestSurveyStats(t *testing.T) {
	w := newWorld(t)
	checkGolden(t, "stats_nothing.json", indented(t, w.projectStats(surveys.StatsQuery{})))
	id := w.survey(`{"name":"NPS","questions":[{"id":"q1","type":"rating","question":"?","scale":10}],"start_date":` + date(0) + `}`).ID
	other := w.survey(`{"name":"Other"}`).ID
	checkGolden(t, "stats_before.json", indented(t, w.stats(id, surveys.StatsQuery{})))

	for i := range 12 {
		w.event("shown", id, fmt.Sprint("p", i%9), time.Duration(i)*time.Hour, `{}`)
	}
	w.event("dismissed", id, "p0", 2*time.Hour, `{}`)
	w.event("dismissed", id, "p0", 3*time.Hour, `{}`)
	w.event("dismissed", id, "p1", 4*time.Hour, `{}`) // and answers later
	w.event("dismissed", id, "p2", 5*time.Hour, `{"$survey_partially_completed":true,"$survey_submission_id":"s2"}`)
	w.event("sent", id, "p1", 6*time.Hour, `{"$survey_submission_id":"s1","$survey_response_q1":1}`)
	w.event("sent", id, "p1", 7*time.Hour, `{"$survey_submission_id":"s1","$survey_response_q1":2}`)
	w.event("sent", id, "p2", 4*time.Hour, `{"$survey_submission_id":"s2"}`)
	w.event("abandoned", id, "p3", 8*time.Hour, `{}`)
	w.event("shown", other, "p9", 9*time.Hour, `{}`)
	w.event("shown", uuid.New(), "p9", 9*time.Hour, `{}`) // made up
	checkGolden(t, "stats.json", indented(t, w.stats(id, surveys.StatsQuery{PerQuestion: true})))
	checkGolden(t, "stats_project.json", indented(t, w.projectStats(surveys.StatsQuery{})))
}

// management.md §11.1: rates are rounded as Python does, and 0 of nothing.
func TestSurveyRates(t *testing.T) {
	for _, tt := range []struct {
		shown, sent, dismissed int
		want                   surveys.Rates // by persons the same
	}{
		{0, 0, 0, surveys.Rates{}},
		{0, 2, 1, surveys.Rates{}},
		{3, 1, 2, surveys.Rates{Response: 33.33, Dismissal: 66.67}},
		{8, 1, 0, surveys.Rates{Response: 12.5}},
		{1, 1, 0, surveys.Rates{Response: 100}},
		{2, 3, 0, surveys.Rates{Response: 150}},
		{800, 1, 0, surveys.Rates{Response: 0.12}},
		{7, 2, 1, surveys.Rates{Response: 28.57, Dismissal: 14.29}},
	} {
		w := newWorld(t)
		id := w.survey(`{"start_date":` + date(0) + `}`).ID
		for name, n := range map[string]int{"shown": tt.shown, "sent": tt.sent, "dismissed": tt.dismissed} {
			for i := range n {
				w.event(name, id, fmt.Sprint(name, i), 0, `{}`)
			}
		}
		tt.want.PersonsResponse, tt.want.PersonsDismissal = tt.want.Response, tt.want.Dismissal
		if got := w.stats(id, surveys.StatsQuery{}).Rates; got != tt.want {
			t.Errorf("of %d shown, %d sent, %d dismissed: %+v, want %+v", tt.shown, tt.sent, tt.dismissed, got, tt.want)
		}
	}
}

// management.md §11.1: what counts as seen only is never below 0, and a person who
// has dismissed and answered has answered.
func TestSurveyOnlySeen(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{"start_date":` + date(0) + `}`).ID
	check := func(what string, persons, total, dismissed int) {
		t.Helper()
		s := w.stats(id, surveys.StatsQuery{}).Stats
		if s.Shown.PersonsOnlySeen != persons || s.Shown.TotalOnlySeen != total || s.Dismissed.Persons != dismissed {
			t.Errorf("%s: only seen %d persons, %d in total, dismissed %d persons; want %d, %d, %d",
				what, s.Shown.PersonsOnlySeen, s.Shown.TotalOnlySeen, s.Dismissed.Persons, persons, total, dismissed)
		}
	}
	w.event("sent", id, "a", 0, `{}`)
	w.event("dismissed", id, "a", 0, `{}`)
	check("answered and dismissed", 0, 0, 0)
	w.event("shown", id, "a", 0, `{}`)
	w.event("shown", id, "b", 0, `{}`)
	w.event("shown", id, "b", 0, `{}`)
	check("shown to two", 1, 1, 0)
	w.event("dismissed", id, "c", 0, `{}`)
	check("dismissed by a third", 0, 0, 1)
}

// management.md §11.1: the window, with bounds that belong to it, cut to the life of
// the survey; of a project it is not cut.
func TestSurveyStatsWindow(t *testing.T) {
	hours := func(list ...int) string { return fmt.Sprint(list) }
	for _, tt := range []struct {
		survey, from, to string // in hours after the world began, "" for none
		want, project    string // at which hours events were shown
	}{
		{`{}`, "", "", hours(0, 1, 2, 3, 4), hours(-1, 0, 1, 2, 3, 4)},
		{`{"start_date":` + date(1./24) + `}`, "", "", hours(1, 2, 3, 4), hours(-1, 0, 1, 2, 3, 4)},
		{`{"start_date":` + date(1./24) + `,"end_date":` + date(3./24) + `}`, "", "", hours(1, 2, 3), hours(-1, 0, 1, 2, 3, 4)},
		{`{"start_date":` + date(1./24) + `,"end_date":` + date(3./24) + `}`, "0", "4", hours(1, 2, 3), hours(0, 1, 2, 3, 4)},
		{`{"start_date":` + date(1./24) + `,"end_date":` + date(3./24) + `}`, "2", "", hours(2, 3), hours(2, 3, 4)},
		{`{"start_date":` + date(1./24) + `,"end_date":` + date(3./24) + `}`, "", "2", hours(1, 2), hours(-1, 0, 1, 2)},
		{`{"start_date":` + date(1./24) + `,"end_date":` + date(3./24) + `}`, "", "0", hours(), hours(-1, 0)},
		{`{"start_date":` + date(1./24) + `,"end_date":` + date(3./24) + `}`, "4", "", hours(), hours(4)},
		{`{"start_date":` + date(-24./24) + `}`, "2", "2", hours(2), hours(2)},
		{`{"start_date":` + date(-24./24) + `,"archived":true}`, "", "", hours(-1, 0, 1, 2, 3, 4), hours()},
	} {
		w := newWorld(t)
		id := w.survey(tt.survey).ID
		for hour := -1; hour <= 4; hour++ {
			w.event("shown", id, fmt.Sprint(hour), time.Duration(hour)*time.Hour, `{}`)
		}
		bound := func(hour string) string {
			if hour == "" {
				return ""
			}
			return at(time.Duration(hour[0]-'0') * time.Hour).Format(time.RFC3339)
		}
		q := surveys.StatsQuery{From: bound(tt.from), To: bound(tt.to)}
		seen := func(s surveys.StatsByKind) string {
			var list []int
			if s.Shown == nil || s.Shown.First == nil {
				return hours()
			}
			for at := *s.Shown.First; !at.After(*s.Shown.Last); at = at.Add(time.Hour) {
				list = append(list, int(at.Sub(begin)/time.Hour))
			}
			if len(list) != s.Shown.Total {
				t.Errorf("%s from %q to %q: %d events between %d hours", tt.survey, tt.from, tt.to, s.Shown.Total, len(list))
			}
			return hours(list...)
		}
		if got := seen(w.stats(id, q).Stats); got != tt.want {
			t.Errorf("%s from %q to %q: shown at %s, want %s", tt.survey, tt.from, tt.to, got, tt.want)
		}
		if got := seen(w.projectStats(q).Stats); got != tt.project {
			t.Errorf("project from %q to %q: shown at %s, want %s", tt.from, tt.to, got, tt.project)
		}
	}
}

// management.md §11.1, last paragraph: what dates may look like.
func TestSurveyStatsDates(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{"start_date":` + date(-100) + `}`).ID
	begin := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, tt := range []struct {
		text  string
		first time.Duration // after the world began, of the events that are found
	}{
		{"2026-03-04T05:06:07Z", 0},
		{"2026-03-04T05:06:07.5Z", time.Second},
		{"2026-03-04T05:06:07.000001Z", time.Second},
		{"2026-03-04T07:06:07+02:00", 0},
		{"2026-03-04T07:06:07 02:00", 0}, // + in an address
		{"2026-03-04 07:06:07 02:00", 0},
		{"2026-03-04 07:06:07+02:00", 0},
		{"2026-03-04T07:06:07+0200", 0},
		{"2026-03-04T07:06:07+02", 0},
		{"2026-03-04T02:06:07-03:00", 0},
		{"2026-03-04T05:06:07", 0},
		{"2026-03-04 05:06:07", 0},
		{"2026-03-04T05:06", 0},
		{"2026-03-04T05:07", time.Minute},
		{"2026-03-04", 0},
		{" 2026-03-05 ", aDay},
		{"0001-01-01", 0},
		{"9999-12-31T23:59:59-23:00", -1},
	} {
		for _, after := range []time.Duration{0, time.Second, time.Minute, aDay} {
			w.event("shown", id, "p", after, `{}`)
		}
		s := w.stats(id, surveys.StatsQuery{From: tt.text}).Stats.Shown
		if tt.first < 0 {
			if s.First != nil {
				t.Errorf("from %q: first at %s, want none", tt.text, s.First)
			}
			continue
		}
		if s.First == nil || !s.First.Equal(begin.Add(tt.first)) {
			t.Errorf("from %q: first at %v, want %s", tt.text, s.First, begin.Add(tt.first))
		}
	}
	for _, q := range []surveys.StatsQuery{
		{From: "yesterday"},
		{To: "yesterday"},
		{From: "2026-13-01"},
		{From: "2026-03-04T25:00:00Z"},
		{From: "1772600000"},
		{To: "-7d"},
		{From: "2026-3-4"},
		{From: "2026-03-04T05:06:07Z", To: "2026-03-04T05:06:06Z"},
		{From: "2026-03-04 x y"},
		{From: " "},
	} {
		_, err := w.Stats(t.Context(), w.as(w.ada), refOf(w.web), id.String(), q)
		checkFault(t, fmt.Sprintf("SurveyStats of %+v", q), err, "invalid invalid_input")
		_, err = w.ProjectStats(t.Context(), w.as(w.ada), refOf(w.web), q)
		checkFault(t, fmt.Sprintf("ProjectSurveyStats of %+v", q), err, "invalid invalid_input")
	}
}

// management.md §11.1, §11.2: archived responses are left out of one survey if that
// is wanted, and never of a project.
func TestSurveyStatsWithoutArchived(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{"start_date":` + date(0) + `}`).ID
	w.event("sent", id, "a", 0, `{}`)
	response := w.event("sent", id, "b", time.Hour, `{}`)
	w.ok(w.ArchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), id.String(), response.String()))
	for exclude, want := range map[bool]int{false: 2, true: 1} {
		if got := w.stats(id, surveys.StatsQuery{ExcludeArchived: exclude}).Stats.Sent.Total; got != want {
			t.Errorf("without archived ones, %t: %d responses, want %d", exclude, got, want)
		}
		if got := w.projectStats(surveys.StatsQuery{ExcludeArchived: exclude}).Stats.Sent.Total; got != 2 {
			t.Errorf("project, without archived ones, %t: %d responses, want 2", exclude, got)
		}
	}
}

// management.md §11.1: statistics of each question.
func TestQuestionStats(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{"start_date":` + date(0) + `,"questions":[
		{"id":"rate","type":"rating","question":"How?","scale":10},
		{"id":"one","type":"single_choice","question":"Which?","choices":["A","B","Other"],"hasOpenChoice":true},
		{"id":"many","type":"multiple_choice","question":"Which ones?","choices":["A","B","C"]},
		{"id":"open","type":"open","question":"Why?"},
		{"id":"thumbs","type":"rating","question":"Up?","scale":2},
		{"id":"link","type":"link","question":"Look","link":"https://example.com"}]}`).ID
	for _, properties := range []string{
		`{"$survey_response_rate":"9","$survey_response_one":"A","$survey_response_many":["A","B"],"$survey_response_open":"because","$survey_response_thumbs":1}`,
		`{"$survey_response_rate":10,"$survey_response_one":"my own","$survey_response_many":["A"],"$survey_response_thumbs":2}`,
		`{"$survey_response":0,"$survey_response_1":"B","$survey_response_2":["C","A"],"$survey_response_3":"legacy"}`,
		`{"$survey_response_rate":"8.0","$survey_response_one":"Other","$survey_response_many":"B","$survey_response_link":"clicked"}`,
		`{"$survey_response_rate":"NaN","$survey_response_one":"","$survey_response_many":[]}`,
		`{"$survey_response_rate":"Infinity","$survey_response_1":"A","$survey_response_one":null}`,
		`{"$survey_response_rate":"1e308","$survey_response_many":["D","E"]}`,
		`{"$survey_response_rate":11,"$survey_response_thumbs":0}`,
		`{"$survey_response_rate":-1}`,
		`{"$survey_response_rate":4.5}`,
	} {
		w.event("sent", id, "p", 0, properties)
	}
	got := w.stats(id, surveys.StatsQuery{PerQuestion: true}).PerQuestion
	encode(t, got) // NaN has no JSON
	want := []surveys.QuestionStats{
		{ID: "rate", Index: 0, Text: "How?", Type: "rating", Responses: 10, Average: new(6.75), Distribution: map[string]int{
			"9": 1, "10": 1, "0": 1, "8.0": 1, "NaN": 1, "Infinity": 1, "1e308": 1, "11": 1, "-1": 1, "4.5": 1,
		}},
		{ID: "one", Index: 1, Text: "Which?", Type: "single_choice", Responses: 5, Distribution: map[string]int{"A": 2, "B": 1, "<other>": 2}},
		{ID: "many", Index: 2, Text: "Which ones?", Type: "multiple_choice", Responses: 5, Distribution: map[string]int{"A": 3, "B": 2, "C": 1, "<other>": 2}},
		{ID: "open", Index: 3, Text: "Why?", Type: "open", Responses: 2, Distribution: map[string]int{}},
		{ID: "thumbs", Index: 4, Text: "Up?", Type: "rating", Responses: 3, Average: new(1.5), Distribution: map[string]int{"0": 1, "1": 1, "2": 1}},
		{ID: "link", Index: 5, Text: "Look", Type: "link", Responses: 1, Distribution: map[string]int{}},
	}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("per question (-want +got)\n%s", diff)
	}

	for i := range 300 {
		w.event("sent", id, "p", 0, fmt.Sprintf(`{"$survey_response_rate":"x%d"}`, i))
	}
	if n := len(w.stats(id, surveys.StatsQuery{PerQuestion: true}).PerQuestion[0].Distribution); n != 200 {
		t.Errorf("%d values of a distribution, want 200", n)
	}
	if q := w.stats(id, surveys.StatsQuery{}).PerQuestion; q != nil {
		t.Errorf("per question, without being asked: %+v", q)
	}
	none := w.stats(w.survey(`{}`).ID, surveys.StatsQuery{PerQuestion: true})
	if !strings.Contains(encode(t, none), `"per_question_stats":[]`) {
		t.Errorf("per question, without any: %s", encode(t, none))
	}
}

// management.md §11.3 and §15.3, rows 32 and 35.
func TestCountSurveyResponses(t *testing.T) {
	w := newWorld(t)
	count := func(exclude bool, ids ...string) map[uuid.UUID]int {
		t.Helper()
		return must(w.CountResponses(t.Context(), w.as(w.ada), refOf(w.web), ids, exclude))(t)
	}
	check := func(what string, got, want map[uuid.UUID]int) {
		t.Helper()
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	none := map[uuid.UUID]int{}
	check("no survey", count(false), none)
	draft := w.survey(`{}`).ID
	w.event("sent", draft, "a", time.Hour, `{}`)
	check("no survey that has started", count(false), none)

	first := w.survey(`{"start_date":` + date(1) + `,"end_date":` + date(2) + `}`).ID
	second, empty := w.survey(`{"start_date":`+date(3)+`,"archived":true}`).ID, w.survey(`{"start_date":`+date(3)+`}`).ID
	w.event("sent", first, "a", aDay-time.Microsecond, `{}`) // before any survey began
	response := w.event("sent", first, "a", aDay, `{"$survey_submission_id":"s"}`)
	w.event("sent", first, "a", aDay-time.Hour, `{"$survey_submission_id":"s"}`)
	w.event("sent", first, "b", 9*aDay, `{}`)    // after it has ended
	w.event("sent", second, "a", 2*aDay, `{}`)   // before it has begun
	w.event("sent", draft, "a", 2*aDay, `{}`)    // which has not begun
	w.event("shown", empty, "a", 4*aDay, `{}`)   // no response
	w.event("sent", uuid.New(), "a", aDay, `{}`) // no survey
	all := map[uuid.UUID]int{first: 2, second: 1, draft: 1}
	check("all", count(false), all)
	check("some", count(false, second.String(), empty.String()), map[uuid.UUID]int{second: 1})
	check("unknown ones", count(false, uuid.NewString()), none)
	check("some, of which one is unknown", count(false, uuid.NewString(), first.String()), map[uuid.UUID]int{first: 2})

	archive := func(f func() error) {
		t.Helper()
		w.ok(f())
	}
	archive(func() error {
		return w.ArchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), first.String(), response.String())
	})
	check("archived ones as well", count(false), all)
	without := maps.Clone(all)
	without[first] = 1
	check("without archived ones", count(true), without)
	archive(func() error {
		return w.UnarchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), first.String(), response.String())
	})
	check("nothing is archived any more", count(true), all)
	if got := encode(t, count(false, uuid.NewString())); got != "{}" {
		t.Errorf("none as JSON: %s", got)
	}

	shop := must(w.CountResponses(t.Context(), w.as(w.dov), refOf(w.shop), []string{first.String()}, false))(t)
	check("through another project", shop, none)
}

// Events of another project about a survey are not the survey's: a client that
// knows its ID can send them there.
func TestSurveyEventsOfOtherProjects(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{"start_date":` + date(0) + `,"questions":[{"id":"q1","type":"open","question":"?"}]}`).ID
	e := captured(w.shop, "survey sent", id, "d", begin, `{"$survey_response_q1":"forged"}`)
	w.ok(w.store.Write(t.Context(), []capture.Event{e}))
	if got := w.stats(id, surveys.StatsQuery{}).Stats.Sent.Total; got != 0 {
		t.Errorf("%d responses", got)
	}
	if page := must(w.Responses(t.Context(), w.as(w.ada), refOf(w.web), id.String(), surveys.ResponseQuery{}))(t); len(page.Results) != 0 {
		t.Errorf("responses %+v", page.Results)
	}
}

// TestRuling57SurveyQuery: a day is the whole day in the project's time zone, also where
// clocks change, and what is not a UUID is refused (management.md §11.1, §11.3).
func TestRuling57SurveyQuery(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{"start_date":` + date(-100) + `}`).ID
	shown := func(zone, from, to string, want int) {
		t.Helper()
		must(w.management.UpdateProject(t.Context(), w.as(w.ada), refOf(w.web), management.ProjectPatch{Timezone: optional.Of(zone)}))(t)
		q := surveys.StatsQuery{From: from, To: to}
		if one, all := w.stats(id, q).Stats.Shown.Total, w.projectStats(q).Stats.Shown.Total; one != want || all != want {
			t.Errorf("%s from %q to %q: %d of the survey, %d of the project, want %d", zone, from, to, one, all, want)
		}
		responses, err := w.responses(id, surveys.ResponseQuery{Since: from, Until: to})
		if err != nil || len(responses.Results) != want {
			t.Errorf("%s since %q until %q: %d (%v), want %d", zone, from, to, len(responses.Results), err, want)
		}
	}
	// The hours of three days in UTC.
	first := time.Date(2026, 3, 28, 0, 0, 0, 0, time.UTC)
	for hour := range 72 {
		for _, name := range []string{"shown", "sent"} {
			w.event(name, id, fmt.Sprint(hour), first.Add(time.Duration(hour)*time.Hour).Sub(begin), `{}`)
		}
	}
	w.event("shown", id, "last", first.Add(48*time.Hour-time.Microsecond).Sub(begin), `{}`)
	w.event("sent", id, "last", first.Add(48*time.Hour-time.Microsecond).Sub(begin), `{}`)
	shown("UTC", "2026-03-28", "2026-03-28", 24)
	shown("UTC", "2026-03-29", "2026-03-29", 25)
	shown("UTC", "2026-03-28", "2026-03-29", 49)
	shown("UTC", "2026-03-29", "", 49)
	shown("UTC", "", "2026-03-28", 24)
	shown("UTC", "2026-03-29T00:00:00Z", "2026-03-29T00:00:00Z", 1)
	shown("UTC", "2026-03-29T00:00:00", "2026-03-29", 25)
	shown("Europe/Zurich", "2026-03-29", "2026-03-29", 23) // clocks go forward
	shown("Europe/Zurich", "2026-03-28", "2026-03-28", 23) // it began before the first event
	shown("America/New_York", "2026-03-28", "2026-03-28", 24)
	shown("Asia/Kolkata", "2026-03-28", "2026-03-29", 43)

	for _, ids := range [][]string{{"x"}, {id.String(), "x"}, {"%"}, {id.String() + ";"}} {
		_, err := w.CountResponses(t.Context(), w.as(w.ada), refOf(w.web), ids, false)
		checkFault(t, fmt.Sprintf("CountResponses of %q", ids), err, "invalid invalid_input survey_ids")
	}
}

// management.md §11.1: responses by the days of the project's time zone.
func TestSurveyStatsPerDay(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{"start_date":` + date(0) + `}`).ID
	w.web.Timezone = "Asia/Tokyo"
	if err := w.store.Projects().Update(t.Context(), w.web); err != nil {
		t.Fatal(err)
	}
	for i, hours := range []int{0, 1, 12, 24, 90} { // the world begins at 14:06 in Tokyo
		w.event("sent", id, fmt.Sprint(i), time.Duration(hours)*time.Hour, `{}`)
	}
	got := w.stats(id, surveys.StatsQuery{PerDay: true})
	want := []surveys.DayStats{{Day: "2026-03-04", Responses: 2}, {Day: "2026-03-05", Responses: 2}, {Day: "2026-03-08", Responses: 1}}
	if diff := cmp.Diff(want, got.PerDay, same); diff != "" || got.PerQuestion != nil {
		t.Errorf("responses by day (-want +got):\n%s", diff)
	}
	if got := w.stats(id, surveys.StatsQuery{}).PerDay; got != nil {
		t.Errorf("responses by day %v, want none unless asked for", got)
	}
}
