package serve

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestPaths: whatever is wrong with a path of the settings is told by -check, and by a start
// before it has made a store. The rows are all options that are paths.
func TestPaths(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after the tests in parallel
		if left, err := fs.Glob(os.DirFS(folder), "*"); err != nil || !slices.Equal(left, []string{"file"}) {
			t.Errorf("in the folder is %q, %v; want what was there before", left, err)
		}
	})
	missing := filepath.Join(folder, "missing", "file")
	below := filepath.Join(file, "below")
	pair := func(path string) []string { return []string{"-tls-cert", path, "-tls-key", path} }
	for option, wrong := range map[string]map[string]string{ // by what is wrong, the path
		"store":            {"no folder": missing, "a folder": folder, "below a file": below},
		"addr":             {"no folder": "unix:" + missing, "a folder": "unix:" + folder, "below a file": "unix:" + below},
		"tls-cert":         {"no folder": missing, "a folder": folder, "below a file": below, "no certificate": file},
		"tls-key":          {"no folder": missing, "a folder": folder, "below a file": below, "no key": file},
		"flags":            {"no folder": missing, "a folder": folder, "below a file": below, "no document": file},
		"geoip":            {"no folder": missing, "a folder": folder, "below a file": below, "no database": file},
		"secret-key-file":  {"no folder": missing, "a folder": folder, "below a file": below, "no key": file},
		"summary-key-file": {"no folder": missing, "a folder": folder, "below a file": below},
		"first-keys":       {"no folder": missing, "a folder": folder, "below a file": below, "a file": file},
		"mail-dir":         {"a file": file, "below a file": below},
		"config":           {"no folder": missing, "a folder": folder, "below a file": below, "no options": file},
	} {
		if runtime.GOOS == "linux" { // where not even root can make a file
			const closed = "/proc/flagstaff"
			switch option {
			case "store", "first-keys", "mail-dir":
				wrong["cannot be written"] = closed
			case "addr":
				wrong["cannot be written"] = "unix:" + closed
			}
		}
		for what, path := range wrong {
			t.Run(option+" "+what, func(t *testing.T) {
				t.Parallel()
				own := t.TempDir()
				args := []string{"-addr", "127.0.0.1:0", "-store", filepath.Join(own, "a.db"), "-" + option, path}
				if strings.HasPrefix(option, "tls-") {
					args = append(args, pair(path)...)
				}
				if option == "summary-key-file" {
					args = append(args, "-summary-url", "https://x/v1", "-summary-model", "m")
				}
				code, stdout, stderr := command(t, append([]string{"-check"}, args...)...)
				name := strings.TrimPrefix(path, unixPrefix)
				if code == 0 || !strings.Contains("\n"+stdout, "\nerror ") || !strings.Contains(stdout, name) {
					t.Errorf("-check: exit code %d, %q; want an error about %s in\n%s", code, stderr, name, stdout)
				}
				code, stdout, stderr = command(t, args...)
				if code == 0 || stdout != "" {
					t.Errorf("a start: exit code %d, %q, %q; want an error", code, stdout, stderr)
				}
				if left, err := os.ReadDir(own); err != nil || len(left) > 0 {
					t.Errorf("there is %v, %v; want no store", left, err)
				}
			})
		}
	}
}

// TestPathOptions: the table of TestPaths has each option that is a path.
func TestPathOptions(t *testing.T) {
	source, err := os.ReadFile("paths_test.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	Options().VisitAll(func(f *flag.Flag) {
		value, _ := flag.UnquoteUsage(f)
		if !slices.Contains([]string{"FILE", "DIRECTORY", "STORE"}, value) {
			return
		}
		n++
		if !strings.Contains(string(source), "\t\t\""+f.Name+"\":") {
			t.Errorf("-%s is a path, and has no row", f.Name)
		}
	})
	if n < 9 {
		t.Errorf("%d options are paths, want at least 9", n)
	}
}
