package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestOperatorsAreNamedOnce: what the code asks of an operator is a column of the table in
// flags/operators.go, so that no other Go file of the product names one. A switch over names
// elsewhere would silently miss the next operator.
func TestOperatorsAreNamedOnce(t *testing.T) {
	// These are what a filter without an operator has, or what the product itself asks for.
	usual := []string{flags.OperatorExact, flags.OperatorIsSet, flags.OperatorIn, flags.OperatorNotIn, flags.OperatorFlagEvaluatesTo}
	elsewhere := []string{ // with why their files name operators
		"internal/reference/",         // the reference evaluator is written from docs/spec alone
		"management/survey/",          // surveys have match types of their own, and their targeting is filters
		"server/console/survey_",      // the same
		"internal/faulttest/",         // documents with faults, and what is said of them
		"flags/internal/bench/",       // documents for benchmarks
		"cmd/flagstaff/serve/demo.go", // a document
		"examples/", ".ci/",
	}
	constants := make(map[string]string)
	source, err := os.ReadFile("../flags/operators.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(Operator\w+)\s+= "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		constants[m[2]] = m[1]
	}
	var names []string
	for o := range flags.Operators() {
		if constants[o.Name] == "" {
			t.Errorf("operator %s has no constant", o.Name)
		}
		if !slices.Contains(usual, o.Name) {
			names = append(names, `"`+o.Name+`"`, constants[o.Name])
		}
	}
	named := regexp.MustCompile(`"\w+"|\bOperator\w+`)
	whole := make(map[string]bool)
	for _, name := range names {
		whole[name] = true
	}
	files := 0
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		file := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || file == "flags/operators.go":
			return nil
		case slices.ContainsFunc(elsewhere, func(prefix string) bool { return strings.HasPrefix(file, prefix) }):
			return nil
		}
		files++
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range named.FindAllString(string(source), -1) {
			if whole[found] {
				t.Errorf("%s names the operator %s: what it asks belongs into the table of flags/operators.go", file, found)
			}
		}
		return nil
	})
	if err != nil || files < 300 {
		t.Errorf("read %d files: %v", files, err)
	}
}
