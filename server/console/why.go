package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/management"
)

// whyView is the page that says why a person has the values that the person has. All of it
// is in the URL, so that a link to it can be sent to somebody else.
type whyView struct {
	layout
	Action     string
	Person     string
	Flag       string
	Typed      []typedRow   // properties that a program would send
	Groups     []groupField // which groups a program would send
	Open       bool         // some of them are filled in
	Errors     map[string]string
	Known      string   // the page about the person; "" if nothing is stored
	Candidates []option // persons whose distinct IDs begin so
	Flags      []string
	Persons    []string // some, to begin with
	Names      []string // of properties

	Rows []whyRow
	Cut  int // flags that are not listed

	Trace *traceView
	Text  string // the trace as lines
	Edit  string // where the flag is edited
	All   string // all flags of the person
}

// A typedRow is a property that was typed. Rows without a name do not count.
type typedRow struct {
	ID         string // of its fields
	Key, Value string
	kind       string
	Types      []option
	Error      string
}

// A groupField is the group of one type.
type groupField struct {
	Index string
	Name  string // of the type
	Key   string // of the group; "" if there is none
}

// A whyRow is the value of one flag.
type whyRow struct {
	Key, URL, Value, Reason string
	On                      bool
}

// A traceView is how one flag came to its value.
type traceView struct {
	Value        string
	On           bool
	Why          string
	Hidden       string
	Dependencies []management.ExplainedDependency
	Enrollment   *stepView
	Holdout      *scaleView
	Sets         []setView
}

// A setView is what happened to a condition set.
type setView struct {
	Number  int
	Outcome string
	Class   string // good, bad or ""
	Empty   bool   // it asks for nothing
	Steps   []stepView
	Draw    *scaleView
	Variant *scaleView
	Pinned  string
}

// A stepView is one comparison.
type stepView struct{ Source, Key, Operator, Value, Seen, Result, Class string }

// A scaleView is where somebody lies on a scale of 100 percent.
type scaleView struct {
	Words  string
	Bar    bar
	Marker string // percent
}

const (
	whyListed     = 500 // flags of one person
	whySuggested  = 50  // persons
	whyCandidates = 20  // persons with similar distinct IDs
)

// outcomeWords says what happened to a condition set.
var outcomeWords = map[string]string{
	"condition_match": "decides", "no_condition_match": "does not fit", "out_of_rollout_bound": "fits, but is not in its share",
	"not_reached": "not looked at", "provisional": "fits only because a flag has failed", "error": "failed", "no_group_type": "is about a group that the person is not in",
}

// maxTyped is how many properties can be typed.
const maxTyped = 100

func why(q *request) error {
	v := &whyView{
		Action: q.projectPath("/why"), Person: strings.TrimSpace(q.Form.Get("person")), Flag: strings.TrimSpace(q.Form.Get("flag")), Errors: make(map[string]string),
	}
	q.layout.Title = "Why"
	if err := v.readTyped(q); err != nil {
		return err
	}
	if err := q.whySuggestions(v); err != nil {
		return err
	}
	v.check()
	var err error
	switch {
	case len(v.Errors) > 0 || v.Person == "" && !v.Open:
	case v.Flag != "":
		err = q.whyFlag(v)
	default:
		err = q.whyAll(v)
	}
	if e, ok := errors.AsType[*management.Error](err); ok && !errors.Is(e, management.ErrForbidden) {
		v.Errors[map[bool]string{true: "flag", false: "person"}[v.Flag != ""]] = e.Detail
	} else if err != nil {
		return err
	}
	v.rest()
	v.layout = q.layout
	status := http.StatusOK
	if len(v.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	}
	q.render(status, "why", v)
	return nil
}

// readTyped reads the properties and groups of the URL.
func (v *whyView) readTyped(q *request) error {
	keys, kinds, values := q.Form["key"], q.Form["type"], q.Form["value"]
	if len(keys) > maxTyped || len(kinds) != len(keys) || len(values) != len(keys) {
		return errForm
	}
	for i, key := range keys {
		if key != "" || values[i] != "" {
			v.Typed = append(v.Typed, typedRow{Key: key, kind: kinds[i], Value: values[i]})
		}
	}
	types, err := q.groupTypes()
	if err != nil {
		return err
	}
	v.Open = len(v.Typed) > 0
	for _, t := range types {
		key := strings.TrimSpace(q.Form.Get("group-" + t.Value))
		v.Groups = append(v.Groups, groupField{t.Value, t.Label, key})
		v.Open = v.Open || key != ""
	}
	return nil
}

