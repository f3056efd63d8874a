package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestApply takes a project from one server into another as CI would: a dry run, the real
// run, and a dry run that finds nothing to do.
func TestApply(t *testing.T) {
	t.Parallel()
	for kind, open := range stores {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			staging, production := serveProcess(t, "-store", open(t), "-drain", "0s"), serveProcess(t, "-store", open(t), "-drain", "0s")
			staging.aProject(t)
			production.ask(t, "POST", "/api/projects/@current/feature_flags/", `{"key":"base","filters":{"groups":[{"rollout_percentage":10}]}}`, nil)
			production.ask(t, "POST", "/api/projects/@current/feature_flags/", `{"key":"mine","filters":{"groups":[{}]}}`, nil)
			file := filepath.Join(t.TempDir(), "flags.json")
			staging.session(t).do("export", "-o", file)
			s := production.session(t)

			changes := func(create, change, archive string) string {
				return create + ` cohort "Pro"
` + create + ` cohort "Testers"
` + change + ` flag base (version 2)
    name: Base <b> added
    condition set 1, filters: in cohort Pro added
    condition set 1, rollout percentage: 10% → 100%
    tags: web added
` + create + ` flag listed
` + archive + ` flag mine (version 2)
    state: on → off
    archived: no → yes
` + create + ` flag old
` + create + ` flag seats
` + create + ` flag top
note: the static cohort "Testers" has no members: the file does not have them
`
			}
			const counts = "4 flags created, 1 flag changed, 1 flag archived, 2 cohorts created; 0 as in the file; each new or changed flag has the value that the file gives for 1000 random persons\n"
			call{args: []string{"apply", "-dry-run", "-prune", file}, env: s.env}.run(t).want(t, outcome{3, changes("would create", "would change", "would archive") + "with this file: " + counts, ""})
			var dry struct {
				ETag   string `json:"etag"`
				DryRun bool   `json:"dry_run"`
			}
			got := call{args: []string{"apply", "-dry-run", "-json", file}, env: s.env}.run(t)
			if err := json.Unmarshal([]byte(got.Stdout), &dry); err != nil || got.Code != 3 || !dry.DryRun {
				t.Fatalf("%+v: %v", got, err)
			}
			s.prints(changes("created", "changed", "archived")+counts, "apply", "-prune", "-if-match", dry.ETag, file)
			s.prints("nothing would change; 7 as in the file\n", "apply", "-dry-run", "-prune", file)
			s.prints("nothing changed; 7 as in the file\n", "apply", file)
			s.fails("apply: the server refuses POST /api/projects/@current/apply/?dry_run=false&prune=false with status 412: The flags and cohorts of the project were changed in the meantime: look again at what the document would change.",
				"apply", "-if-match", dry.ETag, file)
		})
	}
}

// A document that is refused is refused for all its problems, in its order.
func TestApplyProblems(t *testing.T) {
	t.Parallel()
	server := serveProcess(t, "-store", filepath.Join(t.TempDir(), "a.db"), "-drain", "0s")
	server.ask(t, "POST", "/api/projects/@current/early_access_feature/", `{"name":"Early","stage":"beta"}`, nil)
	s := server.session(t)
	file := filepath.Join(t.TempDir(), "flags.json")
	const document = `{"flags": [
  {"key": "a b", "active": true, "filters": {"groups": [{}]}},
  {"key": "top", "active": true, "filters": {"groups": [{"properties": [
    {"key": "none", "type": "flag", "operator": "flag_evaluates_to", "value": true, "dependency_chain": []}]}]}},
  {"key": "half", "active": true, "filters": {"groups": [{}, {"rollout_percentage": 500}]}}
]}`
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	want := `FILE: flag early: the document does not have it, and it cannot be archived: it is used by the early access feature "Early"
FILE:2:11: flag a b: key: Only letters, numbers, hyphens (-) and underscores (_) are allowed, not "a b".
FILE:3:3: flag top: it depends on the flag "none", which the file does not have
FILE:5:85: flag half: filters/groups/1/rollout_percentage: must be a number from 0 to 100, not 500
nothing was changed: 4 problems
`
	for _, args := range [][]string{{"apply", "-prune", file}, {"apply", "-prune", "-dry-run", file}} {
		call{args: args, env: s.env}.run(t).want(t, outcome{1, strings.ReplaceAll(want, "FILE", file), ""})
	}
	call{args: []string{"apply", "-prune", "-"}, env: s.env, stdin: document}.run(t).want(t, outcome{1, strings.ReplaceAll(want, "FILE", "standard input"), ""})
	got := call{args: []string{"apply", "-json", file}, env: s.env}.run(t)
	if got.Code != 1 || !strings.Contains(got.Stdout, `"line": 5`) || !strings.Contains(got.Stdout, `"place": "/flags/2/filters/groups/1/rollout_percentage"`) {
		t.Errorf("with -json: %+v", got)
	}
}

// TestApplyRuleSets makes, changes and exports flags with rule sets that were written by hand:
// everybody has the value that the file gives, and what is exported is what is there.
func TestApplyRuleSets(t *testing.T) {
	t.Parallel()
	server := serveProcess(t, "-store", stores["SQLite"](t), "-drain", "0s")
	s := server.session(t)
	document := func(share, order string) string {
		return write(t, "flags.json", `{"flags":[{"id":1,"key":"greeting","active":true,"filters":{"version":2,"return_type":"string","default_value":"hello","rules":[`+order+`
			{"rule_type":"percentage_rollout","rollout_percentage":`+share+`,"value":"welcome"}]}},
			{"id":2,"key":"whole","active":true,"filters":{"version":2,"return_type":"object","rules":[{"rule_type":"targeted_release","value":{"a":1}}]}}]}`)
	}
	const first = `{"rule_type":"targeted_release","targeting":{"properties":[{"key":"plan","value":"pro"}]},"value":"for pros"},`
	file, other := document("25", first), document("50", "")
	const tried = "; each new or changed flag has the value that the file gives for 1000 random persons\n"
	s.prints("created flag greeting\ncreated flag whole\n2 flags created; 0 as in the file"+tried, "apply", file)
	s.prints("nothing changed; 2 as in the file\n", "apply", file)
	got := call{args: []string{"apply", other}, env: s.env}.run(t)
	for _, want := range []string{"changed flag greeting (version 2)\n", "rule 1, value: for pros → welcome\n", "rule 2: 25% of everyone: welcome removed\n", "1 flag changed; 1 as in the file" + tried} {
		if !strings.Contains(got.Stdout, want) || got.Code != 0 {
			t.Errorf("apply: %+v, want %s", got, want)
		}
	}
	exported := filepath.Join(t.TempDir(), "exported.json")
	s.do("export", "-o", exported)
	s.prints("nothing would change; 2 as in the file\n", "apply", "-dry-run", exported)
	s.prints("no problems in 2 flags of 1 file\n", "check", exported)
	s.prints("0 of 1000 subjects (0%) get another value; 0 of 2 flags differ\n", "diff", other, exported)
	if got := s.do("flag", "get", "greeting"); !strings.Contains(got, "rule 1     50% of everyone: welcome\notherwise  hello\n") {
		t.Errorf("flag get: %s", got)
	}
	s.fails("flag rollout: flag greeting has rules and no condition sets: change their percentages in the console, or by apply", "flag", "rollout", "greeting", "50")
}
