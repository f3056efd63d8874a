package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/internal/database"
)

// aProject fills the project of a server with what an export has: cohorts, a static one
// with members, flags that refer to cohorts, flags and groups, and an archived flag.
func (r *running) aProject(t *testing.T) {
	t.Helper()
	const cohorts, flags = "/api/projects/@current/cohorts/", "/api/projects/@current/feature_flags/"
	r.ask(t, "POST", cohorts, `{"name":"Pro","filters":{"properties":{"type":"OR","values":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}}}`, nil)
	r.ask(t, "POST", cohorts, `{"name":"Testers","is_static":true}`, nil)
	r.ask(t, "POST", cohorts+"2/members/", `["ada","bob","eve"]`, nil)
	r.ask(t, "POST", "/api/projects/@current/import/", `{"flags":[
		{"id":5,"key":"seats","active":true,"filters":{"groups":[{"properties":[{"key":"seats","type":"group","group_type_index":0,"operator":"gt","value":10}],"rollout_percentage":50}],"aggregation_group_type_index":0}}],
		"group_type_mapping":{"0":"company"}}`, nil)
	for _, body := range []string{
		`{"key":"base","name":"Base <b>","tags":["web"],"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}],"rollout_percentage":100}]}}`,
		`{"key":"listed","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":2}]}]}}`,
		`{"key":"top","evaluation_runtime":"server","filters":{"groups":[{"properties":[{"key":"base","type":"flag","operator":"flag_evaluates_to","value":true}],"rollout_percentage":60}],
			"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]},"payloads":{"a":{"x":1.50}}}}`,
		`{"key":"old","active":false,"archived":true,"filters":{"groups":[{"rollout_percentage":5}]}}`,
	} {
		r.ask(t, "POST", flags, body, nil)
	}
}

// TestImportExport takes a project from one server to another, by both ways, and back.
func TestImportExport(t *testing.T) {
	t.Parallel()
	for kind, open := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := serveProcess(t, "-store", open(t), "-drain", "0s")
			server.aProject(t)
			s := server.session(t)
			file := filepath.Join(t.TempDir(), "flags.json")
			s.prints("wrote 5 flags and 2 cohorts to "+file+"\n", "export", "-o", file)
			exported, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s.prints(string(exported), "export")
			run(t, "check", "-strict", file).want(t, outcome{0, "no problems in 5 flags of 1 file\n", ""})
			s.prints("0 flags and 0 cohorts imported, 7 there already\n", "import", file)

			// Another server, which takes the file.
			store := open(t)
			other := serveProcess(t, "-store", store, "-drain", "0s")
			o := other.session(t)
			const made = `made cohort "Pro"
made cohort "Testers"
made flag base
made flag listed
made flag old
made flag seats
made flag top
`
			const proof = "; each new flag has the same value as at its origin for 1000 random persons\n"
			const empty = `note: the static cohort "Testers" has no members: the file does not have them` + "\n"
			o.prints(strings.ReplaceAll(made, "made", "would make")+empty+"5 flags and 2 cohorts would be imported"+proof, "import", "-dry-run", file)
			o.prints("the project has no flags yet: flagstaff flag create KEY makes one\n", "flag", "list")
			got := call{args: []string{"import", "-"}, env: o.env, stdin: string(exported)}.run(t)
			got.want(t, outcome{0, made + empty + "5 flags and 2 cohorts imported" + proof, ""})
			o.prints("0 flags and 0 cohorts imported, 7 there already\n", "import", file)
			compare(t, string(exported), o.do("export"))

			// What the file does not have comes from the server itself.
			o.env = append(o.env, "FLAGSTAFF_FROM_KEY="+server.key)
			o.prints("cohort \"Testers\": 3 members, of which 3 are new\n0 flags and 0 cohorts imported, 7 there already\n", "import", "-from", server.url)
			o.prints("cohort \"Testers\": 3 members, of which 0 are new\n0 flags and 0 cohorts imported, 7 there already\n", "import", "-from", server.url)
			if got := o.do("flag", "explain", "listed", "eve"); !strings.HasPrefix(got, "listed = true ") {
				t.Errorf("a member of the cohort: %s", got)
			}
			other.stop()

			// A store that no server has open.
			empties := open(t)
			serveProcess(t, "-store", empties, "-drain", "0s", "-project-key", "phc_there").stop()
			from := []string{"FLAGSTAFF_FROM_KEY=" + server.key}
			report := call{args: []string{"import", "-store", empties, "-project", "phc_there", "-from", server.url, "-json"}, env: from}.run(t)
			var told importReport
			if err := json.Unmarshal([]byte(report.Stdout), &told); err != nil || report.Code != 0 || report.Stderr != "" {
				t.Fatalf("%+v: %v", report, err)
			}
			if diff := gocmp.Diff([]membersReport{{"Testers", 3, 3}}, told.Members); diff != "" || len(told.Flags) != 5 || told.Parity != 1000 {
				t.Errorf("report %+v (-want +got)\n%s", told.ImportReport, diff)
			}
			call{args: []string{"import", "-store", empties, "-project", "1", "-from", server.url}, env: from}.run(t).want(t,
				outcome{0, "cohort \"Testers\": 3 members, of which 0 are new\n0 flags and 0 cohorts imported, 7 there already\n", ""})
			call{args: []string{"import", "-store", empties, "-project", "9", file}}.run(t).want(t,
				outcome{1, "", "flagstaff import: " + database.Name(empties) + " has no project with the ID or the API key of -project; it has 1 (Default project)\n"})

			// What cannot be taken over, and why.
			odd := write(t, "odd.json", `{"flags":[{"id":1,"key":"base","active":true,"filters":{"groups":[{}]}},{"id":2,"key":"sp ace","active":true,"filters":{"groups":[{}]}},{"id":3,"key":"fine","active":true,"filters":{"groups":[{}]}}]}`)
			call{args: []string{"import", odd}, env: s.env}.run(t).want(t, outcome{1, `made flag fine
left out flag base (id 1): the project has another flag with this key: they differ in name, filters, tags; to change it, apply the document
left out flag sp ace (id 2): key: Only letters, numbers, hyphens (-) and underscores (_) are allowed, not "sp ace".
1 flag and 0 cohorts imported, 2 left out; each new flag has the same value as at its origin for 1000 random persons
`, ""})
			s.fails("import: the server refuses POST /api/projects/@current/import/ with status 400: The file is not a JSON object of definitions, and no list of flags: invalid character 'x' looking for beginning of value.", "import", write(t, "x.json", "x"))
			s.fails("import: open "+file+".none: no such file or directory", "import", file+".none")
		})
	}
}

