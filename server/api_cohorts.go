package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
)

// cohortRoutes are the routes of cohorts (management.md §13.10).
var cohortRoutes = []route{
	routeInProject("/cohorts", methods{get: listCohorts, post: createOf((*service).CreateCohort)}),
	routeInProject("/cohorts/uses", methods{get: read("project", (*service).CohortUses)}),
	routeInProject("/cohorts/preview", methods{post: askIn((*service).PreviewCohort)}),
	routeInProject("/cohorts/{id}", methods{get: readOf((*service).Cohort), patch: changeOf((*service).UpdateCohort)}),
	routeInProject("/cohorts/{id}/members", methods{get: readOf((*service).CohortUpload), post: addMembers, stream: true}),
	routeInProject("/cohorts/{id}/persons", methods{get: listCohortPersons}),
	routeInProject("/cohorts/{id}/add_persons_to_static_cohort", methods{patch: onCohort((*service).AddCohortPersons)}),
	routeInProject("/cohorts/{id}/remove_person_from_static_cohort", methods{patch: onCohort((*service).RemoveCohortPerson)}),
}

func listCohorts(a *Request) error {
	q := management.CohortQuery{Type: a.Param("type"), CreatedBy: a.Param("created_by_id"), Search: a.Param("search")}
	limit, offset := a.Window()
	page, err := a.service().ListCohorts(a.Context(), a.principal, a.Segment("project"), q, limit, offset)
	return AnswerPage(a, page, err)
}

func onCohort(f func(*service, context.Context, *principal, string, string, management.CohortPersons) error) Operation {
	return changeWith(http.StatusOK, func(a *Request, q management.CohortPersons) (succeeded, error) {
		return succeeded{Success: true}, f(a.service(), a.Context(), a.principal, a.Segment("project"), a.Segment("id"), q)
	})
}

// addMembers adds the distinct IDs of a body to a static cohort while the body
// arrives.
func addMembers(a *Request) error {
	ids, err := a.uploadedIDs()
	if err != nil {
		return err
	}
	v, err := a.service().AddCohortIDs(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), ids)
	if errors.Is(err, errInterrupted) && v != nil {
		err = &management.Error{
			Kind: errInterrupted, Code: codeTimeout,
			Detail: fmt.Sprintf("The request body did not arrive in full. Before that %d were stored.", v.Received),
		}
	}
	return a.Answer(http.StatusOK, v, err)
}

func listCohortPersons(a *Request) error {
	limit, offset := a.Window()
	page, err := a.service().ListCohortPersons(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), limit, offset)
	return AnswerPage(a, page, err)
}
