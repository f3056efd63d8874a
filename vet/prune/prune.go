package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/vet/internal/uses"
)

// Options say which flags are pruned, and where.
type Options struct {
	// Keys are the flags that are pruned. Each must be the same for everybody in the
	// Snapshot, or have one of the Values.
	Keys []string

	// Values are the values of flags that are pruned, by their keys: "true", "false" or
	// the key of a variant. They come before what the Snapshot says.
	Values map[string]string

	// Snapshot has the flags. It may be nil if all have Values.
	Snapshot *flags.Snapshot

	// Definitions are what the Snapshot was made of, for errors that say for how many a
	// flag is on. They may be nil.
	Definitions *flags.Definitions

	// Dir is the folder from which patterns of packages count, "" for the current one.
	Dir string

	// BuildFlags are for the go command, such as -tags=integration, and Env is its
	// environment. Nil means the one of this process.
	BuildFlags []string
	Env        []string

	// Overlay has the contents of files by their absolute paths, in place of what is on
	// the disk, nil for none.
	Overlay map[string][]byte
}

// A Report says what was done. It is not safe for concurrent use.
type Report struct {
	Files []File  // that change, in the order of their paths
	Left  []Place // that were not changed, in the order of files and lines

	// Open are the places that may ask for flags that are pruned, and of which that is not
	// certain: a key that is not a constant, for example. Of a flag for which there is
	// neither a call nor a place in Left nor in Open, no code asks.
	Open []Place

	// Unused are declarations that nothing in the packages uses any more: handles of the
	// flags, and what is not exported. They were not changed either.
	Unused []Place

	// Calls is how many calls were replaced, by the keys of the flags.
	Calls map[string]int
}

// A File is a file that changes.
type File struct {
	Path     string // absolute
	Old, New []byte
}

// A Place is something that was left.
type Place struct {
	Position token.Position // in the old file, with an absolute path
	Line     int            // in the new file
	Key      string         // of the flag; "" if it is about any flag, or about none
	Reason   string
}

