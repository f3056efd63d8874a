package cohorts

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var cohortsScreen = shell.Screen{
	Title: "Cohorts", Entry: 3, Go: "c", Path: "/cohorts",
	Icon: "M6 7.3a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2ZM1.4 13.8c0-2.6 2-4.2 4.6-4.2s4.6 1.6 4.6 4.2" +
		"M10.6 2.4a2.6 2.6 0 0 1 0 4.7M12.2 9.9c1.5.6 2.4 2 2.4 3.9",
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/cohorts": listCohorts},
}

// cohortsView is the list of cohorts.
type cohortsView struct {
	shell.Layout
	Rows           []cohortRow
	Search, Kind   string
	Kinds          []shell.Tab
	Action, NewURL string
	shell.Pager
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
	Counted shell.Moment
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

func cohortPath(q *shell.Request, id int64) string {
	return q.ProjectPath("/cohorts/" + strconv.FormatInt(id, 10))
}

func listCohorts(q *shell.Request) error {
	page := shell.PageNumber(q.Form)
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
	found, err := q.Service.ListCohorts(q.Context(), q.By, q.Ref, asked, shell.PageSize, (page-1)*shell.PageSize)
	if err != nil {
		return err
	}
	all, err := q.Service.ListCohorts(q.Context(), q.By, q.Ref, management.CohortQuery{}, shell.MaxOffered, 0)
	if err != nil {
		return err
	}
	uses, err := q.Service.CohortUses(q.Context(), q.By, q.Ref)
	if err != nil {
		return err
	}
	words := words.NewNames()
	for _, c := range all.Items {
		words.Cohorts[strconv.FormatInt(c.ID, 10)] = c.Name
	}
	q.Notice()
	v := &cohortsView{
		Search: asked.Search, Kind: kind, Action: q.ProjectPath("/cohorts"), NewURL: q.ProjectPath("/cohorts/new"), Empty: all.Total == 0,
	}
	for _, c := range found.Items {
		row := cohortRow{CohortView: c, Size: sizeOf(q, c)}
		if !c.IsStatic {
			row.Who = words.Cohort(c.Filters)
		}
		row.Uses = usesOf(q, uses[c.ID])
		if row.MoreUses = len(row.Uses) - usesListed; row.MoreUses > 0 {
			row.Uses = row.Uses[:usesListed]
		}
		v.Rows = append(v.Rows, row)
	}
	at := shell.Listing{Path: v.Action, Query: map[string]string{"kind": kind, "q": asked.Search}}
	for _, kind := range forms.Options("", "All", "properties", "By properties", "list", "Lists") {
		v.Kinds = append(v.Kinds, shell.Tab{Name: kind.Label, URL: at.At(1, "kind", kind.Value), Count: "", Current: kind.Value == v.Kind})
	}
	v.Pager = at.Page(page, shell.PageSize, len(v.Rows), found.Total, "cohort", "cohorts")
	if v.Search != "" || v.Kind != "" {
		v.Clear = v.Action
	}
	return q.Render(http.StatusOK, "cohorts", v)
}

// sizeOf says how many persons are in a cohort.
func sizeOf(q *shell.Request, c *management.CohortView) sizeView {
	switch {
	case c.Count != nil:
		return sizeView{forms.Number(*c.Count), true, q.MomentOf(c.LastCalculation)}
	case c.IsCalculating:
		return sizeView{Words: "being counted"}
	case c.ErrorsCalculating > 0:
		return sizeView{Words: "cannot be counted"}
	}
	return sizeView{Words: "not known"}
}

// usesOf lists what uses a cohort, flags that are on first.
func usesOf(q *shell.Request, uses *management.CohortUses) []useView {
	if uses == nil {
		return nil
	}
	var on, off, cohorts []useView
	for _, f := range uses.Flags {
		use := useView{Kind: "flag", Name: f.Key, URL: q.ProjectPath("/flags/" + strconv.FormatInt(f.ID, 10)), Off: !f.Active}
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
		cohorts = append(cohorts, useView{Kind: "cohort", Name: c.Name, URL: cohortPath(q, c.ID)})
	}
	return append(append(on, cohorts...), off...)
}
