package cohorts

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/internal/sides"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

var compareScreen = shell.Screen{
	Title: "Compare cohorts", Under: "Cohorts",
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/cohorts/compare": compareCohorts},
}

// A comparisonView is two cohorts side by side.
type comparisonView struct {
	shell.Layout
	List, Action string
	One, Other   []forms.Option // what can be chosen
	Sides        sides.View
}

func compareCohorts(q *shell.Request) error {
	offered, err := targeting.Offers(q, 0, 0)
	if err != nil {
		return err
	}
	uses, err := q.Service.CohortUses(q.Context(), q.By, q.Ref)
	if err != nil {
		return err
	}
	v := &comparisonView{
		List: q.ProjectPath("/cohorts"), Action: q.URL.Path, Sides: sides.View{Alike: "The two cohorts are the same."},
	}
	var two [2]*management.CohortView
	for i, options := range []*[]forms.Option{&v.One, &v.Other} {
		c, err := q.Service.Cohort(q.Context(), q.By, q.Ref, q.Form.Get([]string{"one", "other"}[i]))
		if err != nil {
			return err
		}
		id := strconv.FormatInt(c.ID, 10)
		*options = slices.Clone(offered.Cohorts)
		if forms.LabelOf(*options, id, "") == "" {
			*options = append(*options, forms.Option{Value: id, Label: c.Name})
		}
		*options = forms.Selected(*options, id)
		two[i], v.Sides.Heads[i] = c, sides.Head{Name: c.Name, URL: cohortPath(q, c.ID)}
	}
	used := func(c *management.CohortView) string { return usesWords(usesOf(q, uses[c.ID])) }
	matchOne, partsOne := criteria(two[0], offered.Names())
	matchOther, partsOther := criteria(two[1], offered.Names())
	for _, fact := range []struct {
		place string
		say   func(*management.CohortView) string
	}{
		{"name", func(c *management.CohortView) string { return c.Name }},
		{"type", func(c *management.CohortView) string {
			return map[bool]string{true: "static", false: "dynamic"}[c.IsStatic]
		}},
		{"persons", func(c *management.CohortView) string { return sizeOf(q, c).Words }},
		{"description", func(c *management.CohortView) string { return c.Description }},
		{"deleted", func(c *management.CohortView) string { return map[bool]string{true: "yes"}[c.Deleted] }},
	} {
		v.Sides.Add(fact.place, fact.say(two[0]), fact.say(two[1]))
	}
	v.Sides.Add("match", matchOne, matchOther)
	v.Sides.AddLists(partsOne, partsOther)
	v.Sides.Add("used by", used(two[0]), used(two[1]))
	return q.Render(http.StatusOK, "cohort_compare", v)
}

// usesWords lists what uses a cohort in a line.
func usesWords(uses []useView) string {
	names := make([]string, len(uses))
	for i, use := range uses {
		names[i] = use.Name + " (" + use.Kind + map[bool]string{true: ", off"}[use.Off] + ")"
	}
	return strings.Join(names, ", ")
}

// criteria says how many of its criteria a cohort asks for, and each of them.
func criteria(c *management.CohortView, names shell.Names) (match string, parts []sides.Part) {
	if c.IsStatic {
		return "", nil
	}
	form := cohortFormOf(c)
	if form.AsJSON {
		return "", []sides.Part{{Place: "criteria", Words: names.Cohort(c.Filters), Stored: forms.Canonical(c.Filters)}}
	}
	alone := func(raw string) json.RawMessage {
		group := forms.Object{"type": forms.Quoted("AND"), "values": json.RawMessage("[" + raw + "]")}
		return forms.Must(json.Marshal(forms.Object{"properties": forms.Must(json.Marshal(group))}))
	}
	for i := range form.Root.Children {
		n := &form.Root.Children[i]
		place := map[bool]string{true: "group ", false: "criterion "}[n.Group] + strconv.Itoa(i+1)
		parts = append(parts, sides.Part{
			Place: place, Words: names.Cohort(alone(n.Raw)), Stored: forms.Canonical(json.RawMessage(n.Raw)),
		})
	}
	return forms.LabelOf(nodeKinds, form.Root.kind(), ""), parts
}
