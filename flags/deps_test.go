package flags_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestDependencies keeps the library light. The list is what a user of the
// package may compile beyond the standard library, and what of that it must not.
func TestDependencies(t *testing.T) {
	const ours = "github.com/flagstaff-go/flagstaff/"
	allowed := map[string]string{
		"github.com/cespare/xxhash/v2":          "bucketing",
		"github.com/twmb/murmur3":               "splits of other products (rules.md §9); it requires nothing",
		"github.com/dlclark/regexp2/v2":         "look-around, which package regexp does not have, with a limit of time; it requires nothing",
		"github.com/dlclark/regexp2/v2/syntax":  "a part of it",
		"github.com/dlclark/regexp2/v2/helpers": "a part of it",
	}
	forbidden := map[string]string{
		"net":          "evaluation does no I/O",
		"net/http":     "servers have package server, other stacks flags/wire",
		"database/sql": "stores live in modules of their own",
		"log/slog":     "findings are returned, as Problems",
		"testing":      "it would come with its flags into every program",
	}
	for _, pkg := range []string{"flags", "runtime"} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}} {{.Imports}}", ours+pkg).Output()
		if err != nil {
			t.Fatalf("go list -deps %s: %v", pkg, err)
		}
		for line := range strings.Lines(string(out)) {
			dep, imports, _ := strings.Cut(line, " ")
			if strings.HasPrefix(dep, ours) && slices.Contains(strings.Fields(strings.Trim(imports, "[]\n")), "log") {
				t.Errorf("%s imports log: findings are returned, as Problems", dep)
			}
			if why, ok := forbidden[dep]; ok {
				t.Errorf("%s imports %s: %s", pkg, dep, why)
			}
			if first, _, _ := strings.Cut(dep, "/"); strings.Contains(first, ".") && !strings.HasPrefix(dep, ours) && allowed[dep] == "" {
				t.Errorf("%s imports %s, a requirement of every user: see whether the standard library does", pkg, dep)
			}
		}
	}
}
