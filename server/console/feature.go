package console

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
)

var _ = register(screen{
	title: "New feature", under: "Early access",
	scope: inProject, pages: map[string]page{
		"GET /projects/{project}/features/new":        newFeature,
		"POST /projects/{project}/features/new":       postFeature,
		"GET /projects/{project}/features/{feature}":  about(showFeature, (*request).feature),
		"POST /projects/{project}/features/{feature}": postFeature,
	},
	done: map[string]string{
		"feature-made":     "The feature was created.",
		"feature-deleted":  "The feature was deleted. Its flag is still there.",
		"enrolled":         "The person is enrolled.",
		"unenrolled":       "The person is not enrolled any more.",
		"choice-forgotten": "The choice of the person is forgotten.",
	},
	undo: map[string]undoer{"EarlyAccessFeature": undoEntry(featureMembers, undoFeature)},
	thing: &thing{
		scope: "EarlyAccessFeature", one: "early access feature", many: "Early access features", path: below("/features/"),
		place: featurePlace, value: featureValue,
	},
})

// A featureForm is an early access feature as a person edits it.
type featureForm struct {
	Original  string // the JSON of the feature for which the form was made; "" for a new one
	Confirmed string // the stage of which the person has seen what it does

	originalFeature
	Payload     string // as typed
	Flag        string // the key of the flag of a new feature; "" to make one
	personField        // who is to be enrolled

	checked
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
	layout
	*featureForm
	New                  bool
	Action, List, Notice string
	Stages               []option
	Flags                []string
	Feature              *management.EarlyAccessView // as it is stored; nil for a new one
	Activity             string
	Entries              []auditEntry
	Enrollment           *enrollmentView
	stages
}

// An enrollmentView is who has enrolled.
type enrollmentView struct {
	Tabs     []stateTab
	OptedOut bool // those who have chosen against it are shown
	Rows     []memberRow
	Problem  string
	pager
	Action   string
	Enrolled int
	Property string
}

func featureFormOf(f *management.EarlyAccessView) *featureForm {
	form := &featureForm{Original: string(must(json.Marshal(featureOf(f)))), originalFeature: featureOf(f)}
	if string(f.Payload) != "{}" {
		form.Payload = pretty(f.Payload)
	}
	return form
}

func readFeatureForm(v url.Values) *featureForm {
	return &featureForm{
		Original: v.Get("original"), Confirmed: v.Get("confirmed"), originalFeature: originalFeature{
			Name: strings.TrimSpace(v.Get("name")), Description: lines(v.Get("description")), Stage: v.Get("stage"),
			DocumentationURL: strings.TrimSpace(v.Get("documentation")),
		},
		Payload: lines(v.Get("payload")), Flag: strings.TrimSpace(v.Get("flag")),
		personField: personField{Person: strings.TrimSpace(v.Get("person"))},
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
		if _, err := readJSON(form.Payload, `The payload is an object, such as {"image": "beta.png"}.`); err != nil {
			form.fail("payload", "%v", err)
		}
	}
	if form.Name == "" {
		form.fail("name", "A feature needs a name.")
	}
	if len(form.Errors) > 0 {
		return p, false
	}
	body := readObject(string(must(json.Marshal(form.feature()))))
	if flag != 0 {
		body["feature_flag_id"] = must(json.Marshal(flag))
	}
	if form.Original != "" {
		body["original_feature"] = json.RawMessage(form.Original)
	}
	p, err := decodePatch[management.EarlyAccessPatch](body)
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
	form.fail(field, "%s", e.Text())
}

func newFeature(q *request) error {
	return q.showFeatureForm(http.StatusOK, nil, &featureForm{originalFeature: originalFeature{Stage: "draft"}}, "")
}

// feature returns the feature that the path names.
func (q *request) feature() (*management.EarlyAccessView, error) {
	return q.c.Service.EarlyAccessFeature(q.Context(), q.by, q.ref, q.PathValue("feature"))
}

func showFeature(q *request, f *management.EarlyAccessView) error {
	return q.showFeatureForm(http.StatusOK, f, featureFormOf(f), "")
}

