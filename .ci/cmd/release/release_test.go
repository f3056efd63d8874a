package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var date = time.Date(2026, 12, 1, 15, 30, 0, 0, time.UTC)

// news is a changelog with something to release.
const news = "# Changelog\n\n## Unreleased\n\n### Library\n\n- Something new.\n\n## v0.0.9 (2026-11-01)\n\n- Something old.\n"

// clone returns a clone of the checkout that this test is part of, with a branch and
// something to release.
func clone(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	output(t, "git", "clone", "--quiet", "../../..", dir)
	for _, setting := range []string{"user.name=Test", "user.email=test@localhost", "commit.gpgSign=false", "tag.gpgSign=false"} {
		name, value, _ := strings.Cut(setting, "=")
		git(t, dir, "config", name, value)
	}
	git(t, dir, "switch", "--quiet", "--force-create", "release")
	return dir
}

// makeRelease releases a checkout and returns the tags.
func makeRelease(t *testing.T, dir, version string) []string {
	t.Helper()
	text := read(t, dir, changelogFile)
	if _, ok := strings.CutPrefix(text, "# Changelog\n\n"+unreleased+"\n"+nothingNew); ok { // as after each release
		write(t, dir, changelogFile, strings.Replace(text, nothingNew, "- Something new.", 1))
		git(t, dir, "commit", "--quiet", "--all", "--message", "Something new")
	}
	r, err := plan(dir, version, date)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.make(); err != nil {
		t.Fatal(err)
	}
	return r.tags
}

// cloneWith returns a clone of the checkout with a changelog.
func cloneWith(t *testing.T, changelog string) string {
	t.Helper()
	dir := clone(t)
	for tag := range strings.FieldsSeq(git(t, dir, "tag")) {
		git(t, dir, "tag", "-d", tag)
	}
	write(t, dir, changelogFile, changelog)
	git(t, dir, "commit", "--quiet", "--all", "--message", "Something new")
	return dir
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return output(t, "git", append([]string{"-C", dir}, args...)...)
}

// output runs a program and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A release is one commit with the version in all go.mod files and in the changelog, and
// a tag for each module.
func TestRelease(t *testing.T) {
	const version = "v1.999.0-rc.1"
	dir := cloneWith(t, news)
	before := git(t, dir, "rev-parse", "HEAD")
	makeRelease(t, dir, version)
	if parent := git(t, dir, "rev-parse", "HEAD~1"); parent != before {
		t.Errorf("the release is not one commit on %s", before)
	}
	if changes := git(t, dir, "status", "--porcelain"); changes != "" {
		t.Errorf("changes that are not committed:\n%s", changes)
	}
	tags := strings.Fields(git(t, dir, "tag", "--points-at", "HEAD"))
	want := []string{
		"capture/jetstream/" + version, "cmd/flagstaff/" + version, "cmd/" + version, "flags/openfeature/" + version, "flags/otel/" + version, "management/" + version, "server/otel/" + version, "server/" + version, "surveys/" + version, version, "vet/" + version,
	}
	if diff := cmp.Diff(want, tags); diff != "" {
		t.Errorf("tags: -want +got\n%s", diff)
	}
	const changelog = "# Changelog\n\n## Unreleased\n\nNothing yet.\n\n## v1.999.0-rc.1 (2026-12-01)\n\n### Library\n\n- Something new.\n\n## v0.0.9 (2026-11-01)\n\n- Something old.\n"
	if diff := cmp.Diff(changelog, read(t, dir, changelogFile)); diff != "" {
		t.Errorf("changelog: -want +got\n%s", diff)
	}
	if notes := git(t, dir, "tag", "--list", "--format=%(contents)", version); notes != "Release v1.999.0-rc.1\n\n### Library\n\n- Something new." {
		t.Errorf("the tag of the root module says %q", notes)
	}
	required := 0
	for name := range strings.FieldsSeq(git(t, dir, "ls-files", "go.mod", "*/go.mod")) {
		for line := range strings.Lines(read(t, dir, name)) {
			fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
			if len(fields) >= 2 && strings.HasPrefix(fields[0], root) && strings.HasPrefix(fields[1], "v") {
				required++
				if fields[1] != version {
					t.Errorf("%s requires %s at %s, want %s", name, fields[0], fields[1], version)
				}
			}
		}
	}
	if required < 30 {
		t.Errorf("%d requirements between modules, want more", required)
	}
	if _, err := plan(dir, version, date); err == nil || !strings.Contains(err.Error(), "is not a new version: there is a tag") {
		t.Errorf("the same release once more: error %v", err)
	}
}

