package flipt

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/converttest"
)

// valueOf says what share a bucket is in, with the formula of the server: -1 for none.
func valueOf(bucket int, shares []float32, normalizes bool) int {
	var ends []int
	total := float32(0)
	for _, s := range shares {
		total += s
	}
	sum := float32(0)
	for i, s := range shares {
		if normalizes {
			sum += float32((s / total) * 100)
			ends = append(ends, int(sum*10))
			if i == len(shares)-1 {
				ends[i] = 1000
			}
		} else if i == 0 {
			ends = append(ends, int(s*10))
		} else {
			ends = append(ends, ends[i-1]+int(s*10))
		}
	}
	if i := sort.SearchInts(ends, bucket+1); i < len(ends) {
		return i
	}
	return -1
}

// TestEnds asks the formula on both sides of each end.
func TestEnds(t *testing.T) {
	lists := [][]float32{
		{100},
		{50},
		{50, 50},
		{33.33, 33.33, 33.34},
		{0.1, 99.9},
		{0.05, 0.05},
		{14.29, 28.57, 57.14},
		{16.67, 16.67, 66.66},
		{70, 70},
		{12.5, 12.5, 12.5},
		{99.99, 0.01},
		{0.3, 0.6, 0.1},
		{1.1, 2.2, 3.3, 93.4},
	}
	for _, shares := range lists {
		for normalizes, ends := range map[bool][]uint64{false: cut(shares), true: normalized(shares)} {
			for i, end := range ends {
				for _, bucket := range []uint64{end - 1, end} {
					if bucket >= buckets { // before the first, or beyond the last
						continue
					}
					want := valueOf(int(bucket), shares, normalizes)
					got := slices.IndexFunc(ends, func(e uint64) bool { return bucket < e })
					if got != want {
						t.Errorf("%v, normalized %t: bucket %d at end %d is in share %d, want %d", shares, normalizes, bucket, i, got, want)
					}
				}
			}
		}
	}
}

// TestRoundedEnds has ends that the engine of Flipt's client-side libraries was seen to have.
func TestRoundedEnds(t *testing.T) {
	tests := []struct {
		shares []float32
		want   []uint64
	}{
		{[]float32{33.33, 33.33, 33.34}, []uint64{333, 667, 1000}},
		{[]float32{19.62, 3.69, 16.67, 45.73}, []uint64{229, 272, 466, 1000}},
		{[]float32{14.29, 28.57, 57.14}, []uint64{143, 429, 1000}},
		{[]float32{50, 25}, []uint64{667, 1000}},
		{[]float32{1.15, 98.85}, []uint64{12, 1000}},
		{[]float32{12.5, 12.5, 12.5}, []uint64{333, 667, 1000}},
	}
	for _, tt := range tests {
		if got := rounded(tt.shares); !slices.Equal(got, tt.want) {
			t.Errorf("%v: %d, want %d", tt.shares, got, tt.want)
		}
	}
}

func TestThresholdEnds(t *testing.T) {
	for _, percentage := range []float64{0, 0.01, 1, 33, 33.3, 50, 66.6, 99, 99.5, 99.999, 100, 150, -1, 16777217} {
		end := thresholdEnd(percentage)
		for _, bucket := range []uint64{end - 1, end} {
			if bucket < 100 && (bucket < end) != (float32(bucket) < float32(percentage)) {
				t.Errorf("bucket %d of a threshold of %v: end %d", bucket, percentage, end)
			}
		}
	}
}

const (
	someSegments = `"segments":[{"key":"all","name":"All"},{"key":"pro","name":"Pro","match_type":"ALL_MATCH_TYPE","constraints":[
		{"type":"STRING_COMPARISON_TYPE","property":"plan","operator":"eq","value":"pro"}]}]`
	aVariant = `{"key":"f","name":"F","enabled":true,"variants":[{"key":"a"},{"key":"b"}],"rules":[{"segment":"all","distributions":[{"variant":"a","rollout":%s},{"variant":"b","rollout":%s}]}]}`
)

