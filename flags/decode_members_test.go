package flags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/members/memberstest"
)

// complete has each member that evaluation.md §1.1 to §1.6 and §5.1 describe, in
// objects that are complete without each other's help.
const complete = `{
	"property_matching_version": 2, "minimal_flag_called_events": false, "bucketing_hash": "sha1",
	"group_type_mapping": {"0": "company"},
	"cohorts": [{"id": 1, "deleted": false, "is_static": false, "cohort_type": null,
		"filters": {"properties": {"type": "AND", "values": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro", "negation": false}]}}}],
	"flags": [{
		"id": 1, "key": "f", "name": "", "active": true, "deleted": false, "version": 1,
		"ensure_experience_continuity": false, "bucketing_identifier": "distinct_id", "bucketing_hash": "sha1",
		"evaluation_runtime": "all", "evaluation_contexts": [], "evaluation_contexts_match_mode": "any", "is_remote_configuration": false, "has_encrypted_payloads": false, "has_experiment": true,
		"filters": {
			"version": 1, "aggregation_group_type_index": null, "early_exit": false, "feature_enrollment": false,
			"multivariate": {"variants": [{"key": "a", "name": "A", "rollout_percentage": 100}]},
			"payloads": {"a": "1"}, "holdout": {"id": 4, "exclusion_percentage": 0},
			"groups": [{"rollout_percentage": 0, "variant": "a", "aggregation_group_type_index": null,
				"properties": [{"key": "company", "type": "group", "operator": "exact", "value": "x", "group_type_index": 0, "negation": false},
					{"key": "id", "type": "cohort", "value": 1, "operator": "in"}]}]}}]}`

// TestMisspelt: a member with a wrong name is never passed over in silence
// (evaluation.md §1.8).
func TestMisspelt(t *testing.T) {
	for _, p := range compiled(t, complete).Problems() {
		if p.Severity != flags.SeverityNote {
			t.Fatalf("the complete document has a problem: %v", p)
		}
	}
	names := 0
	for wrong := range memberstest.Misspelt(complete, "0", "a") {
		// A cohort of a map may have any tree; "properties" there is no member of §1.
		names++
		d, err := flags.Decode(strings.NewReader(wrong.Document))
		if err != nil {
			continue // the document is refused
		}
		if s := compile(t, d); !hasError(s) {
			t.Errorf("%s: no error: %v", wrong, s.Problems())
		}
	}
	if names < 200 {
		t.Errorf("%d names were wrong, want all of the document", names)
	}
}

func hasError(s *flags.Snapshot) bool {
	for _, p := range s.Problems() {
		if p.Severity == flags.SeverityError {
			return true
		}
	}
	return false
}

