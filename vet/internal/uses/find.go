package uses

import (
	"go/ast"
	"go/constant"
	"go/types"
)

// A source is a package whose types are known.
type source struct {
	Files []*ast.File
	Types *types.Package
	Info  *types.Info

	// imported returns the handle that a variable of another package is, or nil.
	imported func(*types.Var) *Declaration

	// askers are this library's packages, by path: of the whole program, or nil.
	askers map[string]*types.Package
}

// A finder finds the uses in a source.
type finder struct {
	source
	*flow
	byCall   map[*ast.CallExpr]*Declaration
	byVar    map[*types.Var]*Declaration
	consumed map[*ast.CallExpr]bool // handles that are asked where they are made
	shown    map[*types.Var]int     // how often a variable is what a call asks with
}

// A place is a call that asks for a flag.
type place struct {
	call   *ast.CallExpr
	method method
	name   string
	on     ast.Expr // what the method is called on; nil for functions
}

func (s source) find() *Package {
	f := &finder{
		source: s, flow: newFlow(s.Info, s.Types, s.Files),
		byCall: make(map[*ast.CallExpr]*Declaration), byVar: make(map[*types.Var]*Declaration),
		consumed: make(map[*ast.CallExpr]bool), shown: make(map[*types.Var]int),
	}
	found := &Package{Values: make(map[types.Object]int), Texts: make(map[string][]ast.Expr)}
	var places []place
	var made []*ast.CallExpr
	for _, file := range s.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok {
				found.Keys = append(found.Keys, f.keys(lit)...)
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			path, name, _ := calleeOf(s.Info, call)
			if kind, ok := constructors[path][name]; ok {
				if d := f.declaration(call, kind); d != nil {
					f.byCall[call] = d
					made = append(made, call)
				}
			}
			if p, ok := f.place(call); ok {
				places = append(places, p)
				f.showArguments(call, p.method)
			} else if path == flagstaffPath && name == "Client.For" {
				f.show(argument(call, 1))
			}
			return true
		})
	}
	f.findVariables()
	byUse := make(map[*ast.CallExpr]int)
	for i, p := range places {
		found.Uses = append(found.Uses, f.use(p))
		byUse[p.call] = i
	}
	for v, s := range f.set {
		if s.times != 1 || v.IsField() || isPackageLevel(v) || len(f.modified[v]) > 0 {
			continue
		}
		value := s.first
		if s.value != nil {
			value = s.value
		}
		if call, ok := ast.Unparen(value).(*ast.CallExpr); ok {
			if i, ok := byUse[call]; ok {
				found.Values[v] = i
			}
		}
	}
	for _, call := range made {
		if !f.consumed[call] {
			found.Declarations = append(found.Declarations, *f.byCall[call])
		}
	}
	f.findMentions(found)
	f.findOpen(found, places)
	return found
}

// place returns the place that a call is: of a function or a method, or of a variable or a
// field that has one as its value.
func (f *finder) place(call *ast.CallExpr) (p place, ok bool) {
	if path, name, ok := calleeOf(f.Info, call); ok {
		if m, ok := methods[path][name]; ok {
			return place{call, m, name, receiver(call)}, !f.isExpression(call.Fun)
		}
	}
	value := f.follow(call.Fun)
	if name, m, ok := f.method(value); ok && !f.isExpression(value) {
		return place{call, m, name, selector(value).X}, true
	}
	return place{}, false
}

// method returns the method that asks for flags and that an expression has as its value.
func (f *finder) method(e ast.Expr) (name string, m method, ok bool) {
	sel := selector(e)
	if sel == nil {
		return "", method{}, false
	}
	path, name, _ := nameOf(f.Info, f.Info.Uses[sel.Sel], sel.X)
	m, ok = methods[path][name]
	return name, m, ok
}

// isExpression reports whether a method is named by its type, so that what it is called on
// is the first argument.
func (f *finder) isExpression(e ast.Expr) bool {
	sel := selector(e)
	if sel == nil {
		return false
	}
	s := f.Info.Selections[sel]
	return s != nil && s.Kind() == types.MethodExpr
}

