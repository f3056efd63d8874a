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
	projectRoute("/persons", methods{get: listPersons}),
	projectRoute("/persons/{id}", methods{get: readOf((*service).GetPerson), delete: deletePerson}),
	projectRoute("/persons/{id}/events", methods{get: personEvents}),
	projectRoute("/persons/{id}/cohorts", methods{get: readOf((*service).PersonCohorts)}),
	projectRoute("/person_search", methods{get: searchPersons}),
	projectRoute("/persons/{id}/update_property", methods{post: changeOf((*service).UpdatePersonProperty)}),
	projectRoute("/persons/{id}/delete_property", methods{post: changeOf((*service).DeletePersonProperty)}),

	projectRoute("/event_definitions", methods{get: listDefinitions((*service).EventDefinitions)}),
	projectRoute("/property_definitions", methods{get: listDefinitions((*service).PropertyDefinitions)}),

	projectRoute("/groups_types", methods{get: read("project", (*service).GroupTypes)}),
	projectRoute("/groups", methods{get: listGroups}),
	projectRoute("/groups/find", methods{get: findGroup, delete: deleteGroup}),
	projectRoute("/groups/update_property", methods{post: updateGroup}),
	projectRoute("/groups/delete_property", methods{post: deleteGroupProperty}),
}

func listPersons(a *apiRequest) error {
	q := storage.PersonFilter{DistinctID: a.param("distinct_id"), Search: a.param("search")}
	if text := a.param("cohort"); text != "" {
		if _, err := a.service().Access(a.context(), a.principal, a.segment("project"), "person:read"); err != nil {
			return err
		}
		var err error
		if q.Cohort, err = strconv.ParseInt(text, 10, 64); err != nil {
			return &management.Error{Kind: management.ErrInvalid, Code: "invalid_input", Attr: "cohort", Detail: "A valid integer is required."}
		}
	}
	limit, offset := a.window()
	page, err := a.service().ListPersons(a.context(), a.principal, a.segment("project"), q, limit, offset)
	return answerPage(a, page, err)
}

// searchPersons answers with a page that has no number, since nobody counts whom a search
// would find.
func searchPersons(a *apiRequest) error {
	q := management.PersonSearch{Text: a.param("search"), Properties: a.param("properties"), After: a.param("after")}
	limit, _ := a.window()
	v, err := a.service().SearchPersons(a.context(), a.principal, a.segment("project"), q, limit)
	return a.answer(http.StatusOK, v, err)
}

func personEvents(a *apiRequest) error {
	limit, _ := a.window()
	v, err := a.service().PersonEvents(a.context(), a.principal, a.segment("project"), a.segment("id"), limit)
	return a.answer(http.StatusOK, v, err)
}

// deletePerson deletes a person. If its events are to be deleted as well, they are
// deleted later, which the status says.
func deletePerson(a *apiRequest) error {
	events, err := a.asked("delete_events")
	if err != nil {
		return err
	}
	err = a.service().DeletePerson(a.context(), a.principal, a.segment("project"), a.segment("id"), events)
	if err == nil && events {
		return a.x.respond(http.StatusAccepted, typeJSON, nil)
	}
	return a.done(err)
}

// listDefinitions answers with a page of the names of events or properties.
func listDefinitions[V any](
	list func(*service, context.Context, *principal, string, management.DefinitionQuery, int, int) (*management.Page[V], error),
) operation {
	return func(a *apiRequest) error {
		q := management.DefinitionQuery{Search: a.param("search"), Type: a.param("type"), GroupTypeIndex: a.param("group_type_index")}
		limit, offset := a.window()
		page, err := list(a.service(), a.context(), a.principal, a.segment("project"), q, limit, offset)
		return answerPage(a, page, err)
	}
}

// group reads the parameters that name a group. A user without the scope gets only
// that error (management.md §2.5).
func (a *apiRequest) group(scope management.Scope) (typeIndex int, key string, err error) {
	if _, err := a.service().Access(a.context(), a.principal, a.segment("project"), scope); err != nil {
		return 0, "", err
	}
	text := a.param("group_type_index")
	if text == "" {
		return 0, "", &management.Error{Kind: management.ErrInvalid, Code: "required", Attr: "group_type_index", Detail: "This field is required."}
	}
	if typeIndex, err = strconv.Atoi(text); err != nil {
		return 0, "", &management.Error{Kind: management.ErrInvalid, Code: "invalid_input", Attr: "group_type_index", Detail: "A valid integer is required."}
	}
	return typeIndex, a.param("group_key"), nil
}

func listGroups(a *apiRequest) error {
	typeIndex, _, err := a.group("group:read")
	if err != nil {
		return err
	}
	limit, offset := a.window()
	page, err := a.service().ListGroups(a.context(), a.principal, a.segment("project"), typeIndex, a.param("search"), limit, offset)
	return answerPage(a, page, err)
}

func findGroup(a *apiRequest) error {
	typeIndex, key, err := a.group("group:read")
	if err != nil {
		return err
	}
	v, err := a.service().FindGroup(a.context(), a.principal, a.segment("project"), typeIndex, key)
	return a.answer(http.StatusOK, v, err)
}

func deleteGroup(a *apiRequest) error {
	typeIndex, key, err := a.group("group:write")
	if err != nil {
		return err
	}
	return a.done(a.service().DeleteGroup(a.context(), a.principal, a.segment("project"), typeIndex, key))
}

var updateGroup = changeWith(http.StatusOK, func(a *apiRequest, patch management.PropertyPatch) (*management.GroupView, error) {
	typeIndex, key, err := a.group("group:write")
	if err != nil {
		return nil, err
	}
	return a.service().UpdateGroupProperty(a.context(), a.principal, a.segment("project"), typeIndex, key, patch)
})

var deleteGroupProperty = changeWith(http.StatusOK, func(a *apiRequest, removal management.PropertyRemoval) (*management.GroupView, error) {
	typeIndex, key, err := a.group("group:write")
	if err != nil {
		return nil, err
	}
	return a.service().DeleteGroupProperty(a.context(), a.principal, a.segment("project"), typeIndex, key, removal)
})
