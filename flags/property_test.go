package flags_test

import (
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// manyKinds has a flag for each way in which evaluation can look at a request.
const manyKinds = `{"group_type_mapping":{"0":"company"},"flags":[
	{"id":1,"key":"text","active":true,"filters":{"groups":[{"properties":[{"key":"country","type":"person","operator":"exact","value":"de"}],"rollout_percentage":100}]}},
	{"id":2,"key":"number","active":true,"filters":{"groups":[{"properties":[{"key":"seats","type":"person","operator":"gt","value":1}],"rollout_percentage":99}]}},
	{"id":3,"key":"version","active":true,"filters":{"groups":[{"properties":[{"key":"version","type":"person","operator":"semver_gt","value":"1.2.3"}]}]}},
	{"id":4,"key":"date","active":true,"filters":{"groups":[{"properties":[{"key":"joined","type":"person","operator":"is_date_before","value":"-7d"}]}]}},
	{"id":5,"key":"regexp","active":true,"filters":{"groups":[{"properties":[{"key":"email","type":"person","operator":"regex","value":"[a-z]@example[.]com$"}]}]}},
	{"id":6,"key":"group","active":true,"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"size","type":"group","group_type_index":0,"operator":"gt","value":10}],"rollout_percentage":99}]}},
	{"id":7,"key":"dependent","active":true,"filters":{"groups":[{"properties":[{"key":"text","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
	{"id":8,"key":"cohort","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}},
	{"id":9,"key":"early","active":true,"filters":{"groups":[{"rollout_percentage":0}],"super_groups":[{"properties":[{"key":"$feature_enrollment/early","type":"person","operator":"exact","value":["true"]}],"rollout_percentage":100}]}},
	{"id":10,"key":"continuous","active":true,"ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":99}]}},
	{"id":11,"key":"device","active":true,"bucketing_identifier":"device_id","filters":{"groups":[{"rollout_percentage":99}]}},
	{"id":12,"key":"contexts","active":true,"evaluation_contexts":["app"],"filters":{"groups":[{"properties":[{"key":"distinct_id","type":"person","operator":"icontains","value":"user"}]}]}},
	{"id":13,"key":"many","active":true,"filters":{"groups":[{"properties":[
		{"key":"a","type":"person","operator":"is_not_set"},{"key":"b","type":"person","operator":"is_not_set"},{"key":"c","type":"person","operator":"is_not_set"},
		{"key":"city","type":"person","operator":"exact","value":"münchen"},{"key":"beta","type":"person","operator":"exact","value":true},{"key":"score","type":"person","operator":"lt","value":1}]}]}}
],"cohorts":{"1":{"type":"AND","values":[{"key":"plan","type":"person","operator":"exact","value":["Pro","Team"]}]}}}`

// TestPropertiesWithoutAllocation: a request that is built for one call, with its lists of
// properties, costs no allocation, whatever the flag looks at.
func TestPropertiesWithoutAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var e flags.Evaluator
	s := compiled(t, manyKinds)
	e.Swap(s)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for key := range s.Keys() {
		if n := testing.AllocsPerRun(200, func() {
			r := flags.Request{
				DistinctID: "user-1", Now: now, DeviceID: "device", AnonymousID: "anon",
				Filter: runtime.Filter{Kind: runtime.Server, Tags: []string{"app"}},
				Person: []flags.Property{
					flags.String("plan", "PRO"), flags.String("country", "DE"), flags.Int("seats", 42), flags.Float("score", 0.5), flags.Bool("beta", true),
					flags.String("version", "2.0.0"), flags.Time("joined", now.Add(-30*24*time.Hour)), flags.String("email", "a@example.com"),
					flags.String("city", "MÜNCHEN"), flags.Bool("$feature_enrollment/early", true),
				},
				Groups:   map[string]string{"company": "acme"},
				OfGroups: []flags.GroupProperty{flags.Of("company", flags.Int("size", 42))},
			}
			if !e.Bool(key, &r, false) || e.Variant(key, &r, "") != "true" {
				t.Fatalf("flag %q is off", key)
			}
			if v, ok := s.Lookup(key, &r); !ok || v != "true" {
				t.Fatalf("flag %q is off", key)
			}
			if result, err := s.Flag(key, &r); err != nil || !result.Enabled {
				t.Fatalf("flag %q is off", key)
			}
		}); n != 0 {
			t.Errorf("flag %q costs %v allocations, want none", key, n)
		}
	}
}
