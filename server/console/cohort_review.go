package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// A cohortReviewView is the page that says who is in a cohort, before it is saved.
type cohortReviewView struct {
	layout
	Name         string
	New          bool
	List, Action string
	Hidden       []hidden // the form
	Uses         []useView
	Who, Was     string // in words
	effectView
}

// reviewCohort shows who comes in and who leaves by a form.
func (q *request) reviewCohort(c *management.CohortView, form *cohortForm) error {
	patch, ok := form.patch()
	if !ok {
		return q.showCohortForm(http.StatusUnprocessableEntity, c, form, "")
	}
	effect, err := q.cohortEffect(c, patch)
	if err != nil {
		return q.refusedCohort(err, c, form)
	}
	offered, err := q.offers(0, 0)
	if err != nil {
		return q.keepCohort(err, form)
	}
	q.layout.Title = map[bool]string{true: "Preview persons", false: "Review changes"}[c == nil]
	v := &cohortReviewView{
		Name: form.Name, New: c == nil, List: q.projectPath("/cohorts"), Action: q.URL.Path, Hidden: hiddenFields(q.PostForm),
		Who: offered.words.Cohort(patch.Filters.Value), effectView: *effect,
	}
	if c != nil {
		v.Was = offered.words.Cohort(c.Filters)
		uses, err := q.c.Service.CohortUses(q.Context(), q.by, q.ref)
		if err != nil {
			return q.keepCohort(err, form)
		}
		v.Uses = q.usesOf(uses[c.ID])
	}
	return q.render(http.StatusOK, "cohort_review", v)
}

