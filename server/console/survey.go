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

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

var _ = register(screen{
	title: "New survey", under: "Surveys", needs: hasSurveys,
	scope: inProject, pages: map[string]page{
		"GET /projects/{project}/surveys/new":       newSurvey,
		"POST /projects/{project}/surveys/new":      postSurvey,
		"GET /projects/{project}/surveys/{survey}":  about(showSurvey, (*request).survey),
		"POST /projects/{project}/surveys/{survey}": postSurvey,
	},
	done: map[string]string{
		"survey-created":    "The survey was created. It is a draft until you launch it.",
		"survey-launched":   "The survey runs.",
		"survey-stopped":    "The survey has ended.",
		"survey-resumed":    "The survey runs again.",
		"survey-archived":   "The survey is archived, and is not shown any more.",
		"survey-unarchived": "The survey is back from the archive.",
		"survey-copied":     "This is the copy. It is a draft.",
		"survey-deleted":    "The survey was deleted. Its responses stay in the events.",
	},
	undo:  map[string]undoer{"Survey": undoEntry(append(slices.Clone(surveyMembers), "archived"), undoSurvey)},
	thing: &thing{scope: "Survey", one: "survey", many: "Surveys", path: surveyLink, place: surveyPlace, erased: true},
})

// surveyView is the page of one survey.
type surveyView struct {
	layout
	offered
	*surveyForm
	Name                            string
	New                             bool
	List, Action, Results, Activity string
	Survey                          *survey.View // as it is stored; nil for a new one
	State                           surveyState
	Notice                          string
	Base                            string // the survey as JSON
	Was                             string // what it was when the form was made

	Groups    []partView
	Questions []questionView
	Adders    []questionTemplate
	Targets   []option
	TargetKey fieldView
	Sets      []conditionView

	Preview previewView

	Reach    string // who is asked, in words
	Projects []option
}

// A partView is a part of the page with its fields.
type partView struct {
	ID, Title, Hint string
	Closed, Open    bool
	Fields          []fieldView
}

// A fieldView is a field with what was typed.
type fieldView struct {
	formField
	ID, Value, Error string
	Swatch           string // the colour that the value is
}

// A questionView is a question with its fields.
type questionView struct {
	ID       string
	Number   int
	Kind     string
	Up, Down bool
	Fields   []fieldView
	More     []fieldView // opened on demand
	Open     bool        // they are open
	Then     fieldView
	Answers  []fieldView
	Error    string
}

// newSurvey shows the form of a new survey, or what it can begin with.
func newSurvey(q *request) error {
	form := &surveyForm{Original: make(object)}
	from := q.Form.Get("from")
	i := max(0, slices.IndexFunc(surveyStarts, func(s surveyStart) bool { return s.Key == from }))
	doc := readObject(surveyStarts[i].json)
	for name, otherwise := range map[string]string{"type": "popover", "schedule": "once"} {
		if doc[name] == nil {
			doc[name] = quoted(otherwise)
		}
	}
	form.setDoc(doc)
	return q.showSurveyForm(http.StatusOK, nil, form, "")
}

func (q *request) survey() (*survey.View, error) {
	return q.c.Surveys.Survey(q.Context(), q.by, q.ref, q.PathValue("survey"))
}

func showSurvey(q *request, v *survey.View) error {
	return q.showSurveyForm(http.StatusOK, v, surveyFormOf(v), "")
}

