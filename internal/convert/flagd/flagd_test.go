package flagd_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/converttest"
	"github.com/flagstaff-go/flagstaff/internal/convert/flagd"
)

// convertFlag converts a file with one flag.
func convertFlag(t testing.TB, version, flag string) (*convert.Flag, *flags.Snapshot) {
	t.Helper()
	p, err := flagd.Convert([]byte(`{"flags": {"f": `+flag+`}, "$evaluators": {"paying": {"==": [{"var": "plan"}, "pro"]}, "nested": {"!": {"$ref": "paying"}}}}`), &convert.Options{Version: version})
	if err != nil {
		t.Fatal(err)
	}
	return &p.Flags[0], converttest.Compile(t, p)
}

// newVariant is the place of the share that a hash is in, as flagd draws now; -1 beyond all.
func newVariant(weights []int, hash uint32) int {
	total, sum := uint64(0), uint64(0)
	for _, w := range weights {
		total += uint64(w)
	}
	bucket := uint64(hash) * total >> 32
	for i, w := range weights {
		if sum += uint64(w); bucket < sum {
			return i
		}
	}
	return -1
}

// oldVariant is the same as flagd drew before.
func oldVariant(weights []int, hash uint32) int {
	total, sum := 0, 0.0
	for _, w := range weights {
		total += w
	}
	ratio := math.Abs(float64(int32(hash))) / math.MaxInt32
	bucket := ratio * 100
	for i, w := range weights {
		percent := 100 * float64(w) / float64(total)
		if sum += percent; bucket < sum {
			return i
		}
	}
	return -1
}

func TestEnds(t *testing.T) {
	tests := [][]int{{50, 50}, {1}, {1, 2}, {0, 1}, {1, 0}, {33, 33, 34}, {1, 1, 1}, {7, 0, 13, 1}, {25, 25, 25, 25}, {1, 1000000}, {10, 20, 30, 40}, {3, 3, 3, 1}, {1, 2147483646}, {2147483647}}
	for version, variantOf := range map[string]func([]int, uint32) int{"new": newVariant, "old": oldVariant} {
		for _, weights := range tests {
			t.Run(fmt.Sprint(version, weights), func(t *testing.T) {
				var shares, variants []string
				for i, w := range weights {
					shares = append(shares, fmt.Sprintf(`["v%d", %d]`, i, w))
					variants = append(variants, fmt.Sprintf(`"v%d": "v%d"`, i, i))
				}
				if len(shares) == 1 { // the old flagd wants two
					shares = append(shares, `["v0", 0]`)
				}
				f, _ := convertFlag(t, version, fmt.Sprintf(`{"state": "ENABLED", "variants": {%s}, "defaultVariant": "v0", "targeting": {"fractional": [%s]}}`,
					strings.Join(variants, ","), strings.Join(shares, ",")))
				var beyond *flags.RuleSplit // who gets the default of the code
				var draw *flags.RuleSplit
				for i := range f.Rules.Rules {
					r := &f.Rules.Rules[i]
					if r.Split != nil {
						draw = r.Split
						break
					}
					beyond = r.Targeting[0].Split
				}
				if draw.Hash != "murmur3_32" || draw.HashSeed != 0 || draw.Modulus != 0 || draw.Prefix != "f" || draw.Suffix != "" || draw.Subject != "" {
					t.Errorf("it draws %+v", draw)
				}
				valueAt := func(s *flags.RuleSplit, h uint64) string {
					for i, end := range s.Ends {
						if h < end {
							return string(s.Values[i])
						}
					}
					return string(s.Values[len(s.Values)-1])
				}
				check := func(h uint64) {
					if h >= 1<<32 {
						return
					}
					want := `""`
					if i := variantOf(weights, uint32(h)); i >= 0 {
						want = fmt.Sprintf(`"v%d"`, i)
					}
					got := valueAt(draw, h)
					if beyond != nil && valueAt(beyond, h) == "true" {
						got = `""`
					}
					if got != want {
						t.Errorf("%d gets %s, want %s", h, got, want)
					}
				}
				ends := append([]uint64{1, 1 << 31, 1 << 32}, draw.Ends...)
				if beyond != nil {
					ends = append(ends, beyond.Ends...)
				}
				for _, end := range ends {
					check(end - 1)
					check(end)
				}
			})
		}
	}
}