// Run prunes flags in the packages that patterns name, as the go command understands
// them, and in their tests. It changes no file. The error says what does not compile, or
// which flag has no settled value. It returns the error of ctx when that ends.
func Run(ctx context.Context, o Options, patterns ...string) (r *Report, err error) {
	defer func() {
		if v := recover(); v != nil {
			r, err = nil, fmt.Errorf("prune: a rule has panicked: %v", v)
		}
	}()
	settled, err := o.results()
	if err != nil {
		return nil, err
	}
	program, err := uses.Load(packages.Config{
		Context: ctx, Dir: o.Dir, BuildFlags: o.BuildFlags, Env: o.Env, Overlay: o.Overlay, Tests: true,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	p := pruner{ctx: ctx, options: &o, settled: settled, program: program, seen: make(map[string]bool)}
	if err := p.units(); err != nil {
		return nil, err
	}
	return p.report()
}

// A pruner prunes the packages of a program.
type pruner struct {
	ctx     context.Context
	options *Options
	settled map[string]result
	program *uses.Program
	seen    map[string]bool // files that are in a unit

	list []*packageUnit
}

// A packageUnit is a unit with the package that it is made of.
type packageUnit struct {
	unit
	from  *packages.Package
	byPos map[*token.File]*unitFile
}

// importer returns the packages that a package imports.
type importer map[string]*packages.Package

func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := i[path]; p != nil && p.Types != nil {
		return p.Types, nil
	}
	return nil, fmt.Errorf("package %s was not loaded", path)
}

// units makes a unit of each package that asks for the flags. Of a package and its variant
// with tests, the variant has all files of both.
func (p *pruner) units() error {
	list := slices.Clone(p.program.Packages)
	slices.SortStableFunc(list, func(a, b *packages.Package) int {
		return cmp.Or(cmp.Compare(a.PkgPath, b.PkgPath), cmp.Compare(len(b.Syntax), len(a.Syntax)))
	})
	for _, from := range list {
		u := &packageUnit{from: from, byPos: make(map[*token.File]*unitFile)}
		u.path, u.name, u.importer, u.sizes = from.PkgPath, from.Name, importer(from.Imports), from.TypesSizes
		if from.Module != nil && from.Module.GoVersion != "" {
			u.goVersion = "go" + from.Module.GoVersion
		}
		fresh := false
		for _, file := range from.Syntax {
			f, err := p.file(from, file)
			if err != nil {
				return err
			}
			u.files = append(u.files, f)
			u.byPos[from.Fset.File(file.FileStart)] = f
			if !p.seen[f.path] {
				p.seen[f.path], fresh = true, true
			} else {
				f.fixed = true // the unit that came before changes it
			}
		}
		if fresh {
			p.find(u)
			p.list = append(p.list, u)
		}
	}
	return nil
}

// file returns a file as it is on the disk.
func (p *pruner) file(from *packages.Package, file *ast.File) (*unitFile, error) {
	f := &unitFile{path: from.Fset.PositionFor(file.FileStart, false).Filename}
	var err error
	if text, ok := p.options.Overlay[f.path]; ok {
		f.original = text
	} else if f.original, err = os.ReadFile(f.path); err != nil {
		return nil, err
	}
	if len(f.original) != int(file.FileEnd-file.FileStart) {
		return nil, fmt.Errorf("%s has changed while it was read", f.path)
	}
	f.fixed = ast.IsGenerated(file) || !slices.Contains(from.GoFiles, f.path)
	return f, nil
}

// find finds the sites of a unit, and what is left at once.
func (p *pruner) find(u *packageUnit) {
	found := p.program.Found[u.from]
	if found == nil {
		return
	}
	parents := parentsIn(u.from.Syntax...)
	p.findOpen(u, found)
	for i := range found.Uses {
		use := &found.Uses[i]
		r, ok := p.settled[use.Key]
		file := u.byPos[u.from.Fset.File(use.Call.Pos())]
		if !ok || use.Key == "" || use.Field || file == nil {
			continue
		}
		s, why := u.site(use, r, parents)
		if why == "" && file.fixed {
			why = "another program has made this file"
			if p.seenBefore(u, file) {
				continue
			}
		}
		at := u.from.Fset.PositionFor(use.Call.Pos(), false)
		if why != "" {
			p.leave(u, use.Call.Lparen+1, Place{at, at.Line, use.Key, why})
			continue
		}
		s.at, s.key, s.line = at, use.Key, at.Line
		u.sites = append(u.sites, s)
	}
}

// findOpen finds what asks for flags, or may do so, and cannot be replaced by a value.
func (p *pruner) findOpen(u *packageUnit, found *uses.Package) {
	leave := func(e ast.Expr, key, why string) {
		if _, ok := p.settled[key]; ok || key == "" {
			at := u.from.Fset.PositionFor(e.Pos(), false)
			p.leave(u, e.Pos(), Place{at, at.Line, key, why})
		}
	}
	for _, o := range found.Open {
		leave(o.Expr, o.Key, o.Reason)
	}
	for _, k := range found.Keys {
		leave(k.Expr, k.Key, "a request names it")
	}
	for i := range found.Uses {
		use := &found.Uses[i]
		switch {
		case use.KeyExpr == nil: // of a handle, which is told where it is kept if it is not known here
			if use.Field && use.Key != "" {
				leave(use.Call, use.Key, "its handle is in a field, which may have another one")
			}
		case use.Field && use.Key != "" && len(use.Keys) == 0:
			leave(use.Call, use.Key, "what is called is in a field, which may have another function")
		case len(use.Keys) > 0 && use.Closed:
			for _, k := range use.Keys {
				leave(use.KeyExpr, k.Key, "the key is in a field, which may have another one")
			}
		case use.Key == "" || use.Field:
			leave(use.KeyExpr, "", "the key is not a constant")
		}
	}
}

// leave notes a place that is not replaced, once for each file.
func (p *pruner) leave(u *packageUnit, at token.Pos, place Place) {
	if file := u.byPos[u.from.Fset.File(at)]; file != nil && !p.seenBefore(u, file) {
		u.keep(file, at, place)
	}
}

// keep notes a place that is not replaced.
func (u *packageUnit) keep(f *unitFile, at token.Pos, place Place) {
	u.kept = append(u.kept, &keptPlace{f, int(at - u.syntaxAt(at).FileStart), place})
}

// mentions returns the places where the keys of flags, for which nothing asks, are texts.
func (p *pruner) mentions(asked func(key string) bool) (list []Place) {
	for _, u := range p.list {
		found := p.program.Found[u.from]
		set := make(map[ast.Expr]bool) // by tests
		for _, syntax := range u.from.Syntax {
			for n := range ast.Preorder(syntax) {
				if call, ok := n.(*ast.CallExpr); ok && isFlagstest(u.from.TypesInfo, call, "Flag") && len(call.Args) == 1 {
					set[call.Args[0]] = true
				}
			}
		}
		for key := range p.settled {
			for _, e := range found.Texts[key] {
				if at := u.from.Fset.PositionFor(e.Pos(), false); !set[e] && !asked(key) {
					list = append(list, Place{at, at.Line, key, "the key is a text here"})
				}
			}
		}
	}
	return list
}

// seenBefore reports whether a file is in a unit before this one.
func (p *pruner) seenBefore(u *packageUnit, f *unitFile) bool {
	for _, other := range p.list {
		if other != u && slices.ContainsFunc(other.files, func(g *unitFile) bool { return g.path == f.path }) {
			return true
		}
	}
	return false
}

// Reasons for which a call is left where it is.
const (
	whyLoop    = "a loop asks each time"
	whyEarly   = "it is asked when the package is initialized, before flags are loaded, so that it has its fallback"
	whyEffects = "its arguments have effects"
	whyError   = "the error that it returns is used"
	whyOK      = "whether there is a value is used"
	whyLater   = "go and defer need a call"
)

// site returns where and how a call is replaced, or why it is not.
func (u *packageUnit) site(use *uses.Use, r result, parents map[ast.Node]ast.Node) (s *site, why string) {
	call := use.Call
	file := u.byPos[u.from.Fset.File(call.Pos())]
	syntax := u.syntaxAt(call.Pos())
	at := func(p token.Pos) int { return int(p - syntax.FileStart) }
	s = &site{file: file, start: at(call.Pos()), end: at(call.End()), inside: at(call.Lparen + 1), decl: declarationAt(syntax, call.Pos())}
	if !use.Pure {
		return nil, whyEffects
	}
	if why := unfit(call, parents); why != "" {
		return nil, why
	}
	node := parenthesized(call, parents)
	if statement, ok := parents[node].(*ast.ExprStmt); ok {
		if statements(parents[statement]) == nil {
			return nil, "the statement has a label, or is part of another one"
		}
		s.start, s.end, s.statement = at(statement.Pos()), at(statement.End()), true
		return s, ""
	}
	c, why := answer(use, r, u.from.TypesInfo)
	if why != "" {
		return nil, why
	}
	t := u.from.TypesInfo.TypeOf(call)
	switch use.Shape {
	case uses.One:
	case uses.ValueOK, uses.ValueError:
		a, ok := parents[node].(*ast.AssignStmt)
		if !ok || len(a.Lhs) != 2 || !isBlank(a.Lhs[1]) {
			if use.Shape == uses.ValueOK {
				return nil, whyOK
			}
			return nil, whyError
		}
		if isBlank(a.Lhs[0]) && statements(parents[a]) != nil {
			s.start, s.end, s.statement = at(a.Pos()), at(a.End()), true
			return s, ""
		}
		s.blank = &[2]int{at(a.Lhs[0].End()), at(a.Lhs[1].End())}
		t = t.(*types.Tuple).At(0).Type()
	default:
		return nil, "what it returns is more than the value"
	}
	if u.computes(node, parents, t) {
		return nil, "it is computed with another constant, and constants are computed more exactly"
	}
	v, ok := u.valueOf(t, c)
	if !ok {
		return nil, fmt.Sprintf("code here cannot name its type %s", types.TypeString(t, types.RelativeTo(u.from.Types)))
	}
	s.value = v
	return s, ""
}

func (u *packageUnit) syntaxAt(at token.Pos) *ast.File {
	i := slices.IndexFunc(u.from.Syntax, func(f *ast.File) bool { return f.FileStart <= at && at <= f.FileEnd })
	return u.from.Syntax[i]
}

// unfit says why a call must stay because of where it is.
func unfit(call ast.Node, parents map[ast.Node]ast.Node) string {
	for n, p := call, parents[call]; p != nil; n, p = p, parents[p] {
		switch p := p.(type) {
		case *ast.FuncLit:
			if outer, ok := parents[p].(*ast.CallExpr); !ok || outer.Fun != p {
				return ""
			}
		case *ast.FuncDecl:
			if p.Recv == nil && p.Name.Name == "init" {
				return whyEarly
			}
			return ""
		case *ast.ForStmt:
			if n != p.Body && n != p.Init {
				return whyLoop
			}
		case *ast.GoStmt:
			if p.Call == call {
				return whyLater
			}
		case *ast.DeferStmt:
			if p.Call == call {
				return whyLater
			}
		}
	}
	return whyEarly
}

// computes reports whether a number with a fraction is an operand beside a constant.
func (u *packageUnit) computes(n ast.Node, parents map[ast.Node]ast.Node, t types.Type) bool {
	if basic(t)&types.IsFloat == 0 {
		return false
	}
	switch p := parents[n].(type) {
	case *ast.UnaryExpr:
		return true
	case *ast.CallExpr:
		return u.from.TypesInfo.Types[p.Fun].IsType() // a conversion, whose result is an operand perhaps
	case *ast.BinaryExpr:
		return u.from.TypesInfo.Types[p.X].Value != nil || u.from.TypesInfo.Types[p.Y].Value != nil
	}
	return false
}

// report rewrites the units.
func (p *pruner) report() (*Report, error) {
	for _, u := range p.list {
		if err := p.rewrite(u); err != nil {
			return nil, err
		}
	}
	if err := p.tests(); err != nil {
		return nil, err
	}
	r := Report{Calls: make(map[string]int)}
	for _, u := range p.list {
		for _, f := range u.files {
			if f.text != nil && string(f.text) != string(f.original) {
				r.Files = append(r.Files, File{f.path, f.original, f.text})
			}
		}
		for _, s := range u.sites {
			if s.left == "" {
				r.Calls[s.key]++
			} else if s.line > 0 {
				r.Left = append(r.Left, Place{s.at, s.line, s.key, s.left})
			}
		}
		for _, k := range u.kept {
			switch {
			case k.place.Line == 0:
			case k.place.Key == "":
				r.Open = append(r.Open, k.place)
			default:
				r.Left = append(r.Left, k.place)
			}
		}
	}
	r.Open = sorted(append(r.Open, p.mentions(func(key string) bool {
		return r.Calls[key] > 0 || slices.ContainsFunc(r.Left, func(place Place) bool { return place.Key == key })
	})...))
	slices.SortFunc(r.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	r.Left, r.Unused = sorted(r.Left), sorted(p.unused())
	return &r, nil
}

// sorted returns places in the order of files and lines, each once.
func sorted(list []Place) []Place {
	slices.SortFunc(list, func(a, b Place) int {
		return cmp.Or(strings.Compare(a.Position.Filename, b.Position.Filename), cmp.Compare(a.Position.Offset, b.Position.Offset), strings.Compare(a.Reason, b.Reason))
	})
	return slices.Compact(list)
}

// rewrite rewrites a unit if there is anything to replace.
func (p *pruner) rewrite(u *packageUnit) error {
	if len(u.sites) == 0 && len(u.removals) == 0 {
		return nil
	}
	err := u.unit.rewrite(p.ctx)
	if err != nil && !errors.Is(err, p.ctx.Err()) {
		return fmt.Errorf("prune %s: %w", u.path, err)
	}
	return err
}
