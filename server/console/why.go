package console

import (
	"cmp"
	"encoding/json"
	"errors"
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
	Properties string
	Groups     string
	Errors     map[string]string
	Known      bool     // something is stored about the person
	Candidates []option // persons whose distinct IDs begin so
	Flags      []string
	Persons    []string // some, to begin with

	Rows []whyRow
	Cut  int // flags that are not listed

	Trace *traceView
	Text  string // the trace as lines
	Edit  string // where the flag is edited
	All   string // all flags of the person
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

func why(q *request) error {
	v := &whyView{
		Action: q.projectPath("/why"), Person: strings.TrimSpace(q.Form.Get("person")), Flag: strings.TrimSpace(q.Form.Get("flag")),
		Properties: lines(q.Form.Get("properties")), Groups: lines(q.Form.Get("groups")), Errors: make(map[string]string),
	}
	q.layout.Title = "Why"
	if err := q.whySuggestions(v); err != nil {
		return err
	}
	for field, text := range map[string]string{"properties": v.Properties, "groups": v.Groups} {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if err := checkJSON(text); err != nil {
			v.Errors[field] = err.Error()
		} else if o := readObject(text); len(o) == 0 && strings.TrimSpace(text) != "{}" {
			v.Errors[field] = `It has to be an object, such as {"plan": "pro"}.`
		}
	}
	asked := v.Person != "" || v.Flag != "" && v.Properties != ""
	var err error
	switch {
	case len(v.Errors) > 0 || !asked:
	case v.Flag != "":
		err = q.whyFlag(v)
	case strings.TrimSpace(v.Properties) != "":
		v.Errors["flag"] = "Choose a flag: typed properties count for one flag at a time."
	default:
		err = q.whyAll(v)
	}
	if e, ok := errors.AsType[*management.Error](err); ok && !errors.Is(e, management.ErrForbidden) {
		v.Errors[map[bool]string{true: "flag", false: "person"}[v.Flag != ""]] = e.Detail
	} else if err != nil {
		return err
	}
	v.layout = q.layout
	status := http.StatusOK
	if len(v.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	}
	q.render(status, "why", v)
	return nil
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
	}
	if v.Person == "" {
		return nil
	}
	_, err = q.c.Service.GetPerson(q.Context(), q.by, q.ref, v.Person)
	if v.Known = err == nil; v.Known || !isRefusal(err) {
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
				v.Candidates = append(v.Candidates, option{Value: v.link(id, v.Flag), Label: id})
			}
		}
	}
	return nil
}

// link returns the URL of the page for a person and a flag, "" for all of them.
func (v *whyView) link(person, flag string) string {
	values := url.Values{"person": {person}}
	for name, value := range map[string]string{"flag": flag, "properties": v.Properties, "groups": v.Groups} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return v.Action + "?" + values.Encode()
}

func (q *request) whyAll(v *whyView) error {
	reasons, err := q.c.Service.EvaluationReasons(q.Context(), q.by, q.ref, v.Person, v.Groups)
	if err != nil {
		return err
	}
	for key, r := range reasons {
		v.Rows = append(v.Rows, whyRow{key, v.link(v.Person, key), valueWords(r.Value), r.Evaluation.Description, has(r.Value)})
	}
	slices.SortFunc(v.Rows, func(a, b whyRow) int { return cmp.Compare(a.Key, b.Key) })
	if v.Cut = len(v.Rows) - whyListed; v.Cut > 0 {
		v.Rows = v.Rows[:whyListed]
	}
	return nil
}

func (q *request) whyFlag(v *whyView) error {
	body := map[string]any{"distinct_id": cmp.Or(v.Person, "nobody")}
	if strings.TrimSpace(v.Properties) != "" {
		body["person_properties"] = json.RawMessage(v.Properties)
	}
	if strings.TrimSpace(v.Groups) != "" {
		body["groups"] = json.RawMessage(v.Groups)
	}
	e, err := q.c.Service.ExplainFlag(q.Context(), q.by, q.ref, v.Flag, must(json.Marshal(body)))
	if err != nil {
		return err
	}
	v.Flag, v.Trace, v.Text = e.Key, traceOf(e), e.String()
	v.Edit = q.projectPath("/flags/" + url.PathEscape(e.Key))
	if v.Person != "" && v.Properties == "" {
		v.All = v.link(v.Person, "")
	}
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
