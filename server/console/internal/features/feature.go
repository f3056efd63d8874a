package features

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/internal/effects"
	"github.com/flagstaff-go/flagstaff/server/console/internal/people"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var featureScreen = shell.Screen{
	Title: "New feature", Under: "Early access",
	Scope: shell.InProject, Pages: map[string]shell.Page{
		"GET /projects/{project}/features/new":        newFeature,
		"POST /projects/{project}/features/new":       postFeature,
		"GET /projects/{project}/features/{feature}":  shell.About(showFeature, feature),
		"POST /projects/{project}/features/{feature}": postFeature,
	},
	Done: map[string]string{
		"feature-made":     "The feature was created.",
		"feature-deleted":  "The feature was deleted. Its flag is still there.",
		"enrolled":         "The person is enrolled.",
		"unenrolled":       "The person is not enrolled any more.",
		"choice-forgotten": "The choice of the person is forgotten.",
	},
	Undo: map[string]shell.Undoer{"EarlyAccessFeature": shell.UndoEntry(featureMembers, undoFeature)},
	Thing: &shell.Thing{
		Scope: "EarlyAccessFeature", One: "early access feature", Many: "Early access features", Path: shell.Below("/features/"),
		Place: featurePlace, Value: featureValue,
	},
}

// A featureForm is an early access feature as a person edits it.
type featureForm struct {
	Original  string // the JSON of the feature for which the form was made; "" for a new one
	Confirmed string // the stage of which the person has seen what it does

	originalFeature
	Payload      string // as typed
	Flag         string // the key of the flag of a new feature; "" to make one
	people.Field        // who is to be enrolled

	forms.Checked
}

// originalFeature is what the Service compares with the stored feature.
type originalFeature struct {
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	Stage            string          `json:"stage"`
	DocumentationURL string          `json:"documentation_url"`
	Payload          json.RawMessage `json:"payload"`
}

func featureOf(f *management.EarlyAccessView) originalFeature {
	return originalFeature{f.Name, f.Description, f.Stage, f.DocumentationURL, f.Payload}
}

// featureView is the page of one early access feature.
type featureView struct {
	shell.Layout
	*featureForm
	New                  bool
	Action, List, Notice string
	Stages               []forms.Option
	Flags                []string
	Feature              *management.EarlyAccessView // as it is stored; nil for a new one
	Activity             string
	Entries              []shell.Entry
	Enrollment           *enrollmentView
	stages
}

// An enrollmentView is who has enrolled.
type enrollmentView struct {
	Tabs     []shell.Tab
	OptedOut bool // those who have chosen against it are shown
	Rows     []people.Row
	Problem  string
	shell.Pager
	Action   string
	Enrolled int
	Property string
}

func featureFormOf(f *management.EarlyAccessView) *featureForm {
	form := &featureForm{Original: string(forms.Must(json.Marshal(featureOf(f)))), originalFeature: featureOf(f)}
	if string(f.Payload) != "{}" {
		form.Payload = forms.Pretty(f.Payload)
	}
	return form
}

func readFeatureForm(v url.Values) *featureForm {
	return &featureForm{
		Original: v.Get("original"), Confirmed: v.Get("confirmed"), originalFeature: originalFeature{
			Name: strings.TrimSpace(v.Get("name")), Description: forms.Lines(v.Get("description")), Stage: v.Get("stage"),
			DocumentationURL: strings.TrimSpace(v.Get("documentation")),
		},
		Payload: forms.Lines(v.Get("payload")), Flag: strings.TrimSpace(v.Get("flag")),
		Field: people.Field{Person: strings.TrimSpace(v.Get("person"))},
	}
}

// feature returns the feature that the form stands for.
func (form *featureForm) feature() originalFeature {
	f := form.originalFeature
	f.Payload = json.RawMessage(cmp.Or(strings.TrimSpace(form.Payload), "{}"))
	return f
}