func TestTargeting(t *testing.T) {
	type properties = map[string]any
	const head = `{"state": "ENABLED", "variants": {"on": "on", "off": "off", "true": "yes"}, "defaultVariant": "off", "targeting": `
	tests := []struct {
		targeting string
		want      map[string][]properties // by value
	}{
		{`{}`, map[string][]properties{"off": {{}}}},
		{`null`, map[string][]properties{"off": {{}}}},
		{`"on"`, map[string][]properties{"on": {{}}}},
		{`"nothing"`, map[string][]properties{"": {{}}}},
		{`{"if": [{"$ref": "paying"}, "on"]}`, map[string][]properties{"on": {{"plan": "pro"}}, "off": {{}, {"plan": "Pro"}}}},
		{`{"if": [{"$ref": "unknown"}, "on"]}`, map[string][]properties{"": {{}}}},
		{`{"if": [{"in": [{"var": "age"}, "18 19"]}, "on", "off"]}`, map[string][]properties{"on": {{"age": "18"}}, "": {{"age": 18}, {}}}},
		{`{"starts_with": [{"var": "mail"}, "a@"]}`, map[string][]properties{"yes": {{"mail": "a@b"}}, "": {{"mail": "b@a"}}, "off": {{}, {"mail": 1}}}},
		{`{"sem_ver": [{"var": "v"}, "~", "1.2"]}`, map[string][]properties{"yes": {{"v": "V1.2.9"}, {"v": 1.2}}, "": {{"v": "1.3"}}, "off": {{"v": "x"}, {}}}},
		{`{"var": "choice"}`, map[string][]properties{"on": {{"choice": "on"}}, "yes": {{"choice": true}, {"choice": "true"}}, "off": {{}, {"choice": "off"}}, "": {{"choice": 1}}}},
		{`{"fractional": ["seed", ["on", 1], ["off", 0]]}`, map[string][]properties{"on": {{}}}},
		{`{"fractional": [["on", 1.5]]}`, map[string][]properties{"off": {{}}}},
		{`{"fractional": [{"var": "team"}, ["on"]]}`, map[string][]properties{"on": {{}, {"team": ""}, {"team": "x"}}, "off": {{"team": 1}}}},
		{`{"fractional": [{"cat": ["a", {"var": "team"}]}, ["on"]]}`, map[string][]properties{"on": {{}, {"team": 1}, {"team": "x"}}, "": {{"team": true}}}},
	}
	for _, test := range tests {
		f, s := convertFlag(t, "new", head+test.targeting+"}")
		if len(f.Problems) > 0 {
			t.Errorf("%s: %q", test.targeting, f.Problems)
		}
		for want, list := range test.want {
			for _, p := range list {
				r, err := s.Flag("f", &flags.Request{DistinctID: "u-1", PersonProperties: p})
				var got string
				if value := r.JSON(); value != nil {
					_ = json.Unmarshal(value, &got)
				}
				if err != nil || got != want {
					t.Errorf("%s for %v is %q (%v), want %q", test.targeting, p, got, err, want)
				}
			}
		}
	}
}

// TestVersions has what has changed besides the draws.
func TestVersions(t *testing.T) {
	type properties = map[string]any
	const head = `{"state": "ENABLED", "variants": {"on": "on", "off": "off", "false": "no"}, "defaultVariant": "off", "targeting": `
	for _, test := range []struct {
		targeting string
		of        properties
		old, now  string
	}{
		{`{"if": [{"and": [{"var": "n"}, true]}, "on"]}`, properties{"n": 0}, "off", "off"},
		{`{"if": [{"and": [{"var": "n"}, {"==": [1, 1]}]}, "on"]}`, properties{}, "on", "off"},
		{`{"if": [{"and": [{"var": "n"}, 1]}, "on"]}`, properties{"n": 0}, "on", "off"},
		{`{"if": [{"and": []}, "on"]}`, nil, "on", "off"},
		{`{"or": [{"var": "n"}]}`, properties{}, "no", "off"},
		{`{"ends_with": [{"var": "n"}, "x"]}`, properties{"n": 1}, "no", "off"},
		{`{"starts_with": [{"var": "n"}, "x"]}`, properties{"n": 1}, "off", "off"},
		{`{"if": [{"sem_ver": [{"var": "n"}, "=", "1.0.0"]}, "on"]}`, properties{"n": "V1.0.0"}, "off", "on"},
		{`{"if": [{"==": [{"var": "n"}]}, "off", "on"]}`, nil, "", "on"},
		{`{"fractional": [["on", 1]]}`, nil, "off", "on"},
	} {
		for version, want := range map[string]string{"old": test.old, "new": test.now} {
			f, s := convertFlag(t, version, head+test.targeting+"}")
			r, err := s.Flag("f", &flags.Request{DistinctID: "u-1", PersonProperties: test.of})
			var got string
			if value := r.JSON(); value != nil {
				_ = json.Unmarshal(value, &got)
			}
			if err != nil || got != want || len(f.Problems) > 0 {
				t.Errorf("%s: %s for %v is %q (%v, %q), want %q", version, test.targeting, test.of, got, err, f.Problems, want)
			}
		}
	}
}

