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
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// A propertyRow is a property of a person or a group.
type propertyRow struct {
	Name, Value, Type string
	Edit              string // where it is edited; "" if it is not
}

// A propertyForm is a property that is being changed.
type propertyForm struct {
	Action, Name, Type, Value string
	Was                       string // its JSON when the form was made; "" if there was none
	There                     bool   // it can be removed
	Types                     []option
	Names                     []string
	checked
	Notice, NoticeAs, Cancel string
}

const (
	valueShown      = 600 // characters of a property
	propertiesShown = 500 // of one person or group
)

// propertyRows lists properties by name.
func propertyRows(raw json.RawMessage, edit func(name string) string) (rows []propertyRow, cut int) {
	for name, value := range readObject(string(raw)) {
		kind, words := typeOf(value)
		rows = append(rows, propertyRow{name, shorten(words, valueShown), typeWord(kind), edit(name)})
	}
	slices.SortFunc(rows, func(a, b propertyRow) int { return cmp.Compare(a.Name, b.Name) })
	cut = max(0, len(rows)-propertiesShown)
	return rows[:len(rows)-cut], cut
}

// propertyForm returns the form for the property that the URL names, as it is now.
func (q *request) propertyForm(action string, properties json.RawMessage) *propertyForm {
	f := &propertyForm{Action: action, Name: q.Form.Get("edit"), Type: typeText}
	if raw, ok := readObject(string(properties))[f.Name]; ok {
		f.Type, f.Value = typeOf(raw)
		f.Was, f.There, f.Cancel = string(raw), true, action
	}
	return f
}

// readPropertyForm returns the form that was posted.
func (q *request) readPropertyForm(action string) *propertyForm {
	v := q.PostForm
	return &propertyForm{
		Action: action, Name: v.Get("name"), Type: v.Get("type"), Value: lines(v.Get("value")), Was: v.Get("was"),
		There:  v.Get("was") != "",
		Cancel: action,
	}
}

func (f *propertyForm) options() { f.Types = selected(propertyTypes, f.Type) }

// A propertyHolder is a person or a group.
type propertyHolder struct {
	what, item string                          // for undo
	now        func() (json.RawMessage, error) // all properties
	set        func(management.PropertyPatch) error
	remove     func(management.PropertyRemoval) error
}

func (q *request) personProperties(ref string) *propertyHolder {
	return &propertyHolder{
		"Person", ref,
		func() (json.RawMessage, error) {
			p, err := q.c.Service.GetPerson(q.Context(), q.by, q.ref, ref)
			if err != nil {
				return nil, err
			}
			return p.Properties, nil
		},
		func(patch management.PropertyPatch) error {
			_, err := q.c.Service.UpdatePersonProperty(q.Context(), q.by, q.ref, ref, patch)
			return err
		},
		func(removal management.PropertyRemoval) error {
			_, err := q.c.Service.DeletePersonProperty(q.Context(), q.by, q.ref, ref, removal)
			return err
		},
	}
}

func (q *request) groupProperties(index int, key string) *propertyHolder {
	return &propertyHolder{
		"Group", strconv.Itoa(index) + "/" + key,
		func() (json.RawMessage, error) {
			g, err := q.c.Service.FindGroup(q.Context(), q.by, q.ref, index, key)
			if err != nil {
				return nil, err
			}
			return g.GroupProperties, nil
		},
		func(patch management.PropertyPatch) error {
			_, err := q.c.Service.UpdateGroupProperty(q.Context(), q.by, q.ref, index, key, patch)
			return err
		},
		func(removal management.PropertyRemoval) error {
			_, err := q.c.Service.DeleteGroupProperty(q.Context(), q.by, q.ref, index, key, removal)
			return err
		},
	}
}

