package cohorts

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/internal/people"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

// Limits of the form of a cohort. What is deeper or longer is edited as JSON.
const (
	maxNodes  = 2000 // criteria and groups
	maxNested = 12   // groups within each other
)

// A cohortForm is a cohort as a person edits it, as a flagForm is a flag.
type cohortForm struct {
	Original string // the JSON of the cohort for which the form was made; "" for a new one
	Reviewed bool   // the person has seen who changes

	Name, Description string
	Static            bool // a list of persons

	Base string   // the JSON of the filters
	Root nodeForm // a group

	AsJSON bool   // the filters are edited as JSON
	JSON   string // as typed

	IDs          string // distinct IDs as they were typed, for a list
	people.Field        // who is to be added to it

	forms.Checked
}

// A nodeForm is a group of criteria, one criterion, or what the form has no fields for.
type nodeForm struct {
	Raw      string
	Group    bool
	Other    bool // it comes through unchanged
	Any      bool // of a group: one of its parts is enough
	Children []nodeForm
	Filter   targeting.FilterForm
}

// originalCohort is what the Service compares with the stored cohort.
type originalCohort struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Filters     json.RawMessage `json:"filters"`
}

func originalOf(c *management.CohortView) string {
	return string(forms.Must(json.Marshal(originalCohort{c.Name, c.Description, c.Filters})))
}

const emptyCohort = `{"properties":{"type":"AND","values":[]}}`

// cohortFormOf returns the form of a cohort.
func cohortFormOf(c *management.CohortView) *cohortForm {
	form := &cohortForm{Original: originalOf(c), Name: c.Name, Description: c.Description, Static: c.IsStatic}
	form.setFilters(c.Filters)
	return form
}

// setFilters fills in the fields that stand for filters. Filters that the form cannot show
// are edited as JSON.
func (form *cohortForm) setFilters(raw json.RawMessage) {
	form.Base = string(raw)
	left := maxNodes
	root, ok := nodeOf(forms.ReadObject(form.Base)["properties"], maxNested, &left)
	form.Root, form.AsJSON = root, !form.Static && (!ok || !root.Group)
	if form.AsJSON {
		form.JSON = forms.Pretty(raw)
	}
}

// listOf returns the name of the member with the parts of a group, "" for a criterion.
func listOf(o forms.Object) string {
	for _, name := range []string{"values", "AND", "OR"} {
		if _, there := o[name]; there && (name == "values" || o["key"] == nil) {
			return name
		}
	}
	return ""
}

// nodeOf reads a node, and reports whether the form can show it.
func nodeOf(raw json.RawMessage, depth int, left *int) (n nodeForm, ok bool) {
	if *left--; *left < 0 || depth < 0 {
		return n, false
	}
	o := forms.ReadObject(string(raw))
	list := listOf(o)
	if list == "" {
		n = nodeForm{Raw: string(raw), Filter: targeting.FilterOf(filterIn(raw))}
		n.Other = !slices.Contains([]string{"person", "person_metadata", "cohort"}, n.Filter.Kind)
		return n, true
	}
	n = nodeForm{Raw: string(raw), Group: true, Any: strings.EqualFold(forms.Text(o["type"]), "OR") || list == "OR"}
	for _, child := range forms.ReadList(o[list]) {
		part, ok := nodeOf(child, depth-1, left)
		if !ok {
			return n, false
		}
		n.Children = append(n.Children, part)
	}
	return n, true
}

// nodeKinds is of how many of its parts a group asks for.
var nodeKinds = forms.Options("AND", "all of these are true", "OR", "one of these is true")

func (n *nodeForm) kind() string { return map[bool]string{true: "OR", false: "AND"}[n.Any] }

