package gen_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/flagstaff-go/flagstaff/cmd/internal/gen"
)

// FuzzShape: two values of JSON decode into the type that is inferred of them, without a
// member that it does not know.
func FuzzShape(f *testing.F) {
	for _, pair := range [][2]string{
		{`{"a":1,"A":2}`, `{"a":1.5}`},
		{`[1,"x"]`, `null`},
		{`{"-":{"b":[[]]}}`, `{"-":null}`},
		{`1e400`, `1`},
		{`{"a,b":1}`, `{"":1}`},
		{`{"a":[{"b":1},{"c":null}]}`, `{"a":[null]}`},
		{`9223372036854775808`, `0.5`},
		{`{"a":true}`, `{"a":"x"}`},
		{`"\ud800"`, `"x"`},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		values := []json.RawMessage{json.RawMessage(a), json.RawMessage(b)}
		if !json.Valid(values[0]) || !json.Valid(values[1]) {
			return
		}
		typ := gen.TypeOf(values)
		for _, raw := range values {
			d := json.NewDecoder(bytes.NewReader(raw))
			d.DisallowUnknownFields()
			if err := d.Decode(reflect.New(typ).Interface()); err != nil {
				t.Errorf("%s as %v, of %s and %s: %v", raw, typ, a, b, err)
			}
		}
	})
}
