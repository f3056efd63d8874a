package prune

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// A value is a constant with a type: bool, string, int64, float64, or a type of a package
// with one of them below.
type value struct {
	constant constant.Value
	typ      string         // its name in pkg, or in the unit
	pkg      *types.Package // nil for a type of the unit, and for bool and such
	own      bool           // it is a type of the unit
}

// valueOf returns a constant with a type. It is not ok for a type that code of the unit
// cannot name, and for a constant that is none of its values.
func (u *unit) valueOf(t types.Type, c constant.Value) (v value, ok bool) {
	if t == nil || c == nil {
		return value{}, false
	}
	info := basic(t)
	fits := false
	switch c.Kind() {
	case constant.Bool:
		fits = info&types.IsBoolean != 0
	case constant.String:
		fits = info&types.IsString != 0
	case constant.Int:
		fits = info&types.IsNumeric != 0
	case constant.Float:
		fits = info&types.IsFloat != 0
	}
	if !fits {
		return value{}, false
	}
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		name := types.Default(t).String()
		switch name {
		case "bool", "string", "int64", "float64":
			return value{constant: c, typ: name}, true
		}
	case *types.Named:
		o := t.Obj()
		switch {
		case t.TypeArgs().Len() > 0 || o.Pkg() == nil || o.Parent() != o.Pkg().Scope():
		case o.Pkg().Path() == u.path:
			return value{constant: c, typ: o.Name(), own: true}, true
		case o.Exported():
			return value{constant: c, typ: o.Name(), pkg: o.Pkg()}, true
		}
	}
	return value{}, false
}

// code returns the constant as Go has it, without its type.
func (v value) code() string {
	switch v.constant.Kind() {
	case constant.Float:
		f, _ := constant.Float64Val(v.constant)
		return strconv.FormatFloat(f, 'g', -1, 64)
	case constant.String:
		return strconv.Quote(constant.StringVal(v.constant))
	}
	return v.constant.ExactString()
}

// spell puts values in the places of the marks that are left. Marks that rules should have
// removed, and have not, make their sites be left.
func (u *unit) spell() error {
	stuck := false
	lists := make([]edits, len(u.files))
	for i, f := range u.files {
		r := newRules(u, f)
		for n := range ast.Preorder(f.syntax) {
			id, ok := n.(*ast.Ident)
			if !ok {
				continue
			}
			site, v, ok := u.marked(id.Name)
			if !ok {
				continue
			}
			why := r.stuck(id)
			code := ""
			if why == "" {
				code, why = r.literal(id, v)
			}
			if why == "" {
				lists[i].add(r.replace(id.Pos(), id.End(), code))
			} else if s := u.sites[site]; s.left == "" {
				s.left, stuck = why, true
			}
		}
	}
	if stuck {
		return errStuck
	}
	for i, f := range u.files {
		if len(lists[i]) > 0 {
			f.text, f.syntax = lists[i].apply(f.text), nil
		}
	}
	return nil
}

// stuck says why a mark cannot stay where it is.
func (r *rules) stuck(id *ast.Ident) string {
	n := parenthesized(id, r.parents)
	switch p := r.parents[n].(type) {
	case *ast.IfStmt:
		return "the statement has a label"
	case *ast.ForStmt:
		return whyLoop
	case *ast.SwitchStmt:
		return "the switch has a label, a break, or a case that is not a constant"
	case *ast.CaseClause:
		if s, ok := r.parents[r.parents[p]].(*ast.SwitchStmt); ok && s.Tag == nil {
			return "the switch falls through, has a label, or other conditions of the case have effects"
		}
	case *ast.UnaryExpr:
		if p.Op == token.NOT {
			return "what it decides has a type without a name"
		}
	case *ast.BinaryExpr:
		if p.Op == token.LAND || p.Op == token.LOR {
			return "the other operand of " + p.Op.String() + " has effects"
		}
		if r.info.Types[p].Value != nil && p.Op.Precedence() == token.EQL.Precedence() {
			return "it is compared with a constant that other builds may have otherwise"
		}
	}
	return ""
}

