package configcat

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/converttest"
)

// TestEnds asks the formula of ConfigCat on both sides of each end: a bucket of a hundred is in
// the first option for which it is below the sum of percentages.
func TestEnds(t *testing.T) {
	for _, percentages := range [][]int{{100}, {0, 100}, {50, 50}, {33, 33, 34}, {1, 1}, {60, 60}, {0, 0}, {99, 1}, {5, 0, 95}} {
		options := make([]map[string]any, len(percentages))
		for i, p := range percentages {
			options[i] = map[string]any{"p": p, "v": map[string]any{"i": i}}
		}
		document, _ := json.Marshal(map[string]any{"f": map[string]any{"s": map[string]any{"t": 2, "v": map[string]any{"i": -1}, "p": options}}})
		p, err := Convert(document, &convert.Options{})
		if err != nil || len(p.Flags[0].Problems) > 0 {
			t.Fatal(err, p)
		}
		split := p.Flags[0].Rules.Rules[0].Split
		for _, end := range split.Ends {
			for _, bucket := range []uint64{end - 1, end} {
				if bucket >= 100 {
					continue
				}
				want, sum := -1, 0
				for i, percentage := range percentages {
					if sum += percentage; int64(bucket) < int64(sum) {
						want = i
						break
					}
				}
				got := slices.IndexFunc(split.Ends, func(e uint64) bool { return bucket < e })
				if got != want || got >= 0 && string(split.Values[got]) != strconv.Itoa(got) {
					t.Errorf("%v: bucket %d is in option %d, want %d", percentages, bucket, got, want)
				}
			}
		}
	}
}

// TestBuckets finds identifiers on both sides of an end, and wants their values.
func TestBuckets(t *testing.T) {
	s := compiled(t, `{"f":{"key":{"t":0,"v":{"b":false},"p":[{"p":37,"v":{"b":true}},{"p":63,"v":{"b":false}}]}}}`)
	for _, bucket := range []uint32{36, 37} {
		id := ""
		for i := 0; ; i++ {
			id = strconv.Itoa(i)
			if sum := sha1.Sum([]byte("key" + id)); binary.BigEndian.Uint32(sum[:])>>4%100 == bucket {
				break
			}
		}
		result, err := s.Flag("key", &flags.Request{DistinctID: id})
		if err != nil || string(result.JSON()) != strconv.FormatBool(bucket < 37) {
			t.Errorf("bucket %d: %s, %v", bucket, result.JSON(), err)
		}
	}
}

