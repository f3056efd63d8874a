package storetest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/surveys"
	"github.com/flagstaff-go/flagstaff/surveys/internal/reference"
)

// testSurveyHistories runs random histories through the store and through the
// oracle, which counts everything as management.md §10.2 words it.
func testSurveyHistories(t *testing.T, s *suite) {
	for seed, batch := range []int{1, 5, 40, 2, 20, 300}[:fulltest.Count(2, 6)] {
		h := newSurveyHistory(t, s, uint64(seed), batch)
		for range 40 * 40 / max(40, batch) {
			h.step(t)
		}
		h.compare(t)
		if t.Failed() {
			t.Fatalf("that was seed %d", seed)
		}
	}
}

type surveyHistory struct {
	r        *rand.Rand
	s        *suite
	oracle   *reference.Surveys
	projects []int64
	surveys  map[int64][]uuid.UUID // by project; one ID is in both
	batches  [][]capture.Event
	events   []uuid.UUID
	most     int // events in a batch
}

func newSurveyHistory(t *testing.T, s *suite, seed uint64, most int) *surveyHistory {
	t.Helper()
	h := &surveyHistory{
		r: rand.New(rand.NewPCG(seed, 1)), s: s, oracle: new(reference.Surveys),
		surveys: make(map[int64][]uuid.UUID), most: most,
	}
	organization := s.organization(t, fmt.Sprint("acme", seed))
	for range 2 {
		p := s.project(t, organization)
		h.projects = append(h.projects, p.ID)
		h.surveys[p.ID] = []uuid.UUID{s.newSurvey(t, p.ID), s.newSurvey(t, p.ID)}
	}
	return h
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// step does one thing to the store and to the oracle.
func (h *surveyHistory) step(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	project := pick(h.r, h.projects)
	switch n := h.r.IntN(20); {
	case n < 13:
		batch := make([]capture.Event, 1+h.r.IntN(h.most))
		for i := range batch {
			batch[i] = h.event(pick(h.r, h.projects))
			h.events = append(h.events, batch[i].UUID)
		}
		h.batches = append(h.batches, batch)
		h.write(t, batch)
	case n < 15 && len(h.batches) > 0: // sent again, perhaps with others
		batch := append([]capture.Event(nil), pick(h.r, h.batches)...)
		h.write(t, append(batch, h.event(project)))
	case n < 16:
		who := []string{h.who()}
		if _, _, err := h.s.AddCohortMembers(ctx, project, 1, uuid.Nil, who); err != nil {
			t.Fatalf("AddCohortMembers: %v", err)
		}
		h.oracle.AddPersons(project, who)
	case n < 19 && len(h.events) > 0:
		id, survey := pick(h.r, h.events), pick(h.r, h.surveys[project])
		want(t, "ArchiveResponse", h.oracle.Archive(project, survey, id))(h.s.ArchiveResponse(ctx, project, survey, id, h.s.now))
	case len(h.events) > 0:
		survey := pick(h.r, h.surveys[project])
		if list := h.oracle.Archived(project, survey); len(list) > 0 {
			id := pick(h.r, list)
			h.oracle.Unarchive(project, survey, id)
			want(t, "UnarchiveResponse", true)(h.s.UnarchiveResponse(ctx, project, survey, id))
		}
	}
	if h.r.IntN(4) == 0 {
		h.compare(t)
	}
}

func (h *surveyHistory) write(t *testing.T, batch []capture.Event) {
	t.Helper()
	h.s.write(t, batch...)
	h.oracle.Write(batch)
}

func (h *surveyHistory) who() string { return fmt.Sprint("u", h.r.IntN(8)) }

func (h *surveyHistory) time() time.Time {
	return h.s.now.Add(time.Duration(h.r.IntN(30)) * time.Second)
}

// event makes an event. Times, UUIDs and submissions are often the same.
func (h *surveyHistory) event(project int64) capture.Event {
	e := capture.Event{Project: project, UUID: capture.NewUUID(h.s.now), DistinctID: h.who(), Time: h.time(), Received: h.s.now}
	if len(h.events) > 0 && h.r.IntN(10) == 0 {
		e.UUID = pick(h.r, h.events)
	}
	var p []string
	add := func(format string, args ...any) { p = append(p, fmt.Sprintf(format, args...)) }
	e.Name = pick(h.r, []string{
		"survey shown", "survey shown", "survey shown", "survey sent", "survey sent", "survey sent", "survey sent",
		"survey dismissed", "survey dismissed", "survey dismissed", "survey abandoned", "page", "$identify", "$merge_dangerously",
	})
	switch e.Name {
	case "$identify":
		add(`"$anon_distinct_id":"%s"`, h.who())
	case "$merge_dangerously":
		add(`"alias":"%s"`, h.who())
	default:
		switch h.r.IntN(6) {
		case 0:
			add(`"$process_person_profile":false`)
		case 1:
			e.NoPerson = true
		}
	}
	ids := h.surveys[pick(h.r, h.projects)] // also of the other project
	if h.r.IntN(3) > 0 {
		ids = h.surveys[project]
	}
	add(`"$survey_id":"%s"`, pick(h.r, ids))
	if h.r.IntN(3) > 0 {
		key := pick(h.r, []string{"", "text", "019c0a11-2f30-7000-8c4e-0000000000aa", "019C0A11-2F30-7000-8C4E-0000000000AA"})
		if len(h.events) > 0 && h.r.IntN(5) == 0 {
			key = pick(h.r, h.events).String()
		}
		add(`"$survey_submission_id":"%s"`, key)
	}
	if h.r.IntN(2) == 0 {
		add(`"$survey_partially_completed":%v`, h.r.IntN(3) > 0)
	}
	for range h.r.IntN(4) {
		add(`"$survey_response%s":%s`, pick(h.r, []string{"", "_1", "_q", "_r"}), pick(h.r, []string{`"a"`, `"b"`, `""`, `null`, `7`, `["a", "b"]`, `[]`}))
	}
	if h.r.IntN(2) == 0 {
		add(`"$session_id":"s%d"`, h.r.IntN(3))
	}
	h.r.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
	e.Properties = json.RawMessage("{" + strings.Join(p, ",") + "}")
	return e
}

// compare asks the store and the oracle random questions, and all of everything.
func (h *surveyHistory) compare(t *testing.T) {
	t.Helper()
	for _, project := range h.projects {
		for _, excluded := range []bool{false, true} {
			for _, id := range append(h.surveys[h.projects[0]], h.surveys[h.projects[1]]...) {
				h.ask(t, surveys.Query{Project: project, Surveys: []uuid.UUID{id}, ExcludeArchived: excluded})
			}
		}
	}
	for range 4 {
		q := surveys.Query{Project: pick(h.r, h.projects), ExcludeArchived: h.r.IntN(2) == 0}
		for _, survey := range append(h.surveys[h.projects[0]], h.surveys[h.projects[1]]...) {
			if h.r.IntN(3) > 0 {
				q.Surveys = append(q.Surveys, survey)
			}
		}
		if h.r.IntN(3) > 0 {
			q.From = new(h.time())
		}
		if h.r.IntN(3) > 0 {
			q.To = new(h.time())
		}
		h.ask(t, q)
	}
}

func (h *surveyHistory) ask(t *testing.T, q surveys.Query) {
	t.Helper()
	wantSame(t, fmt.Sprintf("%+v", q), h.s, h.oracle, q)
}
