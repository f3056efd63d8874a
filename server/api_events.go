package server

import (
	"net/http"
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
)

// eventRoutes are the routes of what was captured (management.md §16).
var eventRoutes = []route{
	routeInProject("/events", methods{get: listEvents}),
	routeInProject("/events/export", methods{get: exportEvents}),
	routeInProject("/events/{id}", methods{get: readOf((*service).GetEvent)}),
}

func (a *Request) eventQuery() management.EventQuery {
	return management.EventQuery{
		Event: a.Param("event"), PersonID: a.Param("person_id"), DistinctID: a.Param("distinct_id"), After: a.Param("after"), Before: a.Param("before"),
	}
}

// An eventList is a page of events. Nobody counts them.
type eventList struct {
	Next    *string                 `json:"next"`
	Results []*management.EventView `json:"results"`
}

func listEvents(a *Request) error {
	limit, _ := a.Window()
	page, err := a.service().ListEvents(a.Context(), a.principal, a.Segment("project"), a.eventQuery(), a.Param("cursor"), limit)
	if err != nil {
		return err
	}
	list := eventList{Results: page.Items}
	if page.Next != "" {
		list.Next = new(a.urlWith("limit", strconv.Itoa(limit), "cursor", page.Next))
	}
	return a.Answer(http.StatusOK, list, nil)
}

// exportEvents writes events while it reads them. The trailer X-Event-Count comes after
// the last one, so that an export which breaks off does not look complete.
func exportEvents(a *Request) error {
	q := management.EventExport{EventQuery: a.eventQuery(), Format: a.Param("format")}
	var err error
	if q.Exposures, err = a.Asked("exposures"); err != nil {
		return err
	}
	const trailer = "X-Event-Count"
	kind, name := "application/x-ndjson", "events.ndjson"
	if q.Format == "csv" {
		kind, name = "text/csv; charset=utf-8", "events.csv"
	}
	w := &responseWriter{x: a.x, head: func(h http.Header) {
		h["Content-Type"] = []string{kind}
		h["Content-Disposition"] = []string{`attachment; filename="` + name + `"`}
		h["Trailer"] = []string{trailer}
	}}
	written, err := a.service().WriteEvents(a.Context(), w, a.principal, a.Segment("project"), q)
	if err != nil {
		return err
	}
	if a.x.status == 0 { // no events, and no head of a table
		_, _ = w.Write(nil)
	}
	a.x.w.Header()[trailer] = []string{strconv.Itoa(written)}
	return nil
}
