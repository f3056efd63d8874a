package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestImport brings the flags of another server along, while this one runs.
func TestImport(t *testing.T) {
	demo := emptyStore(t, ":memory:").run(t, "-demo")
	exported, err := demo.with(demoSecret).send(t.Context(), "GET /flags/definitions?token="+demoKey+"&send_cohorts", "")
	if err != nil || exported.status != 200 {
		t.Fatal(err, exported)
	}
	file := filepath.Join(t.TempDir(), "definitions.json")
	write := func(document string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(exported.body)
	ask := func(s *site, key, distinctID string) map[string]any {
		t.Helper()
		r, err := s.stranger().send(t.Context(), "POST /flags?v=2", members("api_key", key, "distinct_id", distinctID,
			"person_properties", map[string]any{"email": distinctID + "@example.com", "plan": "pro"}))
		if err != nil {
			t.Fatal(err)
		}
		return values(r.ok(t))
	}

	for name, open := range emptyStores {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			s := emptyStore(t, store).run(t, "-project-key", "phc_new")
			run := func(args ...string) (int, string, string) {
				t.Helper()
				return command(t, append([]string{"-store", store, "-import"}, args...)...)
			}
			for _, tt := range []struct {
				name, document string
				args           []string
				want           string
			}{
				{"no definitions", `[1,2`, []string{file}, "import " + file + ` into project "Default project"`},
				{"no file", "", []string{filepath.Join(t.TempDir(), "none.json")}, "none.json"},
				{"another project", exported.body, []string{file, "-project-key", "phc_nobody"}, "has no project with the key of -project-key"},
			} {
				write(tt.document)
				if code, stdout, stderr := run(tt.args...); code != 1 || stdout != "" || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
					t.Errorf("%s: exit code %d, %q, %q; want 1 and %q", tt.name, code, stdout, stderr, tt.want)
				}
			}
			write(exported.body)
			if got := ask(s, "phc_new", "user-1"); len(got) > 0 {
				t.Fatalf("flags %v before the import", got)
			}

			code, stdout, stderr := run(file, "-project-key", "phc_new")
			for _, want := range []string{"imported ", `into project "Default project"`, "the same value as in the file for 1000 random subjects\n"} {
				if code != 0 || !strings.Contains(stdout, want) || stderr != "" {
					t.Fatalf("exit code %d, %q, %q; want 0 and %q", code, stdout, stderr, want)
				}
			}
			for start := time.Now(); len(ask(s, "phc_new", "user-1")) == 0; {
				if time.Since(start) > patience {
					t.Fatal("the server does not follow")
				}
			}
			for i := range 50 {
				id := fmt.Sprint("user-", i)
				want := ask(demo, demoKey, id)
				maps.DeleteFunc(want, func(key string, _ any) bool { return strings.HasPrefix(key, "survey-targeting-") }) // of the demo's survey
				got := ask(s, "phc_new", id)
				maps.DeleteFunc(got, func(key string, _ any) bool { return strings.HasPrefix(key, "survey-targeting-") })
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("flags of %s (-there +here):\n%s", id, diff)
				}
			}

			// Nothing is created twice.
			code, stdout, stderr = run(file)
			if code != 0 || !strings.Contains(stdout, "imported 0 flags and 0 cohorts") || !strings.Contains(stdout, "14 flags and cohorts were there already, and are the same\n") || stderr != "" {
				t.Errorf("again: exit code %d, %q, %q", code, stdout, stderr)
			}
		})
	}
}
