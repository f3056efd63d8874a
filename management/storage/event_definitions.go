package storage

import (
	"time"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A Definition says that stored events have a name: the name of an event, or of a
// property of events, persons or groups.
type Definition struct {
	Name        string
	Type        PropertyType // of a property
	First, Last time.Time    // when the first and the last of the events happened
}

// A DefinitionKind says what a [Definition] defines. Stores keep it.
type DefinitionKind int

// The kinds of definitions. A kind of its own, [DefinesGroup], defines the properties of
// the groups of each type.
const (
	DefinesEvent DefinitionKind = iota
	DefinesEventProperty
	DefinesPerson
	definesGroups
)

// DefinesGroup is the kind for properties of groups of a type.
func DefinesGroup(typeIndex int) DefinitionKind { return definesGroups + DefinitionKind(typeIndex) }

// A PropertyType is the kind of the values of a property, "" if it is not known.
type PropertyType string

// The types of properties, with the names of the public API.
const (
	PropertyString  PropertyType = "String"
	PropertyNumber  PropertyType = "Numeric"
	PropertyBoolean PropertyType = "Boolean"
	PropertyTime    PropertyType = "DateTime"

	// PropertyMixed is the type of a property with values of several types.
	PropertyMixed = PropertyString
)

// PropertyTypeOf returns the type of a value in JSON. Null, arrays and objects have none.
func PropertyTypeOf(value []byte) PropertyType {
	v := jsonscan.Value(value)
	switch v.Kind() {
	case jsonscan.True, jsonscan.False:
		return PropertyBoolean
	case jsonscan.Number:
		return PropertyNumber
	case jsonscan.String:
		if s, ok := v.Plain(); ok && len(s) >= len(time.DateOnly) && s[4] == '-' {
			for _, layout := range []string{time.RFC3339, time.DateOnly} {
				if _, err := time.Parse(layout, string(s)); err == nil {
					return PropertyTime
				}
			}
		}
		return PropertyString
	}
	return ""
}

// With returns the type of a property that has values of both types.
func (t PropertyType) With(other PropertyType) PropertyType {
	switch {
	case t == "":
		return other
	case other == "", other == t:
		return t
	}
	return PropertyMixed
}
