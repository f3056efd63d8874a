package geoip_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies keeps the package light: beyond the standard library, a user
// compiles the model of a City record and the reader of the database format.
func TestDependencies(t *testing.T) {
	const ours = "github.com/flagstaff-go/flagstaff/geoip"
	allowed := []string{ours, "github.com/oschwald/geoip2-golang/v2", "github.com/oschwald/maxminddb-golang/v2", "golang.org/x/sys"}
	forbidden := map[string]string{
		"net":          "an address is a netip.Addr",
		"net/http":     "databases come from disk: downloading them is another tool's work",
		"database/sql": "a database here is a file",
		"testing":      "it would come with its flags into every program",
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ours).Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v", ours, err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		if why, ok := forbidden[dep]; ok {
			t.Errorf("geoip imports %s: %s", dep, why)
		}
		if first, _, _ := strings.Cut(dep, "/"); !strings.Contains(first, ".") {
			continue
		}
		known := false
		for _, module := range allowed {
			known = known || dep == module || strings.HasPrefix(dep, module+"/")
		}
		if !known {
			t.Errorf("geoip imports %s, a requirement of every user: see whether the standard library does", dep)
		}
	}
}
