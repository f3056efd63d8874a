package docs_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// mention is a name in a comment: Name, Type.Member, pkg.Name or pkg.Type.Member,
	// perhaps as a link.
	mention = regexp.MustCompile(`(\[\*?)?\b((?:[a-z]+\.)?[A-Z]\w*(?:\.[A-Z]\w*)?)\b(\]?)`)

	errorName = regexp.MustCompile(`^Err[A-Z]`)

	// call is a call within a sentence, whose names are code.
	call = regexp.MustCompile(`[\w.]+\((?:[^()]|\([^()]*\))*\)`)
)

// TestDocLinks holds the comments of the packages that users meet first: a link leads to
// a name that there is, and a comment that names an error, a member of a type or
// something of another package has a link to it.
func TestDocLinks(t *testing.T) {
	var packages []*doc.Package
	names := make(map[string]bool) // pkg.Name and pkg.Type.Member, and each pkg
	for _, folder := range []string{".", "flags", "flags/source", "flags/flagstest", "capture"} {
		p := packageDoc(t, folder)
		packages = append(packages, p)
		names[p.Name] = true
		eachComment(p, func(name, _ string) { names[p.Name+"."+name] = true })
	}
	checked := 0
	for _, p := range packages {
		eachComment(p, func(name, text string) {
			checked++
			links, plain := make(map[string]bool), make(map[string]bool)
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "\t") {
					continue // code
				}
				for _, m := range mention.FindAllStringSubmatch(call.ReplaceAllString(line, ""), -1) {
					full := m[2]
					pkg, _, _ := strings.Cut(full, ".")
					if strings.ToLower(pkg) != pkg {
						pkg, full = p.Name, p.Name+"."+full
					}
					switch isLink := m[1] != "" && m[3] != ""; {
					case isLink && names[pkg] && !names[full]:
						t.Errorf("%s.%s: the link [%s] leads nowhere", p.Name, name, m[2])
					case isLink:
						links[full] = true
					case names[full] && full != p.Name+"."+name && (strings.Contains(m[2], ".") || errorName.MatchString(m[2])):
						plain[full] = true
					}
				}
			}
			for full := range plain {
				if !links[full] {
					t.Errorf("%s.%s names %s and has no link to it", p.Name, name, full)
				}
			}
		})
	}
	if checked < 500 {
		t.Errorf("%d comments were checked, want all of the library", checked)
	}
}

// packageDoc returns the documentation of the package in a folder.
func packageDoc(t *testing.T, folder string) *doc.Package {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	p, err := doc.NewFromFiles(fset, files, folder)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// eachComment calls f for each exported name of a package, such as Type.Member, with its
// comment.
func eachComment(p *doc.Package, f func(name, text string)) {
	values := func(list []*doc.Value) {
		for _, v := range list {
			for _, name := range v.Names {
				f(name, v.Doc)
			}
			for _, spec := range v.Decl.Specs {
				spec := spec.(*ast.ValueSpec)
				f(spec.Names[0].Name, spec.Doc.Text()+spec.Comment.Text())
			}
		}
	}
	functions := func(receiver string, list []*doc.Func) {
		for _, fn := range list {
			f(receiver+fn.Name, fn.Doc)
		}
	}
	f("", p.Doc)
	values(append(p.Consts, p.Vars...))
	functions("", p.Funcs)
	for _, typ := range p.Types {
		f(typ.Name, typ.Doc)
		values(append(typ.Consts, typ.Vars...))
		functions("", typ.Funcs)
		functions(typ.Name+".", typ.Methods)
		for _, spec := range typ.Decl.Specs {
			var members *ast.FieldList
			switch of := spec.(*ast.TypeSpec).Type.(type) {
			case *ast.StructType:
				members = of.Fields
			case *ast.InterfaceType:
				members = of.Methods
			default:
				continue
			}
			for _, member := range members.List {
				for _, name := range member.Names {
					f(typ.Name+"."+name.Name, member.Doc.Text()+member.Comment.Text())
				}
			}
		}
	}
}
