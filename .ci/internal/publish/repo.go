package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// A Repo is a checkout: the files that Git tracks, as they are in the folder.
type Repo struct {
	dir     string
	files   []string          // their paths in the repository, sorted
	edited  map[string][]byte // files whose content is not, or not yet, the one in the folder
	modules []*Module         // sorted by path
}

// A Module is one of the modules of a checkout.
type Module struct {
	Path   string        // as in its go.mod
	Folder string        // "." for the root
	File   *modfile.File // its go.mod
}

// Published reports whether the module gets tags, so that programs can require it.
// Modules of examples and of tools are for checkouts only.
func (m *Module) Published() bool {
	first, _, _ := strings.Cut(m.Folder, "/")
	return first != "examples" && (first == "." || !strings.HasPrefix(first, "."))
}

// Tag returns the tag of a version of the module.
func (m *Module) Tag(version string) string { return path.Join(m.Folder, version) }

// mod returns the path of the module's go.mod in the repository.
func (m *Module) mod() string { return path.Join(m.Folder, "go.mod") }

// Open reads the modules of the checkout in a folder.
func Open(ctx context.Context, dir string) (*Repo, error) {
	r := &Repo{dir: dir, edited: make(map[string][]byte)}
	list, err := r.git(ctx, "ls-files", "-z", "--cached", "--deduplicate")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if _, err := os.Lstat(r.path(name)); errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and Git does not know it yet
		}
		r.files = append(r.files, name)
	}
	slices.Sort(r.files)
	return r, r.readModules()
}

// readModules reads the go.mod files.
func (r *Repo) readModules() error {
	r.modules = nil
	for _, name := range r.files {
		if path.Base(name) != "go.mod" {
			continue
		}
		b, err := r.read(name)
		if err != nil {
			return err
		}
		file, err := modfile.Parse(name, b, nil)
		if err != nil {
			return err
		}
		if file.Module == nil {
			return fmt.Errorf("%s has no module line", name)
		}
		r.modules = append(r.modules, &Module{Path: file.Module.Mod.Path, Folder: path.Dir(name), File: file})
	}
	slices.SortFunc(r.modules, func(a, b *Module) int { return strings.Compare(a.Path, b.Path) })
	if i := slices.IndexFunc(r.modules, func(m *Module) bool { return m.Folder == "." }); i < 0 {
		return fmt.Errorf("%s: the root folder has no go.mod that Git knows", r.dir)
	}
	return nil
}

// Published returns the modules that get tags.
func (r *Repo) Published() []*Module {
	return slices.DeleteFunc(slices.Clone(r.modules), func(m *Module) bool { return !m.Published() })
}

// isOurs reports whether a module path is one of the repository's.
func (r *Repo) isOurs(modulePath string) bool {
	return slices.ContainsFunc(r.modules, func(m *Module) bool { return m.Path == modulePath })
}

// Version returns the version at which the modules require each other. It is an error
// if they do not agree, or if it is v0.0.0 or a version of a commit, which nobody tags.
func (r *Repo) Version() (string, error) {
	version, first := "", ""
	for _, m := range r.modules {
		for _, require := range m.File.Require {
			if !r.isOurs(require.Mod.Path) {
				continue
			}
			switch {
			case version == "":
				version, first = require.Mod.Version, m.mod()
			case version != require.Mod.Version:
				return "", fmt.Errorf("%s requires %s, and %s requires modules of this repository at %s: they are tagged together, so all must have the version that is tagged next",
					m.mod(), require.Mod, first, version)
			}
		}
	}
	switch {
	case version == "":
		return "", errors.New("no module requires another one of this repository")
	case strings.HasPrefix(version, "v0.0.0"), module.IsPseudoVersion(version):
		return "", fmt.Errorf("%s requires modules of this repository at %s: want the version that is tagged next", first, version)
	}
	return version, nil
}

// setVersion makes the modules require each other at a version. It changes no file in
// the folder: see [Repo.write].
func (r *Repo) setVersion(version string) error {
	for _, m := range r.modules {
		changed := false
		for _, require := range m.File.Require {
			if r.isOurs(require.Mod.Path) && require.Mod.Version != version {
				if err := m.File.AddRequire(require.Mod.Path, version); err != nil {
					return fmt.Errorf("%s: %w", m.mod(), err)
				}
				changed = true
			}
		}
		if changed {
			b, err := m.File.Format()
			if err != nil {
				return fmt.Errorf("%s: %w", m.mod(), err)
			}
			r.edited[m.mod()] = b
		}
	}
	return r.readModules()
}

// write writes the edited files into the folder.
func (r *Repo) write() error {
	for name, b := range r.edited {
		if err := os.WriteFile(r.path(name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repo) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// read returns the content of a file, edited if it was.
func (r *Repo) read(name string) ([]byte, error) {
	if b, ok := r.edited[name]; ok {
		return b, nil
	}
	return os.ReadFile(r.path(name))
}

// git runs a Git command in the checkout and returns its standard output.
func (r *Repo) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	return output(cmd)
}

// output runs a command and returns its standard output. The error has what it wrote
// on standard error.
func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(append(stderr.Bytes(), stdout.Bytes()...)))
	}
	return stdout.String(), nil
}

// pack returns the files of a module for [zip.Create], which leaves out the modules
// below it.
func (r *Repo) pack(m *Module) []zip.File {
	prefix := m.Folder + "/"
	if m.Folder == "." {
		prefix = ""
	}
	var list []zip.File
	for _, name := range r.files {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			list = append(list, packed{r, name, rest})
		}
	}
	// The go command gives a module the licence of the repository if it has none.
	if license := "LICENSE"; !slices.Contains(r.files, prefix+license) && slices.Contains(r.files, license) {
		list = append(list, packed{r, license, license})
	}
	return list
}

// packed is a file of a module.
type packed struct {
	repo *Repo
	name string // in the repository
	path string // in the module
}

func (p packed) Path() string { return p.path }

func (p packed) Lstat() (fs.FileInfo, error) {
	info, err := os.Lstat(p.repo.path(p.name))
	if b, ok := p.repo.edited[p.name]; ok && err == nil {
		return resized{info, int64(len(b))}, nil
	}
	return info, err
}

func (p packed) Open() (io.ReadCloser, error) {
	b, err := p.repo.read(p.name)
	return io.NopCloser(bytes.NewReader(b)), err
}

// resized is the information about a file with another size.
type resized struct {
	fs.FileInfo
	size int64
}

func (i resized) Size() int64 { return i.size }

// version returns the module at a version.
func (m *Module) version(version string) module.Version {
	return module.Version{Path: m.Path, Version: version}
}
