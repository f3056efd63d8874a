package rules

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A Generator makes rule sets, and persons for them.
type Generator struct{ *rand.Rand }

// NewGenerator returns a Generator that makes the same for the same seed.
func NewGenerator(seed uint64) Generator { return Generator{rand.New(rand.NewPCG(seed, 29))} }

// Pick returns one of the texts.
func (g Generator) Pick(list ...string) string { return list[g.IntN(len(list))] }

func (g Generator) percentage() string {
	return g.Pick("0", "100", "50", "0.01", "99.99", strconv.FormatFloat(float64(g.IntN(10_001))/100, 'f', -1, 64))
}

func (g Generator) value(kind string) string {
	switch kind {
	case "boolean":
		return g.Pick("true", "false")
	case "string":
		return g.Pick(`"a"`, `"b"`, `"\u00e9"`, `"true"`)
	case "number":
		return g.Pick("0", "1", "-2.5", "9007199254740991", "1e3")
	}
	return g.Pick(`{}`, `{"a":[1,null]}`, `{"a":{"b":""}}`)
}

func (g Generator) filter() string {
	f := fmt.Sprintf(`{"type":"person","key":%q`, g.Pick("plan", "age", "city"))
	switch g.IntN(6) {
	case 0:
		f += `,"operator":"is_set"`
	case 1:
		f += `,"operator":"is_not_set","value":null`
	case 2:
		f += fmt.Sprintf(`,"operator":"gt","value":%d`, g.IntN(20))
	case 3:
		f += fmt.Sprintf(`,"operator":"icontains","value":%q`, g.Pick("p", "PR", "o"))
	case 4:
		f += fmt.Sprintf(`,"operator":"is_not","value":%q`, g.Pick("pro", "free", "Oslo"))
	default:
		f += fmt.Sprintf(`,"value":%q`, g.Pick("pro", "PRO", "7", "Oslo"))
	}
	return f + g.Pick("", "", `,"negation":true`, `,"negation":false`) + "}"
}

// Document returns a rule set: the filters of a flag.
func (g Generator) Document() string {
	kind := g.Pick("boolean", "string", "number", "object")
	var rules []string
	for i := range g.IntN(5) {
		var filters []string
		for range g.IntN(3) {
			filters = append(filters, g.filter())
		}
		rule := fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","targeting":{"properties":[%s]}`, i, strings.Join(filters, ","))
		draw := fmt.Sprintf(`,"rollout_percentage":%s,"on_rollout_miss":%q,"assignment_algorithm":"sha1_60_v1","seed":%q`, g.percentage(), g.Pick("continue", "return_default"), g.Pick("s", "t", "ü", strings.Repeat("long", 40)))
		switch g.IntN(3) {
		case 0:
			rule += `,"rule_type":"targeted_release","value":` + g.value(kind)
		case 1:
			rule += `,"rule_type":"percentage_rollout","value":` + g.value(kind) + draw
		default:
			first := g.IntN(10_001)
			id := g.Pick("null", "5")
			rule += fmt.Sprintf(`,"rule_type":"experiment","experiment_id":%s,"paused":%s%s,"variants":[{"key":"a","weight":%v,"value":%s},{"key":"b","weight":%v,"value":%s}]`,
				id, g.Pick("false", "false", "false", "true"), draw, float64(first)/100, g.value(kind), float64(10_000-first)/100, g.value(kind))
			if g.IntN(2) == 0 {
				rule += fmt.Sprintf(`,"holdout":{"id":%s,"seed":%q,"exclusion_percentage":%s}`, id, g.Pick("h", "holdout-"), g.percentage())
			}
		}
		rules = append(rules, rule+"}")
	}
	return fmt.Sprintf(`{"version":2,"return_type":%q,"default_value":%s,"rules":[%s]}`, kind, g.Pick("null", g.value(kind)), strings.Join(rules, ","))
}

// ID returns a distinct ID, which may be empty, or too long.
func (g Generator) ID() string {
	return g.Pick("", "ada", strconv.Itoa(g.IntN(1_000_000)), strconv.Itoa(g.IntN(1_000_000)), strings.Repeat("é", 250))
}

// Person returns the properties of a person.
func (g Generator) Person() map[string]any {
	person := make(map[string]any)
	for _, p := range []struct {
		key    string
		values []any
	}{
		{"plan", []any{"pro", "free", "Pro", 7.0}}, {"age", []any{3.0, 7.0, 12.5, "7"}}, {"city", []any{"Oslo", "OSLO", "Paris", true}},
	} {
		if g.IntN(3) > 0 {
			person[p.key] = p.values[g.IntN(len(p.values))]
		}
	}
	return person
}

// Exact returns a rule set that condition sets of a flag with the key say as well (rules.md §5),
// with filters that all SDKs evaluate alike.
func (g Generator) Exact(key string) string {
	var list []string
	for i := range 1 + g.IntN(3) {
		filters := g.Pick(``, ``, `{"type":"person","key":"plan","value":"pro"}`, `{"type":"person","key":"plan","operator":"is_not","value":"free"}`, `{"type":"person","key":"city","operator":"is_set"}`)
		rule := fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","targeting":{"properties":[%s]},"value":true`, i, filters)
		if g.IntN(2) == 0 {
			rule += `,"rule_type":"targeted_release"}`
		} else {
			rule += fmt.Sprintf(`,"rule_type":"percentage_rollout","rollout_percentage":%s,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","seed":%q}`, g.percentage(), key)
		}
		list = append(list, rule)
	}
	return fmt.Sprintf(`{"version":2,"return_type":"boolean","default_value":%s,"rules":[%s]}`, g.Pick("null", "false"), strings.Join(list, ","))
}
