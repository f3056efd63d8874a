package server_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies keeps storage and streams out: whoever wires a server chooses
// them.
func TestDependencies(t *testing.T) {
	const why = "adapters are wired by programs; server sees them through its interfaces"
	list := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}

	bad := map[string]string{
		"github.com/jackc/pgx/v5":        why,
		"modernc.org/sqlite":             why,
		"github.com/nats-io/nats.go":     why,
		"github.com/fsnotify/fsnotify":   why,
		"github.com/open-feature/go-sdk": why,
		"testing":                        "fakes belong into tests",
	}
	for dep := range strings.FieldsSeq(list("-deps", ".")) {
		if why, ok := bad[dep]; ok {
			t.Errorf("server imports %s: %s", dep, why)
		}
	}

	// The metrics library compiles database/sql for collectors of its own, so
	// this looks at direct imports only.
	direct := map[string]string{
		"database/sql":  why,
		"reflect":       "the request path works on bytes",
		"log":           "logging goes to Config.Log",
		"unsafe":        "views of request memory are made by flags/wire alone",
		"encoding/gob":  "answers are JSON",
		"html/template": "answers are JSON",
	}
	for dep := range strings.FieldsSeq(list("-f", `{{join .Imports " "}}`, ".")) {
		if why, ok := direct[dep]; ok {
			t.Errorf("server imports %s itself: %s", dep, why)
		}
	}
}
