package console

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
)

var _ = register(screen{
	title: "Cohorts", entry: 2, path: "/cohorts",
	scope: inProject, pages: map[string]page{"GET /projects/{project}/cohorts": listCohorts},
})

// cohortsView is the list of cohorts.
type cohortsView struct {
	layout
	Rows           []cohortRow
	Search, Kind   string
	Kinds          []stateTab
	Action, NewURL string
	pager
	Empty bool // the project has no cohorts
}

// A cohortRow is a cohort in the list.
type cohortRow struct {
	*management.CohortView
	Who      string // in words; "" for a list
	Size     sizeView
	Uses     []useView
	MoreUses int
}

// A sizeView is how many persons are in a cohort.
type sizeView struct {
	Words   string
	Known   bool
	Counted moment
}

// A useView is something that uses a cohort.
type useView struct {
	Kind, Name, URL string // no URL: it has no page
	Off             bool
}

const (
	usesListed = 3   // in the list
	usesShown  = 500 // on the page of a cohort
)

func (q *request) cohortPath(id int64) string {
	return q.projectPath("/cohorts/" + strconv.FormatInt(id, 10))
}

func listCohorts(q *request) error {
	page := pageNumber(q.Form)
	asked := management.CohortQuery{Search: strings.TrimSpace(q.Form.Get("q"))}
	kind := q.Form.Get("kind")
	switch kind {
	case "list":
		asked.Type = "static"
	case "properties":
		asked.Type = "dynamic"
	default:
		kind = ""
	}
	found, err := q.c.Service.ListCohorts(q.Context(), q.by, q.ref, asked, pageSize, (page-1)*pageSize)
	if err != nil {
		return err
	}
	all, err := q.c.Service.ListCohorts(q.Context(), q.by, q.ref, management.CohortQuery{}, maxOffered, 0)
	if err != nil {
		return err
	}
	uses, err := q.c.Service.CohortUses(q.Context(), q.by, q.ref)
	if err != nil {
		return err
	}
	words := words.NewNames()
	for _, c := range all.Items {
		words.Cohorts[strconv.FormatInt(c.ID, 10)] = c.Name
	}
	q.notice()
	v := &cohortsView{
		Search: asked.Search, Kind: kind, Action: q.projectPath("/cohorts"), NewURL: q.projectPath("/cohorts/new"), Empty: all.Total == 0,
	}
	for _, c := range found.Items {
		row := cohortRow{CohortView: c, Size: q.sizeOf(c)}
		if !c.IsStatic {
			row.Who = words.Cohort(c.Filters)
		}
		row.Uses = q.usesOf(uses[c.ID])
		if row.MoreUses = len(row.Uses) - usesListed; row.MoreUses > 0 {
			row.Uses = row.Uses[:usesListed]
		}
		v.Rows = append(v.Rows, row)
	}
	at := listing{v.Action, map[string]string{"kind": kind, "q": asked.Search}}
	for _, kind := range options("", "All", "properties", "By properties", "list", "Lists") {
		v.Kinds = append(v.Kinds, stateTab{kind.Label, at.at(1, "kind", kind.Value), "", kind.Value == v.Kind})
	}
	v.pager = at.page(page, pageSize, len(v.Rows), found.Total, "cohort", "cohorts")
	if v.Search != "" || v.Kind != "" {
		v.Clear = v.Action
	}
	return q.render(http.StatusOK, "cohorts", v)
}

// sizeOf says how many persons are in a cohort.
func (q *request) sizeOf(c *management.CohortView) sizeView {
	switch {
	case c.Count != nil:
		return sizeView{number(*c.Count), true, q.c.momentOf(c.LastCalculation)}
	case c.IsCalculating:
		return sizeView{Words: "being counted"}
	case c.ErrorsCalculating > 0:
		return sizeView{Words: "cannot be counted"}
	}
	return sizeView{Words: "not known"}
}

// usesOf lists what uses a cohort, flags that are on first.
func (q *request) usesOf(uses *management.CohortUses) []useView {
	if uses == nil {
		return nil
	}
	var on, off, cohorts []useView
	for _, f := range uses.Flags {
		use := useView{Kind: "flag", Name: f.Key, URL: q.flagPath(f.ID), Off: !f.Active}
		if f.Survey {
			use.Kind, use.URL = "targeting of a survey", ""
		}
		if f.Active {
			on = append(on, use)
		} else {
			off = append(off, use)
		}
	}
	for _, c := range uses.Cohorts {
		cohorts = append(cohorts, useView{Kind: "cohort", Name: c.Name, URL: q.cohortPath(c.ID)})
	}
	return append(append(on, cohorts...), off...)
}
