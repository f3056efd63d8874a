package management_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies: package surveys lies on top, so that a program that has flags compiles
// nothing of it. The service knows no database either.
func TestDependencies(t *testing.T) {
	for pattern, bad := range map[string][]string{
		".":     {"github.com/flagstaff-go/flagstaff/surveys", "github.com/flagstaff-go/flagstaff/server", "github.com/flagstaff-go/flagstaff/management/sqlstore", "modernc.org/sqlite", "github.com/jackc/pgx/v5"},
		"./...": {"github.com/flagstaff-go/flagstaff/surveys", "github.com/flagstaff-go/flagstaff/server"},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", pattern).Output()
		if err != nil {
			t.Fatal(err)
		}
		for dep := range strings.FieldsSeq(string(out)) {
			for _, other := range bad {
				if dep == other || strings.HasPrefix(dep, other+"/") {
					t.Errorf("%s compiles %s", pattern, dep)
				}
			}
		}
	}
}
