package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/words"
)

var _ = register(screen{
	title: "Problems", entry: 8, path: "/problems",
	scope: inProject, pages: map[string]page{"GET /projects/{project}/problems": listProblems},
})

// problemsView is what is wrong with the definitions of a project.
type problemsView struct {
	layout
	Status   *statusView // nil: not known
	Problems []problemView
	Range    string
	Cut      int // problems that are not listed
}

// A statusView is how the flags are served.
type statusView struct {
	Origin          string
	Checked, Loaded moment
	Old             bool // the definitions were not known to be current for a while
	Faults          string
}

// checkedLately is for how long definitions that were known to be current need no warning.
// They are looked at each second.
const checkedLately = time.Minute

func (q *request) status() *statusView {
	if q.c.Status == nil {
		return nil
	}
	s := q.c.Status(q.Context(), q.at.Project.ID)
	v := &statusView{Origin: s.Origin, Faults: s.Faults}
	if !s.Loaded.IsZero() {
		v.Loaded = q.c.moment(s.Loaded)
	}
	if !s.Checked.IsZero() {
		v.Checked, v.Old = q.c.moment(s.Checked), q.c.Now().Sub(s.Checked) > checkedLately
	}
	return v
}

// A problemView is one finding.
type problemView struct {
	Severity, Class             string
	Flag, URL                   string // "" for what is in no flag
	Place, Value, Message, Hint string
}

const problemsListed = 500

func listProblems(q *request) error {
	found := slices.Clone(q.c.Problems(q.at.Project.ID))
	slices.SortStableFunc(found, func(a, b flags.Problem) int { return cmp.Compare(b.Severity, a.Severity) })
	v := &problemsView{Status: q.status(), Range: count(len(found), "finding", "findings"), Cut: max(0, len(found)-problemsListed)}
	classes := map[flags.Severity]string{flags.SeverityError: "bad", flags.SeverityWarning: "warn"}
	for _, p := range found[:min(len(found), problemsListed)] {
		one := problemView{Severity: p.Severity.String(), Class: classes[p.Severity]}
		if e := p.DefinitionError; e != nil {
			one.Flag, one.Value, one.Hint = e.Flag, e.Value, e.Hint
			if e.Err != nil {
				one.Message = e.Err.Error()
			}
			if e.Path != "" {
				one.Place = words.Place(e.Path)
			}
			if e.Flag != "" {
				one.URL = q.projectPath("/flags/" + url.PathEscape(e.Flag))
			}
		}
		v.Problems = append(v.Problems, one)
	}
	return q.render(http.StatusOK, "problems", v)
}