// postFeature does what a button of the form says.
func postFeature(q *request) error {
	form := readFeatureForm(q.PostForm)
	verb, target, _ := strings.Cut(q.PostForm.Get("do"), " ")
	if q.PathValue("feature") == "" {
		form.Original = ""
		if verb == "edit" {
			return q.showFeatureForm(http.StatusOK, nil, form, "")
		}
		return q.createFeature(form)
	}
	f, err := q.feature()
	if err != nil {
		return q.keepFeature(err, form)
	}
	switch verb {
	case "enrol", "unenrol", "forget":
		return q.enrol(f, form, verb, target)
	case "delete":
		return q.deleteFeature(f)
	case "edit":
		return q.showFeatureForm(http.StatusOK, f, form, "")
	}
	if !json.Valid([]byte(form.Original)) {
		form.Original = string(must(json.Marshal(featureOf(f))))
	}
	return q.saveFeature(f, form)
}

func (q *request) keepFeature(err error, form *featureForm) error {
	return q.keep(err, func(status int, notice string) error { return q.showFeatureForm(status, nil, form, notice) })
}

func (q *request) refusedFeature(err error, f *management.EarlyAccessView, form *featureForm) error {
	e, ok := errors.AsType[*management.Error](err)
	switch {
	case !ok:
		return q.keepFeature(err, form)
	case errors.Is(e, management.ErrConflict) && f != nil && !sameText(json.RawMessage(form.Original), must(json.Marshal(featureOf(f)))):
		return q.featureConflict(f, form)
	case errors.Is(e, management.ErrInvalid), errors.Is(e, management.ErrConflict):
		form.refuse(e)
		return q.showFeatureForm(http.StatusUnprocessableEntity, f, form, "")
	}
	return err
}

func (q *request) createFeature(form *featureForm) error {
	flag := int64(0)
	if form.Flag != "" {
		f, err := q.c.Service.Flag(q.Context(), q.by, q.ref, form.Flag)
		switch {
		case errors.Is(err, management.ErrNotFound):
			form.fail("flag", "There is no flag with the key %s.", form.Flag)
		case err != nil:
			return q.keepFeature(err, form)
		default:
			flag = f.ID
		}
	}
	patch, ok := form.patch(flag)
	if !ok {
		return q.showFeatureForm(http.StatusUnprocessableEntity, nil, form, "")
	}
	if released := stageOf(form.Stage).Released; flag != 0 && released && form.Confirmed != form.Stage {
		effect, err := q.enrollmentEffect(flag, released)
		if err != nil {
			return q.refusedFeature(err, nil, form)
		}
		if effect.Asks {
			return q.askFeature("Create the feature?", "Create feature", form, effect)
		}
	}
	made, err := q.c.Service.CreateEarlyAccessFeature(q.Context(), q.by, q.ref, patch)
	if err != nil {
		return q.refusedFeature(err, nil, form)
	}
	return q.done(q.featurePath(made.ID.String()), "feature-made", q.entryUndo("EarlyAccessFeature", made.ID.String()))
}

// enrollmentEffect asks the Service for whom a flag changes if persons can enrol in it, or
// cannot.
func (q *request) enrollmentEffect(flag int64, on bool) (*effectView, error) {
	f, err := q.c.Service.Flag(q.Context(), q.by, q.ref, strconv.FormatInt(flag, 10))
	if err != nil {
		return nil, err
	}
	effect, err := q.effect(management.PreviewPatch{ID: optional.Of(flag), Enrollment: optional.Of(on)}, f)
	if err == nil {
		effect.Changes = nil // there is only one
	}
	return effect, err
}

// askFeature asks whether a form shall be saved that changes who gets the flag.
func (q *request) askFeature(title, button string, form *featureForm, effect *effectView, text ...string) error {
	return q.confirm(http.StatusOK, title, &confirmView{
		Text: text, Effect: effect, Button: button, Do: "save", Edit: true, Action: q.URL.Path,
		Hidden: append(hiddenFields(q.PostForm, "confirmed"), hidden{"confirmed", form.Stage}),
	})
}

