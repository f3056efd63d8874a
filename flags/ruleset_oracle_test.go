package flags_test

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A ruleOracle evaluates rule sets as rules.md §3 says it, on decoded JSON and in float64. It
// knows the filters that ruleGenerator makes.
type ruleOracle struct {
	Type    string          `json:"return_type"`
	Default json.RawMessage `json:"default_value"`
	Rules   []struct {
		ID        string `json:"id"`
		Type      string `json:"rule_type"`
		Targeting struct {
			Properties []struct {
				Key, Operator string
				Value         any
				Negation      bool
			} `json:"properties"`
		} `json:"targeting"`
		Value        json.RawMessage `json:"value"`
		Rollout      float64         `json:"rollout_percentage"`
		Miss         string          `json:"on_rollout_miss"`
		Seed         string          `json:"seed"`
		ExperimentID *int            `json:"experiment_id"`
		Paused       bool            `json:"paused"`
		Variants     []struct {
			Weight float64         `json:"weight"`
			Value  json.RawMessage `json:"value"`
		} `json:"variants"`
		Holdout *struct {
			Seed      string  `json:"seed"`
			Exclusion float64 `json:"exclusion_percentage"`
		} `json:"holdout"`
	} `json:"rules"`
}

// share is the share of a text (rules.md §3.1).
func share(text string) float64 {
	sum := sha1.Sum([]byte(text))
	n, err := strconv.ParseUint(hex.EncodeToString(sum[:])[:15], 16, 64)
	if err != nil {
		panic(err)
	}
	return float64(n) / float64(1<<60-1)
}

// decide returns value, code and index.
func (o *ruleOracle) decide(id string, person map[string]any) string {
	out := func(value json.RawMessage, code string, index int) string {
		return fmt.Sprintf("%s %s %d", value, code, index)
	}
	if runes := []rune(id); len(runes) > 200 {
		id = string(runes[:200])
	}
	for i, r := range o.Rules {
		holds := true
		for _, f := range r.Targeting.Properties {
			if !holds {
				break
			}
			got, present := person[f.Key]
			text := strings.ToLower(fmt.Sprint(got))
			want := strings.ToLower(fmt.Sprint(f.Value))
			switch f.Operator {
			case "", "exact":
				holds = present && text == want
			case "is_not":
				holds = !present || text != want
			case "is_set":
				holds = present
			case "is_not_set":
				holds = !present
			case "icontains":
				holds = present && strings.Contains(text, want)
			case "gt":
				n, err := strconv.ParseFloat(text, 64) // evaluation.md §4.7
				holds = err == nil && n > f.Value.(float64)
			}
			holds = holds != f.Negation
		}
		if !holds {
			continue
		}
		if r.Type == "targeted_release" {
			return out(r.Value, "targeting_match", i)
		}
		if r.Paused {
			return out(o.Default, "experiment_paused", i)
		}
		if h := r.Holdout; h != nil && id != "" && (h.Exclusion == 100 || share(h.Seed+id) <= h.Exclusion/100) {
			return out(o.Default, "holdout", i)
		}
		if id == "" || r.Rollout != 100 && share(r.Seed+"."+id) > r.Rollout/100 {
			if r.Miss == "continue" {
				continue
			}
			return out(o.Default, "rollout_miss", i)
		}
		if r.Type == "percentage_rollout" {
			return out(r.Value, "targeting_match", i)
		}
		drawn, sum, at := share(r.Seed+"."+id+"variant"), 0.0, len(r.Variants)-1
		for n, v := range r.Variants {
			if sum += v.Weight / 100; drawn < sum {
				at = n
				break
			}
		}
		code := "targeting_match"
		if r.ExperimentID != nil {
			code = "experiment_split"
		}
		return out(r.Variants[at].Value, code, i)
	}
	return out(o.Default, "no_rule_match", -1)
}

// ruleGenerator makes documents.
type ruleGenerator struct{ *rand.Rand }

func (g ruleGenerator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g ruleGenerator) percentage() string {
	return g.pick("0", "100", "50", "0.01", "99.99", strconv.FormatFloat(float64(g.IntN(10_001))/100, 'f', -1, 64))
}

func (g ruleGenerator) value(kind string) string {
	switch kind {
	case "boolean":
		return g.pick("true", "false")
	case "string":
		return g.pick(`"a"`, `"b"`, `"\u00e9"`, `"true"`)
	case "number":
		return g.pick("0", "1", "-2.5", "9007199254740991", "1e3")
	}
	return g.pick(`{}`, `{"a":[1,null]}`, `{"a":{"b":""}}`)
}

