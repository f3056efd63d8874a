package growthbook_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// TestExportOwn exports rules with operators of Flagstaff, as somebody writes them who imports
// nothing. GrowthBook's SDK makes the same values of them.
func TestExportOwn(t *testing.T) {
	seen := make(map[string]int)
	for n := range uint64(fulltest.Count(100, 2_000)) {
		r := rand.New(rand.NewPCG(11, n))
		_, subjects := generate(r, 50)
		g := &generator{Rand: r, asked: make(map[string]list)}
		for i := range subjects { // what filters ask for is what some have
			for _, name := range []string{"country", "age", "tags", "beta"} {
				g.asked[name] = append(g.asked[name], subjects[i].Properties[name])
			}
			g.asked["distinct_id"] = append(g.asked["distinct_id"], subjects[i].ID)
		}
		flag := func(key string, id int, rules ...any) object {
			return object{"id": id, "key": key, "active": true, "filters": object{"version": 2, "return_type": "string", "default_value": "rest", "rules": rules}}
		}
		needed := flag("needed", 1, g.ownRule("a", g.ownFilter(0)), g.ownRule("b", g.ownFilter(0)))
		if g.chance(20) {
			needed["filters"].(object)["default_value"] = nil
		}
		document, err := json.Marshal(object{"flags": list{needed, flag("f", 2, g.ownRule("a", g.ownFilter(3)), g.ownSplit(), g.ownRule("b", g.ownFilter(3)))}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := convert.Read(document)
		if err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		exported, refused, err := product.Export(p, &product.Options)
		if err != nil || len(refused) > 0 {
			t.Fatalf("%v: refused %q\n%s", err, refused, document)
		}
		d, err := flags.Decode(bytes.NewReader(document))
		if err != nil {
			t.Fatal(err)
		}
		ours, err := flags.Compile(d, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		theirs := open(t, exported)
		for i := range subjects {
			for _, key := range []string{"needed", "f"} {
				result, err := ours.Flag(key, &flags.Request{DistinctID: subjects[i].ID, PersonProperties: subjects[i].Properties})
				if err != nil {
					t.Fatal(err)
				}
				got := json.RawMessage("null")
				if result.JSON() != nil {
					got = result.JSON()
				}
				want, err := theirs(key, &subjects[i])
				if err != nil || result.Failed || !sameJSON(got, want) {
					about, _ := json.Marshal(subjects[i])
					t.Fatalf("%v, document %d: flag %s is %s, and %s in GrowthBook\nfor %s\nof %s\nto %s", err, n, key, got, want, about, document, exported)
				}
				seen[key+string(want)]++
			}
		}
	}
	t.Log(seen)
}

func (g *generator) ownRule(value string, filters ...object) object {
	return object{"rule_type": "targeted_release", "targeting": object{"properties": filters}, "value": value}
}

func (g *generator) ownSplit() object {
	split := g.draw()
	split["no_subject"], split["ends"], split["values"] = "continue", list{"100", "400", "700"}, list{"a", "b", "c"}
	return object{"rule_type": "split", "targeting": object{"properties": list{g.ownFilter(2)}}, "split": split}
}

// draw returns a split without ends.
func (g *generator) draw() object {
	split := object{"hash": "fnv1a_32_utf16", "modulus": "1000", "suffix": "seed"}
	if g.chance(50) {
		split = object{"hash": "fnv1a_32_utf16_twice", "modulus": "10000", "prefix": "seed"}
	}
	if g.chance(30) {
		split["subject"], split["decimal"] = "deviceId", true
	}
	split["rest"], split["no_subject"] = pick(g.Rand, "last", "continue", "return_default"), pick(g.Rand, "continue", "return_default")
	return split
}

// ownFilter returns a filter with our operators. Draws are never negated.
func (g *generator) ownFilter(depth int) object {
	switch n := g.IntN(10); {
	case depth > 0 && n < 5:
		filters := list{}
		for range 1 + g.IntN(3) {
			filters = append(filters, g.ownFilter(depth-1))
		}
		f := object{"type": pick(g.Rand, "any", "all"), "filters": filters}
		if g.chance(20) && depth == 1 {
			f["negation"] = true
		}
		return f
	case depth > 1 && n < 7:
		split := g.draw()
		split["ends"], split["values"] = list{"100", "400", "700"}, list{false, true, g.boolean()}
		return object{"type": "split", "split": split}
	case depth > 0 && n < 8:
		return object{
			"type": "flag", "key": "needed", "operator": "flag_evaluates_to", "value": pick[any](g.Rand, "a", "b", "rest", "none", true, false),
			"negation": g.boolean(), "strict_type": g.boolean(),
		}
	}
	key := pick(g.Rand, "country", "age", "tags", "beta", "distinct_id", "company")
	f := object{
		"type": "person", "key": key, "case_sensitive": true, "strict_type": key != "distinct_id" || g.chance(50), "must_be_set": g.boolean(),
		"any_element": g.boolean(), "negation": g.boolean(),
	}
	if key == "company" {
		f["path"] = pick(g.Rand, "/plan", "/owner/name", "/a~1b~0c")
	}
	texts := list{g.ownText(key), g.ownText(key)}
	switch g.IntN(4) {
	case 0:
		f["operator"], f["value"] = pick(g.Rand, "exact", "is_not"), texts[0]
		if key == "age" || key == "tags" {
			f["value"], f["case_sensitive"] = g.number(), g.boolean()
		}
	case 1:
		f["operator"], f["value"] = pick(g.Rand, "exact", "is_not", "icontains_multi", "not_icontains_multi"), texts
	case 2:
		f["operator"], f["value"] = pick(g.Rand, "starts_with", "not_ends_with", "icontains", "ends_with", "not_starts_with", "not_icontains"), texts[0]
	case 3:
		f["operator"], f["value"], f["strict_type"] = pick(g.Rand, "gt", "gte", "lt", "lte"), g.number(), true
	}
	return f
}

// ownText returns a text, often one that some have.
func (g *generator) ownText(key string) any {
	if asked := g.asked[key]; len(asked) > 0 {
		switch v := pick(g.Rand, asked...).(type) {
		case string:
			if v != "" {
				return v
			}
		case list:
			for _, e := range v {
				if s, ok := e.(string); ok && s != "" {
					return s
				}
			}
		}
	}
	return pick(g.Rand, "US", "pro", "u", "s", "a.b")
}
