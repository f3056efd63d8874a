package docs_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

var (
	jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)```")
	code      = regexp.MustCompile("`([^`]*)`|\\b(absent)\\b")
)

// cells returns the cells of a row of a table, or nil.
func cells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	all := strings.Split(strings.Trim(line, "|"), "|")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// TestDefinitionsExamples: each document of definitions.md compiles without a problem.
func TestDefinitionsExamples(t *testing.T) {
	blocks := jsonBlock.FindAllStringSubmatch(read(t, "definitions.md"), -1)
	if len(blocks) == 0 {
		t.Fatal("definitions.md has no document")
	}
	for i, block := range blocks {
		d, err := flags.Decode(strings.NewReader(block[1]))
		if err != nil {
			t.Errorf("document %d: %v", i, err)
			continue
		}
		s, err := flags.Compile(d, flags.CompileOptions{})
		if err != nil {
			t.Errorf("document %d: %v", i, err)
			continue
		}
		for _, p := range s.Problems() {
			t.Errorf("document %d: %v", i, p)
		}
	}
}

// TestDefinitionsRuleSet: the rule set of definitions.md gives each of its values, and persons in
// France the one for them.
func TestDefinitionsRuleSet(t *testing.T) {
	_, document, _ := strings.Cut(read(t, "definitions.md"), "\n## Rule sets\n")
	d, err := flags.Decode(strings.NewReader(jsonBlock.FindStringSubmatch(document)[1]))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for i := range 1000 {
		id := fmt.Sprintf("person-%d", i)
		counts[s.Variant("greeting", &flags.Request{DistinctID: id}, "")]++
		if got := s.Variant("greeting", &flags.Request{DistinctID: id, PersonProperties: map[string]any{"country": "FR"}}, ""); got != "Bonjour" {
			t.Fatalf("%s in France has %q", id, got)
		}
	}
	for value, about := range map[string]int{"Welcome": 125, "Hi": 219, "Good day": 219, "Hello": 437} {
		if n := counts[value]; n < about-60 || n > about+60 {
			t.Errorf("%d of 1000 persons have %q, want about %d", n, value, about)
		}
	}
}

// TestDefinitionsOperators: the operators match what the table of definitions.md says
// (evaluation.md §4), and it has all of them.
func TestDefinitionsOperators(t *testing.T) {
	documented := make(map[string]bool)
	for line := range strings.Lines(read(t, "definitions.md")) {
		row := cells(line)
		if len(row) != 5 || !strings.HasPrefix(row[0], "`") || !strings.HasPrefix(row[2], "`") {
			continue
		}
		operator, value := strings.Trim(row[0], "`"), strings.Trim(row[2], "`")
		documented[operator] = true
		d, err := flags.Decode(strings.NewReader(fmt.Sprintf(
			`{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"properties": [{"key": "p", "type": "person", "operator": %q, "value": %s}]}]}}]}`,
			operator, value)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := flags.Compile(d, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Problems() {
			t.Errorf("%s: %v", operator, p)
		}
		var e flags.Evaluator
		e.Swap(s)
		for i, want := range []bool{true, false} {
			examples := code.FindAllStringSubmatch(row[3+i], -1)
			if len(examples) == 0 {
				t.Errorf("%s has no example in column %d", operator, 4+i)
			}
			for _, example := range examples {
				properties := make(map[string]any)
				if example[2] == "" {
					properties["p"] = json.RawMessage(example[1])
				}
				if got := e.Bool("f", &flags.Request{DistinctID: "u", PersonProperties: properties}, !want); got != want {
					t.Errorf("%s %s on %s is %v, want %v", operator, value, example[0], got, want)
				}
			}
		}
	}
	var missing []string
	for o := range operators.All() {
		if o.For == operators.PropertyFilter && !documented[o.Name] {
			missing = append(missing, o.Name)
		}
		delete(documented, o.Name)
	}
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Errorf("operators that the table lacks (-want +got):\n%s", diff)
	}
	if len(documented) > 0 {
		t.Errorf("the table has operators that do not exist: %v", slices.Sorted(maps.Keys(documented)))
	}
}

// TestDefinitionsExplanation: the explanation in definitions.md is one that a test of
// package flags makes.
func TestDefinitionsExplanation(t *testing.T) {
	_, explanation, _ := strings.Cut(read(t, "definitions.md"), "for one request:\n\n```\n")
	explanation, _, _ = strings.Cut(explanation, "```")
	if explanation == "" || !strings.Contains(read(t, filepath.Join(root, "flags", "evaluator_test.go")), "`"+explanation+"`") {
		t.Errorf("flags/evaluator_test.go has no such explanation as definitions.md: %s", explanation)
	}
}

// TestOperatorConstants: package flags/operator has a constant for each operator, which says of
// itself what definitions.md says.
func TestOperatorConstants(t *testing.T) {
	documented := make(map[string]string)
	for line := range strings.Lines(read(t, "definitions.md")) {
		if row := cells(line); len(row) == 5 && strings.HasPrefix(row[0], "`") && strings.HasPrefix(row[2], "`") {
			documented[strings.Trim(row[0], "`")] = "The property " + strings.ReplaceAll(row[1], "`", "") + "."
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "flags", "operator", "operator.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			c := spec.(*ast.ValueSpec)
			name, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
			if want, got := documented[name], strings.Join(strings.Fields(c.Doc.Text()), " "); want != "" && got != want || got == "" {
				t.Errorf("the comment of flags.%s is %q, definitions.md has %q", c.Names[0].Name, got, want)
			}
		}
	}
	var want []string
	for o := range operators.All() {
		want = append(want, o.Name)
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("operators and their constants (-want +got):\n%s", diff)
	}
}

// TestDefinitionsMembers: definitions.md names every member that decides something, of
// every kind of object, and every field of the model.
func TestDefinitionsMembers(t *testing.T) {
	text := read(t, "definitions.md")
	names := make(map[string]string) // what has them
	for _, shape := range []*members.Shape{
		members.Document, members.Flag, members.Filters, members.Condition, members.Filter, members.Multivariate,
		members.Variant, members.Holdout, members.Cohort, members.Criteria, members.Node,
	} {
		for _, name := range shape.Deciding() {
			names[name] = shape.Noun
		}
	}
	for _, model := range []any{
		flags.Definitions{}, flags.Flag{}, flags.Filters{}, flags.Multivariate{}, flags.Variant{}, flags.Holdout{}, flags.Condition{}, flags.Filter{},
	} {
		typ := reflect.TypeOf(model)
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.IsExported() && name != "-" && field.Name != "CohortName" { // which is only shown
				names[name] = typ.String()
			}
		}
	}
	for name, of := range names {
		if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, `"`+name+`"`) {
			t.Errorf("definitions.md does not name %q of %s", name, of)
		}
	}
}
