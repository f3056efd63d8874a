package flags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// TestRefs: a flag that is found by its number has the answers that it has by its key, in
// every snapshot: compiled before or after the number was declared, changed in part, and
// with its flags in another order.
func TestRefs(t *testing.T) {
	document := func(order []string, half int) string {
		var list []string
		for _, key := range order {
			text := fmt.Sprintf(`{"id":%d,"key":%q,"active":true,"filters":{"groups":[{"rollout_percentage":%d}]`, len(key), key, half)
			if key == "variants" {
				text += `,"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]},"payloads":{"a":1}`
			}
			list = append(list, text+`}}`)
		}
		return `{"flags":[` + strings.Join(list, ",") + `]}`
	}
	keys := []string{"TestRefs plain", "variants", "TestRefs other", "TestRefs more", "TestRefs last"}
	early := compiled(t, document(keys, 50))
	var refs []flags.Ref
	for _, key := range append(keys, "TestRefs missing") {
		refs = append(refs, flags.Declare(key))
		if again := flags.Declare(key); again != refs[len(refs)-1] {
			t.Errorf("Declare(%q) returned %v, and then %v", key, refs[len(refs)-1], again)
		}
	}
	late := compiled(t, document(keys, 50))
	definitions, err := flags.Decode(strings.NewReader(document(keys, 50)))
	if err != nil {
		t.Fatal(err)
	}
	definitions.Flags[2].Filters.Groups[0].RolloutPercentage = new(100.0)
	patched, err := flags.Compile(definitions, flags.CompileOptions{Previous: late})
	if err != nil {
		t.Fatal(err)
	}
	reordered := compiled(t, document([]string{"TestRefs last", "TestRefs other", "variants", "TestRefs plain"}, 30))
	for name, s := range map[string]*flags.Snapshot{"early": early, "late": late, "patched": patched, "reordered": reordered, "nil": nil, "zero": new(flags.Snapshot)} {
		for _, ref := range refs {
			for i := range 20 {
				r := &flags.Request{DistinctID: fmt.Sprint("user-", i)}
				if i == 0 {
					r.Filter = runtime.Filter{Kind: runtime.Client}
				}
				type answers struct {
					On, OnOtherwise bool
					Text            string
					OK              bool
					Result          flags.Result
					Payload         string
					Found           bool
					Multivariate    bool
				}
				var got, want answers
				got.On, got.OnOtherwise = ref.Bool(s, r, false), ref.Bool(s, r, true)
				got.Text, got.OK = ref.Lookup(s, r)
				detail, found := ref.Detail(s, r)
				got.Result, got.Found, got.Payload, got.Multivariate = detail.Result(), found, detail.Payload(), detail.Multivariate()
				want.On, want.OnOtherwise = s.Bool(ref.Key(), r, false), s.Bool(ref.Key(), r, true)
				if ref.Key() == "variants" {
					want.On, want.OnOtherwise = false, true // another flag than the program knows
				}
				want.Text, want.OK = s.Lookup(ref.Key(), r)
				if result, err := s.Flag(ref.Key(), r); err == nil {
					want.Result, want.Found, want.Payload, want.Multivariate = result, true, result.Metadata.Payload, result.Multivariate()
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(flags.Result{})); diff != "" {
					t.Errorf("%s, %q (-by key +by number)\n%s", name, ref.Key(), diff)
				}
			}
		}
	}
	if raceEnabled {
		return
	}
	r := &flags.Request{DistinctID: "user-1"}
	for _, ref := range refs {
		if n := testing.AllocsPerRun(100, func() {
			ref.Bool(late, r, false)
			ref.Lookup(early, r)
			ref.Detail(late, r)
		}); n != 0 {
			t.Errorf("%q: %v allocations, want none", ref.Key(), n)
		}
	}
}
