package uses

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// A Purity tells which expressions can be left out: nothing is called that could have an
// effect, and nothing can panic.
type Purity struct {
	Info *types.Info

	// Strict says that a field of a nil pointer and a method of a nil interface count as
	// panics.
	Strict bool
}

// harmless are functions and methods that have no effects, besides those in methods that
// are called for a flag.
var harmless = map[string]map[string]bool{
	"context":       {"Background": true, "TODO": true, "WithoutCancel": true},
	"net/http":      {"Request.Context": true},
	"strings":       {"Contains": true, "EqualFold": true, "HasPrefix": true, "HasSuffix": true, "ToLower": true, "ToUpper": true, "TrimSpace": true},
	"testing":       {"common.Context": true, "TB.Context": true},
	flagstaffPath:   {"From": true, "Client.For": true, "Client.Snapshot": true, "Client.Evaluator": true, "Person.Request": true},
	flagsPath:       {"AnyProperty": true, "BoolProperty": true, "FloatProperty": true, "IntProperty": true, "StringProperty": true, "TimeProperty": true, "ByKey": true, "Evaluator.Snapshot": true},
	openFeaturePath: {"NewEvaluationContext": true, "NewTargetlessEvaluationContext": true, "Client.EvaluationContext": true},
	postHogPath:     {"NewProperties": true, "NewGroups": true},
}

// Expr reports whether an expression can be left out.
func (p Purity) Expr(e ast.Expr) bool {
	if tv, ok := p.Info.Types[e]; ok && (tv.Value != nil || tv.IsType()) {
		return true
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident, *ast.BasicLit, *ast.FuncLit:
		return true
	case *ast.SelectorExpr:
		s := p.Info.Selections[e]
		if s == nil {
			return true // of a package
		}
		return (!p.Strict || s.Kind() == types.FieldVal && !s.Indirect()) && p.Expr(e.X)
	case *ast.UnaryExpr:
		return e.Op != token.ARROW && p.Expr(e.X)
	case *ast.BinaryExpr:
		return p.operator(e) && p.all(e.X, e.Y)
	case *ast.CompositeLit:
		return p.composite(e)
	case *ast.IndexExpr:
		return p.isPlainMap(p.Info.TypeOf(e.X)) && p.all(e.X, e.Index)
	case *ast.CallExpr:
		return p.callee(e) && p.all(e.Args...)
	}
	return false
}

func (p Purity) all(list ...ast.Expr) bool {
	return !slices.ContainsFunc(list, func(e ast.Expr) bool { return !p.Expr(e) })
}

// Parts reports whether the arguments of a call can be left out, and what its method
// belongs to.
func (p Purity) Parts(call *ast.CallExpr) bool {
	on := receiver(call)
	return (on == nil || p.Expr(on)) && p.all(call.Args...)
}

// operator reports whether the operator of an expression cannot panic.
func (p Purity) operator(e *ast.BinaryExpr) bool {
	switch e.Op {
	case token.QUO, token.REM, token.SHL, token.SHR:
		return false
	case token.EQL, token.NEQ: // values of interfaces, structs and arrays may not be comparable
		with := p.Info.Types[e.X].IsNil() || p.Info.Types[e.Y].IsNil()
		return with || isPlain(p.Info.TypeOf(e.X)) && isPlain(p.Info.TypeOf(e.Y))
	}
	return true
}

// isPlain reports whether values of a type can always be compared.
func isPlain(t types.Type) bool {
	if t == nil {
		return false
	}
	switch t.Underlying().(type) {
	case *types.Basic, *types.Pointer, *types.Chan:
		return true
	}
	return false
}

// isPlainMap reports whether a type is a map whose keys can always be compared.
func (p Purity) isPlainMap(t types.Type) bool {
	if t == nil {
		return false
	}
	m, ok := t.Underlying().(*types.Map)
	return ok && isPlain(m.Key())
}

func (p Purity) composite(e *ast.CompositeLit) bool {
	t := p.Info.TypeOf(e)
	if t == nil {
		return false
	}
	_, isStruct := t.Underlying().(*types.Struct)
	if _, isMap := t.Underlying().(*types.Map); isMap && !p.isPlainMap(t) {
		return false
	}
	for _, x := range e.Elts {
		if pair, ok := x.(*ast.KeyValueExpr); ok {
			if !isStruct && !p.Expr(pair.Key) {
				return false
			}
			x = pair.Value
		}
		if !p.Expr(x) {
			return false
		}
	}
	return true
}

// callee reports whether a call has no effect besides its arguments'.
func (p Purity) callee(call *ast.CallExpr) bool {
	fun := ast.Unparen(call.Fun)
	if p.Info.Types[fun].IsType() {
		switch t := p.Info.TypeOf(call); t.Underlying().(type) {
		case *types.Basic, *types.Interface:
			return true
		}
		return false // a slice may not fit an array
	}
	if id, ok := fun.(*ast.Ident); ok {
		if b, ok := p.Info.Uses[id].(*types.Builtin); ok {
			return b.Name() == "len" || b.Name() == "cap"
		}
	}
	path, name, ok := calleeOf(p.Info, call)
	on := receiver(call)
	switch {
	case !ok:
		return false
	case path == postHogPath && (name == "Properties.Set" || name == "Groups.Set"):
		// It changes what it is called on, which is new if a call has made it.
		_, made := ast.Unparen(on).(*ast.CallExpr)
		return made && p.Expr(on)
	case !harmless[path][name]:
		return false
	case on == nil, !p.Strict:
		return on == nil || p.Expr(on)
	}
	// A method of a nil pointer is called as well, and those that are known read it.
	_, isName := ast.Unparen(on).(*ast.Ident)
	return isName
}
