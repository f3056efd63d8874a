package schematest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// TestRandomRuleSets: the schema and the library agree about random rule sets, right ones and
// ones with a few wrong parts, apart from the differences (rules.md §2).
func TestRandomRuleSets(t *testing.T) {
	s := schema(t)
	n, refused := fulltest.Count(1000, 30_000), 0
	for seed := range n {
		r := random{rand.New(rand.NewPCG(uint64(seed), 29)), seed%2 == 0}
		if compare(t, s, fmt.Sprintf("seed %d", seed), `{"group_type_mapping": {"0": "company"}, "flags": [{"id": 1, "key": "f", "active": true, "filters": `+r.ruleSet()+`}]}`) {
			refused++
		}
	}
	t.Logf("%d documents, %d refused", n, refused)
	if refused < n/10 || refused > n*9/10 {
		t.Errorf("%d of %d documents were refused, want many of both kinds", refused, n)
	}
}

// A random writes documents.
type random struct {
	*rand.Rand
	wrong bool // now and then
}

func (r random) one(of ...string) string { return of[r.IntN(len(of))] }

// object writes an object. Pairs are names and values; a name with a question mark may be left
// out. A wrong object lacks a member, has another one, or a value of another type.
func (r random) object(pairs ...string) string {
	var members []string
	for i := 0; i < len(pairs); i += 2 {
		name, value := pairs[i], pairs[i+1]
		if optional, ok := strings.CutSuffix(name, "?"); ok {
			if name = optional; r.IntN(2) == 0 {
				continue
			}
		}
		if r.wrong && r.IntN(60) == 0 {
			value = r.one(`null`, `true`, `7`, `-1`, `0.5`, `100`, `12.345`, `1e400`, `1e-400`, `-0`, `9007199254740992`, `"x"`, `""`, `"7"`, `[]`, `["x"]`, `{}`, `{"x": 1e-400}`)
		}
		if r.wrong && r.IntN(60) == 0 {
			name = r.one("other", "seed", "value", "id", "variants", "key")
		}
		if !r.wrong || r.IntN(60) != 0 {
			members = append(members, fmt.Sprintf("%q: %s", name, value))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func (r random) array(most int, element func() string) string {
	list := make([]string, r.IntN(most+1))
	for i := range list {
		list[i] = element()
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func (r random) ruleSet() string {
	returns := r.one("boolean", "string", "number", "object")
	value := func() string {
		switch returns {
		case "boolean":
			return r.one("true", "false")
		case "string":
			return r.one(`"a"`, `"$true"`, `"\u0000"`)
		case "number":
			return r.one("0", "-1.5", "1e3", "9007199254740991")
		}
		return r.one("{}", `{"a": [1, null, "", {"b": 2.5}]}`, `{"a": {"a": {"a": []}}}`)
	}
	group := r.IntN(3) == 0
	pairs := []string{"version", r.one("2", "2.0", "2e0"), "return_type", `"` + returns + `"`, "default_value?", r.one("null", value())}
	if group {
		pairs = append(pairs, "aggregation_group_type_index", r.one("0", "0.0"))
	}
	return r.object(append(pairs, "rules", r.array(3, func() string { return r.rule(value, group) }))...)
}

func (r random) rule(value func() string, group bool) string {
	share := func() string { return r.one("0", "100", "12.5", "33.33", "1250e-2") }
	pairs := []string{
		"id?", fmt.Sprintf(`"%08x-1111-4111-8111-111111111ABC"`, r.Uint32()), "description?", `"x"`, "metadata?", `{"a": [{}, null]}`,
		"targeting?", r.object("properties", r.array(3, r.filter)),
	}
	draw := []string{
		"rollout_percentage", share(), "on_rollout_miss?", r.one(`"continue"`, `"return_default"`), "assignment_algorithm?", `"sha1_60_v1"`,
		"seed?", r.one(`"s"`, `"`+strings.Repeat("é", 400)+`"`),
	}
	if !group {
		draw = append(draw, "assign_by?", `"person"`)
	}
	switch r.IntN(4) {
	case 0:
		pairs = append(pairs, "rule_type", `"targeted_release"`, "value", value())
	case 1:
		pairs = append(append(pairs, "rule_type", `"percentage_rollout"`, "value", value()), draw...)
	case 2:
		id := r.one("null", "7")
		variant := func(key, weight string) string {
			return r.object("key", `"`+key+`"`, "weight", weight, "value", value())
		}
		pairs = append(append(pairs, "rule_type", `"experiment"`, "experiment_id", id, "paused", r.one("true", "false"),
			"variants", r.one("["+variant("a", "33.3")+","+variant("b_-2", "66.7")+"]", "["+variant("a", "0")+","+variant("b", "100.00")+"]"),
			"holdout?", r.object("id", id, "seed?", `"h"`, "exclusion_percentage", share())), draw...)
	default:
		text := func() string { return r.one(`"x"`, `""`, "null") }
		pairs = append(pairs, "rule_type", `"split"`, "split", r.object("hash", r.one(`"sha1_60"`, `"murmur3_32"`), "hash_seed?", `"7"`, "modulus?", `"100"`,
			"prefix?", text(), "suffix?", text(), "subject?", text(), "ends", r.one(`["1", "18446744073709551615"]`, `["7", "7"]`), "values", "["+value()+", "+value()+"]",
			"rest", r.one(`"last"`, `"continue"`, `"return_default"`), "no_subject", r.one(`"first"`, `"continue"`, `"return_default"`)))
	}
	return r.object(pairs...)
}

// filter returns a filter, which may consist of others.
func (r random) filter() string { return r.filterWithin(3) }

func (r random) filterWithin(levels int) string {
	switch r.IntN(12) {
	case 0:
		if levels > 0 {
			filters := r.array(3, func() string { return r.filterWithin(levels - 1) })
			return r.object("type", r.one(`"any"`, `"all"`), "filters", filters, "negation?", r.one("true", "false", "null"), "label?", `"x"`)
		}
	case 1:
		split := r.object("hash", r.one(`"crc32"`, `"sha1_60"`), "suffix?", `"x"`, "subject", `"p"`, "path?", `"/a"`, "text_only?", r.one("true", "false"), "decimal?", "true",
			"hash_empty?", "false", "group_type_index?", "0", "ends", r.one(`["1"]`, `["1", "2"]`), "values", r.one("[true]", "[false]"), "rest", `"last"`, "no_subject", r.one(`"hash"`, `"first"`))
		return r.object("type", `"split"`, "split", split, "negation?", r.one("true", "null"))
	case 2:
		return r.object("key", `"p"`, "type", `"person"`, "dialect", `"launchdarkly"`, "operator", r.one(`"contains"`, `"before"`), "value", r.one(`["x"]`, `[1]`, `[]`),
			"must_be_set?", "true", "any_element?", "true", "strict_type?", r.one("null", "true"), "path?", r.one(`"/a"`, `"a"`, "null"))
	case 3:
		return r.object("key", `"f"`, "type", `"flag"`, "operator", `"flag_evaluates_to"`, "value", r.one("true", `"x"`, "7", "{}"), "strict_type?", r.one("true", "false"))
	}
	pairs := []string{"key", `"p"`, "negation?", r.one("true", "false", "null"), "cohort_name?", `"x"`, "label?", "null", "group_key_names?", `{"a": "b"}`}
	for _, comparison := range []string{"case_sensitive?", "strict_type?", "must_be_set?", "any_element?"} {
		if r.IntN(4) == 0 {
			pairs = append(pairs, comparison, r.one("true", "false", "null"))
		}
	}
	if r.IntN(3) == 0 {
		pairs = append(pairs, "type", `"group"`, "group_type_index", "0")
	} else {
		pairs = append(pairs, "type?", `"person"`, "group_type_index?", "null")
	}
	operator, value := "exact", r.one(`"x"`, `["x", 7]`, "true", "7")
	switch r.IntN(8) {
	case 0:
		operator, value = r.one("icontains", "not_icontains", "starts_with", "not_starts_with", "ends_with", "not_ends_with", "regex", "not_regex"), r.one(`"x"`, `"^a+$"`)
	case 1:
		operator, value = r.one("icontains_multi", "not_icontains_multi"), r.one(`["x"]`, `["x", "y"]`)
	case 2:
		operator, value = r.one("gt", "gte", "lt", "lte"), r.one("7", `"7"`, "-1.5")
	case 3:
		operator, value = r.one("semver_eq", "semver_neq", "semver_gt", "semver_gte", "semver_lt", "semver_lte", "semver_tilde", "semver_caret"), r.one(`"1.2.3"`, `"1.2"`, `"1.2.3-rc.1"`)
	case 4:
		operator, value = r.one("is_date_exact", "is_date_before", "is_date_after"), r.one(`"2026-06-01"`, `"-7d"`, `"12h"`)
	case 5:
		return r.object(append(pairs, "operator", r.one(`"is_set"`, `"is_not_set"`), "value?", r.one("null", `"x"`))...)
	case 6:
		operator = r.one("exact", "is_not")
	default:
		return r.object(append(pairs, "operator?", "null", "value", value)...)
	}
	return r.object(append(pairs, "operator", `"`+operator+`"`, "value", value)...)
}
