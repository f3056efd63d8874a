package publish

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var date = time.Date(2026, 12, 1, 15, 30, 0, 0, time.UTC)

// A clone is a clone of the checkout whose changelog has something to release.
func clone(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	gitIn(t, ".", "clone", "--quiet", "--no-tags", checkout(t).dir, dir)
	gitIn(t, dir, "switch", "--quiet", "--force-create", "release")
	for key, value := range map[string]string{"user.name": "Test", "user.email": "test@localhost", "commit.gpgSign": "false", "tag.gpgSign": "false"} {
		gitIn(t, dir, "config", key, value)
	}
	write(t, dir, changelogFile, "# Changelog\n\n## Unreleased\n\n### Library\n\n- Something new.\n\n## v0.0.9 (2026-11-01)\n\n- Something old.\n")
	gitIn(t, dir, "commit", "--quiet", "--all", "--message", "Something new")
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// prepare prepares a release of a clone, without binaries and without proof.
func prepare(t *testing.T, dir, version string, dry bool) (said string, err error) {
	t.Helper()
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	l := Release{Repo: r, Version: version, Date: date, Out: filepath.Join(dir, "dist", version), Progress: &out, unproved: true}
	err = l.Prepare(t.Context(), dry)
	if want := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC); !l.Date.Equal(want) {
		t.Errorf("the date in archives is %v, want %v, which Build knows", l.Date, want)
	}
	return out.String(), err
}

// A release is one commit with the version in all go.mod files and in the changelog,
// and a tag for each module, which the go command fetches with the checksums that the
// program's go.sum has.
func TestPrepare(t *testing.T) {
	const version = "v1.999.0-rc.1"
	dir := clone(t)
	before := gitIn(t, dir, "rev-parse", "HEAD")
	said, err := prepare(t, dir, version, false)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said, "nothing was pushed; to publish: git push --atomic origin release ") {
		t.Errorf("it says:\n%s", said)
	}
	if parent := gitIn(t, dir, "rev-parse", "HEAD~1"); parent != before {
		t.Errorf("the release is not one commit on %s", before)
	}
	if changes := gitIn(t, dir, "status", "--porcelain"); changes != "" {
		t.Errorf("changes that are not committed:\n%s", changes)
	}
	tags := strings.Fields(gitIn(t, dir, "tag", "--points-at", "HEAD"))
	want := []string{
		"capture/jetstream/" + version, "cmd/flagstaff/" + version, "cmd/" + version, "flags/openfeature/" + version, "flags/otel/" + version, "management/" + version, "server/otel/" + version, "server/" + version, "surveys/" + version, version, "vet/" + version,
	}
	if diff := cmp.Diff(want, tags); diff != "" {
		t.Errorf("tags: -want +got\n%s", diff)
	}
	const changelog = "# Changelog\n\n## Unreleased\n\nNothing yet.\n\n## v1.999.0-rc.1 (2026-12-01)\n\n### Library\n\n- Something new.\n\n## v0.0.9 (2026-11-01)\n\n- Something old.\n"
	if diff := cmp.Diff(changelog, readFile(t, dir, changelogFile)); diff != "" {
		t.Errorf("changelog: -want +got\n%s", diff)
	}
	if notes := gitIn(t, dir, "tag", "--list", "--format=%(contents)", version); notes != "Release v1.999.0-rc.1\n\n### Library\n\n- Something new.\n\n" {
		t.Errorf("the tag of the root module says %q", notes)
	}
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Version(); got != version || err != nil {
		t.Errorf("the modules require each other at %s (error %v), want %s", got, err, version)
	}
	sum := readFile(t, dir, "cmd/flagstaff/go.sum")
	if diff := cmp.Diff(r.othersLines([]byte(gitIn(t, dir, "show", "HEAD~1:cmd/flagstaff/go.sum"))), r.othersLines([]byte(sum))); diff != "" {
		t.Errorf("checksums of others: -before +after\n%s", diff)
	}
	required := make(map[string]bool) // by the program
	for _, m := range r.Published() {
		if !m.isProgram() {
			continue
		}
		for _, require := range m.File.Require {
			required[require.Mod.Path] = true
		}
	}
	for _, m := range r.Published() {
		if !required[m.Path] {
			continue
		}
		got := download(t, dir, m, version)
		for _, line := range []string{m.Path + " " + version + " " + got.Sum + "\n", m.Path + " " + version + "/go.mod " + got.GoModSum + "\n"} {
			if !strings.Contains(sum, line) {
				t.Errorf("the program's go.sum has no line %s", line)
			}
		}
	}

	l := Release{Repo: r, Version: version, Out: filepath.Join(dir, "dist", version), Progress: io.Discard}
	if err := l.Build(t.Context()); err != nil {
		t.Errorf("building what is tagged: %v", err)
	}
	if want := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC); !l.Date.Equal(want) {
		t.Errorf("its date is %v, want %v", l.Date, want)
	}
	if _, err := prepare(t, dir, version, false); err == nil || !strings.Contains(err.Error(), "is not a new version: there is a tag") {
		t.Errorf("the same release once more: error %v", err)
	}
}

