package management

import (
	"bytes"
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

// A PropertyPatch sets a property of a person or a group.
type PropertyPatch struct {
	Key   optional.Value[string]          `json:"key"`
	Value optional.Value[json.RawMessage] `json:"value"` // null is a value, too
}

// A PropertyRemoval names a property to take from a person or a group.
type PropertyRemoval struct {
	Unset optional.Value[string] `json:"$unset"`
}

// maxPropertyName is how many characters the name of a property may have.
const maxPropertyName = 400

// A propertyEdit is a change of one property.
type propertyEdit struct {
	name  string
	set   map[string]json.RawMessage
	unset []string
}

// edit checks the change.
func (patch *PropertyPatch) edit() (*propertyEdit, error) {
	if err := judgeError(checkProperty("key", &patch.Key)); err != nil {
		return nil, err
	}
	if !patch.Value.Set {
		return nil, invalid("value", "required", "This field is required.")
	}
	if err := judgeError(check.DocumentOrNull("value", &patch.Value, persons.MaxProperties)); err != nil {
		return nil, err
	}
	return &propertyEdit{name: patch.Key.Value, set: map[string]json.RawMessage{patch.Key.Value: rawjson.OrNull(patch.Value.Value)}}, nil
}

// edit checks the change.
func (removal *PropertyRemoval) edit() (*propertyEdit, error) {
	if err := judgeError(checkProperty("$unset", &removal.Unset)); err != nil {
		return nil, err
	}
	return &propertyEdit{name: removal.Unset.Value, unset: []string{removal.Unset.Value}}, nil
}

// checkProperty checks the name of a property. The name is not trimmed, because events
// can set properties with blanks around their names.
func checkProperty(attr string, o *optional.Value[string]) error {
	if err := check.Required(attr, o); err != nil {
		return err
	}
	if o.Value == "" {
		return invalid(attr, "blank", "This field may not be blank.")
	}
	return check.Length(attr, o.Value, maxPropertyName)
}

// foresee returns the entry of the activity log for the change, without values: of is
// the type of the thing whose properties change. It returns nil if nothing would change.
func (e *propertyEdit) foresee(of string, properties json.RawMessage) ([]field.Change, error) {
	after, ok := persons.Update(properties, e.set, e.unset)
	switch {
	case !ok:
		return nil, errProperties
	case bytes.Equal(after, properties):
		return nil, nil
	}
	action := "deleted"
	if e.set != nil {
		action = "created"
		if before, _ := rawjson.Object(properties); before[e.name] != nil {
			action = "changed"
		}
	}
	return []field.Change{{Type: of, Field: e.name, Before: nil, After: nil, Action: action}}, nil
}