// postSurvey does what a button of the form says.
func postSurvey(q *request) error {
	verb, target, _ := strings.Cut(q.PostForm.Get("do"), " ")
	var v *survey.View
	if q.PathValue("survey") != "" {
		var err error
		if v, err = q.survey(); err != nil {
			if !q.PostForm.Has("base") {
				return err
			}
			return q.keepSurvey(err, readSurveyForm(q.PostForm))
		}
	}
	if act := surveyActions[verb]; act != nil && v != nil && !q.PostForm.Has("base") {
		return act(q, v)
	}
	form := readSurveyForm(q.PostForm)
	if err := q.resolveFlags(form); err != nil {
		return q.keepSurvey(err, form)
	}
	switch verb {
	case "save", "launch":
		return q.saveSurvey(v, form, verb == "launch")
	case "preview":
		if form.AsJSON {
			form.complete()
		}
		preview := q.previewOf(form.Doc)
		var err error
		if preview.Sets, err = q.sentences(form.Filters); err != nil {
			return err
		}
		return q.renderPart(http.StatusOK, "survey", "preview", preview)
	}
	form.edit(verb, target)
	status := http.StatusOK
	if len(form.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return q.showSurveyForm(status, v, form, "")
}

// resolveFlags replaces keys of flags by their IDs.
func (q *request) resolveFlags(form *surveyForm) error {
	for _, name := range []string{"linked_flag_id", "targeting_flag_id"} {
		raw := form.Doc[name]
		if len(raw) == 0 || raw[0] != '"' || form.AsJSON {
			continue
		}
		f, err := q.c.Service.Flag(q.Context(), q.by, q.ref, text(raw))
		if errors.Is(err, management.ErrNotFound) {
			form.fail(name, "There is no flag with the key %q.", shorten(text(raw), 60))
			continue
		}
		if err != nil {
			return err
		}
		form.Doc[name] = json.RawMessage(strconv.FormatInt(f.ID, 10))
	}
	return nil
}

// keepSurvey shows a form again with what was typed if the store fails.
func (q *request) keepSurvey(err error, form *surveyForm) error {
	return q.keep(err, func(status int, notice string) error { return q.showSurveyForm(status, nil, form, notice) })
}

// maxSaves is how often a survey is saved anew that somebody else changes meanwhile.
const maxSaves = 5

// saveSurvey stores a form, and launches the survey if that is asked for.
func (q *request) saveSurvey(v *survey.View, form *surveyForm, launch bool) error {
	form.complete()
	if launch && len(questionsOf(form.Doc)) == 0 {
		form.fail("questions", "Add a question before you launch the survey.")
	}
	if len(form.Errors) > 0 {
		return q.showSurveyForm(http.StatusUnprocessableEntity, v, form, "")
	}
	changes := form.changes()
	patch, err := surveyPatch(changes, v == nil)
	if e, ok := errors.AsType[*management.Error](err); ok {
		return q.surveyRefused(e, v, form)
	}
	if err != nil {
		form.fail("", "The survey cannot be read: %v", err)
		return q.showSurveyForm(http.StatusUnprocessableEntity, v, form, "")
	}
	done := "saved"
	switch {
	case v == nil:
		done = "survey-created"
		v, err = q.c.Surveys.Create(q.Context(), q.by, q.ref, patch)
		if err != nil {
			return q.surveyRefused(err, nil, form)
		}
	case len(changes) == 0:
		done = "unchanged"
	default:
		for range maxSaves {
			if form.conflicts(changes, v) {
				return q.surveyConflict(v, form, changes)
			}
			patch.IfUpdated = &v.UpdatedAt
			_, err = q.c.Surveys.Update(q.Context(), q.by, q.ref, v.ID.String(), patch)
			if !errors.Is(err, management.ErrConflict) {
				break
			}
			if v, err = q.survey(); err != nil {
				break
			}
			err = errManyChanges
		}
		if err != nil {
			return q.surveyRefused(err, v, form)
		}
	}
	if launch {
		if _, err := q.c.Surveys.Launch(q.Context(), q.by, q.ref, v.ID.String()); err != nil {
			return err
		}
		done = "survey-launched"
	}
	return q.surveyDone(v.ID, done)
}

// surveyDone leads to a survey that was changed.
func (q *request) surveyDone(id uuid.UUID, done string) error {
	u := undo{}
	if done != "unchanged" {
		u = q.entryUndo("Survey", id.String())
	}
	return q.done(q.surveyPath(id), done, u)
}

// surveyRefused shows a form again with what the Service says against it.
func (q *request) surveyRefused(err error, v *survey.View, form *surveyForm) error {
	e, ok := errors.AsType[*management.Error](err)
	if !ok {
		return q.keepSurvey(err, form)
	}
	if !errors.Is(e, management.ErrInvalid) && !errors.Is(e, management.ErrConflict) {
		return err
	}
	form.refuse(e)
	return q.showSurveyForm(http.StatusUnprocessableEntity, v, form, "")
}

// conflicts reports whether somebody else has changed what the form changes, to something
// else.
func (form *surveyForm) conflicts(changes object, v *survey.View) bool {
	now := surveyDoc(v)
	for name, mine := range changes {
		if !equalJSON(form.Original[name], now[name]) && !equalJSON(now[name], mine) {
			return true
		}
	}
	return false
}

// surveyConflict shows what others have changed since the form was made, and what saving
// the form would change now.
func (q *request) surveyConflict(v *survey.View, form *surveyForm, changes object) error {
	now := surveyDoc(v)
	// What nobody here has touched is as the others have left it.
	base := maps.Clone(now)
	maps.Copy(base, changes)
	view := &clashView{
		Kind: "survey", Name: v.Name, List: q.projectPath("/surveys"), ListName: "Surveys", Keep: q.surveyPath(v.ID),
		Hidden: []hidden{{"base", string(must(json.Marshal(base)))}},
	}
	for _, name := range surveyMembers {
		view.Theirs = appendJSONChanges(view.Theirs, name, form.Original[name], now[name])
		if mine := changes[name]; mine != nil {
			view.Mine = appendJSONChanges(view.Mine, name, now[name], mine)
		}
	}
	return q.clash(view, string(must(json.Marshal(now))))
}

const maxChangeLines = 60

// appendJSONChanges appends what differs between two values, member by member.
func appendJSONChanges(list []changeLine, place string, before, after json.RawMessage) []changeLine {
	if equalJSON(before, after) || len(list) >= maxChangeLines {
		return list
	}
	nested := func(raw json.RawMessage) byte {
		if raw = json.RawMessage(strings.TrimSpace(string(raw))); len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
			return raw[0]
		}
		return 0
	}
	a, b := nested(before), nested(after)
	switch {
	case a == '{' && (b == '{' || isEmptyJSON(after)) || b == '{' && isEmptyJSON(before):
		was, is := readObject(string(before)), readObject(string(after))
		all := maps.Clone(was)
		maps.Copy(all, is)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			list = appendJSONChanges(list, place+"/"+name, was[name], is[name])
		}
		return list
	case a == '[' && b == '[' && strings.HasSuffix(place, "questions"):
		was, is := readList(before), readList(after)
		for i := range max(len(was), len(is)) {
			var x, y json.RawMessage
			if i < len(was) {
				x = was[i]
			}
			if i < len(is) {
				y = is[i]
			}
			list = appendJSONChanges(list, place+"/"+strconv.Itoa(i), x, y)
		}
		return list
	}
	return append(list, changeLine{surveyPlace(place), excerpt(before), excerpt(after)})
}

