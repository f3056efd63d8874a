package console

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
	"github.com/flagstaff-go/flagstaff/surveys"
)

func (h *handlers) surveyScreen() shell.Screen {
	return shell.Screen{
		Title: "New survey", Under: "Surveys",
		Scope: shell.InProject, Pages: map[string]shell.Page{
			"GET /projects/{project}/surveys/new":       newSurvey,
			"POST /projects/{project}/surveys/new":      h.postSurvey,
			"GET /projects/{project}/surveys/{survey}":  shell.About(showSurvey, h.survey),
			"POST /projects/{project}/surveys/{survey}": h.postSurvey,
		},
		Done: map[string]string{
			"survey-created":    "The survey was created. It is a draft until you launch it.",
			"survey-launched":   "The survey runs.",
			"survey-stopped":    "The survey has ended.",
			"survey-resumed":    "The survey runs again.",
			"survey-archived":   "The survey is archived, and is not shown any more.",
			"survey-unarchived": "The survey is back from the archive.",
			"survey-copied":     "This is the copy. It is a draft.",
			"survey-deleted":    "The survey was deleted. Its responses stay in the events.",
		},
		Undo: map[string]shell.Undoer{"Survey": shell.UndoEntry(append(slices.Clone(surveyMembers), "archived"), h.undoSurvey)},
		Thing: &shell.Thing{
			Scope: "Survey", One: "survey", Many: "Surveys", Path: shell.Below("/surveys/"), Place: surveyPlace,
			Erased: true,
		},
	}
}

