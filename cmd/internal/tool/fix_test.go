package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// byHand has rule sets as people write them, which leave out all, some and nothing.
const byHand = `{
  "flags": [
    {"id": 1, "key": "p\u0061ywall", "active": true, "filters": {"version": 2.0, "return_type": "string", "rules": [
      {"rule_type": "targeted_release", "value": "a", "targeting": {"properties": [{"key": "plan", "value": "pro"}]}},
      {
        "rollout_percentage": 1250e-2, "rule_type": "percentage_rollout",
        "value": "\u00e9",   "seed": "mine"
      },
	  { "rule_type":"experiment", "rollout_percentage":100, "paused":false, "experiment_id":null, "variants":[{"key":"x", "weight":50.0, "value":"b"},{"key":"y", "weight":50, "value":"c"}],
	    "holdout":{"id":null, "exclusion_percentage":1e1}}]}},
    {"id": 2, "key": "whole", "active": false, "filters": {"version": 2, "return_type": "boolean", "rules": [
      {"id": "AAAAAAAA-1111-4111-8111-111111111111", "rule_type": "targeted_release", "value": true}]}},
    {"id": 3, "key": "older", "active": true, "filters": {"groups": [{}]}},
    {"id": 4, "key": "broken", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": [{"rule_type": "targeted_release", "value": 1}]}},
    {"id":5,"key":"dense","active":true,"filters":{"version":2,"return_type":"number","rules":[{"rule_type":"percentage_rollout","rollout_percentage":5,"value":-0.50}]}}
  ]
}
`

// made are an ID and a seed that fix writes.
var made = regexp.MustCompile(`"(id|seed)": ?"[0-9a-f-]{32,36}",\s*`)

// checkFile runs check on a file, and returns what it prints.
func checkFile(t *testing.T, file string, c checkCall) string {
	t.Helper()
	var out strings.Builder
	p := &Program{Stdout: &out, Stderr: io.Discard}
	if err := p.check([]string{file}, c); err != nil && !errors.Is(err, ErrFound) {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), file, "FILE")
}