// surveyPlace says in words where in a survey something is.
func surveyPlace(place string) string {
	steps := strings.Split(place, "/")
	if len(steps) > 1 && steps[0] == "questions" {
		if n, err := strconv.Atoi(steps[1]); err == nil {
			words := "question " + strconv.Itoa(n+1)
			if len(steps) > 2 {
				words += ", " + fieldWords(questionFields, steps[2:])
			}
			return words
		}
	}
	return fieldWords(surveyFields, steps)
}

func fieldWords(fields []formField, path []string) string {
	if f := fieldAt(fields, path); f != nil && len(f.Path) == len(path) {
		return f.Label
	}
	return strings.ReplaceAll(strings.Join(path, ", "), "_", " ")
}

// showSurveyForm answers with the page of a survey, which is nil if it is new.
func (q *request) showSurveyForm(status int, s *survey.View, form *surveyForm, notice string) error {
	v := &surveyView{
		surveyForm: form, Name: text(form.Doc["name"]), New: q.PathValue("survey") == "", List: q.projectPath("/surveys"),
		Action: q.URL.Path, Notice: form.noticeOr(notice),
		Base: string(must(json.Marshal(form.Doc))), Was: string(must(json.Marshal(form.Original))),
	}
	if v.New {
		v.Action = q.projectPath("/surveys/new")
	}
	q.notice()
	q.layout.Title = cmp.Or(v.Name, "New survey")
	if s != nil {
		q.layout.Title, v.Name = s.Name, s.Name
		if err := q.surveyFacts(v, s); err != nil {
			return err
		}
	}
	var err error
	v.offered, err = q.offers(0, 0)
	if err != nil && status != http.StatusServiceUnavailable {
		return q.keepSurvey(err, form)
	}
	for field, message := range form.Errors {
		form.Filters.fail(field, "%s", message)
	}
	v.Sets = v.sets(form.Filters, nil)
	if err := q.namedFlags(form, v.words); err != nil && status != http.StatusServiceUnavailable {
		return q.keepSurvey(err, form)
	}
	if s != nil {
		v.Reach = surveyReach(surveyFormOf(s), v.words)
	}
	v.fields()
	v.Preview = q.previewOf(form.Doc)
	return q.render(status, "survey", v)
}

// namedFlags adds the keys of flags that the form names to a vocabulary.
func (q *request) namedFlags(form *surveyForm, words *words.Names) error {
	for _, name := range []string{"linked_flag_id", "targeting_flag_id"} {
		id := text(form.Doc[name])
		if !isNumber(id) || words.Flags[id] != "" {
			continue
		}
		f, err := q.c.Service.Flag(q.Context(), q.by, q.ref, id)
		if isRefusal(err) {
			continue
		}
		if err != nil {
			return err
		}
		words.Flags[id] = f.Key
	}
	return nil
}

