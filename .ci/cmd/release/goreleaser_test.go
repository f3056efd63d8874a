package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var withGoReleaser = flag.Bool("goreleaser", false, "let GoReleaser build a release, twice, which takes long")

// TestGoReleaser: what GoReleaser makes of a release does not depend on where and when.
// The image goes to a registry of the test.
func TestGoReleaser(t *testing.T) {
	if !*withGoReleaser {
		t.Skip("it takes long")
	}
	const version = "v1.999.0"
	first := clone(t)
	makeRelease(t, first, version)
	second := filepath.Join(t.TempDir(), "another-folder", "clone")
	output(t, "git", "clone", "--quiet", first, second)
	var made []map[string]string
	for _, dir := range []string{first, second} {
		args := append([]string{"env", "GOFLAGS=-modcacherw", "GORELEASER_CURRENT_TAG=" + version, "KO_DOCKER_REPO=127.0.0.1:5099/flagstaff"},
			goEnv(t, dir, filepath.Join(t.TempDir(), "mod"))...)
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, ".ci", "goreleaser", "run"), append(args, "goreleaser", "release", "--clean")...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		made = append(made, artifacts(t, filepath.Join(dir, "dist")))
	}
	if diff := cmp.Diff(made[0], made[1]); diff != "" {
		t.Errorf("two releases of one commit differ:\n%s", diff)
	}
	var want []string
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64", "windows_arm64"} {
		archive := ".tar.gz"
		if strings.HasPrefix(platform, "windows") {
			archive = ".zip"
		}
		want = append(want, "flagstaff_"+version+"_"+platform+archive, "flagstaff_"+version+"_"+platform+".cdx.json")
	}
	want = append(want, "SHA256SUMS", "image")
	slices.Sort(want)
	var got []string
	for name := range made[0] {
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files: -want +got\n%s", diff)
	}
	t.Logf("%s\nimage %s", made[0]["SHA256SUMS"], made[0]["image"])
}

// artifacts returns the files of a release by name, and the digest of its image.
func artifacts(t *testing.T, dist string) map[string]string {
	t.Helper()
	made := make(map[string]string)
	entries, err := os.ReadDir(dist)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, "flagstaff_v") && !e.IsDir() || name == "SHA256SUMS" {
			made[name] = read(t, dist, name)
		}
	}
	if m := regexp.MustCompile(`"Digest":"(sha256:[0-9a-f]{64})"`).FindStringSubmatch(read(t, dist, "artifacts.json")); m != nil {
		made["image"] = m[1]
	}
	return made
}