// saveFeature saves a form. A stage that changes who gets the flag is confirmed first.
func (q *request) saveFeature(f *management.EarlyAccessView, form *featureForm) error {
	patch, ok := form.patch(0)
	if !ok {
		return q.showFeatureForm(http.StatusUnprocessableEntity, f, form, "")
	}
	was, then := stageOf(f.Stage), stageOf(form.Stage)
	if was.Released != then.Released && form.Confirmed != form.Stage {
		ask, err := q.asksOfStage(f, then, form)
		if ask || err != nil {
			return err
		}
	}
	now, err := q.c.Service.UpdateEarlyAccessFeature(q.Context(), q.by, q.ref, f.ID.String(), patch)
	if err != nil {
		return q.refusedFeature(err, f, form)
	}
	if len(featureChanges(featureOf(f), featureOf(now))) == 0 {
		return q.done(q.featurePath(f.ID.String()), "unchanged", undo{})
	}
	return q.done(q.featurePath(f.ID.String()), "saved", q.entryUndo("EarlyAccessFeature", f.ID.String()))
}

// asksOfStage asks whether a feature shall get another stage, if that changes who gets its
// flag, and reports whether it has asked.
func (q *request) asksOfStage(f *management.EarlyAccessView, then stageView, form *featureForm) (bool, error) {
	if f.Flag == nil {
		return false, nil
	}
	effect, err := q.enrollmentEffect(f.Flag.ID, then.Released)
	if err != nil {
		return true, q.refusedFeature(err, f, form)
	}
	e, err := q.c.Service.ListEnrollments(q.Context(), q.by, q.ref, f.ID.String(), false, 0, 0)
	if err != nil && !isRefusal(err) {
		return true, q.keepFeature(err, form)
	}
	chosen := err == nil && e.Enrolled+e.OptedOut > 0 && f.Flag.Active // not all of them were seen last
	if !effect.Asks && !chosen {
		return false, nil
	}
	var text []string
	if chosen {
		text = append(text, stageWarning(then, e))
	}
	return true, q.askFeature("Change the stage to "+then.Label+"?", "Save", form, effect, text...)
}

// stageWarning says for whom a stage changes something.
func stageWarning(then stageView, e *management.Enrollments) string {
	if then.Released {
		return enrolledWords(e.Enrolled) +
			" before: from this stage on the flag is on for them, whatever its condition sets say, and off for the " +
			number(e.OptedOut) + " who have opted out."
	}
	return enrolledWords(e.Enrolled) +
		": in this stage that does not count any more, and the condition sets of the flag decide for them, as for the " +
		number(e.OptedOut) + " who have opted out."
}

func enrolledWords(n int) string {
	if n == 1 {
		return "1 person has enrolled"
	}
	return number(n) + " persons have enrolled"
}

// deleteFeature deletes a feature. It asks first if somebody gets another value of the flag.
func (q *request) deleteFeature(f *management.EarlyAccessView) error {
	shown := featureFormOf(f)
	if stageOf(f.Stage).Released && f.Flag != nil && q.PostForm.Get("confirmed") != "delete" {
		effect, err := q.enrollmentEffect(f.Flag.ID, false)
		if err != nil {
			return q.refusedFeature(err, f, shown)
		}
		if effect.Asks {
			return q.confirm(http.StatusOK, "Delete "+f.Name+"?", &confirmView{
				Text:   []string{"The flag stays, and its condition sets decide alone."},
				Effect: effect, Button: "Delete it", Danger: true, Do: "delete", Action: q.URL.Path, Cancel: q.URL.Path,
				Hidden: []hidden{{"confirmed", "delete"}},
			})
		}
	}
	if err := q.c.Service.DeleteEarlyAccessFeature(q.Context(), q.by, q.ref, f.ID.String()); err != nil {
		return q.refusedFeature(err, f, shown)
	}
	return q.done(q.projectPath("/features"), "feature-deleted", q.entryUndo("EarlyAccessFeature", f.ID.String()))
}

