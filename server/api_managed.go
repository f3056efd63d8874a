package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
)

// earlyAccessRoutes are the routes of early access features.
var earlyAccessRoutes = []ProjectRoute{
	{Path: "/early_access_feature", Get: listOf((*service).ListEarlyAccessFeatures), Post: createOf((*service).CreateEarlyAccessFeature)},
	{
		Path: "/early_access_feature/{id}", Get: readOf((*service).EarlyAccessFeature), Patch: changeOf((*service).UpdateEarlyAccessFeature),
		Delete: removeOf((*service).DeleteEarlyAccessFeature),
	},
	{Path: "/early_access_feature/{id}/enrollments", Get: listEnrollments},
}

// managedRoutes are the routes of what else a project serves: flags, cohorts, persons and
// groups.
var managedRoutes = slices.Concat([]route{
	routeInProject("/activity_log", methods{get: ListActivity("")}),
}, flagRoutes, cohortRoutes, personRoutes, eventRoutes)

// The functions that follow are read, change, create, remove and listPage for things
// that belong to the project in the path, and have an ID there.

func readOf[T any](f func(*service, context.Context, *principal, string, string) (T, error)) Operation {
	return func(a *Request) error {
		v, err := f(a.service(), a.Context(), a.principal, a.Segment("project"), a.Segment("id"))
		return a.Answer(http.StatusOK, v, err)
	}
}

func changeOf[P, T any](f func(*service, context.Context, *principal, string, string, P) (T, error)) Operation {
	return changeWith(http.StatusOK, func(a *Request, patch P) (T, error) {
		return f(a.service(), a.Context(), a.principal, a.Segment("project"), a.Segment("id"), patch)
	})
}

func createOf[P, T any](f func(*service, context.Context, *principal, string, P) (T, error)) Operation {
	return changeWith(http.StatusCreated, func(a *Request, patch P) (T, error) {
		return f(a.service(), a.Context(), a.principal, a.Segment("project"), patch)
	})
}

// askIn is createOf for a question, which stores nothing.
func askIn[P, T any](f func(*service, context.Context, *principal, string, P) (T, error)) Operation {
	return changeWith(http.StatusOK, func(a *Request, patch P) (T, error) {
		return f(a.service(), a.Context(), a.principal, a.Segment("project"), patch)
	})
}

func removeOf(f func(*service, context.Context, *principal, string, string) error) Operation {
	return func(a *Request) error {
		return a.done(f(a.service(), a.Context(), a.principal, a.Segment("project"), a.Segment("id")))
	}
}

func listOf[T any](f func(s *service, ctx context.Context, p *principal, project string, limit, offset int) (*management.Page[T], error)) Operation {
	return func(a *Request) error {
		limit, offset := a.Window()
		page, err := f(a.service(), a.Context(), a.principal, a.Segment("project"), limit, offset)
		return AnswerPage(a, page, err)
	}
}

// listEnrollments answers with who has enrolled in an early access feature, or with
// opted_out=true who has chosen against it.
func listEnrollments(a *Request) error {
	optedOut, err := a.Asked("opted_out")
	if err != nil {
		return err
	}
	limit, offset := a.Window()
	v, err := a.service().ListEnrollments(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), optedOut, limit, offset)
	return a.Answer(http.StatusOK, v, err)
}

// ListActivity answers with a page of the activity log about things of a kind, or about one
// thing if the path names its id (management.md §3.2, §11.7).
func ListActivity(scope string) Operation {
	return func(a *Request) error {
		q := management.ActivityQuery{
			Scope: scope, ItemID: a.Segment("id"), User: a.Param("user"), Since: a.Param("since"), Until: a.Param("until"),
			Name: a.Param("name"), Search: a.Param("search"), Before: a.Param("before"), Page: a.pageNumber("page", 1), Limit: a.pageNumber("limit", 10),
		}
		page, err := a.service().ListActivity(a.Context(), a.principal, a.Segment("project"), q)
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
		return a.Answer(http.StatusOK, body, nil)
	}
}

// pageNumber reads a parameter that counts from 1. Zero and what is not a number count
// as missing.
func (a *Request) pageNumber(name string, otherwise int) int {
	text := a.Param(name)
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
