package flagstest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
)

// A Builder describes one flag. Its methods change it and return it.
type Builder struct {
	flag flags.Flag
	err  error // the error about the first value that cannot be encoded
}

// Flag returns a builder for an active flag that is off for everyone.
func Flag(key string) *Builder {
	return &Builder{flag: flags.Flag{Key: key, Active: true, Version: 1}}
}

// On adds a condition set that matches everyone.
func (b *Builder) On() *Builder { return b.Condition() }

// Off removes all condition sets: the flag is off for everyone.
func (b *Builder) Off() *Builder {
	b.flag.Filters.Groups = nil
	return b
}

// Inactive makes the flag inactive: results do not have it, and for flags that
// depend on it, it is off.
func (b *Builder) Inactive() *Builder {
	b.flag.Active = false
	return b
}

// Condition starts a new condition set. Condition sets are tried in order.
func (b *Builder) Condition() *Builder {
	b.flag.Filters.Groups = append(b.flag.Filters.Groups, flags.Condition{})
	return b
}

// last returns the condition set that is being built.
func (b *Builder) last() *flags.Condition {
	if len(b.flag.Filters.Groups) == 0 {
		b.Condition()
	}
	return &b.flag.Filters.Groups[len(b.flag.Filters.Groups)-1]
}

// Rollout limits the condition set to a share of subjects, in percent.
func (b *Builder) Rollout(percentage float64) *Builder {
	b.last().RolloutPercentage = &percentage
	return b
}

// Pin gives everyone who matches the condition set this variant.
func (b *Builder) Pin(variant string) *Builder {
	b.last().Variant = &variant
	return b
}

// Person adds a filter on a person property: Person("plan", operator.Exact, "pro").
// The value can be anything that encoding/json can encode.
func (b *Builder) Person(property, operator string, value any) *Builder {
	return b.filter(flags.Filter{Key: property, Type: "person", Operator: operator}, value)
}

// Group adds a filter on a property of a group. The index of its type is a key
// of Definitions.GroupTypes.
func (b *Builder) Group(index int, property, operator string, value any) *Builder {
	return b.filter(flags.Filter{Key: property, Type: "group", Operator: operator, GroupTypeIndex: &index}, value)
}

// Cohort adds a filter on membership in a cohort.
func (b *Builder) Cohort(id int64) *Builder {
	return b.filter(flags.Filter{Key: "id", Type: "cohort", Operator: operator.In}, id)
}

// DependsOn adds a filter on the value of another flag: true, false or the key
// of a variant.
func (b *Builder) DependsOn(key string, value any) *Builder {
	return b.filter(flags.Filter{Key: key, Type: "flag", Operator: operator.FlagEvaluatesTo, DependencyChain: &[]string{key}}, value)
}

func (b *Builder) filter(f flags.Filter, value any) *Builder {
	raw, err := marshal(value)
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("flag %q: value %v of filter on %q: %w", b.flag.Key, value, f.Key, err)
	}
	f.Value = raw
	c := b.last()
	c.Properties = append(c.Properties, f)
	return b
}

// marshal encodes a value. A panic of its MarshalJSON is an error.
func marshal(value any) (raw []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			raw, err = nil, fmt.Errorf("its encoding panicked: %T", v)
		}
	}()
	return json.Marshal(value)
}

// Variant adds a variant with its share in percent.
func (b *Builder) Variant(key string, percentage float64) *Builder {
	if b.flag.Filters.Multivariate == nil {
		b.flag.Filters.Multivariate = new(flags.Multivariate)
	}
	m := b.flag.Filters.Multivariate
	m.Variants = append(m.Variants, flags.Variant{Key: key, RolloutPercentage: percentage})
	return b
}

// Payload sets the payload of a variant, or of the flag if it has no variants
// and the variant is "true". The payload is JSON text, stored as a string as
// PostHog does.
func (b *Builder) Payload(variant, payload string) *Builder {
	b.flag.Filters.SetPayload(variant, payload)
	return b
}

// ByGroup makes all condition sets bucket by group instead of by person.
func (b *Builder) ByGroup(index int) *Builder {
	b.flag.Filters.AggregationGroupTypeIndex = flags.ByGroup(index)
	return b
}

// Holdout keeps a share of subjects, in percent, out of the flag.
func (b *Builder) Holdout(id int64, percentage float64) *Builder {
	b.flag.Filters.Holdout = &flags.Holdout{ID: id, ExclusionPercentage: percentage}
	return b
}

// EarlyAccess makes the flag follow the person property
// $feature_enrollment/<key>, if that is set.
func (b *Builder) EarlyAccess() *Builder {
	b.flag.Filters.FeatureEnrollment = new(true)
	return b
}

// Runtime restricts the flag to "client" or "server".
func (b *Builder) Runtime(requirement string) *Builder {
	b.flag.EvaluationRuntime = requirement
	return b
}

// Contexts sets the flag's evaluation contexts (its tags).
func (b *Builder) Contexts(tags ...string) *Builder {
	b.flag.EvaluationContexts = tags
	return b
}

// Change edits the definition directly, for parts that no other method sets. It
// panics if edit is nil.
func (b *Builder) Change(edit func(*flags.Flag)) *Builder {
	edit(&b.flag)
	return b
}

// Definitions returns the flags as definitions with the group types company (0)
// and project (1), for tests that need cohorts or other parts of a document.
// Flags without an ID are numbered from 1. It fails the test if a value cannot
// be encoded.
func Definitions(t testing.TB, builders ...*Builder) *flags.Definitions {
	t.Helper()
	d := &flags.Definitions{GroupTypes: map[int]string{0: "company", 1: "project"}}
	for i, b := range builders {
		if b.err != nil {
			t.Fatalf("flagstest: %v", b.err)
		}
		f := b.flag
		if f.ID == 0 {
			f.ID = int64(i + 1)
		}
		d.Flags = append(d.Flags, f)
	}
	return d
}

// Snapshot compiles the flags. It fails the test if a flag has a problem of
// severity Error, so that a mistyped operator is not mistaken for a flag that
// is off.
func Snapshot(t testing.TB, builders ...*Builder) *flags.Snapshot {
	t.Helper()
	return Compile(t, Definitions(t, builders...))
}

// Compile compiles definitions as Snapshot does.
func Compile(t testing.TB, d *flags.Definitions) *flags.Snapshot {
	t.Helper()
	s, err := flags.Compile(d, flags.CompileOptions{Strict: true})
	if err != nil {
		t.Fatalf("flagstest: %v", err)
	}
	return s
}

// Evaluator returns an evaluator for the flags. It fails the test in the same
// cases as Snapshot.
func Evaluator(t testing.TB, builders ...*Builder) *flags.Evaluator {
	t.Helper()
	e := new(flags.Evaluator)
	e.Swap(Snapshot(t, builders...))
	return e
}
