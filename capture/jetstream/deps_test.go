package jetstream_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies: the module is for programs that have a sink of their own, and
// must not bring any along.
func TestDependencies(t *testing.T) {
	const ours = "github.com/flagstaff-go/flagstaff/"
	bad := map[string]string{
		ours + "management":                   "sinks are passed in",
		ours + "server":                       "programs wire a server",
		"github.com/prometheus/client_golang": "Stats are plain numbers",
		"testing":                             "it would come with its flags into every program",
		"github.com/nats-io/nats.go/micro":    "nobody asked for it",
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		for prefix, why := range bad {
			if dep == prefix || strings.HasPrefix(dep, prefix+"/") {
				t.Errorf("jetstream imports %s: %s", dep, why)
			}
		}
	}
}
