package prune

import (
	"bytes"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/vet/internal/uses"
)

// rules look for marks in one file and edit its text. All edits of one round are about the
// same text, and none overlaps another: what cannot be done now is done in a later round.
type rules struct {
	u       *unit
	f       *unitFile
	info    *types.Info
	parents map[ast.Node]ast.Node
	uses    map[types.Object][]*ast.Ident
	made    map[token.Pos]token.Pos // from the braces of blocks that rules have made to their marks
	edits   edits

	unwrapped map[ast.Node]bool // blocks that lose their braces in this round
}

func newRules(u *unit, f *unitFile) *rules {
	r := &rules{
		u: u, f: f, info: u.info, parents: parentsIn(f.syntax),
		uses: make(map[types.Object][]*ast.Ident), made: make(map[token.Pos]token.Pos), unwrapped: make(map[ast.Node]bool),
	}
	for n := range ast.Preorder(f.syntax) {
		if id, ok := n.(*ast.Ident); ok {
			if o := r.info.Uses[id]; o != nil {
				r.uses[o] = append(r.uses[o], id)
			}
		}
	}
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			if c.Text == u.block() {
				r.made[c.End()] = c.Pos()
			}
		}
	}
	return r
}

// parentsIn returns the nodes around the nodes of files.
func parentsIn(files ...*ast.File) map[ast.Node]ast.Node {
	parents := make(map[ast.Node]ast.Node)
	for _, file := range files {
		ast.PreorderStack(file, nil, func(n ast.Node, stack []ast.Node) bool {
			if len(stack) > 0 {
				parents[n] = stack[len(stack)-1]
			}
			return true
		})
	}
	return parents
}

// all applies all rules.
func (r *rules) all() {
	r.removeUnused(false)
	ast.Inspect(r.f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			r.assignment(n)
		case *ast.DeclStmt:
			r.declaration(n)
		}
		return true
	})
	ast.Inspect(r.f.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			r.ifStatement(n)
			r.emptied(n)
		case *ast.SwitchStmt:
			r.switchStatement(n)
		}
		if list := statements(n); list != nil {
			r.list(n, *list)
		}
		if e, ok := n.(ast.Expr); ok {
			r.expression(e)
		}
		return true
	})
}

// parenthesized returns an expression with all parentheses around it.
func parenthesized(n ast.Node, parents map[ast.Node]ast.Node) ast.Node {
	for {
		p, ok := parents[n].(*ast.ParenExpr)
		if !ok {
			return n
		}
		n = p
	}
}

// at returns the place of a position in the text.
func (r *rules) at(p token.Pos) int { return int(p - r.f.syntax.FileStart) }

func (r *rules) text(n ast.Node) string { return r.between(n.Pos(), n.End()) }

func (r *rules) between(from, to token.Pos) string { return string(r.f.text[r.at(from):r.at(to)]) }

// replace returns the edit that replaces what is between two positions.
func (r *rules) replace(from, to token.Pos, text string) edit {
	return edit{r.at(from), r.at(to), text}
}

// statements returns the list of statements that a node has, or nil.
func statements(n ast.Node) *[]ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return &n.List
	case *ast.CaseClause:
		return &n.Body
	case *ast.CommClause:
		return &n.Body
	}
	return nil
}

// inList reports whether a statement is one of a list, where there may be any number in
// its place.
func (r *rules) inList(s ast.Stmt) bool {
	list := statements(r.parents[s])
	return list != nil && slices.Contains(*list, s)
}

// removal returns the edit that removes a statement of a list, with the comment that
// ends its line.
func (r *rules) removal(n ast.Node) edit {
	return r.replace(n.Pos(), r.endOfLine(n.End()), r.u.gap())
}

// endOfLine returns the end of the comment that follows on the same line, and is the last
// thing there, or the position itself.
func (r *rules) endOfLine(p token.Pos) token.Pos {
	rest, _, _ := bytes.Cut(r.f.text[r.at(p):], []byte("\n"))
	if !bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte("//")) {
		return p
	}
	return p + token.Pos(len(bytes.TrimRight(rest, "\r")))
}