// surveyView is the page of one survey.
type surveyView struct {
	shell.Layout
	targeting.Offered
	*surveyForm
	Name                            string
	New                             bool
	List, Action, Results, Activity string
	Survey                          *surveys.View // as it is stored; nil for a new one
	State                           surveyState
	Notice                          string
	Base                            string // the survey as JSON
	Was                             string // what it was when the form was made

	Groups    []partView
	Questions []questionView
	Adders    []questionTemplate
	Targets   []forms.Option
	TargetKey fieldView
	Sets      []targeting.ConditionView

	Preview previewView

	Reach    string // who is asked, in words
	Projects []forms.Option
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
func newSurvey(q *shell.Request) error {
	form := &surveyForm{Original: make(forms.Object)}
	from := q.Form.Get("from")
	i := max(0, slices.IndexFunc(surveyStarts, func(s surveyStart) bool { return s.Key == from }))
	doc := forms.ReadObject(surveyStarts[i].json)
	for name, otherwise := range map[string]string{"type": "popover", "schedule": "once"} {
		if doc[name] == nil {
			doc[name] = forms.Quoted(otherwise)
		}
	}
	form.setDoc(doc)
	return showSurveyForm(q, http.StatusOK, nil, form, "")
}

func (h *handlers) survey(q *shell.Request) (*surveys.View, error) {
	return h.surveys.Survey(q.Context(), q.By, q.Ref, q.PathValue("survey"))
}

func showSurvey(q *shell.Request, v *surveys.View) error {
	return showSurveyForm(q, http.StatusOK, v, surveyFormOf(v), "")
}

// postSurvey does what a button of the form says.
func (h *handlers) postSurvey(q *shell.Request) error {
	verb, target, _ := strings.Cut(q.PostForm.Get("do"), " ")
	var v *surveys.View
	if q.PathValue("survey") != "" {
		var err error
		if v, err = h.survey(q); err != nil {
			if !q.PostForm.Has("base") {
				return err
			}
			return keepSurvey(q, err, readSurveyForm(q.PostForm))
		}
	}
	if act := h.actions()[verb]; act != nil && v != nil && !q.PostForm.Has("base") {
		return act(q, v)
	}
	form := readSurveyForm(q.PostForm)
	if err := resolveFlags(q, form); err != nil {
		return keepSurvey(q, err, form)
	}
	switch verb {
	case "save", "launch":
		return h.saveSurvey(q, v, form, verb == "launch")
	case "preview":
		if form.AsJSON {
			form.complete()
		}
		preview := previewOf(q, form.Doc)
		var err error
		if preview.Sets, err = targeting.Sentences(q, form.Filters); err != nil {
			return err
		}
		return q.RenderPart(http.StatusOK, "survey", "preview", preview)
	}
	form.edit(verb, target)
	status := http.StatusOK
	if len(form.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return showSurveyForm(q, status, v, form, "")
}

// resolveFlags replaces keys of flags by their IDs.
func resolveFlags(q *shell.Request, form *surveyForm) error {
	for _, name := range []string{"linked_flag_id", "targeting_flag_id"} {
		raw := form.Doc[name]
		if len(raw) == 0 || raw[0] != '"' || form.AsJSON {
			continue
		}
		f, err := q.Service.Flag(q.Context(), q.By, q.Ref, forms.Text(raw))
		if errors.Is(err, management.ErrNotFound) {
			form.Fail(name, "There is no flag with the key %q.", forms.Shorten(forms.Text(raw), 60))
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
func keepSurvey(q *shell.Request, err error, form *surveyForm) error {
	return q.Keep(err, func(status int, notice string) error { return showSurveyForm(q, status, nil, form, notice) })
}

// maxSaves is how often a survey is saved anew that somebody else changes meanwhile.
const maxSaves = 5

// saveSurvey stores a form, and launches the survey if that is asked for.
func (h *handlers) saveSurvey(q *shell.Request, v *surveys.View, form *surveyForm, launch bool) error {
	form.complete()
	if launch && len(questionsOf(form.Doc)) == 0 {
		form.Fail("questions", "Add a question before you launch the survey.")
	}
	if len(form.Errors) > 0 {
		return showSurveyForm(q, http.StatusUnprocessableEntity, v, form, "")
	}
	changes := form.changes()
	patch, err := surveyPatch(changes, v == nil)
	if e, ok := errors.AsType[*management.Error](err); ok {
		return surveyRefused(q, e, v, form)
	}
	if err != nil {
		form.Fail("", "The survey cannot be read: %v", err)
		return showSurveyForm(q, http.StatusUnprocessableEntity, v, form, "")
	}
	done := "saved"
	switch {
	case v == nil:
		done = "survey-created"
		v, err = h.surveys.Create(q.Context(), q.By, q.Ref, patch)
		if err != nil {
			return surveyRefused(q, err, nil, form)
		}
	case len(changes) == 0:
		done = "unchanged"
	default:
		for range maxSaves {
			if form.conflicts(changes, v) {
				return surveyConflict(q, v, form, changes)
			}
			patch.IfUpdated = &v.UpdatedAt
			_, err = h.surveys.Update(q.Context(), q.By, q.Ref, v.ID.String(), patch)
			if !errors.Is(err, management.ErrConflict) {
				break
			}
			if v, err = h.survey(q); err != nil {
				break
			}
			err = errManyChanges
		}
		if err != nil {
			return surveyRefused(q, err, v, form)
		}
	}
	if launch {
		if _, err := h.surveys.Launch(q.Context(), q.By, q.Ref, v.ID.String()); err != nil {
			return err
		}
		done = "survey-launched"
	}
	return surveyDone(q, v.ID, done)
}

// surveyDone leads to a survey that was changed.
func surveyDone(q *shell.Request, id uuid.UUID, done string) error {
	u := shell.Undo{}
	if done != "unchanged" {
		u = q.EntryUndo("Survey", id.String())
	}
	return q.Done(surveyPath(q, id), done, u)
}

// surveyRefused shows a form again with what the Service says against it.
func surveyRefused(q *shell.Request, err error, v *surveys.View, form *surveyForm) error {
	e, ok := errors.AsType[*management.Error](err)
	if !ok {
		return keepSurvey(q, err, form)
	}
	if !errors.Is(e, management.ErrInvalid) && !errors.Is(e, management.ErrConflict) {
		return err
	}
	form.refuse(e)
	return showSurveyForm(q, http.StatusUnprocessableEntity, v, form, "")
}

// conflicts reports whether somebody else has changed what the form changes, to something
// else.
func (form *surveyForm) conflicts(changes forms.Object, v *surveys.View) bool {
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
func surveyConflict(q *shell.Request, v *surveys.View, form *surveyForm, changes forms.Object) error {
	now := surveyDoc(v)
	// What nobody here has touched is as the others have left it.
	base := maps.Clone(now)
	maps.Copy(base, changes)
	view := &shell.ClashView{
		Kind: "survey", Name: v.Name, List: q.ProjectPath("/surveys"), ListName: "Surveys", Keep: surveyPath(q, v.ID),
		Hidden: []forms.Hidden{{Name: "base", Value: string(forms.Must(json.Marshal(base)))}},
	}
	for _, name := range surveyMembers {
		view.Theirs = appendJSONChanges(view.Theirs, name, form.Original[name], now[name])
		if mine := changes[name]; mine != nil {
			view.Mine = appendJSONChanges(view.Mine, name, now[name], mine)
		}
	}
	return q.Clash(view, string(forms.Must(json.Marshal(now))))
}

const maxChangeLines = 60

// appendJSONChanges appends what differs between two values, member by member.
func appendJSONChanges(list []shell.Change, place string, before, after json.RawMessage) []shell.Change {
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
		was, is := forms.ReadObject(string(before)), forms.ReadObject(string(after))
		all := maps.Clone(was)
		maps.Copy(all, is)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			list = appendJSONChanges(list, place+"/"+name, was[name], is[name])
		}
		return list
	case a == '[' && b == '[' && strings.HasSuffix(place, "questions"):
		was, is := forms.ReadList(before), forms.ReadList(after)
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
	return append(list, shell.Change{Place: surveyPlace(place), Before: forms.Excerpt(before), After: forms.Excerpt(after)})
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
func showSurveyForm(q *shell.Request, status int, s *surveys.View, form *surveyForm, notice string) error {
	v := &surveyView{
		surveyForm: form, Name: forms.Text(form.Doc["name"]), New: q.PathValue("survey") == "", List: q.ProjectPath("/surveys"),
		Action: q.URL.Path, Notice: form.NoticeOr(notice),
		Base: string(forms.Must(json.Marshal(form.Doc))), Was: string(forms.Must(json.Marshal(form.Original))),
	}
	if v.New {
		v.Action = q.ProjectPath("/surveys/new")
	}
	q.Notice()
	q.Layout.Title = cmp.Or(v.Name, "New survey")
	if s != nil {
		q.Layout.Title, v.Name = s.Name, s.Name
		if err := surveyFacts(q, v, s); err != nil {
			return err
		}
	}
	var err error
	v.Offered, err = targeting.Offers(q, 0, 0)
	if err != nil && status != http.StatusServiceUnavailable {
		return keepSurvey(q, err, form)
	}
	for field, message := range form.Errors {
		form.Filters.Fail(field, "%s", message)
	}
	v.Sets = v.Offered.Sets(form.Filters, nil)
	if err := namedFlags(q, form, v.FlagKeys); err != nil && status != http.StatusServiceUnavailable {
		return keepSurvey(q, err, form)
	}
	if s != nil {
		v.Reach = surveyReach(surveyFormOf(s), &v.Offered)
	}
	v.fields()
	v.Preview = previewOf(q, form.Doc)
	return q.Render(status, "survey", v)
}

// namedFlags adds the keys of flags that the form names to a vocabulary.
func namedFlags(q *shell.Request, form *surveyForm, keys map[string]string) error {
	for _, name := range []string{"linked_flag_id", "targeting_flag_id"} {
		id := forms.Text(form.Doc[name])
		if !forms.IsNumber(id) || keys[id] != "" {
			continue
		}
		f, err := q.Service.Flag(q.Context(), q.By, q.Ref, id)
		if shell.IsRefusal(err) {
			continue
		}
		if err != nil {
			return err
		}
		keys[id] = f.Key
	}
	return nil
}

// surveyFacts fills in what is known of a survey that exists.
func surveyFacts(q *shell.Request, v *surveyView, s *surveys.View) error {
	v.Survey, v.State, v.Results = s, stateOf(q, s), surveyPath(q, s.ID)+"/results"
	v.Activity = q.EntriesAbout("Survey", s.ID.String())
	list, err := q.Service.ListOrganizations(q.Context(), q.By, shell.OrganizationsListed, 0)
	if err != nil {
		return err
	}
	for _, o := range list.Items {
		for _, p := range o.Projects {
			label := p.Name
			if len(list.Items) > 1 {
				label = o.Name + ": " + p.Name
			}
			v.Projects = append(v.Projects, forms.Option{
				Value: strconv.FormatInt(p.ID, 10), Label: label,
				Selected: p.ID == q.At.Project.ID,
			})
		}
	}
	return nil
}

// surveyReach says in words who is asked.
func surveyReach(form *surveyForm, offered *targeting.Offered) string {
	reach := "everyone"
	switch form.Target {
	case "flag":
		reach = "everybody for whom the flag " + cmp.Or(offered.FlagKeys[forms.Text(form.Doc["targeting_flag_id"])],
			forms.Text(form.Doc["targeting_flag_id"])) + " is on"
	case "filters":
		reach = offered.Names().Audience(form.targeting())
	}
	if linked := form.Doc["linked_flag_id"]; !isEmptyJSON(linked) {
		reach += ", with the flag " + cmp.Or(offered.FlagKeys[forms.Text(linked)], forms.Text(linked))
	}
	return reach
}

// fields fills in what the fields of the form show and offer.
func (v *surveyView) fields() {
	v.Targets = forms.Selected(forms.Options(
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

func (v *surveyView) field(f *formField, prefix string, o forms.Object) fieldView {
	name := prefix + f.Name
	out := fieldView{formField: *f, ID: name, Value: f.value(o), Error: v.Errors[name]}
	switch {
	case f.Kind == "choice":
		out.Options = forms.Selected(f.Options, out.Value)
	case f.Kind == "color":
		out.Swatch = cssColor(out.Value)
	case f.List == "flag-keys":
		if key := v.FlagKeys[out.Value]; key != "" {
			out.Value = key
		}
	case f.Kind == "area" || f.Kind == "lines":
		out.Rows = min(max(f.Rows, 1+strings.Count(out.Value, "\n")), 20)
	}
	return out
}

func (v *surveyView) question(i int, o forms.Object, all []forms.Object) questionView {
	name := questionName(i)
	out := questionView{
		ID: name, Number: i + 1, Kind: questionTypeNames[forms.Text(o["type"])], Up: i > 0, Down: i+1 < len(all), Error: v.Errors[name],
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
	places := forms.Options("", "the next question", "end", "the end")
	for j, other := range all {
		if j != i {
			places = append(places, forms.Option{
				Value: strconv.Itoa(j), Label: "question " + strconv.Itoa(j+1) + ": " + forms.Shorten(forms.Text(other["question"]), 40),
			})
		}
	}
	keys := answerKeys(o)
	thens := slices.Clone(places)
	if keys != nil {
		thens = append(thens, forms.Option{Value: "answers", Label: "what the answer says"})
	}
	then := branchOf(o)
	next := member("choice", "then", "After this question, go to").choices(forms.Selected(thens, then), "").refreshing()
	out.Then = fieldView{formField: next, ID: name + ".then", Error: v.Errors[name+".branching"]}
	if then == "answers" {
		values := forms.ReadObject(string(forms.ReadObject(string(o["branching"]))["responseValues"]))
		for _, key := range keys {
			after := member("choice", "then", "After "+forms.Shorten(key.Label, 60)).choices(forms.Selected(places,
				forms.Text(values[key.Value])), "")
			out.Answers = append(out.Answers, fieldView{formField: after, ID: name + ".then." + key.Value})
		}
	}
	return out
}

// actions are what buttons do that have no form around them.
func (h *handlers) actions() map[string]func(*shell.Request, *surveys.View) error {
	return map[string]func(*shell.Request, *surveys.View) error{
		"launch": func(q *shell.Request, v *surveys.View) error {
			_, err := h.surveys.Launch(q.Context(), q.By, q.Ref, v.ID.String())
			return acted(q, err, v, "survey-launched")
		},
		"stop": func(q *shell.Request, v *surveys.View) error {
			_, err := h.surveys.Stop(q.Context(), q.By, q.Ref, v.ID.String())
			return acted(q, err, v, "survey-stopped")
		},
		"resume": func(q *shell.Request, v *surveys.View) error {
			return acted(q, h.changeSurvey(q, v, surveys.Patch{EndDate: optional.Value[string]{Set: true, Null: true}}), v, "survey-resumed")
		},
		"archive": func(q *shell.Request, v *surveys.View) error {
			return acted(q, h.changeSurvey(q, v, surveys.Patch{Archived: optional.Of(true)}), v, "survey-archived")
		},
		"unarchive": func(q *shell.Request, v *surveys.View) error {
			return acted(q, h.changeSurvey(q, v, surveys.Patch{Archived: optional.Of(false)}), v, "survey-unarchived")
		},
		"copy":   h.copySurvey,
		"delete": h.deleteSurvey,
	}
}

func (h *handlers) changeSurvey(q *shell.Request, v *surveys.View, patch surveys.Patch) error {
	_, err := h.surveys.Update(q.Context(), q.By, q.Ref, v.ID.String(), patch)
	return err
}

// acted leads back to a survey after an action, or shows why the Service has refused it.
func acted(q *shell.Request, err error, v *surveys.View, done string) error {
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		return showSurveyForm(q, http.StatusUnprocessableEntity, v, surveyFormOf(v), e.Text())
	}
	if err != nil {
		return err
	}
	return surveyDone(q, v.ID, done)
}

func (h *handlers) copySurvey(q *shell.Request, v *surveys.View) error {
	project := cmp.Or(q.PostForm.Get("project"), q.Ref)
	if !forms.IsNumber(project) {
		return shell.ErrForm
	}
	made, err := h.surveys.Copy(q.Context(), q.By, q.Ref, v.ID.String(), surveys.CopyRequest{
		Projects: optional.Of(json.RawMessage("[" + project + "]")),
	})
	if err != nil {
		return acted(q, err, v, "")
	}
	id := made.Surveys[0].ID
	if project == q.Ref {
		return surveyDone(q, id, "survey-copied")
	}
	return q.Redirect(q.Config.Prefix + "/projects/" + project + "/surveys/" + id.String() + "?done=survey-copied")
}

func (h *handlers) deleteSurvey(q *shell.Request, v *surveys.View) error {
	if strings.TrimSpace(q.PostForm.Get("typed")) != strings.TrimSpace(v.Name) {
		form := surveyFormOf(v)
		form.Confirming = q.PostForm.Get("typed")
		form.Fail("typed", "Type %s to delete it.", v.Name)
		return showSurveyForm(q, http.StatusUnprocessableEntity, v, form, "The survey was not deleted.")
	}
	if err := h.surveys.Delete(q.Context(), q.By, q.Ref, v.ID.String()); err != nil {
		return acted(q, err, v, "")
	}
	return q.Redirect(q.ProjectPath("/surveys?done=survey-deleted"))
}

func (h *handlers) undoSurvey(q *shell.Request, e *management.ActivityView, before forms.Object) (to, item string, err error) {
	if h.surveys == nil {
		return "", "", shell.ErrNoPage
	}
	if e.Activity == "created" {
		return q.ProjectPath("/surveys"), "", h.surveys.Delete(q.Context(), q.By, q.Ref, e.ItemID)
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
	patch, err := shell.DecodePatch[surveys.Patch](before)
	if err == nil {
		_, err = h.surveys.Update(q.Context(), q.By, q.Ref, e.ItemID, patch)
	}
	return "", e.ItemID, err
}
