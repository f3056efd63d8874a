package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestVersionFollowsFiles has another version for another configuration or other
// definitions, so that go vet forgets what was found with the ones before.
func TestVersionFollowsFiles(t *testing.T) {
	folder := t.TempDir()
	below := filepath.Join(folder, "below")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	form := regexp.MustCompile(`^\S+ version devel buildID=[0-9a-f]{64}\n$`) // as the go command reads it
	known := make(map[string]string)
	for _, step := range []struct{ what, name, text string }{
		{"nothing", "other", ""},
		{"definitions", "flags.json", `{"flags":[]}`}, // nothing names them yet
		{"a configuration", ".flagstaff-vet.yaml", "flags: flags.json\n"},
		{"another configuration", ".flagstaff-vet.yaml", "flags: flags.json\ntests: true\n"},
		{"other definitions", "flags.json", `{"flags":[ ]}`},
	} {
		put(step.name, step.text)
		var out bytes.Buffer
		if err := printVersion(&out, below); err != nil {
			t.Fatal(err)
		}
		if !form.Match(out.Bytes()) {
			t.Errorf("%s: version %q", step.what, out.String())
		}
		if before, ok := known[out.String()]; ok != (step.what == "definitions") {
			t.Errorf("%s: the version is the one of %q", step.what, before)
		}
		known[out.String()] = step.what
	}
	put(".flagstaff-vet.yaml", "flag: a\n")
	if err := printVersion(new(bytes.Buffer), below); err == nil {
		t.Error("there is a version with a broken configuration")
	}
}
