package flags

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/flagstaff-go/flagstaff/internal/graph"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A FlagReference is how a filter names the flag that it depends on. Only the
// flags that there are tell whether Name is an ID or a key, unless IsKey does: an
// [Index] finds the flag.
type FlagReference struct {
	Name  string
	IsKey bool // Name is a key even if it could be an ID
}

// ID returns the ID that the reference is if there is a flag with it.
func (r FlagReference) ID() (id int64, ok bool) {
	if r.IsKey {
		return 0, false
	}
	id, err := strconv.ParseInt(r.Name, 10, 64)
	return id, err == nil
}

// Target returns the flag that the filter names (evaluation.md §7.1); ok is false
// for filters that are not on a flag, and for one whose key says nothing, which
// never matches.
func (f *Filter) Target() (r FlagReference, ok bool) {
	if operators.KindOf(f.Type) != operators.FlagFilter || f.Key == "" {
		return FlagReference{}, false
	}
	return FlagReference{Name: f.Key, IsKey: f.DependencyChain != nil}, true
}

// CohortID returns the cohort that the filter names: its Value is an integer, or
// the text of one, as SDKs accept it (evaluation.md §5.5). ok is false for filters
// that are not on a cohort, and for other values.
func (f *Filter) CohortID() (id int64, ok bool) {
	if operators.KindOf(f.Type) != operators.CohortFilter {
		return 0, false
	}
	v := jsonscan.Value(f.Value)
	digits := string(v)
	switch v.Kind() {
	case jsonscan.Number:
	case jsonscan.String:
		digits, _ = text.Str(v)
	default:
		return 0, false
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, err == nil
}

// A Place is where a filter stands in Filters.
type Place struct {
	Group    int // number of the condition set, or of the rule
	Property int // number of the filter within it
}

// All iterates over the filters of all condition sets or rules, in their order. The filters
// are the filters of f and not copies. Nil has none.
func (f *Filters) All() iter.Seq2[Place, *Filter] {
	return func(yield func(Place, *Filter) bool) {
		if f == nil {
			return
		}
		if f.RuleSet != nil {
			for i := range f.RuleSet.Rules {
				list := f.RuleSet.Rules[i].Targeting
				for j := range list {
					if !list[j].each(func(fl *Filter) bool { return yield(Place{i, j}, fl) }) {
						return
					}
				}
			}
			return
		}
		for i := range f.Groups {
			for j := range f.Groups[i].Properties {
				if !yield(Place{i, j}, &f.Groups[i].Properties[j]) {
					return
				}
			}
		}
	}
}

// Targets iterates over the flags that filters name, as often as they do.
func (f *Filters) Targets() iter.Seq[FlagReference] {
	return func(yield func(FlagReference) bool) {
		for _, fl := range f.All() {
			if r, ok := fl.Target(); ok && !yield(r) {
				return
			}
		}
	}
}

// CohortIDs iterates over the cohorts that filters name, as often as they do.
func (f *Filters) CohortIDs() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, fl := range f.All() {
			if id, ok := fl.CohortID(); ok && !yield(id) {
				return
			}
		}
	}
}

// Leaves iterates over the leaves of a tree, in their order. What makes the tree
// malformed has none: a group of a type that does not exist, and what is nested
// deeper than 66 groups. Nil has none either.
func (n *CohortNode) Leaves() iter.Seq[*Filter] {
	return func(yield func(*Filter) bool) { n.eachLeaf(0, yield) }
}

func (n *CohortNode) eachLeaf(depth int, yield func(*Filter) bool) bool {
	if n == nil {
		return true
	}
	if n.Leaf != nil {
		return yield(n.Leaf)
	}
	if _, known := n.AnyOf(); !known || depth == served.MaxTreeGroups {
		return true
	}
	for i := range n.Values {
		if !n.Values[i].eachLeaf(depth+1, yield) {
			return false
		}
	}
	return true
}

// CohortIDs iterates over the cohorts that the leaves of a tree name, as often as
// they do.
func (n *CohortNode) CohortIDs() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for leaf := range n.Leaves() {
			if id, ok := leaf.CohortID(); ok && !yield(id) {
				return
			}
		}
	}
}

// An Index finds flags by the names that filters have for them, and tells in what
// order flags are evaluated. It keeps the flags that it was made from, which must
// not change; then it is safe for concurrent use.
type Index struct {
	flags []*Flag
	keys  keyIndex // of flags

	// Both are made when they are first asked for.
	byID   func() map[int64]int
	chains func() *chainOrder
}

// NewIndex returns an index of the flags of a list that exist: that are not
// deleted and have a key. Of several with one key only the first exists, and of
// several with one ID it is the first that the ID means.
func NewIndex(list []Flag) *Index {
	x := emptyIndex(len(list))
	for i := range list {
		x.add(&list[i])
	}
	return x
}

