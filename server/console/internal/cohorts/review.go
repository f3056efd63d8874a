package cohorts

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/internal/effects"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

// A cohortReviewView is the page that says who is in a cohort, before it is saved.
type cohortReviewView struct {
	shell.Layout
	Name         string
	New          bool
	List, Action string
	Hidden       []forms.Hidden // the form
	Uses         []useView
	Who, Was     string // in words
	shell.Effect
}

// reviewCohort shows who comes in and who leaves by a form.
func reviewCohort(q *shell.Request, c *management.CohortView, form *cohortForm) error {
	patch, ok := form.patch()
	if !ok {
		return showCohortForm(q, http.StatusUnprocessableEntity, c, form, "")
	}
	effect, err := cohortEffect(q, c, patch)
	if err != nil {
		return refusedCohort(q, err, c, form)
	}
	offered, err := targeting.Offers(q, 0, 0)
	if err != nil {
		return keepCohort(q, err, form)
	}
	q.Layout.Title = map[bool]string{true: "Preview persons", false: "Review changes"}[c == nil]
	v := &cohortReviewView{
		Name: form.Name, New: c == nil, List: q.ProjectPath("/cohorts"), Action: q.URL.Path, Hidden: forms.HiddenFields(q.PostForm),
		Who: offered.Names().Cohort(patch.Filters.Value), Effect: *effect,
	}
	if c != nil {
		v.Was = offered.Names().Cohort(c.Filters)
		uses, err := q.Service.CohortUses(q.Context(), q.By, q.Ref)
		if err != nil {
			return keepCohort(q, err, form)
		}
		v.Uses = usesOf(q, uses[c.ID])
	}
	return q.Render(http.StatusOK, "cohort_review", v)
}

