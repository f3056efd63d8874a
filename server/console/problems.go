package console

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

var _ = register(screen{
	title: "Problems", entry: 8, path: "/problems",
	scope: inProject, pages: map[string]page{"GET /projects/{project}/problems": listProblems},
})

// problemsView is what is wrong with the definitions of a project.
type problemsView struct {
	layout
	Status   *Status // nil: not known
	Old      bool    // the definitions were not known to be current for a while
	Problems []flags.Problem
	Range    string
	Cut      int // problems that are not listed
}

// checkedLately is for how long definitions that were known to be current need no warning.
// They are looked at each second.
const checkedLately = time.Minute

const problemsListed = 500

func listProblems(q *request) error {
	found := slices.Clone(q.c.Problems(q.at.Project.ID))
	slices.SortStableFunc(found, func(a, b flags.Problem) int { return cmp.Compare(b.Severity, a.Severity) })
	for i := range found {
		found[i].DefinitionError = cmp.Or(found[i].DefinitionError, new(flags.DefinitionError))
	}
	v := &problemsView{
		Problems: found[:min(len(found), problemsListed)], Range: count(len(found), "finding", "findings"),
		Cut: max(0, len(found)-problemsListed),
	}
	if q.c.Status != nil {
		v.Status = new(q.c.Status(q.Context(), q.at.Project.ID))
		v.Old = q.c.Now().Sub(v.Status.Checked) > checkedLately
	}
	return q.render(http.StatusOK, "problems", v)
}
