package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// A surveyForm is a survey as a person edits it. Doc is the whole survey in the words of
// the API: fields of the page stand for members of it, with what was typed, right or wrong.
// What has no field comes through unchanged.
type surveyForm struct {
	Original forms.Object // as the survey was when the form was made; empty for a new one
	Doc      forms.Object
	Target   string // who is asked: everyone "", flag, or filters
	Filters  *targeting.Form

	AsJSON bool
	JSON   string // as typed

	Confirming string // what was typed to delete it

	forms.Checked
}

// surveyMembers are the members of a survey that can be changed (management.md §9.1).
var surveyMembers = []string{
	"name", "description", "type", "schedule", "linked_flag_id", "linked_insight_id", "targeting_flag_id", "targeting_flag_filters",
	"questions", "conditions", "appearance", "start_date", "end_date", "responses_limit", "iteration_count", "iteration_frequency_days",
	"response_sampling_start_date", "response_sampling_interval_type", "response_sampling_interval", "response_sampling_limit",
	"enable_partial_responses", "enable_iframe_embedding", "base_language", "translations", "form_content",
}

// surveyFlagPrefix is how keys of flags begin that were made for a survey
// (management.md §9.6).
const surveyFlagPrefix = "survey-targeting-"

// surveyDoc returns a survey in the form in which the API takes it.
func surveyDoc(v *surveys.View) forms.Object {
	all, out := forms.ReadObject(string(forms.Must(json.Marshal(v)))), make(forms.Object)
	for _, name := range surveyMembers {
		if out[name] = all[name]; out[name] == nil {
			out[name] = forms.JSONNull
		}
	}
	if f := v.TargetingFlag; f != nil {
		if strings.HasPrefix(f.Key, surveyFlagPrefix) {
			out["targeting_flag_filters"] = forms.Must(json.Marshal(f.Filters))
		} else {
			out["targeting_flag_id"] = json.RawMessage(strconv.FormatInt(f.ID, 10))
		}
	}
	return out
}

func surveyFormOf(v *surveys.View) *surveyForm {
	form := &surveyForm{Original: surveyDoc(v)}
	form.setDoc(surveyDoc(v))
	return form
}

// setDoc fills in what is edited apart from the document.
func (form *surveyForm) setDoc(doc forms.Object) {
	form.Doc, form.Filters = doc, &targeting.Form{}
	switch {
	case !isEmptyJSON(doc["targeting_flag_filters"]):
		form.Target = "filters"
		form.Filters.Set(form.targeting())
	case !isEmptyJSON(doc["targeting_flag_id"]):
		form.Target = "flag"
	default:
		form.Target = ""
	}
}

func isEmptyJSON(raw json.RawMessage) bool {
	return slices.Contains([]string{"", "null", `""`, "[]", "{}"}, string(bytes.TrimSpace(raw)))
}

// readSurveyForm reads what a browser has sent.
func readSurveyForm(v url.Values) *surveyForm {
	form := &surveyForm{Original: forms.ReadObject(v.Get("original"))}
	if v.Get("as_json") != "" {
		form.setDoc(forms.ReadObject(v.Get("base")))
		form.AsJSON, form.JSON = true, forms.Lines(v.Get("json"))
		return form
	}
	doc := forms.ReadObject(v.Get("base"))
	foldFields(surveyFields, "", doc, v)
	questions := questionsOf(doc)
	for i := range questions {
		name := questionName(i)
		if !v.Has(name + ".type") {
			break
		}
		foldFields(questionFields, name+".", questions[i], v)
		foldBranching(questions[i], name, v)
	}
	if len(questions) > 0 || doc["questions"] != nil {
		doc["questions"] = jsonList(questions)
	}
	form.setDoc(doc)
	if v.Has("target") {
		form.Target = v.Get("target")
	}
	if v.Has("filters") {
		form.Filters = new(targeting.ReadForm(v))
		if form.Filters.Check(); len(form.Filters.Errors) == 0 { // also if everyone is asked for now
			doc["targeting_flag_filters"] = form.filters()
		}
		form.Filters.Errors = nil
	}
	return form
}

func questionName(i int) string { return "q" + strconv.Itoa(i) }

// questionsOf returns the questions of a survey, each of its members by name.
func questionsOf(doc forms.Object) []forms.Object {
	var out []forms.Object
	for _, raw := range forms.ReadList(doc["questions"]) {
		out = append(out, forms.ReadObject(string(raw)))
	}
	return out
}

