package prune

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// condition returns the value of a condition, and what must be evaluated before for its
// effect, "" for nothing.
func (r *rules) condition(e ast.Expr) (value bool, effect string, ok bool) {
	e = ast.Unparen(e)
	if id, isName := e.(*ast.Ident); isName {
		k, ok := r.known(id)
		return k.isTrue(), "", ok
	}
	b, isBinary := e.(*ast.BinaryExpr)
	if !isBinary {
		return false, "", false
	}
	y, ok := r.known(b.Y)
	if ok && !r.pure(b.X) && (b.Op == token.LAND && y.isFalse() || b.Op == token.LOR && y.isTrue()) {
		return y.isTrue(), r.effect(b.X), true
	}
	return false, "", false
}

// compose returns the code of a branch that is always taken, after what comes before it. It
// is "" for nothing at all.
func (r *rules) compose(before string, branch ast.Stmt) string {
	code := ""
	switch branch := branch.(type) {
	case *ast.BlockStmt:
		code = r.u.block() + r.text(branch)
	case *ast.IfStmt:
		code = r.text(branch)
	}
	if before == "" {
		return code
	}
	return r.u.block() + "{\n" + before + "\n" + code + "\n}"
}

// before joins the statement before a condition with an effect of the condition.
func (r *rules) before(init ast.Stmt, effect string) string {
	if init == nil {
		return effect
	}
	return strings.TrimSuffix(r.text(init)+"\n"+effect, "\n")
}

// put replaces a statement by other code, as far as its place allows that.
func (r *rules) put(s ast.Stmt, code string) bool {
	if r.inList(s) {
		if code == "" {
			return r.edits.add(r.removal(s))
		}
		return r.edits.add(r.replace(s.Pos(), s.End(), code))
	}
	parent, ok := r.parents[s].(*ast.IfStmt)
	switch {
	case !ok || parent.Else != s:
		return false // it has a label
	case code == "":
		return r.edits.add(r.replace(parent.Body.End(), s.End(), ""))
	}
	return r.edits.add(r.replace(s.Pos(), s.End(), code))
}

// ifStatement takes the branch that a condition with a value chooses.
func (r *rules) ifStatement(s *ast.IfStmt) {
	value, effect, ok := r.condition(s.Cond)
	if !ok {
		return
	}
	branch := s.Else
	if value {
		branch = s.Body
	}
	if i, ok := branch.(*ast.IfStmt); ok && s.Init != nil && i.Init == nil && effect == "" {
		r.put(s, "if "+r.text(s.Init)+"; "+r.between(i.Cond.Pos(), i.End()))
		return
	}
	r.put(s, r.compose(r.before(s.Init, effect), branch))
}

// emptied removes what is left of an if statement of which rules have removed a branch.
func (r *rules) emptied(s *ast.IfStmt) {
	_, body := r.isEmpty(s.Body)
	otherwise, _ := s.Else.(*ast.BlockStmt)
	switch {
	case otherwise != nil:
		if empty, emptied := r.isEmpty(otherwise); emptied || empty && r.made[otherwise.Lbrace] != 0 {
			r.edits.add(r.replace(s.Body.End(), otherwise.End(), ""))
		} else if body {
			r.edits.add(r.replace(s.Cond.Pos(), otherwise.Pos(), r.negation(s.Cond)+" "))
		}
	case !body || s.Else != nil:
	case r.pure(s.Cond):
		r.put(s, r.compose(r.before(s.Init, ""), nil))
	case r.inList(s):
		r.put(s, r.u.block()+"{\n"+r.before(s.Init, r.effect(s.Cond))+"\n}")
	}
}

// negation returns the code of the opposite of a condition.
func (r *rules) negation(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return r.text(e.X)
		}
	case *ast.BinaryExpr:
		opposite := map[token.Token]string{token.EQL: " != ", token.NEQ: " == "}[e.Op]
		if opposite != "" {
			return r.text(e.X) + opposite + r.text(e.Y)
		}
		return "!(" + r.text(e) + ")"
	}
	return "!" + r.text(e)
}

// list removes the braces of blocks that rules have made, and what follows a block that
// is left for good.
func (r *rules) list(owner ast.Node, list []ast.Stmt) {
	// What a block declares goes into the block around it, and no further: whether it can is
	// not known before the next round.
	declared := r.unwrapped[owner]
	for i, s := range list {
		if i < len(list)-1 && r.isFinal(s) && r.removable(list[i+1:]) {
			last := list[len(list)-1]
			r.edits.add(r.replace(r.endOfLine(s.End()), r.endOfLine(last.End()), r.u.gap()))
			continue
		}
		b, from, ok := r.isMade(s)
		if !ok {
			continue
		}
		if empty, _ := r.isEmpty(b); empty {
			r.edits.add(r.replace(from, r.endOfLine(b.End()), r.u.gap()))
		} else if declares := r.info.Scopes[b].Len() > 0; !(declares && declared) && r.unwrappable(b, list[i+1:]) {
			if r.edits.add(r.replace(from, b.Lbrace+1, r.u.gap()), r.replace(b.Rbrace, b.Rbrace+1, r.u.gap())) {
				declared = declared || declares
				r.unwrapped[b] = true
			}
		}
	}
}

