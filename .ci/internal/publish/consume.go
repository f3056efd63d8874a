package publish

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
)

// maxCoreRequirements is how many modules of others a program gets that uses the core,
// which is the root module.
const maxCoreRequirements = 6

// maxToolLines is how many lines the tool without a server adds to an empty go.mod: one
// for itself, and one for each module.
const maxToolLines = 11

// maxProgramTime is how long one of the small programs may run.
const maxProgramTime = 30 * time.Second

// programs has a program for each library, in a folder with the name of the library's,
// "root" for the root module. Each ends with a comment that has what it prints.
//
//go:embed all:testdata/programs
var programs embed.FS

// Consume uses the modules at a version like a newcomer, in a new folder below dir: for
// each library it gets the module, and vets, builds and runs a small program; it
// installs the program, and does with the README what the README says. It writes what
// it has done to progress.
func (r *Repo) Consume(ctx context.Context, dir, version string, progress io.Writer) error {
	s, err := r.newSandbox(ctx, dir, version)
	if err != nil {
		return err
	}
	modules := r.Published()
	slices.SortStableFunc(modules, func(a, b *Module) int { return rank(a) - rank(b) })
	for _, m := range modules {
		start := time.Now()
		told, err := s.use(ctx, r, m)
		if err != nil {
			return fmt.Errorf("%s@%s cannot be used: %w", m.Path, version, err)
		}
		fmt.Fprintf(progress, "%s@%s: %s (%.1f s)\n", m.Path, version, told, time.Since(start).Seconds())
	}
	start := time.Now()
	told, err := s.useREADME(ctx, r)
	if err != nil {
		return fmt.Errorf("README.md: %w", err)
	}
	fmt.Fprintf(progress, "README.md: %s (%.1f s)\n", told, time.Since(start).Seconds())
	return nil
}

// rank puts programs behind the libraries that they require.
func rank(m *Module) int {
	if m.isProgram() {
		return 1
	}
	return 0
}

// isProgram reports whether the module has programs: the go command installs them, and
// refuses to if the module's go.mod has a replace directive.
func (m *Module) isProgram() bool {
	first, _, _ := strings.Cut(m.Folder, "/")
	return first == "cmd"
}

// use uses a module and says what was done.
func (s *sandbox) use(ctx context.Context, r *Repo, m *Module) (string, error) {
	if m.isProgram() {
		return s.useProgram(ctx, r, m)
	}
	return s.useLibrary(ctx, m)
}

// printed is the comment at the end of a program with what it prints.
var printed = regexp.MustCompile(`(?s)\n// Output:\n((?://[^\n]*\n)+)$`)

// useLibrary gets a library in an empty module, and runs a program that uses it.
func (s *sandbox) useLibrary(ctx context.Context, m *Module) (string, error) {
	name := strings.ReplaceAll(m.Folder, "/", "_")
	if m.Folder == "." {
		name = "root"
	}
	source, err := programs.ReadFile(path.Join("testdata/programs", name, "main.go"))
	if err != nil {
		return "", fmt.Errorf("no program uses it: %w", err)
	}
	comment := printed.FindSubmatch(source)
	if comment == nil {
		return "", fmt.Errorf("the program %s must end with a comment that begins with Output: and has what it prints", name)
	}
	want := strings.ReplaceAll(strings.ReplaceAll(string(comment[1]), "// ", ""), "//\n", "\n")
	dir, err := s.module(ctx, "program-"+name, map[string][]byte{"main.go": source}, m)
	if err != nil {
		return "", err
	}
	if err := s.buildAndRun(ctx, dir, want); err != nil {
		return "", err
	}
	if m.Folder != "." {
		return "fetched, built, run", nil
	}
	n, err := s.requirements(ctx, dir, m)
	if err == nil && n > maxCoreRequirements {
		err = fmt.Errorf("it brings %d modules of others along; at most %d are allowed", n, maxCoreRequirements)
	}
	return fmt.Sprintf("fetched, built, run; it brings %d modules of others", n), err
}

// module makes an empty module with files, and gets a library for it.
func (s *sandbox) module(ctx context.Context, name string, files map[string][]byte, library *Module) (string, error) {
	dir, err := s.folder(name)
	if err != nil {
		return "", err
	}
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o644); err != nil {
			return "", err
		}
	}
	if _, err := s.run(ctx, dir, nil, "go", "mod", "init", "example.com/newcomer"); err != nil {
		return "", err
	}
	_, err = s.run(ctx, dir, nil, "go", "get", library.version(s.version).String())
	return dir, err
}