// surveyFacts fills in what is known of a survey that exists.
func (q *request) surveyFacts(v *surveyView, s *survey.View) error {
	v.Survey, v.State, v.Results = s, q.surveyState(s), q.surveyPath(s.ID)+"/results"
	v.Activity = q.entriesAbout("Survey", s.ID.String())
	list, err := q.c.Service.ListOrganizations(q.Context(), q.by, organizationsListed, 0)
	if err != nil {
		return err
	}
	for _, o := range list.Items {
		for _, p := range o.Projects {
			label := p.Name
			if len(list.Items) > 1 {
				label = o.Name + ": " + p.Name
			}
			v.Projects = append(v.Projects, option{strconv.FormatInt(p.ID, 10), label, p.ID == q.at.Project.ID})
		}
	}
	return nil
}

// surveyReach says in words who is asked.
func surveyReach(form *surveyForm, words *words.Names) string {
	reach := "everyone"
	switch form.Target {
	case "flag":
		reach = "everybody for whom the flag " + cmp.Or(words.Flags[text(form.Doc["targeting_flag_id"])],
			text(form.Doc["targeting_flag_id"])) + " is on"
	case "filters":
		reach = words.Audience(form.targeting())
	}
	if linked := form.Doc["linked_flag_id"]; !isEmptyJSON(linked) {
		reach += ", with the flag " + cmp.Or(words.Flags[text(linked)], text(linked))
	}
	return reach
}

// fields fills in what the fields of the form show and offer.
func (v *surveyView) fields() {
	v.Targets = selected(options(
		"", "Everyone", "filters", "Persons who match condition sets",
		"flag", "Persons for whom a flag is on",
	), v.Target)
	v.TargetKey = v.field(&targetFlag, "", v.Doc)
	for _, g := range surveyGroups {
		out := partView{ID: g.ID, Title: g.Title, Hint: g.Hint, Closed: g.Closed}
		for i := range g.fields {
			if f := &g.fields[i]; f.On == nil || f.On(v.Doc) {
				field := v.field(f, "", v.Doc)
				out.Open = out.Open || field.Error != ""
				out.Fields = append(out.Fields, field)
			}
		}
		v.Groups = append(v.Groups, out)
	}
	questions := questionsOf(v.Doc)
	for i, o := range questions {
		v.Questions = append(v.Questions, v.question(i, o, questions))
	}
	if len(questions) < maxFormQuestions {
		v.Adders = questionTemplates
	}
}

func (v *surveyView) field(f *formField, prefix string, o object) fieldView {
	name := prefix + f.Name
	out := fieldView{formField: *f, ID: name, Value: f.value(o), Error: v.Errors[name]}
	switch {
	case f.Kind == "choice":
		out.Options = selected(f.Options, out.Value)
	case f.Kind == "color":
		out.Swatch = cssColor(out.Value)
	case f.List == "flag-keys":
		if key := v.words.Flags[out.Value]; key != "" {
			out.Value = key
		}
	case f.Kind == "area" || f.Kind == "lines":
		out.Rows = min(max(f.Rows, 1+strings.Count(out.Value, "\n")), 20)
	}
	return out
}

func (v *surveyView) question(i int, o object, all []object) questionView {
	name := questionName(i)
	out := questionView{
		ID: name, Number: i + 1, Kind: questionTypeNames[text(o["type"])], Up: i > 0, Down: i+1 < len(all), Error: v.Errors[name],
	}
	for j := range questionFields {
		if f := &questionFields[j]; f.On == nil || f.On(o) {
			field := v.field(f, name+".", o)
			if !f.More {
				out.Fields = append(out.Fields, field)
				continue
			}
			out.More = append(out.More, field)
			out.Open = out.Open || field.Error != "" || f.Kind != "choice" && field.Value != ""
		}
	}
	if e := v.Errors[name+".validation"]; e != "" {
		out.Error = e
	}
	places := options("", "the next question", "end", "the end")
	for j, other := range all {
		if j != i {
			places = append(places, option{
				Value: strconv.Itoa(j), Label: "question " + strconv.Itoa(j+1) + ": " + shorten(text(other["question"]), 40),
			})
		}
	}
	keys := answerKeys(o)
	thens := slices.Clone(places)
	if keys != nil {
		thens = append(thens, option{Value: "answers", Label: "what the answer says"})
	}
	then := branchOf(o)
	next := member("choice", "then", "After this question, go to").choices(selected(thens, then), "").refreshing()
	out.Then = fieldView{formField: next, ID: name + ".then", Error: v.Errors[name+".branching"]}
	if then == "answers" {
		values := readObject(string(readObject(string(o["branching"]))["responseValues"]))
		for _, key := range keys {
			after := member("choice", "then", "After "+shorten(key.Label, 60)).choices(selected(places, text(values[key.Value])), "")
			out.Answers = append(out.Answers, fieldView{formField: after, ID: name + ".then." + key.Value})
		}
	}
	return out
}

