package subjects_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/subjects"
)

const document = `{"flags":[
	{"id":1,"key":"f","active":true,"filters":{"feature_enrollment":true,"groups":[
		{"properties":[{"key":"plan","type":"person","operator":"exact","value":["pro","team"]}]},
		{"properties":[{"key":"age","type":"person","operator":"gt","value":18}]},
		{"properties":[{"key":"id","type":"cohort","value":2}]}]}},
	{"id":2,"key":"g","active":true,"filters":{"aggregation_group_type_index":0,"groups":[
		{"properties":[{"key":"seats","type":"group","group_type_index":0,"operator":"exact","value":"9"}]}]}}],
	"cohorts":{"2":{"type":"AND","values":[{"key":"since","type":"person","operator":"is_date_after","value":"-7d"}]}},
	"group_type_mapping":{"0":"company"}}`

func definitions(tb testing.TB) *flags.Definitions {
	tb.Helper()
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// TestBranches: among a thousand subjects each flag has each of its reasons, and each filter
// matches and fails.
func TestBranches(t *testing.T) {
	d := definitions(t)
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	known, random := subjects.Of(d), rand.New(rand.NewPCG(1, 2))
	for n := range 1000 {
		for key, r := range s.Evaluate(known.Draw(random, n, time.Unix(1.8e9, 0))).All() {
			seen[fmt.Sprintf("%s %t %s %d", key, r.Enabled, r.Reason.Code, r.Reason.ConditionIndex)] = true
		}
	}
	for _, want := range []string{
		"f true super_condition_value 0", "f false super_condition_value 0", "f true condition_match 0", "f true condition_match 1", "f true condition_match 2",
		"f false no_condition_match 2", "g true condition_match 0", "g false no_condition_match 0", "g false no_group_type 0",
	} {
		if !seen[want] {
			t.Errorf("no subject gets %q", want)
		}
	}
	if t.Failed() {
		t.Logf("what they get: %v", seen)
	}
}

func ExampleSubjects_Draw() {
	d, _ := flags.Decode(strings.NewReader(document))
	r := subjects.Of(d).Draw(rand.New(rand.NewPCG(1, 2)), 1, time.Now())
	fmt.Println(r.DistinctID, r.PersonProperties, r.Groups)
	// Output:
	// person-1 map[$feature_enrollment/f:true age:19 plan:pro] map[company:company-14]
}
