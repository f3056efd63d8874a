package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/semver"
)

// root is the path of the root module, of which those of the others are below.
const root = "github.com/flagstaff-go/flagstaff"

var toProve = flag.String("release", "", "prove that the modules can be used at `VERSION`; without it, at two made ones")

// TestConsume: the modules of a release can be used without the checkout. It releases a
// clone and uses the modules like a newcomer, in empty folders and with an empty module
// cache; the go command fetches them by their tags, as from where they are published.
// Scripts in testdata say what is done: one for each library, and some for programs.
func TestConsume(t *testing.T) {
	dir := clone(t)
	newest, err := newestTag(dir)
	if err != nil {
		t.Fatal(err)
	}
	version, previous := *toProve, path.Base(newest)
	if version == "" {
		if newest == "" {
			previous = "v0.1.0"
			makeRelease(t, dir, previous)
		}
		var major, minor, patch int
		if _, err := fmt.Sscanf(previous, "v%d.%d.%d", &major, &minor, &patch); err != nil {
			t.Fatal(err)
		}
		version = fmt.Sprintf("v%d.%d.%d", major, minor, patch+1)
	}
	tags := makeRelease(t, dir, version)
	for _, tag := range tags {
		folder := path.Dir(tag)
		name := strings.ReplaceAll(strings.Replace(folder, ".", "root", 1), "/", "_")
		if _, err := os.Stat(filepath.Join("testdata", name+".txtar")); err != nil {
			t.Errorf("nothing uses the module in %s: %v", folder, err)
		}
	}
	temporary := t.TempDir()
	env := append(goEnv(t, dir, filepath.Join(temporary, "mod")),
		"ROOT="+root, "VERSION="+version, "PREVIOUS="+previous, "CHECKOUT="+dir,
		"HOME="+temporary, "GOPATH="+filepath.Join(temporary, "path"), "GOCACHE="+output(t, "go", "env", "GOCACHE"),
		// With these, what .ci/run has compiled of others is found in the build cache.
		"GOFLAGS=-trimpath -modcacherw -gcflags=all=-dwarf=false",
	)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Vars = append(append(e.Vars, env...), "GOBIN="+filepath.Join(e.WorkDir, "bin"))
			return nil
		},
		Condition: func(string) (bool, error) { // corrections is the only one
			return previous != "." && semver.MajorMinor(previous) == semver.MajorMinor(version), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"use": use},
	})
}

// use FOLDER gets the library of a folder in an empty module, and vets and runs the
// program of the script.
func use(ts *testscript.TestScript, _ bool, args []string) {
	library := path.Join(root, args[0]) + "@" + ts.Getenv("VERSION")
	for _, command := range []string{"mod init example.com/newcomer", "get " + library, "mod tidy", "vet ./...", "run ."} {
		ts.Check(ts.Exec("go", strings.Fields(command)...))
	}
}

// goEnv returns the environment of a go command that fetches the modules from a clone, and
// those of others from the module cache of this machine as far as they are there.
func goEnv(t *testing.T, dir, cache string) []string {
	t.Helper()
	others := filepath.Join(output(t, "go", "env", "GOMODCACHE"), "cache", "download")
	return []string{
		"GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOMODCACHE=" + cache,
		"GOPROXY=file://" + filepath.ToSlash(others) + "," + output(t, "go", "env", "GOPROXY"), "GONOPROXY=" + root, "GOSUMDB=off",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + filepath.ToSlash(dir) + ".insteadOf", "GIT_CONFIG_VALUE_0=https://" + root,
	}
}