// isFinal reports whether a statement ends in a block that rules have made, and nothing
// after it is reached.
func (r *rules) isFinal(s ast.Stmt) bool {
	last := s
	for {
		i, ok := last.(*ast.IfStmt)
		if !ok {
			break
		}
		last = i.Else
	}
	_, _, made := r.isMade(last)
	return made && r.ends(s)
}

// ends reports whether nothing after a statement in its list is reached.
func (r *rules) ends(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok != token.FALLTHROUGH
	case *ast.ExprStmt:
		call, ok := ast.Unparen(s.X).(*ast.CallExpr)
		if !ok {
			return false
		}
		id, ok := ast.Unparen(call.Fun).(*ast.Ident)
		return ok && r.info.Uses[id] == types.Universe.Lookup("panic")
	case *ast.BlockStmt:
		return len(s.List) > 0 && r.ends(s.List[len(s.List)-1])
	case *ast.IfStmt:
		return s.Else != nil && r.ends(s.Body) && r.ends(s.Else)
	}
	return false
}

// removable reports whether statements that are not reached from above are not reached by
// a goto either.
func (r *rules) removable(list []ast.Stmt) bool {
	labels := false
	for _, s := range list {
		inspectBody(s, func(n ast.Node) {
			_, label := n.(*ast.LabeledStmt)
			labels = labels || label
		})
	}
	return !labels || !r.hasGoto(list[0])
}

// inspectBody calls f for the nodes of a function, but not for nodes of functions within it.
func inspectBody(n ast.Node, f func(ast.Node)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if n != nil {
			f(n)
		}
		_, function := n.(*ast.FuncLit)
		return !function
	})
}

// hasGoto reports whether the function around a statement has a goto.
func (r *rules) hasGoto(n ast.Node) (has bool) {
	for ; n != nil; n = r.parents[n] {
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.FuncDecl:
			body = n.Body
		case *ast.FuncLit:
			body = n.Body
		}
		if body == nil {
			continue
		}
		inspectBody(body, func(n ast.Node) {
			b, ok := n.(*ast.BranchStmt)
			has = has || ok && b.Tok == token.GOTO
		})
		break
	}
	return has
}

// unwrappable reports whether what a block declares can be declared in the block around
// it, before the rest of the statements there.
func (r *rules) unwrappable(b *ast.BlockStmt, rest []ast.Stmt) bool {
	scope := r.info.Scopes[b]
	if scope.Len() == 0 {
		return true
	}
	if r.hasGoto(b) {
		return false // which cannot jump over declarations
	}
	for _, name := range scope.Names() {
		if scope.Parent().Lookup(name) != nil {
			return false
		}
	}
	for _, s := range rest {
		captures := false
		ast.Inspect(s, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				ast.Inspect(sel.X, func(n ast.Node) bool {
					captures = captures || r.captured(n, scope, rest)
					return true
				})
				return false
			}
			captures = captures || r.captured(n, scope, rest)
			return true
		})
		if captures {
			return false
		}
	}
	return true
}

// captured reports whether a name in the rest of the statements means something outside of
// them, and would mean what a scope declares.
func (r *rules) captured(n ast.Node, scope *types.Scope, rest []ast.Stmt) bool {
	id, ok := n.(*ast.Ident)
	if !ok || scope.Lookup(id.Name) == nil {
		return false
	}
	o := r.info.Uses[id]
	return o != nil && (o.Pos() < rest[0].Pos() || o.Pos() > rest[len(rest)-1].End())
}

// switchStatement takes the clause that is chosen by a tag, or by a condition, with a value.
func (r *rules) switchStatement(s *ast.SwitchStmt) {
	if !r.inList(s) {
		return
	}
	clauses := make([]*ast.CaseClause, len(s.Body.List))
	for i, c := range s.Body.List {
		clauses[i] = c.(*ast.CaseClause)
	}
	if s.Tag == nil {
		r.conditions(s, clauses)
		return
	}
	id, ok := ast.Unparen(s.Tag).(*ast.Ident)
	if !ok {
		return
	}
	tag, ok := r.known(id)
	if !ok {
		return
	}
	chosen := -1
	for i, c := range clauses {
		if c.List == nil && chosen < 0 {
			chosen = i
		}
	}
search:
	for i, c := range clauses {
		for _, e := range c.List {
			v := r.info.Types[e].Value
			if v == nil || v.Kind() == constant.Bool && !r.isLiteral(e) && !r.hasMark(e) {
				return
			}
			if v.Kind() == constant.Unknown || tag.constant.Kind() != v.Kind() && !(isNumber(v) && isNumber(tag.constant)) {
				return
			}
			if constant.Compare(tag.constant, token.EQL, v) {
				chosen = i
				break search
			}
		}
	}
	r.take(s, clauses, chosen)
}

