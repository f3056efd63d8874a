package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// The changelog has a section for each version, and one for what is not released.
const (
	changelogFile = "CHANGELOG.md"
	unreleased    = "## Unreleased\n"
	nothingNew    = "Nothing yet."
	nothingYet    = "Nothing is released yet. The first release has:"
)

// A release is what turns a checkout into the release of a version.
type release struct {
	dir     string
	branch  string
	message string            // of the commit and the tags
	notes   string            // what is new, in the tag of the root module
	files   map[string][]byte // the go.mod files and the changelog, as they become
	tags    []string          // one for each module that programs can require
}

// plan checks that the checkout in a folder can be released at a version, and returns
// what has to be done. It changes nothing.
func plan(dir, version string, date time.Time) (*release, error) {
	switch major := semver.Major(version); {
	case version == "" || semver.Canonical(version) != version:
		return nil, fmt.Errorf("invalid version %q: want such as v0.1.0 or v0.2.0-rc.1, without build metadata", version)
	case major != "v0" && major != "v1":
		return nil, fmt.Errorf("invalid version %q: from v2 on, the paths of the modules must end with the major version, and they do not", version)
	}
	r := &release{dir: dir, message: "Release " + version, files: make(map[string][]byte)}
	changes, err1 := r.git("status", "--porcelain")
	branch, err2 := r.git("branch", "--show-current")
	newest, err3 := newestTag(dir)
	mods, err4 := r.git("ls-files", "--", "go.mod", "*/go.mod")
	changelog, err5 := os.ReadFile(filepath.Join(dir, changelogFile))
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	switch r.branch = strings.TrimSpace(branch); {
	case changes != "":
		return nil, fmt.Errorf("the checkout has changes that are not committed:\n%s", strings.TrimRight(changes, "\n"))
	case r.branch == "":
		return nil, errors.New("no branch is checked out: the release needs one for its commit")
	case newest != "" && semver.Compare(path.Base(newest), version) >= 0:
		return nil, fmt.Errorf("%s is not a new version: there is a tag %s", version, newest)
	}
	text, notes, err := released(string(changelog), version, date)
	if err != nil {
		return nil, err
	}
	r.files[changelogFile], r.notes = []byte(text), notes
	return r, r.setVersion(strings.Fields(mods), version)
}

// released returns the changelog with what was unreleased as the section of a version,
// and the text of that section.
func released(changelog, version string, date time.Time) (after, notes string, err error) {
	before, text, ok := strings.Cut(changelog, unreleased)
	if !ok {
		return "", "", fmt.Errorf("%s has no section %q", changelogFile, strings.TrimSpace(unreleased))
	}
	text, older, ok := strings.Cut(text, "\n## ")
	if ok {
		older = "\n## " + older
	}
	if text = strings.TrimSpace(strings.Replace(text, nothingYet, "", 1)); text == "" || text == nothingNew {
		return "", "", fmt.Errorf("%s says nothing below %q: users must know what is new", changelogFile, strings.TrimSpace(unreleased))
	}
	heading := "## " + version + " (" + date.Format(time.DateOnly) + ")\n\n"
	return before + unreleased + "\n" + nothingNew + "\n\n" + heading + text + "\n" + older, text + "\n", nil
}

// newestTag returns the tag with the newest version, of any module, or "".
func newestTag(dir string) (string, error) {
	list, err := (&release{dir: dir}).git("tag", "--list")
	tags := slices.DeleteFunc(strings.Fields(list), func(tag string) bool { return !semver.IsValid(path.Base(tag)) })
	if err != nil || len(tags) == 0 {
		return "", err
	}
	return slices.MaxFunc(tags, func(a, b string) int { return semver.Compare(path.Base(a), path.Base(b)) }), nil
}

// setVersion makes the modules with these go.mod files require each other at a version.
func (r *release) setVersion(names []string, version string) error {
	mods := make(map[string]*modfile.File)
	ours := make(map[string]bool)
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			return err
		}
		if mods[name], err = modfile.Parse(name, b, nil); err != nil {
			return err
		}
		ours[mods[name].Module.Mod.Path] = true
	}
	for name, file := range mods {
		before := modfile.Format(file.Syntax)
		for _, require := range file.Require {
			if ours[require.Mod.Path] {
				if err := file.AddRequire(require.Mod.Path, version); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
		if after := modfile.Format(file.Syntax); !bytes.Equal(before, after) {
			r.files[name] = after
		}
		// Modules of examples and of tools are for checkouts only.
		if folder := path.Dir(name); folder == "." || !strings.HasPrefix(folder, ".") && !strings.HasPrefix(folder+"/", "examples/") {
			r.tags = append(r.tags, path.Join(folder, version))
		}
	}
	slices.SortFunc(r.tags, func(a, b string) int { return cmp.Compare(path.Dir(a), path.Dir(b)) })
	return nil
}

// names returns the names of the files that change.
func (r *release) names() []string { return slices.Sorted(maps.Keys(r.files)) }

// make writes and commits the files, and tags the commit.
func (r *release) make() error {
	for name, b := range r.files {
		if err := os.WriteFile(filepath.Join(r.dir, name), b, 0o644); err != nil {
			return err
		}
	}
	if _, err := r.git(append([]string{"commit", "--quiet", "-m", r.message, "--"}, r.names()...)...); err != nil {
		return fmt.Errorf("git restore . takes the changes back: %w", err)
	}
	for _, tag := range r.tags {
		text := r.message
		if path.Dir(tag) == "." {
			text += "\n\n" + r.notes
		}
		// Headings begin with what Git takes for comments unless it is told otherwise.
		if _, err := r.git("tag", "-a", "--cleanup=whitespace", "-m", text, tag); err != nil {
			return fmt.Errorf("git reset --hard HEAD~1; git tag -d %s takes the release back: %w", strings.Join(r.tags, " "), err)
		}
	}
	return nil
}

// git runs Git in the checkout and returns its output. The error has what it wrote on
// standard error.
func (r *release) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.dir, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}
