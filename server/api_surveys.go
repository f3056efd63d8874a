package server

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/survey"
)

type surveys = survey.Service

// surveyRoutes are the routes of surveys (api.md §3.3; management.md §9.11, §11).
var surveyRoutes = []route{
	projectRoute("/surveys", methods{get: listSurveys, post: createOf((*surveys).Create)}),
	projectRoute("/surveys/activity", methods{get: listActivity("Survey")}),
	projectRoute("/surveys/question_labels", methods{get: questionLabels}),
	projectRoute("/surveys/responses_count", methods{get: countResponses}),
	projectRoute("/surveys/stats", methods{get: projectSurveyStats}),
	projectRoute("/surveys/{id}", methods{
		get: readOf((*surveys).Survey), put: changeOf((*surveys).Replace), patch: changeOf((*surveys).Update), delete: removeOf((*surveys).Delete),
	}),
	projectRoute("/surveys/{id}/activity", methods{get: listActivity("Survey")}),
	projectRoute("/surveys/{id}/archived-response-uuids", methods{get: readOf((*surveys).ArchivedResponses)}),
	projectRoute("/surveys/{id}/duplicate_to_projects", methods{post: copySurvey}),
	projectRoute("/surveys/{id}/launch", methods{post: readOf((*surveys).Launch)}),
	projectRoute("/surveys/{id}/stop", methods{post: readOf((*surveys).Stop)}),
	projectRoute("/surveys/{id}/stats", methods{get: surveyStats}),
	projectRoute("/surveys/{id}/responses", methods{get: surveyResponses}),
	projectRoute("/surveys/{id}/responses/{response}/archive", methods{post: onResponse((*surveys).ArchiveResponse)}),
	projectRoute("/surveys/{id}/responses/{response}/unarchive", methods{post: onResponse((*surveys).UnarchiveResponse)}),
	projectRoute("/surveys/{id}/summarize_responses", methods{post: summarizeResponses}),
	projectRoute("/surveys/{id}/summary_headline", methods{post: surveyHeadline}),
}

// listSurveys answers with the surveys that a query selects (management.md §9.11).
// A text that is not an ID selects nothing.
func listSurveys(a *apiRequest) error {
	filter := survey.Filter{Type: a.param("type"), Search: a.param("search")}
	var err error
	if filter.Archived, err = a.truth("archived"); err != nil {
		return err
	}
	if ids := a.listParam("ids"); len(ids) > 0 {
		filter.IDs = []uuid.UUID{}
		for _, text := range ids {
			if id, err := uuid.Parse(text); err == nil {
				filter.IDs = append(filter.IDs, id)
			}
		}
	}
	limit, offset := a.window()
	page, err := a.s.config.Management.Surveys.List(a.context(), a.principal, a.segment("project"), filter, limit, offset)
	return answerPage(a, page, err)
}

func (a *apiRequest) statsQuery() (q survey.StatsQuery, err error) {
	q.From, q.To = a.param("date_from"), a.param("date_to")
	if q.ExcludeArchived, err = a.asked("exclude_archived"); err != nil {
		return q, err
	}
	if q.PerQuestion, err = a.asked("include_per_question_stats"); err != nil {
		return q, err
	}
	q.PerDay, err = a.asked("include_per_day_stats")
	return q, err
}

func surveyStats(a *apiRequest) error {
	q, err := a.statsQuery()
	if err != nil {
		return err
	}
	v, err := a.s.config.Management.Surveys.Stats(a.context(), a.principal, a.segment("project"), a.segment("id"), q)
	return a.answer(http.StatusOK, v, err)
}

func projectSurveyStats(a *apiRequest) error {
	q, err := a.statsQuery()
	if err != nil {
		return err
	}
	v, err := a.s.config.Management.Surveys.ProjectStats(a.context(), a.principal, a.segment("project"), q)
	return a.answer(http.StatusOK, v, err)
}

func countResponses(a *apiRequest) error {
	withoutArchived, err := a.asked("exclude_archived")
	if err != nil {
		return err
	}
	v, err := a.s.config.Management.Surveys.CountResponses(a.context(), a.principal, a.segment("project"), a.listParam("survey_ids"), withoutArchived)
	return a.answer(http.StatusOK, v, err)
}

func questionLabels(a *apiRequest) error {
	labels, err := a.s.config.Management.Surveys.QuestionLabels(a.context(), a.principal, a.segment("project"))
	return a.answer(http.StatusOK, struct {
		Labels []survey.QuestionLabel `json:"labels"`
	}{labels}, err)
}

func onResponse(f func(*surveys, context.Context, *principal, string, string, string) error) operation {
	return func(a *apiRequest) error {
		err := f(a.s.config.Management.Surveys, a.context(), a.principal, a.segment("project"), a.segment("id"), a.segment("response"))
		return a.answer(http.StatusOK, succeeded{Success: true}, err)
	}
}

// surveyResponses answers with a page of responses, or with all of them as CSV.
func surveyResponses(a *apiRequest) error {
	q := survey.ResponseQuery{
		Since: a.param("since"), Until: a.param("until"), QuestionID: a.param("question_id"), Least: a.param("score_gte"), Most: a.param("score_lte"),
		Limit: a.param("limit"), Offset: a.param("offset"), Search: a.param("search"),
	}
	var err error
	if q.ExcludeArchived, err = a.asked("exclude_archived"); err != nil {
		return err
	}
	switch format := a.param("format"); format {
	case "", "json":
		page, err := a.s.config.Management.Surveys.Responses(a.context(), a.principal, a.segment("project"), a.segment("id"), q)
		return a.answer(http.StatusOK, page, err)
	case "csv":
		w := &responseWriter{x: a.x, head: func(h http.Header) {
			h["Content-Type"] = []string{"text/csv; charset=utf-8"}
			h["Content-Disposition"] = []string{`attachment; filename="responses.csv"`}
		}}
		return a.s.config.Management.Surveys.WriteResponses(a.context(), w, a.principal, a.segment("project"), a.segment("id"), q)
	default:
		return (&parameterError{"format", format, "json or csv"}).refusal()
	}
}

// A responseWriter writes an answer of any length. It sends its header with the
// first byte, so that an error before that is answered as usual.
type responseWriter struct {
	x    *exchange
	head func(http.Header)
}

func (w *responseWriter) Write(b []byte) (int, error) {
	if w.x.status == 0 {
		w.head(w.x.w.Header())
		w.x.status, w.x.streams = http.StatusOK, true
		w.x.w.WriteHeader(http.StatusOK)
	}
	return w.x.write(b)
}

var summarizeResponses = changeWith(http.StatusOK, func(a *apiRequest, refresh survey.SummaryRefresh) (any, error) {
	q := survey.SummaryQuery{QuestionID: a.param("question_id"), QuestionIndex: a.param("question_index"), Refresh: refresh}
	if q.QuestionID == "" && q.QuestionIndex == "" {
		return a.s.config.Management.Surveys.Headline(a.context(), a.principal, a.segment("project"), a.segment("id"), refresh)
	}
	v, err := a.s.config.Management.Surveys.Summarize(a.context(), a.principal, a.segment("project"), a.segment("id"), q)
	if err == nil && !v.Cached {
		a.x.w.Header()["Cache-Control"] = []string{"max-age=15"}
	}
	return v, err
})

var surveyHeadline = changeOf((*surveys).Headline)

var copySurvey = changeWith(http.StatusCreated, func(a *apiRequest, q survey.CopyRequest) (*survey.Copies, error) {
	return a.s.config.Management.Surveys.Copy(a.context(), a.principal, a.segment("project"), a.segment("id"), q)
})
