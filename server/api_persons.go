package server

import (
	"context"
	"net/http"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// personRoutes are the routes of what events have made: persons and groups. They
// serve support, and persons who ask what is stored about them or want it deleted.
var personRoutes = []route{
	routeInProject("/persons", methods{get: listPersons}),
	routeInProject("/persons/{id}", methods{get: readOf((*service).GetPerson), delete: deletePerson}),
	routeInProject("/persons/{id}/events", methods{get: personEvents}),
	routeInProject("/persons/{id}/cohorts", methods{get: readOf((*service).PersonCohorts)}),
	routeInProject("/person_search", methods{get: searchPersons}),
	routeInProject("/persons/{id}/update_property", methods{post: changeOf((*service).UpdatePersonProperty)}),
	routeInProject("/persons/{id}/delete_property", methods{post: changeOf((*service).DeletePersonProperty)}),

	routeInProject("/event_definitions", methods{get: listDefinitions((*service).EventDefinitions)}),
	routeInProject("/property_definitions", methods{get: listDefinitions((*service).PropertyDefinitions)}),

	routeInProject("/groups_types", methods{get: read("project", (*service).GroupTypes)}),
	routeInProject("/groups", methods{get: listGroups}),
	routeInProject("/groups/find", methods{get: findGroup, delete: deleteGroup}),
	routeInProject("/groups/update_property", methods{post: updateGroup}),
	routeInProject("/groups/delete_property", methods{post: deleteGroupProperty}),
}

func listPersons(a *Request) error {
	q := storage.PersonFilter{DistinctID: a.Param("distinct_id"), Search: a.Param("search")}
	if text := a.Param("cohort"); text != "" {
		if _, err := a.service().Access(a.Context(), a.principal, a.Segment("project"), "person:read"); err != nil {
			return err
		}
		var err error
		if q.Cohort, err = strconv.ParseInt(text, 10, 64); err != nil {
			return &management.Error{Kind: management.ErrInvalid, Code: "invalid_input", Attr: "cohort", Detail: "A valid integer is required."}
		}
	}
	limit, offset := a.Window()
	page, err := a.service().ListPersons(a.Context(), a.principal, a.Segment("project"), q, limit, offset)
	return AnswerPage(a, page, err)
}

// searchPersons answers with a page that has no number, since nobody counts whom a search
// would find.
func searchPersons(a *Request) error {
	q := management.PersonSearch{Text: a.Param("search"), Properties: a.Param("properties"), After: a.Param("after")}
	limit, _ := a.Window()
	v, err := a.service().SearchPersons(a.Context(), a.principal, a.Segment("project"), q, limit)
	return a.Answer(http.StatusOK, v, err)
}

func personEvents(a *Request) error {
	limit, _ := a.Window()
	v, err := a.service().PersonEvents(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), limit)
	return a.Answer(http.StatusOK, v, err)
}

// deletePerson deletes a person. If its events are to be deleted as well, they are
// deleted later, which the status says.
func deletePerson(a *Request) error {
	events, err := a.Asked("delete_events")
	if err != nil {
		return err
	}
	err = a.service().DeletePerson(a.Context(), a.principal, a.Segment("project"), a.Segment("id"), events)
	if err == nil && events {
		return a.x.respond(http.StatusAccepted, typeJSON, nil)
	}
	return a.done(err)
}

// listDefinitions answers with a page of the names of events or properties.
func listDefinitions[V any](
	list func(*service, context.Context, *principal, string, management.DefinitionQuery, int, int) (*management.Page[V], error),
) Operation {
	return func(a *Request) error {
		q := management.DefinitionQuery{Search: a.Param("search"), Type: a.Param("type"), GroupTypeIndex: a.Param("group_type_index")}
		limit, offset := a.Window()
		page, err := list(a.service(), a.Context(), a.principal, a.Segment("project"), q, limit, offset)
		return AnswerPage(a, page, err)
	}
}

// group reads the parameters that name a group. A user without the scope gets only
// that error (management.md §2.5).
func (a *Request) group(scope management.Scope) (typeIndex int, key string, err error) {
	if _, err := a.service().Access(a.Context(), a.principal, a.Segment("project"), scope); err != nil {
		return 0, "", err
	}
	text := a.Param("group_type_index")
	if text == "" {
		return 0, "", &management.Error{Kind: management.ErrInvalid, Code: "required", Attr: "group_type_index", Detail: "This field is required."}
	}
	if typeIndex, err = strconv.Atoi(text); err != nil {
		return 0, "", &management.Error{Kind: management.ErrInvalid, Code: "invalid_input", Attr: "group_type_index", Detail: "A valid integer is required."}
	}
	return typeIndex, a.Param("group_key"), nil
}

func listGroups(a *Request) error {
	typeIndex, _, err := a.group("group:read")
	if err != nil {
		return err
	}
	limit, offset := a.Window()
	page, err := a.service().ListGroups(a.Context(), a.principal, a.Segment("project"), typeIndex, a.Param("search"), limit, offset)
	return AnswerPage(a, page, err)
}

func findGroup(a *Request) error {
	typeIndex, key, err := a.group("group:read")
	if err != nil {
		return err
	}
	v, err := a.service().FindGroup(a.Context(), a.principal, a.Segment("project"), typeIndex, key)
	return a.Answer(http.StatusOK, v, err)
}

func deleteGroup(a *Request) error {
	typeIndex, key, err := a.group("group:write")
	if err != nil {
		return err
	}
	return a.done(a.service().DeleteGroup(a.Context(), a.principal, a.Segment("project"), typeIndex, key))
}

var updateGroup = changeWith(http.StatusOK, func(a *Request, patch management.PropertyPatch) (*management.GroupView, error) {
	typeIndex, key, err := a.group("group:write")
	if err != nil {
		return nil, err
	}
	return a.service().UpdateGroupProperty(a.Context(), a.principal, a.Segment("project"), typeIndex, key, patch)
})

var deleteGroupProperty = changeWith(http.StatusOK, func(a *Request, removal management.PropertyRemoval) (*management.GroupView, error) {
	typeIndex, key, err := a.group("group:write")
	if err != nil {
		return nil, err
	}
	return a.service().DeleteGroupProperty(a.Context(), a.principal, a.Segment("project"), typeIndex, key, removal)
})
