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
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

// An undo says how a change is taken back (management.md §5.11). The notice after the change
// has it in its address, so that it works after a restart and on every server. It names what
// was changed, and what shows that nobody has changed it since: it takes back nothing else.
type undo struct {
	What string // a key of undoers; "": the change cannot be taken back
	Item string // the ID of the thing
	Mark string // the version, the entry of the activity log, or the values
}

func (u undo) String() string {
	return url.Values{"what": {u.What}, "item": {u.Item}, "mark": {u.Mark}}.Encode()
}

func readUndo(s string) (u undo, ok bool) {
	v, err := url.ParseQuery(s)
	u = undo{v.Get("what"), v.Get("item"), v.Get("mark")}
	return u, err == nil && undoers[u.What] != nil
}

// maxUndo is how long an undo may be in an address, in bytes. A longer one is left out.
const maxUndo = 2000

// An undoView is the button of a notice.
type undoView struct {
	Action string
	Hidden []hidden
}

// done leads to a page that says what was done, with a button that takes it back.
func (q *request) done(to, done string, u undo) error {
	path, query, _ := strings.Cut(to, "?")
	values, err := url.ParseQuery(query)
	if err != nil { // the console has made it
		panic(err)
	}
	values.Set("done", done)
	if text := u.String(); u.What != "" && len(text) <= maxUndo {
		values.Set("undo", text)
	}
	return q.redirect(path + "?" + values.Encode())
}

// notice says on a page what was just done, in the words of a table.
func (q *request) notice(words map[string]string) {
	query := q.URL.Query()
	done := query.Get("done")
	q.layout.Done = words[done]
	if done == "undone" {
		q.layout.Done = "It is as it was before."
	}
	u, ok := readUndo(query.Get("undo"))
	if !ok || q.layout.Done == "" || q.Method != http.MethodGet {
		return
	}
	query.Del("done")
	query.Del("undo")
	back := q.URL.Path
	if len(query) > 0 {
		back += "?" + query.Encode()
	}
	q.offerUndo(u, back)
}

// offerUndo gives the notice of the page a button that takes a change back, and leads to a
// path then.
func (q *request) offerUndo(u undo, back string) {
	action := q.c.Prefix + "/me/undo"
	if q.ref != "" {
		action = q.projectPath("/undo")
	}
	q.layout.Undo = &undoView{action, []hidden{{"undo", u.String()}, {"back", back}}}
}

var errUndo = &pageError{
	http.StatusConflict, "This cannot be undone any more",
	"Nothing was changed. It has been changed again since, or it is undone already: its history says by whom.", false,
}

// undoChange takes a change back.
func undoChange(q *request) error {
	u, ok := readUndo(q.PostForm.Get("undo"))
	back := q.c.within(q.PostForm.Get("back"))
	if !ok || back == "" || (q.ref == "") != (u.What == "Name") {
		return errForm
	}
	to, again, err := undoers[u.What](q, u)
	if errors.Is(err, management.ErrConflict) || errors.Is(err, management.ErrPrecondition) || errors.Is(err, management.ErrNotFound) {
		return errUndo
	}
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrInvalid) {
		return &pageError{http.StatusUnprocessableEntity, "This cannot be undone", "Nothing was changed. " + e.Text(), false}
	}
	if err != nil {
		return err
	}
	return q.done(cmp.Or(to, q.c.Prefix+back), "undone", again)
}

// undoers take changes back. They return where to go if the page of the thing is gone, and
// how what they have done is taken back itself.
var undoers map[string]func(*request, undo) (to string, again undo, err error)

func init() { // the functions look into the table
	undoers = map[string]func(*request, undo) (string, undo, error){
		"FeatureFlag": undoFlag, "Cohort": undoCohort, "MemberRemoved": undoRemoval, "MemberAdded": undoAddition, "List": undoList, "Import": undoImport,
		"EarlyAccessFeature": undoFeature, "Survey": undoSurvey,
		"Response": undoResponse, "Project": undoProject, "Person": undoProperty, "Group": undoProperty, "Member": undoMember, "Name": undoName,
	}
}

