package prune

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxRounds is how often the rules go over a package. Each round makes code shorter, but
// for rounds that turn a statement into a block.
const maxRounds = 1000

// A unit is a package that is rewritten.
//
// Calls of flags first become names of constants, which are declared nowhere but in a file
// that only the type checker sees: a mark. The rules then look for marks alone. They edit
// the text, so that comments and the form of what stays are kept, one step at a time; after
// each round the package is parsed and checked again. In the end the marks that are left
// become values of Go.
type unit struct {
	path, name string
	importer   types.Importer // of what the package imports
	sizes      types.Sizes
	goVersion  string
	files      []*unitFile
	sites      []*site
	removals   []removal
	kept       []*keptPlace

	prefix   string  // of all marks, which no file has
	values   []value // that marks have
	declared map[string]bool

	set     *token.FileSet // of the latest check, as all below
	checked *types.Package
	info    *types.Info
	errs    []types.Error
}

// A unitFile is a file of a unit.
type unitFile struct {
	path     string
	original []byte
	fixed    bool // is not changed: another program has made it

	text   []byte
	syntax *ast.File // of text; nil if text has changed since
}

// A site is a call that is replaced.
type site struct {
	file       *unitFile
	start, end int   // of the call
	value      value // what it returns
	at         token.Position
	key        string
	blank      *[2]int // of ", _", which goes with the call
	statement  bool    // the call is a statement, and is left out
	decl       int     // the number of its declaration in the file
	inside     int     // a place between the call's parentheses

	left string // why it is not replaced, "" if it is
	line int    // where it is in the new file if it is left; 0 if it went with other code
}

// A keptPlace is what is not replaced from the start, such as a call.
type keptPlace struct {
	file  *unitFile
	at    int // where a comment may be: before an expression, or between the parentheses of a call
	place Place
}

// A removal is a part of a text that is left out from the start.
type removal struct {
	file       *unitFile
	start, end int
}

// errStuck says that sites were left out, and that the unit must be rewritten again.
var errStuck = errors.New("sites were left")

// rewrite rewrites the files. Sites that cannot be replaced have a reason then.
func (u *unit) rewrite(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := u.attempt(ctx)
		if !errors.Is(err, errStuck) {
			return err
		}
	}
}

// attempt rewrites the files with the sites that have no reason. It is errStuck if a site
// got one.
func (u *unit) attempt(ctx context.Context) error {
	u.begin()
	for range maxRounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := u.check(); err != nil {
			return err
		}
		if !u.round() {
			if err := u.spell(); err != nil {
				return err
			}
			return u.finish()
		}
	}
	return u.leave(func(*site) bool { return true }, "the rules came to no end")
}

// begin sets the texts to what they were, with marks in place of the calls.
func (u *unit) begin() {
	u.prefix = "settled"
	for n := 0; slices.ContainsFunc(u.files, func(f *unitFile) bool { return bytes.Contains(f.original, []byte(u.prefix)) }); n++ {
		u.prefix = fmt.Sprintf("settled%d", n)
	}
	u.values, u.declared = nil, make(map[string]bool)
	for _, k := range u.kept {
		k.place.Line = k.place.Position.Line
	}
	lists := make(map[*unitFile]*edits)
	for _, f := range u.files {
		f.text, f.syntax = f.original, nil
		lists[f] = new(edits)
	}
	for i, s := range u.sites {
		s.line = s.at.Line
		if s.left != "" {
			continue
		}
		text := u.gap()
		if !s.statement {
			text = u.mark(i, s.value)
		}
		list := []edit{{s.start, s.end, text}}
		if s.blank != nil {
			list = append(list, edit{s.blank[0], s.blank[1], ""})
		}
		if !lists[s.file].add(list...) {
			s.left = "it is an argument of another call that is settled"
		}
	}
	for _, r := range u.removals {
		lists[r.file].add(edit{r.start, r.end, ""})
	}
	for f, list := range lists {
		if len(*list) > 0 {
			u.follow(f, list)
			f.text = list.apply(f.text)
		}
	}
}

// follow adds comments to calls that stay, so that their lines in the new file are known.
func (u *unit) follow(f *unitFile, list *edits) {
	for i, k := range u.kept {
		if k.file == f && !f.fixed {
			k.place.Line = 0
			list.add(edit{k.at, k.at, u.follower() + strconv.Itoa(i) + "*/"})
		}
	}
	for i, s := range u.sites {
		if s.file == f && s.left != "" {
			s.line = 0
			list.add(edit{s.inside, s.inside, u.follower() + strconv.Itoa(len(u.kept)+i) + "*/"})
		}
	}
}