// TestFix writes what rule sets leave out: everything else in the file stays, also its
// permissions and a link to it, and the second time there is nothing to write (rules.md §2.7).
func TestFix(t *testing.T) {
	for name, text := range map[string]string{
		"a document": byHand, "a mark": "\ufeff" + byHand, "lines of Windows": strings.ReplaceAll(byHand, "\n", "\r\n"),
		"a list": strings.Replace(strings.Replace(strings.TrimSpace(byHand), "{\n  \"flags\": [", "[", 1), "  ]\n}", "]", 1),
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			target, link := filepath.Join(folder, "flags.json"), filepath.Join(folder, "link.json")
			if err := os.WriteFile(target, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("flags.json", link); err != nil {
				t.Fatal(err)
			}
			before := checkFile(t, link, checkCall{})
			first := checkFile(t, link, checkCall{fix: true})
			for _, want := range []string{
				`note: flag "paywall" at /filters/rules: %sthe id of rules 1, 2, 3; the seed of rule 3; the seed of the holdout of rule 3`,
				`note: flag "dense" at /filters/rules: %sthe id of rule 1; the seed of rule 1`,
			} {
				if plain := fmt.Sprintf(want, "left out, so that it follows from the place: "); !strings.Contains(before, plain) {
					t.Errorf("without -fix it does not say %s:\n%s", plain, before)
				}
				if wrote := fmt.Sprintf(want, "wrote "); !strings.Contains(first, wrote) {
					t.Errorf("it does not say %s:\n%s", wrote, first)
				}
			}
			if strings.Count(first, "wrote") != 2 || !strings.Contains(first, `error: flag "broken" at /filters/rules/0/value`) {
				t.Errorf("it says\n%s", first)
			}
			info, err := os.Lstat(target)
			if err != nil || info.Mode() != 0o600 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			fixed, err := os.ReadFile(target)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(text, made.ReplaceAllString(string(fixed), "")); diff != "" {
				t.Errorf("without what it wrote (-before +after)\n%s", diff)
			}
			if n := len(made.FindAll(fixed, -1)); n != 7 {
				t.Errorf("it wrote %d members, want 7:\n%s", n, fixed)
			}
			if second := checkFile(t, link, checkCall{fix: true}); strings.Contains(second, "wrote") {
				t.Errorf("the second time it says\n%s", second)
			}
			if again, err := os.Lstat(target); err != nil || !os.SameFile(info, again) {
				t.Errorf("the second time it writes the file: %v", err)
			}
			if list, err := os.ReadDir(folder); err != nil || len(list) != 2 {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
}

// TestFixRefuses leaves files alone that cannot be read, or written.
func TestFixRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flags.json")
	for _, text := range []string{byHand[:len(byHand)-4], strings.Replace(byHand, `"flags"`, `"flgs"`, 1), `[`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := checkFile(t, file, checkCall{fix: true}); !strings.Contains(got, "FILE:") || strings.Contains(got, "wrote") {
			t.Errorf("it says %s", got)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("%v, and the file is %s", err, got)
		}
	}
}

// TestFixKeepsValues: what is written down changes no value, and from then on neither does
// another place of a rule nor another key of the flag, which both do before (rules.md §2.7).
func TestFixKeepsValues(t *testing.T) {
	changed := 0
	for seed := range fulltest.Count(30, 1000) {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		var rules []map[string]any
		for i := range 2 + r.IntN(4) { // each for persons of its own, so that their order decides nothing else
			rule := map[string]any{
				"rule_type": "percentage_rollout", "rollout_percentage": r.IntN(101), "value": fmt.Sprintf("of %d", i),
				"targeting": map[string]any{"properties": []any{map[string]any{"key": "plan", "value": fmt.Sprint(i)}}},
			}
			if r.IntN(2) == 0 {
				delete(rule, "value")
				rule["rule_type"], rule["experiment_id"], rule["paused"] = "experiment", nil, false
				rule["variants"] = []any{map[string]any{"key": "x", "weight": 40, "value": "x"}, map[string]any{"key": "y", "weight": 60, "value": "y"}}
				if r.IntN(2) == 0 {
					rule["holdout"] = map[string]any{"id": nil, "exclusion_percentage": 30}
				}
			}
			if r.IntN(4) == 0 {
				rule["seed"] = fmt.Sprintf("seed %d", i)
			}
			rules = append(rules, rule)
		}
		document := func(key string, rules []map[string]any) []byte {
			text, err := json.MarshalIndent(map[string]any{"flags": []any{map[string]any{"id": 1, "key": key, "active": true, "filters": map[string]any{
				"version": 2, "return_type": "string", "default_value": "none", "rules": rules,
			}}}}, "", strings.Repeat(" ", r.IntN(3)))
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		values := func(text []byte) (list []string) {
			d, err := flags.Decode(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			s, err := flags.Compile(d, flags.CompileOptions{Strict: true})
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			for i := range 100 {
				list = append(list, s.Variant(d.Flags[0].Key, &flags.Request{DistinctID: fmt.Sprint("person ", i), PersonProperties: map[string]any{"plan": fmt.Sprint(i % len(rules))}}, ""))
			}
			return list
		}
		moved := func(rules []map[string]any) []map[string]any {
			return append(append([]map[string]any{}, rules[1:]...), rules[0])
		}
		want := values(document("before", rules))
		if !cmp.Equal(want, values(document("after", moved(rules)))) {
			changed++
		}

		file := filepath.Join(t.TempDir(), "flags.json")
		if err := os.WriteFile(file, document("before", rules), 0o600); err != nil {
			t.Fatal(err)
		}
		checkFile(t, file, checkCall{fix: true})
		fixed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, values(fixed)); diff != "" {
			t.Errorf("seed %d: values after it was written down (-want +got)\n%s", seed, diff)
		}
		var read struct {
			Flags []struct {
				Filters struct{ Rules []map[string]any }
			}
		}
		if err := json.Unmarshal(fixed, &read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, values(document("after", moved(read.Flags[0].Filters.Rules)))); diff != "" {
			t.Errorf("seed %d: values after a rule was moved and the flag renamed (-want +got)\n%s\n%s", seed, diff, fixed)
		}
		extended := append([]map[string]any{{"rule_type": "percentage_rollout", "rollout_percentage": 50, "value": "new", "targeting": map[string]any{
			"properties": []any{map[string]any{"key": "plan", "value": "new"}},
		}}}, read.Flags[0].Filters.Rules...)
		if diff := cmp.Diff(want, values(document("before", extended))); diff != "" {
			t.Errorf("seed %d: values after a rule was added before all others (-want +got)\n%s", seed, diff)
		}
	}
	if changed == 0 {
		t.Error("nobody's value changes without it: the test tests nothing")
	}
}
