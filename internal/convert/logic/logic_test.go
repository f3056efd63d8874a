package logic_test

import (
	"fmt"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
)

// holds evaluates filters whose keys are those that hold.
func holds(f *flags.Filter, facts map[string]bool) bool {
	is := facts[f.Key]
	switch f.Type {
	case "all":
		is = true
		for i := range f.Filters {
			is = is && holds(&f.Filters[i], facts)
		}
	case "any":
		is = false
		for i := range f.Filters {
			is = is || holds(&f.Filters[i], facts)
		}
	}
	return is != f.Negation
}

func leaf(key string) flags.Filter { return flags.Filter{Type: "person", Key: key} }

// TestVerdict goes through all truths of two conditions that may fail.
func TestVerdict(t *testing.T) {
	type truth int
	const (
		no truth = iota
		yes
		fails
	)
	may := func(name string) logic.Verdict {
		return logic.Verdict{Yes: leaf(name + " yes"), No: leaf(name + " no")}
	}
	facts := func(name string, is truth, to map[string]bool) {
		to[name+" yes"], to[name+" no"] = is == yes, is == no
	}
	for _, sureA := range []bool{false, true} {
		for _, sureB := range []bool{false, true} {
			a, b := may("a"), may("b")
			if sureA {
				a = logic.Sure(leaf("a yes"))
			}
			if sureB {
				b = logic.Sure(leaf("b yes"))
			}
			for x := no; x <= fails; x++ {
				for y := no; y <= fails; y++ {
					if sureA && x == fails || sureB && y == fails {
						continue
					}
					known := make(map[string]bool)
					facts("a", x, known)
					facts("b", y, known)
					check := func(what string, v logic.Verdict, want truth) {
						got := fails
						if isYes, isNo := holds(&v.Yes, known), holds(&v.No, known); isYes != isNo {
							got = map[bool]truth{true: yes, false: no}[isYes]
						}
						if got != want {
							t.Errorf("%s of %v and %v (sure: %v, %v) is %v, want %v", what, x, y, sureA, sureB, got, want)
						}
					}
					and, or := y, y
					if x != yes {
						and = x
					}
					if x != no {
						or = x
					}
					for word, join := range map[string]func(...logic.Verdict) (logic.Verdict, error){"and": logic.Every, "or": logic.Some} {
						v, err := join(a, b)
						if err != nil {
							t.Fatal(err)
						}
						check(word, v, map[string]truth{"and": and, "or": or}[word])
					}
					check("not", a.Not(), map[truth]truth{no: yes, yes: no, fails: fails}[x])
				}
			}
		}
	}
}

// TestTargeting has filters that are too deep or too many, which stay the same.
func TestTargeting(t *testing.T) {
	deep := leaf("0")
	for i := range 30 {
		if i%2 == 0 {
			deep = logic.And(leaf(fmt.Sprint(i%7)), logic.Not(deep))
		} else {
			deep = logic.Or(leaf(fmt.Sprint(i%5)), deep)
		}
	}
	var many []flags.Filter
	for i := range 250 {
		many = append(many, leaf(fmt.Sprint(i)))
	}
	for name, f := range map[string]flags.Filter{"deep": deep, "all": logic.And(many...), "any": logic.Not(logic.Or(many...))} {
		list, err := logic.Targeting(f)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if depth := depthOf(&flags.Filter{Type: "all", Filters: list}); depth > 21 {
			t.Errorf("%s: %d levels", name, depth)
		}
		for n := range 1 << 7 {
			facts := make(map[string]bool)
			for i := range 250 {
				facts[fmt.Sprint(i)] = i < 7 && n&(1<<i) != 0 || i >= 7 && name == "all"
			}
			if got, want := holds(&flags.Filter{Type: "all", Filters: list}, facts), holds(&f, facts); got != want {
				t.Fatalf("%s: %v for %b, want %v", name, got, n, want)
			}
		}
	}
}

func depthOf(f *flags.Filter) (depth int) {
	if len(f.Filters) > 100 {
		return 1000
	}
	for i := range f.Filters {
		depth = max(depth, depthOf(&f.Filters[i]))
	}
	if f.Filters != nil {
		depth++
	}
	return depth
}
