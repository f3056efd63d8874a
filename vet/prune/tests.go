package prune

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
)

const flagstestPath = "github.com/flagstaff-go/flagstaff/flags/flagstest"

// takesFlags are the functions of package flagstest whose last arguments are flags.
var takesFlags = map[string]bool{"With": true, "Evaluator": true, "Snapshot": true, "Definitions": true}

// A testFlag is a flag that a test sets.
type testFlag struct {
	place   Place
	call    *ast.CallExpr // of Flag
	removal removal
	same    bool // its value is the settled one, and it can be left out
}

// tests leaves out flags that tests set to the values that they have anyway, if nothing
// that was loaded asks for them any more.
func (p *pruner) tests() error {
	asked := make(map[string]bool)
	for _, u := range p.list {
		for _, k := range u.kept {
			asked[k.place.Key] = asked[k.place.Key] || k.place.Line > 0
		}
		for _, s := range u.sites {
			asked[s.key] = asked[s.key] || s.left != "" && s.line > 0
		}
	}
	for _, u := range p.list {
		var set []testFlag
		before := len(u.kept)
		for _, t := range u.testFlags(p.settled) {
			switch {
			case t.removal.file.fixed && p.seenBefore(u, t.removal.file):
			case t.same && (asked[t.place.Key] || asked[""]):
				t.place.Reason = "the test sets the flag, which code still asks for"
				if !asked[t.place.Key] {
					t.place.Reason = "the test sets the flag, which code may still ask for"
				}
				u.keep(t.removal.file, t.call.Lparen+1, t.place)
			case t.same && !t.removal.file.fixed:
				set = append(set, t)
			default:
				u.keep(t.removal.file, t.call.Lparen+1, t.place)
			}
		}
		if len(set) == 0 && len(u.kept) == before {
			continue
		}
		reasons := make([]string, len(u.sites))
		for i, s := range u.sites {
			reasons[i] = s.left
		}
		for _, t := range set {
			u.removals = append(u.removals, t.removal)
		}
		err := p.rewrite(u)
		if p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		worse := false
		for i, s := range u.sites {
			worse = worse || s.left != reasons[i]
			s.left = reasons[i]
		}
		if err == nil && !worse {
			continue
		}
		u.removals = nil
		for _, f := range u.files {
			f.text = f.original
		}
		for _, t := range set {
			t.place.Reason = "the test sets the flag, and would not compile without it"
			u.keep(t.removal.file, t.call.Lparen+1, t.place)
		}
		if err := p.rewrite(u); err != nil {
			return err
		}
	}
	return nil
}

// testFlags returns the flags that the files of a unit set, of those that are pruned.
func (u *packageUnit) testFlags(settled map[string]result) (list []testFlag) {
	info := u.from.TypesInfo
	for _, syntax := range u.from.Syntax {
		file := u.byPos[u.from.Fset.File(syntax.FileStart)]
		ast.PreorderStack(syntax, nil, func(n ast.Node, stack []ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isFlagstest(info, call, "Flag") || len(call.Args) != 1 {
				return true
			}
			key := info.Types[call.Args[0]].Value
			if key == nil {
				return true
			}
			r, ok := settled[constant.StringVal(key)]
			if !ok {
				return true
			}
			at := u.from.Fset.PositionFor(call.Pos(), false)
			t := testFlag{place: Place{Position: at, Line: at.Line, Key: constant.StringVal(key)}, call: call}
			t.removal.file = file
			set, top, parents, readable := u.chain(t.place.Key, append(stack, call))
			value, isConstant := constantOf(set)
			switch {
			case !readable || !isConstant:
				t.place.Reason = "the test sets the flag in a way that is not understood"
			case value.text() != r.text():
				t.place.Reason = fmt.Sprintf("the test sets the flag to %q, and is about code that goes", value.text())
			default:
				t.place.Reason = "the test sets the flag"
				t.removal.start, t.removal.end, t.same = argument(info, syntax, parents, top)
			}
			list = append(list, t)
			return true
		})
	}
	return list
}