// surveyActions are what buttons do that have no form around them.
var surveyActions = map[string]func(*request, *survey.View) error{
	"launch": func(q *request, v *survey.View) error {
		_, err := q.c.Surveys.Launch(q.Context(), q.by, q.ref, v.ID.String())
		return q.acted(err, v, "survey-launched")
	},
	"stop": func(q *request, v *survey.View) error {
		_, err := q.c.Surveys.Stop(q.Context(), q.by, q.ref, v.ID.String())
		return q.acted(err, v, "survey-stopped")
	},
	"resume": func(q *request, v *survey.View) error {
		return q.acted(q.changeSurvey(v, survey.Patch{EndDate: optional.Value[string]{Set: true, Null: true}}), v, "survey-resumed")
	},
	"archive": func(q *request, v *survey.View) error {
		return q.acted(q.changeSurvey(v, survey.Patch{Archived: optional.Of(true)}), v, "survey-archived")
	},
	"unarchive": func(q *request, v *survey.View) error {
		return q.acted(q.changeSurvey(v, survey.Patch{Archived: optional.Of(false)}), v, "survey-unarchived")
	},
	"copy":   copySurvey,
	"delete": deleteSurvey,
}

func (q *request) changeSurvey(v *survey.View, patch survey.Patch) error {
	_, err := q.c.Surveys.Update(q.Context(), q.by, q.ref, v.ID.String(), patch)
	return err
}

// acted leads back to a survey after an action, or shows why the Service has refused it.
func (q *request) acted(err error, v *survey.View, done string) error {
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		return q.showSurveyForm(http.StatusUnprocessableEntity, v, surveyFormOf(v), e.Text())
	}
	if err != nil {
		return err
	}
	return q.surveyDone(v.ID, done)
}

func copySurvey(q *request, v *survey.View) error {
	project := cmp.Or(q.PostForm.Get("project"), q.ref)
	if !isNumber(project) {
		return errForm
	}
	made, err := q.c.Surveys.Copy(q.Context(), q.by, q.ref, v.ID.String(), survey.CopyRequest{
		Projects: optional.Of(json.RawMessage("[" + project + "]")),
	})
	if err != nil {
		return q.acted(err, v, "")
	}
	id := made.Surveys[0].ID
	if project == q.ref {
		return q.surveyDone(id, "survey-copied")
	}
	return q.redirect(q.c.Prefix + "/projects/" + project + "/surveys/" + id.String() + "?done=survey-copied")
}

func deleteSurvey(q *request, v *survey.View) error {
	if strings.TrimSpace(q.PostForm.Get("typed")) != strings.TrimSpace(v.Name) {
		form := surveyFormOf(v)
		form.Confirming = q.PostForm.Get("typed")
		form.fail("typed", "Type %s to delete it.", v.Name)
		return q.showSurveyForm(http.StatusUnprocessableEntity, v, form, "The survey was not deleted.")
	}
	if err := q.c.Surveys.Delete(q.Context(), q.by, q.ref, v.ID.String()); err != nil {
		return q.acted(err, v, "")
	}
	return q.redirect(q.projectPath("/surveys?done=survey-deleted"))
}

func undoSurvey(q *request, e *management.ActivityView, before object) (to, item string, err error) {
	if q.c.Surveys == nil {
		return "", "", errNoPage
	}
	if e.Activity == "created" {
		return q.projectPath("/surveys"), "", q.c.Surveys.Delete(q.Context(), q.by, q.ref, e.ItemID)
	}
	for _, name := range []string{"targeting_flag_filters", "targeting_flag_id"} {
		if was, changed := before[name]; changed && isEmptyJSON(was) {
			delete(before, name)
			if before["targeting_flag_filters"] == nil && before["targeting_flag_id"] == nil {
				before["remove_targeting_flag"] = json.RawMessage("true")
			}
		} else if changed {
			delete(before, "remove_targeting_flag")
		}
	}
	patch, err := decodePatch[survey.Patch](before)
	if err == nil {
		_, err = q.c.Surveys.Update(q.Context(), q.by, q.ref, e.ItemID, patch)
	}
	return "", e.ItemID, err
}

func surveyLink(q *request, id string) string {
	if q.c.Surveys == nil {
		return ""
	}
	return q.projectPath("/surveys/" + url.PathEscape(id))
}