func TestErrors(t *testing.T) {
	thirds := fmt.Sprintf(`{"flags":[`+aVariant+`],`+someSegments+`}`, "33.33", "33.33")
	tests := []struct {
		name, document, environment, version, want string
	}{
		{"no JSON", `flags: []`, "", "", "want the features of Flipt as JSON"},
		{"nothing", ``, "", "", "want the features"},
		{"another document", `{"features":{}}`, "", "", "want the features"},
		{"another member", `{"flags":[],"flagz":[]}`, "", "", `"flagz"`},
		{"an unknown version", `{"version":"2.0","flags":[]}`, "", "", `"2.0"`},
		{"several namespaces", `[{"namespace":"a","flags":[]},{"namespace":{"key":"b"},"flags":[]}]`, "", "", "a, b"},
		{"another namespace", `{"flags":[]}`, "shop", "", "default"},
		{"a flag without a key", `{"flags":[{"name":"F"}]}`, "", "", "no key"},
		{"a flag twice", `{"flags":[{"key":"f"},{"key":"f"}]}`, "", "", `"f"`},
		{"a segment twice", `[{"segments":[{"key":"f"}]},{"segments":[{"key":"f"}]}]`, "", "", `"f"`},
		{"shares that versions draw differently", thirds, "", "", "1.58 or 2.11"},
		{"not a version", thirds, "", "newest", `"newest"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Convert([]byte(tt.document), &convert.Options{Environment: tt.environment, Version: tt.version})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	document := fmt.Appendf(nil, `{"flags":[`+aVariant+`],`+someSegments+`}`, "33.33", "33.33")
	for version, want := range map[string]uint64{"1.58": 666, "v1.58.3": 666, "1": 666, "2.8.0": 666, "2.9": 1000, "2.11": 1000, "v2.9.1": 1000, "3.0": 1000, "old": 666, "new": 1000} {
		p, err := Convert(document, &convert.Options{Version: version})
		if err != nil {
			t.Fatal(err)
		}
		if ends := p.Flags[0].Rules.Rules[0].Split.Ends; ends[1] != want {
			t.Errorf("version %s: ends %v", version, ends)
		}
	}
	// Where both ways come to the same nobody has to say it.
	p, err := Convert(fmt.Appendf(nil, `{"flags":[`+aVariant+`],`+someSegments+`}`, "30", "70"), &convert.Options{})
	if err != nil || len(p.Flags[0].Problems) > 0 {
		t.Errorf("%v, %v", err, p)
	}
}

func TestNamespaces(t *testing.T) {
	document := []byte(`{"namespace":"a","flags":[{"key":"one"}]} {"namespace":{"key":"b","name":"B"},"flags":[{"key":"two"}]} {"namespace":"a","flags":[{"key":"three"}]}`)
	p, err := Convert(document, &convert.Options{Environment: "a"})
	if err != nil || len(p.Flags) != 2 || p.Flags[0].Key != "one" || p.Flags[1].Key != "three" {
		t.Errorf("%v, %+v", err, p)
	}
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name, flag, segment string
		want                string // "": the flag is exact
	}{
		{"fine", `"rules":[{"segment":"s","distributions":[{"variant":"a","rollout":100}]}],"variants":[{"key":"a"}]`, ``, ""},
		{"a segment that does not exist", `"rules":[{"segment":"x"}]`, ``, `the segment "x"`},
		{"a variant that does not exist", `"rules":[{"segment":"s","distributions":[{"variant":"x","rollout":100}]}]`, ``, `the variant "x"`},
		{"a share above 100", `"rules":[{"segment":"s","distributions":[{"variant":"a","rollout":101}]}],"variants":[{"key":"a"}]`, ``, `a share of 101`},
		{"an unknown member", `"salt":"x"`, ``, `"salt"`},
		{"an unknown member of a rule", `"rules":[{"segment":"s","when":"x"}]`, ``, `"when"`},
		{"an unknown type", `"type":"JSON_FLAG_TYPE"`, ``, `"JSON_FLAG_TYPE"`},
		{"an unknown operator of segments", `"rules":[{"segment":{"keys":["s"],"operator":"XOR"}}]`, ``, `"XOR"`},
		{"not a list", `"rules":{}`, ``, `"rules" is not an array`},
		{"an attachment that is too large a number", `"variants":[{"key":"a","attachment":{"n":1e300},"default":true}]`, ``, "cannot be kept"},
		{"an unknown type of constraint", `"rules":[{"segment":"s"}]`, `{"type":"SEMVER_COMPARISON_TYPE","property":"p","operator":"eq","value":"1.0.0"}`, `"SEMVER_COMPARISON_TYPE"`},
		{"an unknown operator", `"rules":[{"segment":"s"}]`, `{"type":"STRING_COMPARISON_TYPE","property":"p","operator":"regex","value":"1.0.0"}`, `"regex"`},
		{"not a number", `"rules":[{"segment":"s"}]`, `{"type":"NUMBER_COMPARISON_TYPE","property":"p","operator":"eq","value":"x"}`, `"x"`},
		{"not a time", `"rules":[{"segment":"s"}]`, `{"type":"DATETIME_COMPARISON_TYPE","property":"p","operator":"eq","value":"today"}`, `"today"`},
		{"not a list of numbers", `"rules":[{"segment":"s"}]`, `{"type":"NUMBER_COMPARISON_TYPE","property":"p","operator":"isoneof","value":"[1, \"2\"]"}`, `not a list`},
		{"an operator that the server does not know", `"rules":[{"segment":"s"}]`, `{"type":"NUMBER_COMPARISON_TYPE","property":"p","operator":"le","value":"1"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			document := `{"flags":[{"key":"f","name":"F","enabled":true,` + tt.flag + `}],"segments":[{"key":"s","name":"S","match_type":"ANY_MATCH_TYPE","constraints":[` + tt.segment + `]}]}`
			p, err := Convert([]byte(document), &convert.Options{Version: "2.11"})
			if err != nil {
				t.Fatal(err)
			}
			if problems := strings.Join(p.Flags[0].Problems, "\n"); (problems == "") != (tt.want == "") || !strings.Contains(problems, tt.want) {
				t.Errorf("problems %q, want some with %q", problems, tt.want)
			}
		})
	}
}

