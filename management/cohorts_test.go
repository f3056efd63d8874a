package management_test

import (
	"strconv"

	"github.com/flagstaff-go/flagstaff/management"
)

// Filters of cohorts: those on a plan, and those who did something.
const (
	pro      = `{"properties":{"type":"AND","values":[{"key":"plan","value":"pro","type":"person"}]}}`
	behavior = `{"properties":{"type":"AND","values":[{"type":"behavioral","value":"performed_event","key":"$pageview"}]}}`
)

// inCohort returns filters of a flag for the members of a cohort.
func inCohort(id string) string {
	return `{"groups":[{"properties":[{"key":"id","value":` + id + `,"type":"cohort"}]}]}`
}

// cohort makes a cohort in a project and returns its ID.
func (w *world) cohort(p *management.Project, body string) string {
	w.t.Helper()
	v := must(w.CreateCohort(w.t.Context(), w.owner(p), ref(p), decode[management.CohortPatch](w.t, body)))(w.t)
	return strconv.FormatInt(v.ID, 10)
}

// changeCohort changes a cohort of Web, as a request of Ada does.
func (w *world) changeCohort(id, body string) (*management.CohortView, error) {
	w.t.Helper()
	return w.UpdateCohort(w.t.Context(), w.as(w.ada), ref(w.web), id, decode[management.CohortPatch](w.t, body))
}

// feature makes an early access feature in a project and returns its ID.
func (w *world) feature(p *management.Project, body string) string {
	w.t.Helper()
	return must(w.CreateEarlyAccessFeature(w.t.Context(), w.owner(p), ref(p), decode[management.EarlyAccessPatch](w.t, body)))(w.t).ID.String()
}
