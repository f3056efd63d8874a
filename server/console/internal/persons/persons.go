package persons

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/internal/comparisons"
	"github.com/flagstaff-go/flagstaff/server/console/internal/people"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

var personsScreen = shell.Screen{
	Title: "Persons", Entry: 5, Go: "p", Path: "/persons",
	Icon:  "M8 7.4a2.9 2.9 0 1 0 0-5.8 2.9 2.9 0 0 0 0 5.8ZM2.4 14.2c0-2.9 2.4-4.6 5.6-4.6s5.6 1.7 5.6 4.6",
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/persons": listPersons},
}

// personsView is the list of persons, or of those that a search has found.
type personsView struct {
	shell.Layout
	Action    string
	Query     personsQuery
	Operators []targeting.OptionGroup
	Names     []string // of properties, to choose from
	Tabs      []shell.Tab
	forms.Checked
	Rows     []personRow
	Filtered bool
	Looked   string // how far a search has looked that has not come to its end
	Clear    string
	First    string // the first page; "" if it is this one
	Next     string
	propertyWords
}

// personsQuery is what the URL of the list says.
type personsQuery struct{ Search, Property, Operator, Value, After string }

// A personRow is a person in the list.
type personRow struct {
	*management.PersonView
	Title     string
	Other     string // a distinct ID that is not the name
	More      string // distinct IDs that are not shown
	Anonymous bool
}

func readPersonsQuery(v url.Values) personsQuery {
	return personsQuery{
		strings.TrimSpace(v.Get("q")), strings.TrimSpace(v.Get("property")), v.Get("operator"), v.Get("value"), v.Get("after"),
	}
}

// encode returns the query of a URL, with what is not empty.
func (p personsQuery) encode() string {
	v := url.Values{}
	for name, value := range map[string]string{"q": p.Search, "after": p.After} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if p.Property != "" {
		v.Set("property", p.Property)
		v.Set("operator", p.Operator)
		v.Set("value", p.Value)
	}
	return v.Encode()
}

// filters returns the list of filters that the query stands for, or which field is wrong.
func (p personsQuery) filters() (list string, field, wrong string) {
	if p.Property == "" {
		if p.Value != "" {
			return "", "property", "Name the property that has the value."
		}
		return "", "", ""
	}
	f := targeting.FilterForm{Raw: targeting.NewPart, Kind: "person", Key: p.Property, Operator: p.Operator, Values: []string{p.Value}}
	switch takes := comparisons.Of(f.Kind, f.Operator).Operand; {
	case takes == operators.OperandRange, takes == operators.OperandTexts:
		f.Values = forms.Names(p.Value)
		if takes == operators.OperandRange && len(f.Values) != 2 {
			return "", "value", "Type two numbers with a comma between them."
		}
	case takes != operators.OperandNone && p.Value == "":
		return "", "value", "A value is missing."
	}
	return string(forms.Must(json.Marshal([]flags.Filter{f.Filter()}))), "", ""
}

func listPersons(q *shell.Request) error {
	asked := readPersonsQuery(q.Form)
	q.Notice()
	v := &personsView{Action: q.ProjectPath("/persons"), Query: asked}
	v.Operators, _ = targeting.OperatorGroups("person", asked.Operator)
	var err error
	if v.Tabs, err = personTabs(q, ""); err != nil {
		return err
	}
	if v.Names, err = propertyNames(q); err != nil {
		return err
	}
	v.Filtered = asked.Search != "" || asked.Property != "" || asked.Value != ""
	if v.Filtered {
		v.Clear = v.Action
	}
	filters, field, wrong := asked.filters()
	if wrong != "" {
		v.Fail(field, "%s", wrong)
		return q.Render(http.StatusUnprocessableEntity, "persons", v)
	}
	found, err := q.Service.SearchPersons(q.Context(), q.By, q.Ref, management.PersonSearch{
		Text: asked.Search, Properties: filters, After: asked.After,
	}, shell.PageSize)
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		field := map[string]string{"search": "q", "properties": "value"}[e.Attr]
		if field == "" {
			return shell.ErrNoPage // the place in the list was made up
		}
		v.Fail(field, "%s", e.Text())
		return q.Render(http.StatusUnprocessableEntity, "persons", v)
	}
	if err != nil {
		return err
	}
	for _, p := range found.Items {
		v.Rows = append(v.Rows, rowOf(q, p))
	}
	v.paging(found)
	return q.Render(http.StatusOK, "persons", v)
}

func (v *personsView) paging(found *management.FoundPersons) {
	next := v.Query
	next.After = found.Next
	if found.Next != "" {
		v.Next = v.Action + "?" + next.encode()
	}
	if v.Query.After != "" {
		next.After = ""
		v.First = strings.TrimSuffix(v.Action+"?"+next.encode(), "?")
	}
	if v.Filtered && found.Next != "" && len(found.Items) < shell.PageSize {
		v.Looked = "This page has looked at " + forms.Count(found.Looked, "person", "persons") + ". The next one looks at more."
	}
}

// personTabs are persons and the groups of each type; current is the index of a type, or
// "" for persons.
func personTabs(q *shell.Request, current string) ([]shell.Tab, error) {
	types, err := q.GroupTypes()
	if err != nil || len(types) == 0 {
		return nil, err
	}
	tabs := []shell.Tab{{Name: "Persons", URL: q.ProjectPath("/persons"), Current: current == ""}}
	for _, t := range types {
		tabs = append(tabs, shell.Tab{Name: t.Label, URL: q.ProjectPath("/groups/" + t.Value), Current: current == t.Value})
	}
	return tabs, nil
}

// propertyNames returns the names of properties that some persons have.
func propertyNames(q *shell.Request) ([]string, error) {
	persons, err := people.NewestPersons(q, people.PersonsSuggested)
	return people.NamesIn(persons), err
}

// anonymous reports whether a person is known by nothing but distinct IDs.
func anonymous(p *management.PersonView) bool {
	return !p.IsIdentified && (len(p.DistinctIDs) == 0 || p.Name == p.DistinctIDs[0])
}

func rowOf(q *shell.Request, p *management.PersonView) personRow {
	row := personRow{PersonView: p, Title: cmp.Or(forms.Shorten(p.Name, 120), p.ID.String()), Anonymous: anonymous(p)}
	if n := len(p.DistinctIDs); n > 0 {
		if p.DistinctIDs[0] != p.Name {
			row.Other = forms.Shorten(p.DistinctIDs[0], 80)
		}
		if n > 1 {
			row.More = forms.Count(n-1, "more distinct ID", "more distinct IDs")
		}
	}
	return row
}
