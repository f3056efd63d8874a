package vet

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/vet/internal/uses"
)

// Options configure [Run] and [New].
type Options struct {
	// Definitions are the flags that exist. They are required.
	Definitions *Definitions

	// Config says what is checked and ignored. Nil checks everything.
	Config *Config

	// Dir is the folder in which patterns of packages are looked up. Empty means the
	// working folder.
	Dir string

	// BuildFlags are for the go command, such as -tags=integration, and Env is its
	// environment. Nil means the one of this process.
	BuildFlags []string
	Env        []string

	// Now is the moment at which entries of the ignore list have expired. Zero means
	// time.Now().
	Now time.Time
}

func (o Options) withDefaults() Options {
	o.Config = cmp.Or(o.Config, new(Config))
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	return o
}

// A Finding is a place where a rule is broken.
type Finding struct {
	Rule     Rule           `json:"rule"`
	Severity flags.Severity `json:"severity"`

	// File, Line and Column are the place: lines from 1, columns from 1 in bytes. A flag
	// that no code reads has no place in code, and File is empty.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`

	Flag    string `json:"flag,omitempty"` // the key that the code has
	Message string `json:"message"`

	// Fixes are what would repair it: one of them, if there is any.
	Fixes []Fix `json:"fixes,omitempty"`
}

// String returns the finding as a line, as compilers write it.
func (f Finding) String() string {
	place := ""
	if f.File != "" {
		place = fmt.Sprintf("%s:%d:%d: ", f.File, f.Line, f.Column)
	}
	return fmt.Sprintf("%s%s [%s]", place, f.Message, f.Rule)
}

// A Fix replaces a part of a file.
type Fix struct {
	Message string `json:"message"`
	File    string `json:"file"`
	Start   int    `json:"start"` // bytes from the beginning of the file
	End     int    `json:"end"`
	New     string `json:"new"`
}

// Run checks packages, which patterns name as for the go command, and returns what it
// finds, ordered by place. Names of files are relative to Options.Dir where they are in
// it. The error says that the packages cannot be loaded, or do not compile.
func Run(ctx context.Context, o Options, patterns ...string) ([]Finding, error) {
	o = o.withDefaults()
	if o.Definitions == nil {
		return nil, fmt.Errorf("vet: Options.Definitions is nil")
	}
	fset := token.NewFileSet()
	program, err := uses.Load(packages.Config{
		Context: ctx, Dir: o.Dir, Fset: fset, BuildFlags: o.BuildFlags, Env: o.Env, Tests: o.Config.Tests,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	var problems []problem
	for _, p := range program.Packages {
		c := checker{definitions: o.Definitions, now: o.Now, files: p.Syntax, info: p.TypesInfo, found: program.Found[p]}
		problems = append(problems, c.check()...)
	}
	problems = append(problems, unusedHandles(fset, program)...)
	if o.Config.Unused {
		problems = append(problems, unusedFlags(o.Definitions, program)...)
	}
	return o.findings(fset, problems), nil
}

// findings returns what is not switched off or ignored.
func (o *Options) findings(fset *token.FileSet, problems []problem) []Finding {
	list := []Finding{}
	known := make(map[string]bool) // a package and its variant for tests have the same files
	for _, p := range problems {
		severity, ok := o.Config.severity(p.rule)
		if !ok {
			continue
		}
		f := Finding{Rule: p.rule, Severity: severity, Flag: p.key, Message: p.message}
		if p.pos.IsValid() {
			at := fset.Position(p.pos)
			f.File, f.Line, f.Column = o.relative(at.Filename), at.Line, at.Column
			if o.Config.ignores(p.rule, p.key, at.Filename, o.Now) {
				continue
			}
		} else if o.Config.ignores(p.rule, p.key, "", o.Now) {
			continue
		}
		for _, fix := range p.fixes {
			for _, e := range fix.TextEdits {
				f.Fixes = append(f.Fixes, Fix{fix.Message, f.File, fset.Position(e.Pos).Offset, fset.Position(e.End).Offset, string(e.NewText)})
			}
		}
		if text := f.String(); !known[text] {
			known[text] = true
			list = append(list, f)
		}
	}
	list = append(list, o.expired()...)
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Flag, b.Flag))
	})
	return list
}

