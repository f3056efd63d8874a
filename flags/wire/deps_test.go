package wire_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies keeps this package usable without a web server around it.
func TestDependencies(t *testing.T) {
	bad := map[string]string{
		"net/http":      "wire is for any HTTP stack; handlers belong into package server",
		"database/sql":  "stored data is handed to flags.Input by the caller",
		"log/slog":      "errors are returned; whoever calls decides what to log",
		"encoding/gzip": "bodies arrive decoded; how they travel is the server's business",
		"compress/gzip": "bodies arrive decoded; how they travel is the server's business",
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/flagstaff-go/flagstaff/flags/wire").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		if why, ok := bad[dep]; ok {
			t.Errorf("flags/wire imports %s: %s", dep, why)
		}
	}
}