// patch returns the change that the form stands for, or a new feature with a flag, 0 for a
// flag that is made. Errors of the form are in Errors, and then ok is false.
func (form *featureForm) patch(flag int64) (p management.EarlyAccessPatch, ok bool) {
	if strings.TrimSpace(form.Payload) != "" {
		if _, err := forms.ReadJSON(form.Payload, `The payload is an object, such as {"image": "beta.png"}.`); err != nil {
			form.Fail("payload", "%v", err)
		}
	}
	if form.Name == "" {
		form.Fail("name", "A feature needs a name.")
	}
	if len(form.Errors) > 0 {
		return p, false
	}
	body := forms.ReadObject(string(forms.Must(json.Marshal(form.feature()))))
	if flag != 0 {
		body["feature_flag_id"] = forms.Must(json.Marshal(flag))
	}
	if form.Original != "" {
		body["original_feature"] = json.RawMessage(form.Original)
	}
	p, err := shell.DecodePatch[management.EarlyAccessPatch](body)
	if err != nil { // it was just made
		panic(err)
	}
	return p, true
}

// refuse notes what the Service says against the form.
func (form *featureForm) refuse(e *management.Error) {
	field := map[string]string{
		"name": "name", "description": "description", "stage": "stage", "documentation_url": "documentation", "payload": "payload",
		"feature_flag_id": "flag",
	}[e.Attr]
	if e.Attr == "" && form.Original == "" && form.Flag != "" {
		field = "flag"
	}
	form.Fail(field, "%s", e.Text())
}

func newFeature(q *shell.Request) error {
	return showFeatureForm(q, http.StatusOK, nil, &featureForm{originalFeature: originalFeature{Stage: "draft"}}, "")
}

// feature returns the feature that the path names.
func feature(q *shell.Request) (*management.EarlyAccessView, error) {
	return q.Service.EarlyAccessFeature(q.Context(), q.By, q.Ref, q.PathValue("feature"))
}

func showFeature(q *shell.Request, f *management.EarlyAccessView) error {
	return showFeatureForm(q, http.StatusOK, f, featureFormOf(f), "")
}

// postFeature does what a button of the form says.
func postFeature(q *shell.Request) error {
	form := readFeatureForm(q.PostForm)
	verb, target, _ := strings.Cut(q.PostForm.Get("do"), " ")
	if q.PathValue("feature") == "" {
		form.Original = ""
		if verb == "edit" {
			return showFeatureForm(q, http.StatusOK, nil, form, "")
		}
		return createFeature(q, form)
	}
	f, err := feature(q)
	if err != nil {
		return keepFeature(q, err, form)
	}
	switch verb {
	case "enrol", "unenrol", "forget":
		return enrol(q, f, form, verb, target)
	case "delete":
		return deleteFeature(q, f)
	case "edit":
		return showFeatureForm(q, http.StatusOK, f, form, "")
	}
	if !json.Valid([]byte(form.Original)) {
		form.Original = string(forms.Must(json.Marshal(featureOf(f))))
	}
	return saveFeature(q, f, form)
}

func keepFeature(q *shell.Request, err error, form *featureForm) error {
	return q.Keep(err, func(status int, notice string) error { return showFeatureForm(q, status, nil, form, notice) })
}

func refusedFeature(q *shell.Request, err error, f *management.EarlyAccessView, form *featureForm) error {
	e, ok := errors.AsType[*management.Error](err)
	switch {
	case !ok:
		return keepFeature(q, err, form)
	case errors.Is(e, management.ErrConflict) && f != nil && !forms.SameText(json.RawMessage(form.Original),
		forms.Must(json.Marshal(featureOf(f)))):
		return featureConflict(q, f, form)
	case errors.Is(e, management.ErrInvalid), errors.Is(e, management.ErrConflict):
		form.refuse(e)
		return showFeatureForm(q, http.StatusUnprocessableEntity, f, form, "")
	}
	return err
}

