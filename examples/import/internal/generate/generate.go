// Package generate makes users, and rules in JSONLogic that are about them.
package generate

import (
	"fmt"
	"math/rand/v2"

	"github.com/flagstaff-go/flagstaff/examples/import/internal/oracle"
)

// Pick returns one of a list.
func Pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

var (
	// Attributes have names that a query can have, and come within others.
	Attributes = []string{"plan", "age", "score", "beta", "version", "tags", "key", "targetingKey", "anonymous", "user"}
	Nested     = []string{"user.name", "user.age", "user.address.city", "user.address.zip", "plan.x", "key.x", "anonymous.y", "user.address"}
	Texts      = []string{"pro", "PRO", "Pro", "free", "", "ÉCOLE", "école", "ΣΊΣΥΦΟΣ", "σίσυφοσ", "u-1", "U-1", "u-12", "1.2.3", "10", "ſ", "K", "pr"}
	Versions   = []string{"1.2.3", "1.2.4", "1.10.0", "2.0.0-rc.1", "2.0.0-rc.2", "2.0.0-rc.a", "2.0.0", "0.0.1+b.5", "1.2.3-alpha", "1.0.0--", "01.2.3", "1.2", "v1.2.3", "1.2.3+", "99999999999999999999.0.0", "1.2.3-01"}
	Wholes     = []int{0, 1, 2, 17, 18, 19, 100, 9007199254740993}
	Doubles    = []float64{0, 0.5, 1, 1.5, 17.5, 18, 18.000001, 2e9, -1, -1.5, -18, 1e18, 1e19}
)

// A Generator makes random things.
type Generator struct {
	*rand.Rand

	// Call makes an expression with an operator of the product's own, if there is any.
	Call func(depth int) any
}

// Logic makes a rule in JSONLogic.
func (g Generator) Logic(depth int) any {
	switch n := g.IntN(12); {
	case depth > 0 && n < 4:
		list := make([]any, g.IntN(4))
		for i := range list {
			list[i] = g.Logic(depth - 1)
		}
		return map[string]any{Pick(g.Rand, "and", "or"): list}
	case depth > 0 && n == 4:
		if g.IntN(2) == 0 {
			return map[string]any{Pick(g.Rand, "!", "!!"): g.Logic(depth - 1)}
		}
		return map[string]any{Pick(g.Rand, "!", "!!"): []any{g.Logic(depth - 1)}}
	case depth > 0 && n == 5:
		list := make([]any, g.IntN(6))
		for i := range list {
			list[i] = g.Logic(depth - 1)
		}
		return map[string]any{Pick(g.Rand, "if", "?:"): list}
	case n == 6:
		return map[string]any{Pick(g.Rand, "!", "!!"): g.Variable()}
	case n == 7 && g.IntN(2) == 0:
		return g.Variable()
	case n == 8:
		switch g.IntN(4) {
		case 0:
			return map[string]any{"in": []any{g.Constant(), g.Variable()}}
		case 1:
			return map[string]any{"in": []any{g.Variable(), Pick(g.Rand, Texts...)}}
		}
		list := make([]any, g.IntN(4))
		for i := range list {
			list[i] = g.Constant()
			if g.IntN(4) == 0 {
				list[i] = Pick[any](g.Rand, map[string]any{"a": 1, "b": 2}, true, []any{1}, []any{true, 2}, []any{"", "z"})
			}
			if g.IntN(4) == 0 {
				list[i] = []any{1, Pick[any](g.Rand, 20.0, "20", 0.5)}
			}
		}
		return map[string]any{"in": []any{g.Variable(), list}}
	case n == 9:
		return map[string]any{"missing": []any{"plan", "age"}}
	case depth > 0 && n == 10:
		return map[string]any{Pick(g.Rand, "==", "<", "==="): []any{g.Logic(depth - 1), g.Constant()}}
	}
	if g.Call != nil && g.IntN(4) == 0 {
		return g.Call(depth)
	}
	op := Pick(g.Rand, "==", "===", "!=", "!==", "<", "<=", ">", ">=")
	switch g.IntN(6) {
	case 0:
		return map[string]any{op: []any{g.Constant(), g.Variable()}}
	case 1:
		return map[string]any{op: []any{g.Constant(), g.Variable(), g.Constant()}}
	}
	return map[string]any{op: []any{g.Variable(), g.Constant()}}
}

func (g Generator) Variable() any {
	name := Pick(g.Rand, Attributes...)
	if g.IntN(5) == 0 {
		name = Pick(g.Rand, Nested...)
	}
	if g.IntN(8) == 0 {
		return map[string]any{"var": []any{name, g.Constant()}}
	}
	return map[string]any{"var": name}
}

func (g Generator) Constant() any {
	switch g.IntN(8) {
	case 0:
		return g.IntN(2) == 0
	case 1:
		return nil
	case 2, 3:
		return Pick(g.Rand, Doubles...)
	case 4:
		return Pick(g.Rand, "1", " 1", "1e0", "0x1p-2", "Infinity", "abc", " ", "1_0", "18", "nan")
	}
	return Pick(g.Rand, Texts...)
}

func (g Generator) Subject(i int) oracle.Subject {
	s := oracle.Subject{ID: Pick(g.Rand, fmt.Sprintf("u-%d", i), fmt.Sprintf("U-%d", i%20), fmt.Sprint(g.Uint64())), Properties: make(map[string]any)}
	for _, name := range []string{"plan", "age", "score", "beta", "version", "tags", "anonymous", "user"} {
		if g.IntN(5) > 0 {
			s.Properties[name] = g.Value(name, 2)
		}
	}
	return s
}

// Value mostly is of the type that an attribute should have.
func (g Generator) Value(name string, depth int) any {
	if g.IntN(4) == 0 {
		name = "any"
	}
	switch name {
	case "plan", "name", "city":
		return Pick(g.Rand, Texts...)
	case "age", "score", "zip":
		return g.Number()
	case "beta", "anonymous":
		return g.IntN(2) == 0
	case "version":
		return Pick(g.Rand, Versions...)
	case "tags":
		return Pick[any](g.Rand, []any{}, []any{"pro"}, []any{"free", 1.0}, []any{0.0}, []any{[]any{1.0, 2.0}}, []any{map[string]any{}}, []any{nil, true}, []any{false})
	case "user", "address":
		if depth > 0 {
			o := make(map[string]any)
			for _, inner := range []string{"name", "age", "address", "city", "zip"} {
				if g.IntN(4) > 0 {
					o[inner] = g.Value(inner, depth-1)
				}
			}
			return o
		}
	}
	return Pick[any](g.Rand, nil, true, false, g.Number(), Pick(g.Rand, Texts...), Pick(g.Rand, "1", "18", " 18", "1e2", "inf"), []any{}, map[string]any{}, map[string]any{"zz": 1.0}, []any{1.0})
}

func (g Generator) Number() float64 {
	if g.IntN(2) == 0 {
		return float64(Pick(g.Rand, Wholes...) * Pick(g.Rand, 1, -1)) // never -0, which is zero to Flagstaff
	}
	return Pick(g.Rand, Doubles...) + Pick(g.Rand, 0, 0, 0.5, -0.000001)
}