// keys returns the keys by which a literal of a request says which flags it is for.
func (f *finder) keys(lit *ast.CompositeLit) (list []Key) {
	named := namedOf(f.Info.TypeOf(lit)) // a pointer in a list of pointers
	if named == nil || named.Obj().Pkg() == nil {
		return nil
	}
	field, ok := keyLists[named.Obj().Pkg().Path()][named.Obj().Name()]
	if !ok {
		return nil
	}
	values, _ := fields(lit)
	elements, _ := f.elements(values[field])
	for _, e := range elements {
		if key, ok := f.text(e); ok {
			list = append(list, Key{key, e})
		}
	}
	return list
}

// argument returns an argument of a call, counting from 1, or nil.
func argument(call *ast.CallExpr, n int) ast.Expr {
	if n == 0 || n > len(call.Args) {
		return nil
	}
	return call.Args[n-1]
}

// showArguments counts the variables with which a call asks for a flag.
func (f *finder) showArguments(call *ast.CallExpr, m method) {
	f.show(argument(call, m.request))
	if m.payload {
		f.show(argument(call, m.key))
	}
}

func (f *finder) show(e ast.Expr) {
	if e == nil {
		return
	}
	if v := f.variable(e); v != nil {
		f.shown[v]++
	}
}

// declaration returns the handle that a call makes. It is nil for a call that is not
// complete.
func (f *finder) declaration(call *ast.CallExpr, kind Kind) *Declaration {
	if len(call.Args) == 0 {
		return nil
	}
	d := &Declaration{KeyExpr: call.Args[0], Kind: kind, Call: call}
	d.Key, _ = f.text(d.KeyExpr)
	named := namedOf(f.Info.TypeOf(call))
	if named == nil {
		return nil
	}
	d.Ref = named.Obj().Pkg().Path() == flagsPath
	if d.Ref {
		return d
	}
	if args := named.TypeArgs(); args.Len() == 1 {
		switch d.Kind {
		case Any:
			d.Kind = kindOf(args.At(0))
		case Object:
			d.Typed = args.At(0)
		}
	}
	if len(call.Args) > 1 {
		d.Fallback = f.Info.Types[call.Args[1]].Value
	}
	if d.Kind == String && named.Obj().Name() == "VariantFlag" && !call.Ellipsis.IsValid() {
		for _, e := range call.Args[1:] {
			v := f.Info.Types[e].Value
			if v == nil || v.Kind() != constant.String {
				d.Variants = nil
				break
			}
			d.Variants = append(d.Variants, constant.StringVal(v))
		}
	}
	return d
}

// kindOf returns the kind of the values of a type.
func kindOf(t types.Type) Kind {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return Object
	}
	switch {
	case b.Info()&types.IsBoolean != 0:
		return Bool
	case b.Info()&types.IsString != 0:
		return String
	case b.Info()&types.IsInteger != 0:
		return Int
	case b.Info()&types.IsFloat != 0:
		return Float
	}
	return Any
}

// findVariables finds the variables of handles.
func (f *finder) findVariables() {
	for v, s := range f.set {
		if s.times != 1 || s.value == nil || len(f.modified[v]) > 0 || v.IsField() {
			continue
		}
		call, ok := ast.Unparen(s.value).(*ast.CallExpr)
		if !ok || f.byCall[call] == nil {
			continue
		}
		f.byCall[call].Object = v
		f.byVar[v] = f.byCall[call]
	}
}

// handle returns the handle that an expression is, or nil.
func (f *finder) handle(e ast.Expr) *Declaration {
	for range steps {
		e = ast.Unparen(e)
		var v *types.Var
		switch at := e.(type) {
		case *ast.CallExpr:
			return f.byCall[at]
		case *ast.Ident:
			v = f.variable(at)
		case *ast.SelectorExpr:
			if next := f.follow(at); next != nil {
				e = next
				continue
			}
			v, _ = f.Info.Uses[at.Sel].(*types.Var)
		}
		if v == nil || v.IsField() {
			return nil
		}
		if d := f.declared(v); d != nil {
			return d
		}
		if e = f.only(v); e == nil {
			return nil
		}
	}
	return nil
}

// declared returns the handle of a variable.
func (f *finder) declared(v *types.Var) *Declaration {
	if d := f.byVar[v]; d != nil || !isPackageLevel(v) || v.Pkg() == f.Types || !isHandle(v.Type()) {
		return d
	}
	return f.imported(v)
}

