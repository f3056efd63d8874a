package flags_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// TestOperands holds the kinds of operands to what Compile says about values.
func TestOperands(t *testing.T) {
	for _, tt := range []struct {
		name    string
		operand operators.Operand
		good    []string
		bad     []string // what can never match
	}{
		{"any", operators.OperandAny, []string{`"x"`, `1`, `["a",2]`, `{"a":1}`, `""`}, []string{`null`}},
		{"none", operators.OperandNone, []string{`null`, `"x"`, `[1]`}, nil},
		{"text", operators.OperandText, []string{`"x"`, `""`}, []string{`null`}},
		{"texts", operators.OperandTexts, []string{`["x","y"]`, `[]`}, []string{`null`}},
		{"number", operators.OperandNumber, []string{`1`, `-1.5e3`, `"1e3"`, `"inf"`}, []string{`null`, `"x"`, `true`, `[1]`}},
		{"range", operators.OperandRange, []string{`[1,2]`, `["1",2.5]`, `[1,1]`}, []string{`null`, `[2,1]`, `[1]`, `[1,2,3]`, `"1,2"`, `["a","b"]`}},
		{"date", operators.OperandDate, []string{`"2024-06-01"`, `"-7d"`, `"2024-06-01T12:00:00Z"`}, []string{`null`, `"soon"`, `20240601`}},
		{"version", operators.OperandVersion, []string{`"1.2.3"`}, []string{`null`, `"y"`, `"1.2.3.4.5-"`}},
		{"pattern", operators.OperandPattern, []string{`"^a+$"`, `""`}, []string{`null`, `"("`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			for o := range operators.All() {
				if o.Operand != tt.operand {
					continue
				}
				n++
				for _, value := range slices.Concat(tt.good, tt.bad) {
					s := compiled(t, fmt.Sprintf(`{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[
						{"key":"a","type":"person","operator":%q,"value":%s}]}]}}]}`, o.Name, value))
					var problems []string
					for _, p := range s.Problems() {
						problems = append(problems, p.Error())
					}
					if wantProblem := slices.Contains(tt.bad, value); wantProblem != (len(problems) > 0) {
						t.Errorf("operator %s with value %s: problems %q, want some: %v", o.Name, value, problems, wantProblem)
					}
				}
			}
			if n == 0 {
				t.Error("no operator needs it")
			}
		})
	}
}
