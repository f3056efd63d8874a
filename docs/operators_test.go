package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// TestOperatorsAreNamedOnce: what the code asks of an operator is a column of the table in
// internal/operators, and its name a constant of flags/operator, so that no other Go file of the product names one. A switch over names
// elsewhere would silently miss the next operator.
func TestOperatorsAreNamedOnce(t *testing.T) {
	// These are what a filter without an operator has, or what the product itself asks for.
	usual := []string{operator.Exact, operator.IsSet, operator.In, operator.NotIn, operator.FlagEvaluatesTo}
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
	source, err := os.ReadFile("../flags/operator/operator.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(\w+)\s+= "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		constants[m[2]] = "operator." + m[1]
	}
	var names []string
	for o := range operators.All() {
		if constants[o.Name] == "" {
			t.Errorf("operator %s has no constant", o.Name)
		}
		if !slices.Contains(usual, o.Name) {
			names = append(names, `"`+o.Name+`"`, constants[o.Name])
		}
	}
	named := regexp.MustCompile(`"\w+"|\boperator\.\w+`)
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
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "flags/operator/") || strings.HasPrefix(file, "internal/operators/"):
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
				t.Errorf("%s names the operator %s: what it asks belongs into the table of internal/operators", file, found)
			}
		}
		return nil
	})
	if err != nil || files < 300 {
		t.Errorf("read %d files: %v", files, err)
	}
}