// download lets the go command fetch a module from a repository by its tag, as from
// where it is published.
func download(t *testing.T, dir string, m *Module, version string) (d struct{ Sum, GoModSum string }) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", m.version(version).String())
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(),
		"GOENV=off", "GOWORK=off", "GOFLAGS=-modcacherw", "GOPROXY=direct", "GOSUMDB=off", "GOMODCACHE="+filepath.Join(cmd.Dir, "mod"),
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+fileURL(dir)+".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/flagstaff-go/flagstaff",
	)
	out, err := output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// A release that cannot be made, or is only tried, changes nothing.
func TestPrepareChangesNothing(t *testing.T) {
	dir := clone(t)
	before := gitIn(t, dir, "rev-parse", "HEAD")
	for _, tt := range []struct {
		name, version string
		dry           bool
		prepare       func(t *testing.T)
		want          string // in the error; "" if there is none
	}{
		{name: "dry", version: "v0.1.0", dry: true},
		{name: "not a version", version: "0.1.0", want: `invalid version "0.1.0": want such as v0.1.0`},
		{name: "a short version", version: "v1", want: `invalid version "v1"`},
		{name: "build metadata", version: "v0.1.0+1", want: `invalid version "v0.1.0+1"`},
		{name: "a major version of which the paths know nothing", version: "v2.0.0", want: "the paths of the modules must end with the major version"},
		{
			name: "a file that is not committed", version: "v0.1.0", want: "not committed:\n?? new.go",
			prepare: func(t *testing.T) { write(t, dir, "new.go", "package flagstaff\n") },
		},
		{
			name: "an older version", version: "v0.1.0", want: "v0.1.0 is not a new version: there is a tag server/v0.2.0",
			prepare: func(t *testing.T) { gitIn(t, dir, "tag", "server/v0.2.0") },
		},
		{
			name: "no branch", version: "v0.1.0", want: "no branch is checked out",
			prepare: func(t *testing.T) { gitIn(t, dir, "switch", "--quiet", "--detach") },
		},
		{
			name: "nothing new", version: "v0.1.0", want: `CHANGELOG.md says nothing below "## Unreleased"`,
			prepare: func(t *testing.T) {
				write(t, dir, changelogFile, "# Changelog\n\n## Unreleased\n\nNothing yet.\n")
				gitIn(t, dir, "commit", "--quiet", "--all", "--message", "Nothing new")
			},
		},
		{
			name: "a folder in its way", version: "v0.1.0", want: "exists: move it away",
			prepare: func(t *testing.T) {
				if err := os.MkdirAll(filepath.Join(dir, "dist", "v0.1.0"), 0o755); err != nil {
					t.Fatal(err)
				}
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.prepare != nil {
				tt.prepare(t)
			}
			t.Cleanup(func() {
				gitIn(t, dir, "switch", "--quiet", "release")
				gitIn(t, dir, "reset", "--quiet", "--hard", strings.TrimSpace(before))
				gitIn(t, dir, "clean", "-fdxq")
				for tag := range strings.FieldsSeq(gitIn(t, dir, "tag")) {
					gitIn(t, dir, "tag", "-d", tag)
				}
			})
			state := func() string {
				return gitIn(t, dir, "rev-parse", "HEAD") + gitIn(t, dir, "status", "--porcelain") + gitIn(t, dir, "tag")
			}
			was := state()
			said, err := prepare(t, dir, tt.version, tt.dry)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want == "" && !strings.HasSuffix(said, "nothing was changed\n"):
				t.Errorf("it says:\n%s", said)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if diff := cmp.Diff(was, state()); diff != "" {
				t.Errorf("the checkout changed:\n%s", diff)
			}
		})
	}
}