func compiled(t *testing.T, document string) *flags.Snapshot {
	t.Helper()
	p, err := Convert([]byte(document), &convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return converttest.Compile(t, p)
}

func TestErrors(t *testing.T) {
	tests := []struct{ name, document, want string }{
		{"no JSON", `f: {}`, "want config JSON"},
		{"no settings", `{"p":{}}`, "want config JSON"},
		{"another member", `{"f":{},"x":1}`, `"x"`},
		{"version 5", `{"f":{"a":{"v":true,"t":0,"i":"1","p":[],"r":[]}}}`, `"a"`},
		{"an unknown type", `{"f":{"a":{"v":{"b":true},"t":9}}}`, `"a"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Convert([]byte(tt.document), &convert.Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	condition := func(c string) string { return `"t":0,"v":{"b":false},"r":[{"c":[` + c + `],"s":{"v":{"b":true}}}]` }
	tests := []struct {
		name, setting string
		want          string // "": the flag is exact
	}{
		{"fine", condition(`{"u":{"a":"Email","c":28,"s":"x"}}`), ""},
		{"an empty text", `"t":1,"v":{"s":""}`, "empty text"},
		{"an empty text of a rule", `"t":1,"v":{"s":"a"},"r":[{"s":{"v":{"s":""}}}]`, "cannot be kept"},
		{"another type of value", `"t":1,"v":{"b":true}`, "not a text"},
		{"several values", `"t":1,"v":{"b":true,"s":"x"}`, "not a text"},
		{"a number that is too large", `"t":3,"v":{"d":1e300}`, "cannot be kept"},
		{"an unknown member", `"t":0,"v":{"b":true},"salt":"x"`, `"salt"`},
		{"an unknown comparator", condition(`{"u":{"a":"Email","c":36,"s":"x"}}`), "no comparator"},
		{"no value", condition(`{"u":{"a":"Email","c":28,"l":["x"]}}`), `no value "s"`},
		{"a value of the wrong type", condition(`{"u":{"a":"Email","c":10,"d":"x"}}`), `"d" is not a number`},
		{"a broken hash with a length", condition(`{"u":{"a":"Email","c":22,"l":["x"]}}`), "not a length"},
		{"no condition", condition(`{}`), "not one about"},
		{"a segment that does not exist", condition(`{"s":{"s":7,"c":0}}`), "segment that does not exist"},
		{"a flag that does not exist", condition(`{"p":{"f":"x","c":0,"v":{"b":true}}}`), `"x"`},
		{"a value of another type than the flag's", condition(`{"p":{"f":"other","c":0,"v":{"b":true}}}`), "cannot be read"},
		{"a flag that is not exact", condition(`{"p":{"f":"inexact","c":0,"v":{"s":"a"}}}`), "the flag inexact"},
		{"itself", condition(`{"p":{"f":"f","c":0,"v":{"b":true}}}`), "depends on itself"},
		{"one in a circle", condition(`{"p":{"f":"circle","c":0,"v":{"b":true}}}`), "depends on itself"},
		{"a segment that cannot be read", condition(`{"s":{"s":0,"c":0}}`), `the segment "Bad"`},
		{"versions that cannot be read", condition(`{"u":{"a":"v","c":4,"l":["1.2"]}},{"u":{"a":"v","c":9,"s":"1"}}`), ""},
		{"a percentage below 0", `"t":0,"v":{"b":false},"p":[{"p":-1,"v":{"b":true}}]`, "left out"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			document := `{"s":[{"n":"Bad","r":[{"a":"x","c":99}]}],"f":{"f":{` + tt.setting + `},"other":{"t":2,"v":{"i":1}},"inexact":{"t":1,"v":{"s":""}},
				"circle":{` + condition(`{"p":{"f":"circle","c":0,"v":{"b":true}}}`) + `}}}`
			p, err := Convert([]byte(document), &convert.Options{})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(p.Flags, func(f convert.Flag) bool { return f.Key == "f" })
			if problems := strings.Join(p.Flags[i].Problems, "\n"); (problems == "") != (tt.want == "") || !strings.Contains(problems, tt.want) {
				t.Errorf("problems %q, want some with %q", problems, tt.want)
			}
		})
	}
}

// TestReadable wants filters that people can edit where these compare in the same way.
func TestReadable(t *testing.T) {
	p, err := Convert([]byte(`{"f":{"f":{"t":0,"v":{"b":false},"r":[{"c":[{"u":{"a":"Email","c":32,"l":["@example.org"]}},{"u":{"a":"Identifier","c":1,"l":["ada"]}}],"s":{"v":{"b":true}}}]}}}`), &convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	document, err := p.Flags[0].Filters()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"operator":"ends_with"`, `"key":"distinct_id"`, `"operator":"is_not"`} {
		if !strings.Contains(string(document), want) {
			t.Errorf("%s lacks %s", document, want)
		}
	}
}

// FuzzConvert converts anything, and evaluates what comes out.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(`{"p":{"s":"salt"},"s":[{"n":"S","r":[{"a":"p","c":17,"l":["ab"]}]}],"f":{"a":{"t":0,"v":{"b":true},"r":[{"c":[{"s":{"s":0,"c":1}},{"p":{"f":"b","c":1,"v":{"d":1}}}],"s":{"v":{"b":false}}}]},
		"b":{"t":3,"a":"p","v":{"d":1},"p":[{"p":10,"v":{"d":2}}]}}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		p, err := Convert(document, &convert.Options{})
		if err != nil {
			return
		}
		again, err := Convert(document, &convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		converttest.Same(t, p, again)
		converttest.Exact(t, p, &flags.Request{DistinctID: "ada", PersonProperties: map[string]any{"p": 1.0, "Email": "ada@example.org", "v": "1.2.3"}})
	})
}
