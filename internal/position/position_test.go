package position_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/position"
)

func Example() {
	document := []byte("{\"flags\": [\n  {\"id\": 1, \"key\": \"beta\", \"active\": \"yes\"}\n]}")
	definitions, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(position.New(document).Problem(flags.Problem{
		DefinitionError: &flags.DefinitionError{Flag: "beta", Path: "/active", Err: definitions.Flags[0].Err()},
	}))
	// Output: 2:38
}

const document = `
{
  "group_type_mapping": {"0": "company"},
  "flags": [
    {"id": 1, "key": "a"},
    {"id": 2, "key": "b", "filters": {
      "groups": [{"properties": [{"key": "x/~y", "value": 1}]}, {"rollout_percentage": 120}],
      "payloads": {"x/~y": "1"}
    }},
    {"id": 3, "key": "b"}, {"id": 4, "key": "b", "key": "\u0061"},
    7
  ],
  "cohorts": {"5": {"type": "AND", "values": [{"key": "k"}]}}
}`

func TestProblem(t *testing.T) {
	find := position.New([]byte(document))
	for _, tt := range []struct{ flag, path, want string }{ // want: how the value begins
		{"b", "", `{"id": 3`}, // a duplicate has such a problem
		{"b", "/filters/groups/0/properties/0", `{"key": "x/~y", "value"`},
		{"b", "/filters/groups/0/properties/0/value", `1}]}, {`},
		{"b", "/filters/groups/0/properties/0/operator", `{"key": "x/~y", "value"`},
		{"b", "/filters/groups/1/rollout_percentage", `120`},
		{"b", "/filters/groups/2/rollout_percentage", `[{"properties"`},
		{"b", "/filters/payloads/x~1~0y", `"1"`},
		{"a", "", `{"id": 4`},
		{"a", "/id", `1, "key": "a"`},
		{"", "/flags/4", "7\n"},
		{"", "/flags/0/key", `"a"`},
		{"", "/cohorts/5/values/0", `{"key": "k"`},
		{"", "", "{\n"},
		{"", "/bucketing_hash", "{\n"},
		{"nobody", "/filters", "{\n"},
	} {
		p := find.Problem(flags.Problem{DefinitionError: &flags.DefinitionError{Flag: tt.flag, Path: tt.path}})
		if rest := after(document, p); !strings.HasPrefix(rest, tt.want) {
			t.Errorf("flag %q, path %q: %v, where is %.30q, want %q", tt.flag, tt.path, p, rest, tt.want)
		}
	}
	if got, want := find.Problem(flags.Problem{}), (position.Position{Line: 2, Column: 1}); got != want {
		t.Errorf("a problem without an error is at %v, want %v", got, want)
	}
}

// after returns what stands at a position and after it.
func after(text string, p position.Position) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[p.Line-1:], "")[p.Column-1:]
}

func TestError(t *testing.T) {
	for text, want := range map[string]position.Position{
		"":                        {Line: 1, Column: 1},
		"{":                       {Line: 1, Column: 2},
		"{\"flags\":\n  [tru]}":   {Line: 2, Column: 7},
		"\n []":                   {Line: 2, Column: 2},
		"{\"flags\":[]}\r\n\r\nx": {Line: 3, Column: 1},
	} {
		_, err := flags.Decode(strings.NewReader(text))
		if err == nil {
			t.Fatalf("%q: no error", text)
		}
		if diff := cmp.Diff(want, position.New([]byte(text)).Error(err)); diff != "" {
			t.Errorf("%q: %v (-want +got)\n%s", text, err, diff)
		}
	}
}

func FuzzProblem(f *testing.F) {
	f.Add([]byte(document), "b", "/filters/payloads/x~1~0y")
	f.Add([]byte("{\"flags\":[{\"key\":\"a\"},{\"key\":\"a\"}"), "a", "")
	f.Fuzz(func(t *testing.T, text []byte, flag, path string) {
		find := position.New(text)
		for range 2 {
			p := find.Problem(flags.Problem{DefinitionError: &flags.DefinitionError{Flag: flag, Path: path}})
			if rest := after(string(text), p); len(rest) == 0 && len(bytes.TrimSpace(text)) > 0 {
				t.Errorf("%v is the end of the text", p)
			}
		}
	})
}
