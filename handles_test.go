package flagstaff

import (
	"fmt"
	"log/slog"
	"strings"
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
		{"boolean", &BoolFlag{flag: flags.ByKey("f")}, kind{}, ""},
		{"boolean with variants", &BoolFlag{flag: flags.ByKey("f")}, variants, `flag "f" has variants (blue, red), and is declared by NewBool`},
		{"variants", &variantHandle{flags.ByKey("f"), "red", []string{"blue"}}, variants, ""},
		{"with a fallback of its own", &variantHandle{flags.ByKey("f"), "none", []string{"blue", "red"}}, variants, ""},
		{"a variant too few", &variantHandle{flags.ByKey("f"), "red", nil}, variants, `flag "f" has the variant "blue", which is not declared`},
		{"a variant too many", &variantHandle{flags.ByKey("f"), "red", []string{"blue", "green"}}, variants, `flag "f" has no variant "green", which is declared`},
		{"payload", &payloadHandle{flag: flags.ByKey("f"), fallback: new(label)}, kind{payloads: map[string]string{"true": `{"Hex": "#fff"}`}}, ""},
		{"no payload", &payloadHandle{flag: flags.ByKey("f"), fallback: new(label)}, kind{}, `flag "f" has no payload`},
		{"another payload", &payloadHandle{flag: flags.ByKey("f"), fallback: new(int)}, kind{payloads: map[string]string{"true": `"one"`}}, `flag "f": the payload of "true" is not of type int: json: cannot unmarshal string into Go value of type int`},
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
	for handle, want := range map[*variantHandle]string{
		{flags.ByKey("f"), "blue", []string{"green"}}: "green",
		{flags.ByKey("f"), "blue", []string{"red"}}:   "blue",
		{flags.ByKey("g"), "blue", []string{"red"}}:   "blue",
	} {
		if got := handle.of(From(ctx)); got != want {
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
	keepHandles(t)
	declared.handles = nil
	NewBool("new-chekcout", false)
	if err := c.Check(); err == nil || err.Error() != `flagstaff: flag "new-chekcout" does not exist` {
		t.Errorf("Check: %v", err)
	}
}

// keepHandles forgets at the end of a test which flags it has declared.
func keepHandles(t *testing.T) {
	before := declared.handles
	t.Cleanup(func() { declared.handles = before })
}

// snapshotOf compiles a definitions document.
func snapshotOf(t *testing.T, document string) *flags.Snapshot {
	t.Helper()
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOtherFlags: handles have their fallbacks where the definitions have another flag than
// the program expects, by a Person and by a snapshot, declared before and after.
func TestOtherFlags(t *testing.T) {
	type colour string
	type label struct{ Hex string }
	const document = `{"flags":[
		{"id":1,"key":"bool","active":true,"filters":{"groups":[{}]}},
		{"id":2,"key":"variants","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"7","rollout_percentage":100}]},"payloads":{"7":"{\"Hex\":\"#fff\"}"}}},
		{"id":3,"key":"text","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"many","rollout_percentage":100}]},"payloads":{"many":"7"}}},
		{"id":4,"key":"remote","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"2.5"}}},
		{"id":5,"key":"words","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"some words"}}},
		{"id":6,"key":"off","active":false,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"2.5"}}}
	]}`
	before := snapshotOf(t, document)
	keepHandles(t)
	type answers struct {
		Bool, BoolOfVariants   bool
		Variant, VariantOfBool colour
		Label, LabelOfNumber   label
		LabelOfNone            label
		Number, NumberOfText   int64
		Float, FloatOff        float64
		Text, TextOfBool       string
		Words                  string
	}
	want := answers{
		true, true, "7", "off", label{"#fff"}, label{"none"}, label{"none"}, 7, -1, 2.5, -1, "many", "none", "some words",
	}
	boolean, boolOfVariants := NewBool("bool", false), NewBool("variants", true)
	variant, variantOfBool := NewVariant[colour]("variants", "off", "7"), NewVariant[colour]("bool", "off", "7")
	payload, payloadOfNumber, payloadOfNone := NewPayload("variants", label{"none"}), NewPayload("text", label{"none"}), NewPayload("bool", label{"none"})
	number, numberOfText := NewValue[int64]("variants", -1), NewValue[int64]("text", -1)
	float, floatOff := NewValue[float64]("remote", -1), NewValue[float64]("off", -1)
	text, textOfBool, words := NewValue("text", "none"), NewValue("bool", "none"), NewValue("words", "none")
	for name, s := range map[string]*flags.Snapshot{"compiled before": before, "compiled after": snapshotOf(t, document)} {
		r := &flags.Request{DistinctID: "ada"}
		bySnapshot := answers{
			boolean.In(s, r), boolOfVariants.In(s, r), variant.In(s, r), variantOfBool.In(s, r), payload.In(s, r), payloadOfNumber.In(s, r), payloadOfNone.In(s, r),
			number.In(s, r), numberOfText.In(s, r), float.In(s, r), floatOff.In(s, r), text.In(s, r), textOfBool.In(s, r), words.In(s, r),
		}
		ctx := (&Person{snapshot: s, request: *r, client: &Client{log: slog.New(slog.DiscardHandler)}}).Context(t.Context())
		byPerson := answers{
			boolean.On(ctx), boolOfVariants.On(ctx), variant.For(ctx), variantOfBool.For(ctx), payload.For(ctx), payloadOfNumber.For(ctx), payloadOfNone.For(ctx),
			number.For(ctx), numberOfText.For(ctx), float.For(ctx), floatOff.For(ctx), text.For(ctx), textOfBool.For(ctx), words.For(ctx),
		}
		for way, got := range map[string]answers{"a snapshot": bySnapshot, "a Person": byPerson} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, by %s (-want +got)\n%s", name, way, diff)
			}
		}
	}
}

// TestValueChecks: a flag whose values are not numbers is named.
func TestValueChecks(t *testing.T) {
	for _, test := range []struct {
		name   string
		handle Handle
		kind   kind
		want   string
	}{
		{"numbers", &ValueFlag[int64]{flag: flags.ByKey("f")}, kind{variants: []string{"1", "-2"}}, ""},
		{"a text", &ValueFlag[int64]{flag: flags.ByKey("f")}, kind{variants: []string{"1", "two"}}, `flag "f": the variant "two" is not of type int64`},
		{"a payload", &ValueFlag[float64]{flag: flags.ByKey("f")}, kind{remote: true, payloads: map[string]string{"true": `{}`}}, `flag "f": the payload "{}" is not of type float64`},
		{"any payload", &ValueFlag[string]{flag: flags.ByKey("f")}, kind{remote: true, payloads: map[string]string{"true": `words`}}, ""},
		{"boolean", &ValueFlag[string]{flag: flags.ByKey("f")}, kind{}, `flag "f" has neither variants nor remote configuration, and is declared by NewValue`},
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

// TestPayloadsOnce: a payload is decoded once, and again after many others.
func TestPayloadsOnce(t *testing.T) {
	f := &payloadHandle{flag: flags.ByKey("f"), fallback: new(int)}
	first := f.decode("1").value
	if second := f.decode(strings.Clone("1")).value; first != second || *first.(*int) != 1 {
		t.Errorf("decoded to %p and %p", first, second)
	}
	for i := range 1000 {
		if d := f.decode(fmt.Sprint(i)); d.err != nil || *d.value.(*int) != i {
			t.Fatalf("%d is decoded to %v, %v", i, d.value, d.err)
		}
	}
	kept := 0
	for d := f.known.Load(); d != nil; d = d.next {
		kept++
	}
	if kept > 64 {
		t.Errorf("%d payloads are kept", kept)
	}
	if d := f.decode("x"); d.err == nil {
		t.Error("no error for what is not JSON")
	}
	pointer := &payloadHandle{flag: flags.ByKey("f"), fallback: new(*int)}
	if d := pointer.decode("null"); d.err != nil || d.value != nil {
		t.Errorf("null is decoded to %v, %v, want no payload", d.value, d.err)
	}
	if d := pointer.decode("7"); d.err != nil || **d.value.(**int) != 7 {
		t.Errorf("7 is decoded to %v, %v", d.value, d.err)
	}
}
