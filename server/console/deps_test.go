package console_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// TestDependencies: groups of screens do not know of each other, and no package knows of
// surveys, so that a program without them does not compile them.
func TestDependencies(t *testing.T) {
	const own = "github.com/flagstaff-go/flagstaff/"
	groups := make(map[string]bool)
	for _, g := range []string{"account", "cohorts", "features", "flags", "persons", "project", "transfer"} {
		groups[own+"server/console/internal/"+g] = true
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...").Output()
	consoletest.Fatal(t, err)
	seen := 0
	for line := range strings.Lines(string(out)) {
		deps := strings.Fields(line)
		of := deps[0]
		if strings.HasSuffix(of, "test") {
			continue
		}
		seen++
		for _, dep := range deps[1:] {
			if groups[dep] && of != own+"server/console" {
				t.Errorf("%s imports %s", of, dep)
			}
			if dep == own+"surveys" || strings.HasPrefix(dep, own+"surveys/") {
				t.Errorf("%s imports %s", of, dep)
			}
		}
	}
	if seen < len(groups)+5 {
		t.Errorf("%d packages were looked at", seen)
	}
}
