package flags_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// TestTarget is evaluation.md §7.1.
func TestTarget(t *testing.T) {
	type id struct {
		Number int64
		OK     bool
	}
	for _, tt := range []struct {
		name   string
		filter flags.Filter
		want   flags.FlagReference
		ok     bool
		wantID id
	}{
		{"id or key", flags.Filter{Type: "flag", Key: "101"}, flags.FlagReference{Name: "101"}, true, id{101, true}},
		{"key", flags.Filter{Type: "flag", Key: "base"}, flags.FlagReference{Name: "base"}, true, id{}},
		{"surely a key", flags.Filter{Type: "flag", Key: "101", DependencyChain: &[]string{}}, flags.FlagReference{Name: "101", IsKey: true}, true, id{}},
		{"no key", flags.Filter{Type: "flag"}, flags.FlagReference{}, false, id{}},
		{"a property", flags.Filter{Type: "person", Key: "101"}, flags.FlagReference{}, false, id{}},
		{"a cohort", flags.Filter{Type: "cohort", Key: "id", Value: []byte(`1`)}, flags.FlagReference{}, false, id{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, ok := tt.filter.Target()
			if r != tt.want || ok != tt.ok {
				t.Errorf("Target = %+v, %v; want %+v, %v", r, ok, tt.want, tt.ok)
			}
			if n, ok := r.ID(); (id{n, ok}) != tt.wantID {
				t.Errorf("ID of %+v = %d, %v; want %v", r, n, ok, tt.wantID)
			}
		})
	}
}

// TestCohortID is evaluation.md §5.5.
func TestCohortID(t *testing.T) {
	for _, tt := range []struct {
		kind, value string
		want        int64
		ok          bool
	}{
		{"cohort", `98`, 98, true},
		{"cohort", `"98"`, 98, true},
		{"cohort", `"\u0039"`, 9, true},
		{"cohort", `-1`, -1, true},
		{"cohort", `9223372036854775807`, 1<<63 - 1, true},
		{"cohort", `9223372036854775808`, 0, false},
		{"cohort", `98.0`, 0, false},
		{"cohort", `" 98"`, 0, false},
		{"cohort", `"x"`, 0, false},
		{"cohort", `null`, 0, false},
		{"cohort", `[98]`, 0, false},
		{"cohort", ``, 0, false},
		{"person", `98`, 0, false},
	} {
		f := flags.Filter{Key: "id", Type: tt.kind, Value: []byte(tt.value)}
		if id, ok := f.CohortID(); id != tt.want && tt.ok || ok != tt.ok {
			t.Errorf("CohortID of type %q with value %s = %d, %v; want %d, %v", tt.kind, tt.value, id, ok, tt.want, tt.ok)
		}
	}
}