// newFlagMark marks a flag that was just made: there is no version before.
const newFlagMark = "new"

// flagUndo returns how a change of a flag is taken back, which is nil before if it was made.
func flagUndo(before, after *management.FlagView) undo {
	u := undo{"FeatureFlag", strconv.FormatInt(after.ID, 10), strconv.Itoa(after.Version)}
	switch {
	case before == nil:
		u.Mark = newFlagMark
	case before.Version == after.Version:
		return undo{}
	}
	return u
}

func undoFlag(q *request, u undo) (string, undo, error) {
	f, err := q.c.Service.Flag(q.Context(), q.by, q.ref, u.Item)
	if err != nil {
		return "", undo{}, err
	}
	if u.Mark == newFlagMark {
		if f.Version != 1 || f.Deleted {
			return "", undo{}, errUndo
		}
		patch := management.FlagPatch{Deleted: optional.Of(true), IfVersion: &f.Version}
		saved, err := q.c.Service.UpdateFlag(q.Context(), q.by, q.ref, u.Item, patch)
		if err != nil {
			return "", undo{}, err
		}
		return q.projectPath("/flags"), flagUndo(f, saved), nil
	}
	version, err := strconv.Atoi(u.Mark)
	if err != nil {
		return "", undo{}, errForm
	}
	patch := management.RevertPatch{Version: optional.Of(version - 1), IfVersion: &version}
	saved, err := q.c.Service.RevertFlag(q.Context(), q.by, q.ref, u.Item, patch)
	if err != nil {
		return "", undo{}, err
	}
	return "", flagUndo(f, saved), nil
}