// arrive notes on which lines the calls that stay are, and removes their comments.
func (u *unit) arrive(text []byte) []byte {
	begin := []byte(u.follower())
	for {
		i := bytes.Index(text, begin)
		if i < 0 {
			return text
		}
		rest := text[i+len(begin):]
		digits, after, _ := bytes.Cut(rest, []byte("*/"))
		n, _ := strconv.Atoi(string(digits))
		line := 1 + bytes.Count(text[:i], []byte("\n"))
		if n < len(u.kept) {
			u.kept[n].place.Line = line
		} else {
			u.sites[n-len(u.kept)].line = line
		}
		text = slices.Concat(text[:i], after)
	}
}

// mark returns the name that stands for a value at a site.
func (u *unit) mark(i int, v value) string {
	n := slices.IndexFunc(u.values, func(w value) bool {
		return v.typ == w.typ && v.pkg == w.pkg && v.constant.Kind() == w.constant.Kind() && constant.Compare(v.constant, token.EQL, w.constant)
	})
	if n < 0 {
		n = len(u.values)
		u.values = append(u.values, v)
	}
	name := fmt.Sprintf("%s_%d_%d", u.prefix, i, n)
	u.declared[name] = true
	return name
}

// marked returns the site and the value of a name that is a mark.
func (u *unit) marked(name string) (i int, v value, ok bool) {
	rest, ok := strings.CutPrefix(name, u.prefix+"_")
	if !ok {
		return 0, value{}, false
	}
	first, second, _ := strings.Cut(rest, "_")
	i, err := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	if err != nil || err2 != nil {
		return 0, value{}, false
	}
	return i, u.values[n], true
}

// gap stands where a statement was, and block before a block that a rule has made.
func (u *unit) gap() string   { return "/*" + u.prefix + ":gap*/" }
func (u *unit) block() string { return "/*" + u.prefix + ":block*/" }

// follower is the beginning of a comment in a call that stays.
func (u *unit) follower() string { return "/*" + u.prefix + ":at" }

// declarations returns the file that declares the marks.
func (u *unit) declarations() string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n", u.name)
	for i, v := range u.values {
		if v.pkg != nil {
			fmt.Fprintf(&b, "import %s_pkg%d %q\n", u.prefix, i, v.pkg.Path())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(u.declared)) {
		_, v, _ := u.marked(name)
		typ := v.typ
		switch {
		case v.pkg != nil:
			typ = fmt.Sprintf("%s_pkg%d.%s", u.prefix, slices.Index(u.values, v), v.typ)
		case typ == "bool", typ == "string":
			typ = "" // as true and texts are in code
		}
		fmt.Fprintf(&b, "const %s %s = %s\n", name, typ, v.code())
	}
	return b.String()
}

// Import returns a package that a file of the unit imports, or that has the type of a mark.
func (u *unit) Import(path string) (*types.Package, error) {
	p, err := u.importer.Import(path)
	if err == nil {
		return p, nil
	}
	for _, v := range u.values {
		if v.pkg != nil && v.pkg.Path() == path {
			return v.pkg, nil
		}
	}
	return nil, err
}

// check parses and checks the texts. An error that is not about something unused makes
// sites be left.
func (u *unit) check() error {
	u.set = cmp.Or(u.set, token.NewFileSet())
	var list []*ast.File
	for _, f := range u.files {
		if f.syntax == nil {
			parsed, err := parser.ParseFile(u.set, f.path, f.text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return u.leave(func(s *site) bool { return s.file == f }, "the code would not parse any more: "+err.Error())
			}
			f.syntax = parsed
		}
		list = append(list, f.syntax)
	}
	marks, err := parser.ParseFile(u.set, u.prefix+".go", u.declarations(), parser.SkipObjectResolution)
	if err != nil {
		return u.leave(func(*site) bool { return true }, "its type has no name here: "+err.Error())
	}
	list = append(list, marks)
	u.errs = nil
	config := types.Config{
		Importer: u, Sizes: u.sizes, GoVersion: u.goVersion,
		Error: func(err error) {
			if e, ok := errors.AsType[types.Error](err); ok {
				u.errs = append(u.errs, e)
			}
		},
	}
	u.info = &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue), Defs: make(map[*ast.Ident]types.Object), Uses: make(map[*ast.Ident]types.Object),
		Implicits: make(map[ast.Node]types.Object), Selections: make(map[*ast.SelectorExpr]*types.Selection), Scopes: make(map[ast.Node]*types.Scope),
		FileVersions: make(map[*ast.File]string),
	}
	u.checked, _ = config.Check(u.path, u.set, list, u.info) // the errors are in errs
	for _, e := range u.errs {
		if !isUnused(e) {
			return u.refuse(e)
		}
	}
	return nil
}

