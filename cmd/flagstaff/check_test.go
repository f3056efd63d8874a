package main

import (
	"strings"
	"testing"
)

const faulty = `{
  "flags": [
    {"id": 1, "key": "beta", "active": true, "filters": {"groups": [
      {"properties": [{"key": "plan", "type": "person", "operator": "almost", "value": "pro"}]},
      {"properties": [], "rollout_percentage": 120}
    ]}},
    {"id": 2, "key": "fine", "active": true, "filters": {"groups": [{}]}},
    {"id": 3, "key": "beta", "active": true, "filters": {"groups": [{}]}}
  ]
}
`

// TestCheck: lines have places, and the exit code is for hooks.
func TestCheck(t *testing.T) {
	t.Parallel()
	bad := write(t, "bad.json", faulty)
	good := write(t, "good.json", `{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[{}]}}]}`)
	odd := write(t, "odd.json", `{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[{},{}]}}]}`)
	empty := write(t, "empty.json", `{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[]}}]}`)
	list := write(t, "list.json", "[{\"id\":1,\"key\":\"a\",\"active\":true,\n  \"filters\":{\"groups\":[{\"rollout_percentage\":120}]}}]")
	broken := write(t, "broken.json", "{\"flags\": [\n  {\"id\": 1,}\n]}")
	const first = `:4:69: error: flag "beta" at /filters/groups/0/properties/0/operator: unknown operator: "almost"; `
	for _, tt := range []struct {
		name  string
		args  []string
		stdin string
		want  outcome
	}{
		{"good", []string{good}, "", outcome{0, "no problems in 1 flag of 1 file\n", ""}},
		{"warnings", []string{odd}, "", outcome{0, odd + `:1:67: warning: flag "a" at /filters/groups/1: the condition set is unreachable: condition set 1 matches everyone; move it up or remove it` + "\n0 errors, 1 warning, 0 notes in 1 flag of 1 file\n", ""}},
		{"strict", []string{"-strict", good, odd}, "", outcome{1, odd + `:1:67: warning: flag "a" at /filters/groups/1: the condition set is unreachable: condition set 1 matches everyone; move it up or remove it` + "\n0 errors, 1 warning, 0 notes in 2 flags of 2 files\n", ""}},
		{"no JSON", []string{broken}, "", outcome{1, broken + ":2:12: error: definitions are not valid JSON: offset 23: unexpected character '}' where a member name should begin\n1 error, 0 warnings, 0 notes in 0 flags of 1 file\n", ""}},
		{"no document", []string{"-"}, " 7", outcome{1, "standard input:1:2: error: definitions must be a JSON object with an array \"flags\", not a number\n1 error, 0 warnings, 0 notes in 0 flags of 1 file\n", ""}},
		{"Ruling86: no condition sets", []string{"-strict", empty}, "", outcome{0, empty + `:1:63: note: flag "a" at /filters/groups: the flag has no condition sets and is off for everybody; add a condition set without filters to match everyone` + "\n0 errors, 0 warnings, 1 note in 1 flag of 1 file\n", ""}},
		{"a list of flags", []string{list}, "", outcome{1, list + `:2:46: error: flag "a" at /filters/groups/0/rollout_percentage: the rollout percentage is 120; use a percentage from 0 to 100` + "\n1 error, 0 warnings, 0 notes in 1 flag of 1 file\n", ""}},
		{"another product", []string{good, "-"}, "beta:\n  variations:\n    on: true\n  defaultRule:\n    variation: on\n", outcome{1, "standard input:1:1: error: this looks like a file of GO Feature Flag: flagstaff import -from go-feature-flag takes it, see docs/from-go-feature-flag.md\n1 error, 0 warnings, 0 notes in 1 flag of 2 files\n", ""}},
		{"a page of a list", []string{"-"}, `{"next":"https://x/?page=2","results":[]}`, outcome{1, "standard input:1:1: error: the file has only a page of a list: save all pages one after the other in it, each with \"next\" as null, or let \"flagstaff import -from\" fetch them\n1 error, 0 warnings, 0 notes in 0 flags of 1 file\n", ""}},
		{"control characters", []string{"-"}, `{"flags":[{"id":1,"key":"a\u001b[31m\nb"}],"flgs":1}`, outcome{0, "", ""}},
		{"no file", []string{good, "none.json"}, "", outcome{1, "", "flagstaff check: open none.json: no such file or directory\n"}},
		{"JSON", []string{"-json", good}, "", outcome{0, "[]\n", ""}},
		{"JSON of a warning", []string{odd, "-json"}, "", outcome{0, `[
  {
    "file": "` + odd + `",
    "line": 1,
    "column": 67,
    "severity": "warning",
    "flag": "a",
    "path": "/filters/groups/1",
    "message": "the condition set is unreachable: condition set 1 matches everyone",
    "hint": "move it up or remove it"
  }
]
`, ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := call{args: append([]string{"check"}, tt.args...), stdin: tt.stdin}.run(t)
			if tt.name == "control characters" {
				if strings.ContainsRune(got.Stdout, '\x1b') || strings.Count(got.Stdout, "\n") != strings.Count(got.Stdout, "standard input:")+1 {
					t.Errorf("%q has a command for the terminal, or a line break", got.Stdout)
				}
				return
			}
			got.want(t, tt.want)
		})
	}
	got := run(t, "check", bad)
	lines := strings.Split(got.Stdout, "\n")
	if got.Code != 1 || len(lines) != 5 || !strings.HasPrefix(lines[0], bad+first) ||
		!strings.HasPrefix(lines[1], bad+":5:48: error: ") || !strings.HasPrefix(lines[2], bad+`:8:5: error: flag "beta": another flag has the same key`) {
		t.Errorf("exit code %d, %q", got.Code, lines)
	}
}