// emptyIndex returns an empty index with room for n flags.
func emptyIndex(n int) *Index {
	x := &Index{flags: make([]*Flag, 0, n), keys: emptyKeyIndex(n)}
	x.byID, x.chains = sync.OnceValue(x.numberIDs), sync.OnceValue(x.orderChains)
	return x
}

// add adds a flag, and reports whether it exists.
func (x *Index) add(f *Flag) bool {
	if f.Deleted || f.Key == "" {
		return false
	}
	place := x.keys.seek(f.Key, x.keyAt)
	if *place != 0 {
		return false
	}
	x.flags = append(x.flags, f)
	*place = int32(len(x.flags))
	return true
}

func (x *Index) keyAt(n int32) string { return x.flags[n].Key }

func (x *Index) numberIDs() map[int64]int {
	byID := make(map[int64]int, len(x.flags))
	for n, f := range slices.Backward(x.flags) { // the first one with an ID counts
		byID[f.ID] = n
	}
	return byID
}

// Flags iterates over the flags in the order of the list.
func (x *Index) Flags() iter.Seq[*Flag] {
	if x == nil {
		return slices.Values[[]*Flag](nil)
	}
	return slices.Values(x.flags)
}

// Find returns the flag that a reference means (evaluation.md §7.1): the one with
// the ID, or else the one with the key. It returns nil if there is none.
func (x *Index) Find(r FlagReference) *Flag {
	if n := x.number(r); n >= 0 {
		return x.flags[n]
	}
	return nil
}

// number returns the number of the flag that a reference means, -1 for none.
func (x *Index) number(r FlagReference) int {
	if x == nil || len(x.flags) == 0 {
		return -1
	}
	if id, ok := r.ID(); ok {
		if n, ok := x.byID()[id]; ok {
			return n
		}
	}
	return int(*x.keys.seek(r.Name, x.keyAt)) - 1
}

// Dependencies returns the flags that filters name, each once, in the order of the
// filters. complete is false if one that they name does not exist.
func (x *Index) Dependencies(f *Filters) (list []*Flag, complete bool) {
	complete = true
	seen := make(map[*Flag]bool)
	for r := range f.Targets() {
		target := x.Find(r)
		switch {
		case target == nil:
			complete = false
		case !seen[target]:
			seen[target] = true
			list = append(list, target)
		}
	}
	return list, complete
}

// Chain returns the flags that have to be evaluated for a flag of the index, each
// after the flags that it depends on, and the flag itself last (evaluation.md
// §7.1). The order depends on nothing but the keys of the flags. ok is false if the
// flag cannot be evaluated: the flags form a circle, or one of them depends on a
// flag that does not exist.
func (x *Index) Chain(f *Flag) (chain []*Flag, ok bool) {
	if x == nil || x.chains == nil {
		return nil, false
	}
	c := x.chains()
	n, known := c.numbers[f]
	if !known {
		return nil, false
	}
	var numbers []int
	for step := range graph.Reach(slices.Values([]int{n}), func(n int) iter.Seq[int] { return slices.Values(c.needs[n]) }) {
		if c.broken[step.Node] {
			return nil, false
		}
		numbers = append(numbers, step.Node)
	}
	slices.SortFunc(numbers, func(a, b int) int { return c.ranks[a] - c.ranks[b] })
	for _, n := range numbers {
		chain = append(chain, c.flags[n])
	}
	return chain, true
}

// A chainOrder is the order of evaluation of an index, whatever the order of its
// flags. Flags are known by their number in the order of their keys.
type chainOrder struct {
	flags   []*Flag
	numbers map[*Flag]int
	needs   [][]int
	ranks   []int  // places in the order of evaluation
	broken  []bool // on a circle or in need of one, or of a flag that does not exist
}

func (x *Index) orderChains() *chainOrder {
	c := &chainOrder{
		flags:   slices.SortedFunc(x.Flags(), func(a, b *Flag) int { return strings.Compare(a.Key, b.Key) }),
		numbers: make(map[*Flag]int, len(x.flags)),
		needs:   make([][]int, len(x.flags)),
		ranks:   make([]int, len(x.flags)),
		broken:  make([]bool, len(x.flags)),
	}
	for n, f := range c.flags {
		c.numbers[f] = n
	}
	for n, f := range c.flags {
		if !f.evaluable() {
			continue // what it depends on does not matter
		}
		list, complete := x.Dependencies(&f.Filters)
		c.broken[n] = !complete
		for _, target := range list {
			c.needs[n] = append(c.needs[n], c.numbers[target])
		}
	}
	stages, circular := graph.Stages(c.needs)
	rank := 0
	for _, stage := range stages {
		for _, n := range stage {
			c.ranks[n] = rank
			rank++
		}
	}
	for _, n := range circular {
		c.broken[n] = true
	}
	return c
}
