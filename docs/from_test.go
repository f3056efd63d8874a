package docs_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// personRow is a row of a table of persons and the values that they get.
var personRow = regexp.MustCompile("(?m)^\\| `(\\{.*\\})` \\| `([^`]+)` \\|$")

// snapshotOf compiles the n-th document of a page, in which there are no problems.
func snapshotOf(t *testing.T, page string, n int) *flags.Snapshot {
	t.Helper()
	blocks := jsonBlock.FindAllStringSubmatch(read(t, page), -1)
	if len(blocks) <= n {
		t.Fatalf("%s has %d documents", page, len(blocks))
	}
	d, err := flags.Decode(strings.NewReader(blocks[n][1]))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range s.Problems() {
		t.Errorf("%s, document %d: %v", page, n, p)
	}
	return s
}

// TestExamplesOfOtherProducts: the flags that are written for Flagstaff give the
// persons below them the values that the pages say.
func TestExamplesOfOtherProducts(t *testing.T) {
	for _, tt := range []struct{ page, flag string }{
		{"from-launchdarkly.md", "new-checkout"},
		{"from-unleash.md", "new-checkout"},
		{"from-go-feature-flag.md", "scream-level"},
	} {
		s := snapshotOf(t, tt.page, 0)
		rows := personRow.FindAllStringSubmatch(read(t, tt.page), -1)
		if len(rows) < 3 {
			t.Errorf("%s has %d persons", tt.page, len(rows))
		}
		for _, row := range rows {
			var person map[string]any
			if err := json.Unmarshal([]byte(row[1]), &person); err != nil {
				t.Errorf("%s: %s: %v", tt.page, row[1], err)
				continue
			}
			id, _ := person["distinct_id"].(string)
			r, err := s.Flag(tt.flag, &flags.Request{DistinctID: id, PersonProperties: person})
			if err != nil || r.Text() != row[2] {
				t.Errorf("%s: %s gets %q, %v; the page says %q", tt.page, row[1], r.Text(), err, row[2])
			}
		}
	}
}

// TestWeightsOfOneRule: the condition sets of migrate.md give the weights
// that it promises.
func TestWeightsOfOneRule(t *testing.T) {
	const persons = 20_000
	s := snapshotOf(t, "migrate.md", 0)
	got := make(map[string]int)
	for i := range persons {
		r, err := s.Flag("scream-level", &flags.Request{DistinctID: fmt.Sprint("user-", i), PersonProperties: map[string]any{"beta": true}})
		if err != nil {
			t.Fatal(err)
		}
		got[r.Text()]++
	}
	for variant, want := range map[string]float64{"low": 0.10, "medium": 0.50, "high": 0.40} {
		if weight := float64(got[variant]) / persons; math.Abs(weight-want) > 0.02 {
			t.Errorf("%s has a weight of %.3f, want %.2f", variant, weight, want)
		}
	}
	if r, err := s.Flag("scream-level", &flags.Request{DistinctID: "user-1"}); err != nil || r.Text() != "low" {
		t.Errorf("without beta: %q, %v; want low", r.Text(), err)
	}
}
