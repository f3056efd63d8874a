package flagstaff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestHandleChecks: a declared flag says in which way the definitions have another one.
func TestHandleChecks(t *testing.T) {
	type label struct{ Hex string }
	variants := kind{variants: []string{"blue", "red"}}
	for _, test := range []struct {
		name   string
		handle Handle
		kind   kind
		want   string
	}{
		{"boolean", &BoolFlag{key: "f"}, kind{}, ""},
		{"boolean with variants", &BoolFlag{key: "f"}, variants, `flag "f" has variants (blue, red), and is declared by NewBool`},
		{"variants", &VariantFlag{"f", "red", []string{"blue"}}, variants, ""},
		{"with a fallback of its own", &VariantFlag{"f", "none", []string{"blue", "red"}}, variants, ""},
		{"a variant too few", &VariantFlag{"f", "red", nil}, variants, `flag "f" has the variant "blue", which is not declared`},
		{"a variant too many", &VariantFlag{"f", "red", []string{"blue", "green"}}, variants, `flag "f" has no variant "green", which is declared`},
		{"payload", &PayloadFlag[label]{key: "f"}, kind{payloads: map[string]string{"true": `{"Hex": "#fff"}`}}, ""},
		{"no payload", &PayloadFlag[label]{key: "f"}, kind{}, `flag "f" has no payload`},
		{"another payload", &PayloadFlag[int]{key: "f"}, kind{payloads: map[string]string{"true": `"one"`}}, `flag "f": the payload of "true" is no int: json: cannot unmarshal string into Go value of type int`},
	} {
		got := ""
		if err := test.handle.check(test.kind); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestVariantFlag: code that switches over the declared variants meets no other value.
func TestVariantFlag(t *testing.T) {
	on := flags.Flag{Key: "f", Active: true, Filters: flags.Filters{
		Groups:       []flags.Condition{{}},
		Multivariate: &flags.Multivariate{Variants: []flags.Variant{{Key: "green", RolloutPercentage: 100}}},
	}}
	s, err := flags.Compile(&flags.Definitions{Flags: []flags.Flag{on}}, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := Override(t.Context(), s)
	for handle, want := range map[*VariantFlag]string{
		{"f", "blue", []string{"green"}}: "green",
		{"f", "blue", []string{"red"}}:   "blue",
		{"g", "blue", []string{"red"}}:   "blue",
	} {
		if got := handle.For(ctx); got != want {
			t.Errorf("%+v is %q, want %q", handle, got, want)
		}
	}
}

// TestCheckMissing: a declared flag that the definitions lack is named.
func TestCheckMissing(t *testing.T) {
	c := new(Client)
	c.learn(&flags.Definitions{})
	s, err := flags.Compile(&flags.Definitions{}, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.evaluator.Swap(s)
	before := declared.handles
	t.Cleanup(func() { declared.handles = before })
	declared.handles = nil
	NewBool("new-chekcout", false)
	if err := c.Check(); err == nil || err.Error() != `flagstaff: flag "new-chekcout" does not exist` {
		t.Errorf("Check: %v", err)
	}
}