// TestUnknownMembers: what an unknown member of an object means.
func TestUnknownMembers(t *testing.T) {
	flag := func(members string) string {
		return `{"flags":[{"id":1,"key":"f","active":true,` + members + `}]}`
	}
	condition := func(members string) string { return flag(`"filters":{"groups":[{` + members + `}]}`) }
	for _, tt := range []struct {
		name, document string
		severity       flags.Severity // of the only problem
		path, text     string
		on             bool
	}{
		{"rollout", condition(`"rollout":10`), flags.SeverityError, "/filters/groups/0/rollout", "unknown member, write rollout_percentage: 10; the flag fails", false},
		{"camel case", condition(`"rolloutPercentage":10`), flags.SeverityError, "/filters/groups/0/rolloutPercentage", "write rollout_percentage", false},
		{"property", condition(`"property":[{"key":"a","value":1}]`), flags.SeverityError, "/filters/groups/0/property", "write properties", false},
		{"beside the right one", condition(`"rollout":10,"rollout_percentage":100`), flags.SeverityNote, "/filters/groups/0/rollout", "ignored", true},
		{"null", condition(`"aggregationGroupTypeIndex":null`), flags.SeverityError, "/filters/groups/0/aggregationGroupTypeIndex", "write aggregation_group_type_index", false},
		{"a new member", condition(`"rollout_percentage":100,"schedule":{"at":1}`), flags.SeverityNote, "/filters/groups/0/schedule", "ignored", true},
		{"three letters", condition(`"ttl":10`), flags.SeverityNote, "/filters/groups/0/ttl", "ignored", true},
		{"pct", condition(`"pct":10`), flags.SeverityError, "/filters/groups/0/pct", "write rollout_percentage", false},
		{"percentile", condition(`"percentile":10`), flags.SeverityError, "/filters/groups/0/percentile", "write rollout_percentage", false},
		{"share", condition(`"share":10`), flags.SeverityError, "/filters/groups/0/share", "write rollout_percentage", false},
		{"weight", condition(`"weight":10`), flags.SeverityError, "/filters/groups/0/weight", "write rollout_percentage", false},
		{"traffic", condition(`"traffic":10`), flags.SeverityError, "/filters/groups/0/traffic", "write rollout_percentage", false},
		{"typ", condition(`"properties":[{"key":"a","value":"x","typ":"person"}]`), flags.SeverityError, "/filters/groups/0/properties/0/typ", "write type", false},
		{"Ruling92: multivariant", flag(`"filters":{"groups":[{}],"multivariant":{"variants":[]}}`), flags.SeverityError, "/filters/multivariant", "write multivariate", false},
		{"Ruling92: multivariants", flag(`"filters":{"groups":[{}],"multivariate":null,"multivariants":{"variants":[]}}`), flags.SeverityError, "/filters/multivariants", "write multivariate", false},
		{"Ruling92: variant in filters", flag(`"filters":{"groups":[{}],"multivariate":null,"variant":[]}`), flags.SeverityError, "/filters/variant", "write multivariate", false},
		{"Ruling92: variant in multivariate", flag(`"filters":{"groups":[{}],"multivariate":{"variant":[]}}`), flags.SeverityError, "/filters/multivariate/variant", "write variants", false},
		{"Ruling92: multivariants in multivariate", flag(`"filters":{"groups":[{}],"multivariate":{"multivariants":[]}}`), flags.SeverityError, "/filters/multivariate/multivariants", "write variants", false},
		{"enabled", flag(`"enabled":false,"filters":{"groups":[{}]}`), flags.SeverityError, "/enabled", "write active", false},
		{"rollout of the flag", flag(`"rollout":10,"filters":{"groups":[{}]}`), flags.SeverityError, "/rollout", "write filters.groups[0].rollout_percentage", false},
		{"rollout percentage of the flag", flag(`"rollout_percentage":10,"filters":{"groups":[{}]}`), flags.SeverityNote, "/rollout_percentage", "did you mean filters.groups[0].rollout_percentage?", true},
		{"rollout percentage of the flag, null", flag(`"rollout_percentage":null,"filters":{"groups":[{}]}`), 0, "", "", true},
		{"rollout percentage of all condition sets", flag(`"filters":{"groups":[{}],"rollout_percentage":10}`), flags.SeverityError, "/filters/rollout_percentage", "write groups[0].rollout_percentage", false},
		{"contexts", flag(`"environments":["docs"],"filters":{"groups":[{}]}`), flags.SeverityError, "/environments", "write evaluation_contexts", false},
		{"of the public system", flag(`"team_id":1,"is_simple_flag":true,"filters":{"groups":[{"users_affected":3,"sort_key":"a"}]}`), 0, "", "", true},
		{"an operator", condition(`"properties":[{"key":"distinct_id","type":"person","value":"u","op":"is_not"}]`), flags.SeverityError, "/filters/groups/0/properties/0/op", "write operator", false},
		{"another language", flag(`"filters":{"version":3,"rules":[]}`), flags.SeverityError, "/filters/version", "unknown configuration language", false},
		{"the document", `{"group_types":{"0":"a"},"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{}]}}]}`, flags.SeverityError, "/group_types", "write group_type_mapping", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compiled(t, tt.document)
			problems := s.Problems()
			switch {
			case tt.path == "" && len(problems) > 0:
				t.Errorf("problems: %v, want none", problems)
			case tt.path != "" && (len(problems) != 1 || problems[0].Severity != tt.severity || problems[0].Path != tt.path || !strings.Contains(problems[0].Error(), tt.text)):
				t.Errorf("problems: %v, want one %v at %s: %s", problems, tt.severity, tt.path, tt.text)
			}
			r, err := s.Flag("f", &flags.Request{DistinctID: "u"})
			if err != nil || r.Enabled != tt.on {
				t.Errorf("Flag = %+v, %v; want %v", r, err, tt.on)
			}
		})
	}
}

// TestUnknownMembersOnce: a new member in every flag is one note.
func TestUnknownMembersOnce(t *testing.T) {
	var list []string
	for i := range 500 {
		list = append(list, fmt.Sprintf(`{"id":%d,"key":"f%d","filters":{"groups":[{"schedule":1}]},"owner":"x"}`, i+1, i))
	}
	s := compiled(t, `{"flags":[`+strings.Join(list, ",")+`]}`)
	if n := len(s.Problems()); n != 2 {
		t.Errorf("%d problems, want one for each of the two names: %v", n, s.Problems()[:min(n, 5)])
	}
}