// relative returns the name of a file relative to the folder, if it is in it.
func (o *Options) relative(file string) string {
	folder, err := filepath.Abs(o.Dir)
	if err != nil {
		return file
	}
	if name, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(name) {
		return name
	}
	return file
}

// expired returns the entries of the ignore list that count no more.
func (o *Options) expired() (list []Finding) {
	severity, ok := o.Config.severity(Expired)
	for i := range o.Config.Ignore {
		if e := &o.Config.Ignore[i]; ok && e.expired(o.Now) {
			list = append(list, Finding{
				Rule: Expired, Severity: severity, File: o.Config.Path, Line: max(e.line, 1), Column: 1,
				Message: fmt.Sprintf("an entry of the ignore list has expired on %s: %s", e.Until.Format(time.DateOnly), e.Reason),
			})
		}
	}
	return list
}

// place names a declaration in the same way in a package and in its variant for tests.
func place(fset *token.FileSet, o types.Object) string { return fset.Position(o.Pos()).String() }

// unusedHandles reports handles of packages that no package reads. Whether other modules
// read an exported one cannot be known: for handles in such packages the rule is to be
// switched off, or ignored. Of generated handles of one flag, which nobody can remove one
// by one, the first is reported if none is read.
func unusedHandles(fset *token.FileSet, program *uses.Program) (problems []problem) {
	read, readKeys := make(map[string]bool), make(map[string]bool)
	generated := make(map[string]bool) // files
	for p, found := range program.Found {
		for _, o := range found.Mentions {
			read[place(fset, o)] = true
		}
		for _, file := range p.Syntax {
			generated[fset.Position(file.Package).Filename] = ast.IsGenerated(file)
		}
	}
	for _, found := range program.Found {
		for i := range found.Declarations {
			if d := &found.Declarations[i]; d.Object != nil && read[place(fset, d.Object)] {
				readKeys[d.Key] = true
			}
		}
	}
	for _, p := range program.Packages {
		for i := range program.Found[p].Declarations {
			d := &program.Found[p].Declarations[i]
			if d.Object == nil || d.Object.Parent() != p.Types.Scope() || read[place(fset, d.Object)] {
				continue
			}
			if generated[fset.Position(d.Object.Pos()).Filename] {
				if readKeys[d.Key] {
					continue
				}
				readKeys[d.Key] = true
			}
			problems = append(problems, problem{
				rule: UnusedHandle, key: d.Key, pos: d.Object.Pos(), end: d.Object.Pos() + token.Pos(len(d.Object.Name())),
				message: fmt.Sprintf("no code uses %s, the handle of flag %q", d.Object.Name(), d.Key),
			})
		}
	}
	return problems
}

// unusedFlags reports flags that no code asks for and whose keys are not strings in it.
func unusedFlags(d *Definitions, program *uses.Program) (problems []problem) {
	read, used := make(map[string]bool), make(map[string]bool)
	open := 0 // calls whose key is not constant
	handles := make(map[types.Object]bool)
	for _, found := range program.Found {
		for _, o := range found.Mentions {
			handles[o] = true
		}
	}
	for _, found := range program.Found {
		for i := range found.Uses {
			u := &found.Uses[i]
			if u.Key == "" && len(u.Keys) == 0 {
				open++
			}
			read[u.Key] = true
			for _, k := range u.Keys {
				read[k.Key] = true
			}
		}
		for i := range found.Declarations {
			if h := &found.Declarations[i]; h.Object == nil || handles[h.Object] || !isOfPackage(h.Object) {
				read[h.Key] = true
			}
		}
		for text := range found.Texts {
			used[text] = true
		}
	}
	more := ""
	switch {
	case open == 1:
		more = "; 1 call has a key that is not constant"
	case open > 1:
		more = fmt.Sprintf("; %d calls have keys that are not constant", open)
	}
	for _, key := range d.keys {
		if !read[key] && !used[key] && !d.flags[key].archived {
			problems = append(problems, problem{rule: UnusedFlag, key: key, message: fmt.Sprintf("no code reads flag %q%s", key, more)})
		}
	}
	return problems
}

func isOfPackage(o types.Object) bool { return o.Pkg() != nil && o.Parent() == o.Pkg().Scope() }

// isTest reports whether a file is one of tests.
func isTest(fset *token.FileSet, file *ast.File) bool {
	return strings.HasSuffix(fset.Position(file.Package).Filename, "_test.go")
}
