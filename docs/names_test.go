package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNames holds CONTRIBUTING.md's rule that no two names of a package differ only
// by a capital: types, functions, constants and variables, except main. Module
// management is not held to it: there surveyView makes a SurveyView.
func TestNames(t *testing.T) {
	found := make(map[string]string) // by folder and name in lower case
	for _, file := range files(t) {
		folder := path.Dir(file)
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range packageNames(parsed) {
			key := folder + "." + strings.ToLower(name)
			if other, ok := found[key]; ok && other != name && name != "main" && other != "main" {
				t.Errorf("%s: %s and %s differ only by a capital", file, name, other)
			}
			found[key] = name
		}
	}
	if len(found) < 1500 {
		t.Errorf("%d names were checked, want all of the repository", len(found))
	}
}

// TestComments: the documentation of an exported type or function begins with its name, so
// that no rename leaves the old one there.
func TestComments(t *testing.T) {
	checked := 0
	for file, source := range goFiles(t) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, d := range parsed.Decls {
			var name *ast.Ident
			var doc *ast.CommentGroup
			switch d := d.(type) {
			case *ast.FuncDecl:
				name, doc = d.Name, d.Doc
			case *ast.GenDecl:
				if spec, ok := d.Specs[0].(*ast.TypeSpec); ok && len(d.Specs) == 1 {
					name, doc = spec.Name, d.Doc
				}
			}
			if name == nil || doc == nil || !name.IsExported() {
				continue
			}
			checked++
			words := strings.FieldsFunc(doc.Text(), func(r rune) bool { return strings.ContainsRune(" ,.:;'\n", r) })
			if words = words[:min(len(words), 5)]; len(words) > 0 && !slices.Contains(words, name.Name) {
				t.Errorf("%s: the documentation of %s begins with %q", file, name.Name, strings.Join(words, " "))
			}
		}
	}
	if checked < 1500 {
		t.Errorf("%d comments were checked, want all of the repository", checked)
	}
}

// packageNames returns what a file declares at the level of the package, methods
// aside.
func packageNames(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
