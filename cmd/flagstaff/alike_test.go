package main

import (
	"fmt"
	"testing"
)

// TestCheckAndImportJudgeAlike: check finds errors in a document if, and only if, an import
// leaves something of it out.
func TestCheckAndImportJudgeAlike(t *testing.T) {
	t.Parallel()
	server := serveProcess(t, "-store", t.TempDir()+"/flagstaff.db", "-drain", "0s")
	s := server.session(t)
	flag := func(members string) string {
		return `{"flags":[{"id":1,"key":"f","active":true,` + members + `}],"group_type_mapping":{"0":"company"}}`
	}
	filters := func(text string) string { return flag(`"filters":` + text) }
	condition := func(text string) string { return filters(`{"groups":[` + text + `]}`) }
	property := func(text string) string { return condition(`{"properties":[` + text + `]}`) }
	cohort := func(text string) string {
		return `{"cohorts":{"5":` + text + `},"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":5}]}]}}]}`
	}
	for i, tt := range []struct {
		document string
		sound    bool
	}{
		{condition(`{}`), true},
		{condition(`{"rollout_percentage":33.3,"variant":null,"description":7,"sort_key":null}`), true},
		{filters(`{"groups":[]}`), true},
		{filters(`{}`), true},
		{flag(`"name":"F"`), true}, // no filters
		{filters(`{"version":1,"groups":[{}]}`), true},
		{filters(`{"groups":[{}],"multivariate":{"variants":[]}}`), true},
		{filters(`{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100},{"key":"b"}]}}`), true},
		{filters(`{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":33.33},{"key":"b","rollout_percentage":33.33},{"key":"c","rollout_percentage":33.34}]}}`), true},
		{property(`{"key":"a","value":"x"}`), true},
		{property(`{"key":"a","type":"person","operator":"min","value":"7"}`), true},
		{property(`{"key":"a","type":"person","operator":"is_set"}`), true},
		{flag(`"evaluation_runtime":"SERVER","filters":{"groups":[{}]}`), true},
		{flag(`"active":false,"key":"g","filters":{"groups":[{}]}`), false}, // members twice
		{cohort(`{"type":"AND","values":[{"key":"plan","type":"person","value":"pro"}]}`), true},
		{cohort(`{"key":"plan","type":"person","value":"pro"}`), true},
		{cohort(`{}`), true},
		{cohort(`{"is_static":true}`), true},
		{`[{"id":1,"key":"f","active":true,"archived":false,"tags":["a"],"filters":{"groups":[{}]}}]`, true},
		{`{"count":1,"next":null,"results":[{"id":1,"key":"f","active":true,"filters":{"groups":[{}]}}]}`, true},
		{`[]`, true},

		{filters(`{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":70},{"key":"b","rollout_percentage":50}]}}`), false},
		{filters(`{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":33.33},{"key":"b","rollout_percentage":33.33},{"key":"c","rollout_percentage":33.33}]}}`), false},
		{filters(`{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"a","rollout_percentage":50}]}}`), false},
		{filters(`{"groups":[{}],"multivariate":{"variants":[{"key":"","rollout_percentage":100}]}}`), false},
		{filters(`{"groups":[{}],"multivariate":{"variants":[{"key":"a","name":7,"rollout_percentage":100}]}}`), false},
		{filters(`{"groups":[{}],"multivariants":{"variants":[]}}`), false},
		{condition(`{"rollout_percentage":120}`), false},
		{condition(`{"rollout_percentage":"50"}`), false},
		{condition(`{"share":50}`), false},
		{condition(`{"variant":"x"}`), false},
		{condition(`{"aggregation_group_type_index":3}`), false},
		{filters(`{"groups":{}}`), false},
		{filters(`[]`), false},
		{filters(`null`), false},
		{filters(`{"groups":[{}],"version":2}`), false},
		{filters(`{"groups":[{}],"payloads":{"x":1}}`), false},
		{filters(`{"groups":[{}],"payloads":{"true":"text"}}`), false},
		{filters(`{"groups":[{}],"holdout":{"id":1}}`), false},
		{filters(`{"groups":[{}],"holdout":{"id":1,"exclusion_percentage":101}}`), false},
		{filters(`{"groups":[{}],"early_exit":"no"}`), false},
		{filters(`{"groups":[{}],"groups":[]}`), false},
		{property(`{"key":"a","type":"person","operator":"equals","value":"x"}`), false},
		{property(`{"key":"a","type":"person","operator":"gt","value":"x"}`), false},
		{property(`{"key":"a","type":"person","operator":"between","value":[5,1]}`), false},
		{property(`{"key":"a","type":"person","operator":"icontains","value":5}`), false},
		{property(`{"key":"a","type":"person","operator":"icontains_multi","value":"x"}`), false},
		{property(`{"key":"a","type":"person","operator":"semver_eq","value":1.2}`), false},
		{property(`{"key":"a","type":"person","operator":"is_date_after","value":"soon"}`), false},
		{property(`{"key":"a","type":"person","operator":"regex","value":"("}`), false},
		{property(`{"key":"a","type":"person","operator":"exact"}`), false},
		{property(`{"key":"a","type":"person","operator":"in","value":1}`), false},
		{property(`{"key":7,"type":"person","value":"x"}`), false},
		{property(`{"key":"a","type":"event","value":"x"}`), false},
		{property(`{"key":"a","typ":"person","value":"x"}`), false},
		{property(`{"key":"id","type":"cohort","value":9}`), false},
		{property(`{"key":"id","type":"cohort","operator":"exact","value":9}`), false},
		{property(`{"key":"g","type":"flag","operator":"flag_evaluates_to","value":true}`), false},
		{property(`{"key":"f","type":"flag","operator":"flag_evaluates_to","value":true}`), false},
		{property(`{"key":"f","type":"flag","value":true}`), false},
		{`{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"g","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},{"id":2,"key":"g"}]}`, false},
		{flag(`"evaluation_runtime":"edge"`), false},
		{flag(`"bucketing_identifier":"cookie"`), false},
		{flag(`"bucketing_hash":"md5"`), false},
		{flag(`"evaluation_contexts_match_mode":"most"`), false},
		{flag(`"evaluation_contexts":"web"`), false},
		{flag(`"name":7`), false},
		{flag(`"tags":"a"`), false},
		{flag(`"archived":"no"`), false},
		{flag(`"enabled":true`), false},
		{`{"flags":[{"id":1,"key":"f","active":"yes"}]}`, false},
		{`{"flags":[{"id":1,"key":"f","active":1}]}`, false},
		{`{"flags":[{"id":1,"key":"f","filters":{"groups":[{"rollout_percentage":"50"}]}}]}`, false}, // off
		{`{"flags":[{"id":1,"key":"f","filters":{"groups":[{"variant":"x"}]}}]}`, false},
		{`{"flags":[{"id":1,"key":7}]}`, false},
		{`{"flags":[7]}`, false},
		{`{"flags":[{"id":1,"key":"f"},{"id":2,"key":"f"}]}`, false},
		{`{"flags":[],"timezone":"Europe/Atlantis"}`, false},
		{`{"flags":[],"bucketing_hash":"md5"}`, false},
		{`{"flags":[],"group_type_mapping":{"x":"company"}}`, false},
		{`{"flags":[],"group_types":{"0":"company"}}`, false},
		{cohort(`{"type":"XOR","values":[]}`), false},
		{cohort(`{"type":"AND","values":[{"key":"plan","type":"person","operator":"equals","value":"pro"}]}`), false},
		{cohort(`{"type":"AND","values":[{"key":"plan","type":"group","value":"pro"}]}`), false},
		{cohort(`{"type":"AND","values":[{"key":"bought","type":"behavioral","value":"performed_event"}]}`), false},
		{cohort(`{"filters":7}`), false},
		{cohort(`{"type":"AND","values":[],"values":[]}`), false},
		{`{"flags":{"a":{"state":"ENABLED","variants":{"on":true},"defaultVariant":"on"}}}`, false},
		{`{"version":1,"features":[{"name":"a","strategies":[]}]}`, false},
		{"a:\n  variations:\n    on: true\n  defaultRule:\n    variation: on\n", false},
		{`{"next":"https://x/?page=2","results":[]}`, false},
		{`{"flags":`, false},
		{`7`, false},
	} {
		file := write(t, fmt.Sprintf("%d.json", i), tt.document)
		check := call{args: []string{"check", file}}.here(t)
		imported := call{args: []string{"import", "-dry-run", file}, env: s.env}.here(t)
		if (check.Code == 0) != tt.sound || (imported.Code == 0) != tt.sound {
			t.Errorf("%s\nwant sound %v\ncheck: %d %s%s\nimport: %d %s%s", tt.document, tt.sound, check.Code, check.Stdout, check.Stderr, imported.Code, imported.Stdout, imported.Stderr)
		}
	}
}