// compare compares two exports, whose IDs may differ.
func compare(t *testing.T, want, got string) {
	t.Helper()
	read := func(text string) map[string]any {
		var document struct {
			Flags, Cohorts []map[string]any
			Types          map[string]string `json:"group_type_mapping"`
		}
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		things := map[string]any{"types": document.Types}
		for _, f := range document.Flags {
			delete(f, "id")
			if f["key"] != "seats" && f["key"] != "old" { // refers to something by its ID
				delete(f["filters"].(map[string]any), "groups")
			}
			things["flag "+f["key"].(string)] = f
		}
		for _, c := range document.Cohorts {
			delete(c, "id")
			things["cohort "+c["name"].(string)] = c
		}
		return things
	}
	if diff := gocmp.Diff(read(want), read(got)); diff != "" {
		t.Errorf("export (-there +here)\n%s", diff)
	}
}

// TestImportFrom takes flags from a server of the public system: it does not know the
// parameter for archived flags, it asks to be left alone for a while, its key may not
// read everything, and its links have another address.
func TestImportFrom(t *testing.T) {
	t.Parallel()
	server := serveProcess(t, "-store", filepath.Join(t.TempDir(), "a.db"), "-drain", "0s")
	s := server.session(t)
	s.env = append(s.env, "FLAGSTAFF_FROM_KEY=phx_s3cret")
	var busy atomic.Bool
	busy.Store(true)
	mux := http.NewServeMux()
	page := func(pages ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer phx_s3cret" {
				t.Errorf("Authorization is %q", r.Header.Get("Authorization"))
			}
			if busy.CompareAndSwap(true, false) {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "{}", http.StatusTooManyRequests)
				return
			}
			n, next := 0, "null"
			fmt.Sscan(r.URL.Query().Get("offset"), &n)
			if n+1 < len(pages) {
				next = `"https://another.example/next"`
			}
			fmt.Fprintf(w, `{"count":2,"next":%s,"results":[%s]}`, next, pages[n])
		}
	}
	mux.HandleFunc("/api/projects/42/feature_flags/", page(
		`{"id":70,"key":"first","name":"First","active":true,"experiment_set":[],"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":7}],"rollout_percentage":50}]},"can_edit":true}`,
		`{"id":71,"key":"second","active":true,"experiment_set":[3],"filters":{"groups":[{"properties":[{"key":"size","type":"group","group_type_index":0,"operator":"gt","value":1}]}],"aggregation_group_type_index":0}}`))
	mux.HandleFunc("/api/projects/42/cohorts/", page(`{"id":7,"name":"Listed","is_static":true,"count":4,"filters":{}}`))
	mux.HandleFunc("/api/projects/42/cohorts/7/persons/", page(`{"id":1,"distinct_ids":["ada","ada-phone"]}`, `{"id":2,"distinct_ids":["bob"]}`))
	mux.HandleFunc("/api/projects/42/groups_types/", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(403)
		fmt.Fprint(w, `{"type":"authentication_error","code":"permission_denied","detail":"API key missing required scope 'group:read'","attr":null}`)
	})
	mux.HandleFunc("/api/projects/42/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"id":42,"timezone":"UTC"}`) })
	there := httptest.NewServer(mux)
	defer there.Close()
	got := call{args: []string{"import", "-from", there.URL, "-from-project", "42"}, env: s.env}.run(t)
	got.want(t, outcome{1, `made cohort "Listed"
made flag first
cohort "Listed": 3 members, of which 3 are new
note: the key may not read the project's group types, so that flags about groups are left out: API key missing required scope 'group:read'
left out flag second (id 71): it is about the group type 0, which the file or the project does not have
1 flag and 1 cohort imported, 1 left out; each new flag has the same value as at its origin for 1000 random persons
`, ""})

	s.fails("import: fetch from "+there.URL+": the server refuses GET /api/projects/1/feature_flags/?limit=100&offset=0 with status 404: Not Found; is this the address of a Flagstaff server?", "import", "-from", there.URL, "-from-project", "1")
	s.fails("import: fetch from http://127.0.0.1:1: the server at 127.0.0.1:1 does not answer: dial tcp 127.0.0.1:1: connect: connection refused", "import", "-from", "http://127.0.0.1:1")
}
