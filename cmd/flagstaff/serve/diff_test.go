package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	ffruntime "github.com/flagstaff-go/flagstaff/runtime"
)

// definitionsWith returns a document with the flag "beta" for persons on plans, and
// for as many others as the percentage says.
func definitionsWith(plan string, percentage int) string {
	return fmt.Sprintf(`{"flags":[{"id":1,"key":"beta","active":true,"filters":{"groups":[
		{"properties":[{"key":"plan","type":"person","operator":"exact","value":%q}],"rollout_percentage":100},
		{"properties":[],"rollout_percentage":%d}]}}]}`, plan, percentage)
}

// TestDiff: the exit code is for a job, the report for a reader of its output.
func TestDiff(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old, same, wider := file("old.json", definitionsWith("pro", 0)), file("same.json", definitionsWith("pro", 0)), file("wider.json", definitionsWith("pro", 50))
	broken := file("broken.json", strings.Replace(definitionsWith("pro", 0), "exact", "almost", 1))
	var everybody strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&everybody, "user-%d\r\n", i)
	}
	many := file("many.txt", everybody.String())
	few := file("few.jsonl", `{"distinct_id":"ada","person_properties":{"plan":"pro"}}`+"\n\n"+`{"distinct_id":"eve","person_properties":{"seen":"2026-02-20"}}`)
	recent := file("recent.json", strings.Replace(definitionsWith("pro", 100), `{"properties":[]`, `{"properties":[{"key":"seen","type":"person","operator":"is_date_after","value":"-30d"}]`, 1))
	for _, tt := range []struct {
		name   string
		args   []string
		stdin  string
		code   int
		stdout string // how it begins
		stderr string // what is in it
	}{
		{"no change", []string{"-limit", "0%", old, same, many}, "", 0, "0 of 1000 subjects (0%) get another value; 0 of 1 flags differ\n", ""},
		{"reported", []string{old, wider, many}, "", 0, "486 of 1000 subjects (48.6%) get another value; 1 of 1 flags differ\n", ""},
		{"in the limit", []string{"-limit", "48.6%", old, wider, many}, "", 0, "486 of 1000", ""},
		{"above the limit", []string{"-limit=48.5", old, wider, many}, "", 1, "486 of 1000", "flagstaff serve diff: 486 of 1000 subjects get another value, more than 48.5%\n"},
		{"properties count", []string{"-limit", "0", old, file("gold.json", definitionsWith("gold", 0)), few}, "", 1, "1 of 2 subjects (50%) get another value", "more than 0%"},
		{"standard input", []string{"-limit", "0", old, wider, "-"}, "user-0\nuser-1\n", 1, "1 of 2 subjects", "more than 0%"},
		{"definitions from there", []string{"-", old, many}, definitionsWith("pro", 0), 0, "0 of 1000", ""},
		{"a flag breaks", []string{"-limit", "0", old, broken, few}, "", 1, "2 of 2 subjects", broken + `: error: flag "beta"`},

		{"relative dates", []string{"-now", "2026-03-01T00:00:00Z", "-limit", "0", old, recent, few}, "", 1, "1 of 2 subjects", "more than 0%"},
		{"relative dates later", []string{"-now", "2026-05-01T00:00:00Z", "-limit", "0", old, recent, few}, "", 0, "0 of 2 subjects", ""},

		{"help", []string{"-help"}, "", 0, fmt.Sprintf(diffHelp, "flagstaff serve"), ""},
		{"too few", []string{old, wider}, "", 2, "", "want OLD, NEW and SUBJECTS, not 2 arguments; see flagstaff serve diff -help"},
		{"no percentage", []string{"-limit", "many", old, wider, many}, "", 2, "", "want a percentage from 0% to 100%"},
		{"more than all", []string{"-limit", "101", old, wider, many}, "", 2, "", "want a percentage from 0% to 100%"},
		{"not a number", []string{"-limit", "NaN", old, wider, many}, "", 2, "", "want a percentage from 0% to 100%"},
		{"no time", []string{"-now", "yesterday", old, wider, many}, "", 2, "", "want a time such as"},
		{"unknown flag", []string{"-most", "1", old, wider, many}, "", 2, "", "-most"},
		{"no file", []string{old, filepath.Join(dir, "none"), many}, "", 2, "", "none"},
		{"no document", []string{old, many, few}, "", 2, "", many},
		{"no subjects", []string{old, wider, file("empty", " \n\n")}, "", 2, "", "has no subjects"},
		{"no subject", []string{old, wider, file("odd", "ada\n{\"distinct_id\":")}, "", 2, "", "odd:2: "},
		{"nobody", []string{old, wider, file("nobody", `{"person_properties":{}}`)}, "", 2, "", "nobody:1: the subject has no distinct_id"},
		{"long line", []string{old, wider, file("long", strings.Repeat("x", maxSubject+1))}, "", 2, "", "long:1: the line is longer than 1048576 bytes"},
		{"standard input twice", []string{old, "-", "-"}, definitionsWith("pro", 0), 2, "", "standard input can be read only once"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, log := newOutput(), newOutput()
			m := Main{Args: append([]string{"diff"}, tt.args...), Stdin: strings.NewReader(tt.stdin), Stdout: out, Stderr: log}
			code := m.Run(t.Context())
			if code != tt.code || !strings.HasPrefix(out.String(), tt.stdout) || !strings.Contains(log.String(), tt.stderr) || (tt.stderr == "") != (log.String() == "") {
				t.Errorf("exit code %d, %q, %q; want %d, %q, %q", code, out, log, tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}

// TestSubjects: a line is a distinct ID or a request.
func TestSubjects(t *testing.T) {
	for line, want := range map[string]*flags.Request{
		`user 1`: {DistinctID: "user 1"},
		`"u"`:    {DistinctID: `"u"`},
		`{"distinct_id":7,"$device_id":"d","$anon_distinct_id":"a","groups":{"company":"acme","team":3,"none":null},` +
			`"group_properties":{"company":{"tier":"free"}},"person_properties":{"n":7},"evaluation_contexts":["shop"],"evaluation_runtime":"server","flag_keys":["beta"]}`: {
			DistinctID: "7", DeviceID: "d", AnonymousID: "a", Groups: map[string]string{"company": "acme", "team": "3"},
			GroupProperties: map[string]map[string]any{"company": {"tier": "free"}}, Filter: ffruntime.Filter{Kind: ffruntime.Server, Tags: []string{"shop"}}, Keys: []string{"beta"},
		},
	} {
		got, err := subjectOf([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if n := got.PersonProperties["n"]; n != nil && fmt.Sprint(n) != "7" {
			t.Errorf("%s: n is %v", line, n)
		}
		got.PersonProperties = nil
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	for _, line := range []string{`{`, `{"distinct_id":"a","groups":7}`, `{"distinct_id":{}}x`, `{}`} {
		if r, err := subjectOf([]byte(line)); err == nil {
			t.Errorf("%s is %+v, want an error", line, r)
		}
	}
}

func FuzzSubject(f *testing.F) {
	f.Add([]byte(`{"distinct_id":"u","groups":{"a":1},"person_properties":{"n":NaN},"group_properties":{"a":null}}`))
	f.Add([]byte("user-1"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) == 0 {
			return
		}
		if r, err := subjectOf(line); (r == nil) == (err == nil) {
			t.Errorf("%q: %+v, %v", line, r, err)
		}
	})
}
