package project

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var problemsScreen = shell.Screen{
	Title: "Problems", Entry: 9, Go: "b", Path: "/problems",
	Icon:  "M8 2 14.6 13.6H1.4ZM8 6.4v3.2M8 11.6v.2",
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/problems": listProblems},
}

// problemsView is what is wrong with the definitions of a project.
type problemsView struct {
	shell.Layout
	Status   *shell.Status // nil: not known
	Old      bool          // the definitions were not known to be current for a while
	Problems []problem
	Range    string
	Cut      int // problems that are not listed
}

// A problem is one with the flag or the cohort that it is about.
type problem struct {
	flags.Problem
	Kind, Name, URL string // what it is about; "" for the project, and without a page
	Place           string // where in it
}

// checkedLately is for how long definitions that were known to be current need no warning.
// They are looked at each second.
const checkedLately = time.Minute

const problemsListed = 500

// cohortsPath begins the path of a problem of a cohort; its ID follows.
const cohortsPath = "/cohorts/"

func listProblems(q *shell.Request) error {
	found := slices.Clone(q.Config.Problems(q.At.Project.ID))
	slices.SortStableFunc(found, func(a, b flags.Problem) int { return cmp.Compare(b.Severity, a.Severity) })
	v := &problemsView{Range: forms.Count(len(found), "finding", "findings"), Cut: max(0, len(found)-problemsListed)}
	var cohorts map[string]string
	ofCohort := func(p flags.Problem) bool { return p.DefinitionError != nil && strings.HasPrefix(p.Path, cohortsPath) }
	if slices.ContainsFunc(found, ofCohort) {
		var err error
		if cohorts, err = cohortNames(q); err != nil {
			return err
		}
	}
	for _, f := range found[:min(len(found), problemsListed)] {
		f.DefinitionError = cmp.Or(f.DefinitionError, new(flags.DefinitionError))
		p := problem{Problem: f, Place: f.Path}
		if f.Flag != "" {
			p.Kind, p.Name, p.URL = "flag", f.Flag, q.ProjectPath("/flags/"+url.PathEscape(f.Flag))
		} else if rest, ok := strings.CutPrefix(f.Path, cohortsPath); ok {
			id, place, _ := strings.Cut(rest, "/")
			p.Kind, p.Name, p.Place = "cohort", cmp.Or(cohorts[id], id), place
			if cohorts[id] != "" {
				p.URL = q.ProjectPath("/cohorts/" + id)
			}
		}
		v.Problems = append(v.Problems, p)
	}
	if q.Config.Status != nil {
		v.Status = new(q.Config.Status(q.Context(), q.At.Project.ID))
		v.Old = q.Config.Now().Sub(v.Status.Checked) > checkedLately
	}
	return q.Render(http.StatusOK, "problems", v)
}

// cohortNames returns the names of cohorts by their IDs; none if the user may not see cohorts.
func cohortNames(q *shell.Request) (map[string]string, error) {
	list, err := shell.Known(q.Service.ListCohorts(q.Context(), q.By, q.Ref, management.CohortQuery{}, shell.MaxOffered, 0))
	if err != nil || list == nil {
		return nil, err
	}
	names := make(map[string]string, len(list.Items))
	for _, c := range list.Items {
		names[strconv.FormatInt(c.ID, 10)] = c.Name
	}
	return names, nil
}