// check says what is wrong with the properties that were typed.
func (v *whyView) check() {
	seen := make(map[string]bool)
	for i := range v.Typed {
		row := &v.Typed[i]
		_, wrong := typed(row.kind, row.Value)
		switch {
		case row.Key == "":
			wrong = "Name the property that has the value."
		case seen[row.Key]:
			wrong = "The property is there twice."
		}
		seen[row.Key] = true
		if row.Error = wrong; wrong != "" {
			v.Errors["typed"] = wrong
		}
	}
}

// rest gives the rows their fields, and adds empty ones to type more.
func (v *whyView) rest() {
	const more = 2 // rows
	v.Typed = append(v.Typed, make([]typedRow, min(more, maxTyped-len(v.Typed)))...)
	for i := range v.Typed {
		v.Typed[i].ID = strconv.Itoa(i + 1)
		v.Typed[i].Types = selected(propertyTypes, cmp.Or(v.Typed[i].kind, typeText))
	}
}

// body is the request that a program would send.
func (v *whyView) body() []byte {
	properties, groups := make(object), make(map[string]string)
	for _, row := range v.Typed {
		properties[row.Key], _ = typed(row.kind, row.Value)
	}
	for _, g := range v.Groups {
		if g.Key != "" {
			groups[g.Name] = g.Key
		}
	}
	return must(json.Marshal(map[string]any{"distinct_id": cmp.Or(v.Person, "nobody"), "person_properties": properties, "groups": groups}))
}

// whySuggestions fills in persons and flags to choose from.
func (q *request) whySuggestions(v *whyView) error {
	keys, err := q.c.Service.ListFlags(q.Context(), q.by, q.ref, management.FlagQuery{Order: "key"}, maxOffered, 0)
	if err != nil {
		return err
	}
	for _, f := range keys.Items {
		v.Flags = append(v.Flags, f.Key)
	}
	persons, err := q.c.Service.ListPersons(q.Context(), q.by, q.ref, management.PersonQuery{}, whySuggested, 0)
	if err != nil && !isRefusal(err) {
		return err
	}
	if err == nil {
		for _, p := range persons.Items {
			v.Persons = append(v.Persons, p.DistinctIDs[:min(1, len(p.DistinctIDs))]...)
		}
		v.Names = namesIn(persons.Items)
	}
	if v.Person == "" {
		return nil
	}
	known, err := q.c.Service.GetPerson(q.Context(), q.by, q.ref, v.Person)
	if err == nil {
		v.Known = q.personPath(known.ID.String())
		return nil
	}
	if !isRefusal(err) {
		return err
	}
	similar, err := q.c.Service.ListPersons(q.Context(), q.by, q.ref, management.PersonQuery{Search: v.Person}, whyCandidates, 0)
	if err != nil {
		if isRefusal(err) {
			return nil
		}
		return err
	}
	for _, p := range similar.Items {
		for _, id := range p.DistinctIDs {
			if strings.HasPrefix(id, v.Person) {
				v.Candidates = append(v.Candidates, option{Value: v.linkFor(id, v.Flag), Label: id})
			}
		}
	}
	return nil
}

// link returns the URL of the page about the same somebody and a flag, "" for all flags.
func (v *whyView) link(flag string) string { return v.linkFor(v.Person, flag) }

func (v *whyView) linkFor(person, flag string) string {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	set("person", person)
	set("flag", flag)
	for _, row := range v.Typed {
		values.Add("key", row.Key)
		values.Add("type", row.kind)
		values.Add("value", row.Value)
	}
	for _, g := range v.Groups {
		set("group-"+g.Index, g.Key)
	}
	return v.Action + "?" + values.Encode()
}

func (q *request) whyAll(v *whyView) error {
	reasons, err := q.c.Service.ExplainFlags(q.Context(), q.by, q.ref, v.body())
	if err != nil {
		return err
	}
	v.Rows = v.rows(reasons)
	if v.Cut = len(v.Rows) - whyListed; v.Cut > 0 {
		v.Rows = v.Rows[:whyListed]
	}
	return nil
}