// A questionTemplate is a question that can be added.
type questionTemplate struct{ Verb, Label, JSON string }

var questionTemplates = []questionTemplate{
	{"add-open", "free text", `{"type":"open","question":""}`},
	{"add-single", "one choice", `{"type":"single_choice","question":"","choices":["Yes","No"]}`},
	{"add-multiple", "several choices", `{"type":"multiple_choice","question":"","choices":["One thing","Another thing"]}`},
	{"add-rating", "rating", `{"type":"rating","question":"","display":"emoji","scale":5,"isNpsQuestion":false,"lowerBoundLabel":"Bad",
		"upperBoundLabel":"Good"}`},
	{"add-nps", "net promoter score", `{"type":"rating","question":"How likely are you to recommend us to a friend?","display":"number",
		"scale":10,"isNpsQuestion":true,"lowerBoundLabel":"Not likely","upperBoundLabel":"Very likely"}`},
	{"add-link", "link", `{"type":"link","question":"","link":"","buttonText":"Open"}`},
}

// maxFormQuestions is how many questions a survey can have (management.md §9.3).
const maxFormQuestions = 100

// edit does what a button of the form says, which changes only the form: a verb and the
// name of a part.
func (form *surveyForm) edit(verb, target string) {
	questions := questionsOf(form.Doc)
	i, _ := targeting.PartOf(target)
	question := strings.HasPrefix(target, "q") && i >= 0 && i < len(questions)
	switch {
	case verb == "to-json":
		if form.complete(); len(form.Errors) == 0 {
			form.AsJSON, form.JSON = true, forms.Pretty(forms.Must(json.Marshal(form.Doc)))
		}
		return
	case verb == "to-form":
		if form.readJSON(); len(form.Errors) == 0 {
			form.AsJSON = false
			form.setDoc(form.Doc)
		}
		return
	case form.AsJSON:
		return
	case strings.HasPrefix(verb, "add-") && target == "" && verb != "add-condition":
		for _, t := range questionTemplates {
			if t.Verb == verb && len(questions) < maxFormQuestions {
				questions = append(questions, forms.ReadObject(t.JSON))
			}
		}
	case !question:
		form.Filters.Edit(verb, target)
		return
	case verb == "copy" && len(questions) < maxFormQuestions:
		c := forms.ReadObject(string(forms.Must(json.Marshal(questions[i]))))
		delete(c, "id") // responses refer to it
		redirectBranches(append(slices.Clone(questions), c), func(to int) int {
			if to > i {
				return to + 1
			}
			return to
		})
		questions = slices.Insert(questions, i+1, c)
	case verb == "up" && i > 0, verb == "down" && i+1 < len(questions):
		other := i - 1
		if verb == "down" {
			other = i + 1
		}
		questions[i], questions[other] = questions[other], questions[i]
		redirectBranches(questions, func(to int) int {
			switch to {
			case i:
				return other
			case other:
				return i
			}
			return to
		})
	case verb == "remove":
		questions = slices.Delete(questions, i, i+1)
		redirectBranches(questions, func(to int) int {
			switch {
			case to == i:
				return -1
			case to > i:
				return to - 1
			}
			return to
		})
	}
	form.Doc["questions"] = jsonList(questions)
}

// readJSON takes the survey from the JSON that was typed.
func (form *surveyForm) readJSON() {
	doc, err := forms.ReadJSON(form.JSON, `A survey is an object, such as {"name": "…", "type": "popover"}.`)
	if err != nil {
		form.Fail("json", "%v", err)
		return
	}
	form.Doc = doc
}

// complete makes Doc what all fields say, and notes what cannot be said in JSON.
func (form *surveyForm) complete() {
	if form.AsJSON {
		form.readJSON()
		return
	}
	if form.Target != "flag" {
		form.Doc["targeting_flag_id"] = forms.JSONNull
	}
	if form.Target != "filters" {
		form.Doc["targeting_flag_filters"] = forms.JSONNull
	} else {
		if len(form.Filters.Conditions) == 0 {
			form.Fail("target", "Add a condition set: without one the survey is shown to no one.")
		}
		form.Filters.Check()
		for field, message := range form.Filters.Errors {
			form.Fail(field, "%s", message)
		}
		if len(form.Filters.Errors) == 0 {
			form.Doc["targeting_flag_filters"] = form.filters()
		}
	}
	if form.Target == "flag" && isEmptyJSON(form.Doc["targeting_flag_id"]) {
		form.Fail("targeting_flag_id", "Name a flag.")
	}
}