// A release that cannot be made, or is only planned, changes nothing.
func TestPlan(t *testing.T) {
	dir := cloneWith(t, news)
	before := git(t, dir, "rev-parse", "HEAD")
	for _, tt := range []struct {
		name, version string
		prepare       func(t *testing.T)
		want          string // in the error; "" if there is none
	}{
		{name: "it can be made", version: "v0.1.0"},
		{name: "not a version", version: "0.1.0", want: `invalid version "0.1.0": want such as v0.1.0`},
		{name: "no version", version: "", want: `invalid version ""`},
		{name: "a short version", version: "v1", want: `invalid version "v1"`},
		{name: "build metadata", version: "v0.1.0+1", want: `invalid version "v0.1.0+1"`},
		{name: "a major version of which the paths know nothing", version: "v2.0.0", want: "the paths of the modules must end with the major version"},
		{
			name: "a file that is not committed", version: "v0.1.0", want: "not committed:\n?? new.go",
			prepare: func(t *testing.T) { write(t, dir, "new.go", "package flagstaff\n") },
		},
		{
			name: "an older version", version: "v0.1.0", want: "v0.1.0 is not a new version: there is a tag server/v0.2.0",
			prepare: func(t *testing.T) { git(t, dir, "tag", "server/v0.2.0") },
		},
		{
			name: "no branch", version: "v0.1.0", want: "no branch is checked out",
			prepare: func(t *testing.T) { git(t, dir, "switch", "--quiet", "--detach") },
		},
		{
			name: "nothing new", version: "v0.1.0", want: `CHANGELOG.md says nothing below "## Unreleased"`,
			prepare: func(t *testing.T) {
				write(t, dir, changelogFile, "# Changelog\n\n## Unreleased\n\nNothing yet.\n")
				git(t, dir, "commit", "--quiet", "--all", "--message", "Nothing new")
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.prepare != nil {
				tt.prepare(t)
			}
			state := func() string {
				return git(t, dir, "rev-parse", "HEAD") + git(t, dir, "status", "--porcelain") + git(t, dir, "tag")
			}
			was := state()
			_, err := plan(dir, tt.version, date)
			if tt.want == "" && err != nil {
				t.Error(err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if diff := cmp.Diff(was, state()); diff != "" {
				t.Errorf("the checkout changed:\n%s", diff)
			}
			git(t, dir, "switch", "--quiet", "release")
			git(t, dir, "reset", "--quiet", "--hard", before)
			git(t, dir, "clean", "-fdxq")
			for tag := range strings.FieldsSeq(git(t, dir, "tag")) {
				git(t, dir, "tag", "-d", tag)
			}
		})
	}
}

func TestReleased(t *testing.T) {
	for _, tt := range []struct{ name, changelog, want, err string }{
		{
			name: "the first release", changelog: "# Changelog\n\n## Unreleased\n\nNothing is released yet. The first release has:\n\n### Library\n\n- A.\n",
			want: "# Changelog\n\n## Unreleased\n\nNothing yet.\n\n## v0.1.0 (2026-12-01)\n\n### Library\n\n- A.\n",
		},
		{
			name: "a later release", changelog: "## Unreleased\n\n- B.\n\n## v0.0.1 (2026-01-01)\n\n- A.\n",
			want: "## Unreleased\n\nNothing yet.\n\n## v0.1.0 (2026-12-01)\n\n- B.\n\n## v0.0.1 (2026-01-01)\n\n- A.\n",
		},
		{name: "nothing new", changelog: "## Unreleased\n\nNothing yet.\n", err: `CHANGELOG.md says nothing below "## Unreleased": users must know what is new`},
		{name: "no such section", changelog: "# Changelog\n", err: `CHANGELOG.md has no section "## Unreleased"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, notes, err := released(tt.changelog, "v0.1.0", date)
			if err == nil && !strings.Contains(got, ")\n\n"+notes) {
				t.Errorf("the notes %q are not what the section has", notes)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if tt.err != "" && (err == nil || err.Error() != tt.err) || tt.err == "" && err != nil {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}
