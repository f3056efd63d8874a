package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest   = regexp.MustCompile("`([a-z0-9/]+): (Test\\w+)`")
	promiseLine = regexp.MustCompile(`(?m)^\| [^|]+ \| ([^|]+) \|$`)
)

// TestSecurity holds the promises of docs/security.md to the tests that it names: each
// promise names one at least, and all are there.
func TestSecurity(t *testing.T) {
	text := read(t, filepath.Join(root, "docs", "security.md"))
	_, promises, ok := strings.Cut(text, "| promise | held by |\n|---|---|\n")
	if !ok {
		t.Fatal("docs/security.md has no table of promises")
	}
	promises, _, _ = strings.Cut(promises, "\n\n")
	rows := promiseLine.FindAllStringSubmatch(promises, -1)
	if want := strings.Count(promises, "\n") + 1; len(rows) != want || want < 15 {
		t.Errorf("%d of %d promises were understood", len(rows), want)
	}
	for _, row := range rows {
		if !namedTest.MatchString(row[1]) {
			t.Errorf("no test holds the promise %s", row[0])
		}
	}
	have := testsByFolder(t)
	for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
		if !have[m[1]+"."+m[2]] {
			t.Errorf("there is no test %s in the folder %s", m[2], m[1])
		}
	}
}

// testsByFolder returns all tests, as folder.TestName.
func testsByFolder(t *testing.T) map[string]bool {
	t.Helper()
	have := make(map[string]bool)
	for _, file := range files(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				have[path.Dir(file)+"."+f.Name.Name] = true
			}
		}
	}
	return have
}
