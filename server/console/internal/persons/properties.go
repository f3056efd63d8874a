package persons

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
	"github.com/flagstaff-go/flagstaff/server/console/internal/people"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
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
	Types                     []forms.Option
	Names                     []string
	forms.Checked
	Notice, NoticeAs, Cancel string
}

const (
	valueShown      = 600 // characters of a property
	propertiesShown = 500 // of one person or group
)

// propertyRows lists properties by name.
func propertyRows(raw json.RawMessage, edit func(name string) string) (rows []propertyRow, cut int) {
	for name, value := range forms.ReadObject(string(raw)) {
		kind, words := forms.TypeOf(value)
		rows = append(rows, propertyRow{name, forms.Shorten(words, valueShown), forms.TypeWord(kind), edit(name)})
	}
	slices.SortFunc(rows, func(a, b propertyRow) int { return cmp.Compare(a.Name, b.Name) })
	cut = max(0, len(rows)-propertiesShown)
	return rows[:len(rows)-cut], cut
}

// propertyForm returns the form for the property that the URL names, as it is now.
func propertyFormOf(q *shell.Request, action string, properties json.RawMessage) *propertyForm {
	f := &propertyForm{Action: action, Name: q.Form.Get("edit"), Type: forms.TypeText}
	if raw, ok := forms.ReadObject(string(properties))[f.Name]; ok {
		f.Type, f.Value = forms.TypeOf(raw)
		f.Was, f.There, f.Cancel = string(raw), true, action
	}
	return f
}

// readPropertyForm returns the form that was posted.
func readPropertyForm(q *shell.Request, action string) *propertyForm {
	v := q.PostForm
	return &propertyForm{
		Action: action, Name: v.Get("name"), Type: v.Get("type"), Value: forms.Lines(v.Get("value")), Was: v.Get("was"),
		There:  v.Get("was") != "",
		Cancel: action,
	}
}

func (f *propertyForm) options() { f.Types = forms.Selected(forms.PropertyTypes, f.Type) }

// A propertyHolder is a person or a group.
type propertyHolder struct {
	what, item string                          // for undo
	now        func() (json.RawMessage, error) // all properties
	set        func(management.PropertyPatch) error
	remove     func(management.PropertyRemoval) error
}

func personProperties(q *shell.Request, ref string) *propertyHolder {
	return &propertyHolder{
		"Person", ref,
		func() (json.RawMessage, error) {
			p, err := q.Service.GetPerson(q.Context(), q.By, q.Ref, ref)
			if err != nil {
				return nil, err
			}
			return p.Properties, nil
		},
		func(patch management.PropertyPatch) error {
			_, err := q.Service.UpdatePersonProperty(q.Context(), q.By, q.Ref, ref, patch)
			return err
		},
		func(removal management.PropertyRemoval) error {
			_, err := q.Service.DeletePersonProperty(q.Context(), q.By, q.Ref, ref, removal)
			return err
		},
	}
}

func groupProperties(q *shell.Request, index int, key string) *propertyHolder {
	return &propertyHolder{
		"Group", strconv.Itoa(index) + "/" + key,
		func() (json.RawMessage, error) {
			g, err := q.Service.FindGroup(q.Context(), q.By, q.Ref, index, key)
			if err != nil {
				return nil, err
			}
			return g.GroupProperties, nil
		},
		func(patch management.PropertyPatch) error {
			_, err := q.Service.UpdateGroupProperty(q.Context(), q.By, q.Ref, index, key, patch)
			return err
		},
		func(removal management.PropertyRemoval) error {
			_, err := q.Service.DeleteGroupProperty(q.Context(), q.By, q.Ref, index, key, removal)
			return err
		},
	}
}

