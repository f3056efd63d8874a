package source_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies checks that sources have no heavier dependency than
// net/http.
func TestDependencies(t *testing.T) {
	const ours = "github.com/flagstaff-go/flagstaff/"
	forbidden := map[string]string{
		"database/sql":      "stores live in modules of their own",
		"net/http/httptest": "it would come into every program",
		"testing":           "it would come with its flags into every program",
		ours + "flags/wire": "what a server writes is read by flags.Decode",
		ours + "capture":    "definitions are not events",
		ours + "geoip":      "where a subject is does not matter here",
		ours + "management": "it is a module of its own",
		ours + "server":     "it is a module of its own",
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ours+"flags/source").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		if why, ok := forbidden[dep]; ok {
			t.Errorf("flags/source imports %s: %s", dep, why)
		}
		first, _, _ := strings.Cut(dep, "/")
		if strings.Contains(first, ".") && !strings.HasPrefix(dep, ours) && dep != "github.com/cespare/xxhash/v2" && dep != "github.com/twmb/murmur3" &&
			!strings.HasPrefix(dep, "github.com/dlclark/regexp2/v2") { // all from package flags
			t.Errorf("flags/source imports %s, a requirement of every user: see whether the standard library does", dep)
		}
	}
}
