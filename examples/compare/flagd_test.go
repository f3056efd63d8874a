package main_test

import (
	"context"
	"maps"
	"testing"

	"github.com/open-feature/flagd/core/pkg/evaluator"
	"github.com/open-feature/flagd/core/pkg/logger"
	"github.com/open-feature/flagd/core/pkg/store"
	"github.com/open-feature/flagd/core/pkg/sync"
)

type flagdEngine struct{ evaluator *evaluator.JSON }

// flagdCore is the evaluator of flagd without its server. It has no regular
// expressions and reports nothing.
func flagdCore(tb testing.TB, all []flag, _ bool) func() engine {
	document := string(encode(tb, flagdDefinitions(all)))
	return func() engine {
		log := logger.NewLogger(nil, false)
		flags, err := store.NewStore(log, []string{"compare"})
		if err != nil {
			tb.Fatal(err)
		}
		e := flagdEngine{evaluator.NewJSON(log, flags)}
		if err := e.evaluator.SetState(sync.DataSync{FlagData: document, Source: "compare"}); err != nil {
			tb.Fatal(err)
		}
		return e
	}
}

func flagdDefinitions(all []flag) object {
	flags := object{}
	for _, f := range all {
		if f.variants != nil {
			variants, shares := object{}, []any{}
			for _, v := range f.variants {
				variants[v] = v
				shares = append(shares, []any{v, int(f.share(100))})
			}
			flags[f.key] = object{"state": "ENABLED", "variants": variants, "defaultVariant": f.variants[0], "targeting": object{"fractional": shares}}
			continue
		}
		definition := object{"state": "ENABLED", "variants": object{"on": true, "off": false}, "defaultVariant": "off"}
		var branches []any
		for _, c := range f.conditions {
			var tests []any
			for _, x := range c.filters {
				property := object{"var": x.property}
				switch x.operator {
				case equals:
					tests = append(tests, object{"==": []any{property, x.value}})
				case above:
					tests = append(tests, object{">": []any{property, x.value}})
				case versions:
					tests = append(tests, object{"sem_ver": []any{property, ">=", x.value}})
				}
			}
			var outcome any = "on"
			if c.rollout < 100 {
				outcome = object{"fractional": []any{[]any{"on", c.rollout}, []any{"off", 100 - c.rollout}}}
			}
			switch {
			case tests == nil && c.rollout == 100:
				definition["defaultVariant"] = "on"
			case len(tests) == 1:
				branches = append(branches, tests[0], outcome)
			default:
				branches = append(branches, object{"and": tests}, outcome)
			}
		}
		if branches != nil {
			definition["targeting"] = object{"if": append(branches, "off")}
		}
		flags[f.key] = definition
	}
	return object{"$schema": "https://flagd.dev/schema/v0/flags.json", "flags": flags}
}

func (flagdEngine) close() {}

func (e flagdEngine) subject(p person) subject {
	c := maps.Clone(p.properties)
	c["targetingKey"] = p.id
	return flagdSubject{e.evaluator, c}
}

type flagdSubject struct {
	evaluator *evaluator.JSON
	context   map[string]any
}

func (s flagdSubject) enabled(key string) bool {
	v, _, _, _, err := s.evaluator.ResolveBooleanValue(context.Background(), "", key, s.context)
	return err == nil && v
}

func (s flagdSubject) variant(key string) string {
	v, _, _, _, err := s.evaluator.ResolveStringValue(context.Background(), "", key, s.context)
	if err != nil {
		return ""
	}
	return v
}

func (s flagdSubject) all() int {
	values, _, err := s.evaluator.ResolveAllValues(context.Background(), "", s.context)
	if err != nil {
		return -1
	}
	n := 0
	for _, v := range values {
		if v.Value == true {
			n++
		}
	}
	return n
}
