package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/management"
)

var _ = register(screen{
	title: "Persons", entry: 4, path: "/persons",
	scope: inProject, pages: map[string]page{"GET /projects/{project}/persons": listPersons},
})

// personsView is the list of persons, or of those that a search has found.
type personsView struct {
	layout
	Action    string
	Query     personsQuery
	Operators []optionGroup
	Names     []string // of properties, to choose from
	Tabs      []stateTab
	checked
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
	f := filterForm{Raw: newPart, Kind: "person", Key: p.Property, Operator: p.Operator, Values: []string{p.Value}}
	switch takes := operatorOf(f.Kind, f.Operator).Operand; {
	case takes == operators.OperandRange, takes == operators.OperandTexts:
		f.Values = names(p.Value)
		if takes == operators.OperandRange && len(f.Values) != 2 {
			return "", "value", "Type two numbers with a comma between them."
		}
	case takes != operators.OperandNone && p.Value == "":
		return "", "value", "A value is missing."
	}
	return string(must(json.Marshal([]flags.Filter{f.filter()}))), "", ""
}

func listPersons(q *request) error {
	asked := readPersonsQuery(q.Form)
	q.notice()
	v := &personsView{Action: q.projectPath("/persons"), Query: asked}
	v.Operators, _ = operatorGroups("person", asked.Operator)
	var err error
	if v.Tabs, err = q.personTabs(""); err != nil {
		return err
	}
	if v.Names, err = q.propertyNames(); err != nil {
		return err
	}
	v.Filtered = asked.Search != "" || asked.Property != "" || asked.Value != ""
	if v.Filtered {
		v.Clear = v.Action
	}
	filters, field, wrong := asked.filters()
	if wrong != "" {
		v.fail(field, "%s", wrong)
		return q.render(http.StatusUnprocessableEntity, "persons", v)
	}
	found, err := q.c.Service.SearchPersons(q.Context(), q.by, q.ref, management.PersonSearch{
		Text: asked.Search, Properties: filters, After: asked.After,
	}, pageSize)
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		field := map[string]string{"search": "q", "properties": "value"}[e.Attr]
		if field == "" {
			return errNoPage // the place in the list was made up
		}
		v.fail(field, "%s", e.Text())
		return q.render(http.StatusUnprocessableEntity, "persons", v)
	}
	if err != nil {
		return err
	}
	for _, p := range found.Items {
		v.Rows = append(v.Rows, q.personRow(p))
	}
	v.paging(found)
	return q.render(http.StatusOK, "persons", v)
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
	if v.Filtered && found.Next != "" && len(found.Items) < pageSize {
		v.Looked = "This page has looked at " + count(found.Looked, "person", "persons") + ". The next one looks at more."
	}
}

// personTabs are persons and the groups of each type; current is the index of a type, or
// "" for persons.
func (q *request) personTabs(current string) ([]stateTab, error) {
	types, err := q.groupTypes()
	if err != nil || len(types) == 0 {
		return nil, err
	}
	tabs := []stateTab{{Name: "Persons", URL: q.projectPath("/persons"), Current: current == ""}}
	for _, t := range types {
		tabs = append(tabs, stateTab{Name: t.Label, URL: q.projectPath("/groups/" + t.Value), Current: current == t.Value})
	}
	return tabs, nil
}

// propertyNames returns the names of properties that some persons have.
func (q *request) propertyNames() ([]string, error) {
	persons, err := q.newestPersons(personsSuggested)
	return namesIn(persons), err
}

// newestPersons returns some persons to choose from, none if nothing is captured or the
// user may not see them. Nobody counts how many there are.
func (q *request) newestPersons(limit int) ([]*management.PersonView, error) {
	found, err := known(q.c.Service.SearchPersons(q.Context(), q.by, q.ref, management.PersonSearch{}, limit))
	if err != nil || found == nil {
		return nil, err
	}
	return found.Items, nil
}

func namesIn(persons []*management.PersonView) (list []string) {
	for _, p := range persons {
		for name := range readObject(string(p.Properties)) {
			if len(list) < namesOffered && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	slices.Sort(list)
	return list
}

func (q *request) personPath(id string) string {
	return q.projectPath("/persons/" + url.PathEscape(id))
}

// anonymous reports whether a person is known by nothing but distinct IDs.
func anonymous(p *management.PersonView) bool {
	return !p.IsIdentified && (len(p.DistinctIDs) == 0 || p.Name == p.DistinctIDs[0])
}

func (q *request) personRow(p *management.PersonView) personRow {
	row := personRow{PersonView: p, Title: cmp.Or(shorten(p.Name, 120), p.ID.String()), Anonymous: anonymous(p)}
	if n := len(p.DistinctIDs); n > 0 {
		if p.DistinctIDs[0] != p.Name {
			row.Other = shorten(p.DistinctIDs[0], 80)
		}
		if n > 1 {
			row.More = count(n-1, "more distinct ID", "more distinct IDs")
		}
	}
	return row
}
