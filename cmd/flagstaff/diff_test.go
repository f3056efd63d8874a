package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	t.Parallel()
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
	const widened = "beta changed\n    condition set 2, rollout percentage: 0% → 50%\n\n"
	for _, tt := range []struct {
		name   string
		args   []string
		stdin  string
		code   int
		stdout string // how it begins
		stderr string // what is in it
	}{
		{"no change", []string{"-limit", "0%", old, same, many}, "", 0, "0 of 1000 subjects (0%) get another value; 0 of 1 flags differ\n", ""},
		{"reported", []string{old, wider, many}, "", 0, widened + "486 of 1000 subjects (48.6%) get another value; 1 of 1 flags differ\n", ""},
		{"in the limit", []string{"-limit", "48.6%", old, wider, many}, "", 0, widened + "486 of 1000", ""},
		{"above the limit", []string{"-limit=48.5", old, wider, many}, "", 1, widened + "486 of 1000", "flagstaff diff: 486 of 1000 subjects get another value, more than 48.5%\n"},
		{"properties count", []string{"-limit", "0", old, file("gold.json", definitionsWith("gold", 0)), few}, "", 1, "beta changed\n    condition set 1, filter 1, value: pro → gold\n\n1 of 2 subjects (50%) get another value", "more than 0%"},
		{"flags after arguments", []string{old, wider, "-", "-limit", "0"}, "user-0\nuser-1\n", 1, widened + "1 of 2 subjects", "more than 0%"},
		{"definitions from there", []string{"-", old, many}, definitionsWith("pro", 0), 0, "0 of 1000", ""},
		{"a flag breaks", []string{"-limit", "0", old, broken, few}, "", 1, "beta changed\n    condition set 1, filter 1, operator: is → almost\n\n2 of 2 subjects", broken + `:2:59: error: flag "beta"`},
		{"random persons", []string{"-persons", "2000", old, wider}, "", 0, widened + "", ""},
		{"random persons have properties", []string{"-persons", "100", "-limit", "0", old, file("gold.json", definitionsWith("gold", 0))}, "", 1, "beta changed\n", "of 100 subjects get another value, more than 0%"},
		{"random groups", []string{"-persons", "100", "-limit", "0", file("free.json", groupDefinitions("free")), file("paid.json", groupDefinitions("paid"))}, "", 1, "billing changed\n    condition set 1, filter 1, value: free → paid\n\n", "of 100 subjects get another value"},

		{"relative dates", []string{"-now", "2026-03-01T00:00:00Z", "-limit", "0", old, recent, few}, "", 1, "beta changed\n", "1 of 2 subjects get another value, more than 0%"},
		{"relative dates later", []string{"-now", "2026-05-01T00:00:00Z", "-limit", "0", old, recent, few}, "", 0, "beta changed\n", ""},

		{"no file", []string{old, filepath.Join(dir, "none"), many}, "", 1, "", "none: no such file"},
		{"no document", []string{old, many, few}, "", 1, "", many + ":1:1: flags: definitions are not valid JSON"},
		{"no subjects", []string{old, wider, file("empty", " \n\n")}, "", 1, "", "has no subjects"},
		{"no subject", []string{old, wider, file("odd", "ada\n{\"distinct_id\":")}, "", 1, "", "odd:2: "},
		{"nobody", []string{old, wider, file("nobody", `{"person_properties":{}}`)}, "", 1, "", "nobody:1: the subject has no distinct_id"},
		{"long line", []string{old, wider, file("long", strings.Repeat("x", 1<<20+1))}, "", 1, "", "long:1: the line is longer than 1048576 bytes"},
		{"standard input twice", []string{old, "-", "-"}, definitionsWith("pro", 0), 1, "", "standard input can be read only once"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := call{args: append([]string{"diff"}, tt.args...), stdin: tt.stdin}.run(t)
			if got.Code != tt.code || !strings.HasPrefix(got.Stdout, tt.stdout) || !strings.Contains(got.Stderr, tt.stderr) || (tt.stderr == "") != (got.Stderr == "") {
				t.Errorf("%+v; want %d, %q, %q", got, tt.code, tt.stdout, tt.stderr)
			}
			again := call{args: append([]string{"diff"}, tt.args...), stdin: tt.stdin}.run(t)
			again.want(t, got)
		})
	}
}

func groupDefinitions(tier string) string {
	return fmt.Sprintf(`{"group_type_mapping":{"0":"company"},"flags":[{"id":1,"key":"billing","active":true,"filters":{"aggregation_group_type_index":0,"groups":[
		{"properties":[{"key":"tier","type":"group","group_type_index":0,"operator":"exact","value":%q}],"rollout_percentage":100}]}}]}`, tier)
}