// refuse leaves the sites of the statement in which an error is, or if there are none, the
// sites of its declaration.
func (u *unit) refuse(e types.Error) error {
	why := "the code would not compile any more: " + e.Msg
	for _, f := range u.files {
		if f.syntax.FileStart > e.Pos || e.Pos > f.syntax.FileEnd {
			continue
		}
		if marks := u.marksAround(f, e.Pos); len(marks) > 0 {
			for _, i := range marks {
				u.sites[i].left = why
			}
			return errStuck
		}
		n := declarationAt(f.syntax, e.Pos)
		if err := u.leave(func(s *site) bool { return s.file == f && s.decl == n }, why); err != nil {
			return err
		}
		if err := u.leave(func(s *site) bool { return s.file == f }, why); err != nil {
			return err
		}
	}
	if err := u.leave(func(*site) bool { return true }, why); err != nil {
		return err
	}
	return fmt.Errorf("package %s does not compile: %s", u.path, e.Msg)
}

// marksAround returns the sites whose marks are in the innermost statement at a position.
func (u *unit) marksAround(f *unitFile, pos token.Pos) (sites []int) {
	var inner ast.Node
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if n == nil || pos < n.Pos() || n.End() < pos {
			return false
		}
		switch n.(type) {
		case *ast.BlockStmt:
		case ast.Stmt:
			inner = n
		}
		return true
	})
	if inner == nil {
		return nil
	}
	for n := range ast.Preorder(inner) {
		if id, ok := n.(*ast.Ident); ok {
			if i, _, ok := u.marked(id.Name); ok && u.sites[i].left == "" {
				sites = append(sites, i)
			}
		}
	}
	return sites
}

// leave gives sites a reason and is errStuck if there are any.
func (u *unit) leave(which func(*site) bool, why string) error {
	found := false
	for _, s := range u.sites {
		if s.left == "" && which(s) {
			s.left, found = why, true
		}
	}
	if found {
		return errStuck
	}
	return nil
}

// declarationAt returns the number of the declaration at a position, not counting imports,
// which rules may remove.
func declarationAt(file *ast.File, pos token.Pos) int {
	n := 0
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		if d.Pos() <= pos && pos <= d.End() {
			return n
		}
		n++
	}
	return -1
}

// round goes over the files once. It is false if no rule has found anything.
func (u *unit) round() bool {
	changed := false
	for _, f := range u.files {
		if f.fixed || !bytes.Contains(f.text, []byte(u.prefix)) && !u.hasErrors(f) {
			continue
		}
		r := newRules(u, f)
		r.all()
		if len(r.edits) > 0 {
			f.text, f.syntax = r.edits.apply(f.text), nil
			changed = true
		}
	}
	return changed
}

func (u *unit) hasErrors(f *unitFile) bool {
	return slices.ContainsFunc(u.errs, func(e types.Error) bool {
		return f.syntax.FileStart <= e.Pos && e.Pos <= f.syntax.FileEnd
	})
}

// finish removes imports and marks that are not needed any more, and formats the files.
func (u *unit) finish() error {
	for _, f := range u.files {
		if !bytes.Equal(f.text, f.original) {
			f.text, f.syntax = strip(f.text, u.gap(), u.block()), nil
		}
	}
	for range maxRounds {
		if err := u.check(); err != nil {
			return err
		}
		changed := false
		for _, f := range u.files {
			if f.fixed || !u.hasErrors(f) {
				continue
			}
			r := newRules(u, f)
			r.removeUnused(true)
			if len(r.edits) == 0 {
				continue
			}
			f.text, f.syntax = strip(r.edits.apply(f.text), u.gap()), nil
			changed = true
		}
		if changed {
			continue
		}
		if len(u.errs) > 0 {
			return u.refuse(u.errs[0])
		}
		return u.format()
	}
	return u.leave(func(*site) bool { return true }, "the rules came to no end")
}

// format formats what has changed in files. All other lines stay as they are, byte by
// byte, and all lines end as they did.
func (u *unit) format() error {
	for _, f := range u.files {
		if bytes.Equal(f.text, f.original) {
			continue
		}
		formatted, err := format.Source(f.text)
		if err == nil && bytes.Contains(formatted, []byte(u.follower())) {
			formatted, err = format.Source(u.arrive(formatted))
		}
		var lines []int
		if err == nil {
			formatted, lines, err = merge(f.original, formatted)
		}
		if err != nil {
			return u.leave(func(s *site) bool { return s.file == f }, "the code would not parse any more: "+err.Error())
		}
		for _, k := range u.kept {
			if k.file == f && !f.fixed {
				k.place.Line = lines[k.place.Line]
			}
		}
		for _, s := range u.sites {
			if s.file == f && s.left != "" {
				s.line = lines[s.line]
			}
		}
		f.text, f.syntax = formatted, nil
	}
	return u.check()
}