// comments reports whether a comment between two positions says anything, and whether
// there is the mark of a statement that was removed.
func (r *rules) comments(from, to token.Pos) (said, gap bool) {
	for _, group := range r.f.syntax.Comments {
		for _, c := range group.List {
			if c.Pos() < from || c.End() > to {
				continue
			}
			switch {
			case c.Text == r.u.gap():
				gap = true
			case c.Text != r.u.block() && !strings.HasPrefix(c.Text, r.u.follower()):
				said = true
			}
		}
	}
	return said, gap
}

// isEmpty reports whether a block has neither statements nor comments. Emptied says that
// rules have removed what it had.
func (r *rules) isEmpty(b *ast.BlockStmt) (empty, emptied bool) {
	if len(b.List) > 0 {
		return false, false
	}
	said, gap := r.comments(b.Lbrace, b.Rbrace)
	return !said, gap && !said
}

// isMade reports whether rules have made a block, and where its mark is.
func (r *rules) isMade(s ast.Stmt) (b *ast.BlockStmt, from token.Pos, ok bool) {
	b, ok = s.(*ast.BlockStmt)
	if !ok {
		return nil, 0, false
	}
	from, ok = r.made[b.Lbrace]
	return b, from, ok
}

// A known is the value of an expression, and the site that it has it from.
type known struct {
	constant constant.Value
	site     int
}

func (k known) isTrue() bool {
	return k.constant != nil && k.constant.Kind() == constant.Bool && constant.BoolVal(k.constant)
}

func (k known) isFalse() bool {
	return k.constant != nil && k.constant.Kind() == constant.Bool && !constant.BoolVal(k.constant)
}

// known returns the value that an expression has because of marks. Constants of the
// program do not count where they are conditions: they may be others in another build.
func (r *rules) known(e ast.Expr) (k known, ok bool) {
	switch e := e.(type) {
	case *ast.Ident:
		i, v, ok := r.u.marked(e.Name)
		return known{v.constant, i}, ok
	case *ast.ParenExpr:
		return r.known(e.X)
	case *ast.UnaryExpr:
		if k, ok = r.known(e.X); ok && e.Op == token.NOT {
			return known{constant.UnaryOp(token.NOT, k.constant, 0), k.site}, true
		}
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND, token.LOR:
			return r.knownLogic(e)
		case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
			return r.knownComparison(e)
		}
	case *ast.CallExpr:
		if len(e.Args) != 1 || !r.info.Types[e.Fun].IsType() {
			return known{}, false
		}
		from, to := basic(r.info.TypeOf(e.Args[0])), basic(r.info.TypeOf(e))
		if k, ok = r.known(e.Args[0]); ok && (from&types.IsString != 0 && to&types.IsString != 0 || from&types.IsBoolean != 0 && to&types.IsBoolean != 0) {
			return k, true
		}
	}
	return known{}, false
}

// basic returns what the values of a type are, 0 for what is not basic.
func basic(t types.Type) types.BasicInfo {
	if t == nil {
		return 0
	}
	if b, ok := t.Underlying().(*types.Basic); ok {
		return b.Info()
	}
	return 0
}

func (r *rules) knownLogic(e *ast.BinaryExpr) (k known, ok bool) {
	decides := known.isFalse // for both operands
	if e.Op == token.LOR {
		decides = known.isTrue
	}
	x, okX := r.known(e.X)
	y, okY := r.known(e.Y)
	switch {
	case okX && decides(x):
		return x, true
	case okX:
		return y, okY
	case okY && decides(y) && r.pure(e.X):
		return y, true
	}
	return known{}, false
}

func (r *rules) knownComparison(e *ast.BinaryExpr) (k known, ok bool) {
	result := r.info.Types[e].Value
	if result == nil {
		return known{}, false
	}
	for _, operand := range []ast.Expr{e.X, e.Y} {
		site, has := r.siteIn(operand)
		if has {
			k.site, ok = site, true
		} else if basic(r.info.TypeOf(operand))&types.IsBoolean != 0 && !r.isLiteral(operand) {
			return known{}, false
		}
	}
	k.constant = result
	return k, ok
}

