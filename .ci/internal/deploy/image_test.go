package deploy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestImage: the variable into which the two ways to make an image link the version
// exists. The linker says nothing if it does not.
func TestImage(t *testing.T) {
	for _, file := range []string{"Dockerfile", ".goreleaser.yaml"} {
		t.Run(file, func(t *testing.T) { testVariable(t, file) })
	}
}

func testVariable(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../..", file))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`-X github\.com/flagstaff-go/flagstaff/(\S+)\.(\w+)=(\$VERSION|\{\{ \.Tag \}\})`).FindStringSubmatch(string(b))
	if m == nil {
		t.Fatal("it links no version")
	}
	files, err := filepath.Glob(filepath.Join("../../..", m[1], "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if name.Name == m[2] {
						return
					}
				}
			}
		}
	}
	t.Errorf("there is no variable %s in %s", m[2], m[1])
}
