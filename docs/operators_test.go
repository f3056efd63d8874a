package docs_test

import (
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
		"surveys/",                    // surveys have match types of their own, and their targeting is filters
		"server/console/consoletest/", // documents with texts that would do harm
		"internal/faulttest/",         // documents with faults, and what is said of them
		"flags/internal/bench/",       // documents for benchmarks
		"flags/internal/dialect/",     // operators of other products
		"internal/convert/",           // what these become
		"cmd/flagstaff/serve/demo.go", // a document
		"examples/", ".ci/",
	}
	constants := make(map[string]string)
	source := read(t, "../flags/operator/operator.go")
	for _, m := range regexp.MustCompile(`(\w+)\s+= "(\w+)"`).FindAllStringSubmatch(source, -1) {
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
	for file, source := range goFiles(t, append(elsewhere, "flags/operator/", "internal/operators/")...) {
		for _, found := range named.FindAllString(source, -1) {
			if whole[found] {
				t.Errorf("%s names the operator %s: what it asks belongs into the table of internal/operators", file, found)
			}
		}
	}
}

// goFiles returns the Go files of the repository that are not tests, with their text by name.
// except are the beginnings of names of others.
func goFiles(t *testing.T, except ...string) map[string]string {
	t.Helper()
	list := make(map[string]string)
	for _, file := range files(t) {
		other := func(prefix string) bool { return strings.HasPrefix(file, prefix) }
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && !slices.ContainsFunc(except, other) {
			list[file] = read(t, filepath.Join(root, file))
		}
	}
	if len(list) < 300 {
		t.Errorf("there are %d Go files", len(list))
	}
	return list
}