// TestReferences lists what filters and trees name.
func TestReferences(t *testing.T) {
	flag := func(key string) flags.Filter { return flags.Filter{Type: "flag", Key: key} }
	cohort := func(id int64) flags.Filter { return flags.Filter{Type: "cohort", Value: fmt.Append(nil, id)} }
	f := flags.Filters{Groups: []flags.Condition{
		{Properties: []flags.Filter{flag("a"), {Key: "p"}, cohort(1)}},
		{},
		{Properties: []flags.Filter{cohort(2), flag(""), flag("7"), flag("a"), {Type: "cohort"}}},
	}}
	var places []flags.Place
	for at, fl := range f.All() {
		if fl != &f.Groups[at.Group].Properties[at.Property] {
			t.Errorf("the filter at %v is not that of the condition set", at)
		}
		places = append(places, at)
	}
	wantPlaces := []flags.Place{{0, 0}, {0, 1}, {0, 2}, {2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}}
	if diff := cmp.Diff(wantPlaces, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]flags.FlagReference{{Name: "a"}, {Name: "7"}, {Name: "a"}}, slices.Collect(f.Targets())); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{1, 2}, slices.Collect(f.CohortIDs())); diff != "" {
		t.Errorf("cohorts (-want +got):\n%s", diff)
	}

	leaf := func(f flags.Filter) flags.CohortNode { return flags.CohortNode{Leaf: &f} }
	tree := &flags.CohortNode{Type: "or", Values: []flags.CohortNode{
		leaf(cohort(3)),
		{Type: "property", Values: []flags.CohortNode{leaf(flags.Filter{Key: "p"}), leaf(cohort(4)), {Type: "AND"}}},
		{Type: "XOR", Values: []flags.CohortNode{leaf(cohort(5))}},
		leaf(cohort(3)),
	}}
	if diff := cmp.Diff([]int64{3, 4, 3}, slices.Collect(tree.CohortIDs())); diff != "" {
		t.Errorf("cohorts of a tree (-want +got):\n%s", diff)
	}
	var none *flags.CohortNode
	if n := len(slices.Collect(none.Leaves())); n != 0 {
		t.Errorf("no tree has %d leaves", n)
	}
	for range f.Targets() {
		break
	}
	for range tree.Leaves() {
		break
	}

	deep := leaf(cohort(1))
	for range served.MaxTreeGroups {
		deep = flags.CohortNode{Type: "AND", Values: []flags.CohortNode{deep}}
	}
	if n := len(slices.Collect(deep.Leaves())); n != 1 {
		t.Errorf("66 groups above a leaf: %d leaves, want 1", n)
	}
	deep = flags.CohortNode{Type: "AND", Values: []flags.CohortNode{deep}}
	if n := len(slices.Collect(deep.Leaves())); n != 0 {
		t.Errorf("67 groups above a leaf: %d leaves, want none", n)
	}
}

// TestAnyOf is evaluation.md §5.1.
func TestAnyOf(t *testing.T) {
	for _, tt := range []struct {
		types        string
		anyOf, known bool
	}{
		{"OR or Or", true, true},
		{"AND and And property Property", false, true},
		{"XOR person cohort", false, false},
	} {
		for name := range strings.FieldsSeq(tt.types) {
			if anyOf, known := (&flags.CohortNode{Type: name}).AnyOf(); anyOf != tt.anyOf || known != tt.known {
				t.Errorf("AnyOf of type %q = %v, %v; want %v, %v", name, anyOf, known, tt.anyOf, tt.known)
			}
		}
	}
	if _, known := new(flags.CohortNode).AnyOf(); known {
		t.Error("AnyOf knows a group without type")
	}
}

// newFlag returns an active flag that depends on others.
func newFlag(id int64, key string, targets ...string) flags.Flag {
	var filters []flags.Filter
	for _, name := range targets {
		filters = append(filters, flags.Filter{Type: "flag", Key: name, Operator: "flag_evaluates_to", Value: []byte("true")})
	}
	return flags.Flag{ID: id, Key: key, Active: true, Filters: flags.Filters{Groups: []flags.Condition{{Properties: filters}}}}
}

func keysOf(list []*flags.Flag) []string {
	var keys []string
	for _, f := range list {
		keys = append(keys, f.Key)
	}
	return keys
}