// buildAndRun vets, builds and runs the program in a folder.
func (s *sandbox) buildAndRun(ctx context.Context, dir, want string) error {
	// The program may import further packages, whose modules go get has not looked for.
	if _, err := s.run(ctx, dir, nil, "go", "mod", "tidy"); err != nil {
		return err
	}
	if _, err := s.run(ctx, dir, nil, "go", "vet", "./..."); err != nil {
		return err
	}
	if _, err := s.run(ctx, dir, nil, "go", "build", "-o", "program.exe", "."); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, maxProgramTime)
	defer cancel()
	got, err := s.run(limited, dir, nil, filepath.Join(dir, "program.exe"))
	if err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("the program printed\n%s\nwant\n%s", got, want)
	}
	return nil
}

// requirements returns how many modules of others the go.mod in a folder requires.
func (s *sandbox) requirements(ctx context.Context, dir string, library *Module) (int, error) {
	b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return 0, err
	}
	file, err := modfile.Parse("go.mod", b, nil)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, require := range file.Require {
		if require.Mod.Path != library.Path {
			n++
		}
	}
	return n, nil
}

// A command is a program of a module, with arguments by which it says its version.
type command struct {
	folder  string // in its module
	version []string
	says    string // by version, before the version of the module; "" if it says another
}

// commands are the programs of modules, by the modules' folders.
var commands = map[string][]command{
	"cmd":                {{"tool/" + programName, []string{"version"}, programName}, {"flagstaff-vet", []string{"-V=full"}, ""}},
	"cmd/" + programName: {{".", []string{"version"}, programName}},
}

// useProgram installs the programs of a module and asks them for their versions. Then it
// looks whether the module's go.mod has what it needs and nothing else, which only this
// proxy can tell before its requirements are tagged.
func (s *sandbox) useProgram(ctx context.Context, r *Repo, m *Module) (string, error) {
	told := []string{"installed"}
	if len(commands[m.Folder]) == 0 {
		return "", errors.New("nobody knows its programs")
	}
	for _, c := range commands[m.Folder] {
		dir, err := s.folder("install-" + strings.ReplaceAll(path.Join(m.Folder, c.folder), "/", "-"))
		if err != nil {
			return "", err
		}
		program := path.Join(m.Path, c.folder)
		if _, err := s.run(ctx, dir, nil, "go", "install", program+"@"+s.version); err != nil {
			return "", err
		}
		limited, cancel := context.WithTimeout(ctx, maxProgramTime)
		defer cancel()
		got, err := s.run(limited, dir, nil, filepath.Join(s.dir, "bin", path.Base(program)), c.version...)
		if err != nil {
			return "", err
		}
		if words := strings.Fields(got); c.says != "" && !slices.Equal(words[:min(2, len(words))], []string{c.says, s.version}) {
			return "", fmt.Errorf("the program says %q, want %s and its version %s", got, c.says, s.version)
		}
		told = append(told, path.Base(program)+" says "+strings.TrimSpace(got))
	}
	if m.Folder == "cmd" {
		n, err := s.useTool(ctx, path.Join(m.Path, "tool", programName))
		if err != nil {
			return "", err
		}
		told = append(told, fmt.Sprintf("go get -tool adds %d lines to a go.mod", n))
	}
	return strings.Join(told, "; "), s.tidy(ctx, r, m)
}

// useTool makes a program a tool of a module that has nothing else, runs it, and returns
// how many lines that has added to its go.mod.
func (s *sandbox) useTool(ctx context.Context, program string) (lines int, err error) {
	dir, err := s.folder("tool")
	if err != nil {
		return 0, err
	}
	if _, err := s.run(ctx, dir, nil, "go", "mod", "init", "example.com/newcomer"); err != nil {
		return 0, err
	}
	if _, err := s.run(ctx, dir, nil, "go", "get", "-tool", program+"@"+s.version); err != nil {
		return 0, err
	}
	if _, err := s.run(ctx, dir, nil, "go", "tool", programName, "help"); err != nil {
		return 0, err
	}
	b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return 0, err
	}
	file, err := modfile.Parse("go.mod", b, nil)
	if err != nil {
		return 0, err
	}
	if lines = len(file.Tool) + len(file.Require); lines > maxToolLines {
		err = fmt.Errorf("go get -tool adds %d lines to a go.mod; at most %d are allowed:\n%s", lines, maxToolLines, b)
	}
	return lines, err
}

