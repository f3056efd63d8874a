package surveys

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server"
)

// Routes are the routes of surveys (api.md §3.3; management.md §9.11, §11), for the Routes of
// [server.ManagementConfig].
func (s *Service) Routes() []server.ProjectRoute {
	return []server.ProjectRoute{
		{Path: "/surveys", Get: s.answerList, Post: s.answerCreate},
		{Path: "/surveys/activity", Get: server.ListActivity("Survey")},
		{Path: "/surveys/question_labels", Get: s.answerLabels},
		{Path: "/surveys/responses_count", Get: s.answerCount},
		{Path: "/surveys/stats", Get: s.answerProjectStats},
		{Path: "/surveys/{id}", Get: showOf(s.Survey), Put: changeOf(s.Replace), Patch: changeOf(s.Update), Delete: s.answerDelete},
		{Path: "/surveys/{id}/activity", Get: server.ListActivity("Survey")},
		{Path: "/surveys/{id}/archived-response-uuids", Get: showOf(s.ArchivedResponses)},
		{Path: "/surveys/{id}/duplicate_to_projects", Post: s.answerCopy},
		{Path: "/surveys/{id}/launch", Post: showOf(s.Launch)},
		{Path: "/surveys/{id}/stop", Post: showOf(s.Stop)},
		{Path: "/surveys/{id}/stats", Get: s.answerStats},
		{Path: "/surveys/{id}/responses", Get: s.answerResponses},
		{Path: "/surveys/{id}/responses/{response}/archive", Post: onResponse(s.ArchiveResponse)},
		{Path: "/surveys/{id}/responses/{response}/unarchive", Post: onResponse(s.UnarchiveResponse)},
		{Path: "/surveys/{id}/summarize_responses", Post: s.answerSummary},
		{Path: "/surveys/{id}/summary_headline", Post: changeOf(s.Headline)},
	}
}

// showOf answers with what a method returns of the survey in the path.
func showOf[T any](f func(context.Context, *management.Principal, string, string) (T, error)) server.Operation {
	return func(r *server.Request) error {
		v, err := f(r.Context(), r.Principal(), r.Project(), r.Segment("id"))
		return r.Answer(http.StatusOK, v, err)
	}
}

// changeOf is showOf for a method that takes the body.
func changeOf[P, T any](f func(context.Context, *management.Principal, string, string, P) (T, error)) server.Operation {
	return func(r *server.Request) error {
		return withBody(r, http.StatusOK, func(patch P) (T, error) {
			return f(r.Context(), r.Principal(), r.Project(), r.Segment("id"), patch)
		})
	}
}

// withBody decodes the body, and answers with what f returns.
func withBody[P, T any](r *server.Request, status int, f func(P) (T, error)) error {
	var patch P
	if err := r.Decode(&patch); err != nil {
		return err
	}
	v, err := f(patch)
	return r.Answer(status, v, err)
}

func onResponse(f func(context.Context, *management.Principal, string, string, string) error) server.Operation {
	return func(r *server.Request) error {
		return r.Done(f(r.Context(), r.Principal(), r.Project(), r.Segment("id"), r.Segment("response")))
	}
}

// answerList answers with the surveys that a query selects (management.md §9.11). A text that
// is not an ID selects nothing.
func (s *Service) answerList(r *server.Request) error {
	filter := Filter{Type: r.Param("type"), Search: r.Param("search")}
	var err error
	if filter.Archived, err = r.Truth("archived"); err != nil {
		return err
	}
	if ids := r.ParamList("ids"); len(ids) > 0 {
		filter.IDs = []uuid.UUID{}
		for _, text := range ids {
			if id, err := uuid.Parse(text); err == nil {
				filter.IDs = append(filter.IDs, id)
			}
		}
	}
	limit, offset := r.Window()
	page, err := s.List(r.Context(), r.Principal(), r.Project(), filter, limit, offset)
	return server.AnswerPage(r, page, err)
}

