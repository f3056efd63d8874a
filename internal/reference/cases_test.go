package reference_test

import (
	"fmt"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// TestCases evaluates all rows of §16, and checks that no row is missing.
func TestCases(t *testing.T) {
	rows := map[int]bool{}
	for i, c := range reference.Cases() {
		rows[c.Row] = true
		t.Run(fmt.Sprintf("%03d %s #%d", c.Row, c.Name, i), func(t *testing.T) {
			results, partial := parse(t, c.Document).Evaluate(c.Request)
			if err := c.Check(results, partial); err != nil {
				t.Errorf("Evaluate(%s): %v", c.Document, err)
			}
		})
	}
	for row := 1; row <= 182; row++ {
		if !rows[row] {
			t.Errorf("no case for row %d of section 16", row)
		}
	}
	if len(rows) != 182 {
		t.Errorf("%d rows, want 182", len(rows))
	}
}

// TestCaseCheck checks that Check notices wrong results.
func TestCaseCheck(t *testing.T) {
	c := reference.Cases()[0]
	good, partial := parse(t, c.Document).Evaluate(c.Request)
	for _, tt := range []struct {
		name    string
		results []reference.Result
		partial bool
	}{
		{"absent flag", nil, partial},
		{"partial", good, !partial},
		{"other value", []reference.Result{{Key: good[0].Key, Code: good[0].Code}}, partial},
		{"variant", []reference.Result{{Key: good[0].Key, Enabled: true, HasVariant: true, Code: good[0].Code, Description: good[0].Description}}, partial},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if c.Check(tt.results, tt.partial) == nil {
				t.Error("Check() = nil, want an error")
			}
		})
	}
}

func parse(t *testing.T, document string) *reference.Document {
	t.Helper()
	d, err := reference.Parse([]byte(document))
	if err != nil {
		t.Fatalf("Parse(%s): %v", document, err)
	}
	return d
}