// filters returns the filters of the targeting, with the condition sets of the form.
func (form *surveyForm) filters() json.RawMessage {
	out := form.targeting()
	out.Groups = form.Filters.Groups()
	return forms.Must(json.Marshal(out))
}

// targeting returns the filters of the targeting in the document.
func (form *surveyForm) targeting() *flags.Filters {
	f := new(flags.Filters)
	_ = json.Unmarshal(form.Doc["targeting_flag_filters"], f) // what is not one has nothing
	return f
}

// changes returns the members of the survey that differ from what they were.
func (form *surveyForm) changes() forms.Object {
	out := make(forms.Object)
	for name, raw := range form.Doc {
		if !equalJSON(form.Original[name], raw) {
			out[name] = raw
		}
	}
	for name, was := range form.Original {
		if form.Doc[name] == nil && !isEmptyJSON(was) {
			out[name] = forms.JSONNull
			if slices.Contains(neverNull, name) {
				out[name] = forms.Quoted("")
			}
		}
	}
	return out
}

// equalJSON reports whether two values are equal. All empty ones are, as they are for the
// Service.
func equalJSON(a, b json.RawMessage) bool {
	if isEmptyJSON(a) || isEmptyJSON(b) {
		return isEmptyJSON(a) && isEmptyJSON(b)
	}
	return forms.Canonical(a) == forms.Canonical(b)
}

// surveyPatch returns the change of a survey, or a new one.
func surveyPatch(changes forms.Object, isNew bool) (p surveys.Patch, err error) {
	body := make(forms.Object)
	for name, raw := range changes {
		switch {
		case name == "targeting_flag_filters" && isEmptyJSON(raw):
			if isEmptyJSON(changes["targeting_flag_id"]) { // another flag takes its place
				body["remove_targeting_flag"] = json.RawMessage("true")
			}
		case isNew && isEmptyJSON(raw): // it has its default
		default:
			body[name] = raw
		}
	}
	raw := forms.Must(json.Marshal(body))
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, err
	}
	return p, p.CheckBody(raw, false)
}

// refuse notes what the Service says against the form.
func (form *surveyForm) refuse(err *management.Error) {
	field, detail := form.fieldOf(err)
	form.Fail(field, "%s", detail)
}

// fieldOf returns the name of the field that an error is about, and the message without
// the place.
func (form *surveyForm) fieldOf(e *management.Error) (field, detail string) {
	if form.AsJSON {
		if e.Attr != "" {
			return "json", e.Attr + ": " + e.Text()
		}
		return "json", e.Text()
	}
	path := e.Path
	if e.Attr != "" {
		path = append([]string{e.Attr}, path...)
	}
	switch {
	case len(path) == 0:
		return "", e.Detail
	case path[0] == "targeting_flag_filters" && e.Attr == "":
		return "target", "These condition sets match everyone: give each one a filter or a rollout percentage below 100, or choose " +
			"everyone."
	case path[0] == "targeting_flag_filters":
		if field, rest := targeting.FieldOf(e); field != "" {
			return field, rest
		}
		return "target", e.Text()
	case path[0] == "questions" && len(path) > 1:
		return form.questionField(path[1], path[2:], e.Detail)
	case path[0] == "questions":
		return "questions", e.Detail
	}
	if f := fieldAt(surveyFields, path); f != nil {
		return f.Name, e.Detail
	}
	return "", strings.Join(path, "/") + ": " + e.Detail
}

// questionField returns the field of a question for the path of a value in it, and the
// message without the place.
func (form *surveyForm) questionField(index string, path []string, message string) (field, detail string) {
	i, _ := strconv.Atoi(index)
	name := questionName(i)
	if len(path) == 3 && path[0] == "validation" && path[2] == "value" {
		if n, _ := strconv.Atoi(path[1]); i < len(questionsOf(form.Doc)) {
			if rules := forms.ReadList(questionsOf(form.Doc)[i]["validation"]); n < len(rules) {
				return name + "." + forms.Text(forms.ReadObject(string(rules[n]))["type"]), "It " + message
			}
		}
	}
	switch {
	case len(path) == 0:
		return name, message
	case path[0] == "branching":
		return name + ".branching", message
	}
	if f := fieldAt(questionFields, path); f != nil {
		return name + "." + f.Name, message
	}
	return name, strings.Join(path, "/") + ": " + message
}

