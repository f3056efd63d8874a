package uses

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"
)

// findOpen finds where methods that ask for flags are not called, and where handles go
// where they are not followed.
func (f *finder) findOpen(found *Package, places []place) {
	asks := make(map[ast.Expr]bool)     // what is called, and what it is called on or with
	called := make(map[*types.Var]int)  // calls by variables
	followed := make(map[ast.Expr]bool) // values of variables that are called only
	for _, p := range places {
		if v := f.variable(p.call.Fun); v != nil {
			called[v]++
			followed[ast.Unparen(f.only(v))] = f.mentions[v] == called[v]
		}
		asks[ast.Unparen(p.call.Fun)] = true
		if sel := selector(p.call.Fun); sel != nil {
			asks[sel] = true
		}
		if p.method.handle && p.on != nil {
			asks[ast.Unparen(p.on)] = true
		}
		if e := argument(p.call, p.method.ref); e != nil {
			asks[ast.Unparen(e)] = true
		}
	}
	for _, d := range f.byCall {
		if d.Key == "" {
			found.Open = append(found.Open, Open{d.KeyExpr, "", "the key of this handle is not a constant"})
		}
	}
	for _, file := range f.Files {
		for n := range ast.Preorder(file) {
			if call, ok := n.(*ast.CallExpr); ok {
				if o, ok := f.byInterface(call); ok {
					found.Open = append(found.Open, o)
				}
			}
		}
		ast.PreorderStack(file, nil, func(n ast.Node, parents []ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok || asks[e] {
				return true
			}
			if name, m, ok := f.method(e); ok {
				if _, part := parents[len(parents)-1].(*ast.SelectorExpr); !part && !followed[e] {
					o := Open{Expr: e, Reason: name + " is not called here, but kept or passed on"}
					if d := f.handle(selector(e).X); m.handle && d != nil {
						o.Key = d.Key
					}
					found.Open = append(found.Open, o)
				}
				asks[ast.Unparen(selector(e).X)] = true // it is told already
				return true
			}
			if d := f.handle(e); d != nil && d.Key != "" && isHandle(f.Info.TypeOf(e)) {
				if where := f.goes(parents); where != "" {
					found.Open = append(found.Open, Open{e, d.Key, "its handle is " + where})
				}
			}
			return true
		})
	}
}

// goes says where a handle goes, "" if it is followed there or is not asked.
func (f *finder) goes(parents []ast.Node) string {
	i := len(parents) - 1
	for ; i > 0; i-- {
		if _, ok := parents[i].(*ast.ParenExpr); !ok {
			break
		}
	}
	switch p := parents[i].(type) {
	case *ast.SelectorExpr: // it is Key, or e is the name of a package's variable, which was looked at with the package
		return ""
	case *ast.BinaryExpr, *ast.ExprStmt:
		return ""
	case *ast.CallExpr:
		return "passed on"
	case *ast.ReturnStmt:
		return "returned"
	case *ast.ValueSpec:
		if f.followsAll(p.Names) {
			return ""
		}
	case *ast.AssignStmt:
		var names []*ast.Ident
		for _, to := range p.Lhs {
			name, ok := to.(*ast.Ident)
			if !ok {
				return "kept"
			}
			names = append(names, name)
		}
		if f.followsAll(names) {
			return ""
		}
	}
	return "kept"
}

// followsAll reports whether variables are followed to where they are used: handles of
// packages, and local variables that are set once.
func (f *finder) followsAll(names []*ast.Ident) bool {
	for _, name := range names {
		if v := f.variable(name); name.Name != "_" && f.byVar[v] == nil && f.only(v) == nil {
			return false
		}
	}
	return true
}

// byInterface returns what a call of an interface's method can ask for, if a type that asks
// for flags implements the interface.
func (f *finder) byInterface(call *ast.CallExpr) (o Open, ok bool) {
	sel := selector(call.Fun)
	if sel == nil {
		return Open{}, false
	}
	called, ok := f.Info.Uses[sel.Sel].(*types.Func)
	if !ok || called.Signature().Recv() == nil || called.Pkg() == nil || methods[called.Pkg().Path()] != nil {
		return Open{}, false
	}
	of, ok := called.Signature().Recv().Type().Underlying().(*types.Interface)
	if !ok {
		return Open{}, false
	}
	for path, pkg := range f.askers {
		for name, m := range methods[path] {
			typ, name, isMethod := strings.Cut(name, ".")
			if !isMethod || name != called.Name() || m.key == 0 {
				continue
			}
			t := pkg.Scope().Lookup(typ)
			if t == nil || !types.Implements(types.NewPointer(t.Type()), of) {
				continue
			}
			key, _ := f.text(argument(call, m.key))
			return Open{call.Fun, key, fmt.Sprintf("what it asks may be a %s.%s", pkg.Name(), typ)}, true
		}
	}
	return Open{}, false
}
