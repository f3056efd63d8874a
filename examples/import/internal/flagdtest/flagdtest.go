// Package flagdtest makes files of flagd for two tests: flagd has changed how it draws, and no
// program can have both of its libraries.
package flagdtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/generate"
	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/flagd"
)

// Product returns flagd as one version of it draws. open reads a file with its library.
func Product(version string, open func(t testing.TB, document []byte) func(string, *oracle.Subject) (json.RawMessage, error)) *oracle.Product {
	return &oracle.Product{
		Convert: flagd.Convert, Export: flagd.Export, Options: convert.Options{Version: version}, Open: open,
		MayRefuse: "no targeting of flagd comes back as it",
		Generate:  func(r *rand.Rand, n int) ([]byte, []oracle.Subject) { return document(r, n, version) },
	}
}

// Context is what a user is to flagd.
func Context(s *oracle.Subject) map[string]any {
	c := map[string]any{"targetingKey": s.ID}
	maps.Copy(c, s.Properties)
	return c
}

type generator struct {
	generate.Generator
	old bool
}

func document(r *rand.Rand, n int, version string) ([]byte, []oracle.Subject) {
	g := generator{generate.Generator{Rand: r}, version == "old"}
	g.Call = g.call
	all := make(map[string]any)
	for i := range 10 {
		f := g.flag()
		for hasProblem(f, version) {
			f = g.flag()
		}
		all[fmt.Sprintf("flag-%d", i)] = f
	}
	file, err := json.Marshal(map[string]any{"flags": all, "$evaluators": evaluators})
	if err != nil {
		panic(err)
	}
	subjects := make([]oracle.Subject, n/5)
	for i := range subjects {
		if subjects[i] = g.Subject(i); g.IntN(20) == 0 {
			subjects[i].ID = "ada" // whom definitions that were written by hand are about
		}
		if _, ok := subjects[i].Properties["key"]; !ok && g.IntN(2) == 0 {
			subjects[i].Properties["key"] = generate.Pick(r, generate.Texts...)
		}
		withoutLists(subjects[i].Properties)
	}
	return file, subjects
}

// withoutLists takes lists out of what is drawn with, which flagd takes for shares, and of what has
// other attributes in it, where flagd looks into the first element. The converter says so.
func withoutLists(properties map[string]any) {
	for _, name := range []string{"plan", "version", "name", "age", "user", "address", "key", "anonymous"} {
		if _, ok := properties[name].([]any); ok {
			properties[name] = "pro"
		}
	}
	if user, ok := properties["user"].(map[string]any); ok {
		withoutLists(user)
	}
}

var evaluators = map[string]any{
	"paying":  map[string]any{"in": []any{map[string]any{"var": "plan"}, []any{"pro", "PRO"}}},
	"grown":   map[string]any{">=": []any{map[string]any{"var": "age"}, 18}},
	"unknown": map[string]any{"nosuch": []any{}},
}

// hasProblem reports whether a flag is imported with a problem: what cannot be said is not
// compared.
func hasProblem(f map[string]any, version string) bool {
	file, err := json.Marshal(map[string]any{"flags": map[string]any{"f": f}, "$evaluators": evaluators})
	if err != nil {
		panic(err)
	}
	p, err := flagd.Convert(file, &convert.Options{Version: version})
	return err == nil && len(p.Flags[0].Problems) > 0
}

var variants = []map[string]any{
	{"a": true, "b": false, "true": true, "false": false},
	{"a": "one", "b": "two", "pro": "three", "1": "four", "null": "five"},
	{"a": 1, "b": 2.5, "18": -3, "false": 0},
	{"a": map[string]any{"x": 1}, "b": map[string]any{}, "u-1": map[string]any{"y": []any{1, "", nil}}},
}

func (g generator) flag() map[string]any {
	f := map[string]any{"state": "ENABLED", "variants": generate.Pick(g.Rand, variants...)}
	if g.IntN(6) > 0 {
		f["defaultVariant"] = generate.Pick(g.Rand, "a", "b")
	}
	if g.IntN(15) == 0 {
		f["state"] = "DISABLED"
	}
	if g.IntN(10) > 0 {
		f["targeting"] = g.targeting(2)
	}
	return f
}