// raw returns the JSON of a node.
func (n *nodeForm) raw() json.RawMessage {
	switch {
	case n.Other:
		return json.RawMessage(n.Raw)
	case !n.Group:
		return forms.Must(json.Marshal(n.Filter.Filter()))
	}
	o := forms.ReadObject(n.Raw)
	list := listOf(o)
	kind := n.kind()
	parts := make([]json.RawMessage, len(n.Children))
	for i := range n.Children {
		parts[i] = n.Children[i].raw()
	}
	switch {
	case list != "values" && list != "" && list != kind: // a very old form
		delete(o, list)
		list = ""
		fallthrough
	case list == "":
		list = "values"
		fallthrough
	case list == "values":
		if was := forms.Text(o["type"]); strings.EqualFold(was, "OR") != n.Any || was == "" {
			o["type"] = forms.Quoted(kind)
		}
	}
	o[list] = forms.Must(json.Marshal(parts))
	return forms.Must(json.Marshal(o))
}

// filters returns the filters that the form stands for.
func (form *cohortForm) filters() json.RawMessage {
	if form.AsJSON {
		return json.RawMessage(form.JSON)
	}
	out := forms.ReadObject(form.Base)
	out["properties"] = form.Root.raw()
	return forms.Must(json.Marshal(out))
}

// rootNode is the name of the outermost group. Its parts are n0.0, n0.1 and so on.
const rootNode = "n0"

// readCohortForm reads what a browser has sent.
func readCohortForm(v url.Values) *cohortForm {
	form := &cohortForm{
		Original: v.Get("original"), Reviewed: v.Get("reviewed") != "", Name: strings.TrimSpace(v.Get("name")),
		Description: forms.Lines(v.Get("description")),
		Static:      v.Get("kind") == "static", Base: v.Get("base"), AsJSON: v.Get("as_json") != "", JSON: forms.Lines(v.Get("json")),
	}
	left := maxNodes
	form.Root = readNode(v, rootNode, maxNested, &left)
	form.Root.Group = true
	return form
}

func readNode(v url.Values, name string, depth int, left *int) nodeForm {
	n := nodeForm{Raw: v.Get(name + ".raw"), Any: v.Get(name+".type") == "OR"}
	switch v.Get(name + ".node") {
	case "group":
		n.Group = true
	case "other":
		n.Other = true
		return n
	default:
		n.Filter = targeting.ReadFilter(v, name)
		return n
	}
	for i := 0; depth > 0; i++ {
		child := name + "." + strconv.Itoa(i)
		if *left--; *left < 0 || !v.Has(child+".node") {
			break
		}
		n.Children = append(n.Children, readNode(v, child, depth-1, left))
	}
	return n
}

// refuse notes what the Service says against the form.
func (form *cohortForm) refuse(e *management.Error) {
	switch {
	case e.Attr == "filters" && form.AsJSON:
		form.Fail("json", "%s", e.Text())
	case e.Attr == "filters":
		form.Fail(nodeField(e.Path), "%s", e.Detail)
	case slices.Contains([]string{"name", "description"}, e.Attr):
		form.Fail(e.Attr, "%s", e.Text())
	default:
		form.Fail("", "%s", e.Text())
	}
}

// nodeField returns the name of the field that an error about a place in filters is about.
func nodeField(path []string) (field string) {
	field = rootNode
	for i := 1; i < len(path); i++ {
		switch {
		case slices.Contains([]string{"values", "AND", "OR"}, path[i]) && i+1 < len(path) && forms.IsNumber(path[i+1]):
			i++
			field += "." + path[i]
		case path[i] == "key", path[i] == "operator", path[i] == "value":
			return field + "." + path[i]
		default:
			return field
		}
	}
	return field
}

// filterIn reads a filter of a tree.
func filterIn(raw json.RawMessage) *flags.Filter {
	f := new(flags.Filter)
	_ = json.Unmarshal(raw, f) // what is not one has nothing
	return f
}

// check notes what is missing or cannot be read.
func (form *cohortForm) check() {
	if form.Name == "" {
		form.Fail("name", "A cohort needs a name.")
	}
	form.checkFilters()
}

func (form *cohortForm) checkFilters() {
	switch {
	case form.Static:
	case form.AsJSON:
		if _, err := forms.ReadJSON(form.JSON, notCriteria); err != nil {
			form.Fail("json", "%v", err)
		}
	case len(form.Root.Children) == 0:
		form.Fail(rootNode, "Add a criterion: a cohort without one has no persons.")
	default:
		form.checkNode(rootNode, &form.Root)
	}
}

