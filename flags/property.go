package flags

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// A Property is a property of a person or of a group for a [Request]: a name and a
// value. [StringProperty], [IntProperty], [FloatProperty], [BoolProperty] and [TimeProperty] make one without an allocation,
// and [AnyProperty] takes every other value. It means to each operator what the same value
// means in a map of properties, and in JSON. The zero Property has no value: it counts
// as missing.
type Property struct {
	name string
	text string         // of a text; the JSON of a value that Any had to encode
	bits uint64         // of a number or a boolean; the seconds of a moment since 1970
	zone *time.Location // of a moment
	nano uint32         // of a moment
	kind propertyKind
}

// A propertyKind says what a Property holds.
type propertyKind uint8

const (
	kindMissing propertyKind = iota // it cannot be encoded
	kindNull
	kindBool
	kindText
	kindTime
	kindJSON

	// The numbers come last, and in the order of goNumber.
	kindInt
	kindUint
	kindFloat32
	kindFloat64
)

// StringProperty returns a property that is a text.
func StringProperty(name, value string) Property {
	return Property{name: name, kind: kindText, text: value}
}

// IntProperty returns a property that is an integer.
func IntProperty[N ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64](name string, value N) Property {
	p := Property{name: name, kind: kindInt, bits: uint64(value)}
	if zero := N(0); zero-1 > 0 { // N has no sign
		p.kind = kindUint
	}
	return p
}

// FloatProperty returns a property that is a number with a fraction. An infinity, and what is
// not a number, count as missing.
func FloatProperty[N ~float32 | ~float64](name string, value N) Property {
	p := Property{name: name, kind: kindFloat64, bits: math.Float64bits(float64(value))}
	if unsafe.Sizeof(value) == 4 {
		p.kind = kindFloat32
	}
	return p
}

// BoolProperty returns a property that is true or false.
func BoolProperty(name string, value bool) Property {
	p := Property{name: name, kind: kindBool}
	if value {
		p.bits = 1
	}
	return p
}

// TimeProperty returns a property that is a moment: its RFC 3339 text, with the offset of its
// location. A year beyond 9999 has none, so the property counts as missing.
func TimeProperty(name string, value time.Time) Property {
	p := Property{name: name}
	p.setTime(value)
	return p
}

// AnyProperty returns a property that is what encoding/json writes for the value, now. It does
// not keep the value. One that cannot be encoded counts as missing; nil is a null that is
// present.
func AnyProperty(name string, value any) Property {
	p := Property{name: name}
	p.set(value)
	return p
}

// Name returns the name of the property.
func (p Property) Name() string { return p.name }

// Value returns what a map of properties would have: nil, a bool, a string, an int64, a
// uint64, a float32, a float64, a time.Time, or the JSON of a value that was encoded. It
// is not ok if the property counts as missing.
func (p Property) Value() (value any, ok bool) {
	switch p.kind {
	case kindNull:
		return nil, true
	case kindBool:
		return p.bits != 0, true
	case kindText:
		return p.text, true
	case kindTime:
		return p.moment(), true
	case kindJSON:
		return json.RawMessage(p.text), true
	case kindInt:
		return int64(p.bits), true
	case kindUint:
		return p.bits, true
	case kindFloat32:
		return float32(p.float()), p.isFinite()
	case kindFloat64:
		return p.float(), p.isFinite()
	}
	return nil, false
}

// String returns the name and the value, such as "plan=pro". It is for people.
func (p Property) String() string {
	v, ok := p.Value()
	switch {
	case !ok:
		return p.name + " is missing"
	case p.kind == kindNull:
		return p.name + "=null"
	case p.kind == kindJSON:
		return p.name + "=" + p.text
	}
	return fmt.Sprintf("%s=%v", p.name, v)
}

// Equal reports whether the properties have one name, and one value of one type.
func (p Property) Equal(q Property) bool {
	return p.name == q.name && p.kind == q.kind && p.text == q.text && p.bits == q.bits && p.nano == q.nano &&
		(p.kind != kindTime || p.String() == q.String()) // the offset
}