// TestDiffJSON has each kind of change.
func TestDiffJSON(t *testing.T) {
	t.Parallel()
	old := write(t, "old.json", `{"flags":[
		{"id":1,"key":"gone","active":true,"filters":{"groups":[{}]}},
		{"id":2,"key":"button","active":true,"filters":{"groups":[{"rollout_percentage":100}],"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]},"payloads":{"a":"1"}}},
		{"id":3,"key":"list","filters":{"groups":[{"properties":[{"key":"plan","value":["pro","team"]}]}]}},
		{"id":4,"key":"same","version":1,"active":true,"filters":{"groups":[{"properties":[]}]}},
		{"id":5,"key":"depends","active":true,"filters":{"groups":[{"properties":[{"key":"gone","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}]}`)
	new := write(t, "new.json", `{"flags":[
		{"id":2,"key":"button","active":true,"filters":{"groups":[{"rollout_percentage":100}],"multivariate":{"variants":[{"key":"a","rollout_percentage":0},{"key":"c d","rollout_percentage":100}]},"payloads":{"a":"2"}}},
		{"id":3,"key":"list","evaluation_runtime":"server","filters":{"groups":[{"properties":[{"key":"plan","value":["pro"]}],"rollout_percentage":7},{}]}},
		{"id":4,"key":"same","version":9,"active":true,"filters":{"groups":[{}]}},
		{"id":5,"key":"depends","active":true,"filters":{"groups":[{"properties":[{"key":"gone","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
		{"id":6,"key":"fresh","active":true,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"x","rollout_percentage":100}]}}}]}`)
	subjects := write(t, "one.txt", "ada\n")
	run(t, "diff", "-json", old, new, subjects).want(t, outcome{0, `{
  "subjects": 1,
  "changed": 1,
  "flags": [
    {
      "key": "button",
      "change": "changed",
      "differences": [
        "variant 1, weight: 50% → 0%",
        "variant 2, key: b → c d",
        "variant 2, weight: 50% → 100%",
        "payload of a: 1 → 2"
      ],
      "changed": 1,
      "payload_changed": 0
    },
    {
      "key": "depends",
      "change": "changed",
      "differences": [],
      "changed": 1,
      "payload_changed": 0
    },
    {
      "key": "fresh",
      "change": "added",
      "differences": [
        "active, 1 condition set, variants x 100%"
      ],
      "changed": 1,
      "payload_changed": 0
    },
    {
      "key": "gone",
      "change": "removed",
      "differences": [
        "active, 1 condition set"
      ],
      "changed": 1,
      "payload_changed": 0
    },
    {
      "key": "list",
      "change": "changed",
      "differences": [
        "runtime: all → server",
        "condition set 1, filter 1, value: pro, team → pro",
        "condition set 1, rollout percentage: 100% → 7%",
        "condition set 2: added: everyone"
      ],
      "changed": 0,
      "payload_changed": 0
    }
  ]
}
`, new + `:5:84: error: flag "depends" at /filters/groups/0/properties/0/key: the flag that it depends on does not exist: "gone"; create the flag or remove the filter` + "\n"})
}

// TestDiffRuleSets: what has changed in rule sets, and for whom (rules.md §4.3).
func TestDiffRuleSets(t *testing.T) {
	t.Parallel()
	rules := func(more string) string {
		return `{"version":2,"return_type":"string","default_value":"none","rules":[` + more + `]}`
	}
	const (
		first  = `{"id":"11111111-1111-4111-8111-111111111111","rule_type":"targeted_release","value":"a","targeting":{"properties":[{"key":"plan","value":"pro"}]}}`
		second = `{"id":"22222222-2222-4222-8222-222222222222","rule_type":"percentage_rollout","seed":"s","rollout_percentage":50,"value":"b","targeting":{"properties":[{"key":"plan","value":"free"}]}}`
		number = `{"version":2,"return_type":"number","rules":[{"rule_type":"targeted_release","value":1}]}`
	)
	document := func(filters ...string) string {
		var list []string
		for i, f := range filters {
			list = append(list, fmt.Sprintf(`{"id":%d,"key":"f%[1]d","active":true,"filters":%s}`, i+1, f))
		}
		return write(t, "flags.json", `{"flags":[`+strings.Join(list, ",")+`]}`)
	}
	old := document(rules(first+","+second), number, `{"groups":[{}]}`, number)
	new := document(
		rules(second+","+strings.Replace(first, `"a"`, `"A"`, 1)+`,{"rule_type":"targeted_release","value":"c"}`), strings.Replace(number, "1}", "2.5}", 1),
		`{"version":2,"return_type":"boolean","rules":[{"rule_type":"targeted_release","value":true}]}`,
	)
	subjects := write(t, "two.txt", `{"distinct_id":"ada","person_properties":{"plan":"pro"}}`+"\n"+`{"distinct_id":"bob"}`+"\n")
	run(t, "diff", old, new, subjects).want(t, outcome{0, `f1 changed
    rules: in another order
    rule 2, value: a → A
    rule 3: added: everyone: c
f2 changed
    rule 1, value: 1 → 2.5
f3 changed
    condition set 1: removed: everyone
    type of the value: added: on or off
    rule 1: added: everyone: on
    version: added: 2
f4 removed
    active, number, 1 rule

2 of 2 subjects (100%) get another value; 3 of 4 flags differ

f1  changed  100%  2
    1 "a" (targeting_match 0) → "A" (targeting_match 1) "ada"
    1 "none" (no_rule_match)  → "c" (targeting_match 2) "bob"

f2  changed  100%  2
    2 1 (targeting_match 0) → 2.5 (targeting_match 0) "ada", "bob"

f4  removed  100%  2
    2 1 (targeting_match 0) → false (no_flag) "ada", "bob"
`, ""})
	random := run(t, "diff", "-persons", "100", "-json", old, new)
	if random.Code != 0 || !strings.Contains(random.Stdout, `"key": "f1"`) {
		t.Errorf("random persons: %+v", random)
	}
}
