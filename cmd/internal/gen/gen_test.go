package gen_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/cmd/internal/gen"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

// byHand are types that code for payloads.json names.
var byHand = map[string]string{"by-hand": "Mine", "by-hand-elsewhere": "net/url.Values"}

// generate returns the code for a document.
func generate(t *testing.T, document []byte, o gen.Options) []byte {
	t.Helper()
	list, _, err := gen.Read(document)
	if err != nil {
		t.Fatal(err)
	}
	code, err := gen.Code(list, o)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// TestGolden has code for documents that show what becomes of each thing.
func TestGolden(t *testing.T) {
	for name, types := range map[string]map[string]string{"names": nil, "payloads": byHand, "manifest": nil, "demo": nil, "typed": nil} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+".json")
			if name == "demo" {
				file = filepath.Join("..", "..", "flagstaff", "serve", "demo.json")
			}
			document, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code := generate(t, document, gen.Options{Package: "flags", Types: types})
			checkTypes(t, code)
			golden := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				if err := os.WriteFile(golden, code, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(code), "\n")); diff != "" {
				t.Errorf("-want +got\n%s\nIf the change is meant: go test ./internal/gen -update", diff)
			}
		})
	}
}

// exports are the files with what compiled packages export, by path.
var exports = sync.OnceValues(func() (map[string]string, error) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "github.com/flagstaff-go/flagstaff", "encoding/json", "net/url").Output()
	if err != nil {
		return nil, err
	}
	files := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			files[path] = file
		}
	}
	return files, nil
})

var (
	imports     = token.NewFileSet()
	libraryOnce = sync.OnceValue(func() types.Importer {
		return importer.ForCompiler(imports, "gc", func(path string) (io.ReadCloser, error) {
			files, err := exports()
			if err != nil {
				return nil, err
			}
			return os.Open(files[path])
		})
	})
)

// checkTypes type-checks code, with a type Mine that is written by hand.
func checkTypes(t *testing.T, code []byte) *types.Package {
	t.Helper()
	var parsed []*ast.File
	for name, text := range map[string]string{"flags.go": string(code), "mine.go": "package flags\n\ntype Mine struct{ N int }\n"} {
		file, err := parser.ParseFile(imports, name, text, parser.ParseComments)
		if err != nil {
			t.Fatalf("%v in\n%s", err, code)
		}
		parsed = append(parsed, file)
	}
	pkg, err := (&types.Config{Importer: libraryOnce(), GoVersion: "go1.26"}).Check("flags", imports, parsed, nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, code)
	}
	return pkg
}

// TestRandomDocuments: code for any flags has a handle for each of them, passes the
// checks of the compiler, is formatted, and is the same the second time.
func TestRandomDocuments(t *testing.T) {
	for seed := range fulltest.Count(20, 200) {
		r := random{rand.New(rand.NewPCG(uint64(seed), 1))}
		document := r.document()
		list, notes, err := gen.Read(document)
		if err != nil || len(notes) > 0 {
			t.Fatalf("seed %d: %v, %q: %s", seed, err, notes, document)
		}
		code := generate(t, document, gen.Options{Package: "flags"})
		if again := generate(t, document, gen.Options{Package: "flags"}); string(again) != string(code) {
			t.Errorf("seed %d: the second time there is other code: %s", seed, cmp.Diff(string(code), string(again)))
		}
		pkg := checkTypes(t, code)
		handles := make(map[string]int)
		for _, name := range pkg.Scope().Names() {
			if v, ok := pkg.Scope().Lookup(name).(*types.Var); ok {
				kind, _, _ := strings.Cut(v.Type().String(), "[")
				handles[kind[strings.LastIndexByte(kind, '.')+1:]]++
			}
		}
		want := make(map[string]int)
		for _, f := range list {
			if f.Kind == gen.Variants {
				want["VariantFlag"]++
			} else {
				want["BoolFlag"]++
			}
			if len(f.Payloads) > 0 && !f.Opaque {
				want["PayloadFlag"]++
			}
		}
		if diff := cmp.Diff(want, handles); diff != "" {
			t.Errorf("seed %d: handles (-want +got)\n%s", seed, diff)
		}
	}
}

// random draws documents.
type random struct{ *rand.Rand }

