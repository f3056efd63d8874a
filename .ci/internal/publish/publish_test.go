package publish

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout is the checkout that these tests are part of.
func checkout(t *testing.T) *Repo {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// moduleIn returns the module in a folder of a checkout.
func moduleIn(t *testing.T, r *Repo, folder string) *Module {
	t.Helper()
	for _, m := range r.modules {
		if m.Folder == folder {
			return m
		}
	}
	t.Fatalf("no module in %s", folder)
	return nil
}

// edit replaces a text in a file of a checkout, for this test only.
func edit(t *testing.T, r *Repo, name, old, new string) {
	t.Helper()
	b, err := r.read(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), old) {
		t.Fatalf("%s does not contain %q", name, old)
	}
	r.edited[name] = []byte(strings.Replace(string(b), old, new, 1))
	if err := r.readModules(); err != nil {
		t.Fatal(err)
	}
}

// A module that requires a version that nobody tags can be built in the checkout, and
// nowhere else.
func TestConsumeFails(t *testing.T) {
	version, err := checkout(t).Version()
	if err != nil {
		t.Fatal(err)
	}
	const root = "github.com/flagstaff-go/flagstaff "
	for _, tt := range []struct {
		name, file, old, new string
		use                  string // the folder of the module that is used
		want                 string // in the error
	}{
		{"v0.0.0 in a library", "management/go.mod", root + version, root + "v0.0.0", "management", "flagstaff@v0.0.0"},
		{"v0.0.0 in the program", "cmd/flagstaff/go.mod", root + version, root + "v0.0.0", "cmd/flagstaff", "flagstaff@v0.0.0"},
		{
			"a replace in the program", "cmd/flagstaff/go.mod", "go 1.26.0", "go 1.26.0\n\nreplace github.com/flagstaff-go/flagstaff => ../..",
			"cmd/flagstaff", "replace",
		},
		{
			"a replace in the tool", "cmd/go.mod", "go 1.26.0", "go 1.26.0\n\nreplace github.com/flagstaff-go/flagstaff => ..",
			"cmd", "replace",
		},
		{"a file that Git does not know", "server/arrival.go", "package server\n", "package server\n\nimport _ \"github.com/flagstaff-go/flagstaff/server/internal/missing\"", "server", "internal/missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := checkout(t)
			edit(t, r, tt.file, tt.old, tt.new)
			s, err := r.newSandbox(t.Context(), t.TempDir(), version)
			if err != nil {
				t.Fatal(err)
			}
			told, err := s.use(t.Context(), r, moduleIn(t, r, tt.use))
			if err == nil {
				t.Fatalf("no error; %s", told)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want one with %q", err, tt.want)
			}
		})
	}
}

// TestVersion: the modules of this checkout require each other at one version, and any
// other one is refused before anything is built.
func TestVersion(t *testing.T) {
	version, err := checkout(t).Version()
	if err != nil || version == "" {
		t.Fatalf("version %q, error %v", version, err)
	}
	for _, m := range checkout(t).modules {
		for _, require := range m.File.Require {
			r := checkout(t)
			if !r.isOurs(require.Mod.Path) {
				continue
			}
			edit(t, r, m.mod(), require.Mod.Path+" "+version, require.Mod.Path+" v0.0.0")
			if _, err := r.Version(); err == nil || !strings.Contains(err.Error(), "v0.0.0") {
				t.Errorf("%s with %s v0.0.0: error %v, want one that names v0.0.0", m.mod(), require.Mod.Path, err)
			}
		}
	}
	for _, wrong := range []string{"v0.0.0", "v0.1.1-0.20261126110334-376fc80aaaaa"} {
		r := checkout(t)
		if err := r.setVersion(wrong); err != nil {
			t.Fatal(err)
		}
		_, err := r.Version()
		if want := "at " + wrong + ": want the version that is tagged next"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("all at %s: error %v, want one with %q", wrong, err, want)
		}
	}
}

