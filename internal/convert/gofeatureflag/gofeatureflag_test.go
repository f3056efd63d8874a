package gofeatureflag_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/converttest"
	"github.com/flagstaff-go/flagstaff/internal/convert/gofeatureflag"
)

// convertFlag converts a file with one flag.
func convertFlag(t *testing.T, flag string) (*convert.Flag, *flags.Snapshot) {
	t.Helper()
	p, err := gofeatureflag.Convert([]byte(`{"f": `+flag+`}`), &convert.Options{Now: now, Properties: map[string]string{"mail": "email"}})
	if err != nil {
		t.Fatal(err)
	}
	return &p.Flags[0], converttest.Compile(t, p)
}

// variation is the one that the product gives for a hash: it is between the sums, in the order of
// the names backwards, of the percentages before it and with it.
func variation(percentages map[string]float64, hash uint32) string {
	sum := 0.0
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(percentages))) {
		before := sum
		sum = before + float64(percentages[name]*1000)
		if uint32(before) <= hash && uint32(sum) > hash {
			return name
		}
	}
	return ""
}

func TestEnds(t *testing.T) {
	tests := []map[string]float64{
		{"a": 50, "b": 50},
		{"a": 100, "b": 0},
		{"a": 33.3, "b": 66.7},
		{"a": 0.001, "b": 99.999},
		{"a": 1, "b": 2, "c": 3},
		{"a": 10, "b": 20, "c": 30.5, "d": 139.5},
		{"a": 0.1, "b": 0.2},
		{"a": 12.345678, "b": 87.654322},
		{"a": 0.0005, "b": 0.0015, "c": 5},
		{"a": 4294967, "b": 0.25},
		{"a": 1.0 / 3, "b": 2.0 / 3},
	}
	for _, percentages := range tests {
		shares, _ := json.Marshal(percentages)
		t.Run(string(shares), func(t *testing.T) {
			f, _ := convertFlag(t, fmt.Sprintf(`{"variations": {"a": "a", "b": "b", "c": "c", "d": "d"}, "defaultRule": {"percentage": %s}}`, shares))
			if len(f.Problems) > 0 {
				t.Fatal(f.Problems)
			}
			s := f.Rules.Rules[0].Split
			sum := 0.0
			for _, name := range slices.Sorted(maps.Keys(percentages)) {
				sum += percentages[name]
			}
			if s.Hash != "fnv1a_32" || s.Prefix != "f" || s.Suffix != "" || s.Modulus != uint64(uint32(sum*1000)) {
				t.Errorf("got %s of %q + subject + %q modulo %d", s.Hash, s.Prefix, s.Suffix, s.Modulus)
			}
			valueAt := func(h uint64) string {
				for i, end := range s.Ends {
					if h < end {
						return strings.Trim(string(s.Values[i]), `"`)
					}
				}
				if s.Rest == "last" {
					t.Errorf("%d is beyond all ends, and gets the last value", h)
				}
				return ""
			}
			for _, end := range append(s.Ends, 1) {
				for _, h := range []uint64{end - 1, end} {
					if h >= s.Modulus {
						continue
					}
					if got, want := valueAt(h), variation(percentages, uint32(h)); got != want {
						t.Errorf("%d gets %q, want %q", h, got, want)
					}
				}
			}
		})
	}
}