// enrol writes down what a person has chosen, as a program of the person would, or takes
// the choice back. The person is the one whose name was typed, or the target of a button.
func (q *request) enrol(f *management.EarlyAccessView, form *featureForm, verb, target string) error {
	shown := featureFormOf(f)
	shown.Person = form.Person
	person, err := shown.find(q, &shown.checked, verb, target)
	switch {
	case err != nil:
		return q.refusedFeature(err, f, shown)
	case person == "":
		return q.showFeatureForm(http.StatusUnprocessableEntity, f, shown, "")
	}
	var m propertyMark
	id := ""
	e, err := q.c.Service.ListEnrollments(q.Context(), q.by, q.ref, f.ID.String(), false, 0, 0)
	if err == nil {
		id, m, err = q.choiceOf(person, e.Property)
	}
	if err == nil {
		if verb == "forget" {
			_, err = q.c.Service.DeletePersonProperty(q.Context(), q.by, q.ref, person, management.PropertyRemoval{
				Unset: optional.Of(e.Property),
			})
		} else {
			_, err = q.c.Service.UpdatePersonProperty(q.Context(), q.by, q.ref, person, management.PropertyPatch{
				Key: optional.Of(e.Property), Value: optional.Of(json.RawMessage(strconv.FormatBool(verb == "enrol"))),
			})
			m.Now = json.RawMessage(strconv.FormatBool(verb == "enrol"))
		}
	}
	switch refusal, refused := errors.AsType[*management.Error](err); {
	case errors.Is(err, management.ErrNotFound):
		shown.fail("person", "The person is gone.")
		return q.showFeatureForm(http.StatusUnprocessableEntity, f, shown, "")
	case refused && (errors.Is(refusal, management.ErrInvalid) || errors.Is(refusal, management.ErrConflict)):
		shown.fail("person", "%s", refusal.Text())
		return q.showFeatureForm(http.StatusUnprocessableEntity, f, shown, "")
	case err != nil:
		return q.keepFeature(err, shown)
	}
	to := q.featurePath(f.ID.String())
	if q.PostForm.Get("show") == "out" {
		to += "?show=out"
	}
	u := undo{}
	if !sameText(m.Was, m.Now) {
		u = propertyUndo("Person", id, m)
	}
	return q.done(to, map[string]string{"enrol": "enrolled", "unenrol": "unenrolled", "forget": "choice-forgotten"}[verb], u)
}

// choiceOf returns the ID of a person, and what the person has chosen.
func (q *request) choiceOf(person, property string) (id string, m propertyMark, err error) {
	p, err := q.c.Service.GetPerson(q.Context(), q.by, q.ref, person)
	if err != nil {
		return "", m, err
	}
	return p.ID.String(), propertyMark{Name: property, Was: readObject(string(p.Properties))[property]}, nil
}

// featureConflict shows what somebody else has changed since a form was made, and what
// saving the form would change now.
func (q *request) featureConflict(f *management.EarlyAccessView, form *featureForm) error {
	var was originalFeature
	_ = json.Unmarshal([]byte(form.Original), &was) // a form that is not ours has had nothing
	v := &clashView{
		Kind: "early access feature", Name: f.Name, List: q.projectPath("/features"), ListName: "Early access",
		Keep:   q.featurePath(f.ID.String()),
		Theirs: featureChanges(was, featureOf(f)), Mine: featureChanges(featureOf(f), form.feature()),
	}
	return q.clash(v, string(must(json.Marshal(featureOf(f)))))
}

func featureChanges(a, b originalFeature) []changeLine {
	payload := changeLine{"payload", text(a.Payload), text(b.Payload)}
	if sameText(a.Payload, b.Payload) {
		payload.After = payload.Before
	}
	return different(
		changeLine{"name", a.Name, b.Name},
		changeLine{"description", a.Description, b.Description},
		changeLine{"stage", stageOf(a.Stage).Label, stageOf(b.Stage).Label},
		changeLine{"documentation", a.DocumentationURL, b.DocumentationURL},
		payload,
	)
}

// showFeatureForm answers with the page of a feature, which is nil if it is new.
func (q *request) showFeatureForm(status int, f *management.EarlyAccessView, form *featureForm, notice string) error {
	q.layout.Title = cmp.Or(form.Name, "New feature")
	q.notice()
	v := &featureView{
		featureForm: form, New: f == nil && q.PathValue("feature") == "", Action: q.URL.Path, List: q.projectPath("/features"),
		Notice: form.noticeOr(notice),
		Stages: selected(featureStages, form.Stage),
	}
	if v.New {
		q.layout.Title = "New feature"
	} else if f != nil {
		q.layout.Title = f.Name
	}
	if v.New && status != http.StatusServiceUnavailable {
		var err error
		if v.Flags, err = q.flagKeys(); err != nil {
			return q.keepFeature(err, form)
		}
	}
	if f != nil {
		if err := q.featureFacts(v, f); err != nil {
			return q.keepFeature(err, form)
		}
	}
	return q.render(status, "feature", v)
}