func createFeature(q *shell.Request, form *featureForm) error {
	flag := int64(0)
	if form.Flag != "" {
		f, err := q.Service.Flag(q.Context(), q.By, q.Ref, form.Flag)
		switch {
		case errors.Is(err, management.ErrNotFound):
			form.Fail("flag", "There is no flag with the key %s.", form.Flag)
		case err != nil:
			return keepFeature(q, err, form)
		default:
			flag = f.ID
		}
	}
	patch, ok := form.patch(flag)
	if !ok {
		return showFeatureForm(q, http.StatusUnprocessableEntity, nil, form, "")
	}
	if released := stageOf(form.Stage).Released; flag != 0 && released && form.Confirmed != form.Stage {
		effect, err := enrollmentEffect(q, flag, released)
		if err != nil {
			return refusedFeature(q, err, nil, form)
		}
		if effect.Asks {
			return askFeature(q, "Create the feature?", "Create feature", form, effect)
		}
	}
	made, err := q.Service.CreateEarlyAccessFeature(q.Context(), q.By, q.Ref, patch)
	if err != nil {
		return refusedFeature(q, err, nil, form)
	}
	return q.Done(featurePath(q, made.ID.String()), "feature-made", q.EntryUndo("EarlyAccessFeature", made.ID.String()))
}

// enrollmentEffect asks the Service for whom a flag changes if persons can enrol in it, or
// cannot.
func enrollmentEffect(q *shell.Request, flag int64, on bool) (*shell.Effect, error) {
	f, err := q.Service.Flag(q.Context(), q.By, q.Ref, strconv.FormatInt(flag, 10))
	if err != nil {
		return nil, err
	}
	effect, err := effects.Of(q, management.PreviewPatch{ID: optional.Of(flag), Enrollment: optional.Of(on)}, f)
	if err == nil {
		effect.Changes = nil // there is only one
	}
	return effect, err
}

// askFeature asks whether a form shall be saved that changes who gets the flag.
func askFeature(q *shell.Request, title, button string, form *featureForm, effect *shell.Effect, text ...string) error {
	return q.Confirm(http.StatusOK, title, &shell.ConfirmView{
		Text: text, Effect: effect, Button: button, Do: "save", Edit: true, Action: q.URL.Path,
		Hidden: append(forms.HiddenFields(q.PostForm, "confirmed"), forms.Hidden{Name: "confirmed", Value: form.Stage}),
	})
}

// saveFeature saves a form. A stage that changes who gets the flag is confirmed first.
func saveFeature(q *shell.Request, f *management.EarlyAccessView, form *featureForm) error {
	patch, ok := form.patch(0)
	if !ok {
		return showFeatureForm(q, http.StatusUnprocessableEntity, f, form, "")
	}
	was, then := stageOf(f.Stage), stageOf(form.Stage)
	if was.Released != then.Released && form.Confirmed != form.Stage {
		ask, err := asksOfStage(q, f, then, form)
		if ask || err != nil {
			return err
		}
	}
	now, err := q.Service.UpdateEarlyAccessFeature(q.Context(), q.By, q.Ref, f.ID.String(), patch)
	if err != nil {
		return refusedFeature(q, err, f, form)
	}
	if len(featureChanges(featureOf(f), featureOf(now))) == 0 {
		return q.Done(featurePath(q, f.ID.String()), "unchanged", shell.Undo{})
	}
	return q.Done(featurePath(q, f.ID.String()), "saved", q.EntryUndo("EarlyAccessFeature", f.ID.String()))
}

// asksOfStage asks whether a feature shall get another stage, if that changes who gets its
// flag, and reports whether it has asked.
func asksOfStage(q *shell.Request, f *management.EarlyAccessView, then stageView, form *featureForm) (bool, error) {
	if f.Flag == nil {
		return false, nil
	}
	effect, err := enrollmentEffect(q, f.Flag.ID, then.Released)
	if err != nil {
		return true, refusedFeature(q, err, f, form)
	}
	e, err := q.Service.ListEnrollments(q.Context(), q.By, q.Ref, f.ID.String(), false, 0, 0)
	if err != nil && !shell.IsRefusal(err) {
		return true, keepFeature(q, err, form)
	}
	chosen := err == nil && e.Enrolled+e.OptedOut > 0 && f.Flag.Active // not all of them were seen last
	if !effect.Asks && !chosen {
		return false, nil
	}
	var text []string
	if chosen {
		text = append(text, stageWarning(then, e))
	}
	return true, askFeature(q, "Change the stage to "+then.Label+"?", "Save", form, effect, text...)
}

