package docs_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

// libraries are the modules that others import, by their folders, with the names of
// their golden files.
var libraries = map[string]string{
	".":                 "flagstaff",
	"capture/jetstream": "capture_jetstream",
	"cmd/flagstaff":     "cmd_flagstaff",
	"flags/openfeature": "flags_openfeature",
	"flags/otel":        "flags_otel",
	"management":        "management",
	"server":            "server",
	"server/otel":       "server_otel",
	"surveys":           "surveys",
	"vet":               "vet",
}

// mostNames is how many names a package may export at its top level. Its reader wants to
// survey them.
var mostNames = map[string]int{"management": 150}

// topLevel returns how many identifiers of a list are names at the top level of a package.
func topLevel(identifiers []string, folder string) (n int) {
	for _, identifier := range identifiers {
		if f := strings.Fields(identifier); f[0] == folder && len(f) == 3 && !strings.Contains(f[2], ".") {
			n++
		}
	}
	return n
}

// TestAPI holds the exported identifiers of each library to a golden file, so that a
// change of them is a decision. Their declarations must not mention a type that users
// cannot name: one of an internal package, or one that is not exported.
func TestAPI(t *testing.T) {
	found := make(map[string][]string) // identifiers by the library's folder
	for folder, sources := range packages(t) {
		library := libraryOf(folder)
		if library == "" {
			continue
		}
		p := exportedBy(sources)
		for _, identifier := range p.identifiers {
			found[library] = append(found[library], folder+" "+identifier)
		}
		for _, problem := range p.problems {
			t.Errorf("%s: %s", folder, problem)
		}
	}
	for library, name := range libraries {
		slices.Sort(found[library])
		if n, most := topLevel(found[library], library), mostNames[library]; most > 0 && n > most {
			t.Errorf("%s exports %d names, want at most %d: what only other packages need is for a package of its own", library, n, most)
		}
		got := strings.Join(found[library], "\n") + "\n"
		golden := filepath.Join("testdata", "golden", name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(strings.Split(read(t, golden), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("exported identifiers of %s: -want +got\n%s\nIf the change is meant: go test ./docs -update", library, diff)
		}
	}
}

// libraryOf returns the folder of the library that a package belongs to, "" if the
// package is internal or belongs to none.
func libraryOf(folder string) string {
	if slices.Contains(strings.Split(folder, "/"), "internal") {
		return ""
	}
	for module := folder; ; module = path.Dir(module) {
		if _, err := os.Stat(filepath.Join(root, module, "go.mod")); err != nil {
			continue
		}
		if _, ok := libraries[module]; !ok {
			return ""
		}
		return module
	}
}

// packages returns the parsed files of each folder, without tests and commands.
func packages(t *testing.T) map[string][]*ast.File {
	t.Helper()
	list := make(map[string][]*ast.File)
	for _, file := range files(t) {
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Name.Name != "main" {
			list[path.Dir(file)] = append(list[path.Dir(file)], parsed)
		}
	}
	return list
}

// exported is what a package exports.
type exported struct {
	identifiers []string // such as "func New", "type Config", "type Config.Log", "type Service.Run()"
	problems    []string
}

// exportedBy returns what the files of a package export.
func exportedBy(sources []*ast.File) exported {
	var e exported
	hidden := make(map[string]bool) // unexported types of the package
	for _, file := range sources {
		for spec := range typeSpecs(file) {
			hidden[spec.Name.Name] = !spec.Name.IsExported()
		}
	}
	for _, file := range sources {
		w := apiWriter{exported: &e, hidden: hidden, internal: internalImports(file)}
		for _, d := range file.Decls {
			w.declaration(d)
		}
	}
	return e
}

// typeSpecs yields the types that a file declares.
func typeSpecs(file *ast.File) func(yield func(*ast.TypeSpec) bool) {
	return func(yield func(*ast.TypeSpec) bool) {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok && !yield(spec) {
						return
					}
				}
			}
		}
	}
}

// internalImports returns the names by which a file knows internal packages.
func internalImports(file *ast.File) map[string]bool {
	names := make(map[string]bool)
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if slices.Contains(strings.Split(imported, "/"), "internal") {
			name := path.Base(imported)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			names[name] = true
		}
	}
	return names
}

// An apiWriter adds the declarations of a file to what its package exports.
type apiWriter struct {
	*exported
	hidden   map[string]bool // unexported types of the package
	internal map[string]bool // names of imported internal packages
}

func (w apiWriter) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			w.add("func "+d.Name.Name, d.Name, d.Type)
		} else if receiver := receiverName(d.Recv.List[0].Type); ast.IsExported(receiver) {
			w.add("type "+receiver+"."+d.Name.Name+"()", d.Name, d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				w.typeSpec(spec)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					w.add(d.Tok.String()+" "+name.Name, name, spec.Type)
				}
			}
		}
	}
}

// typeSpec adds a type with its fields, or its methods if it is an interface.
func (w apiWriter) typeSpec(spec *ast.TypeSpec) {
	if !spec.Name.IsExported() {
		return
	}
	name := "type " + spec.Name.Name
	var members *ast.FieldList
	suffix := ""
	switch t := spec.Type.(type) {
	case *ast.StructType:
		members = t.Fields
		w.add(name, spec.Name, nil)
	case *ast.InterfaceType:
		members, suffix = t.Methods, "()"
		w.add(name, spec.Name, nil)
	default:
		w.add(name, spec.Name, spec.Type)
		return
	}
	for _, member := range members.List {
		for _, n := range member.Names {
			w.add(name+"."+n.Name+suffix, n, member.Type)
		}
		if len(member.Names) == 0 {
			embedded := receiverName(member.Type)
			if !ast.IsExported(embedded) {
				w.problems = append(w.problems, name+" embeds "+embedded+", whose members users see and this test does not")
			}
			w.add(name+" embeds "+embedded, ast.NewIdent(embedded), member.Type)
		}
	}
}

