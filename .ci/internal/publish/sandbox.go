package publish

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// A sandbox is a folder in which the go command knows only what proxies on this
// machine have: the modules of a checkout, and the modules of others that are in the
// machine's module cache. It compiles with the machine's build cache.
type sandbox struct {
	dir     string
	proxy   string // the folder of the proxy with the modules of the checkout
	version string // of these modules
	env     []string
}

// newSandbox makes a sandbox in an empty folder.
func (r *Repo) newSandbox(ctx context.Context, dir, version string) (*sandbox, error) {
	s := &sandbox{dir: dir, proxy: filepath.Join(dir, "proxy"), version: version}
	if err := r.writeProxy(s.proxy, version); err != nil {
		return nil, err
	}
	cache, err := r.fill(ctx, filepath.Join(dir, "fill"))
	if err != nil {
		return nil, err
	}
	s.env = append(os.Environ(),
		"GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local",
		// With -trimpath, compiled packages of others are found in the build cache,
		// although the module cache is another one: if .ci/run has compiled them, and
		// so without what debuggers need.
		"GOFLAGS=-trimpath -modcacherw -gcflags=all=-dwarf=false",
		"GOPROXY="+fileURL(s.proxy)+","+fileURL(cache), "GONOPROXY=", "GOVCS=*:off",
		"GOSUMDB=off", "GOPRIVATE=", "GONOSUMDB=", "GOINSECURE=",
		"GOMODCACHE="+filepath.Join(dir, "mod"), "GOPATH="+filepath.Join(dir, "path"), "GOBIN="+filepath.Join(dir, "bin"),
	)
	return s, nil
}

func fileURL(dir string) string {
	return (&url.URL{Scheme: "file", Path: path.Join("/", filepath.ToSlash(dir))}).String()
}

// fill downloads into the machine's module cache what programs that use the published
// modules need of others, and returns the folder of the cache that is a proxy. That is what
// go mod tidy looks at for each module, tests of what it imports included, while it finds
// the repository's own modules in the checkout. It changes a copy of the go.mod.
func (r *Repo) fill(ctx context.Context, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	root, err := filepath.Abs(r.dir)
	if err != nil {
		return "", err
	}
	for _, m := range r.Published() {
		b, err := r.read(m.mod())
		if err != nil {
			return "", err
		}
		file, err := modfile.Parse(m.mod(), b, nil)
		if err != nil {
			return "", err
		}
		for _, other := range r.modules {
			if other.Path == m.Path {
				continue
			}
			if err := file.AddReplace(other.Path, "", filepath.Join(root, filepath.FromSlash(other.Folder)), ""); err != nil {
				return "", err
			}
		}
		if b, err = file.Format(); err != nil {
			return "", err
		}
		files := map[string][]byte{".mod": b}
		if sum := path.Join(m.Folder, "go.sum"); slices.Contains(r.files, sum) {
			if files[".sum"], err = r.read(sum); err != nil {
				return "", err
			}
		}
		name := filepath.Join(dir, strings.ReplaceAll(m.Folder, "/", "-"))
		for suffix, content := range files {
			if err := os.WriteFile(name+suffix, content, 0o644); err != nil {
				return "", err
			}
		}
		tidy := exec.CommandContext(ctx, "go", "mod", "tidy", "-modfile="+name+".mod")
		tidy.Dir = r.path(m.Folder)
		tidy.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		if _, err := output(tidy); err != nil {
			return "", err
		}
	}
	cache, err := output(exec.CommandContext(ctx, "go", "env", "GOMODCACHE"))
	return filepath.Join(strings.TrimSpace(cache), "cache", "download"), err
}

// run runs a program of a folder in the sandbox, with further variables in its
// environment, and returns its standard output.
func (s *sandbox) run(ctx context.Context, folder string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	cmd.Env = append(slices.Clone(s.env), env...)
	return output(cmd)
}

// folder makes an empty folder in the sandbox.
func (s *sandbox) folder(name string) (string, error) {
	dir := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("the folder must be new: %w", err)
	}
	return dir, nil
}