// featureFacts fills in what is known of a feature that exists.
func (q *request) featureFacts(v *featureView, f *management.EarlyAccessView) error {
	v.Feature = f
	item := f.ID.String()
	var err error
	if v.Entries, err = q.historyOf("EarlyAccessFeature", item); err != nil {
		return err
	}
	v.Activity = q.entriesAbout("EarlyAccessFeature", item)
	v.Enrollment, err = q.enrollmentOf(f)
	return err
}

func (q *request) enrollmentOf(f *management.EarlyAccessView) (*enrollmentView, error) {
	page, path := pageNumber(q.URL.Query()), q.featurePath(f.ID.String())
	v := &enrollmentView{OptedOut: q.Form.Get("show") == "out", Action: path}
	e, err := q.c.Service.ListEnrollments(q.Context(), q.by, q.ref, f.ID.String(), v.OptedOut, membersShown, (page-1)*membersShown)
	if refusal, ok := errors.AsType[*management.Error](err); ok {
		v.Problem = refusal.Text()
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	v.Enrolled, v.Property = e.Enrolled, e.Property
	v.Tabs = []stateTab{
		{"Enrolled", path, number(e.Enrolled), !v.OptedOut}, {"Opted out", path + "?show=out", number(e.OptedOut), v.OptedOut},
	}
	for _, p := range e.Persons {
		v.Rows = append(v.Rows, q.memberRow(p))
	}
	total := e.Enrolled
	if v.OptedOut {
		total = e.OptedOut
	}
	at := listing{path: path}
	if v.OptedOut {
		at.query = map[string]string{"show": "out"}
	}
	v.pager = at.page(page, membersShown, len(v.Rows), total, "person", "persons")
	return v, nil
}

var featureMembers = []string{"name", "description", "stage", "documentation_url", "payload", "feature_flag_id"}

func undoFeature(q *request, e *management.ActivityView, before object) (to, item string, err error) {
	if e.Activity == "created" {
		return q.projectPath("/features"), "", q.unmakeFeature(e.ItemID)
	}
	patch, err := decodePatch[management.EarlyAccessPatch](before)
	if err != nil {
		return "", "", err
	}
	if e.Activity == "deleted" {
		made, err := q.c.Service.CreateEarlyAccessFeature(q.Context(), q.by, q.ref, patch)
		if err != nil {
			return "", "", err
		}
		return q.featurePath(made.ID.String()), made.ID.String(), nil
	}
	_, err = q.c.Service.UpdateEarlyAccessFeature(q.Context(), q.by, q.ref, e.ItemID, patch)
	return "", e.ItemID, err
}

// unmakeFeature deletes a feature that was just made, and its flag, if that was made with it
// and nobody has changed it.
func (q *request) unmakeFeature(id string) error {
	f, err := q.c.Service.EarlyAccessFeature(q.Context(), q.by, q.ref, id)
	if err != nil {
		return err
	}
	var flag *management.FlagView
	if f.Flag != nil {
		if flag, err = q.c.Service.Flag(q.Context(), q.by, q.ref, strconv.FormatInt(f.Flag.ID, 10)); err != nil {
			return err
		}
	}
	if err := q.c.Service.DeleteEarlyAccessFeature(q.Context(), q.by, q.ref, id); err != nil {
		return err
	}
	if flag == nil || flag.Version != 1 || f.CreatedAt.Sub(flag.CreatedAt).Abs() > time.Second {
		return nil
	}
	_, err = q.c.Service.UpdateFlag(q.Context(), q.by, q.ref, strconv.FormatInt(flag.ID, 10),
		management.FlagPatch{Deleted: optional.Of(true)})
	return err
}

func featurePlace(field string) string {
	if field == "documentation_url" {
		return "documentation"
	}
	return plainPlace(field)
}

func featureValue(_ *words.Names, field, value string) string {
	if field == "stage" {
		return stageOf(text(json.RawMessage(value))).Label
	}
	return new(words.Names).Value("", value)
}