// FuzzConvert converts anything, and evaluates what comes out.
func FuzzConvert(f *testing.F) {
	f.Add(fmt.Appendf(nil, `{"flags":[`+aVariant+`,{"key":"g","type":"BOOLEAN_FLAG_TYPE","rollouts":[{"threshold":{"percentage":5,"value":true}},{"segment":{"keys":["pro","all"],"operator":"AND_SEGMENT_OPERATOR"}}]}],`+someSegments+`}`, "1", "2"))
	f.Add([]byte(`{"version":"1.6","namespace":"x","flags":[{"key":"f","variants":[{"key":"a","attachment":[1]},{"key":"b","default":true}],"rules":[{"segment":{"keys":["s"]}}]}],"segments":[{"key":"s","constraints":[
		{"type":"NUMBER_COMPARISON_TYPE","property":"p","operator":"isnotoneof","value":[1,2]},{"type":"ENTITY_ID_COMPARISON_TYPE","property":"e","operator":"notcontains","value":"x"},
		{"type":"DATETIME_COMPARISON_TYPE","property":"d","operator":"gte","value":"2024-01-01"},{"type":"BOOLEAN_COMPARISON_TYPE","property":"b","operator":"present"}]}]}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		p, err := Convert(document, &convert.Options{Version: "2.11"})
		if err != nil {
			return
		}
		again, err := Convert(document, &convert.Options{Version: "2.11"})
		if err != nil {
			t.Fatal(err)
		}
		converttest.Same(t, p, again)
		converttest.Exact(t, p, &flags.Request{DistinctID: "ada", PersonProperties: map[string]any{"p": 1.0, "d": "2024-01-01", "plan": "pro"}})
	})
}