func TestQueries(t *testing.T) {
	type properties = map[string]any
	tests := []struct {
		query string
		yes   []properties
		no    []properties
	}{
		{`plan eq "Pro"`, []properties{{"plan": "pro"}, {"plan": "PRO"}}, []properties{{}, {"plan": "pro "}, {"plan": 1}, {"plan": nil}, {"plan": []any{"pro"}}}},
		{`plan ne "pro"`, []properties{{"plan": "free"}}, []properties{{}, {"plan": "Pro"}, {"plan": 1}}},
		{`plan in ["pro", "x"]`, []properties{{"plan": "x"}}, []properties{{}, {"plan": "Pro"}, {"plan": true}}},
		{`mail ew "@Example.com"`, []properties{{"email": "ada@EXAMPLE.com"}}, []properties{{"mail": "ada@example.com"}}},
		{`age ge 18`, []properties{{"age": 18}, {"age": 18.5}}, []properties{{}, {"age": 17.9}, {"age": "18"}, {"age": 1e19}}},
		{`age eq 18`, []properties{{"age": 18.5}}, []properties{{"age": 19}}},
		{`age eq 18.0`, []properties{{"age": 18}}, []properties{{"age": 18.5}}},
		{`age ne 18.5`, []properties{{"age": 18}}, []properties{{}, {"age": 18.5}, {"age": "18"}}},
		{`age in [17, 18]`, []properties{{"age": 18}}, []properties{{"age": 18.5}, {"age": "18"}}},
		{`user.age in [17, 18]`, nil, []properties{{"user": properties{"age": 18}}}},
		{`beta ne true`, []properties{{"beta": false}}, []properties{{}, {"beta": true}, {"beta": "false"}}},
		{`version gt 1.2.3`, []properties{{"version": "1.2.10"}}, []properties{{"version": "1.2.3-rc.1"}, {"version": "v1.2.10"}, {"version": "2"}}},
		{`country eq null`, []properties{{}, {"country": nil}}, []properties{{"country": ""}}},
		{`country pr`, []properties{{"country": ""}}, []properties{{}, {"country": nil}}},
		{`key eq "U-1" and targetingKey pr`, []properties{{}}, nil},
		{`anonymous eq false`, []properties{{}, {"anonymous": "true"}, {"anonymous": false}}, []properties{{"anonymous": true}}},
		{`not (plan eq "pro")`, []properties{{}, {"plan": 1}}, []properties{{"plan": "pro"}}},
		// "and" and "or" bind alike.
		{`a eq 1 or b eq 1 and c eq 1`, []properties{{"b": 1, "c": 1}}, []properties{{"a": 1}, {"b": 1}}},
		// A comparison that fails ends all.
		{`a eq null or plan co 5`, []properties{{}}, []properties{{"a": 2}, {"a": 2, "plan": "5"}}},
		{`plan eq "x" or not (user.name eq "y")`, []properties{{"user": properties{}}, {"user": nil}}, []properties{{"user": "text"}, {"user": properties{"name": "Y"}}}},
		// Where the object is not set, the attribute compared before takes its place.
		{`plan eq "x" and user.name ne "y"`, []properties{{"plan": "x"}, {"plan": "x", "user": properties{"name": "z"}}}, []properties{{"plan": "x", "user": properties{}}}},
		{`plan eq "x" AND user.name ne "y"`, []properties{{"plan": "x", "user": properties{}}}, []properties{{"plan": "y"}}},
		{`{"==": [{"var": "age"}, "18"]}`, []properties{{"age": 18}, {"age": "18"}}, []properties{{}, {"age": " 18"}}},
		{`{"!": {"var": "list"}}`, []properties{{}, {"list": []any{0}}}, []properties{{"list": []any{1}}}},
		{`{"var": "o"}`, []properties{{"o": properties{}}}, []properties{{"o": []any{}}, {}}},
	}
	for _, test := range tests {
		query, _ := json.Marshal(test.query)
		f, s := convertFlag(t, fmt.Sprintf(
			`{"variations": {"on": true, "off": false}, "targeting": [{"query": %s, "variation": "on"}], "defaultRule": {"variation": "off"}}`, query))
		if len(f.Problems) > 0 {
			t.Errorf("%s: %q", test.query, f.Problems)
		}
		for want, list := range map[string][]properties{"true": test.yes, "false": test.no} {
			for _, p := range list {
				r, err := s.Flag("f", &flags.Request{DistinctID: "u-1", PersonProperties: p})
				if got := string(r.JSON()); err != nil || got != want {
					t.Errorf("%s for %v is %s (%v), want %s", test.query, p, got, err, want)
				}
			}
		}
	}
}

func TestProblems(t *testing.T) {
	const variations = `"variations": {"a": "x", "b": "y"}, `
	tests := []struct {
		name, flag string
		problems   []string // parts of them
		notes      []string
		active     bool
	}{
		{"whole", `"defaultRule": {"variation": "a"}`, nil, nil, true},
		{"unknown member", `"defaultRule": {"variation": "a", "weight": 1}`, []string{`"defaultRule.weight" is not known`}, nil, true},
		{"no default", `"targeting": []`, nil, []string{"does not load this flag, because it has no defaultRule"}, false},
		{"wrong operator", `"defaultRule": {"variation": "a"}, "targeting": [{"query": "x co 5", "variation": "a"}]`, nil, []string{"is not one for the type of the value"}, false},
		{"broken query", `"defaultRule": {"variation": "a"}, "targeting": [{"query": "x eq 'a'", "variation": "a"}]`, []string{"want a value such as"}, nil, true},
		{"more behind", `"defaultRule": {"variation": "a"}, "targeting": [{"query": "x eq 1 AND y eq 1", "variation": "a"}]`, nil, []string{`" AND y eq 1"`}, true},
		{"arithmetic", `"defaultRule": {"variation": "a"}, "targeting": [{"query": "{\"<\": [{\"+\": [1, 2]}, 4]}", "variation": "a"}]`, []string{"operator + cannot be converted"}, nil, true},
		{"two attributes", `"defaultRule": {"variation": "a"}, "targeting": [{"query": "{\"<\": [{\"var\": \"a\"}, {\"var\": \"b\"}]}", "variation": "a"}]`, []string{"two attributes"}, nil, true},
		{"unsure", `"defaultRule": {"percentage": {"a": 33.3, "b": 33.3, "c": 33.4}}, "variations": {"a": "x", "b": "y", "c": "z"}`, []string{"now 100000, now 99999"}, nil, true},
		{"later", `"defaultRule": {"variation": "a"}, "scheduledRollout": [{"date": "2026-12-01T00:00:00Z"}]`, []string{"by itself on 2026-12-01T00:00:00Z, by scheduledRollout"}, nil, true},
		{"in progress", `"defaultRule": {"progressiveRollout": {"initial": {"variation": "a", "date": "2026-10-01T00:00:00Z"}, "end": {"variation": "b", "date": "2026-12-01T00:00:00Z"}}}`, []string{"by itself until 2026-12-01T00:00:00Z"}, nil, true},
		{"not begun", `"defaultRule": {"variation": "a"}, "experimentation": {"start": "2026-12-01T00:00:00Z"}`, []string{"when its experiment begins"}, nil, false},
		{"running", `"defaultRule": {"variation": "a"}, "experimentation": {"end": "2026-12-01T00:00:00Z"}`, []string{"when its experiment ends"}, nil, true},
		{"over", `"defaultRule": {"variation": "a"}, "experimentation": {"end": "2026-10-01T00:00:00Z"}`, nil, []string{"has ended"}, false},
		{"disabled", `"defaultRule": {"variation": "a"}, "disable": true`, nil, nil, false},
		{"disabled rule", `"defaultRule": {"variation": "a"}, "targeting": [{"query": "x pr", "variation": "b", "disable": true}]`, nil, []string{"Rule 1 is disabled"}, true},
		{"lists", `"variations": {"a": ["x"]}, "defaultRule": {"variation": "a"}`, []string{`variation "a" is a list`}, nil, true},
		{"negative", `"defaultRule": {"percentage": {"a": -1, "b": 2}}`, []string{"negative"}, nil, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			flag := test.flag
			if !strings.Contains(flag, "variations") {
				flag = variations + flag
			}
			f, _ := convertFlag(t, "{"+flag+"}")
			check := func(what string, got, want []string) {
				if len(got) != len(want) {
					t.Fatalf("%s are %q, want %q", what, got, want)
				}
				for i := range got {
					if !strings.Contains(got[i], want[i]) {
						t.Errorf("%s %q, want %q in it", what, got[i], want[i])
					}
				}
			}
			check("problems", f.Problems, test.problems)
			check("notes", f.Notes, test.notes)
			if f.Active != test.active {
				t.Errorf("active is %v", f.Active)
			}
		})
	}
}

