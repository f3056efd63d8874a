package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
)

// managedRoutes are the routes of what a project serves, except surveys: flags, cohorts,
// early access features, persons and groups.
var managedRoutes = slices.Concat([]route{
	projectRoute("/activity_log", methods{get: listActivity("")}),

	projectRoute("/early_access_feature", methods{
		get: listOf((*service).ListEarlyAccessFeatures), post: createOf((*service).CreateEarlyAccessFeature),
	}),
	projectRoute("/early_access_feature/{id}", methods{
		get: readOf((*service).EarlyAccessFeature), patch: changeOf((*service).UpdateEarlyAccessFeature), delete: removeOf((*service).DeleteEarlyAccessFeature),
	}),
	projectRoute("/early_access_feature/{id}/enrollments", methods{get: listEnrollments}),
}, flagRoutes, cohortRoutes, personRoutes, eventRoutes)

// serviceOf returns the Service with the methods that are operations of a route.
func serviceOf[S any](a *apiRequest) S {
	if s, ok := any(a.s.config.Management.Service).(S); ok {
		return s
	}
	return any(a.s.config.Management.Surveys).(S)
}

// The functions that follow are read, change, create, remove and listPage for things
// that belong to the project in the path, and have an ID there.

func readOf[S, T any](f func(S, context.Context, *principal, string, string) (T, error)) operation {
	return func(a *apiRequest) error {
		v, err := f(serviceOf[S](a), a.context(), a.principal, a.segment("project"), a.segment("id"))
		return a.answer(http.StatusOK, v, err)
	}
}

func changeOf[S, P, T any](f func(S, context.Context, *principal, string, string, P) (T, error)) operation {
	return changeWith(http.StatusOK, func(a *apiRequest, patch P) (T, error) {
		return f(serviceOf[S](a), a.context(), a.principal, a.segment("project"), a.segment("id"), patch)
	})
}

func createOf[S, P, T any](f func(S, context.Context, *principal, string, P) (T, error)) operation {
	return changeWith(http.StatusCreated, func(a *apiRequest, patch P) (T, error) {
		return f(serviceOf[S](a), a.context(), a.principal, a.segment("project"), patch)
	})
}

// askIn is createOf for a question, which stores nothing.
func askIn[P, T any](f func(*service, context.Context, *principal, string, P) (T, error)) operation {
	return changeWith(http.StatusOK, func(a *apiRequest, patch P) (T, error) {
		return f(a.service(), a.context(), a.principal, a.segment("project"), patch)
	})
}

func removeOf[S any](f func(S, context.Context, *principal, string, string) error) operation {
	return func(a *apiRequest) error {
		return a.done(f(serviceOf[S](a), a.context(), a.principal, a.segment("project"), a.segment("id")))
	}
}

func listOf[T any](f func(s *service, ctx context.Context, p *principal, project string, limit, offset int) (*management.Page[T], error)) operation {
	return func(a *apiRequest) error {
		limit, offset := a.window()
		page, err := f(a.service(), a.context(), a.principal, a.segment("project"), limit, offset)
		return answerPage(a, page, err)
	}
}

// listEnrollments answers with who has enrolled in an early access feature, or with
// opted_out=true who has chosen against it.
func listEnrollments(a *apiRequest) error {
	optedOut, err := a.asked("opted_out")
	if err != nil {
		return err
	}
	limit, offset := a.window()
	v, err := a.service().ListEnrollments(a.context(), a.principal, a.segment("project"), a.segment("id"), optedOut, limit, offset)
	return a.answer(http.StatusOK, v, err)
}

// listActivity answers with a page of the activity log: about one thing if the path
// names one (management.md §3.2, §11.7).
func listActivity(scope string) operation {
	return func(a *apiRequest) error {
		q := management.ActivityQuery{
			Scope: scope, ItemID: a.segment("id"), User: a.param("user"), Since: a.param("since"), Until: a.param("until"),
			Name: a.param("name"), Search: a.param("search"), Before: a.param("before"), Page: a.pageNumber("page", 1), Limit: a.pageNumber("limit", 10),
		}
		page, err := a.service().ListActivity(a.context(), a.principal, a.segment("project"), q)
		if err != nil {
			return err
		}
		limit := min(q.Limit, management.MaxActivities)
		body := activityAnswer{Results: append([]management.ActivityView{}, page.Items...), Total: page.Total}
		link := func(page int) *string {
			return new(a.urlWith("page", strconv.Itoa(page), "limit", strconv.Itoa(limit)))
		}
		if q.Page > 1 {
			body.Previous = link(q.Page - 1)
		}
		if q.Page*limit < page.Total {
			body.Next = link(q.Page + 1)
		}
		return a.answer(http.StatusOK, body, nil)
	}
}

// pageNumber reads a parameter that counts from 1. Zero and what is not a number count
// as missing.
func (a *apiRequest) pageNumber(name string, otherwise int) int {
	text := a.param(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return min(n, maxOffset)
}

type activityAnswer struct {
	Results  []management.ActivityView `json:"results"`
	Next     *string                   `json:"next"`
	Previous *string                   `json:"previous"`
	Total    int                       `json:"total_count"`
}
