package overview

import (
	"cmp"
	"net/http"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var overviewScreen = shell.Screen{
	Title: "Overview", Entry: 1, Go: "o", Path: "/overview",
	Icon:  "M2 2.4h5v5H2ZM9 2.4h5v3H9ZM9 7.6h5v6H9ZM2 9.6h5v4H2Z",
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/overview": showOverview},
}

// overviewView is the state of a project.
type overviewView struct {
	shell.Layout
	Figures   []figure
	Attention []attention
	Days      charts.Chart // evaluations by day
	Reported  string       // how many in all; "" for none
	Today     []shell.Entry
	More      int  // entries of today that are not listed
	Logged    bool // the user may see the audit log
}

// A figure is a number with what it counts.
type figure struct{ Value, Label, URL string }

// An attention is something to look at, and where.
type attention struct{ Kind, Text, URL, Link string }

// entriesListed is how many entries of today are on the page.
const entriesListed = 12

func showOverview(q *shell.Request) error {
	facets, err := q.Service.FlagFacets(q.Context(), q.By, q.Ref)
	if err != nil {
		return err
	}
	v := &overviewView{}
	list := q.ProjectPath("/flags")
	for _, f := range []struct {
		n     int
		label string
		query string
	}{
		{facets.On, "flags on", "?state=on"},
		{facets.Off, "off", "?state=off"},
		{facets.Stale, "stale", "?state=stale"},
		{facets.Archived, "archived", "?state=archived"},
	} {
		v.Figures = append(v.Figures, figure{forms.Number(f.n), f.label, list + f.query})
	}
	v.problems(q)
	v.count(facets.Stale, "flag is stale", "flags are stale", list+"?state=stale",
		"A stale flag has the same value for everyone, or no program asks for it: remove it from the code, then archive it.")
	v.count(facets.NeverEvaluated, "flag that is on was never evaluated", "flags that are on were never evaluated",
		list+"?state=never-evaluated", "As far as programs have reported.")
	if err := v.unusedCohorts(q); err != nil {
		return err
	}
	if err := cmp.Or(v.evaluations(q), v.today(q)); err != nil {
		return err
	}
	return q.Render(http.StatusOK, "overview", v)
}

// count notes that some things need attention.
func (v *overviewView) count(n int, one, many, url, text string) {
	if n > 0 {
		v.Attention = append(v.Attention, attention{"", text, url, forms.Count(n, one, many)})
	}
}

// problems notes what is wrong with the definitions and the server.
func (v *overviewView) problems(q *shell.Request) {
	page := q.ProjectPath("/problems")
	if q.Config.Status != nil {
		if faults := q.Config.Status(q.Context(), q.At.Project.ID).Faults; faults != "" {
			v.Attention = append(v.Attention, attention{"bad", faults + ".", page, "The server does not work as it should"})
		}
	}
	counts := make(map[flags.Severity]int)
	for _, p := range q.Config.Problems(q.At.Project.ID) {
		counts[p.Severity]++
	}
	if n := counts[flags.SeverityError]; n > 0 {
		v.Attention = append(v.Attention, attention{
			"bad", "What is wrong is off, or as it was before.", page,
			forms.Count(n, "error in the definitions", "errors in the definitions"),
		})
	}
	if n := counts[flags.SeverityWarning]; n > 0 {
		v.Attention = append(v.Attention, attention{
			"warn", "The flags work, but perhaps not as they are meant.", page,
			forms.Count(n, "warning about the definitions", "warnings about the definitions"),
		})
	}
}

// unusedCohorts notes cohorts that nothing refers to.
func (v *overviewView) unusedCohorts(q *shell.Request) error {
	list, err := shell.Known(q.Service.ListCohorts(q.Context(), q.By, q.Ref, management.CohortQuery{}, shell.MaxOffered, 0))
	if err != nil || list == nil {
		return err
	}
	uses, err := shell.Known(q.Service.CohortUses(q.Context(), q.By, q.Ref))
	if err != nil || uses == nil {
		return err
	}
	unused := 0
	for _, c := range list.Items {
		if uses[c.ID] == nil {
			unused++
		}
	}
	v.count(unused, "cohort is not used", "cohorts are not used", q.ProjectPath("/cohorts"), "No flag and no other cohort refers to it.")
	return nil
}

// daysShown is of how many days the page shows evaluations.
const daysShown = 30

// evaluations draws how often programs have reported values of flags.
func (v *overviewView) evaluations(q *shell.Request) error {
	usage, err := q.Service.UsageOfFlags(q.Context(), q.By, q.Ref, nil, daysShown)
	if err != nil || usage[""] == nil {
		return err
	}
	total := 0
	points := make([]charts.Point, daysShown)
	for i, n := range usage[""] {
		day := q.Config.Now().UTC().AddDate(0, 0, i-daysShown+1)
		points[i] = charts.Point{Label: day.Format(time.DateOnly), Value: int(n)}
		total += int(n)
	}
	v.Reported = forms.Count(total, "evaluation", "evaluations") + " reported in " + forms.Count(daysShown, "day", "days")
	v.Days = charts.Columns(v.Reported, points, 3)
	return nil
}

// today lists what was done since the day began in the time zone of the project.
func (v *overviewView) today(q *shell.Request) error {
	zone, err := time.LoadLocation(q.At.Project.Timezone)
	if err != nil {
		zone = time.UTC
	}
	list, err := shell.Known(q.Service.ListActivity(q.Context(), q.By, q.Ref, management.ActivityQuery{
		Since: q.Config.Now().In(zone).Format(time.DateOnly), Page: 1, Limit: entriesListed,
	}))
	if err != nil || list == nil {
		return err
	}
	v.Logged, v.More = true, list.Total-len(list.Items)
	v.Today, err = q.Entries(list.Items)
	return err
}