func (g ruleGenerator) filter() string {
	f := fmt.Sprintf(`{"type":"person","key":%q`, g.pick("plan", "age", "city"))
	switch g.IntN(6) {
	case 0:
		f += `,"operator":"is_set"`
	case 1:
		f += `,"operator":"is_not_set","value":null`
	case 2:
		f += fmt.Sprintf(`,"operator":"gt","value":%d`, g.IntN(20))
	case 3:
		f += fmt.Sprintf(`,"operator":"icontains","value":%q`, g.pick("p", "PR", "o"))
	case 4:
		f += fmt.Sprintf(`,"operator":"is_not","value":%q`, g.pick("pro", "free", "Oslo"))
	default:
		f += fmt.Sprintf(`,"value":%q`, g.pick("pro", "PRO", "7", "Oslo"))
	}
	return f + g.pick("", "", `,"negation":true`, `,"negation":false`) + "}"
}

func (g ruleGenerator) document() string {
	kind := g.pick("boolean", "string", "number", "object")
	var rules []string
	for i := range g.IntN(5) {
		var filters []string
		for range g.IntN(3) {
			filters = append(filters, g.filter())
		}
		rule := fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","targeting":{"properties":[%s]}`, i, strings.Join(filters, ","))
		draw := fmt.Sprintf(`,"rollout_percentage":%s,"on_rollout_miss":%q,"assignment_algorithm":"sha1_60_v1","seed":%q`, g.percentage(), g.pick("continue", "return_default"), g.pick("s", "t", "ü", strings.Repeat("long", 40)))
		switch g.IntN(3) {
		case 0:
			rule += `,"rule_type":"targeted_release","value":` + g.value(kind)
		case 1:
			rule += `,"rule_type":"percentage_rollout","value":` + g.value(kind) + draw
		default:
			first := g.IntN(10_001)
			id := g.pick("null", "5")
			rule += fmt.Sprintf(`,"rule_type":"experiment","experiment_id":%s,"paused":%s%s,"variants":[{"key":"a","weight":%v,"value":%s},{"key":"b","weight":%v,"value":%s}]`,
				id, g.pick("false", "false", "false", "true"), draw, float64(first)/100, g.value(kind), float64(10_000-first)/100, g.value(kind))
			if g.IntN(2) == 0 {
				rule += fmt.Sprintf(`,"holdout":{"id":%s,"seed":%q,"exclusion_percentage":%s}`, id, g.pick("h", "holdout-"), g.percentage())
			}
		}
		rules = append(rules, rule+"}")
	}
	return fmt.Sprintf(`{"version":2,"return_type":%q,"default_value":%s,"rules":[%s]}`, kind, g.pick("null", g.value(kind)), strings.Join(rules, ","))
}

func (g ruleGenerator) person() map[string]any {
	person := make(map[string]any)
	for key, values := range map[string][]any{"plan": {"pro", "free", "Pro", 7.0}, "age": {3.0, 7.0, 12.5, "7"}, "city": {"Oslo", "OSLO", "Paris", true}} {
		if g.IntN(3) > 0 {
			person[key] = values[g.IntN(len(values))]
		}
	}
	return person
}

// TestRandomRuleSets compares both ways of evaluation with the oracle.
func TestRandomRuleSets(t *testing.T) {
	cases := cases(t)
	const persons = 20
	for seed := range cases / persons {
		g := ruleGenerator{rand.New(rand.NewPCG(uint64(seed), 29))}
		document := g.document()
		var oracle ruleOracle
		if err := json.Unmarshal([]byte(document), &oracle); err != nil {
			t.Fatal(err)
		}
		if oracle.Default == nil {
			oracle.Default = json.RawMessage("null")
		}
		s := ruled(t, "f", document)
		for range persons {
			id, person := g.pick("", "ada", strconv.Itoa(g.IntN(1_000_000)), strings.Repeat("é", 250)), g.person()
			want := oracle.decide(id, person)
			quick, err := s.Flag("f", &flags.Request{DistinctID: id, PersonProperties: person})
			if err != nil {
				t.Fatal(err)
			}
			for way, r := range map[string]flags.Result{"quick": quick, "full": fully(t, s, "f", id, person)} {
				if got := fmt.Sprintf("%s %s %d", r.JSON(), r.Reason.Code, r.Reason.ConditionIndex); got != want {
					t.Fatalf("seed %d, %s: %s, want %s\n%s\n%q %v", seed, way, got, want, document, id, person)
				}
			}
		}
	}
}