// set sets the value to what encoding/json would write for it.
func (p *Property) set(v any) {
	switch v := v.(type) {
	case string:
		p.kind, p.text = kindText, v
	case bool:
		p.kind = kindBool
		if v {
			p.bits = 1
		}
	case nil:
		p.kind = kindNull
	case int:
		p.kind, p.bits = kindInt, uint64(v)
	case int8:
		p.kind, p.bits = kindInt, uint64(v)
	case int16:
		p.kind, p.bits = kindInt, uint64(v)
	case int32:
		p.kind, p.bits = kindInt, uint64(v)
	case int64:
		p.kind, p.bits = kindInt, uint64(v)
	case uint:
		p.kind, p.bits = kindUint, uint64(v)
	case uint8:
		p.kind, p.bits = kindUint, uint64(v)
	case uint16:
		p.kind, p.bits = kindUint, uint64(v)
	case uint32:
		p.kind, p.bits = kindUint, uint64(v)
	case uint64:
		p.kind, p.bits = kindUint, v
	case float32:
		p.kind, p.bits = kindFloat32, math.Float64bits(float64(v))
	case float64:
		p.kind, p.bits = kindFloat64, math.Float64bits(v)
	case json.Number:
		// encoding/json writes an empty json.Number as 0 and refuses what is
		// no number.
		if v == "" {
			v = "0"
		}
		raw, err := jsonscan.Parse(sharedBytes(string(v)), 1)
		if err == nil && raw.Kind() == jsonscan.Number && len(raw) == len(v) {
			p.kind, p.text = kindJSON, string(v)
		}
	case time.Time:
		p.setTime(v)
	default:
		if text, ok := marshalValue(v); ok {
			p.kind, p.text = kindJSON, text
		}
	}
}

// marshalValue encodes a value of a type that set does not know. It is not ok if the
// value cannot be encoded, or if its own encoding panics.
func marshalValue(v any) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			text, ok = "", false
		}
	}()
	b, err := json.Marshal(v)
	if err != nil {
		return "", false
	}
	raw, err := jsonscan.Parse(b, jsonscan.MaxDepth)
	return sharedString(raw), err == nil
}

func (p *Property) setTime(t time.Time) {
	p.kind, p.bits, p.nano, p.zone = kindTime, uint64(t.Unix()), uint32(t.Nanosecond()), t.Location()
}

func (p *Property) moment() time.Time {
	t := time.Unix(int64(p.bits), int64(p.nano))
	if p.zone == nil {
		return t.UTC()
	}
	return t.In(p.zone)
}

func (p *Property) float() float64 { return math.Float64frombits(p.bits) }

// isFinite reports whether a number can be encoded.
func (p *Property) isFinite() bool {
	f := p.float()
	return p.kind < kindFloat32 || f-f == 0
}

// number returns a number as a float64.
func (p *Property) number() float64 {
	switch p.kind {
	case kindInt:
		return float64(int64(p.bits))
	case kindUint:
		return float64(p.bits)
	}
	return p.float()
}

// A GroupProperty is a property of the group of one type, for [Request.OfGroups].
type GroupProperty struct {
	Type     string // the name of the group type, such as "company"
	Property Property
}

// find returns the last property with a name, or nil.
func find(properties []Property, name string) *Property {
	for i := len(properties) - 1; i >= 0; i-- {
		if properties[i].name == name {
			return &properties[i]
		}
	}
	return nil
}

// ofGroup returns the last property with a name of the group of a type, or nil.
func (r *Request) ofGroup(groupType, name string) *Property {
	for i := len(r.OfGroups) - 1; i >= 0; i-- {
		if g := &r.OfGroups[i]; g.Property.name == name && g.Type == groupType {
			return &g.Property
		}
	}
	return nil
}

// Merged returns a copy of the request that says all of it by maps: what Person and
// OfGroups have is in PersonProperties and GroupProperties, which are new maps if anything
// had to be added. It is for code that sends requests elsewhere. For a nil request it
// returns an empty one.
func (r *Request) Merged() *Request {
	if r == nil {
		return new(Request)
	}
	out := *r
	out.Person, out.OfGroups = nil, nil
	out.PersonProperties = merged(r.PersonProperties, r.Person)
	if len(r.OfGroups) == 0 {
		return &out
	}
	out.GroupProperties = make(map[string]map[string]any, len(r.GroupProperties)+1)
	maps.Copy(out.GroupProperties, r.GroupProperties)
	var list []Property
	for i := range r.OfGroups {
		groupType := r.OfGroups[i].Type
		if slices.ContainsFunc(r.OfGroups[:i], func(g GroupProperty) bool { return g.Type == groupType }) {
			continue // it has been dealt with
		}
		list = list[:0]
		for _, g := range r.OfGroups[i:] {
			if g.Type == groupType {
				list = append(list, g.Property)
			}
		}
		out.GroupProperties[groupType] = merged(r.GroupProperties[groupType], list)
	}
	return &out
}

// merged returns properties with what a list says of them.
func merged(properties map[string]any, list []Property) map[string]any {
	if len(list) == 0 {
		return properties
	}
	out := make(map[string]any, len(properties)+len(list))
	maps.Copy(out, properties)
	for i := range list {
		if v, ok := list[i].Value(); ok {
			out[list[i].name] = v
		} else {
			delete(out, list[i].name)
		}
	}
	return out
}
