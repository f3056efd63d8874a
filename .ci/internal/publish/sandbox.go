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

// fill downloads into the machine's module cache what the published modules require
// of others, and returns the folder of the cache that is a proxy.
func (r *Repo) fill(ctx context.Context, dir string) (string, error) {
	for _, m := range r.Published() {
		folder := filepath.Join(dir, strings.ReplaceAll(m.Folder, "/", "-"))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", err
		}
		list := []string{"module example.com/fill", "go " + m.File.Go.Version}
		for _, require := range m.File.Require {
			if !r.isOurs(require.Mod.Path) {
				list = append(list, "require "+require.Mod.Path+" "+require.Mod.Version)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(strings.Join(list, "\n")+"\n"), 0o644); err != nil {
			return "", err
		}
		if sum := path.Join(m.Folder, "go.sum"); slices.Contains(r.files, sum) {
			b, err := r.read(sum)
			if err != nil {
				return "", err
			}
			if err := os.WriteFile(filepath.Join(folder, "go.sum"), b, 0o644); err != nil {
				return "", err
			}
		}
		download := exec.CommandContext(ctx, "go", "mod", "download")
		download.Dir = folder
		download.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		if _, err := output(download); err != nil {
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
