package console_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

// A source is what a file of the console says of screens.
type source struct {
	strings   map[string]bool // string literals
	names     map[string]bool // that it uses, but for methods and fields
	functions map[string]bool // that it declares
	screens   map[string]bool // variables and functions with a screen
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
	s := &source{strings: set(), names: set(), functions: set(), actions: set(), renders: set(), screens: set()}
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
			s.functions[n.Name.Name] = true
			if strings.HasSuffix(n.Name.Name, "Screen") {
				s.screens[n.Name.Name] = true
			}
			if n.Recv != nil {
				ast.Inspect(n.Body, read)
				return false
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				if strings.HasSuffix(name.Name, "Screen") {
					s.screens[name.Name] = true
				}
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "h" { // a method that is a handler
				s.names[n.Sel.Name] = true
			}
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
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Render" || f.Sel.Name == "RenderPart") {
				s.renders[literal(n.Args[1])] = true
			}
		case *ast.KeyValueExpr:
			key, _ := n.Key.(*ast.Ident)
			switch list, ok := n.Value.(*ast.CompositeLit); {
			case key != nil && key.Name == "Route":
				s.actions[literal(n.Value)] = true
			case key != nil && key.Name == "Pages" && ok:
				for _, e := range list.Elts {
					pair := e.(*ast.KeyValueExpr)
					s.routes = append(s.routes, literal(pair.Key))
					handler := pair.Value
					if call, ok := handler.(*ast.CallExpr); ok {
						handler = call.Args[0]
					}
					if method, ok := handler.(*ast.SelectorExpr); ok {
						handler = method.Sel
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

// TestScreens: a page is a Go file, a template and an entry in the list of its package, besides its
// test. All else follows from what the Go file says, so that nothing needs a fourth file.
func TestScreens(t *testing.T) {
	packages, err := filepath.Glob("internal/*")
	consoletest.Fatal(t, err)
	for _, dir := range append(packages, "shell", "surveys") {
		t.Run(dir, func(t *testing.T) { testScreens(t, dir) })
	}
}

func testScreens(t *testing.T, dir string) {
	const most = 3
	product, tests := make(map[string]*source), make(map[string]*source)
	files, err := filepath.Glob(dir + "/*.go")
	consoletest.Fatal(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			tests[file] = readSource(t, file)
		} else {
			product[file] = readSource(t, file)
		}
	}
	templates, err := filepath.Glob(dir + "/templates/*.html")
	consoletest.Fatal(t, err)
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
			if path, posts := strings.CutPrefix(route, "POST "); posts {
				var rows []string
				for other, o := range tests {
					if o.actions[path] {
						rows = append(rows, other)
					}
				}
				if len(rows) != 1 {
					t.Errorf("the actions of %s are in %d tests, want one: %s", path, len(rows), strings.Join(rows, ", "))
				}
			}
		}
		for name := range s.screens {
			for other, o := range product {
				touched[other] = touched[other] || o.names[name]
			}
		}
		for name := range s.renders {
			shown[name] = true
			screen := maps.Clone(touched)
			screen[dir+"/templates/"+name+".html"] = true
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

// TestRegistrations: a console has no two screens with the same route, entry, notice, undo or
// thing, and each has a scope, and a place in the navigation that there is.
func TestRegistrations(t *testing.T) {
	posts := 0
	for _, g := range console.Groups() {
		posts += len(consoletest.Routes(g, http.MethodPost))
	}
	if posts < 40 {
		t.Errorf("%d routes change something", posts)
	}
	for _, tt := range []struct {
		screen shell.Screen
		wrong  string
	}{
		{shell.Screen{Title: "Mine", Entry: 20, Path: "/mine", Scope: shell.InProject}, ""},
		{shell.Screen{Title: "Mine"}, `the screen "Mine" has no Scope`},
		{shell.Screen{Scope: shell.InProject, Entry: 1}, "two screens have the entry 1"},
		{shell.Screen{Scope: shell.InProject, Entry: 20, Go: "f"}, "two screens have the key f"},
		{
			shell.Screen{Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/flags": nil}},
			"two screens have the route GET /projects/{project}/flags",
		},
		{shell.Screen{Scope: shell.InProject, Done: map[string]string{"saved": "Saved!"}}, "two screens have the notice saved"},
		{shell.Screen{Scope: shell.InProject, Undo: map[string]shell.Undoer{"Cohort": nil}}, "two screens have the undo Cohort"},
		{shell.Screen{Scope: shell.InProject, Thing: &shell.Thing{Scope: "Cohort"}}, "two screens have the thing Cohort"},
		{
			shell.Screen{Title: "Mine", Scope: shell.InProject, Under: "Nothing"},
			`the screen "Mine" is under "Nothing", which is not an entry of the navigation`,
		},
	} {
		service := consoletest.NewSite(t).Service
		_, err := console.New(console.Config{Service: service, Screens: []shell.Group{{Screens: []shell.Screen{tt.screen}}}})
		if wrong := strings.TrimPrefix(errorText(err), "console: "); wrong != tt.wrong {
			t.Errorf("the error is %q, want %q", wrong, tt.wrong)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestLines: lines can be read side by side with others.
func TestLines(t *testing.T) {
	const most, tab = 140, 4 // columns
	seen := 0
	consoletest.Fatal(t, filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".go", ".html", ".css", ".js"}, filepath.Ext(file)) {
			return err
		}
		seen++
		text, err := os.ReadFile(file)
		for i, line := range bytes.Split(text, []byte("\n")) {
			if wide := len([]rune(string(line))) + bytes.Count(line, []byte("\t"))*(tab-1); wide > most {
				t.Errorf("%s:%d has %d columns, want at most %d", file, i+1, wide, most)
			}
		}
		return err
	}))
	if seen < 100 {
		t.Errorf("%d files were read", seen)
	}
}