// stageWarning says for whom a stage changes something.
func stageWarning(then stageView, e *management.Enrollments) string {
	if then.Released {
		return enrolledWords(e.Enrolled) +
			" before: from this stage on the flag is on for them, whatever its condition sets say, and off for the " +
			forms.Number(e.OptedOut) + " who have opted out."
	}
	return enrolledWords(e.Enrolled) +
		": in this stage that does not count any more, and the condition sets of the flag decide for them, as for the " +
		forms.Number(e.OptedOut) + " who have opted out."
}

func enrolledWords(n int) string {
	if n == 1 {
		return "1 person has enrolled"
	}
	return forms.Number(n) + " persons have enrolled"
}

// deleteFeature deletes a feature. It asks first if somebody gets another value of the flag.
func deleteFeature(q *shell.Request, f *management.EarlyAccessView) error {
	shown := featureFormOf(f)
	if stageOf(f.Stage).Released && f.Flag != nil && q.PostForm.Get("confirmed") != "delete" {
		effect, err := enrollmentEffect(q, f.Flag.ID, false)
		if err != nil {
			return refusedFeature(q, err, f, shown)
		}
		if effect.Asks {
			return q.Confirm(http.StatusOK, "Delete "+f.Name+"?", &shell.ConfirmView{
				Text:   []string{"The flag stays, and its condition sets decide alone."},
				Effect: effect, Button: "Delete it", Danger: true, Do: "delete", Action: q.URL.Path, Cancel: q.URL.Path,
				Hidden: []forms.Hidden{{Name: "confirmed", Value: "delete"}},
			})
		}
	}
	if err := q.Service.DeleteEarlyAccessFeature(q.Context(), q.By, q.Ref, f.ID.String()); err != nil {
		return refusedFeature(q, err, f, shown)
	}
	return q.Done(q.ProjectPath("/features"), "feature-deleted", q.EntryUndo("EarlyAccessFeature", f.ID.String()))
}

// enrol writes down what a person has chosen, as a program of the person would, or takes
// the choice back. The person is the one whose name was typed, or the target of a button.
func enrol(q *shell.Request, f *management.EarlyAccessView, form *featureForm, verb, target string) error {
	shown := featureFormOf(f)
	shown.Person = form.Person
	person, err := shown.Find(q, &shown.Checked, verb, target)
	switch {
	case err != nil:
		return refusedFeature(q, err, f, shown)
	case person == "":
		return showFeatureForm(q, http.StatusUnprocessableEntity, f, shown, "")
	}
	var m people.PropertyMark
	id := ""
	e, err := q.Service.ListEnrollments(q.Context(), q.By, q.Ref, f.ID.String(), false, 0, 0)
	if err == nil {
		id, m, err = choiceOf(q, person, e.Property)
	}
	if err == nil {
		if verb == "forget" {
			_, err = q.Service.DeletePersonProperty(q.Context(), q.By, q.Ref, person, management.PropertyRemoval{
				Unset: optional.Of(e.Property),
			})
		} else {
			_, err = q.Service.UpdatePersonProperty(q.Context(), q.By, q.Ref, person, management.PropertyPatch{
				Key: optional.Of(e.Property), Value: optional.Of(json.RawMessage(strconv.FormatBool(verb == "enrol"))),
			})
			m.Now = json.RawMessage(strconv.FormatBool(verb == "enrol"))
		}
	}
	switch refusal, refused := errors.AsType[*management.Error](err); {
	case errors.Is(err, management.ErrNotFound):
		shown.Fail("person", "The person is gone.")
		return showFeatureForm(q, http.StatusUnprocessableEntity, f, shown, "")
	case refused && (errors.Is(refusal, management.ErrInvalid) || errors.Is(refusal, management.ErrConflict)):
		shown.Fail("person", "%s", refusal.Text())
		return showFeatureForm(q, http.StatusUnprocessableEntity, f, shown, "")
	case err != nil:
		return keepFeature(q, err, shown)
	}
	to := featurePath(q, f.ID.String())
	if q.PostForm.Get("show") == "out" {
		to += "?show=out"
	}
	u := shell.Undo{}
	if !forms.SameText(m.Was, m.Now) {
		u = people.PropertyUndo("Person", id, m)
	}
	return q.Done(to, map[string]string{"enrol": "enrolled", "unenrol": "unenrolled", "forget": "choice-forgotten"}[verb], u)
}

