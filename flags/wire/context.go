package wire

import (
	"errors"
	"fmt"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// ParseContext reads a body of OpenFeature's remote evaluation protocol: an object
// with the member context, an evaluation context (wire.md §7.1, §7.2). Its member
// targetingKey is the DistinctID, and groups, groupProperties, $device_id,
// evaluation_contexts and $geoip_disable are what their names say; all other
// members are person properties. An empty targetingKey counts as missing.
//
// Errors, and what the Request refers to, are as with Parse. There is never an
// APIKey. JSON must not have NaN and Infinity.
func (r *Request) ParseContext(body []byte) error {
	r.reset()
	var context jsonscan.Value
	o := jsonscan.Value(body).Object()
	for o.Next() {
		if r.memberName(&o) == "context" {
			context = o.Value()
		}
	}
	if err := o.Err(); err != nil {
		return notObject(body, err)
	}
	switch context.Kind() {
	case jsonscan.Object:
	case jsonscan.Invalid, jsonscan.Null:
		return nil
	default:
		return &FieldError{"context", "an object", context.Describe()}
	}

	// Person properties are an object of their own, since conditions must not
	// see the other members.
	r.rest = append(slices.Grow(r.rest, len(context)), '{')
	o = context.Object()
	for o.Next() {
		if n, ok := contextSpelling[r.memberName(&o)]; ok {
			r.members[n] = o.Value()
			continue
		}
		if len(r.rest) > 1 {
			r.rest = append(r.rest, ',')
		}
		r.rest = append(append(append(r.rest, '"'), o.RawName()...), '"', ':')
		r.rest = append(r.rest, o.Value()...)
	}
	if err := o.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	r.rest = append(r.rest, '}')
	r.members[personProperties] = r.rest
	err := r.decode()
	r.HasDistinctID = r.DistinctID != ""
	if e, ok := errors.AsType[*FieldError](err); ok {
		for n, name := range contextNames {
			if name != "" && e.Field == names[n] {
				return &FieldError{name, e.Want, e.Got}
			}
		}
	}
	return err
}

// contextNames are the members of an evaluation context that are not person
// properties, by the spelling of the field that they are.
var contextNames = [spellings]string{
	distinctID: "targetingKey", groups: "groups", groupProperties: "groupProperties",
	dollarDeviceID: "$device_id", evaluationContexts: "evaluation_contexts", geoIPDisable: "$geoip_disable",
}

// contextSpelling has the spellings by these names.
var contextSpelling = numbersOf(contextNames)
