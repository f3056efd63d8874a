package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportForeign exports a file and a project to another product, from where they come back as
// they were.
func TestExportForeign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	read := func(name string) string {
		b, err := os.ReadFile(path(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	file := write(t, "flags.json", onlyNew(twoFlags))
	imported := outcome{0, "wrote the flags to " + path("a.json") + "\n", ""}
	call{args: []string{"import", "-from", "launchdarkly", "-o", path("a.json"), file}}.run(t).want(t, imported)
	call{args: []string{"export", "-to", "launchdarkly", "-o", path("there.json"), path("a.json")}}.run(t).want(t, outcome{0, "wrote the flags to " + path("there.json") + "\n", ""})
	imported.Stdout = "wrote the flags to " + path("b.json") + "\n"
	call{args: []string{"import", "-from", "launchdarkly", "-o", path("b.json"), path("there.json")}}.run(t).want(t, imported)
	if a, b := read("a.json"), read("b.json"); a != b {
		t.Errorf("%s comes back as %s", a, b)
	}
	got := call{args: []string{"export", "-to", "flipt", path("a.json")}}.run(t)
	if want := "left out flag new: The flag: some get what the caller falls back on"; got.Code != 1 || !strings.HasPrefix(got.Stderr, want) || !strings.Contains(got.Stdout, `"flags": []`) {
		t.Errorf("export to another product: %+v", got)
	}

	server := serveProcess(t, "-store", path("flagstaff.db"), "-drain", "0s")
	s := server.session(t)
	call{args: []string{"import", "-from", "launchdarkly", file}, env: s.env}.run(t)
	got = call{args: []string{"export", "-to", "launchdarkly"}, env: s.env}.run(t)
	if got.Code != 0 || got.Stdout != read("there.json") {
		t.Errorf("export of the project: %+v, want %s", got, read("there.json"))
	}

	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-to", "posthog"}, "invalid value \"posthog\" for flag -to: want one of launchdarkly, "},
		{[]string{"-map", "a=b"}, "flags -bucket-version and -map are for -to PRODUCT"},
		{[]string{"-to", "flipt", "-map", "a", path("a.json")}, "map must be ATTRIBUTE=PROPERTY"},
		{[]string{"-to", "flipt", path("none.json")}, "none.json"},
		{[]string{"-to", "flipt", path("there.json")}, "These are not definitions"},
	} {
		got := call{args: append([]string{"export"}, tt.args...)}.run(t)
		if got.Code == 0 || !strings.Contains(got.Stderr, tt.want) {
			t.Errorf("%q: %+v, want %q", tt.args, got, tt.want)
		}
	}
}