// isLiteral reports whether an expression is true or false.
func (r *rules) isLiteral(e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	return ok && r.info.Uses[id] != nil && r.info.Uses[id].Parent() == types.Universe
}

// siteIn returns the site of a mark in an expression.
func (r *rules) siteIn(n ast.Node) (site int, ok bool) {
	for n := range ast.Preorder(n) {
		if id, isName := n.(*ast.Ident); isName {
			if site, _, ok = r.u.marked(id.Name); ok {
				return site, true
			}
		}
	}
	return 0, false
}

// expression replaces an expression with a value by a mark, and one that only repeats an
// operand by the operand.
func (r *rules) expression(e ast.Expr) {
	if _, isName := ast.Unparen(e).(*ast.Ident); isName {
		if p, ok := e.(*ast.ParenExpr); ok {
			if _, known := r.known(p); known {
				r.edits.add(r.replace(p.Pos(), p.End(), r.text(ast.Unparen(p))))
			}
		}
		return
	}
	if k, ok := r.known(e); ok {
		if v, ok := r.u.valueOf(r.info.TypeOf(e), k.constant); ok {
			r.edits.add(r.replace(e.Pos(), e.End(), r.u.mark(k.site, v)))
		}
		return
	}
	b, ok := e.(*ast.BinaryExpr)
	if ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		r.truth(b)
	}
	if !ok || b.Op != token.LAND && b.Op != token.LOR {
		return
	}
	repeats := known.isTrue // an operand that says nothing
	if b.Op == token.LOR {
		repeats = known.isFalse
	}
	if k, ok := r.known(b.X); ok && repeats(k) {
		r.keep(b, b.Y)
	} else if k, ok := r.known(b.Y); ok && repeats(k) {
		r.keep(b, b.X)
	}
}

// truth replaces the comparison of a condition with true or false by the condition.
func (r *rules) truth(b *ast.BinaryExpr) {
	for _, operands := range [2][2]ast.Expr{{b.X, b.Y}, {b.Y, b.X}} {
		k, ok := r.known(operands[0])
		if !ok || k.constant.Kind() != constant.Bool || !types.Identical(r.info.TypeOf(operands[1]), types.Typ[types.Bool]) {
			continue
		}
		if k.isTrue() == (b.Op == token.EQL) {
			r.keep(b, operands[1])
		} else {
			r.edits.add(r.replace(b.Pos(), b.End(), r.negation(operands[1])))
		}
		return
	}
}

// keep replaces an expression by one of its operands, without parentheses that are not
// needed any more.
func (r *rules) keep(e ast.Expr, operand ast.Expr) {
	inner := ast.Unparen(operand)
	_, isBinary := inner.(*ast.BinaryExpr)
	whole := ast.Node(e)
	if !isBinary && !hasLiteral(inner) {
		whole = parenthesized(e, r.parents)
	}
	switch r.parents[whole].(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr, *ast.StarExpr, *ast.SelectorExpr:
		if isBinary {
			inner = operand
		}
	}
	if hasLiteral(inner) {
		inner = operand
	}
	r.edits.add(r.replace(whole.Pos(), whole.End(), r.text(inner)))
}

// hasLiteral reports whether an expression has braces, which would be taken for the
// beginning of a block without parentheses around.
func hasLiteral(e ast.Expr) bool {
	for n := range ast.Preorder(e) {
		if _, ok := n.(*ast.CompositeLit); ok {
			return true
		}
	}
	return false
}

// pure reports whether an expression has no effect, so that it can be left out.
func (r *rules) pure(e ast.Expr) bool { return uses.Purity{Info: r.info, Strict: true}.Expr(e) }

// effect returns a statement that evaluates an expression for its effect alone.
func (r *rules) effect(e ast.Expr) string {
	e = ast.Unparen(e)
	if call, ok := e.(*ast.CallExpr); ok {
		tv := r.info.Types[call.Fun]
		if !tv.IsType() && !tv.IsBuiltin() {
			return r.text(e)
		}
	}
	return "_ = " + r.text(e)
}