func (s *Service) answerCreate(r *server.Request) error {
	return withBody(r, http.StatusCreated, func(patch Patch) (*View, error) {
		return s.Create(r.Context(), r.Principal(), r.Project(), patch)
	})
}

func (s *Service) answerDelete(r *server.Request) error {
	if err := s.Delete(r.Context(), r.Principal(), r.Project(), r.Segment("id")); err != nil {
		return err
	}
	return r.Empty()
}

func (s *Service) answerCopy(r *server.Request) error {
	return withBody(r, http.StatusCreated, func(q CopyRequest) (*Copies, error) {
		return s.Copy(r.Context(), r.Principal(), r.Project(), r.Segment("id"), q)
	})
}

func statsQueryOf(r *server.Request) (q StatsQuery, err error) {
	q.From, q.To = r.Param("date_from"), r.Param("date_to")
	if q.ExcludeArchived, err = r.Asked("exclude_archived"); err != nil {
		return q, err
	}
	if q.PerQuestion, err = r.Asked("include_per_question_stats"); err != nil {
		return q, err
	}
	q.PerDay, err = r.Asked("include_per_day_stats")
	return q, err
}

func (s *Service) answerStats(r *server.Request) error {
	q, err := statsQueryOf(r)
	if err != nil {
		return err
	}
	v, err := s.Stats(r.Context(), r.Principal(), r.Project(), r.Segment("id"), q)
	return r.Answer(http.StatusOK, v, err)
}

func (s *Service) answerProjectStats(r *server.Request) error {
	q, err := statsQueryOf(r)
	if err != nil {
		return err
	}
	v, err := s.ProjectStats(r.Context(), r.Principal(), r.Project(), q)
	return r.Answer(http.StatusOK, v, err)
}

func (s *Service) answerCount(r *server.Request) error {
	withoutArchived, err := r.Asked("exclude_archived")
	if err != nil {
		return err
	}
	v, err := s.CountResponses(r.Context(), r.Principal(), r.Project(), r.ParamList("survey_ids"), withoutArchived)
	return r.Answer(http.StatusOK, v, err)
}

func (s *Service) answerLabels(r *server.Request) error {
	labels, err := s.QuestionLabels(r.Context(), r.Principal(), r.Project())
	return r.Answer(http.StatusOK, struct {
		Labels []QuestionLabel `json:"labels"`
	}{labels}, err)
}

// answerResponses answers with a page of responses, or with all of them as CSV.
func (s *Service) answerResponses(r *server.Request) error {
	q := ResponseQuery{
		Since: r.Param("since"), Until: r.Param("until"), QuestionID: r.Param("question_id"), Least: r.Param("score_gte"), Most: r.Param("score_lte"),
		Limit: r.Param("limit"), Offset: r.Param("offset"), Search: r.Param("search"),
	}
	var err error
	if q.ExcludeArchived, err = r.Asked("exclude_archived"); err != nil {
		return err
	}
	switch format := r.Param("format"); format {
	case "", "json":
		page, err := s.Responses(r.Context(), r.Principal(), r.Project(), r.Segment("id"), q)
		return r.Answer(http.StatusOK, page, err)
	case "csv":
		return s.WriteResponses(r.Context(), r.Stream("text/csv; charset=utf-8", "responses.csv"), r.Principal(), r.Project(), r.Segment("id"), q)
	default:
		return server.BadParameter("format", format, "json or csv")
	}
}

func (s *Service) answerSummary(r *server.Request) error {
	return withBody(r, http.StatusOK, func(refresh SummaryRefresh) (any, error) {
		q := SummaryQuery{QuestionID: r.Param("question_id"), QuestionIndex: r.Param("question_index"), Refresh: refresh}
		if q.QuestionID == "" && q.QuestionIndex == "" {
			return s.Headline(r.Context(), r.Principal(), r.Project(), r.Segment("id"), refresh)
		}
		v, err := s.Summarize(r.Context(), r.Principal(), r.Project(), r.Segment("id"), q)
		if err == nil && !v.Cached {
			r.Header()["Cache-Control"] = []string{"max-age=15"}
		}
		return v, err
	})
}