// choiceOf returns the ID of a person, and what the person has chosen.
func choiceOf(q *shell.Request, person, property string) (id string, m people.PropertyMark, err error) {
	p, err := q.Service.GetPerson(q.Context(), q.By, q.Ref, person)
	if err != nil {
		return "", m, err
	}
	return p.ID.String(), people.PropertyMark{Name: property, Was: forms.ReadObject(string(p.Properties))[property]}, nil
}

// featureConflict shows what somebody else has changed since a form was made, and what
// saving the form would change now.
func featureConflict(q *shell.Request, f *management.EarlyAccessView, form *featureForm) error {
	var was originalFeature
	_ = json.Unmarshal([]byte(form.Original), &was) // a form that is not ours has had nothing
	v := &shell.ClashView{
		Kind: "early access feature", Name: f.Name, List: q.ProjectPath("/features"), ListName: "Early access",
		Keep:   featurePath(q, f.ID.String()),
		Theirs: featureChanges(was, featureOf(f)), Mine: featureChanges(featureOf(f), form.feature()),
	}
	return q.Clash(v, string(forms.Must(json.Marshal(featureOf(f)))))
}

func featureChanges(a, b originalFeature) []shell.Change {
	payload := shell.Change{Place: "payload", Before: forms.Text(a.Payload), After: forms.Text(b.Payload)}
	if forms.SameText(a.Payload, b.Payload) {
		payload.After = payload.Before
	}
	return shell.Different(
		shell.Change{Place: "name", Before: a.Name, After: b.Name},
		shell.Change{Place: "description", Before: a.Description, After: b.Description},
		shell.Change{Place: "stage", Before: stageOf(a.Stage).Label, After: stageOf(b.Stage).Label},
		shell.Change{Place: "documentation", Before: a.DocumentationURL, After: b.DocumentationURL},
		payload,
	)
}

// showFeatureForm answers with the page of a feature, which is nil if it is new.
func showFeatureForm(q *shell.Request, status int, f *management.EarlyAccessView, form *featureForm, notice string) error {
	q.Layout.Title = cmp.Or(form.Name, "New feature")
	q.Notice()
	v := &featureView{
		featureForm: form, New: f == nil && q.PathValue("feature") == "", Action: q.URL.Path, List: q.ProjectPath("/features"),
		Notice: form.NoticeOr(notice),
		Stages: forms.Selected(featureStages, form.Stage),
	}
	if v.New {
		q.Layout.Title = "New feature"
	} else if f != nil {
		q.Layout.Title = f.Name
	}
	if v.New && status != http.StatusServiceUnavailable {
		var err error
		if v.Flags, err = people.FlagKeys(q); err != nil {
			return keepFeature(q, err, form)
		}
	}
	if f != nil {
		if err := featureFacts(q, v, f); err != nil {
			return keepFeature(q, err, form)
		}
	}
	return q.Render(status, "feature", v)
}

