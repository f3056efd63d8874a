package serve

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
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

// TestImportPages: a list that goes on elsewhere is fetched with -import-key, which goes
// to one server only.
func TestImportPages(t *testing.T) {
	const key = "phx_import"
	var asked []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"count":3,"next":"https://elsewhere.example/","results":[]}`)
	}))
	defer other.Close()
	var last string
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization"))
		fmt.Fprintf(w, `{"count":2,"next":%s,"results":[{"id":2,"key":"second","active":true,"filters":{"groups":[{}]}}]}`, last)
	}))
	defer there.Close()
	file := filepath.Join(t.TempDir(), "flags.json")
	page := `{"count":2,"next":"` + there.URL + `/page2","results":[{"id":1,"key":"first","active":true,"filters":{"groups":[{}]}}]}`
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	store := emptyStores["SQLite"](t)
	emptyStore(t, store).run(t, "-project-key", "phc_new")
	for _, tt := range []struct {
		name, last string
		args       []string
		code       int
		want       string
		asked      []string
	}{
		{"without a key", `null`, nil, 1, "goes on at " + there.URL + "/page2", nil},
		{"another server", `"` + other.URL + `/x"`, []string{"-import-key", key}, 1, "it is on another server than the page before", []string{"/page2 Bearer " + key}},
		{"in the clear", `"http://elsewhere.example/x"`, []string{"-import-key", key}, 1, "is not sent in the clear", []string{"/page2 Bearer " + key}},
		{"all pages", `null`, []string{"-import-key", key}, 0, "imported 2 flags", []string{"/page2 Bearer " + key}},
	} {
		asked, last = nil, tt.last
		code, stdout, stderr := command(t, append([]string{"-store", store, "-import", file}, tt.args...)...)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.want) || strings.Contains(stdout+stderr, key) {
			t.Errorf("%s: exit code %d, %q, %q; want %d and %q", tt.name, code, stdout, stderr, tt.code, tt.want)
		}
		if diff := gocmp.Diff(tt.asked, asked); diff != "" {
			t.Errorf("%s: requests (-want +got)\n%s", tt.name, diff)
		}
	}
}
