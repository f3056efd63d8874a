package prune

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// assignment replaces variables that are set to a mark and never change, and leaves out
// an assignment of a mark to nothing.
func (r *rules) assignment(s *ast.AssignStmt) {
	if len(s.Lhs) != len(s.Rhs) {
		return
	}
	if len(s.Lhs) == 1 && s.Tok == token.ASSIGN && isBlank(s.Lhs[0]) {
		if _, ok := r.known(s.Rhs[0]); ok && r.inList(s) {
			r.edits.add(r.removal(s))
		}
		return
	}
	if s.Tok != token.DEFINE {
		return
	}
	for i, to := range s.Lhs {
		id, ok := to.(*ast.Ident)
		if !ok {
			continue
		}
		v, ok := r.info.Defs[id].(*types.Var)
		if !ok {
			continue
		}
		list, ok := r.substitute(v, s.Rhs[i])
		if !ok {
			continue
		}
		without, ok := r.withoutPair(s, i)
		if ok && r.edits.add(append(list, without...)...) {
			return // the others in the next round
		}
	}
}

// declaration does the same for var.
func (r *rules) declaration(s *ast.DeclStmt) {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok || d.Tok != token.VAR || len(d.Specs) != 1 || !r.inList(s) {
		return
	}
	spec := d.Specs[0].(*ast.ValueSpec)
	if len(spec.Names) != 1 || len(spec.Values) != 1 {
		return
	}
	v, ok := r.info.Defs[spec.Names[0]].(*types.Var)
	if !ok || spec.Type != nil && !types.Identical(v.Type(), types.Default(r.info.TypeOf(spec.Values[0]))) {
		return
	}
	if spec.Names[0].Name == "_" {
		if _, ok := r.known(spec.Values[0]); ok {
			r.edits.add(r.removal(s))
		}
		return
	}
	if list, ok := r.substitute(v, spec.Values[0]); ok {
		r.edits.add(append(list, r.removal(s))...)
	}
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// substitute returns the edits that put a mark in the places of a variable that is only
// read. It is not ok for another variable, and for numbers with a fraction, because
// constants are computed more exactly.
func (r *rules) substitute(v *types.Var, from ast.Expr) (list []edit, ok bool) {
	mark, isName := ast.Unparen(from).(*ast.Ident)
	if !isName {
		return nil, false
	}
	k, ok := r.known(mark)
	if !ok || k.constant.Kind() == constant.Float || basic(v.Type())&types.IsFloat != 0 {
		return nil, false
	}
	for _, id := range r.uses[v] {
		if !r.reads(id) {
			return nil, false
		}
		list = append(list, r.replace(id.Pos(), id.End(), mark.Name))
	}
	return list, true
}

// reads reports whether a variable is only read where its name stands.
func (r *rules) reads(id *ast.Ident) bool {
	n := parenthesized(id, r.parents)
	switch p := r.parents[n].(type) {
	case *ast.AssignStmt:
		for _, to := range p.Lhs {
			if to == n {
				return false
			}
		}
	case *ast.IncDecStmt:
		return false
	case *ast.UnaryExpr:
		return p.Op != token.AND
	case *ast.RangeStmt:
		return p.Key != n && p.Value != n
	case *ast.SelectorExpr:
		f, ok := r.info.Uses[p.Sel].(*types.Func)
		if !ok {
			return false
		}
		_, isPointer := f.Signature().Recv().Type().(*types.Pointer)
		return !isPointer
	}
	return true
}

// withoutPair returns the edits that take a variable and its value out of a definition.
func (r *rules) withoutPair(s *ast.AssignStmt, i int) ([]edit, bool) {
	n := len(s.Lhs)
	if n == 1 {
		return r.withoutStatement(s)
	}
	out := func(list []ast.Expr) edit {
		if i < n-1 {
			return r.replace(list[i].Pos(), list[i+1].Pos(), "")
		}
		return r.replace(list[i-1].End(), list[i].End(), "")
	}
	list := []edit{out(s.Lhs), out(s.Rhs)}
	if !r.defines(s, i) {
		list = append(list, r.replace(s.TokPos, s.TokPos+2, "="))
	}
	return list, true
}

// defines reports whether a definition has a new variable besides one of its variables.
func (r *rules) defines(s *ast.AssignStmt, besides int) bool {
	for i, to := range s.Lhs {
		if id, ok := to.(*ast.Ident); ok && i != besides && id.Name != "_" && r.info.Defs[id] != nil {
			return true
		}
	}
	return false
}

// withoutStatement returns the edits that remove a statement, which may stand before the
// condition of another one.
func (r *rules) withoutStatement(s ast.Stmt) ([]edit, bool) {
	if r.inList(s) {
		return []edit{r.removal(s)}, true
	}
	switch p := r.parents[s].(type) {
	case *ast.IfStmt:
		if p.Init == s {
			return []edit{r.replace(s.Pos(), p.Cond.Pos(), "")}, true
		}
	case *ast.SwitchStmt:
		if p.Init == s && p.Tag != nil {
			return []edit{r.replace(s.Pos(), p.Tag.Pos(), "")}, true
		}
		if p.Init == s {
			return []edit{r.replace(s.Pos(), p.Body.Lbrace, "")}, true
		}
	case *ast.TypeSwitchStmt:
		if p.Init == s {
			return []edit{r.replace(s.Pos(), p.Assign.Pos(), "")}, true
		}
	}
	return nil, false
}

// isUnused reports whether an error of the type checker is about something that is not
// used, which a rule removes.
func isUnused(e types.Error) bool { return e.Soft && strings.Contains(e.Msg, "not used") }

// removeUnused removes what the type checker has found unused: variables, labels and, at
// the end, imports.
func (r *rules) removeUnused(imports bool) {
	if !r.u.hasErrors(r.f) {
		return
	}
	at := make(map[token.Pos]bool)
	for _, e := range r.u.errs {
		at[e.Pos] = true
	}
	touched := make(map[ast.Node]bool) // statements, of which each is edited once a round
	ast.Inspect(r.f.syntax, func(n ast.Node) bool {
		if n == nil || !at[n.Pos()] {
			return true
		}
		switch n := n.(type) {
		case *ast.ImportSpec:
			if imports {
				r.removeImport(n)
			}
			return false
		case *ast.LabeledStmt:
			if used := r.uses[r.info.Defs[n.Label]]; len(used) == 0 {
				r.edits.add(r.replace(n.Pos(), n.Stmt.Pos(), ""))
			}
		case *ast.Ident:
			r.removeVariable(n, touched)
		}
		return true
	})
}

func (r *rules) removeImport(spec *ast.ImportSpec) {
	d, ok := r.parents[spec].(*ast.GenDecl)
	if ok && len(d.Specs) == 1 {
		r.edits.add(r.removal(d))
		return
	}
	r.edits.add(r.removal(spec))
}

// removeVariable removes a variable that is set and not read.
func (r *rules) removeVariable(id *ast.Ident, touched map[ast.Node]bool) {
	if s, ok := r.parents[id].(*ast.AssignStmt); ok {
		if p, ok := r.parents[s].(*ast.TypeSwitchStmt); ok && p.Assign == s {
			r.edits.add(r.replace(id.Pos(), s.Rhs[0].Pos(), ""))
			return
		}
	}
	v, ok := r.info.Defs[id].(*types.Var)
	if !ok {
		return
	}
	for _, use := range r.uses[v] { // they are assignments
		if s, ok := r.parents[use].(*ast.AssignStmt); ok && !touched[s] {
			touched[s] = true
			r.discard(s, use)
		} else {
			return // when they are gone
		}
	}
	if len(r.uses[v]) > 0 {
		return
	}
	p := r.parents[id]
	if touched[p] {
		return
	}
	touched[p] = true
	switch p := p.(type) {
	case *ast.AssignStmt:
		r.discard(p, id)
	case *ast.ValueSpec:
		r.discardSpec(p, id)
	case *ast.RangeStmt:
		switch {
		case p.Value == id && !isBlank(p.Key):
			r.edits.add(r.replace(p.Key.End(), id.End(), ""))
		case p.Value == id || p.Value == nil || isBlank(p.Value):
			r.edits.add(r.replace(p.Key.Pos(), p.Range, ""))
		default:
			r.edits.add(r.replace(id.Pos(), id.End(), "_"))
		}
	}
}

// discard makes an assignment to a variable that nobody reads one to nothing, or removes
// it if its value has no effect.
func (r *rules) discard(s *ast.AssignStmt, id *ast.Ident) {
	i := -1
	for n, to := range s.Lhs {
		if to == id {
			i = n
		}
	}
	if i < 0 {
		return
	}
	if len(s.Lhs) == len(s.Rhs) && r.pure(s.Rhs[i]) {
		if list, ok := r.withoutPair(s, i); ok {
			if len(s.Lhs) > 1 && s.Tok == token.ASSIGN {
				list = list[:2]
			}
			r.edits.add(list...)
			return
		}
	}
	list := []edit{r.replace(id.Pos(), id.End(), "_")}
	if s.Tok == token.DEFINE && !r.defines(s, i) {
		list = append(list, r.replace(s.TokPos, s.TokPos+2, "="))
	}
	r.edits.add(list...)
}

// discardSpec does the same for var.
func (r *rules) discardSpec(spec *ast.ValueSpec, id *ast.Ident) {
	d, ok := r.parents[spec].(*ast.GenDecl)
	if !ok {
		return
	}
	s, ok := r.parents[d].(*ast.DeclStmt)
	switch {
	case !ok:
	case len(spec.Names) > 1 || len(spec.Values) == 1 && !r.pure(spec.Values[0]):
		r.edits.add(r.replace(id.Pos(), id.End(), "_"))
	case len(d.Specs) > 1:
		r.edits.add(r.removal(spec))
	case r.inList(s):
		r.edits.add(r.removal(s))
	}
}