// add adds an identifier if its name is exported. The type may be nil.
func (w apiWriter) add(identifier string, name *ast.Ident, typ ast.Expr) {
	if !name.IsExported() {
		return
	}
	w.identifiers = append(w.identifiers, identifier)
	if typ != nil {
		w.check(identifier, typ)
	}
}

// check notes what a type mentions that users cannot name.
func (w apiWriter) check(identifier string, typ ast.Node) {
	ast.Inspect(typ, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field: // names of parameters do not count
			w.check(identifier, n.Type)
			return false
		case *ast.SelectorExpr:
			if p, ok := n.X.(*ast.Ident); ok && w.internal[p.Name] {
				w.problems = append(w.problems, fmt.Sprintf("%s mentions %s.%s of an internal package", identifier, p.Name, n.Sel.Name))
			}
			return false
		case *ast.Ident:
			if w.hidden[n.Name] {
				w.problems = append(w.problems, fmt.Sprintf("%s mentions %s, which is not exported", identifier, n.Name))
			}
		}
		return true
	})
}

// receiverName returns the name of the type in a receiver or an embedded field,
// without pointer, package and type parameters.
func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func TestExportedBy(t *testing.T) {
	const source = `package a

import (
	"example.com/a/internal/b"
	other "example.com/a/internal/c"
)

const One, two = 1, 2

var Three b.B

type Four struct {
	Five, six int
	Seven     func(hidden int) *other.C
	Config
	hidden
}

type Config struct{ eight int }

type Nine interface {
	Ten(hidden)
	eleven()
}

type hidden struct{ Twelve int }

func (*Config) Thirteen() {}
func (Config) fourteen()  {}
func (hidden) Fifteen()   {}
func Sixteen[T any](T)    {}
`
	file, err := parser.ParseFile(token.NewFileSet(), "a.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := exportedBy([]*ast.File{file})
	slices.Sort(got.identifiers)
	if diff := cmp.Diff([]string{
		"const One", "func Sixteen", "type Config", "type Config.Thirteen()", "type Four", "type Four embeds Config", "type Four.Five",
		"type Four.Seven", "type Nine", "type Nine.Ten()", "var Three",
	}, got.identifiers); diff != "" {
		t.Errorf("identifiers: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"var Three mentions b.B of an internal package",
		"type Four.Seven mentions other.C of an internal package",
		"type Four embeds hidden, whose members users see and this test does not",
		"type Nine.Ten() mentions hidden, which is not exported",
	}, got.problems); diff != "" {
		t.Errorf("problems: -want +got\n%s", diff)
	}
}

// TestExamples: the names that users meet first have examples.
func TestExamples(t *testing.T) {
	for folder, names := range map[string]string{
		".":               "Open Client_For Client_Middleware Client_Check Client_Status From Person_Lookup Person_Explain Payload NewBool",
		"flags":           "Decode Compile Evaluator Property Snapshot_Evaluate Snapshot_Explain Snapshot_Problems",
		"flags/source":    "Source Remote Loader_RemoteResults",
		"flags/flagstest": "Evaluator With",
		"flags/diff":      "",
		"flags/operator":  "",
		"capture":         "Client ExposureOf Collector",
		"geoip":           "Resolver_Lookup",
	} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, file := range files {
			text.WriteString(read(t, file))
		}
		for name := range strings.FieldsSeq(names) {
			if !strings.Contains(text.String(), "\nfunc Example"+name+"() {") {
				t.Errorf("%s: %s has no example", folder, name)
			}
		}
	}
}

var (
	qualified = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	member    = regexp.MustCompile("`([A-Z]\\w+)\\.([A-Z]\\w+)[`(]")
)

// TestNamesInDocuments: the exported names that the documents mention exist.
func TestNamesInDocuments(t *testing.T) {
	exported := map[string]bool{} // flags.Decode and flags.Filter.Key, and Filter.Key
	packages := map[string]bool{}
	for _, name := range libraries {
		for line := range strings.Lines(read(t, filepath.Join("testdata", "golden", name+".txt"))) {
			fields := strings.Fields(line)
			if len(fields) < 3 {
				continue
			}
			pkg := path.Base(fields[0])
			if pkg == "." {
				pkg = "flagstaff"
			}
			identifier := strings.TrimSuffix(fields[2], "()")
			packages[pkg], exported[pkg+"."+identifier], exported[identifier] = true, true, true
		}
	}
	delete(packages, "openfeature") // the SDK has a package of this name
	checked := 0
	for _, file := range files(t) {
		if path.Ext(file) != ".md" || strings.HasPrefix(file, "examples/") {
			continue
		}
		text := read(t, filepath.Join(root, file))
		for _, m := range qualified.FindAllStringSubmatch(text, -1) {
			if !packages[m[1]] {
				continue
			}
			checked++
			name := m[1] + "." + m[2]
			if m[3] != "" {
				name += "." + m[3]
			}
			if !exported[name] {
				t.Errorf("%s: %s does not exist", file, name)
			}
		}
		for _, m := range member.FindAllStringSubmatch(text, -1) {
			checked++
			if !exported[m[1]+"."+m[2]] {
				t.Errorf("%s: %s.%s does not exist", file, m[1], m[2])
			}
		}
	}
	if checked < 50 {
		t.Errorf("%d names were checked, want all of the documents", checked)
	}
}