// Build refuses what is not the release.
func TestBuildRefuses(t *testing.T) {
	dir := clone(t)
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	l := Release{Repo: r, Version: "v0.1.0", Out: filepath.Join(dir, "dist"), Progress: io.Discard}
	if err := l.Build(t.Context()); err == nil || !strings.Contains(err.Error(), "has no tag") {
		t.Errorf("without tags: error %v", err)
	}
	for _, m := range r.Published() {
		gitIn(t, dir, "tag", m.Tag("v0.1.0"))
	}
	if err := l.Build(t.Context()); err == nil || !strings.Contains(err.Error(), "CHANGELOG.md has no section for v0.1.0") {
		t.Errorf("without a section of the changelog: error %v", err)
	}
	write(t, dir, changelogFile, "## v0.1.0 (2026-12-01)\n")
	gitIn(t, dir, "commit", "--quiet", "--all", "--message", "Changelog")
	for _, m := range r.Published() {
		gitIn(t, dir, "tag", "--force", m.Tag("v0.1.0"))
	}
	if err := l.Build(t.Context()); err == nil || !strings.Contains(err.Error(), "checksums") {
		t.Errorf("without checksums: error %v", err)
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
		{name: "released before", changelog: "## Unreleased\n\n- B.\n\n## v0.1.0 (2026-01-01)\n", err: "CHANGELOG.md already has a section for v0.1.0"},
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

// Equal files make equal archives, with modes and dates that do not depend on when and
// where they were made.
func TestPack(t *testing.T) {
	entries := []entry{{"flagstaff", []byte("program"), 0o755}, {"LICENSE", []byte("licence"), 0o644}}
	for _, p := range []Platform{{"linux", "amd64"}, {"windows", "arm64"}} {
		t.Run(p.String(), func(t *testing.T) {
			first, err := pack(p, date, entries)
			if err != nil {
				t.Fatal(err)
			}
			second, err := pack(p, date.In(time.FixedZone("", 3600)), entries)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(first, second) {
				t.Error("two archives differ")
			}
			if diff := cmp.Diff(entries, unpack(t, p, first), cmp.AllowUnexported(entry{})); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func unpack(t *testing.T, p Platform, archive []byte) (list []entry) {
	t.Helper()
	if p.os == "windows" {
		r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range r.File {
			f, err := file.Open()
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(f)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, entry{file.Name, content, file.Mode()})
		}
		return list
	}
	compressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(compressed)
	for {
		header, err := r.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, entry{header.Name, content, header.FileInfo().Mode()})
	}
}

func TestChecksums(t *testing.T) {
	got := string(checksums(map[string][]byte{"b": []byte("2"), "a": []byte("1")}))
	const want = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b  a\n" +
		"d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35  b\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestComponents(t *testing.T) {
	info := &buildinfo.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.com/program", Version: "v0.1.0"},
		Deps:      []*debug.Module{{Path: "example.com/Library", Version: "v1.2.3+incompatible", Sum: "h1:a="}},
		Settings:  []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-ldflags", Value: "-s"}},
	}
	got, err := components(info, []byte("binary"), date)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
  "bomFormat": "CycloneDX",
  "specVersion": "1.6",
  "serialNumber": "urn:uuid:9a3a45d0-1531-820e-89ac-6ae10b0b0beb",
  "version": 1,
  "metadata": {
    "timestamp": "2026-12-01T15:30:00Z",
    "component": {
      "type": "application",
      "bom-ref": "pkg:golang/example.com/program@v0.1.0",
      "name": "example.com/program",
      "version": "v0.1.0",
      "purl": "pkg:golang/example.com/program@v0.1.0",
      "hashes": [
        {
          "alg": "SHA-256",
          "content": "9a3a45d01531a20e89ac6ae10b0b0beb0492acd7216a368aa062d1a5fecaf9cd"
        }
      ],
      "properties": [
        {
          "name": "go:GOOS",
          "value": "linux"
        }
      ]
    }
  },
  "components": [
    {
      "type": "library",
      "bom-ref": "pkg:golang/std@1.26.8",
      "name": "std",
      "version": "1.26.8",
      "purl": "pkg:golang/std@1.26.8"
    },
    {
      "type": "library",
      "bom-ref": "pkg:golang/example.com/library@v1.2.3%2Bincompatible",
      "name": "example.com/Library",
      "version": "v1.2.3+incompatible",
      "purl": "pkg:golang/example.com/library@v1.2.3%2Bincompatible",
      "properties": [
        {
          "name": "go:sum",
          "value": "h1:a="
        }
      ]
    }
  ],
  "dependencies": [
    {
      "ref": "pkg:golang/example.com/program@v0.1.0",
      "dependsOn": [
        "pkg:golang/std@1.26.8",
        "pkg:golang/example.com/library@v1.2.3%2Bincompatible"
      ]
    }
  ]
}
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
