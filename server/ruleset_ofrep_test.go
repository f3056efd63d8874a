package server_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRulesOverOFREP is rules.md §4.6 in OpenFeature's remote evaluation protocol, for one flag and for
// all.
func TestRulesOverOFREP(t *testing.T) {
	a := newRules(t, ruleDocument, nil)
	const body = `{"context":{"targetingKey":"ada","plan":"pro"}}`
	header := []string{"Authorization", "Bearer phc_acme"}
	bulk := ofrepAnswer(t, a.Server, ofrep("", body, header...), 200)
	for n, row := range rowsOfRules {
		id := float64(map[bool]int{false: n + 1, true: n + 2}[n >= 19])
		if row.metadata == "" || id > 22 {
			continue // condition sets, see wire.md §7.2
		}
		status, code := 200, ""
		switch {
		case rowFailed(row.code):
			status, code = 500, "GENERAL"
		case row.code == "missing_group_key":
			status, code = 400, "INVALID_CONTEXT"
		}
		one := ofrepAnswer(t, a.Server, ofrep(row.key, body, header...), status)
		withoutSeeds(t, row.key, map[string]any{"value": one.Value, "metadata": one.Metadata})
		for way, e := range map[string]evaluation{"one": one, "all": bulk.of(row.key)} {
			if code != "" {
				if e.Key != row.key || e.ErrorCode != code || e.ErrorDetails == "" || e.Value != nil || e.Reason != "" {
					t.Errorf("%s, %s: %+v, want %s", row.key, way, e, code)
				}
				continue
			}
			delete(e.Metadata, "requestId")
			var want map[string]any
			if err := json.Unmarshal([]byte(`{`+row.metadata+`}`), &want); err != nil {
				t.Fatal(err)
			}
			want["hasExperiment"] = want["has_experiment"]
			delete(want, "has_experiment")
			want["flagId"], want["id"], want["config_version"], want["version"] = id, id, 2.0, map[bool]float64{true: 4}[n == 0]
			want["reason"], want["reason_code"] = row.code, row.code
			if row.index >= 0 {
				want["conditionIndex"], want["condition_index"] = float64(row.index), float64(row.index)
			}
			reason := map[string]string{"targeting_match": "TARGETING_MATCH", "experiment_split": "SPLIT"}[row.code]
			if reason == "" {
				reason = "DEFAULT"
			}
			variant, _ := want["variant_key"].(string)
			if diff := cmp.Diff(want, e.Metadata); diff != "" || e.Reason != reason || e.Variant != variant || !cmp.Equal(e.Value, decoded(t, row.value)) {
				t.Errorf("%s, %s: %+v, want the value %s and %s\n%s", row.key, way, e, row.value, reason, diff)
			}
		}
	}
	// A null, and an inactive flag, have no member value, so that the client's default counts.
	var answer struct{ Flags []map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(bodyText(t, ofrep("", body, header...).do(a))), &answer); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range answer.Flags {
		if key := string(f["key"]); key == `"none-null"` || key == `"held-own"` || key == `"inactive"` {
			found++
			if _, ok := f["value"]; ok || string(f["reason"]) != map[bool]string{true: `"DISABLED"`, false: `"DEFAULT"`}[key == `"inactive"`] {
				t.Errorf("%s", f)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d flags of 3", found)
	}
	group := `{"context":{"targetingKey":"ada","groups":{"company":"acme"}}}`
	if e := ofrepAnswer(t, a.Server, ofrep("group", group, header...), 200); e.Value != true || e.Reason != "DEFAULT" {
		t.Errorf("a group: %+v", e)
	}
}
