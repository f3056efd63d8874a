package persons_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture/persons"
)

func TestUpdate(t *testing.T) {
	big := `"` + strings.Repeat("x", persons.MaxProperties-100) + `"`
	for _, tt := range []struct {
		name, properties string
		set              map[string]json.RawMessage
		unset            []string
		want             string // "" means too large
	}{
		{"nothing", `{"b":1,"a":2}`, nil, nil, `{"b":1,"a":2}`},
		{"nothing of nothing", `{}`, nil, []string{"a"}, `{}`},
		{"the same", `{"a":1}`, map[string]json.RawMessage{"a": []byte("1")}, nil, `{"a":1}`},
		{"set", `{"a":1}`, map[string]json.RawMessage{"c": []byte(`{"x":[]}`), "b": []byte("2"), "a": []byte("3")}, nil, `{"a":3,"b":2,"c":{"x":[]}}`},
		{"unset", `{"a":1,"b":2,"c":3}`, nil, []string{"a", "c", "d"}, `{"b":2}`},
		{"both", `{"a":1}`, map[string]json.RawMessage{"a": []byte("2"), "b": []byte("2")}, []string{"a"}, `{"b":2}`},
		{"null", `{}`, map[string]json.RawMessage{"a": []byte("null"), "b": nil}, nil, `{"a":null,"b":null}`},
		{"odd names", `{"\u0061":1}`, map[string]json.RawMessage{"a": []byte("2"), "\"<\\\n\x00é": []byte("3")}, nil, `{"\u0061":2,"\"<\\\n\u0000é":3}`},
		{"an odd name goes", `{"\u0061\"":1}`, nil, []string{`a"`}, `{}`},
		{"as large as can be", `{"a":1}`, map[string]json.RawMessage{"b": []byte(big)}, nil, `{"a":1,"b":` + big + `}`},
		{"too large", `{"a":1}`, map[string]json.RawMessage{"b": []byte(big), strings.Repeat("c", 100): []byte("1")}, nil, ""},
		{"large, but not larger", `{"a":` + big + big + `}`, map[string]json.RawMessage{"a": []byte(big + " ")}, nil, `{"a":` + big + ` }`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := persons.Update(json.RawMessage(tt.properties), tt.set, tt.unset)
			if string(got) != tt.want || ok != (tt.want != "") {
				t.Errorf("Update = %.200s, %t; want %.200s", got, ok, tt.want)
			}
		})
	}
}

// TestUpdateAtRandom compares with the same changes of a map.
func TestUpdateAtRandom(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	name := func() string {
		return strings.Repeat(string(rune('a'+rng.IntN(8))), rng.IntN(3)) + "\"é"[:rng.IntN(2)]
	}
	properties, want := json.RawMessage("{}"), map[string]any{}
	for step := range 2000 {
		set, unset := make(map[string]json.RawMessage), []string(nil)
		for range rng.IntN(3) {
			set[name()] = json.RawMessage(fmt.Sprint(step))
		}
		for range rng.IntN(3) {
			unset = append(unset, name())
		}
		for name := range set {
			want[name] = float64(step)
		}
		for _, name := range unset {
			delete(want, name)
		}
		var ok bool
		if properties, ok = persons.Update(properties, set, unset); !ok {
			t.Fatalf("seed %d, step %d: too large", seed, step)
		}
		var got map[string]any
		if err := json.Unmarshal(properties, &got); err != nil {
			t.Fatalf("seed %d, step %d: %v", seed, step, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d, step %d (-want +got)\n%s", seed, step, diff)
		}
	}
}
