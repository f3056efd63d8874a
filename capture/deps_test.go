package capture_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies keeps the library light. The lists are what a user of the
// package may compile beyond the standard library, and what of that it must not.
func TestDependencies(t *testing.T) {
	const ours = "github.com/flagstaff-go/flagstaff/"
	allowed := map[string]bool{"github.com/google/uuid": true, "github.com/cespare/xxhash/v2": true, "github.com/twmb/murmur3": true}
	forbidden := map[string]string{
		"database/sql": "stores live in modules of their own", // its driver interface comes with uuid
		"log":          "errors are returned, or told to ClientConfig.OnError",
		"log/slog":     "errors are returned, or told to ClientConfig.OnError",
		"testing":      "it would come with its flags into every program",
	}
	for _, pkg := range []string{"capture", "capture/persons"} {
		// Not what the standard library takes from elsewhere, nor what it logs.
		const format = `{{.ImportPath}} {{.Standard}} {{join .Imports ","}}`
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, ours+pkg).Output()
		if err != nil {
			t.Fatalf("go list -deps %s: %v", pkg, err)
		}
		for line := range strings.Lines(string(out)) {
			field := strings.Split(strings.TrimSuffix(line, "\n"), " ")
			if field[1] == "true" {
				continue
			}
			if strings.HasPrefix(field[0], "github.com/dlclark/regexp2/v2") {
				continue // from package flags; it logs while it is debugged
			}
			if !allowed[field[0]] && !strings.HasPrefix(field[0], ours) {
				t.Errorf("%s imports %s, a requirement of every user: see whether the standard library does", pkg, field[0])
			}
			for dep := range strings.SplitSeq(field[2], ",") {
				if why, ok := forbidden[dep]; ok {
					t.Errorf("%s imports %s: %s", field[0], dep, why)
				}
			}
		}
	}
}
