package project

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
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
	Problems []flags.Problem
	Range    string
	Cut      int // problems that are not listed
}

// checkedLately is for how long definitions that were known to be current need no warning.
// They are looked at each second.
const checkedLately = time.Minute

const problemsListed = 500

func listProblems(q *shell.Request) error {
	found := slices.Clone(q.Config.Problems(q.At.Project.ID))
	slices.SortStableFunc(found, func(a, b flags.Problem) int { return cmp.Compare(b.Severity, a.Severity) })
	for i := range found {
		found[i].DefinitionError = cmp.Or(found[i].DefinitionError, new(flags.DefinitionError))
	}
	v := &problemsView{
		Problems: found[:min(len(found), problemsListed)], Range: forms.Count(len(found), "finding", "findings"),
		Cut: max(0, len(found)-problemsListed),
	}
	if q.Config.Status != nil {
		v.Status = new(q.Config.Status(q.Context(), q.At.Project.ID))
		v.Old = q.Config.Now().Sub(v.Status.Checked) > checkedLately
	}
	return q.Render(http.StatusOK, "problems", v)
}