// rows lists values of flags by key.
func (v *whyView) rows(reasons map[string]management.FlagEvaluation) []whyRow {
	var rows []whyRow
	for _, key := range slices.Sorted(maps.Keys(reasons)) {
		r := reasons[key]
		rows = append(rows, whyRow{key, v.link(key), valueWords(r.Value), r.Evaluation.Description, has(r.Value)})
	}
	return rows
}

func (q *request) whyFlag(v *whyView) error {
	e, err := q.c.Service.ExplainFlag(q.Context(), q.by, q.ref, v.Flag, v.body())
	if err != nil {
		return err
	}
	v.Flag, v.Trace, v.Text = e.Key, traceOf(e), e.String()
	v.Edit = q.projectPath("/flags/" + url.PathEscape(e.Key))
	v.All = v.link("")
	return nil
}

// traceOf says in words how a flag came to its value.
func traceOf(e *management.FlagExplanation) *traceView {
	t := &traceView{Value: valueWords(e.Value), On: has(e.Value), Why: cmp.Or(e.Result.Reason.Description, e.Why), Hidden: e.Hidden, Dependencies: e.Dependencies, Holdout: drawOf(e.Holdout)}
	if e.Enrollment != nil {
		t.Enrollment = new(stepOf(e.Enrollment))
	}
	for _, c := range e.Conditions {
		s := setView{Number: c.Index + 1, Outcome: cmp.Or(outcomeWords[c.Outcome], c.Outcome), Draw: drawOf(c.Rollout), Pinned: c.Pinned, Empty: len(c.Filters) == 0 && c.Outcome != "not_reached"}
		switch c.Outcome {
		case "condition_match", "provisional":
			s.Class = "good"
		case "error":
			s.Class = "bad"
		}
		for _, f := range c.Filters {
			s.Steps = append(s.Steps, stepOf(&f))
		}
		if c.Variant != nil {
			s.Variant = variantScale(c.Variant)
		}
		t.Sets = append(t.Sets, s)
	}
	return t
}

func stepOf(f *management.ExplainedFilter) stepView {
	s := stepView{f.Source, f.Key, operatorOf(sourceKind(f.Source), f.Operator).label, strings.Join(texts(json.RawMessage(f.Value)), ", "), text(json.RawMessage(f.Seen)), f.Result, ""}
	if !f.Present && f.Seen == "" {
		s.Seen = "not set"
	}
	switch f.Result {
	case "match", "provisional":
		s.Class = "good"
	case "no match", "error":
		s.Class = "bad"
	}
	return s
}

// sourceKind returns the kind of a filter by what its trace calls the source.
func sourceKind(source string) string {
	kind, _, _ := strings.Cut(source, " ")
	return kind
}

// drawOf shows whether a draw was within a share.
func drawOf(d *management.ExplainedDraw) *scaleView {
	if d == nil {
		return nil
	}
	share := d.Threshold * 100
	if !d.Hashed {
		return &scaleView{Words: "Everybody is in the share of " + percent(round(share)) + "."}
	}
	s := &scaleView{Marker: decimal(d.Bucket * 100)}
	verdict, class := "which is outside of", "lose"
	if d.In {
		verdict, class = "which is within", "gain"
	}
	s.Words = strconv.Quote(d.Subject) + " is drawn at " + percent(round(d.Bucket*100)) + ", " + verdict + " the share of " + percent(round(share)) + "."
	x := s.Bar.add(0, share, class, "share")
	s.Bar.add(x, 100-x, "same", "the others")
	return s
}

// variantScale shows which variant a draw falls to.
func variantScale(v *management.ExplainedVariant) *scaleView {
	s := &scaleView{Marker: decimal(v.Bucket * 100), Words: "The variant is drawn at " + percent(round(v.Bucket*100)) + ", which is " + cmp.Or(v.Variant, "no variant") + "."}
	x := 0.0
	for i, b := range v.Bounds {
		x = s.Bar.add(x, b.Below*100-x, "hue-"+strconv.Itoa(i%hues), b.Variant)
	}
	return s
}
