package uses

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// A flow knows what the variables of a package, and the fields of its structs, are set to,
// as far as one assignment says it.
type flow struct {
	info     *types.Info
	pkg      *types.Package
	set      map[*types.Var]setting
	modified map[*types.Var][]string // fields that are assigned, "*" for anything else
	mentions map[*types.Var]int
}

// A setting is what a variable or a field is set to.
type setting struct {
	times  int
	value  ast.Expr   // of the only time; nil if it is a result among several
	first  ast.Expr   // the call of which it is the first result
	values []ast.Expr // of a field: all of them, if there are as many as times
}

// steps is how many variables are followed from one to the next.
const steps = 8

func newFlow(info *types.Info, pkg *types.Package, files []*ast.File) *flow {
	f := &flow{
		info: info, pkg: pkg, set: make(map[*types.Var]setting),
		modified: make(map[*types.Var][]string), mentions: make(map[*types.Var]int),
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					var value ast.Expr
					if len(n.Lhs) == len(n.Rhs) && (n.Tok == token.ASSIGN || n.Tok == token.DEFINE) {
						value = n.Rhs[i]
					}
					f.assign(to, value)
				}
				f.assignFirst(n.Lhs[0], n.Rhs, len(n.Lhs))
			case *ast.ValueSpec:
				for i, name := range n.Names {
					var value ast.Expr
					if len(n.Values) == len(n.Names) {
						value = n.Values[i]
					}
					if len(n.Values) > 0 || !isPackageLevel(f.variable(name)) {
						f.assign(name, value)
					}
				}
				f.assignFirst(n.Names[0], n.Values, len(n.Names))
			case *ast.CompositeLit:
				f.setFields(n)
			case *ast.CallExpr:
				if info.Types[n.Fun].IsType() {
					f.convertTo(info.TypeOf(n))
				}
			case *ast.IncDecStmt:
				f.unknown(n.X)
			case *ast.RangeStmt:
				f.unknown(n.Key)
				f.unknown(n.Value)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					f.unknown(n.X)
				}
			case *ast.Ident:
				if v, ok := info.Uses[n].(*types.Var); ok {
					f.mentions[v]++
				}
			}
			return true
		})
	}
	return f
}

// variable returns the variable that an expression is, or nil.
func (f *flow) variable(e ast.Expr) *types.Var {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, _ := f.info.ObjectOf(id).(*types.Var)
	return v
}

// assign notes an assignment.
func (f *flow) assign(to, value ast.Expr) {
	if v := f.variable(to); v != nil {
		f.set[v] = setting{times: f.set[v].times + 1, value: value}
		return
	}
	if v := f.field(to); v != nil {
		f.setField(v, value)
	}
	// A part of a variable is set.
	field := "*"
	for e := ast.Unparen(to); ; {
		switch at := e.(type) {
		case *ast.SelectorExpr:
			if v, ok := f.info.Uses[at.Sel].(*types.Var); ok && !v.IsField() { // of another package
				f.set[v] = setting{times: f.set[v].times + 1}
				return
			}
			field = at.Sel.Name
			e = ast.Unparen(at.X)
			continue
		case *ast.IndexExpr:
			field = "*"
			e = ast.Unparen(at.X)
			continue
		case *ast.StarExpr:
			field = "*"
			e = ast.Unparen(at.X)
			continue
		case *ast.Ident:
			if v := f.variable(at); v != nil {
				f.modified[v] = append(f.modified[v], field)
			}
		}
		return
	}
}

// field returns the field of a struct that an expression selects, or nil.
func (f *flow) field(e ast.Expr) *types.Var {
	sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	if v, ok := f.info.Uses[sel.Sel].(*types.Var); ok && v.IsField() {
		return v.Origin()
	}
	return nil
}

func (f *flow) setField(v *types.Var, value ast.Expr) {
	s := f.set[v]
	s.times++
	if value != nil {
		s.values = append(s.values, value)
	}
	f.set[v] = s
}

// setFields notes what the literal of a struct sets.
func (f *flow) setFields(lit *ast.CompositeLit) {
	t := f.info.TypeOf(lit)
	if t == nil {
		return
	}
	if p, ok := t.Underlying().(*types.Pointer); ok { // in a list of pointers
		t = p.Elem()
	}
	fields, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, e := range lit.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			f.setField(fields.Field(i).Origin(), e)
		} else if name, ok := pair.Key.(*ast.Ident); ok {
			if v, ok := f.info.Uses[name].(*types.Var); ok {
				f.setField(v.Origin(), pair.Value)
			}
		}
	}
}

