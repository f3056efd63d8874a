package openfeature_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies checks that the provider adds no dependency to a program
// that uses the SDK and package flags.
func TestDependencies(t *testing.T) {
	allowed := map[string]bool{
		"github.com/cespare/xxhash/v2":          true, // from package flags
		"github.com/dlclark/regexp2/v2":         true, // the same
		"github.com/twmb/murmur3":               true, // the same
		"github.com/dlclark/regexp2/v2/syntax":  true,
		"github.com/dlclark/regexp2/v2/helpers": true,
		"github.com/google/uuid":                true, // from package capture
	}
	bad := map[string]string{
		"database/sql": "stores live in modules of their own",
		"testing":      "fakes belong into tests",

		"github.com/flagstaff-go/flagstaff/server":     "the provider needs no server",
		"github.com/flagstaff-go/flagstaff/management": "the provider needs no server",
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		if why, ok := bad[dep]; ok {
			t.Errorf("openfeature imports %s: %s", dep, why)
		}
		host, _, _ := strings.Cut(dep, "/")
		ours := strings.HasPrefix(dep, "github.com/flagstaff-go/flagstaff/") || strings.HasPrefix(dep, "github.com/open-feature/go-sdk/")
		if strings.Contains(host, ".") && !ours && !allowed[dep] {
			t.Errorf("openfeature imports %s, a requirement of every user", dep)
		}
	}
}