// fieldAt returns the field for a value in a survey or in a question, nil if there is none.
func fieldAt(fields []formField, path []string) *formField {
	for i, f := range fields {
		if f.Name == strings.Join(path, ".") || len(path) >= len(f.Path) && slices.Equal(path[:len(f.Path)], f.Path) {
			return &fields[i]
		}
	}
	return nil
}

// Where questions lead.

// answerKeys returns the answers to a question that can decide which one comes next
// (management.md §9.3).
func answerKeys(q forms.Object) []forms.Option {
	switch forms.Text(q["type"]) {
	case "single_choice":
		var out []forms.Option
		for i, c := range forms.Texts(q["choices"]) {
			out = append(out, forms.Option{Value: strconv.Itoa(i), Label: c})
		}
		return out
	case "rating":
		switch forms.Text(q["scale"]) {
		case "10":
			return forms.Options("detractors", "0 to 6", "passives", "7 or 8", "promoters", "9 or 10")
		case "2":
			return forms.Options("negative", "thumbs down", "positive", "thumbs up")
		}
		return forms.Options("negative", "a low rating", "neutral", "a middle rating", "positive", "a high rating")
	}
	return nil
}

// branchOf returns where a question leads: to the next one "", end, the index of another
// one, or answers.
func branchOf(q forms.Object) string {
	b := forms.ReadObject(string(q["branching"]))
	switch forms.Text(b["type"]) {
	case "end":
		return "end"
	case "specific_question":
		return forms.Text(b["index"])
	case "response_based":
		return "answers"
	}
	return ""
}

// branchTarget returns JSON of where an answer leads.
func branchTarget(to string) json.RawMessage {
	if forms.IsNumber(to) {
		return json.RawMessage(to)
	}
	return forms.Quoted(to)
}

// foldBranching puts into a question where it leads.
func foldBranching(q forms.Object, name string, v url.Values) {
	if then := v.Get(name + ".then"); v.Has(name+".then") && then != branchOf(q) {
		switch then {
		case "":
			delete(q, "branching")
		case "answers":
			q["branching"] = json.RawMessage(`{"type":"response_based","responseValues":{}}`)
		case "end":
			q["branching"] = json.RawMessage(`{"type":"end"}`)
		default:
			q["branching"] = forms.Must(json.Marshal(forms.Object{"type": forms.Quoted("specific_question"), "index": branchTarget(then)}))
		}
	}
	if branchOf(q) != "answers" {
		return
	}
	keys := answerKeys(q)
	if keys == nil { // the question is of another type now
		delete(q, "branching")
		return
	}
	b := forms.ReadObject(string(q["branching"]))
	before, values := forms.ReadObject(string(b["responseValues"])), make(forms.Object)
	for _, key := range keys {
		field := name + ".then." + key.Value
		to := forms.Text(before[key.Value])
		if v.Has(field) {
			to = v.Get(field)
		}
		if to != "" {
			values[key.Value] = branchTarget(to)
		}
	}
	b["responseValues"] = forms.Must(json.Marshal(values))
	q["branching"] = forms.Must(json.Marshal(b))
}

// redirectBranches moves where questions lead. A question that is gone, −1, is not led to.
func redirectBranches(questions []forms.Object, move func(int) int) {
	moved := func(raw json.RawMessage) json.RawMessage {
		n, err := strconv.Atoi(forms.Text(raw))
		if err != nil {
			return raw
		}
		if n = move(n); n < 0 {
			return nil
		}
		return json.RawMessage(strconv.Itoa(n))
	}
	for _, q := range questions {
		b := forms.ReadObject(string(q["branching"]))
		switch branchOf(q) {
		case "", "end":
			continue
		case "answers":
			values := forms.ReadObject(string(b["responseValues"]))
			for key, to := range values {
				if values[key] = moved(to); values[key] == nil {
					delete(values, key)
				}
			}
			b["responseValues"] = forms.Must(json.Marshal(values))
		default:
			if b["index"] = moved(b["index"]); b["index"] == nil {
				delete(q, "branching")
				continue
			}
		}
		q["branching"] = forms.Must(json.Marshal(b))
	}
}

// errManyChanges is the answer if a survey changes faster than it can be saved.
var errManyChanges = errors.New("console: the survey changes all the time")