// changeProperty sets or removes the property of a form, and leads to a page, or shows the
// form again.
func changeProperty(q *shell.Request, f *propertyForm, page string, of *propertyHolder, show func(int, *propertyForm) error) error {
	var value json.RawMessage
	remove := q.PostForm.Get("do") == "unset"
	if strings.TrimSpace(f.Name) == "" {
		f.Fail("name", "%s", "A property needs a name.")
	}
	if !remove {
		var wrong string
		if value, wrong = forms.Typed(f.Type, f.Value); wrong != "" {
			f.Fail("value", "%s", wrong)
		}
	}
	if len(f.Errors) > 0 {
		return show(http.StatusUnprocessableEntity, f)
	}
	now, err := of.now()
	if err != nil {
		return keepProperty(q, err, f, show)
	}
	if is := string(forms.ReadObject(string(now))[f.Name]); is != f.Was && !forms.SameText(json.RawMessage(is), json.RawMessage(f.Was)) {
		return show(http.StatusConflict, f.changed(is))
	}
	if remove {
		err = of.remove(management.PropertyRemoval{Unset: optional.Of(f.Name)})
	} else {
		err = of.set(management.PropertyPatch{Key: optional.Of(f.Name), Value: optional.Of(value)})
	}
	if err != nil {
		return keepProperty(q, err, f, show)
	}
	was := forms.ReadObject(string(now))[f.Name]
	u := people.PropertyUndo(of.what, of.item, people.PropertyMark{Name: f.Name, Was: was, Now: value})
	if was == nil && value == nil || was != nil && value != nil && forms.SameText(was, value) {
		u = shell.Undo{} // nothing has changed
	}
	return q.Done(page, map[bool]string{true: "property-removed", false: "property-set"}[remove], u)
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
	f.NoticeAs = forms.Shorten(forms.Text(json.RawMessage(is)), valueShown)
	f.Was, f.There = is, is != ""
	return f
}

// keepProperty shows a form again with what the Service says against it, or that the store
// does not answer.
func keepProperty(q *shell.Request, err error, f *propertyForm, show func(int, *propertyForm) error) error {
	e, ok := errors.AsType[*management.Error](err)
	switch {
	case ok && errors.Is(e, management.ErrInvalid):
		f.Fail(map[bool]string{true: "name", false: "value"}[e.Attr == "key" || e.Attr == "$unset"], "%s", e.Text())
		return show(http.StatusUnprocessableEntity, f)
	case ok, shell.FailureOf(err).Status != http.StatusServiceUnavailable:
		return err
	}
	q.LogFailure("a property was not saved", err)
	f.Notice = shell.StoreDown
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

func undoProperty(q *shell.Request, u shell.Undo) (string, shell.Undo, error) {
	var m people.PropertyMark
	if json.Unmarshal([]byte(u.Mark), &m) != nil {
		return "", shell.Undo{}, shell.ErrForm
	}
	of := personProperties(q, u.Item)
	if u.What == "Group" {
		kind, key, _ := strings.Cut(u.Item, "/")
		index, err := strconv.Atoi(kind)
		if err != nil {
			return "", shell.Undo{}, shell.ErrForm
		}
		of = groupProperties(q, index, key)
	}
	now, err := of.now()
	if err != nil {
		return "", shell.Undo{}, err
	}
	if is := forms.ReadObject(string(now))[m.Name]; (is == nil) != (m.Now == nil) || is != nil && !forms.SameText(is, m.Now) {
		return "", shell.Undo{}, shell.ErrUndo
	}
	if m.Was == nil {
		err = of.remove(management.PropertyRemoval{Unset: optional.Of(m.Name)})
	} else {
		err = of.set(management.PropertyPatch{Key: optional.Of(m.Name), Value: optional.Of(m.Was)})
	}
	return "", people.PropertyUndo(u.What, u.Item, people.PropertyMark{Name: m.Name, Was: m.Now, Now: m.Was}), err
}

// propertyPlace says what has changed of a person or a group.
func propertyPlace(name string) string { return name }

// propertyWords say what properties there are. Templates ask for it.
type propertyWords struct{}

// InWords says some of the properties in a line, without the one that is the name.
func (propertyWords) InWords(raw json.RawMessage, name string) string {
	const maxTold = 4 // properties
	properties := forms.ReadObject(string(raw))
	var keys []string
	for key, value := range properties {
		if !strings.HasPrefix(key, "$") && forms.Text(value) != name {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var parts []string
	for i, key := range keys {
		if i == maxTold {
			parts = append(parts, forms.Number(len(keys)-maxTold)+" more")
			break
		}
		parts = append(parts, forms.Shorten(key, 40)+" "+forms.Shorten(forms.Text(properties[key]), 40))
	}
	return strings.Join(parts, " · ")
}

// Count says how many properties there are.
func (propertyWords) Count(raw json.RawMessage) string {
	return forms.Count(len(forms.ReadObject(string(raw))), "property", "properties")
}
