package management_test

import (
	"encoding/json"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

// survey makes a survey of Web by a JSON document.
func (c *callable) survey(body string) *survey.View {
	c.t.Helper()
	patch := decode[survey.Patch](c.t, body)
	patch.Type = optional.Of("popover")
	if !patch.Name.Set {
		patch.Name = optional.Of("Survey " + uuid.NewString())
	}
	return must(c.surveys.Create(c.t.Context(), c.as(c.ada), c.web, patch))(c.t)
}

// surveyEvent returns an event about a survey, with more properties.
func (w *world) surveyEvent(name string, id uuid.UUID, more string) capture.Event {
	return capture.Event{
		Project: w.web.ID, UUID: uuid.Must(uuid.NewV7()), Name: name, DistinctID: "d", Time: w.clock.Now(), Received: w.clock.Now(),
		Properties: json.RawMessage(`{"$survey_id":"` + id.String() + `"` + more + `}`),
	}
}

// answer stores n responses to a survey.
func (w *world) answer(id uuid.UUID, n int) {
	w.t.Helper()
	for range n {
		w.ok(w.store.Write(w.t.Context(), []capture.Event{w.surveyEvent("survey sent", id, `,"$survey_response_q1":4`)}))
	}
}

// surveyMethods are the methods of the Service of surveys.
func surveyMethods() []method {
	const (
		questions = `"questions":[{"id":"q1","type":"rating","question":"How?","scale":5}]`
		started   = `"start_date":"2026-03-04T05:06:07Z"`
		sampling  = `"response_sampling_start_date":"2026-03-04T00:00:00Z","response_sampling_interval":1,"response_sampling_limit":10`
	)
	make := func(body string) func(*callable) {
		return func(c *callable) { c.id = c.survey(body).ID.String() }
	}
	draft := make(`{"name":"NPS"}`)
	running := make(`{"name":"NPS",` + started + `}`)
	answered := func(c *callable) {
		id := c.survey(`{"name":"NPS",` + started + `,` + questions + `}`).ID
		c.id = id.String()
		c.answer(id, 2)
	}
	response := uuid.NewString()
	archived := func(c *callable) {
		answered(c)
		c.ok(c.surveys.ArchiveResponse(c.t.Context(), c.as(c.ada), c.web, c.id, response))
	}
	patch := func(c *callable, body string) survey.Patch {
		return decode[survey.Patch](c.t, body)
	}
	return []method{
		{
			name: "surveys.List", scope: "survey:read", kind: ofProject, first: draft,
			call: func(c *callable) error {
				return second(c.surveys.List(c.ctx, c.p, c.web, survey.Filter{}, 10, 0))
			},
		},
		{
			name: "surveys.Survey", scope: "survey:read", kind: ofProject, first: draft,
			call: func(c *callable) error { return second(c.surveys.Survey(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "surveys.Create", scope: "survey:write", kind: ofProject, log: []string{"Survey created by ada in nothing"}, once: "invalid unique",
			call: func(c *callable) error {
				return second(c.surveys.Create(c.ctx, c.p, c.web, patch(c, `{"name":"NPS","type":"popover",`+questions+`,`+sampling+`}`)))
			},
		},
		{
			name: "surveys.Update", scope: "survey:write", kind: ofProject, log: []string{"Survey updated by ada in nothing"}, first: draft,
			call: func(c *callable) error {
				return second(c.surveys.Update(c.ctx, c.p, c.web, c.id, patch(c, `{"name":"NPS 2",`+started+`,"iteration_count":2,"iteration_frequency_days":7,`+sampling+`}`)))
			},
		},
		{
			name: "surveys.Replace", scope: "survey:write", kind: ofProject, log: []string{"Survey updated by ada in nothing"}, first: draft,
			call: func(c *callable) error {
				return second(c.surveys.Replace(c.ctx, c.p, c.web, c.id, patch(c, `{"name":"NPS 2","type":"popover",`+started+`,"iteration_count":2,"iteration_frequency_days":7,`+sampling+`}`)))
			},
		},
		{
			name: "surveys.Update without targeting", scope: "survey:write", also: "feature_flag:write", kind: ofProject,
			log: []string{"Survey updated by ada in nothing"},
			first: func(c *callable) {
				c.id = c.survey(`{"name":"NPS","targeting_flag_id":` + c.flag(c.world.web, `{"key":"ordinary","filters":`+everybody+`}`) + `}`).ID.String()
			},
			call: func(c *callable) error {
				return second(c.surveys.Update(c.ctx, c.p, c.web, c.id, patch(c, `{"remove_targeting_flag":true}`)))
			},
		},
		{
			name: "surveys.Launch", scope: "survey:write", kind: ofProject, log: []string{"Survey launched by ada in nothing"}, first: draft,
			call: func(c *callable) error { return second(c.surveys.Launch(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "surveys.Stop", scope: "survey:write", kind: ofProject, log: []string{"Survey stopped by ada in nothing"}, first: running,
			call: func(c *callable) error { return second(c.surveys.Stop(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "surveys.Delete", scope: "survey:write", kind: ofProject, log: []string{"Survey deleted by ada in nothing"}, once: "not found not_found",
			first: make(`{"name":"NPS",` + sampling + `}`),
			call:  func(c *callable) error { return c.surveys.Delete(c.ctx, c.p, c.web, c.id) },
		},
		{
			name: "surveys.Copy", scope: "survey:write", kind: ofProject, log: []string{"Survey created by ada in nothing"}, first: draft,
			call: func(c *callable) error {
				return second(c.surveys.Copy(c.ctx, c.p, c.web, c.id, survey.CopyRequest{Projects: anyJSON([]int64{c.world.web.ID})}))
			},
		},
		{
			name: "surveys.Stats", scope: "survey:read", kind: ofProject, first: answered,
			call: func(c *callable) error {
				return second(c.surveys.Stats(c.ctx, c.p, c.web, c.id, survey.StatsQuery{PerQuestion: true}))
			},
		},
		{
			name: "surveys.ProjectStats", scope: "survey:read", kind: ofProject, first: answered,
			call: func(c *callable) error {
				return second(c.surveys.ProjectStats(c.ctx, c.p, c.web, survey.StatsQuery{}))
			},
		},
		{
			name: "surveys.CountResponses", scope: "survey:read", kind: ofProject, first: answered,
			call: func(c *callable) error { return second(c.surveys.CountResponses(c.ctx, c.p, c.web, nil, true)) },
		},
		{
			name: "surveys.Responses", scope: "survey:read", also: "query:read", kind: ofProject, first: answered,
			call: func(c *callable) error {
				return second(c.surveys.Responses(c.ctx, c.p, c.web, c.id, survey.ResponseQuery{}))
			},
		},
		{
			name: "surveys.WriteResponses", scope: "survey:read", also: "query:read", kind: ofProject, first: answered,
			call: func(c *callable) error {
				return c.surveys.WriteResponses(c.ctx, io.Discard, c.p, c.web, c.id, survey.ResponseQuery{})
			},
		},
		{
			name: "surveys.ArchiveResponse", scope: "survey:write", kind: ofProject, log: []string{"Survey response_archived by ada in nothing"}, first: answered,
			call: func(c *callable) error { return c.surveys.ArchiveResponse(c.ctx, c.p, c.web, c.id, response) },
		},
		{
			name: "surveys.UnarchiveResponse", scope: "survey:write", kind: ofProject, log: []string{"Survey response_unarchived by ada in nothing"}, first: archived,
			call: func(c *callable) error { return c.surveys.UnarchiveResponse(c.ctx, c.p, c.web, c.id, response) },
		},
		{
			name: "surveys.ArchivedResponses", scope: "survey:read", kind: ofProject, first: archived,
			call: func(c *callable) error { return second(c.surveys.ArchivedResponses(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "surveys.QuestionLabels", scope: "survey:read", kind: ofProject, first: answered,
			call: func(c *callable) error { return second(c.surveys.QuestionLabels(c.ctx, c.p, c.web)) },
		},
		{
			name: "surveys.Summarize", scope: "survey:read", kind: ofProject, first: answered,
			call: func(c *callable) error {
				return second(c.surveys.Summarize(c.ctx, c.p, c.web, c.id, survey.SummaryQuery{QuestionID: "q1"}))
			},
		},
		{
			name: "surveys.Headline", scope: "survey:read", kind: ofProject, first: answered,
			call: func(c *callable) error {
				return second(c.surveys.Headline(c.ctx, c.p, c.web, c.id, survey.SummaryRefresh{}))
			},
		},
		{
			name: "surveys.Keep", log: []string{"Survey updated by the system in nothing"},
			first: func(c *callable) {
				id := c.survey(`{` + started + `,"iteration_count":2,"iteration_frequency_days":1,"responses_limit":5,` + sampling + `}`).ID
				c.answer(id, 1)
				c.clock.advance(30 * 24 * time.Hour)
			},
			call: func(c *callable) error { return c.surveys.Keep(c.ctx) },
		},
		{
			name:  "surveys.Sink",
			sees:  true,
			first: func(c *callable) { c.answer(uuid.New(), 1) }, // of which the project learns that it has events
			call: func(c *callable) error {
				e := c.surveyEvent("survey shown", uuid.New(), "")
				return c.surveys.Sink(c.store).Write(c.ctx, []capture.Event{e})
			},
		},
	}
}
