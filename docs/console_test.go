package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// longestPictures is how much space the pictures of docs/console.md may take together.
const longestPictures = 600_000 // bytes

// TestConsole: the code in console.md is the example of package console, and its pictures
// are there, and small.
func TestConsole(t *testing.T) {
	text := read(t, "console.md")
	example := strings.ReplaceAll(read(t, filepath.Join(root, "server", "console", "example_test.go")), "\n\t", "\n")
	code := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindStringSubmatch(text)
	if code == nil || !strings.Contains(example, code[1]) {
		t.Errorf("the code is not in server/console/example_test.go: %q", code)
	}
	total := int64(0)
	shown := make(map[string]bool)
	for _, m := range regexp.MustCompile(`!\[([^\]]+)\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		info, err := os.Stat(m[2])
		if err != nil {
			t.Error(err)
			continue
		}
		shown[filepath.Base(m[2])] = true
		total += info.Size()
	}
	if total == 0 || total > longestPictures {
		t.Errorf("the pictures have %d bytes, want some and at most %d", total, longestPictures)
	}
	files, err := os.ReadDir("console")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !shown[f.Name()] {
			t.Errorf("console.md does not show the picture %s", f.Name())
		}
	}
}
