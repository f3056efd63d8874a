package management

import (
	"bytes"
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/capture/persons"
)

// A PropertyPatch sets a property of a person or a group.
type PropertyPatch struct {
	Key   Optional[string]          `json:"key"`
	Value Optional[json.RawMessage] `json:"value"` // null is a value, too
}

// A PropertyRemoval names a property to take from a person or a group.
type PropertyRemoval struct {
	Unset Optional[string] `json:"$unset"`
}

// mostPropertyName is how many characters the name of a property may have.
const mostPropertyName = 400

// A propertyEdit is a change of one property.
type propertyEdit struct {
	name  string
	set   map[string]json.RawMessage
	unset []string
}

// edit checks the change.
func (patch *PropertyPatch) edit() (*propertyEdit, error) {
	if err := checkProperty("key", &patch.Key); err != nil {
		return nil, err
	}
	if !patch.Value.Set {
		return nil, invalid("value", "required", "This field is required.")
	}
	if err := checkDocumentOrNull("value", &patch.Value, persons.MaxProperties); err != nil {
		return nil, err
	}
	return &propertyEdit{name: patch.Key.Value, set: map[string]json.RawMessage{patch.Key.Value: orNull(patch.Value.Value)}}, nil
}

// edit checks the change.
func (removal *PropertyRemoval) edit() (*propertyEdit, error) {
	if err := checkProperty("$unset", &removal.Unset); err != nil {
		return nil, err
	}
	return &propertyEdit{name: removal.Unset.Value, unset: []string{removal.Unset.Value}}, nil
}

// checkProperty checks the name of a property. The name is not trimmed, because events
// can set properties with blanks around their names.
func checkProperty(attr string, o *Optional[string]) error {
	if err := checkRequired(attr, o); err != nil {
		return err
	}
	if o.Value == "" {
		return invalid(attr, "blank", "This field may not be blank.")
	}
	return checkLength(attr, o.Value, mostPropertyName)
}

// foresee returns the entry of the activity log for the change, without values: of is
// the type of the thing whose properties change. It returns nil if nothing would change.
func (e *propertyEdit) foresee(of string, properties json.RawMessage) ([]fieldChange, error) {
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
		if before, _ := jsonObject(properties); before[e.name] != nil {
			action = "changed"
		}
	}
	return []fieldChange{{of, e.name, nil, nil, action}}, nil
}
