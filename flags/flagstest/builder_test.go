package flagstest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/flagstest"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/runtime"
)

func TestBuilder(t *testing.T) {
	person := func(properties map[string]any) *flags.Request {
		return &flags.Request{DistinctID: "user-1", PersonProperties: properties}
	}
	for _, tt := range []struct {
		name    string
		flag    *flagstest.Builder
		request *flags.Request
		want    string // the result of Evaluator.Variant
	}{
		{"nothing", flagstest.Flag("f"), nil, "false"},
		{"on", flagstest.Flag("f").On(), nil, "true"},
		{"off", flagstest.Flag("f").On().Off(), nil, "false"},
		{"inactive", flagstest.Flag("f").On().Inactive(), nil, "false"},
		{"rollout of none", flagstest.Flag("f").Rollout(0), person(nil), "false"},
		{"rollout of all", flagstest.Flag("f").Rollout(100), person(nil), "true"},
		{"a variant", flagstest.Flag("f").On().Variant("a", 100), person(nil), "a"},
		{"a pinned variant", flagstest.Flag("f").Pin("b").Variant("a", 100).Variant("b", 0), person(nil), "b"},
		{"a property", flagstest.Flag("f").Person("plan", operator.Exact, "pro"), person(map[string]any{"plan": "pro"}), "true"},
		{"another property", flagstest.Flag("f").Person("plan", operator.Exact, "pro"), person(map[string]any{"plan": "free"}), "false"},
		{"two condition sets", flagstest.Flag("f").Person("plan", operator.Exact, "pro").Condition().Person("age", "gt", 17), person(map[string]any{"age": 18}), "true"},
		{"a group", flagstest.Flag("f").ByGroup(0).On(), &flags.Request{Groups: map[string]string{"company": "acme"}}, "true"},
		{"no group", flagstest.Flag("f").ByGroup(0).On(), person(nil), "false"},
		{"a group property", flagstest.Flag("f").Group(1, "size", "gte", 10), &flags.Request{GroupProperties: map[string]map[string]any{"project": {"size": 10}}}, "true"},
		{"a holdout", flagstest.Flag("f").On().Holdout(7, 100), person(nil), "holdout-7"},
		{"early access", flagstest.Flag("f").EarlyAccess(), person(map[string]any{"$feature_enrollment/f": true}), "true"},
		{"a runtime", flagstest.Flag("f").On().Runtime("server"), &flags.Request{Filter: runtime.Filter{Kind: runtime.Client}}, "false"},
		{"contexts", flagstest.Flag("f").On().Contexts("docs"), &flags.Request{Filter: runtime.Filter{Tags: []string{"app"}}}, "false"},
		{"an edit", flagstest.Flag("f").On().Change(func(f *flags.Flag) { f.Active = false }), person(nil), "false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := flagstest.Evaluator(t, tt.flag).Variant("f", tt.request, "?"); got != tt.want {
				t.Errorf("Variant = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDependsOn(t *testing.T) {
	e := flagstest.Evaluator(t,
		flagstest.Flag("base").On().Variant("a", 100),
		flagstest.Flag("b").DependsOn("base", "a"),
		flagstest.Flag("c").DependsOn("b", false),
	)
	if !e.Bool("b", nil, false) || e.Bool("c", nil, true) {
		t.Errorf("b = %v, c = %v; want true, false", e.Bool("b", nil, false), e.Bool("c", nil, true))
	}
}

func TestCohort(t *testing.T) {
	d := flagstest.Definitions(t, flagstest.Flag("f").Cohort(5))
	d.Cohorts = map[int64]flags.Cohort{5: {Stored: true}}
	s := flagstest.Compile(t, d)
	for _, member := range []bool{true, false} {
		r := &flags.Request{}
		if member {
			r.Cohorts = []int64{5}
		}
		if got, err := s.Flag("f", r); err != nil || got.Enabled != member {
			t.Errorf("member %v: %+v, %v", member, got, err)
		}
	}
}

// A recorder replaces the test that a mistake should fail.
type recorder struct {
	testing.TB
	failure string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failure = fmt.Sprintf(format, args...)
	panic(r)
}

func TestMistakesFailTheTest(t *testing.T) {
	for want, b := range map[string]*flagstest.Builder{
		"unknown operator":  flagstest.Flag("f").Person("plan", "is", "pro"),
		"does not exist":    flagstest.Flag("f").DependsOn("g", true),
		"unsupported type":  flagstest.Flag("f").Person("plan", "exact", make(chan int)),
		"cohort 9: it, or ": flagstest.Flag("f").Cohort(9),
	} {
		r := &recorder{TB: t}
		func() {
			defer func() { _ = recover() }()
			flagstest.Evaluator(r, b)
		}()
		if !strings.Contains(r.failure, want) {
			t.Errorf("failure %q, want one with %q", r.failure, want)
		}
	}
}

func ExampleEvaluator() {
	t := new(testing.T) // your test's t
	e := flagstest.Evaluator(t,
		flagstest.Flag("new-checkout").Person("plan", operator.Exact, "pro"),
		flagstest.Flag("button").On().Variant("red", 100).Payload("red", `{"hex":"#f00"}`),
	)
	pro := &flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": "pro"}}
	fmt.Println(e.Bool("new-checkout", pro, false), e.Variant("button", pro, "none"))
	// Output: true red
}

func ExampleWith() {
	t := new(testing.T) // your test's t
	greeting := func(ctx context.Context) string {
		if flagstaff.From(ctx).Bool("new-greeting", false) {
			return "Good day"
		}
		return "Hello"
	}

	ctx := flagstest.With(t, context.Background(), flagstest.Flag("new-greeting").On())
	fmt.Println(greeting(ctx))
	fmt.Println(greeting(context.Background()))
	// Output:
	// Good day
	// Hello
}