func TestIndex(t *testing.T) {
	deleted := newFlag(1, "deleted")
	deleted.Deleted = true
	list := []flags.Flag{
		deleted, newFlag(2, ""), newFlag(3, "z", "4", "a", "4", "nope"), newFlag(4, "b"), newFlag(4, "a", "b"), newFlag(5, "b"), newFlag(6, "88"), newFlag(88, "c"),
	}
	x := flags.NewIndex(list)
	if diff := cmp.Diff([]string{"z", "b", "a", "88", "c"}, keysOf(slices.Collect(x.Flags()))); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	for _, tt := range []struct {
		name string
		r    flags.FlagReference
		want *flags.Flag
	}{
		{"key", flags.FlagReference{Name: "z"}, &list[2]},
		{"id", flags.FlagReference{Name: "3"}, &list[2]},
		{"the first of two keys", flags.FlagReference{Name: "b"}, &list[3]},
		{"the first of two ids", flags.FlagReference{Name: "4"}, &list[3]},
		{"the id of a flag whose key is another's", flags.FlagReference{Name: "5"}, nil},
		{"an id before a key", flags.FlagReference{Name: "88"}, &list[7]},
		{"a key that could be an id", flags.FlagReference{Name: "88", IsKey: true}, &list[6]},
		{"deleted", flags.FlagReference{Name: "1"}, nil},
		{"deleted, by key", flags.FlagReference{Name: "deleted"}, nil},
		{"without a key", flags.FlagReference{Name: "2"}, nil},
		{"nothing", flags.FlagReference{}, nil},
		{"none", flags.FlagReference{Name: "nope"}, nil},
	} {
		if got := x.Find(tt.r); got != tt.want {
			t.Errorf("%s: Find(%+v) = %v, want %v", tt.name, tt.r, got, tt.want)
		}
	}
	got, complete := x.Dependencies(&list[2].Filters)
	if diff := cmp.Diff([]string{"b", "a"}, keysOf(got)); diff != "" || complete {
		t.Errorf("Dependencies: complete %v, want false (-want +got):\n%s", complete, diff)
	}
	if got, complete := x.Dependencies(&list[4].Filters); len(got) != 1 || got[0] != &list[3] || !complete {
		t.Errorf("Dependencies = %v, %v; want flag b", keysOf(got), complete)
	}
}

func TestChain(t *testing.T) {
	change := func(f flags.Flag, change func(*flags.Flag)) flags.Flag {
		change(&f)
		return f
	}
	list := []flags.Flag{
		newFlag(1, "top", "left", "right"), newFlag(2, "right", "base"), newFlag(3, "left", "base"), newFlag(4, "base"),
		newFlag(5, "dangling", "nope"), newFlag(6, "above", "base", "dangling"),
		newFlag(7, "ring-a", "ring-b"), newFlag(8, "ring-b", "ring-a"), newFlag(9, "leads-in", "ring-a"),
		change(newFlag(10, "inactive", "nope", "ring-a"), func(f *flags.Flag) { f.Active = false }),
		change(newFlag(11, "encrypted", "nope"), func(f *flags.Flag) { f.HasEncryptedPayloads = true }),
		change(newFlag(12, "version-2", "nope"), func(f *flags.Flag) { f.Filters.Version = 2 }),
		newFlag(13, "on-the-inactive", "inactive", "encrypted", "version-2"),
		// The order within a stage is the order of what comes last before it.
		newFlag(14, "s1", "x2"), newFlag(15, "s2", "x1"), newFlag(16, "x1"), newFlag(17, "x2"), newFlag(18, "t", "s1", "s2"),
	}
	for _, tt := range []struct {
		key  string
		want []string // nil: it cannot be evaluated
	}{
		{"base", []string{"base"}},
		{"right", []string{"base", "right"}},
		{"top", []string{"base", "left", "right", "top"}},
		{"dangling", nil},
		{"above", nil},
		{"ring-a", nil},
		{"leads-in", nil},
		{"inactive", []string{"inactive"}},
		{"on-the-inactive", []string{"encrypted", "inactive", "version-2", "on-the-inactive"}},
		{"t", []string{"x1", "x2", "s2", "s1", "t"}},
	} {
		for _, order := range []string{"as it is", "the other way round"} {
			list := slices.Clone(list)
			if order != "as it is" {
				slices.Reverse(list)
			}
			x := flags.NewIndex(list)
			chain, ok := x.Chain(x.Find(flags.FlagReference{Name: tt.key}))
			if diff := cmp.Diff(tt.want, keysOf(chain), cmpopts.EquateEmpty()); diff != "" || ok != (tt.want != nil) {
				t.Errorf("list %s: Chain of %s: %v (-want +got):\n%s", order, tt.key, ok, diff)
			}
		}
	}
	x := flags.NewIndex(list)
	for _, f := range []*flags.Flag{nil, new(newFlag(4, "base"))} {
		if chain, ok := x.Chain(f); ok {
			t.Errorf("Chain of a flag that the index does not have = %v", keysOf(chain))
		}
	}
}
