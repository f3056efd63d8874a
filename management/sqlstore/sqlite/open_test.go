package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("This is not a database.\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path, want string
	}{
		{"nothing", "", "path is empty"},
		{"no such folder", filepath.Join(dir, "none", "x.db"), "no such file"},
		{"a folder", dir, "is a directory"},
		{"not a database", text, "not a database"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db, err := sqlite.Open(t.Context(), tt.path, sqlstore.Options{})
			if err == nil {
				_ = db.Close()
				t.Fatal("Open = nil, want an error")
			}
			for _, want := range []string{tt.path, tt.want} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Open = %v, want it to contain %q", err, want)
				}
			}
		})
	}
}

func TestPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	open(t, path)
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, name := range files { // includes the write-ahead log
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %o, want 600", filepath.Base(name), got)
		}
	}
}

// TestMigrations opens an existing file again.
func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := sqlite.Open(t.Context(), path, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	created, err := management.Bootstrap(t.Context(), db, management.First{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	version := func() (n int) {
		t.Helper()
		if err := raw.QueryRowContext(t.Context(), "SELECT max(version_id) FROM goose_db_version WHERE is_applied").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := version()
	if before < 1 {
		t.Errorf("schema version %d, want at least 1", before)
	}
	again := open(t, path)
	projects, err := again.Projects().List(t.Context())
	if err != nil || len(projects) != 1 || projects[0].APIKey != created.Project.APIKey {
		t.Errorf("after opening again Projects = %v, %v; want the one that was created", projects, err)
	}
	if after := version(); after != before {
		t.Errorf("schema version %d after opening again, want %d", after, before)
	}
}

// TestMustExist: a store is not made where one must exist.
func TestMustExist(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	existing := sqlstore.Options{MustExist: true}
	if _, err := sqlite.Open(t.Context(), path, existing); !errors.Is(err, sqlstore.ErrNoStore) {
		t.Errorf("Open of no file = %v, want ErrNoStore", err)
	}
	if list, err := filepath.Glob(path + "*"); err != nil || len(list) > 0 {
		t.Errorf("files %v, %v; want none", list, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path, existing); !errors.Is(err, sqlstore.ErrNoStore) {
		t.Errorf("Open of an empty file = %v, want ErrNoStore", err)
	}
	open(t, path)
	db, err := sqlite.Open(t.Context(), path, existing)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestNewerSchema: what a newer release has made is not touched.
func TestNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	open(t, path)
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)"); err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Open(t.Context(), path, sqlstore.Options{})
	if !errors.Is(err, sqlstore.ErrNewer) {
		t.Fatalf("Open = %v, want ErrNewer", err)
	}
	if !regexp.MustCompile("has version 99, and this program knows versions up to [0-9]+;").MatchString(err.Error()) {
		t.Errorf("Open = %v, want it to name both versions", err)
	}
}

// TestLibc checks that the build has the version of modernc.org/libc for which
// modernc.org/sqlite was made. Its documentation requires this, and a
// dependency that requires a later version would break it silently.
func TestLibc(t *testing.T) {
	list := func(format, module string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", format, module).Output()
		if err != nil {
			t.Fatalf("go list -m %s: %v", module, err)
		}
		return strings.TrimSpace(string(out))
	}
	file, err := os.ReadFile(list("{{.GoMod}}", "modernc.org/sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^(?:require)?\s+modernc\.org/libc (\S+)`).FindSubmatch(file)
	if m == nil {
		t.Fatalf("no requirement of modernc.org/libc in\n%s", file)
	}
	if got, want := list("{{.Version}}", "modernc.org/libc"), string(m[1]); got != want {
		t.Errorf("modernc.org/libc is %s, but modernc.org/sqlite wants %s: change what requires another version", got, want)
	}
}
