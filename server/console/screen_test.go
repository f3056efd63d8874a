package console

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Routes returns the paths that a method has, for tests of the whole console.
func Routes(method string) (paths []string) {
	for _, s := range screens {
		for route := range s.pages {
			if path, ok := strings.CutPrefix(route, method+" "); ok {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return paths
}

// A source is what a file of the console says of screens.
type source struct {
	strings   map[string]bool // string literals
	names     map[string]bool // that it uses, but for methods and fields
	functions map[string]bool // that it declares
	routes    []string        // that it registers
	handlers  []string        // of the routes
	actions   map[string]bool // routes in the table of actions
	renders   map[string]bool // templates
}

func readSource(t *testing.T, file string) *source {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	set := func() map[string]bool { return make(map[string]bool) }
	s := &source{strings: set(), names: set(), functions: set(), actions: set(), renders: set()}
	literal := func(n ast.Node) string {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return ""
		}
		text, _ := strconv.Unquote(lit.Value) // the parser has read it
		return text
	}
	var read func(ast.Node) bool
	read = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil { // a method
				ast.Inspect(n.Body, read)
				return false
			}
			s.functions[n.Name.Name] = true
		case *ast.SelectorExpr:
			ast.Inspect(n.X, func(n ast.Node) bool {
				if name, ok := n.(*ast.Ident); ok {
					s.names[name.Name] = true
				}
				return true
			})
			return false
		case *ast.Ident:
			s.names[n.Name] = true
		case *ast.BasicLit:
			s.strings[literal(n)] = true
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "render" || f.Sel.Name == "renderPart") {
				s.renders[literal(n.Args[1])] = true
			}
		case *ast.KeyValueExpr:
			key, _ := n.Key.(*ast.Ident)
			switch list, ok := n.Value.(*ast.CompositeLit); {
			case key != nil && key.Name == "route":
				s.actions[literal(n.Value)] = true
			case key != nil && key.Name == "pages" && ok:
				for _, e := range list.Elts {
					pair := e.(*ast.KeyValueExpr)
					s.routes = append(s.routes, literal(pair.Key))
					handler := pair.Value
					if call, ok := handler.(*ast.CallExpr); ok {
						handler = call.Args[0]
					}
					s.handlers = append(s.handlers, handler.(*ast.Ident).Name)
				}
			}
		}
		return true
	}
	ast.Inspect(parsed, read)
	return s
}

// TestScreens: a screen is a Go file, a template and a test. All else follows from what the Go
// file registers, so that nothing needs a fourth file.
func TestScreens(t *testing.T) {
	const most = 3
	product, tests := make(map[string]*source), make(map[string]*source)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			tests[file] = readSource(t, file)
		} else {
			product[file] = readSource(t, file)
		}
	}
	templates, err := filepath.Glob("templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	shown := make(map[string]bool)
	for file, s := range product {
		touched := map[string]bool{file: true}
		for i, route := range s.routes {
			if !s.functions[s.handlers[i]] {
				t.Errorf("%s registers %s, which another file answers", file, route)
			}
			for other, o := range product {
				touched[other] = touched[other] || o.strings[route] || o.names[s.handlers[i]]
			}
			path, posts := strings.CutPrefix(route, "POST ")
			for other, o := range tests {
				touched[other] = touched[other] || posts && o.actions[path]
			}
		}
		for name := range s.renders {
			shown[name] = true
			screen := maps.Clone(touched)
			screen["templates/"+name+".html"] = true
			for other, o := range product {
				screen[other] = screen[other] || o.renders[name]
			}
			maps.DeleteFunc(screen, func(_ string, is bool) bool { return !is })
			if list := slices.Sorted(maps.Keys(screen)); len(list) > most {
				t.Errorf("the screen %s needs %d files, want at most %d: %s", name, len(list), most, strings.Join(list, ", "))
			}
		}
	}
	for _, file := range templates {
		if name := strings.TrimSuffix(filepath.Base(file), ".html"); !shown[name] {
			t.Errorf("nothing shows %s", file)
		}
	}
}

// TestRegistrations: no two screens have the same route, entry, notice, undo or thing.
func TestRegistrations(t *testing.T) {
	seen := make(map[string]bool)
	once := func(name string) {
		if seen[name] {
			t.Errorf("two screens have the %s", name)
		}
		seen[name] = true
	}
	titles := make(map[string]bool)
	for _, s := range screens {
		for route := range s.pages {
			once("route " + route)
		}
		for word := range s.done {
			once("notice " + word)
		}
		for what := range s.undo {
			once("undo " + what)
		}
		if s.thing != nil {
			once("thing " + s.thing.scope)
		}
		if s.entry != 0 {
			once("entry " + strconv.Itoa(s.entry))
			titles[s.title] = true
		}
	}
	for word := range commonDone {
		once("notice " + word)
	}
	for _, s := range screens {
		if s.under != "" && !titles[s.under] {
			t.Errorf("%q is not an entry of the navigation", s.under)
		}
	}
}

// TestLines: lines can be read side by side with others.
func TestLines(t *testing.T) {
	const most, tab = 140, 4 // columns
	for _, pattern := range []string{"*.go", "templates/*.html", "templates/partials/*.html", "static/*.css", "static/*.js"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range bytes.Split(text, []byte("\n")) {
				wide := len([]rune(string(line))) + bytes.Count(line, []byte("\t"))*(tab-1)
				if wide > most {
					t.Errorf("%s:%d has %d columns, want at most %d", file, i+1, wide, most)
				}
			}
		}
	}
}