// changeProperty sets or removes the property of a form, and leads to a page, or shows the
// form again.
func (q *request) changeProperty(f *propertyForm, page string, of *propertyHolder, show func(int, *propertyForm) error) error {
	var value json.RawMessage
	remove := q.PostForm.Get("do") == "unset"
	if strings.TrimSpace(f.Name) == "" {
		f.fail("name", "%s", "A property needs a name.")
	}
	if !remove {
		var wrong string
		if value, wrong = typed(f.Type, f.Value); wrong != "" {
			f.fail("value", "%s", wrong)
		}
	}
	if len(f.Errors) > 0 {
		return show(http.StatusUnprocessableEntity, f)
	}
	now, err := of.now()
	if err != nil {
		return q.keepProperty(err, f, show)
	}
	if is := string(readObject(string(now))[f.Name]); is != f.Was && !sameText(json.RawMessage(is), json.RawMessage(f.Was)) {
		return show(http.StatusConflict, f.changed(is))
	}
	if remove {
		err = of.remove(management.PropertyRemoval{Unset: optional.Of(f.Name)})
	} else {
		err = of.set(management.PropertyPatch{Key: optional.Of(f.Name), Value: optional.Of(value)})
	}
	if err != nil {
		return q.keepProperty(err, f, show)
	}
	was := readObject(string(now))[f.Name]
	u := propertyUndo(of.what, of.item, propertyMark{f.Name, was, value})
	if was == nil && value == nil || was != nil && value != nil && sameText(was, value) {
		u = undo{} // nothing has changed
	}
	return q.done(page, map[bool]string{true: "property-removed", false: "property-set"}[remove], u)
}

// changed tells that the value is another one than when the form was made, and lets the
// user choose.
func (f *propertyForm) changed(is string) *propertyForm {
	mine := "the value below"
	switch {
	case f.Was == "":
		f.Notice = "There is a property with this name, which an event or somebody else may have set: its value is"
	case is == "":
		f.Notice = "An event or somebody else has removed the property meanwhile. Set it to make it again with " + mine + "."
	default:
		f.Notice = "An event or somebody else has changed the property meanwhile: its value is"
	}
	f.NoticeAs = shorten(text(json.RawMessage(is)), valueShown)
	f.Was, f.There = is, is != ""
	return f
}

// keepProperty shows a form again with what the Service says against it, or that the store
// does not answer.
func (q *request) keepProperty(err error, f *propertyForm, show func(int, *propertyForm) error) error {
	e, ok := errors.AsType[*management.Error](err)
	switch {
	case ok && errors.Is(e, management.ErrInvalid):
		f.fail(map[bool]string{true: "name", false: "value"}[e.Attr == "key" || e.Attr == "$unset"], "%s", e.Text())
		return show(http.StatusUnprocessableEntity, f)
	case ok, pageOf(err).status != http.StatusServiceUnavailable:
		return err
	}
	q.logFailure("a property was not saved", err)
	f.Notice = storeDown
	return show(http.StatusServiceUnavailable, f)
}

// editLink returns the function that names where a property is edited.
func editLink(page string) func(string) string {
	joint := "?"
	if strings.Contains(page, "?") {
		joint = "&"
	}
	return func(name string) string { return page + joint + url.Values{"edit": {name}}.Encode() + "#property" }
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
	of := q.personProperties(u.Item)
	if u.What == "Group" {
		kind, key, _ := strings.Cut(u.Item, "/")
		index, err := strconv.Atoi(kind)
		if err != nil {
			return "", undo{}, errForm
		}
		of = q.groupProperties(index, key)
	}
	now, err := of.now()
	if err != nil {
		return "", undo{}, err
	}
	if is := readObject(string(now))[m.Name]; (is == nil) != (m.Now == nil) || is != nil && !sameText(is, m.Now) {
		return "", undo{}, errUndo
	}
	if m.Was == nil {
		err = of.remove(management.PropertyRemoval{Unset: optional.Of(m.Name)})
	} else {
		err = of.set(management.PropertyPatch{Key: optional.Of(m.Name), Value: optional.Of(m.Was)})
	}
	return "", propertyUndo(u.What, u.Item, propertyMark{m.Name, m.Now, m.Was}), err
}

// propertyPlace says what has changed of a person or a group.
func propertyPlace(name string) string { return name }

// propertyWords say what properties there are. Templates ask for it.
type propertyWords struct{}

// InWords says some of the properties in a line, without the one that is the name.
func (propertyWords) InWords(raw json.RawMessage, name string) string {
	const maxTold = 4 // properties
	properties := readObject(string(raw))
	var keys []string
	for key, value := range properties {
		if !strings.HasPrefix(key, "$") && text(value) != name {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var parts []string
	for i, key := range keys {
		if i == maxTold {
			parts = append(parts, number(len(keys)-maxTold)+" more")
			break
		}
		parts = append(parts, shorten(key, 40)+" "+shorten(text(properties[key]), 40))
	}
	return strings.Join(parts, " · ")
}

// Count says how many properties there are.
func (propertyWords) Count(raw json.RawMessage) string {
	return count(len(readObject(string(raw))), "property", "properties")
}