// convertTo notes that the fields of a struct can have the values of another struct's.
func (f *flow) convertTo(t types.Type) {
	if t == nil {
		return
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		for field := range s.Fields() {
			f.setField(field.Origin(), nil)
		}
	}
}

// inField returns all values that a field of a struct of this package is set to. They are
// nil if they are not all known. They are closed if no other package can set the field. A
// field that is not set has its zero value besides.
func (f *flow) inField(e ast.Expr) (values []ast.Expr, closed bool) {
	v := f.field(e)
	if v == nil || v.Pkg() != f.pkg || len(f.set[v].values) != f.set[v].times {
		return nil, false
	}
	return f.set[v].values, !v.Exported()
}

// follow returns what a local variable, or a field, is set to the only time that it is,
// nil otherwise.
func (f *flow) follow(e ast.Expr) ast.Expr {
	if v := f.variable(e); v != nil {
		return f.only(v)
	}
	if values, _ := f.inField(e); len(values) == 1 {
		return values[0]
	}
	return nil
}

// assignFirst notes that a variable is the first of several results.
func (f *flow) assignFirst(to ast.Expr, values []ast.Expr, variables int) {
	if v := f.variable(to); v != nil && len(values) == 1 && variables > 1 {
		s := f.set[v]
		s.first = values[0]
		f.set[v] = s
	}
}

// unknown notes that a variable, or a part of it, can become anything.
func (f *flow) unknown(e ast.Expr) {
	if e == nil {
		return
	}
	f.assign(e, nil)
	f.assign(e, nil)
}

// only returns what a local variable is set to the only time that it is, nil otherwise.
func (f *flow) only(v *types.Var) ast.Expr {
	if v == nil || v.IsField() || isPackageLevel(v) || f.set[v].times != 1 {
		return nil
	}
	return f.set[v].value
}

// text returns the string that an expression is.
func (f *flow) text(e ast.Expr) (text string, ok bool) { return f.textAfter(e, 0) }

func (f *flow) textAfter(e ast.Expr, n int) (text string, ok bool) {
	if e == nil || n > steps {
		return "", false
	}
	e = ast.Unparen(e)
	if tv := f.info.Types[e]; tv.Value != nil {
		if tv.Value.Kind() != constant.String {
			return "", false
		}
		return constant.StringVal(tv.Value), true
	}
	switch e := e.(type) {
	case *ast.Ident:
		return f.textAfter(f.only(f.variable(e)), n+1)
	case *ast.CallExpr:
		if len(e.Args) == 1 && f.info.Types[e.Fun].IsType() && isText(f.info.TypeOf(e.Args[0])) && isText(f.info.TypeOf(e)) {
			return f.textAfter(e.Args[0], n+1)
		}
	}
	return "", false
}

// isText reports whether the values of a type are strings.
func isText(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// literal returns the composite literal that an expression is, points to, or is the
// variable of, and which of its fields are set later. A variable that is used in any way
// besides being an argument of calls that ask for flags is nothing that is known; shown has
// how often it is such an argument, and nil means that it does not matter.
func (f *flow) literal(e ast.Expr, shown map[*types.Var]int) (lit *ast.CompositeLit, changed []string) {
	for range steps {
		e = ast.Unparen(e)
		switch at := e.(type) {
		case *ast.CompositeLit:
			return at, changed
		case *ast.UnaryExpr:
			if at.Op != token.AND {
				return nil, nil
			}
			e = at.X
			if _, ok := ast.Unparen(e).(*ast.CompositeLit); !ok {
				return nil, nil
			}
		case *ast.Ident:
			v := f.variable(at)
			e = f.only(v)
			if e == nil {
				return nil, nil
			}
			changed = append(changed, f.modified[v]...)
			if shown != nil && f.mentions[v] != shown[v] {
				changed = append(changed, "*")
			}
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// fields returns the values of a literal of a struct by the names of the fields. It is
// not ok for a literal without names that has values.
func fields(lit *ast.CompositeLit) (values map[string]ast.Expr, ok bool) {
	values = make(map[string]ast.Expr)
	for _, e := range lit.Elts {
		pair, isPair := e.(*ast.KeyValueExpr)
		if !isPair {
			return nil, false
		}
		name, isName := pair.Key.(*ast.Ident)
		if !isName {
			return nil, false
		}
		values[name.Name] = pair.Value
	}
	return values, true
}

// changes reports whether a list of changed fields has one.
func changes(changed []string, field string) bool {
	return slices.Contains(changed, field) || slices.Contains(changed, "*")
}
