package server_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies keeps storage, streams and mail out: a program that wires a
// server chooses them.
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
		"github.com/pressly/goose/v3":    why,
		"github.com/wneessen/go-mail":    why,
		"testing":                        "fakes belong into tests",

		"github.com/flagstaff-go/flagstaff/management/mail":     why,
		"github.com/flagstaff-go/flagstaff/management/sqlstore": why,
	}
	for dep := range strings.FieldsSeq(list("-deps", ".")) {
		if why, ok := bad[dep]; ok {
			t.Errorf("server imports %s: %s", dep, why)
		}
	}

	// Surveys register with the server and the console; a program that has flags alone
	// compiles nothing of them.
	for dep := range strings.FieldsSeq(list("-deps", "./...")) {
		if strings.HasPrefix(dep, "github.com/flagstaff-go/flagstaff/surveys") {
			t.Errorf("a package of the module imports %s", dep)
		}
	}

	// What server itself imports of others is listed, so that a new one needs a
	// reason.
	reasons := map[string]string{
		"github.com/andybalholm/brotli":                             "Content-Encoding br; the standard library has no decoder",
		"github.com/klauspost/compress/zstd":                        "Content-Encoding zstd; the standard library has no decoder",
		"github.com/google/uuid":                                    "request ids",
		"github.com/hashicorp/golang-lru/v2":                        "rate limits and User-Agents, of which strangers send any number",
		"github.com/prometheus/client_golang/prometheus":            "metrics",
		"github.com/prometheus/client_golang/prometheus/collectors": "metrics",
		"github.com/prometheus/client_golang/prometheus/promhttp":   "metrics",
		"golang.org/x/time/rate":                                    "rate limits",
	}
	for dep := range strings.FieldsSeq(list("-f", `{{join .Imports " "}}`, ".")) {
		host, _, _ := strings.Cut(dep, "/")
		if strings.Contains(host, ".") && !strings.HasPrefix(dep, "github.com/flagstaff-go/") && reasons[dep] == "" {
			t.Errorf("server imports %s without a reason", dep)
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
