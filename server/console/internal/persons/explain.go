package persons

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/internal/comparisons"
	"github.com/flagstaff-go/flagstaff/server/console/internal/effects"
	"github.com/flagstaff-go/flagstaff/server/console/internal/people"
	"github.com/flagstaff-go/flagstaff/server/console/internal/tour"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var explainScreen = shell.Screen{
	Title: "Explain", Entry: 7, Go: "x", Path: "/explain",
	Icon:  "M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4ZM6.1 6.3c.1-1.1.9-1.7 1.9-1.7s1.9.7 1.9 1.6c0 1.4-1.9 1.5-1.9 2.8M8 11.3v.2",
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/explain": explain},
}

// explainView is the page that says why a person has the values that the person has. All of it
// is in the URL, so that a link to it can be sent to somebody else: it names the person by a
// distinct ID, and has nothing that was left empty.
type explainView struct {
	shell.Layout
	Action string
	Person string // as it was typed, or a distinct ID
	Flag   string
	Typed  []typedRow   // properties that a program would send
	Groups []groupField // which groups a program would send
	Open   bool         // some of them are filled in
	New    bool         // a person may be meant of whom nothing is stored
	forms.Checked
	Flags   []string
	Persons []string    // some, to begin with
	Try     []shell.Tab // what some of them get, if nobody is named
	Names   []string    // of properties

	Known  string         // the page about the person; "" if nothing is stored
	Called string         // the name of the person, if it is not the distinct ID
	Choice *people.Choice // why it is not known who is meant
	Anew   string         // where the flags of somebody new with that distinct ID are
	Notes  []string       // what of the somebody is not stored

	Rows []valueRow
	Cut  int // flags that are not listed

	Trace *traceView
	Text  string // the trace as lines
	Edit  string // where the flag is edited
	All   string // all flags of the person
}

// A typedRow is a property that was typed. Rows without a name do not count.
type typedRow struct {
	ID               string // of its fields
	Key, Value, kind string
	Types            []forms.Option
	Error            string
}

// A groupField is the group of one type.
type groupField struct {
	Index string
	Name  string // of the type
	Key   string // of the group; "" if there is none
}

// A valueRow is the value of one flag.
type valueRow struct {
	Key, URL, Value, Reason string
	On                      bool
}

// A traceView is how one flag came to its value.
type traceView struct {
	Value        string
	On           bool
	Why, Hidden  string
	Dependencies []flags.DependencyTrace
	Enrollment   *stepView
	Holdout      *scaleView
	Sets         []setView
	Noun         string // what they are
}

// A setView is what happened to a condition set.
type setView struct {
	Number        int
	Outcome       string
	Holdout       *scaleView // of a rule
	Class         string     // good, bad or ""
	Empty         bool       // it asks for nothing
	Steps         []stepView
	Draw, Variant *scaleView
	Pinned        string
}

// A stepView is one comparison.
type stepView struct{ Source, Key, Operator, Value, Seen, Result, Class string }

// A scaleView is where somebody lies on a scale of 100 percent.
type scaleView struct {
	Words  string
	Bar    charts.Bar
	Marker string // percent
}

const (
	explainListed = 500 // flags of one person
	personsToTry  = 5
)

// outcomeWords says what happened to a condition set.
var outcomeWords = map[string]string{
	"condition_match": "match", "no_condition_match": "no match", "out_of_rollout_bound": "match, but outside the rollout percentage",
	"not_reached": "not evaluated", "provisional": "match only because a flag has failed", "error": "failed",
	"no_group_type": "needs a group that the person is not in", "experiment_paused": "match, but paused", "holdout": "match, but held out",
}

// maxTyped is how many properties can be typed.
const maxTyped = 100

