package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	// longestReadme is how many bytes README.md may have: it is for a first look.
	longestReadme = 8000

	// longestProgram is how many lines its program may have that are not blank.
	longestProgram = 20
)

// TestTasks: the Go code in docs/tasks.md is in an example, which runs.
func TestTasks(t *testing.T) {
	code := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(read(t, filepath.Join(root, "docs", "tasks.md")), -1)
	examples := read(t, filepath.Join(root, "example_test.go"))
	for _, m := range code {
		if !strings.Contains(examples, m[1]) {
			t.Errorf("example_test.go does not have the code of docs/tasks.md:\n%s", m[1])
		}
	}
	if len(code) == 0 {
		t.Error("docs/tasks.md has no Go code")
	}
}

// TestReadme: the code in README.md is the example inprocess, whose test runs it.
func TestReadme(t *testing.T) {
	text := read(t, filepath.Join(root, "README.md"))
	if len(text) > longestReadme {
		t.Errorf("README.md has %d bytes, want at most %d", len(text), longestReadme)
	}
	example := func(name string) string { return read(t, filepath.Join(root, "examples", "inprocess", name)) }
	_, main, _ := strings.Cut(example("main.go"), "\npackage main\n")
	_, test, _ := strings.Cut(example("main_test.go"), "\nfunc TestNewCheckout(")
	test, _, _ = strings.Cut(test, "\n}\n")
	if n := 1 + len(regexp.MustCompile(`(?m)^.*\S`).FindAllString(main, -1)); n > longestProgram {
		t.Errorf("the program has %d lines that are not blank, want at most %d", n, longestProgram)
	}
	want := []string{
		"json\n" + example("flags.json"),
		"go\npackage main\n" + main,
		"go\nfunc TestNewCheckout(" + test + "\n}\n",
	}
	var got []string
	for _, m := range regexp.MustCompile("(?ms)^```((?:json|go)\n.*?)^```$").FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
	}
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
		t.Errorf("code in examples/inprocess, and in README.md (-want +got):\n%s", diff)
	}
}