var pieces = []string{
	"a", "A", "new", "-", "_", ".", " ", "2", "id", "URL", "é", "日本", "🙂", "\"", "`", "\\", "\n", "\u202e", "*/", "//", "type", "Off", "off", "Variant",
	"Payload", "Data", "green", "%d", "%", "\t", "false", "true", "Deprecated:",
}

func (r random) text() string {
	var b strings.Builder
	for range 1 + r.IntN(4) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

func (r random) value(depth int) any {
	n := r.IntN(9)
	if depth > 3 {
		n = r.IntN(6)
	}
	switch n {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return r.IntN(100)
	case 3:
		return json.Number("1e400")
	case 4:
		return r.Float64()
	case 5:
		return r.text()
	case 6:
		list := make([]any, r.IntN(3))
		for i := range list {
			list[i] = r.value(depth + 1)
		}
		return list
	}
	object := make(map[string]any)
	for range r.IntN(5) {
		object[r.text()] = r.value(depth + 1)
	}
	return object
}

func (r random) document() []byte {
	list := make([]any, 1+r.IntN(20))
	for i := range list {
		filters := map[string]any{"groups": []any{map[string]any{"rollout_percentage": r.IntN(101)}}}
		payloads := make(map[string]any)
		keys := []string{"true"}
		if n := r.IntN(4); n > 0 {
			keys = nil
			variants := make([]any, n)
			for j := range variants {
				key := r.text()
				keys = append(keys, key)
				variants[j] = map[string]any{"key": key, "name": r.text(), "rollout_percentage": 100 / n}
			}
			filters["multivariate"] = map[string]any{"variants": variants}
		}
		for _, key := range keys {
			switch r.IntN(4) {
			case 0:
				payload, err := json.Marshal(r.value(0))
				if err != nil {
					panic(err)
				}
				payloads[key] = string(payload)
			case 1:
				payloads[key] = r.value(0)
			case 2:
				payloads[key] = r.text()
			}
		}
		filters["payloads"] = payloads
		list[i] = map[string]any{
			"id": i + 1, "key": fmt.Sprint(r.text(), i%7), "name": r.text(), "active": r.IntN(4) > 0, "archived": r.IntN(4) == 0,
			"tags": []any{r.text(), 7}, "created_by": map[string]any{"email": r.text()}, "filters": filters,
		}
	}
	document, err := json.Marshal(map[string]any{"flags": list})
	if err != nil {
		panic(err)
	}
	return document
}

// TestSelection: patterns and tags choose flags, and one that chooses none is a mistake.
func TestSelection(t *testing.T) {
	list := []gen.Flag{{Key: "a", Tags: []string{"x"}}, {Key: "checkout-a", Tags: []string{"x", "y"}}, {Key: "checkout-b"}, {Key: "b-checkout-"}}
	for _, tt := range []struct {
		selection gen.Selection
		want      []string
		err       string
	}{
		{gen.Selection{}, []string{"a", "checkout-a", "checkout-b", "b-checkout-"}, ""},
		{gen.Selection{Only: []string{"checkout-*"}}, []string{"checkout-a", "checkout-b"}, ""},
		{gen.Selection{Only: []string{"a", "*-checkout-*"}}, []string{"a", "b-checkout-"}, ""},
		{gen.Selection{Only: []string{"*"}, Exclude: []string{"*out*"}}, []string{"a"}, ""},
		{gen.Selection{Tags: []string{"x"}, Exclude: []string{"a"}}, []string{"checkout-a"}, ""},
		{gen.Selection{Only: []string{"*a*b*"}}, nil, `-only "*a*b*": no flag has it`},
		{gen.Selection{Only: []string{"chekcout-*"}}, nil, `-only "chekcout-*": no flag has it`},
		{gen.Selection{Tags: []string{"z"}}, nil, `-tags "z": no flag has it`},
		{gen.Selection{Exclude: []string{"c"}}, nil, `-exclude "c": no flag has it`},
	} {
		got, err := tt.selection.Apply(list)
		var keys []string
		for _, f := range got {
			keys = append(keys, f.Key)
		}
		if diff := cmp.Diff(tt.want, keys); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", tt.selection, diff)
		}
		if message := fmt.Sprint(err); message != tt.err && (err != nil || tt.err != "") {
			t.Errorf("%+v: %s, want %s", tt.selection, message, tt.err)
		}
	}
}