// featureFacts fills in what is known of a feature that exists.
func featureFacts(q *shell.Request, v *featureView, f *management.EarlyAccessView) error {
	v.Feature = f
	item := f.ID.String()
	var err error
	if v.Entries, err = q.HistoryOf("EarlyAccessFeature", item); err != nil {
		return err
	}
	v.Activity = q.EntriesAbout("EarlyAccessFeature", item)
	v.Enrollment, err = enrollmentOf(q, f)
	return err
}

func enrollmentOf(q *shell.Request, f *management.EarlyAccessView) (*enrollmentView, error) {
	page, path := shell.PageNumber(q.URL.Query()), featurePath(q, f.ID.String())
	v := &enrollmentView{OptedOut: q.Form.Get("show") == "out", Action: path}
	e, err := q.Service.ListEnrollments(q.Context(), q.By, q.Ref, f.ID.String(), v.OptedOut, people.MembersShown,
		(page-1)*people.MembersShown)
	if refusal, ok := errors.AsType[*management.Error](err); ok {
		v.Problem = refusal.Text()
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	v.Enrolled, v.Property = e.Enrolled, e.Property
	v.Tabs = []shell.Tab{
		{Name: "Enrolled", URL: path, Count: forms.Number(e.Enrolled), Current: !v.OptedOut}, {
			Name: "Opted out", URL: path + "?show=out",
			Count: forms.Number(e.OptedOut), Current: v.OptedOut,
		},
	}
	for _, p := range e.Persons {
		v.Rows = append(v.Rows, people.RowOf(q, p))
	}
	total := e.Enrolled
	if v.OptedOut {
		total = e.OptedOut
	}
	at := shell.Listing{Path: path}
	if v.OptedOut {
		at.Query = map[string]string{"show": "out"}
	}
	v.Pager = at.Page(page, people.MembersShown, len(v.Rows), total, "person", "persons")
	return v, nil
}

var featureMembers = []string{"name", "description", "stage", "documentation_url", "payload", "feature_flag_id"}

func undoFeature(q *shell.Request, e *management.ActivityView, before forms.Object) (to, item string, err error) {
	if e.Activity == "created" {
		return q.ProjectPath("/features"), "", unmakeFeature(q, e.ItemID)
	}
	patch, err := shell.DecodePatch[management.EarlyAccessPatch](before)
	if err != nil {
		return "", "", err
	}
	if e.Activity == "deleted" {
		made, err := q.Service.CreateEarlyAccessFeature(q.Context(), q.By, q.Ref, patch)
		if err != nil {
			return "", "", err
		}
		return featurePath(q, made.ID.String()), made.ID.String(), nil
	}
	_, err = q.Service.UpdateEarlyAccessFeature(q.Context(), q.By, q.Ref, e.ItemID, patch)
	return "", e.ItemID, err
}

// unmakeFeature deletes a feature that was just made, and its flag, if that was made with it
// and nobody has changed it.
func unmakeFeature(q *shell.Request, id string) error {
	f, err := q.Service.EarlyAccessFeature(q.Context(), q.By, q.Ref, id)
	if err != nil {
		return err
	}
	var flag *management.FlagView
	if f.Flag != nil {
		if flag, err = q.Service.Flag(q.Context(), q.By, q.Ref, strconv.FormatInt(f.Flag.ID, 10)); err != nil {
			return err
		}
	}
	if err := q.Service.DeleteEarlyAccessFeature(q.Context(), q.By, q.Ref, id); err != nil {
		return err
	}
	if flag == nil || flag.Version != 1 || f.CreatedAt.Sub(flag.CreatedAt).Abs() > time.Second {
		return nil
	}
	_, err = q.Service.UpdateFlag(q.Context(), q.By, q.Ref, strconv.FormatInt(flag.ID, 10),
		management.FlagPatch{Deleted: optional.Of(true)})
	return err
}

func featurePlace(field string) string {
	if field == "documentation_url" {
		return "documentation"
	}
	return shell.PlainPlace(field)
}

func featureValue(_ shell.Names, field, value string) string {
	if field == "stage" {
		return stageOf(forms.Text(json.RawMessage(value))).Label
	}
	return new(words.Names).Value("", value)
}