// tidy returns an error if go mod tidy would change the module. Checksums of the
// repository's own modules do not count: they change with each file.
func (s *sandbox) tidy(ctx context.Context, r *Repo, m *Module) error {
	dir, err := s.folder("tidy-" + strings.ReplaceAll(m.Folder, "/", "-"))
	if err != nil {
		return err
	}
	for _, file := range r.pack(m) {
		content, err := r.read(file.(packed).name)
		if err != nil {
			return err
		}
		if file.Path() == "go.sum" { // our modules may differ from their last release
			content = []byte(strings.Join(r.othersLines(content), "\n") + "\n")
		}
		target := filepath.Join(dir, filepath.FromSlash(file.Path()))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
	if _, err := s.run(ctx, dir, nil, "go", "mod", "tidy"); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		got, err := r.read(path.Join(m.Folder, name))
		if err != nil {
			return err
		}
		if err := r.untidy(got, want); err != nil {
			return fmt.Errorf("%s is not tidy: %w", path.Join(m.Folder, name), err)
		}
	}
	return nil
}

// untidy returns an error if go mod tidy has changed a go.mod or go.sum.
func (r *Repo) untidy(before, after []byte) error {
	had, has := r.othersLines(before), r.othersLines(after)
	for _, line := range had {
		if !slices.Contains(has, line) {
			return fmt.Errorf("go mod tidy removes the line %q", line)
		}
	}
	for _, line := range has {
		if !slices.Contains(had, line) {
			return fmt.Errorf("go mod tidy adds the line %q", line)
		}
	}
	return nil
}

// othersLines returns the lines of a go.mod or go.sum without the ones of a go.sum that
// are about the repository's own modules.
func (r *Repo) othersLines(file []byte) []string {
	var list []string
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSpace(line)
		if fields := strings.Fields(line); len(fields) != 3 || !r.isOurs(fields[0]) || !strings.HasPrefix(fields[2], "h1:") {
			list = append(list, line)
		}
	}
	return list
}

// fence is a block of code in a document.
var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// testHeader is what the README leaves out of its test.
const testHeader = `package main

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/flags/flagstest"
)

`

// readmeFiles returns the files that a README makes: definitions, a program, and its
// test.
func readmeFiles(readme []byte) (map[string][]byte, error) {
	files := make(map[string][]byte)
	for _, m := range fence.FindAllSubmatch(readme, -1) {
		language, code := string(m[1]), string(m[2])
		name := ""
		switch {
		case language == "json" && strings.Contains(code, `"filters"`):
			name = "flags.json"
		case language == "go" && strings.HasPrefix(code, "package main\n"):
			name = "main.go"
		case language == "go" && strings.HasPrefix(code, "func Test"):
			name, code = "main_test.go", testHeader+code
		default:
			continue
		}
		if files[name] != nil {
			return nil, fmt.Errorf("two blocks of code are %s", name)
		}
		files[name] = []byte(code)
	}
	for _, name := range []string{"flags.json", "main.go", "main_test.go"} {
		if files[name] == nil {
			return nil, fmt.Errorf("no block of code is %s", name)
		}
	}
	return files, nil
}

// useREADME makes the files of the README, gets the root module, runs the program and
// its test.
func (s *sandbox) useREADME(ctx context.Context, r *Repo) (string, error) {
	readme, err := r.read("README.md")
	if err != nil {
		return "", err
	}
	files, err := readmeFiles(readme)
	if err != nil {
		return "", err
	}
	var core *Module
	for _, m := range r.Published() {
		if m.Folder == "." {
			core = m
		}
	}
	dir, err := s.module(ctx, "readme", files, core)
	if err != nil {
		return "", err
	}
	if _, err := s.run(ctx, dir, nil, "go", "mod", "tidy"); err != nil {
		return "", err
	}
	if _, err := s.run(ctx, dir, nil, "go", "vet", "./..."); err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, maxProgramTime)
	defer cancel()
	printed, err := s.run(limited, dir, nil, "go", "run", ".")
	if err != nil {
		return "", err
	}
	if _, err := s.run(ctx, dir, nil, "go", "test", "./..."); err != nil {
		return "", err
	}
	return fmt.Sprintf("its program prints %q, its test passes", strings.TrimSpace(printed)), nil
}