func (r *rules) hasMark(e ast.Expr) bool {
	_, ok := r.siteIn(e)
	return ok
}

func isNumber(v constant.Value) bool { return v.Kind() == constant.Int || v.Kind() == constant.Float }

// take replaces a switch by one of its clauses, and by those that it falls through to. For
// a negative number there is none.
func (r *rules) take(s *ast.SwitchStmt, clauses []*ast.CaseClause, n int) bool {
	var code []string
	for more := n >= 0; more; n++ {
		c := clauses[n]
		body := c.Body
		var last ast.Stmt
		more = false
		if len(body) > 0 {
			if b, ok := body[len(body)-1].(*ast.BranchStmt); ok && (b.Tok == token.FALLTHROUGH || b.Tok == token.BREAK && b.Label == nil) {
				last, body = b, body[:len(body)-1]
				more = b.Tok == token.FALLTHROUGH
			}
		}
		if slices.ContainsFunc(body, breaks) {
			return false
		}
		text := r.between(c.Colon+1, r.endOfClause(s, clauses, n))
		if last != nil {
			text = r.between(c.Colon+1, last.Pos()) + r.u.gap() + r.between(last.End(), r.endOfClause(s, clauses, n))
		}
		if strings.TrimSpace(strings.ReplaceAll(text, r.u.gap(), "")) != "" {
			code = append(code, r.u.block()+"{"+text+"\n}")
		}
	}
	if before := r.before(s.Init, ""); before != "" {
		code = []string{r.u.block() + "{\n" + before + "\n" + strings.Join(code, "\n") + "\n}"}
	}
	return r.put(s, strings.Join(code, "\n"))
}

// endOfClause returns where a clause ends: comments after its last statement belong to it
// if they stand further to the right than the word case.
func (r *rules) endOfClause(s *ast.SwitchStmt, clauses []*ast.CaseClause, n int) token.Pos {
	c := clauses[n]
	end, limit := c.Colon+1, s.Body.Rbrace
	if len(c.Body) > 0 {
		end = c.Body[len(c.Body)-1].End()
	}
	if n+1 < len(clauses) {
		limit = clauses[n+1].Pos()
	}
	column := r.column(c.Pos())
	end = r.endOfLine(end)
	for _, group := range r.f.syntax.Comments {
		for _, comment := range group.List {
			if comment.Pos() >= end && comment.End() <= limit && r.column(comment.Pos()) > column {
				end = comment.End()
			}
		}
	}
	return end
}

func (r *rules) column(p token.Pos) int { return r.u.set.PositionFor(p, false).Column }

// breaks reports whether a statement has a break that leaves the switch around it.
func breaks(s ast.Stmt) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			return false
		case *ast.BranchStmt:
			found = found || n.Tok == token.BREAK && n.Label == nil
		}
		return true
	})
	return found
}

// conditions removes the clauses of a switch without a tag that are never chosen.
func (r *rules) conditions(s *ast.SwitchStmt, clauses []*ast.CaseClause) {
	for _, c := range clauses {
		if n := len(c.Body); n > 0 {
			if b, ok := c.Body[n-1].(*ast.BranchStmt); ok && b.Tok == token.FALLTHROUGH {
				return
			}
		}
	}
	var list []edit
	other, kept := -1, 0
	for i, c := range clauses {
		if c.List == nil {
			other = i
			continue
		}
		var open []ast.Expr // conditions before one that is true
		always := false
		for _, e := range c.List {
			k, ok := r.known(e)
			if ok && k.isTrue() {
				always = true
				break
			}
			if !ok || !k.isFalse() {
				open = append(open, e)
			}
		}
		switch {
		case always && slices.ContainsFunc(open, func(e ast.Expr) bool { return !r.pure(e) }):
			return
		case always && kept == 0:
			if r.take(s, clauses, i) {
				return
			}
			fallthrough
		case always:
			// What follows is never reached, and neither is the default.
			list = append(list, r.replace(c.Case, c.Colon, "default"))
			for n, rest := range clauses {
				if n > i || n == other {
					list = append(list, r.replace(rest.Pos(), r.endOfClause(s, clauses, n), r.u.gap()))
				}
			}
			r.edits.add(list...)
			return
		case len(open) == 0:
			list = append(list, r.replace(c.Pos(), r.endOfClause(s, clauses, i), r.u.gap()))
		default:
			kept++
			if len(open) < len(c.List) {
				var texts []string
				for _, e := range open {
					texts = append(texts, r.text(e))
				}
				list = append(list, r.replace(c.List[0].Pos(), c.List[len(c.List)-1].End(), strings.Join(texts, ", ")))
			}
		}
	}
	if kept == 0 && len(list) > 0 && r.take(s, clauses, other) {
		return
	}
	r.edits.add(list...)
}