func (g generator) targeting(depth int) any {
	switch n := g.IntN(10); {
	case n < 5 && depth > 0:
		var list []any
		for range 1 + g.IntN(2) {
			list = append(list, g.condition(), g.targeting(depth-1))
		}
		if g.IntN(3) > 0 {
			list = append(list, g.targeting(depth-1))
		}
		return map[string]any{"if": list}
	case n < 8:
		return g.fractional()
	case n == 8:
		return generate.Pick[any](g.Rand, nil, "a", "b", "pro", "none", true, false, 1, 18, map[string]any{}, []any{"a"},
			map[string]any{"var": "plan"}, map[string]any{"var": "beta"}, map[string]any{"var": []any{"age", "b"}})
	}
	return g.Logic(1)
}

func (g generator) condition() any {
	if g.IntN(4) == 0 {
		return map[string]any{"$ref": generate.Pick(g.Rand, "paying", "paying", "grown", "grown", "unknown", "missing")}
	}
	return g.Logic(1)
}

// call makes an expression with an operator that flagd adds to JSONLogic.
func (g generator) call(depth int) any {
	operand := g.Variable()
	if depth > 0 && g.IntN(8) == 0 {
		operand = g.Logic(0)
	}
	switch g.IntN(6) {
	case 0:
		if depth > 0 {
			return map[string]any{generate.Pick(g.Rand, "==", "in"): []any{g.fractional(), generate.Pick[any](g.Rand, "a", []any{"a", "pro"}, nil)}}
		}
	case 1, 2:
		list := []any{operand, generate.Pick(g.Rand, "=", "!=", "<", "<=", ">", ">=", "^", "~", "=="), generate.Pick(g.Rand, generate.Versions...)}
		return map[string]any{"sem_ver": list[:generate.Pick(g.Rand, 3, 3, 3, 3, 3, 2)]}
	}
	list := []any{operand, generate.Pick[any](g.Rand, "p", "", "PRO", "u", "1", 1.0, nil)}
	return map[string]any{generate.Pick(g.Rand, "starts_with", "ends_with"): list[:generate.Pick(g.Rand, 2, 2, 2, 2, 2, 1)]}
}

func (g generator) fractional() any {
	var list []any
	switch g.IntN(7) {
	case 0:
		list = append(list, map[string]any{"var": generate.Pick(g.Rand, "plan", "user.name", "user.age", "targetingKey", "version", "nowhere")})
	case 1:
		list = append(list, map[string]any{"cat": []any{map[string]any{"var": "$flagd.flagKey"}, map[string]any{"var": generate.Pick(g.Rand, "targetingKey", "beta", "key")}}})
	case 2:
		list = append(list, map[string]any{"cat": []any{" x", 1.5, nil, map[string]any{"var": "key"}, "y "}})
	case 3:
		list = append(list, generate.Pick[any](g.Rand, "a seed", nil, 1.0, true, map[string]any{"cat": []any{"a ", "b "}}, map[string]any{"var": []any{"key", "seed"}}))
	}
	shares := g.IntN(5)
	small := g.IntN(2) == 0
	for range shares {
		share := []any{generate.Pick[any](g.Rand, "a", "a", "b", "b", "pro", "18", "none", "true", true, nil, 18)}
		if g.old && g.IntN(4) > 0 {
			share[0] = generate.Pick(g.Rand, "a", "b", "pro", "18")
		}
		switch {
		case g.IntN(6) == 0:
		case small:
			share = append(share, g.IntN(7))
		default:
			share = append(share, generate.Pick[any](g.Rand, 1, 2, 10, 33, 33.4, 50, 0, 1000000, 2147483, -5, "5", nil, g.IntN(1000)))
		}
		list = append(list, share)
	}
	if list == nil {
		list = []any{}
	}
	return map[string]any{"fractional": list}
}

// Moved moves the boundary of a flag whose default is drawn by the smallest step.
func Moved(_ *rand.Rand, document []byte) []byte {
	var file map[string]any
	if json.Unmarshal(document, &file) != nil {
		return nil
	}
	for _, flag := range file["flags"].(map[string]any) {
		f := flag.(map[string]any)
		t, _ := f["targeting"].(map[string]any)
		list, _ := t["fractional"].([]any)
		if len(list) < 2 {
			continue
		}
		a, _ := list[0].([]any)
		b, _ := list[1].([]any)
		if len(a) < 2 || len(b) < 2 || a[0] == b[0] {
			continue
		}
		x, isX := a[1].(float64)
		y, isY := b[1].(float64)
		if !isX || !isY || y < 1 || x+y > 10 || f["state"] != "ENABLED" {
			continue
		}
		a[1], b[1] = x+1, y-1
		other, _ := json.Marshal(file)
		return other
	}
	return nil
}