// previewCohort answers a script that asks who is in a cohort while it is edited: with a
// part of a page, or with nothing while the form is not complete.
func (q *request) previewCohort(c *management.CohortView, form *cohortForm) error {
	if form.Name == "" {
		form.Name = "new"
	}
	patch, ok := form.patch()
	if !ok || form.Static {
		q.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	effect, err := q.cohortEffect(c, patch)
	if isRefusal(err) {
		q.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err != nil {
		return err
	}
	return q.renderPart(http.StatusOK, "cohort_review", "effect", effect)
}

// cohortEffect asks the Service who is in a cohort after a change.
func (q *request) cohortEffect(c *management.CohortView, patch management.CohortPatch) (*effectView, error) {
	patch.Original = optional.Value[json.RawMessage]{}
	asked := management.CohortPreviewPatch{CohortPatch: patch}
	used := false
	if c != nil {
		asked.ID = optional.Of(c.ID)
		uses, err := q.c.Service.CohortUses(q.Context(), q.by, q.ref)
		if err != nil {
			return nil, err
		}
		used = uses[c.ID] != nil
	}
	p, err := q.c.Service.PreviewCohort(q.Context(), q.by, q.ref, asked)
	if e, ok := errors.AsType[*management.Error](err); ok {
		switch e.Code {
		case "not_available":
			return &effectView{Asks: used, Unknown: "The number of persons is not known: no events are captured here."}, nil
		case "behavioral_cohort_found":
			return &effectView{Asks: used, Unknown: e.Text()}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return q.cohortEffectOf(p, c == nil), nil
}

// cohortEffectOf says in words what a preview has found.
func (q *request) cohortEffectOf(p *management.CohortPreview, isNew bool) *effectView {
	v := &effectView{Known: true, Asks: len(p.Flags) > 0, Summary: membersSummary(p, isNew)}
	if p.Subjects == 0 {
		return v
	}
	share := shares(p.Subjects, []int{p.Members - p.Joining, p.Joining, p.Leaving, p.Subjects - p.Members - p.Leaving})
	x := 0.0
	for i, part := range []struct{ class, name string }{
		{"other", "stay in it"},
		{"gain", map[bool]string{true: "in it", false: "come in"}[isNew]},
		{"lose", "leave"},
		{"same", map[bool]string{true: "not in it", false: "stay out"}[isNew]},
	} {
		x = v.Bar.add(x, share[i], part.class, part.name)
	}
	if p.Joining > 0 {
		v.Moves = append(v.Moves, move{From: "not in it", To: "in it", Count: number(p.Joining), Share: percent(share[1])})
	}
	if p.Leaving > 0 {
		v.Moves = append(v.Moves, move{From: "in it", To: "not in it", Count: number(p.Leaving), Share: percent(share[2])})
	}
	for _, change := range p.Changes[:min(len(p.Changes), examplesShown)] {
		m := move{
			Person: change.DistinctID, From: "not in it", To: "in it",
			Why: q.projectPath("/explain?" + url.Values{"person": {change.DistinctID}}.Encode()),
		}
		if !change.Member {
			m.From, m.To = m.To, m.From
		}
		v.Persons = append(v.Persons, m)
	}
	v.More = p.Joining + p.Leaving - len(v.Persons)
	for _, f := range p.Flags {
		v.Others = append(v.Others, otherFlag{f.Key, count(f.Changed, "person", "persons")})
	}
	return v
}

func membersSummary(p *management.CohortPreview, isNew bool) string {
	if p.Subjects == 0 {
		return "No persons have been seen yet, so the number of persons is not known."
	}
	words := "Of the " + number(p.Subjects) + " persons who were seen last, " + number(p.Members)
	if p.Members == 1 {
		words += " is in it"
	} else {
		words += " are in it"
	}
	var moves []string
	if p.Joining > 0 {
		moves = append(moves, number(p.Joining)+" come in")
	}
	if p.Leaving > 0 {
		moves = append(moves, number(p.Leaving)+" leave")
	}
	switch {
	case isNew:
		return words + "."
	case len(moves) == 0:
		return words + ", as now."
	}
	return words + " then: " + joined(moves) + "."
}

// A clashView is the page for somebody who has edited an older form of a thing that has no
// versions.
type clashView struct {
	layout
	Kind                 string // cohort, for example
	Name, List, ListName string
	Keep                 string // the thing as it is now
	Action               string
	Hidden               []hidden
	Original             string // as it is now
	Theirs, Mine         []changeLine
}

// cohortConflict shows what somebody else has changed since a form was made, and what
// saving the form would change now.
func (q *request) cohortConflict(c *management.CohortView, form *cohortForm) error {
	offered, err := q.offers(0, 0)
	if err != nil {
		return q.keepCohort(err, form)
	}
	var was originalCohort
	_ = json.Unmarshal([]byte(form.Original), &was) // a form that is not ours has had nothing
	now := originalCohort{c.Name, c.Description, c.Filters}
	mine := originalCohort{form.Name, form.Description, c.Filters}
	if !c.IsStatic {
		mine.Filters = form.filters()
	}
	v := &clashView{
		Kind: "cohort", Name: c.Name, List: q.projectPath("/cohorts"), ListName: "Cohorts", Keep: q.cohortPath(c.ID),
		Theirs: cohortChanges(offered.words, was, now), Mine: cohortChanges(offered.words, now, mine),
	}
	return q.clash(v, originalOf(c))
}

// clash answers with a clashView.
func (q *request) clash(v *clashView, now string) error {
	q.layout.Title = "Somebody else changed " + v.Name
	v.Action, v.Original = q.URL.Path, now
	if v.Hidden == nil {
		v.Hidden = hiddenFields(q.PostForm, "original")
	}
	return q.render(http.StatusConflict, "clash", v)
}

// cohortChanges says what differs between two forms of a cohort.
func cohortChanges(words *words.Names, a, b originalCohort) []changeLine {
	criteria := cohortChange(words, a.Filters, b.Filters)
	if sameText(a.Filters, b.Filters) {
		criteria.After = criteria.Before
	}
	return different(changeLine{"name", a.Name, b.Name}, changeLine{"description", a.Description, b.Description}, criteria)
}

// cohortChange says in words how who is in a cohort has changed.
func cohortChange(names *words.Names, before, after json.RawMessage) changeLine {
	line := changeLine{Place: "criteria"}
	if text(before) != "" {
		line.Before = names.Cohort(before)
	}
	if text(after) != "" {
		line.After = names.Cohort(after)
	}
	if line.Before == line.After {
		line.Before, line.After = shorten(text(before), 2000), shorten(text(after), 2000)
	}
	return line
}