// isHandle reports whether a type is one of handles.
func isHandle(t types.Type) bool {
	named := namedOf(t)
	if named == nil || named.Obj().Pkg() == nil {
		return false
	}
	switch named.Obj().Pkg().Path() {
	case flagstaffPath:
		switch named.Obj().Name() {
		case "BoolFlag", "VariantFlag", "ValueFlag", "PayloadFlag":
			return true
		}
	case flagsPath:
		return named.Obj().Name() == "Ref"
	}
	return false
}

// receiver returns what a method is called on, or nil.
func receiver(call *ast.CallExpr) ast.Expr {
	if sel := selector(call.Fun); sel != nil {
		return sel.X
	}
	return nil
}

// selector returns the selector that an expression is, with or without types, or nil.
func selector(e ast.Expr) *ast.SelectorExpr {
	switch at := ast.Unparen(e).(type) {
	case *ast.SelectorExpr:
		return at
	case *ast.IndexExpr:
		return selector(at.X)
	case *ast.IndexListExpr:
		return selector(at.X)
	}
	return nil
}

// use returns what a call asks for.
func (f *finder) use(p place) Use {
	call, m := p.call, p.method
	u := Use{
		Call: call, Method: p.name, Library: m.library, Kind: m.kind, Shape: m.shape,
		Fallback: argument(call, m.fallback), Request: f.request(p),
		Pure: Purity{Info: f.Info}.Parts(call),
	}
	switch {
	case m.handle:
		f.askHandle(&u, p.on)
	case m.ref > 0:
		f.askHandle(&u, argument(call, m.ref))
	case m.payload:
		if lit, changed := f.literal(argument(call, m.key), nil); lit != nil && !changes(changed, "Key") {
			if values, ok := fields(lit); ok {
				u.KeyExpr = values["Key"]
			}
		}
	default:
		u.KeyExpr = argument(call, m.key)
	}
	if u.KeyExpr != nil && u.Declared == nil {
		u.Key, _ = f.text(u.KeyExpr)
		f.keysInField(&u)
	}
	u.Field = u.Field || f.follow(call.Fun) != nil && f.field(call.Fun) != nil
	if m.typed {
		u.Kind = Any
		if t := f.Info.TypeOf(call); t != nil {
			u.Kind = kindOf(t)
		}
	}
	if e := argument(call, m.into); e != nil {
		u.Typed = f.Info.TypeOf(e)
		if t, ok := u.Typed.(*types.Pointer); ok && m.shape == Into {
			u.Typed = t.Elem()
		}
	}
	return u
}

// keysInField says which keys a call can ask for whose key is in a field.
func (f *finder) keysInField(u *Use) {
	values, closed := f.inField(u.KeyExpr)
	u.Field = len(values) > 0
	for _, e := range values {
		key, ok := f.text(e)
		if !ok {
			u.Keys = nil
			return
		}
		u.Keys = append(u.Keys, Key{key, e})
	}
	u.Closed = closed
	if len(u.Keys) == 1 {
		u.Key = u.Keys[0].Key
	}
}

// askHandle says which handle is asked.
func (f *finder) askHandle(u *Use, e ast.Expr) {
	if e == nil {
		return
	}
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
		if d := f.byCall[call]; d != nil {
			f.consumed[call] = true
			u.Key, u.KeyExpr, u.Declared = d.Key, d.KeyExpr, d
			u.Pure = u.Pure && d.Ref
		}
		return
	}
	u.Field = f.field(e) != nil
	if d := f.handle(e); d != nil {
		u.Declared, u.Key, u.Typed = d, d.Key, d.Typed
	}
}

// findMentions finds the handles that the package reads, and its string constants.
func (f *finder) findMentions(found *Package) {
	keys := make(map[ast.Expr]bool)
	for i := range found.Uses {
		keys[found.Uses[i].KeyExpr] = true
	}
	for _, d := range f.byCall {
		keys[d.KeyExpr] = true
	}
	seen := make(map[types.Object]bool)
	for _, file := range f.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			if v := f.Info.Types[e].Value; v != nil && v.Kind() == constant.String {
				if text := constant.StringVal(v); !keys[e] {
					found.Texts[text] = append(found.Texts[text], e)
				}
				return false
			}
			id, ok := e.(*ast.Ident)
			if !ok {
				return true
			}
			if v, ok := f.Info.Uses[id].(*types.Var); ok && !seen[v] {
				seen[v] = true
				if isPackageLevel(v) && isHandle(v.Type()) {
					found.Mentions = append(found.Mentions, v)
				}
			}
			return true
		})
	}
}
