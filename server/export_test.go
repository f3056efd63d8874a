package server

import (
	"slices"

	"github.com/flagstaff-go/flagstaff/server/internal/idlist"
)

// BudgetLeft returns how much memory for bodies no request has.
func (s *Server) BudgetLeft() int64 { return s.budget.left.Load() }

// Paths returns the patterns of all paths that the server answers.
func (s *Server) Paths() []string {
	var list []string
	for _, rt := range s.routes() {
		list = slices.Concat(list, []string{rt.path}, rt.aliases)
	}
	return list
}

// What reads what clients send.
var (
	HasETag   = hasETag
	ValuesOf  = valuesOf
	IDsOfCSV  = idlist.CSV
	IDsOfJSON = idlist.JSON
)

// An EventList is a page of events.
type EventList = eventList

// MaxElement is how many bytes an element of an upload may have.
const MaxElement = idlist.MaxElement

// MaxAddressStreams is how many event streams of a project an address may have.
const MaxAddressStreams = maxAddressStreams
