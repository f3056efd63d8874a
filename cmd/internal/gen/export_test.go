package gen

import (
	"encoding/json"
	"reflect"
)

// TypeOf returns the type of Go that the code has for payloads.
func TypeOf(payloads []json.RawMessage) reflect.Type { return reflected(shapeOf(payloads)) }

// reflected returns the type of Go that the code has for a shape.
func reflected(s *shape) reflect.Type {
	var t reflect.Type
	switch s.kind {
	case goBool:
		t = reflect.TypeFor[bool]()
	case goInt:
		t = reflect.TypeFor[int64]()
	case goFloat:
		t = reflect.TypeFor[float64]()
	case goString:
		t = reflect.TypeFor[string]()
	case goSlice:
		return reflect.SliceOf(reflected(s.elem))
	case goStruct:
		taken := make(scope)
		var fields []reflect.StructField
		for _, name := range s.names() {
			tag := name
			if tag == "-" {
				tag = "-,"
			}
			quoted, _ := json.Marshal(tag)
			fields = append(fields, reflect.StructField{
				Name: taken.take(exported(name, "Field")), Type: reflected(s.fields[name]), Tag: reflect.StructTag("json:" + string(quoted)),
			})
		}
		t = reflect.StructOf(fields)
	default:
		return reflect.TypeFor[json.RawMessage]()
	}
	if s.pointer() {
		return reflect.PointerTo(t)
	}
	return t
}
