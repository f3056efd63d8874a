package flags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// BenchmarkE20 evaluates a text flag with 3 rules of 2 filters each, which split a half of those
// whom they target. Its floor is the flag with condition sets of the same shape.
func BenchmarkE20(b *testing.B) {
	var groups, rules []string
	for i, country := range []string{"DE", "FR", "US"} {
		filters := fmt.Sprintf(`"properties":[{"key":"country","type":"person","value":%q},{"key":"seats","type":"person","operator":"gt","value":%d}]`, country, 10*(i+1))
		groups = append(groups, `{`+filters+`,"rollout_percentage":50}`)
		rules = append(rules, fmt.Sprintf(`{"rule_type":"experiment","targeting":{%s},"rollout_percentage":50,"experiment_id":null,"paused":false,"seed":"checkout-button",
			"variants":[{"key":"a","weight":50,"value":"blue"},{"key":"b","weight":50,"value":"red"}]}`, filters))
	}
	e := evaluator(b, `{"flags":[
		{"id":1,"key":"ruled-button","active":true,"filters":{"version":2,"return_type":"string","default_value":null,"rules":[`+strings.Join(rules, ",")+`]}},
		{"id":2,"key":"checkout-button","active":true,"filters":{"groups":[`+strings.Join(groups, ",")+`],"multivariate":{"variants":[
			{"key":"blue","rollout_percentage":50},{"key":"red","rollout_percentage":50}]}}}]}`)
	requests := realRequests(realPersons())
	ask := func(key string) func(b *testing.B) {
		return func(b *testing.B) {
			s, flag := e.Snapshot(), flags.ByKey(key)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				d, _ := flag.Detail(s, &requests[i&1023])
				if v, ok := d.Typed(); ok {
					sinkString = v.Text
				} else {
					sinkString = d.Variant()
				}
				i++
			}
		}
	}
	for i := range requests {
		ruled, _ := e.Snapshot().Detail("ruled-button", &requests[i])
		classic, _ := e.Snapshot().Detail("checkout-button", &requests[i])
		if v, _ := ruled.Typed(); v.Text != classic.Variant() {
			b.Fatalf("person %d: %q by rules, %q by condition sets", i, v.Text, classic.Variant())
		}
	}
	b.Run("flagstaff", ask("ruled-button"))
	b.Run("floor", ask("checkout-button"))
}
