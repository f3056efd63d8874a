package console

import (
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/words"
)

// operatorsOf returns the operators of a kind of filter in the order in which people choose
// them, those for versions apart.
func operatorsOf(kind string) [][]operators.Operator {
	takes := operators.KindOf(kind)
	if takes == operators.UnknownFilter {
		takes = operators.PropertyFilter
	}
	var most, versions []operators.Operator
	for o := range operators.All() {
		switch {
		case o.For != takes:
		case o.Operand == operators.OperandVersion:
			versions = append(versions, o)
		default:
			most = append(most, o)
		}
	}
	if versions == nil {
		return [][]operators.Operator{most}
	}
	return [][]operators.Operator{most, versions}
}

// operatorOf returns an operator, or the one that a new filter has for no name. One that
// nothing knows is shown as it is.
func operatorOf(kind, name string) operators.Operator {
	if name == "" {
		return operatorsOf(kind)[0][0]
	}
	if o, ok := operators.Named(name); ok {
		return o
	}
	return operators.Operator{Name: name, Words: name, Operand: operators.OperandText}
}

// The forms of JSON values that people type and read.
var (
	text    = words.Text
	texts   = words.Texts
	shorten = words.Shorten
	percent = words.Percent
)

// valueWords says what a value of a flag is.
func valueWords(v any) string {
	switch v := v.(type) {
	case nil:
		return "not known"
	case bool:
		if v {
			return "on"
		}
		return "off"
	case string:
		return v
	}
	return text(must(json.Marshal(v)))
}

// must is for values that always can be encoded.
func must(b []byte, err error) json.RawMessage {
	if err != nil {
		panic(err)
	}
	return b
}