// isFlagstest reports whether a call is one of a function of package flagstest.
func isFlagstest(info *types.Info, call *ast.CallExpr, name string) bool {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || info.Selections[sel] != nil {
		return false
	}
	f, ok := info.Uses[sel.Sel].(*types.Func)
	return ok && f.Pkg().Path() == flagstestPath && f.Name() == name
}

// chain follows the methods that are called on a flag, as flagstest does. It returns the
// flag, the last call, and what is around that.
func (u *packageUnit) chain(key string, stack []ast.Node) (f *flags.Flag, top ast.Node, parents []ast.Node, ok bool) {
	f = &flags.Flag{ID: 1, Key: key, Active: true, Version: 1}
	ok = true
	i := len(stack) - 1
	for ; i >= 2; i -= 2 {
		sel, isSelector := stack[i-1].(*ast.SelectorExpr)
		call, isCall := stack[i-2].(*ast.CallExpr)
		if !isSelector || !isCall || sel.X != stack[i] || call.Fun != sel {
			break
		}
		ok = u.apply(f, sel.Sel.Name, call.Args) && ok
	}
	return f, stack[i], stack[:i], ok
}

// apply does to a flag what a method of flagstest.Builder does. It is not ok for a method
// that is not one of those that make a flag the same for everybody.
func (u *packageUnit) apply(f *flags.Flag, method string, args []ast.Expr) bool {
	var texts []string
	var numbers []float64
	for _, e := range args {
		switch v := u.from.TypesInfo.Types[e].Value; {
		case v == nil:
			return false
		case v.Kind() == constant.String:
			texts = append(texts, constant.StringVal(v))
		default:
			n, _ := constant.Float64Val(constant.ToFloat(v))
			numbers = append(numbers, n)
		}
	}
	last := func() *flags.Condition {
		if len(f.Filters.Groups) == 0 {
			f.Filters.Groups = append(f.Filters.Groups, flags.Condition{})
		}
		return &f.Filters.Groups[len(f.Filters.Groups)-1]
	}
	switch {
	case method == "Payload": // which decides nothing
	case method == "On" || method == "Condition":
		f.Filters.Groups = append(f.Filters.Groups, flags.Condition{})
	case method == "Off":
		f.Filters.Groups = nil
	case method == "Rollout" && len(numbers) == 1:
		last().RolloutPercentage = &numbers[0]
	case method == "Pin" && len(texts) == 1:
		last().Variant = &texts[0]
	case method == "Variant" && len(texts) == 1 && len(numbers) == 1:
		f.Filters.Multivariate = cmp.Or(f.Filters.Multivariate, new(flags.Multivariate))
		m := f.Filters.Multivariate
		m.Variants = append(m.Variants, flags.Variant{Key: texts[0], RolloutPercentage: numbers[0]})
	default:
		return false
	}
	return true
}

// constantOf returns the value that a flag has for everybody.
func constantOf(f *flags.Flag) (result, bool) {
	if len(f.Filters.Groups) == 0 {
		return result{}, true // as for every flag without condition sets
	}
	s, err := flags.Compile(&flags.Definitions{Flags: []flags.Flag{*f}}, flags.CompileOptions{})
	if err != nil {
		return result{}, false
	}
	r, ok := s.Constant(f.Key)
	return result{r.Enabled, r.Variant}, ok
}

// argument returns what has to go with an argument of a function that takes flags.
func argument(info *types.Info, syntax *ast.File, parents []ast.Node, arg ast.Node) (start, end int, ok bool) {
	call, ok := parents[len(parents)-1].(*ast.CallExpr)
	if !ok || call.Ellipsis.IsValid() || !slices.ContainsFunc(slices.Collect(maps.Keys(takesFlags)), func(name string) bool { return isFlagstest(info, call, name) }) {
		return 0, 0, false
	}
	i := slices.IndexFunc(call.Args, func(e ast.Expr) bool { return e == arg })
	if i < 1 {
		return 0, 0, false
	}
	at := func(p token.Pos) int { return int(p - syntax.FileStart) }
	return at(call.Args[i-1].End()), at(arg.End()), true
}