// previewCohort answers a script that asks who is in a cohort while it is edited: with a
// part of a page, or with nothing while the form is not complete.
func previewCohort(q *shell.Request, c *management.CohortView, form *cohortForm) error {
	if form.Name == "" {
		form.Name = "new"
	}
	patch, ok := form.patch()
	if !ok || form.Static {
		q.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	effect, err := cohortEffect(q, c, patch)
	if shell.IsRefusal(err) {
		q.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err != nil {
		return err
	}
	return q.RenderPart(http.StatusOK, "cohort_review", "effect", effect)
}

// cohortEffect asks the Service who is in a cohort after a change.
func cohortEffect(q *shell.Request, c *management.CohortView, patch management.CohortPatch) (*shell.Effect, error) {
	patch.Original = optional.Value[json.RawMessage]{}
	asked := management.CohortPreviewPatch{CohortPatch: patch}
	used := false
	if c != nil {
		asked.ID = optional.Of(c.ID)
		uses, err := q.Service.CohortUses(q.Context(), q.By, q.Ref)
		if err != nil {
			return nil, err
		}
		used = uses[c.ID] != nil
	}
	p, err := q.Service.PreviewCohort(q.Context(), q.By, q.Ref, asked)
	if e, ok := errors.AsType[*management.Error](err); ok {
		switch e.Code {
		case "not_available":
			return &shell.Effect{Asks: used, Unknown: "The number of persons is not known: no events are captured here."}, nil
		case "behavioral_cohort_found":
			return &shell.Effect{Asks: used, Unknown: e.Text()}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return cohortEffectOf(q, p, c == nil), nil
}

// cohortEffectOf says in words what a preview has found.
func cohortEffectOf(q *shell.Request, p *management.CohortPreview, isNew bool) *shell.Effect {
	v := &shell.Effect{Known: true, Asks: len(p.Flags) > 0, Summary: membersSummary(p, isNew)}
	if p.Subjects == 0 {
		return v
	}
	share := charts.Shares(p.Subjects, []int{p.Members - p.Joining, p.Joining, p.Leaving, p.Subjects - p.Members - p.Leaving})
	x := 0.0
	for i, part := range []struct{ class, name string }{
		{"other", "stay in it"},
		{"gain", map[bool]string{true: "in it", false: "come in"}[isNew]},
		{"lose", "leave"},
		{"same", map[bool]string{true: "not in it", false: "stay out"}[isNew]},
	} {
		x = v.Bar.Add(x, share[i], part.class, part.name)
	}
	if p.Joining > 0 {
		v.Moves = append(v.Moves, shell.Move{
			From: "not in it", To: "in it", Count: forms.Number(p.Joining),
			Share: forms.Percent(share[1]),
		})
	}
	if p.Leaving > 0 {
		v.Moves = append(v.Moves, shell.Move{
			From: "in it", To: "not in it", Count: forms.Number(p.Leaving),
			Share: forms.Percent(share[2]),
		})
	}
	for _, change := range p.Changes[:min(len(p.Changes), effects.ExamplesShown)] {
		m := shell.Move{
			Person: change.DistinctID, From: "not in it", To: "in it",
			Why: q.ProjectPath("/explain?" + url.Values{"person": {change.DistinctID}}.Encode()),
		}
		if !change.Member {
			m.From, m.To = m.To, m.From
		}
		v.Persons = append(v.Persons, m)
	}
	v.More = p.Joining + p.Leaving - len(v.Persons)
	for _, f := range p.Flags {
		v.Others = append(v.Others, shell.OtherFlag{Key: f.Key, Count: forms.Count(f.Changed, "person", "persons")})
	}
	return v
}

func membersSummary(p *management.CohortPreview, isNew bool) string {
	if p.Subjects == 0 {
		return "No persons have been seen yet, so the number of persons is not known."
	}
	words := "Of the " + forms.Number(p.Subjects) + " persons who were seen last, " + forms.Number(p.Members)
	if p.Members == 1 {
		words += " is in it"
	} else {
		words += " are in it"
	}
	var moves []string
	if p.Joining > 0 {
		moves = append(moves, forms.Number(p.Joining)+" come in")
	}
	if p.Leaving > 0 {
		moves = append(moves, forms.Number(p.Leaving)+" leave")
	}
	switch {
	case isNew:
		return words + "."
	case len(moves) == 0:
		return words + ", as now."
	}
	return words + " then: " + forms.Joined(moves) + "."
}

// cohortConflict shows what somebody else has changed since a form was made, and what
// saving the form would change now.
func cohortConflict(q *shell.Request, c *management.CohortView, form *cohortForm) error {
	offered, err := targeting.Offers(q, 0, 0)
	if err != nil {
		return keepCohort(q, err, form)
	}
	var was originalCohort
	_ = json.Unmarshal([]byte(form.Original), &was) // a form that is not ours has had nothing
	now := originalCohort{c.Name, c.Description, c.Filters}
	mine := originalCohort{form.Name, form.Description, c.Filters}
	if !c.IsStatic {
		mine.Filters = form.filters()
	}
	v := &shell.ClashView{
		Kind: "cohort", Name: c.Name, List: q.ProjectPath("/cohorts"), ListName: "Cohorts", Keep: cohortPath(q, c.ID),
		Theirs: cohortChanges(offered.Names(), was, now), Mine: cohortChanges(offered.Names(), now, mine),
	}
	return q.Clash(v, originalOf(c))
}

// cohortChanges says what differs between two forms of a cohort.
func cohortChanges(names shell.Names, a, b originalCohort) []shell.Change {
	criteria := cohortChange(names, a.Filters, b.Filters)
	if forms.SameText(a.Filters, b.Filters) {
		criteria.After = criteria.Before
	}
	return shell.Different(shell.Change{Place: "name", Before: a.Name, After: b.Name}, shell.Change{
		Place:  "description",
		Before: a.Description, After: b.Description,
	}, criteria)
}

// cohortChange says in words how who is in a cohort has changed.
func cohortChange(names shell.Names, before, after json.RawMessage) shell.Change {
	line := shell.Change{Place: "criteria"}
	if forms.Text(before) != "" {
		line.Before = names.Cohort(before)
	}
	if forms.Text(after) != "" {
		line.After = names.Cohort(after)
	}
	if line.Before == line.After {
		line.Before, line.After = forms.Shorten(forms.Text(before), 2000), forms.Shorten(forms.Text(after), 2000)
	}
	return line
}