// TestErrors: what is wrong is named.
func TestErrors(t *testing.T) {
	const some = `{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[],"payloads":{"true":"1"}}},{"id":2,"key":"b","active":true,"filters":{"groups":[]}}]}`
	of := func(typ string) gen.Options {
		return gen.Options{Package: "flags", Types: map[string]string{"a": typ}}
	}
	const wantType = `: want a name such as Button, or with the path of its package, such as example.com/shop/theme.Button`
	for _, tt := range []struct {
		document string
		options  gen.Options
		want     string
	}{
		{some, gen.Options{Package: "a-b"}, `package "a-b": want a name such as flags`},
		{some, gen.Options{Package: "flags", Types: map[string]string{"b": "T"}}, `type for the payload of flag "b": there is no such flag with a payload that is JSON`},
		{some, of("a b"), `flag "a": type "a b"` + wantType},
		{some, of("x/y.z"), `flag "a": type "x/y.z"` + wantType},
		{some, of("x/.Z"), `flag "a": type "x/.Z"` + wantType},
		{some, of("../x.Z"), `flag "a": type "../x.Z"` + wantType},
		{some, of("x\"y.Z"), `flag "a": type "x\"y.Z"` + wantType},
		{`{"flags":{"":{"flagType":"boolean","defaultValue":true}}}`, gen.Options{}, `manifest: a flag has an empty key`},
		{`{"flags":{"a":{"flagType":"bool","defaultValue":true}}}`, gen.Options{}, `manifest: flag "a": flagType is "bool", want boolean, string, integer, float or object`},
		{`{"flags":{"a":{"flagType":"boolean"}}}`, gen.Options{}, `manifest: flag "a" has no defaultValue`},
		{`{"flags":{"a":{"flagType":"boolean","defaultValue":1}}}`, gen.Options{}, `manifest: flag "a": defaultValue is 1, want a value of flagType boolean`},
		{`{"flags":{"a":{"flagType":"string","defaultValue":1}}}`, gen.Options{}, `manifest: flag "a": defaultValue is 1, want a value of flagType string`},
		{`{"flags":{"a":{"flagType":"integer","defaultValue":1.5}}}`, gen.Options{}, `manifest: flag "a": defaultValue is 1.5, want a value of flagType integer`},
		{`{"flags":{"a":{"flagType":"float","defaultValue":"1"}}}`, gen.Options{}, `manifest: flag "a": defaultValue is "1", want a value of flagType float`},
		{`{"flags":{"a":{"flagType":"object","defaultValue":{"n":"x"},"schema":{"type":"object","properties":{"n":{"type":"integer"}}}}}}`, gen.Options{Package: "flags"}, `flag "a": defaultValue {"n":"x"} is not what its schema says: "n": a value of another type`},
		{`[]`, gen.Options{}, `flags: definitions must be a JSON object with an array "flags", not an array`},
	} {
		list, _, err := gen.Read([]byte(tt.document))
		if err == nil {
			_, err = gen.Code(list, tt.options)
		}
		if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.document, diff)
		}
	}
}

// TestDiff: a difference is shown with lines around it, and comments make none.
func TestDiff(t *testing.T) {
	lines := strings.Split("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n", "\n")
	changed := slices.Clone(lines)
	changed[1] = "two"
	changed = slices.Delete(changed, 12, 13)
	changed = slices.Insert(changed, 13, "14b")
	const want = `--- a
+++ b
@@ -1,5 +1,5 @@
 1
-2
+two
 3
 4
 5
@@ -10,6 +10,6 @@
 10
 11
 12
-13
 14
+14b
 15
`
	for _, tt := range []struct{ a, b, want string }{
		{strings.Join(lines, "\n"), strings.Join(changed, "\n"), want},
		{"", "x", "--- a\n+++ b\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"},
		{"x\n", "x\n", ""},
	} {
		got, err := gen.Diff("a", "b", []byte(tt.a), []byte(tt.b))
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%v; -want +got\n%s", err, diff)
		}
	}
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"package a\n\n// 50%\nvar x = 1", "package a\n// 60% of\n// all\nvar  x = 1 // y\n", true},
		{"package a\nvar x = 1", "package a\nvar x = 2", false},
		{"package a\nvar x = \"a  b\"", "package a\nvar x = \"a b\"", false},
		{"no \"Go", "no  \"Go", false},
		{"", "", true},
	} {
		if got := gen.SameCode([]byte(tt.a), []byte(tt.b)); got != tt.want {
			t.Errorf("SameCode(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}