// literal returns the code of a value in the place of a mark, or why there is none.
func (r *rules) literal(id *ast.Ident, v value) (code, why string) {
	switch {
	case v.constant.Kind() == constant.Bool && v.typ == "bool" && v.pkg == nil && !v.own:
		code = v.code()
		if !r.means(id.Pos(), code, types.Universe.Lookup(code)) {
			return "", code + " means something else here"
		}
		return code, ""
	case v.pkg == nil && !v.own && v.typ == "string":
		return v.code(), ""
	case v.pkg == nil && !v.own:
		if v.typ == "float64" && strings.ContainsAny(v.code(), ".e") || r.typed(id) {
			return guarded(r.parents[id], v.code()), ""
		}
		if !r.means(id.Pos(), v.typ, types.Universe.Lookup(v.typ)) {
			return "", v.typ + " means something else here"
		}
		return v.typ + "(" + v.code() + ")", ""
	}
	scope, before := r.u.checked.Scope(), ""
	if v.pkg != nil {
		name, ok := r.imported(v.pkg, id.Pos())
		if !ok {
			return "", fmt.Sprintf("its type %s.%s has no name in this file, which does not import %s", v.pkg.Name(), v.typ, v.pkg.Path())
		}
		scope, before = v.pkg.Scope(), name+"."
	}
	typ := scope.Lookup(v.typ)
	if typ == nil {
		return "", "its type has no name here"
	}
	usable := func(o types.Object) bool {
		if v.pkg != nil {
			return o.Exported()
		}
		return r.means(id.Pos(), o.Name(), o)
	}
	for _, name := range scope.Names() {
		c, ok := scope.Lookup(name).(*types.Const)
		if !ok || !types.Identical(c.Type(), typ.Type()) || !usable(c) {
			continue
		}
		if _, _, mark := r.u.marked(name); !mark && c.Val().Kind() == v.constant.Kind() && constant.Compare(c.Val(), token.EQL, v.constant) {
			return before + name, ""
		}
	}
	if !usable(typ) {
		return "", "its type has no name here"
	}
	return before + v.typ + "(" + v.code() + ")", ""
}

// guarded returns the code of a number. A sign must not meet an operator.
func guarded(parent ast.Node, code string) string {
	switch parent.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr:
		if code[0] == '-' {
			return "(" + code + ")"
		}
	}
	return code
}

// means reports whether a name means an object at a position.
func (r *rules) means(p token.Pos, name string, o types.Object) bool {
	scope := r.u.checked.Scope().Innermost(p)
	if scope == nil {
		return false
	}
	_, found := scope.LookupParent(name, p)
	return found != nil && found == o
}

// imported returns the name of a package in the file.
func (r *rules) imported(pkg *types.Package, p token.Pos) (name string, ok bool) {
	for _, spec := range r.f.syntax.Imports {
		o, isName := r.info.Implicits[spec].(*types.PkgName)
		if spec.Name != nil {
			o, isName = r.info.Defs[spec.Name].(*types.PkgName)
		}
		if isName && o.Imported() == pkg && o.Name() != "." && o.Name() != "_" && r.means(p, o.Name(), o) {
			return o.Name(), true
		}
	}
	return "", false
}

// typed reports whether a number without a type gets the type of a mark where the mark
// stands.
func (r *rules) typed(id *ast.Ident) bool {
	t := r.info.TypeOf(id)
	switch p := r.parents[id].(type) {
	case *ast.BinaryExpr:
		other := p.X
		if other == id {
			other = p.Y
		}
		tv := r.info.Types[other]
		return p.Op != token.SHL && p.Op != token.SHR && tv.Value == nil && types.Identical(tv.Type, t)
	case *ast.CallExpr:
		f, ok := r.info.TypeOf(p.Fun).(*types.Signature)
		if !ok || f.Variadic() || r.isGeneric(p.Fun) {
			return false
		}
		for i, arg := range p.Args {
			if arg == id {
				return i < f.Params().Len() && types.Identical(f.Params().At(i).Type(), t)
			}
		}
	case *ast.AssignStmt:
		for i, e := range p.Rhs {
			if e == id && p.Tok != token.DEFINE && p.Tok != token.SHL_ASSIGN && p.Tok != token.SHR_ASSIGN && len(p.Lhs) == len(p.Rhs) {
				return types.Identical(r.info.TypeOf(p.Lhs[i]), t)
			}
		}
	case *ast.ReturnStmt:
		for n := r.parents[p]; n != nil; n = r.parents[n] {
			var f *types.Signature
			switch n := n.(type) {
			case *ast.FuncDecl:
				f = r.info.Defs[n.Name].Type().(*types.Signature)
			case *ast.FuncLit:
				f, _ = r.info.TypeOf(n).(*types.Signature)
			}
			if f == nil {
				continue
			}
			for i, e := range p.Results {
				if e == id {
					return i < f.Results().Len() && types.Identical(f.Results().At(i).Type(), t)
				}
			}
			return false
		}
	}
	return false
}

// isGeneric reports whether the types of arguments decide what a function is.
func (r *rules) isGeneric(e ast.Expr) bool {
	var id *ast.Ident
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		id = e
	case *ast.SelectorExpr:
		id = e.Sel
	default:
		return true
	}
	f, ok := r.info.Uses[id].(*types.Func)
	return ok && f.Signature().TypeParams().Len() > 0
}
