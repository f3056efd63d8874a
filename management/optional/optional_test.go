package optional_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/management/optional"
)

func TestValue(t *testing.T) {
	type fields struct {
		S optional.Value[string]
		B optional.Value[bool]
		N optional.Value[int]
		R optional.Value[json.RawMessage]
	}
	raw := func(s string) optional.Value[json.RawMessage] { return optional.Of(json.RawMessage(s)) }
	for _, tt := range []struct {
		body string
		want fields
	}{
		{`{}`, fields{}},
		{`{"S":"x","B":true,"N":7,"R":{"a": 1}}`, fields{optional.Of("x"), optional.Of(true), optional.Of(7), raw(`{"a": 1}`)}},
		{`{"S":"","B":false,"N":0,"R":[]}`, fields{optional.Of(""), optional.Of(false), optional.Of(0), raw(`[]`)}},
		{`{"S":null,"B":null,"N":null,"R":null}`, fields{
			optional.Value[string]{Set: true, Null: true},
			optional.Value[bool]{Set: true, Null: true},
			optional.Value[int]{Set: true, Null: true},
			optional.Value[json.RawMessage]{Set: true, Null: true},
		}},
		{`{"S":1,"S":null,"S":"last"}`, fields{S: optional.Of("last")}},
		{`{"N":1,"N":"wrong","N":2}`, fields{N: optional.Of(2)}},
		{`{"R":"x"}`, fields{R: raw(`"x"`)}},
	} {
		var got fields
		if err := json.Unmarshal([]byte(tt.body), &got); err != nil {
			t.Errorf("decode %s: %v", tt.body, err)
		}
		ignore := cmpopts.IgnoreUnexported(
			optional.Value[string]{}, optional.Value[bool]{}, optional.Value[int]{}, optional.Value[json.RawMessage]{})
		if diff := cmp.Diff(tt.want, got, ignore); diff != "" {
			t.Errorf("decode %s (-want +got)\n%s", tt.body, diff)
		}
	}
}