// TestLargeQueries has queries that would come to more comparisons than there is time and memory
// for.
func TestLargeQueries(t *testing.T) {
	list := func(n int, between, format string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i)
		}
		return strings.Join(parts, between)
	}
	nested := `{"var": "a"}`
	for range 60 {
		nested = `{"if": [` + nested + `, {"var": "b"}, {"var": "c"}]}`
	}
	for name, query := range map[string]string{
		"a chain":     list(20_000, " or ", "a eq %d"),
		"long":        list(100_000, " or ", "a eq %d"),
		"a list":      `{"or": [` + list(5_000, ",", `{"==": [{"var": "a"}, %d]}`) + `]}`,
		"which fails": `{"and": [` + list(1_000, ",", `{"<": [{"var": "a"}, {"if": [{"var": "b%d"}, 1]}]}`) + `]}`,
		"branches":    `{"if": [` + list(5_000, ",", `{"var": "a%d"}, {"var": "b"}`) + `]}`,
		"nested":      nested,
		"defaults":    strings.Repeat(`{"var": ["a", `, 500) + `1` + strings.Repeat(`]}`, 500),
	} {
		document, err := json.Marshal(map[string]any{"f": map[string]any{
			"variations": map[string]any{"a": true, "b": false}, "defaultRule": map[string]any{"variation": "a"},
			"targeting": []any{map[string]any{"query": query, "variation": "b"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := gofeatureflag.Convert(document, &convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if problems := p.Flags[0].Problems; (len(problems) == 0) != (name == "defaults") {
			t.Errorf("%s: %.200q", name, problems)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ document, want string }{
		{`[]`, "this is not a file of GO Feature Flag"},
		{`{"f": 1}`, `flag "f": it cannot be read`},
		{`{"f": {"on": true}}`, "want an object with variations and defaultRule"},
		{`{"f": {"variations": {"a": 1}, "disable": "yes"}}`, `flag "f": it cannot be read`},
		{`{"": {"variations": {"a": 1}}}`, "empty key"},
	} {
		if _, err := gofeatureflag.Convert([]byte(test.document), &convert.Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.document, err, test.want)
		}
	}
}

// TestSame converts a flag twice, and one that has moved: IDs follow the names of rules.
func TestSame(t *testing.T) {
	const flag = `{"variations": {"a": 1, "b": 2}, "defaultRule": {"percentage": {"a": 1, "b": 2}},
		"targeting": [{"name": "r", "query": "x pr", "variation": "a"}%s]}`
	one, _ := convertFlag(t, fmt.Sprintf(flag, ""))
	two, _ := convertFlag(t, fmt.Sprintf(flag, ""))
	more, _ := convertFlag(t, fmt.Sprintf(flag, `, {"query": "y pr", "variation": "b"}`))
	if !reflect.DeepEqual(one, two) {
		t.Error("a flag is not converted to the same twice")
	}
	if a, b := one.Rules.Rules, more.Rules.Rules; a[0].ID != b[0].ID || a[1].ID != b[2].ID {
		t.Error("a rule has another ID because of one behind it")
	}
}
