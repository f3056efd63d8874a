package management_test

import (
	"io"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
)

// surveyMethods are the methods of surveys.
func surveyMethods() []method {
	const questions = `"questions":[{"id":"q1","type":"rating","question":"How?","scale":5}]`
	make := func(body string) func(*callable) {
		return func(c *callable) { c.id = c.survey(body).ID.String() }
	}
	draft := make(`{"name":"NPS"}`)
	running := make(`{"name":"NPS","start_date":` + date(0) + `}`)
	answered := func(c *callable) {
		id := c.survey(`{"name":"NPS","start_date":` + date(0) + `,` + questions + `}`).ID
		c.id = id.String()
		c.answer(id, 2)
	}
	response := uuid.NewString()
	archived := func(c *callable) {
		answered(c)
		c.ok(c.ArchiveResponse(c.t.Context(), c.as(c.ada), c.web, c.id, response))
	}
	patch := func(c *callable, body string) management.SurveyPatch {
		return decode[management.SurveyPatch](c.t, body)
	}
	return []method{
		{
			name: "ListSurveys", scope: "survey:read", kind: ofProject, first: draft,
			call: func(c *callable) error {
				return second(c.ListSurveys(c.ctx, c.p, c.web, management.SurveyFilter{}, 10, 0))
			},
		},
		{
			name: "Survey", scope: "survey:read", kind: ofProject, first: draft,
			call: func(c *callable) error { return second(c.Survey(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "CreateSurvey", scope: "survey:write", kind: ofProject, log: []string{"Survey created by ada in nothing"}, once: "invalid unique",
			call: func(c *callable) error {
				return second(c.CreateSurvey(c.ctx, c.p, c.web, patch(c, `{"name":"NPS","type":"popover",`+questions+`,`+sampling+`}`)))
			},
		},
		{
			name: "UpdateSurvey", scope: "survey:write", kind: ofProject, log: []string{"Survey updated by ada in nothing"}, first: draft,
			call: func(c *callable) error {
				return second(c.UpdateSurvey(c.ctx, c.p, c.web, c.id, patch(c, `{"name":"NPS 2","start_date":`+date(0)+`,"iteration_count":2,"iteration_frequency_days":7,`+sampling+`}`)))
			},
		},
		{
			name: "UpdateSurvey without targeting", scope: "survey:write", also: "feature_flag:write", kind: ofProject,
			log: []string{"Survey updated by ada in nothing"},
			first: func(c *callable) {
				f := c.storeFlag(c.world.web, "ordinary", byPlan)
				c.id = c.survey(`{"name":"NPS","targeting_flag_id":` + encode(c.t, f.ID) + `}`).ID.String()
			},
			call: func(c *callable) error {
				return second(c.UpdateSurvey(c.ctx, c.p, c.web, c.id, patch(c, `{"remove_targeting_flag":true}`)))
			},
		},
		{
			name: "LaunchSurvey", scope: "survey:write", kind: ofProject, log: []string{"Survey launched by ada in nothing"}, first: draft,
			call: func(c *callable) error { return second(c.LaunchSurvey(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "StopSurvey", scope: "survey:write", kind: ofProject, log: []string{"Survey stopped by ada in nothing"}, first: running,
			call: func(c *callable) error { return second(c.StopSurvey(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "DeleteSurvey", scope: "survey:write", kind: ofProject, log: []string{"Survey deleted by ada in nothing"}, once: "not found not_found",
			first: make(`{"name":"NPS",` + sampling + `}`),
			call:  func(c *callable) error { return c.DeleteSurvey(c.ctx, c.p, c.web, c.id) },
		},
		{
			name: "CopySurvey", scope: "survey:write", kind: ofProject, log: []string{"Survey created by ada in nothing"}, first: draft,
			call: func(c *callable) error {
				return second(c.CopySurvey(c.ctx, c.p, c.web, c.id, copyTo(c.world.web)))
			},
		},
		{
			name: "SurveyStats", scope: "survey:read", kind: ofProject, first: answered,
			call: func(c *callable) error {
				return second(c.SurveyStats(c.ctx, c.p, c.web, c.id, management.StatsQuery{PerQuestion: true}))
			},
		},
		{
			name: "ProjectSurveyStats", scope: "survey:read", kind: ofProject, first: answered,
			call: func(c *callable) error {
				return second(c.ProjectSurveyStats(c.ctx, c.p, c.web, management.StatsQuery{}))
			},
		},
		{
			name: "CountSurveyResponses", scope: "survey:read", kind: ofProject, first: answered,
			call: func(c *callable) error { return second(c.CountSurveyResponses(c.ctx, c.p, c.web, nil, true)) },
		},
		{
			name: "SurveyResponses", scope: "survey:read", also: "query:read", kind: ofProject, first: answered,
			call: func(c *callable) error {
				return second(c.SurveyResponses(c.ctx, c.p, c.web, c.id, management.ResponseQuery{}))
			},
		},
		{
			name: "WriteResponses", scope: "survey:read", also: "query:read", kind: ofProject, first: answered,
			call: func(c *callable) error {
				return c.WriteResponses(c.ctx, io.Discard, c.p, c.web, c.id, management.ResponseQuery{})
			},
		},
		{
			name: "ArchiveResponse", scope: "survey:write", kind: ofProject, log: []string{"Survey response_archived by ada in nothing"}, first: answered,
			call: func(c *callable) error { return c.ArchiveResponse(c.ctx, c.p, c.web, c.id, response) },
		},
		{
			name: "UnarchiveResponse", scope: "survey:write", kind: ofProject, log: []string{"Survey response_unarchived by ada in nothing"}, first: archived,
			call: func(c *callable) error { return c.UnarchiveResponse(c.ctx, c.p, c.web, c.id, response) },
		},
		{
			name: "ArchivedResponses", scope: "survey:read", kind: ofProject, first: archived,
			call: func(c *callable) error { return second(c.ArchivedResponses(c.ctx, c.p, c.web, c.id)) },
		},
		{
			name: "QuestionLabels", scope: "survey:read", kind: ofProject, first: answered,
			call: func(c *callable) error { return second(c.QuestionLabels(c.ctx, c.p, c.web)) },
		},
		{
			name: "SummarizeResponses", scope: "survey:read", kind: ofProject, first: answered,
			call: func(c *callable) error {
				return second(c.SummarizeResponses(c.ctx, c.p, c.web, c.id, management.SummaryQuery{QuestionID: "q1"}))
			},
		},
		{
			name: "SurveyHeadline", scope: "survey:read", kind: ofProject, first: answered,
			call: func(c *callable) error {
				return second(c.SurveyHeadline(c.ctx, c.p, c.web, c.id, management.SummaryRefresh{}))
			},
		},
		{
			name: "KeepSurveys", log: []string{"Survey updated by the system in nothing"},
			first: func(c *callable) {
				id := c.survey(`{"start_date":` + date(0) + `,"iteration_count":2,"iteration_frequency_days":1,"responses_limit":5,` + sampling + `}`).ID
				c.answer(id, 1)
				c.clock.advance(30 * aDay)
			},
			call: func(c *callable) error { return c.KeepSurveys(c.ctx) },
		},
		{
			name:  "Sink",
			sees:  true,
			first: func(c *callable) { c.answer(uuid.New(), 1) }, // of which the project learns that it has events
			call: func(c *callable) error {
				e := captured(c.world.web, "survey shown", uuid.New(), "d", begin, `{}`)
				return c.Sink(c.store).Write(c.ctx, []capture.Event{e})
			},
		},
	}
}