func explain(q *shell.Request) error {
	v := &explainView{
		Action: q.ProjectPath("/explain"), Person: strings.TrimSpace(q.Form.Get("person")), Flag: strings.TrimSpace(q.Form.Get("flag")),
		New: q.Form.Get("new") == "yes",
	}
	if err := v.readTyped(q); err != nil {
		return err
	}
	v.check()
	if err := explainPerson(q, v); err != nil {
		return err
	}
	if short := v.shortLink(q.Form); short != "" && len(v.Errors) == 0 {
		return q.Redirect(short)
	}
	if err := explainSuggestions(q, v); err != nil {
		return err
	}
	var err error
	switch {
	case len(v.Errors) > 0, v.Choice != nil, v.Person == "" && !v.Open:
	case v.Flag != "":
		err = explainFlag(q, v)
	default:
		err = explainAll(q, v)
	}
	if e, ok := errors.AsType[*management.Error](err); ok && !errors.Is(e, management.ErrForbidden) {
		if errors.Is(e, management.ErrNotFound) && v.Flag != "" {
			v.Fail("flag", "There is no flag with the key %s.", forms.Shorten(v.Flag, 80))
		}
		v.Fail(map[bool]string{true: "flag", false: "person"}[v.Flag != ""], "%s", e.Text())
	} else if err != nil {
		return err
	}
	if err := tour.Explained(q, v.Flag); err != nil {
		return err
	}
	v.notes()
	v.rest()
	status := http.StatusOK
	if len(v.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return q.Render(status, "explain", v)
}

// explainPerson finds the person who is meant. Flags of somebody of whom nothing is stored are
// shown only if they were asked for.
func explainPerson(q *shell.Request, v *explainView) error {
	if v.Person == "" {
		v.New = false
		return nil
	}
	p, choice, err := people.NamedPerson(q, v.Person)
	switch {
	case shell.IsRefusal(err):
		v.New = true // no persons are stored
		return nil
	case err != nil:
		return err
	case p == nil && v.New:
		return nil
	case p == nil:
		v.Choice = choice
		for i := range choice.Others {
			n := &choice.Others[i]
			n.URL = v.linkFor(n.ID, v.Flag)
		}
		anew := *v
		anew.New = true
		v.Anew = anew.link(v.Flag)
		return nil
	case len(p.DistinctIDs) == 0:
		v.Choice = &people.Choice{Words: "The person has no distinct ID, so that no program can ask for the person's flags."}
		return nil
	}
	v.New = false
	if !slices.Contains(p.DistinctIDs, v.Person) {
		v.Person = p.DistinctIDs[0]
	}
	v.Known = people.Path(q, p.ID.String())
	if p.Name != v.Person {
		v.Called = forms.Shorten(p.Name, 120)
	}
	return nil
}

// notes says what is not stored of the somebody whose flags are shown.
func (v *explainView) notes() {
	if v.Trace == nil && v.Rows == nil {
		return
	}
	var typed []string
	for _, row := range v.Typed {
		typed = append(typed, row.Key+" "+cmp.Or(row.Value, "nothing"))
	}
	for _, g := range v.Groups {
		if g.Key != "" {
			typed = append(typed, g.Name+" "+g.Key)
		}
	}
	words := forms.Shorten(strings.Join(typed, ", "), 400)
	switch {
	case v.New:
		v.Notes = append(v.Notes, "Nothing is stored about "+v.Person+": this is what somebody new with that distinct ID gets.")
	case v.Person == "":
		v.Notes = append(v.Notes, "No person is named: this is what somebody gets of whom nothing is known but what was typed in. "+
			"The rollout is computed with the distinct ID "+noPerson+".")
	}
	if words != "" {
		v.Notes = append(v.Notes, "Typed in, in place of what is stored: "+words+".")
	}
}

// noPerson is the distinct ID of the somebody who is not named.
const noPerson = "nobody"

// readTyped reads the properties and groups of the URL.
func (v *explainView) readTyped(q *shell.Request) error {
	keys, kinds, values := q.Form["key"], q.Form["type"], q.Form["value"]
	if len(keys) > maxTyped || len(kinds) != len(keys) || len(values) != len(keys) {
		return shell.ErrForm
	}
	for i, key := range keys {
		if key != "" || values[i] != "" {
			v.Typed = append(v.Typed, typedRow{Key: key, kind: kinds[i], Value: values[i]})
		}
	}
	types, err := q.GroupTypes()
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
func (v *explainView) check() {
	seen := make(map[string]bool)
	for i := range v.Typed {
		row := &v.Typed[i]
		_, wrong := forms.Typed(row.kind, row.Value)
		switch {
		case row.Key == "":
			wrong = "Name the property that has the value."
		case seen[row.Key]:
			wrong = "The property is there twice."
		}
		seen[row.Key] = true
		if row.Error = wrong; wrong != "" {
			v.Fail("typed", "%s", wrong)
		}
	}
}

// rest gives the rows their fields, and adds empty ones to type more.
func (v *explainView) rest() {
	const more = 2 // rows
	v.Typed = append(v.Typed, make([]typedRow, min(more, maxTyped-len(v.Typed)))...)
	for i := range v.Typed {
		v.Typed[i].ID = strconv.Itoa(i + 1)
		v.Typed[i].Types = forms.Selected(forms.PropertyTypes, cmp.Or(v.Typed[i].kind, forms.TypeText))
	}
}

// body is the request that a program would send.
func (v *explainView) body() []byte {
	properties, groups := make(forms.Object), make(map[string]string)
	for _, row := range v.Typed {
		properties[row.Key], _ = forms.Typed(row.kind, row.Value)
	}
	for _, g := range v.Groups {
		if g.Key != "" {
			groups[g.Name] = g.Key
		}
	}
	return forms.Must(json.Marshal(map[string]any{
		"distinct_id": cmp.Or(v.Person, noPerson), "person_properties": properties,
		"groups": groups,
	}))
}

// explainSuggestions fills in persons and flags to choose from.
func explainSuggestions(q *shell.Request, v *explainView) (err error) {
	if v.Flags, err = people.FlagKeys(q); err != nil {
		return err
	}
	persons, err := people.NewestPersons(q, people.PersonsSuggested)
	for _, p := range persons {
		v.Persons = append(v.Persons, p.DistinctIDs[:min(1, len(p.DistinctIDs))]...)
	}
	if v.Person == "" && !v.Open {
		for _, id := range v.Persons[:min(len(v.Persons), personsToTry)] {
			v.Try = append(v.Try, shell.Tab{Name: id, URL: v.linkFor(id, v.Flag)})
		}
	}
	v.Names = people.NamesIn(persons)
	return err
}

// link returns the URL of the page about the same somebody and a flag, "" for all flags.
func (v *explainView) link(flag string) string { return v.linkFor(v.Person, flag) }

func (v *explainView) linkFor(person, flag string) string {
	var query []string
	set := func(name, value string) {
		if value != "" {
			query = append(query, name+"="+url.QueryEscape(value))
		}
	}
	set("person", person)
	set("flag", flag)
	if v.New {
		set("new", "yes")
	}
	for _, g := range v.Groups {
		set("group-"+g.Index, g.Key)
	}
	for _, row := range v.Typed {
		query = append(query, url.Values{"key": {row.Key}, "type": {row.kind}, "value": {row.Value}}.Encode())
	}
	if len(query) == 0 {
		return v.Action
	}
	return v.Action + "?" + strings.Join(query, "&")
}

// shortLink returns the URL of the page if the URL of the request says more than it has to,
// as that of a form does, or "".
func (v *explainView) shortLink(asked url.Values) string {
	link := v.link(v.Flag)
	_, query, _ := strings.Cut(link, "?")
	if says, err := url.ParseQuery(query); err != nil || maps.EqualFunc(says, asked, slices.Equal) {
		return ""
	}
	return link
}

func explainAll(q *shell.Request, v *explainView) error {
	reasons, err := q.Service.ExplainFlags(q.Context(), q.By, q.Ref, v.body())
	if err != nil {
		return err
	}
	v.Rows = v.rows(reasons)
	if v.Cut = len(v.Rows) - explainListed; v.Cut > 0 {
		v.Rows = v.Rows[:explainListed]
	}
	return nil
}

// rows lists values of flags by key.
func (v *explainView) rows(reasons map[string]management.FlagEvaluation) []valueRow {
	var rows []valueRow
	for _, key := range slices.Sorted(maps.Keys(reasons)) {
		r := reasons[key]
		rows = append(rows, valueRow{
			key, v.link(key), effects.ValueWords(r.Value),
			reasonWords(r.Evaluation.Reason, r.Evaluation.ConditionIndex != nil, r.Evaluation.Description), effects.Has(r.Value),
		})
	}
	return rows
}

// reasonWords says why a flag has a value.
func reasonWords(code string, ofCondition bool, description string) string {
	if code == "no_group_type" && !ofCondition { // of a flag without condition sets (evaluation.md §3.7)
		return "No condition sets, so it is off for everyone"
	}
	return description
}

func explainFlag(q *shell.Request, v *explainView) error {
	e, err := q.Service.ExplainFlag(q.Context(), q.By, q.Ref, v.Flag, v.body())
	if err != nil {
		return err
	}
	f, err := q.Service.Flag(q.Context(), q.By, q.Ref, e.Key)
	if err != nil {
		return err
	}
	v.Flag, v.Trace, v.Text = e.Key, traceOf(e), e.String()
	v.Trace.Noun = "Condition set"
	if f.Filters.RuleSet != nil {
		v.Trace.Noun = "Rule"
	}
	v.Edit = q.ProjectPath("/flags/" + url.PathEscape(e.Key))
	v.All = v.link("")
	return nil
}

// traceOf says in words how a flag came to its value.
func traceOf(e *management.FlagExplanation) *traceView {
	r := e.Result.Reason
	t := &traceView{
		Value: effects.ValueWords(e.Value), On: effects.Has(e.Value),
		Why:    cmp.Or(reasonWords(r.Code, r.ConditionIndex >= 0, r.Description), e.Why),
		Hidden: e.Hidden, Dependencies: e.Dependencies, Holdout: drawOf(e.Holdout),
	}
	if e.Enrollment != nil {
		t.Enrollment = new(stepOf(e.Enrollment))
	}
	for _, c := range e.Conditions {
		s := setView{
			Number: c.Index + 1, Outcome: cmp.Or(outcomeWords[c.Outcome], c.Outcome), Draw: drawOf(c.Rollout), Pinned: c.Pinned,
			Holdout: drawOf(c.Holdout), Empty: len(c.Filters) == 0 && c.Outcome != "not_reached",
		}
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

func stepOf(f *flags.FilterTrace) stepView {
	s := stepView{
		f.Source, f.Key, comparisons.Of(sourceKind(f.Source), f.Operator).Words, strings.Join(forms.Texts(json.RawMessage(f.Value)),
			", "),
		forms.Text(json.RawMessage(f.Seen)), f.Result, "",
	}
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
func drawOf(d *flags.BucketTrace) *scaleView {
	if d == nil {
		return nil
	}
	share := d.Threshold * 100
	if !d.Hashed {
		return &scaleView{Words: "Everyone is within the rollout percentage of " + forms.Percent(charts.Round(share)) + "."}
	}
	s := &scaleView{Marker: charts.Decimal(d.Bucket * 100)}
	verdict, class := "which is outside of", "lose"
	if d.In {
		verdict, class = "which is within", "gain"
	}
	drawn, limit := apart(d.Bucket*100, share)
	s.Words = strconv.Quote(d.Subject) + " is bucketed at " + drawn + ", " + verdict + " the rollout percentage of " + limit + "."
	shown := charts.Shares(100, []float64{share, 100 - share})
	s.Bar.Add(s.Bar.Add(0, shown[0], class, "rollout"), shown[1], "same", "the others")
	return s
}

// apart returns two percentages with as few decimals as tell them apart.
func apart(a, b float64) (string, string) {
	for decimals := 10.0; ; decimals *= 10 {
		x, y := math.Round(a*decimals)/decimals, math.Round(b*decimals)/decimals
		if x != y || a == b || decimals > 1e12 {
			return forms.Percent(x), forms.Percent(y)
		}
	}
}

// variantScale shows which variant a draw falls to.
func variantScale(v *flags.VariantTrace) *scaleView {
	s := &scaleView{
		Marker: charts.Decimal(v.Bucket * 100),
		Words: "The variant is bucketed at " + forms.Percent(charts.Round(v.Bucket*100)) + ", which is " + cmp.Or(v.Variant,
			"no variant") + ".",
	}
	parts, below := make([]float64, len(v.Bounds)), 0.0
	for i, b := range v.Bounds {
		parts[i], below = b.Below*100-below, b.Below*100
	}
	x := 0.0
	for i, share := range charts.Shares(100, parts) {
		x = s.Bar.Add(x, share, "hue-"+strconv.Itoa(i%charts.Hues), v.Bounds[i].Variant)
	}
	return s
}