// gitIn runs Git in a folder, also when a test cleans up.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "git", append([]string{"-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgSign=false"}, args...)...)
	cmd.Dir = dir
	out, err := output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestUntidy(t *testing.T) {
	const ours = "github.com/flagstaff-go/flagstaff v0.1.0 h1:"
	for _, tt := range []struct {
		name, before, after, want string
	}{
		{name: "equal", before: "a v1\nb v1\n", after: "a v1\nb v1\n"},
		{name: "another order", before: "a v1\nb v1\n", after: "b v1\na v1\n"},
		{name: "a line too many", before: "a v1\nb v1\n", after: "a v1\n", want: `go mod tidy removes the line "b v1"`},
		{name: "a line too few", before: "a v1\n", after: "a v1\nb v1\n", want: `go mod tidy adds the line "b v1"`},
		{name: "checksums of our modules", before: "a v1 h1:a\n", after: "a v1 h1:a\n" + ours + "b\n"},
		{name: "changed checksums of our modules", before: ours + "a\n", after: ours + "b\n"},
		{name: "changed checksums of others", before: "a v1 h1:a\n", after: "a v1 h1:b\n", want: `go mod tidy removes the line "a v1 h1:a"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := checkout(t).untidy([]byte(tt.before), []byte(tt.after)); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("error %q, want %q", got, tt.want)
			}
		})
	}
}

// A README makes the files that it shows.
func TestReadmeFiles(t *testing.T) {
	const (
		definitions = "```json\n{\"flags\": [{\"filters\": {}}]}\n```\n"
		program     = "```go\npackage main\n\nfunc main() {}\n```\n"
		test        = "```go\nfunc TestA(t *testing.T) {}\n```\n"
	)
	for _, tt := range []struct {
		name, readme, want string
	}{
		{name: "all", readme: "# A\n\n" + definitions + "Text.\n\n" + program + "```sh\ngo test\n```\n" + test},
		{name: "other blocks", readme: definitions + program + test + "```json\n{\"flags\": {}}\n```\n```go\nx := 1\n```\n"},
		{name: "no definitions", readme: program + test, want: "no block of code is flags.json"},
		{name: "no program", readme: definitions + test, want: "no block of code is main.go"},
		{name: "no test", readme: definitions + program, want: "no block of code is main_test.go"},
		{name: "two programs", readme: definitions + program + program + test, want: "two blocks of code are main.go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files, err := readmeFiles([]byte(tt.readme))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Fatalf("error %q, want %q", got, tt.want)
			}
			if err == nil && len(files) != 3 {
				t.Errorf("%d files, want 3", len(files))
			}
		})
	}
}

// TestEmptyModuleCache: what programs need of others is there, also on a machine that has
// never compiled any of it. The modules come from the cache of this machine.
func TestEmptyModuleCache(t *testing.T) {
	r := checkout(t)
	version, err := r.Version()
	if err != nil {
		t.Fatal(err)
	}
	cache, err := r.fill(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", fileURL(cache))
	t.Setenv("GOSUMDB", "off")
	t.Cleanup(func() { _ = exec.Command("go", "clean", "-modcache").Run() }) // its files cannot be removed otherwise
	s, err := r.newSandbox(t.Context(), t.TempDir(), version)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Published() {
		folder := strings.ReplaceAll(strings.Replace(m.Folder, ".", "root", 1), "/", "_")
		source, err := programs.ReadFile("testdata/programs/" + folder + "/main.go")
		if err != nil {
			continue // a program is installed
		}
		dir, err := s.module(t.Context(), "tidy-"+strings.ReplaceAll(m.Folder, "/", "-"), map[string][]byte{"main.go": source}, m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.run(t.Context(), dir, nil, "go", "mod", "tidy"); err != nil {
			t.Errorf("%s: %v", m.Path, err)
		}
	}
}