const notCriteria = "filters are an object, such as " + emptyCohort

func (form *cohortForm) checkNode(name string, n *nodeForm) {
	switch {
	case n.Other:
	case !n.Group:
		n.Filter.Check(name, form.Fail)
	case len(n.Children) == 0:
		form.Fail(name, "Add a criterion to the group, or remove it.")
	}
	for i := range n.Children {
		form.checkNode(name+"."+strconv.Itoa(i), &n.Children[i])
	}
}

// patch returns the change that the form stands for. Errors of the form are in Errors, and
// then ok is false.
func (form *cohortForm) patch() (p management.CohortPatch, ok bool) {
	if form.check(); len(form.Errors) > 0 {
		return p, false
	}
	body := map[string]any{"name": form.Name, "description": form.Description}
	switch {
	case form.Original != "" && form.Static:
	case form.Static:
		body["is_static"] = true
	default:
		body["filters"] = form.filters()
		var was originalCohort
		if json.Unmarshal([]byte(form.Original), &was) == nil && forms.SameText(was.Filters, form.filters()) {
			body["filters"] = was.Filters // with its members in their order
		}
	}
	if form.Original != "" {
		body["original_cohort"] = json.RawMessage(form.Original)
	}
	raw := forms.Must(json.Marshal(body))
	if err := json.Unmarshal(raw, &p); err != nil { // it was just made
		panic(err)
	}
	if !form.AsJSON {
		return p, true
	}
	if e, ok := errors.AsType[*management.Error](management.CheckBody(&p, raw, false)); ok {
		form.refuse(e)
	}
	return p, len(form.Errors) == 0
}

// node returns the node with a name, nil if there is none, and the group that it is in.
func (form *cohortForm) node(name string) (n, group *nodeForm, index int) {
	rest, ok := strings.CutPrefix(name, rootNode)
	if !ok {
		return nil, nil, 0
	}
	n = &form.Root
	for step := range strings.SplitSeq(strings.TrimPrefix(rest, "."), ".") {
		if step == "" {
			break
		}
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(n.Children) {
			return nil, nil, 0
		}
		n, group, index = &n.Children[i], n, i
	}
	return n, group, index
}

// edit does what a button of the form says, which changes only the form.
func (form *cohortForm) edit(verb, target string) {
	n, group, index := form.node(target)
	switch verb {
	case "add-person", "add-cohort":
		if n != nil && n.Group {
			n.Children = append(n.Children, nodeForm{Filter: targeting.NewFilter(strings.TrimPrefix(verb, "add-"))})
		}
	case "add-group":
		if n == nil || !n.Group {
			return
		}
		if strings.Count(target, ".") >= maxNested-2 {
			form.Fail(target, "Groups can be %d deep in the form. Edit the cohort as JSON for more.", maxNested-1)
			return
		}
		n.Children = append(n.Children, nodeForm{
			Raw: targeting.NewPart, Group: true, Any: !n.Any, Children: []nodeForm{{Filter: targeting.NewFilter("person")}},
		})
	case "remove":
		if group != nil {
			group.Children = slices.Delete(group.Children, index, index+1)
		}
	case "to-json":
		if form.checkFilters(); len(form.Errors) == 0 || len(form.Root.Children) == 0 {
			form.Errors = nil
			form.JSON, form.AsJSON = forms.Pretty(form.filters()), true
		}
	case "to-form":
		if _, err := forms.ReadJSON(form.JSON, notCriteria); err != nil {
			form.Fail("json", "%v", err)
			return
		}
		typed := form.JSON
		if form.setFilters(json.RawMessage(typed)); form.AsJSON {
			form.JSON = typed
			form.Fail("json", "The form cannot show this: it needs properties with a type and values, nested at most %d deep, with at "+
				"most %d criteria.", maxNested, maxNodes)
		}
	}
}