func TestProblems(t *testing.T) {
	const head = `{"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off", "targeting": `
	for _, test := range []struct{ targeting, want string }{
		{`{"if": [{"<": [{"var": "$flagd.timestamp"}, 5]}, "on"]}`, "depends on the time"},
		{`{"if": [{"<": [{"+": [1, 2]}, 5]}, "on"]}`, "operator + cannot"},
		{`{"if": [{"<": [{"var": "a"}, {"var": "b"}]}, "on"]}`, "two attributes"},
		{`{"if": [{"$ref": "nested"}, "on"]}`, "refers to others"},
		{`{"fractional": [["on", {"var": "weight"}]]}`, "of the operator fractional"},
		{`{"fractional": [{"cat": [{"var": "a"}, {"var": "b"}]}, ["on"]]}`, "two attributes"},
		{`{"if": [{"==": [{"var": "list.0"}, 1]}, "on"]}`, "element of a list"},
	} {
		f, s := convertFlag(t, "new", head+test.targeting+"}")
		if len(f.Problems) != 1 || !strings.Contains(f.Problems[0], test.want) {
			t.Errorf("%s: %q, want %q", test.targeting, f.Problems, test.want)
		}
		if r, err := s.Flag("f", &flags.Request{DistinctID: "u-1"}); err != nil || string(r.JSON()) != "false" {
			t.Errorf("%s is %s (%v), want the default variant", test.targeting, r.JSON(), err)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ document, version, want string }{
		{`{"flags": {}}`, "", "say which version has served the users, new or old"},
		{`[]`, "new", "this is not a file of flagd"},
		{`{"flags": 5}`, "new", "want flags by their keys"},
		{`{"flags": {"f": {"variants": {"a": 1}, "defaultVariant": "b"}}}`, "new", `defaultVariant "b" is not one of its variants`},
		{`{"flags": {"f": {"state": 1}}}`, "new", "it cannot be read"},
	} {
		_, err := flagd.Convert([]byte(test.document), &convert.Options{Version: test.version})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.document, err, test.want)
		}
	}
}

func FuzzConvert(f *testing.F) {
	for _, seed := range []string{
		`{"flags": {"f": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off", "targeting":
			{"if": [{"$ref": "x"}, {"fractional": [{"var": "team"}, ["on", 1], ["off", 2]]}, {"var": "y"}]}}}, "$evaluators": {"x": {"in": [{"var": "a"}, ["b", [1, 2]]]}}}`,
		`{"flags": [{"key": "f", "state": "DISABLED", "variants": {"a": {}, "b": {"x": 1}}, "targeting": {"and": [{"sem_ver": [{"var": "v"}, "^", "1"]}, "a"]}}]}`,
		`{"flags": {"f": {"variants": {"1": 1, "true": 2}, "targeting": {"or": [{"ends_with": [{"var": ["e", "x"]}, "x"]}, {"fractional": [{"cat": [{"var": "$flagd.flagKey"}, {"var": "e"}]}, [1, 3], [true]]}]}}}}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, document []byte, old bool) {
		o := &convert.Options{Version: "new"}
		if old {
			o.Version = "old"
		}
		if p, err := flagd.Convert(document, o); err == nil {
			converttest.Compile(t, p)
		}
	})
}