// newestEntry returns the newest entry of the activity log about a thing.
func (q *request) newestEntry(scope, item string) (*management.ActivityView, error) {
	list, err := q.c.Service.ListActivity(q.Context(), q.by, q.ref, management.ActivityQuery{Scope: scope, ItemID: item, Page: 1, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, errUndo
	}
	return &list.Items[0], nil
}

// entryUndo returns how the change is taken back that the user has just made of a thing. A
// change that cannot be found again cannot be taken back.
func (q *request) entryUndo(scope, item string) undo {
	e, err := q.newestEntry(scope, item)
	if err != nil || e.User.Email == nil || *e.User.Email != q.by.User.Email {
		return undo{}
	}
	return undo{scope, item, e.ID.String()}
}

// entryOf returns the entry that an undo names, if it is the newest about its thing.
func (q *request) entryOf(u undo) (*management.ActivityView, error) {
	e, err := q.newestEntry(u.What, u.Item)
	if err == nil && e.ID.String() != u.Mark {
		err = errUndo
	}
	return e, err
}

// valuesBefore returns what fields were before a change. Fields that nobody can set are left
// out.
func valuesBefore(e *management.ActivityView, settable []string) (object, error) {
	out := make(object)
	for _, c := range e.Detail.Changes {
		if slices.Contains(settable, c.Field) {
			out[c.Field] = c.Before
			if len(c.Before) == 0 {
				out[c.Field] = jsonNull
			}
		}
	}
	if len(out) == 0 {
		return nil, errUndo
	}
	return out, nil
}

// decodePatch makes a patch of the API of an object.
func decodePatch[P any](body object) (p P, err error) {
	err = json.Unmarshal(must(json.Marshal(body)), &p)
	return p, err
}

func undoCohort(q *request, u undo) (string, undo, error) {
	e, err := q.entryOf(u)
	if err != nil {
		return "", undo{}, err
	}
	patch, to := management.CohortPatch{Deleted: optional.Of(true)}, q.projectPath("/cohorts")
	if e.Activity != "created" {
		body, err := valuesBefore(e, []string{"name", "description", "filters", "deleted"})
		if err != nil {
			return "", undo{}, err
		}
		to = ""
		if patch, err = decodePatch[management.CohortPatch](body); err != nil {
			return "", undo{}, err
		}
	}
	if _, err := q.c.Service.UpdateCohort(q.Context(), q.by, q.ref, u.Item, patch); err != nil {
		return "", undo{}, err
	}
	return to, q.entryUndo(u.What, u.Item), nil
}

// inCohort reports whether a person is in a cohort.
func (q *request) inCohort(person, cohort string) (bool, error) {
	now, err := q.c.Service.PersonCohorts(q.Context(), q.by, q.ref, person)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(now.Items, func(c management.PersonCohort) bool { return strconv.FormatInt(c.ID, 10) == cohort }), nil
}

// undoRemoval brings a person back into a list.
func undoRemoval(q *request, u undo) (string, undo, error) {
	if in, err := q.inCohort(u.Mark, u.Item); err != nil || in {
		return "", undo{}, cmp.Or[error](err, errUndo)
	}
	persons := management.CohortPersons{IDs: optional.Of(json.RawMessage(must(json.Marshal([]string{u.Mark}))))}
	return "", undo{"MemberAdded", u.Item, u.Mark}, q.c.Service.AddCohortPersons(q.Context(), q.by, q.ref, u.Item, persons)
}

// undoAddition takes a person out of a list again.
func undoAddition(q *request, u undo) (string, undo, error) {
	if in, err := q.inCohort(u.Mark, u.Item); err != nil || !in {
		return "", undo{}, cmp.Or[error](err, errUndo)
	}
	person := management.CohortPersons{ID: optional.Of(u.Mark)}
	return "", undo{"MemberRemoved", u.Item, u.Mark}, q.c.Service.RemoveCohortPerson(q.Context(), q.by, q.ref, u.Item, person)
}

// undoList takes the persons out of a static cohort again whom a list has brought in.
func undoList(q *request, u undo) (string, undo, error) {
	upload, err := uuid.Parse(u.Mark)
	if err != nil {
		return "", undo{}, errForm
	}
	n, err := q.c.Service.RemoveCohortUpload(q.Context(), q.by, q.ref, u.Item, upload)
	if err == nil && n == 0 {
		err = errUndo
	}
	return "", undo{}, err // whoever wants the list again sends it again
}

// undoImport deletes what an import has made, all of it or nothing.
func undoImport(q *request, u undo) (string, undo, error) {
	list, cohorts, _ := strings.Cut(u.Mark, " ")
	flagIDs, err := readIDs(list)
	cohortIDs, err2 := readIDs(cohorts)
	if err != nil || err2 != nil || len(flagIDs)+len(cohortIDs) == 0 {
		return "", undo{}, errForm
	}
	err = q.c.Service.UndoImport(q.Context(), q.by, q.ref, flagIDs, cohortIDs)
	if e, ok := errors.AsType[*management.Error](err); ok && errors.Is(e, management.ErrConflict) {
		return "", undo{}, &pageError{http.StatusConflict, errUndo.title, "Nothing was changed. " + e.Text(), false}
	}
	to := q.projectPath("/import")
	if err == nil && q.c.imports.undone(q.at.Project.ID, u.Item, q.c.Now()) {
		to = q.importPath(u.Item)
	}
	return to, undo{}, err
}

// idText writes IDs, of which those that follow each other are one range: 3-7,12.
func idText(ids []int64) string {
	ids = slices.Sorted(slices.Values(ids))
	var parts []string
	for len(ids) > 0 {
		n := 1
		for n < len(ids) && ids[n] == ids[0]+int64(n) {
			n++
		}
		part := strconv.FormatInt(ids[0], 10)
		if n > 1 {
			part += "-" + strconv.FormatInt(ids[n-1], 10)
		}
		parts, ids = append(parts, part), ids[n:]
	}
	return strings.Join(parts, ",")
}

// readIDs reads what idText has written.
func readIDs(s string) (ids []int64, err error) {
	const most = 1_000_000 // IDs, more than a document has
	if s == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseInt(from, 10, 64)
		last, err2 := strconv.ParseInt(to, 10, 64)
		if err != nil || err2 != nil || first < 1 || last < first || last-first >= int64(most-len(ids)) {
			return nil, errForm
		}
		for id := first; id <= last; id++ {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

var featureMembers = []string{"name", "description", "stage", "documentation_url", "payload", "feature_flag_id"}

func undoFeature(q *request, u undo) (string, undo, error) {
	e, err := q.entryOf(u)
	if err != nil {
		return "", undo{}, err
	}
	if e.Activity == "created" {
		return q.projectPath("/features"), undo{}, q.unmakeFeature(u.Item)
	}
	body, err := valuesBefore(e, featureMembers)
	if err != nil {
		return "", undo{}, err
	}
	patch, err := decodePatch[management.EarlyAccessPatch](body)
	if err != nil {
		return "", undo{}, err
	}
	if e.Activity == "deleted" {
		made, err := q.c.Service.CreateEarlyAccessFeature(q.Context(), q.by, q.ref, patch)
		if err != nil {
			return "", undo{}, err
		}
		return q.featurePath(made.ID.String()), q.entryUndo(u.What, made.ID.String()), nil
	}
	if _, err := q.c.Service.UpdateEarlyAccessFeature(q.Context(), q.by, q.ref, u.Item, patch); err != nil {
		return "", undo{}, err
	}
	return "", q.entryUndo(u.What, u.Item), nil
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
	_, err = q.c.Service.UpdateFlag(q.Context(), q.by, q.ref, strconv.FormatInt(flag.ID, 10), management.FlagPatch{Deleted: optional.Of(true)})
	return err
}

func undoSurvey(q *request, u undo) (string, undo, error) {
	if q.c.Surveys == nil {
		return "", undo{}, errNoPage
	}
	e, err := q.entryOf(u)
	if err != nil {
		return "", undo{}, err
	}
	if e.Activity == "created" {
		return q.projectPath("/surveys"), undo{}, q.c.Surveys.Delete(q.Context(), q.by, q.ref, u.Item)
	}
	body, err := valuesBefore(e, append(slices.Clone(surveyMembers), "archived"))
	if err != nil {
		return "", undo{}, err
	}
	for _, name := range []string{"targeting_flag_filters", "targeting_flag_id"} {
		if before, changed := body[name]; changed && isEmptyJSON(before) {
			delete(body, name)
			if body["targeting_flag_filters"] == nil && body["targeting_flag_id"] == nil {
				body["remove_targeting_flag"] = json.RawMessage("true")
			}
		} else if changed {
			delete(body, "remove_targeting_flag")
		}
	}
	patch, err := decodePatch[survey.Patch](body)
	if err != nil {
		return "", undo{}, err
	}
	if _, err := q.c.Surveys.Update(q.Context(), q.by, q.ref, u.Item, patch); err != nil {
		return "", undo{}, err
	}
	return "", q.entryUndo(u.What, u.Item), nil
}

func undoResponse(q *request, u undo) (string, undo, error) {
	if q.c.Surveys == nil {
		return "", undo{}, errNoPage
	}
	of, response, _ := strings.Cut(u.Item, "/")
	act, again := q.c.Surveys.ArchiveResponse, "archive"
	if u.Mark == "archive" {
		act, again = q.c.Surveys.UnarchiveResponse, "unarchive"
	}
	return "", undo{u.What, u.Item, again}, act(q.Context(), q.by, q.ref, of, response)
}

func undoProject(q *request, u undo) (string, undo, error) {
	e, err := q.entryOf(u)
	if err != nil {
		return "", undo{}, err
	}
	var settable []string
	for i := range allSettings {
		settable = append(settable, allSettings[i].name)
	}
	body, err := valuesBefore(e, settable)
	if err != nil {
		return "", undo{}, err
	}
	for i := range allSettings {
		if before := body[allSettings[i].name]; before != nil {
			body[allSettings[i].name] = allSettings[i].value(allSettings[i].text(before)) // the log has null for what is empty
		}
	}
	patch, err := decodePatch[management.ProjectPatch](body)
	if err != nil {
		return "", undo{}, err
	}
	if _, err := q.c.Service.UpdateProject(q.Context(), q.by, q.ref, patch); err != nil {
		return "", undo{}, err
	}
	return "", q.entryUndo(u.What, u.Item), nil
}

// A propertyMark is what a change of a property of a person or a group has done. The activity
// log does not have values of persons.
type propertyMark struct {
	Name string          `json:"name"`
	Was  json.RawMessage `json:"was,omitempty"` // nothing: there was none
	Now  json.RawMessage `json:"now,omitempty"`
}

// propertyUndo returns how a change of a property is taken back.
func propertyUndo(what, item string, m propertyMark) undo {
	return undo{what, item, string(must(json.Marshal(m)))}
}

func undoProperty(q *request, u undo) (string, undo, error) {
	var m propertyMark
	if json.Unmarshal([]byte(u.Mark), &m) != nil {
		return "", undo{}, errForm
	}
	things, err := q.propertiesOf(u)
	if err != nil {
		return "", undo{}, err
	}
	if is := readObject(string(things.now))[m.Name]; (is == nil) != (m.Now == nil) || is != nil && !sameText(is, m.Now) {
		return "", undo{}, errUndo
	}
	if m.Was == nil {
		err = things.remove(management.PropertyRemoval{Unset: optional.Of(m.Name)})
	} else {
		err = things.set(management.PropertyPatch{Key: optional.Of(m.Name), Value: optional.Of(m.Was)})
	}
	return "", propertyUndo(u.What, u.Item, propertyMark{m.Name, m.Now, m.Was}), err
}

// A propertyHolder is a person or a group.
type propertyHolder struct {
	now    json.RawMessage
	set    func(management.PropertyPatch) error
	remove func(management.PropertyRemoval) error
}

// propertiesOf returns the person or the group of an undo.
func (q *request) propertiesOf(u undo) (*propertyHolder, error) {
	service := q.c.Service
	if u.What == "Person" {
		p, err := service.GetPerson(q.Context(), q.by, q.ref, u.Item)
		if err != nil {
			return nil, err
		}
		return &propertyHolder{
			p.Properties,
			func(patch management.PropertyPatch) error {
				_, err := service.UpdatePersonProperty(q.Context(), q.by, q.ref, u.Item, patch)
				return err
			},
			func(removal management.PropertyRemoval) error {
				_, err := service.DeletePersonProperty(q.Context(), q.by, q.ref, u.Item, removal)
				return err
			},
		}, nil
	}
	kind, key, _ := strings.Cut(u.Item, "/")
	index, err := strconv.Atoi(kind)
	if err != nil {
		return nil, errForm
	}
	g, err := service.FindGroup(q.Context(), q.by, q.ref, index, key)
	if err != nil {
		return nil, err
	}
	return &propertyHolder{
		g.GroupProperties,
		func(patch management.PropertyPatch) error {
			_, err := service.UpdateGroupProperty(q.Context(), q.by, q.ref, index, key, patch)
			return err
		},
		func(removal management.PropertyRemoval) error {
			_, err := service.DeleteGroupProperty(q.Context(), q.by, q.ref, index, key, removal)
			return err
		},
	}, nil
}

// undoMember gives a member the level before. The mark has both levels.
func undoMember(q *request, u undo) (string, undo, error) {
	was, now, _ := strings.Cut(u.Mark, " ")
	if _, err := uuid.Parse(u.Item); err != nil {
		return "", undo{}, errForm
	}
	m, err := q.memberByID(u.Item)
	if err != nil {
		return "", undo{}, err
	}
	if m.Level != atoi(now) {
		return "", undo{}, errUndo
	}
	patch := management.MemberPatch{Level: optional.Of(atoi(was))}
	_, err = q.c.Service.UpdateMember(q.Context(), q.by, q.at.Organization.ID.String(), u.Item, patch)
	return "", undo{u.What, u.Item, now + " " + was}, err
}

// undoName gives the user the name before. The mark has both parts of both names.
func undoName(q *request, u undo) (string, undo, error) {
	var m [4]string
	if json.Unmarshal([]byte(u.Mark), &m) != nil {
		return "", undo{}, errForm
	}
	if q.by.User.FirstName != m[2] || q.by.User.LastName != m[3] {
		return "", undo{}, errUndo
	}
	_, err := q.c.Service.UpdateUser(q.Context(), q.by, "@me", management.UserPatch{FirstName: optional.Of(m[0]), LastName: optional.Of(m[1])})
	return "", undo{u.What, u.Item, string(must(json.Marshal([]string{m[2], m[3], m[0], m[1]})))}, err
}
