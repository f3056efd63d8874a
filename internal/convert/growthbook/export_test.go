package growthbook_test

import (
	"encoding/json"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/growthbook"
)

// TestExport has what flags become that nobody has imported.
func TestExport(t *testing.T) {
	const (
		person = `{"type": "person", "case_sensitive": true, "strict_type": true, `
		needs  = `{"type": "flag", "key": "p", "operator": "flag_evaluates_to", "value": "x"}`
		half   = `{"type": "split", "split": {"hash": "fnv1a_32_utf16", "modulus": "1000", "suffix": "s", "ends": ["500"], "values": [true], "rest": "continue", "no_subject": "continue"}}`
	)
	for name, test := range map[string]struct{ filters, want string }{
		"nobody":            {`{"type": "any", "filters": []}`, ``},
		"everybody":         {``, `{}`},
		"an ID":             {`{"type": "person", "key": "distinct_id", "operator": "exact", "value": ["ada", "bob"], "case_sensitive": true}`, `{"condition": {"id": {"$in": ["ada", "bob"]}}}`},
		"a part":            {person + `"key": "company", "path": "/plan", "operator": "starts_with", "value": "a.b"}`, `{"condition": {"company.plan": {"$regex": "^a\\.b"}}}`},
		"two":               {person + `"key": "age", "operator": "gt", "value": 1},` + person + `"key": "beta", "operator": "exact", "value": true}`, `{"condition": {"age": {"$gt": 1}, "beta": true}}`},
		"one property":      {person + `"key": "age", "operator": "gt", "value": 1},` + person + `"key": "age", "operator": "lt", "value": 9}`, `{"condition": {"$and": [{"age": {"$gt": 1}}, {"age": {"$lt": 9}}]}}`},
		"not, if it is set": {person + `"key": "plan", "operator": "is_not", "value": "pro", "must_be_set": true}`, `{"condition": {"$and": [{"plan": {"$exists": true}}, {"$not": {"plan": "pro"}}]}}`},
		"an element":        {person + `"key": "tags", "operator": "ends_with", "value": "x", "any_element": true}`, `{"condition": {"$or": [{"tags": {"$regex": "x$"}}, {"tags": {"$elemMatch": {"$regex": "x$"}}}]}}`},
		"a flag":            {needs, `{"parentConditions": [{"id": "p", "condition": {"value": "x"}}]}`},
		"a draw":            {half, `{"filters": [{"attribute": "id", "seed": "s", "hashVersion": 1, "ranges": [[0, 0.5]]}]}`},
		"one of two kinds": {
			`{"type": "any", "filters": [` + needs + `, ` + person + `"key": "beta", "operator": "exact", "value": true}]}`,
			`{"parentConditions": [{"id": "p", "condition": {"value": "x"}}]}, {"condition": {"beta": true}}`,
		},
	} {
		p, err := convert.Read([]byte(`{"flags": [
			{"id": 1, "key": "f", "active": true, "filters": {"version": 2, "return_type": "number", "default_value": 0, "rules": [
				{"id": "11111111-1111-4111-8111-111111111111", "rule_type": "targeted_release", "targeting": {"properties": [` + test.filters + `]}, "value": 1},
				{"id": "21111111-1111-4111-8111-111111111111", "rule_type": "targeted_release", "targeting": {"properties": [` + half + `]}, "value": 2}]}},
			{"id": 2, "key": "off", "active": false, "filters": {"version": 2, "return_type": "number", "default_value": 5, "rules": []}},
			{"id": 3, "key": "p", "active": true, "filters": {"version": 2, "return_type": "string", "default_value": "x", "rules": [
				{"id": "31111111-1111-4111-8111-111111111111", "rule_type": "targeted_release", "targeting": {"properties": [` + half + `]}, "value": "y"}]}}]}`))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		document, refused, err := growthbook.Export(p, &convert.Options{})
		if err != nil || len(refused) > 0 {
			t.Errorf("%s: %v, refused %q", name, err, refused)
			continue
		}
		var got struct {
			Features map[string]struct {
				DefaultValue json.RawMessage
				Rules        []map[string]any
			}
		}
		if err := json.Unmarshal(document, &got); err != nil {
			t.Fatal(err)
		}
		f := got.Features["f"]
		for i := range f.Rules {
			delete(f.Rules[i], "id")
			delete(f.Rules[i], "force")
		}
		rules, err := json.Marshal(f.Rules[:len(f.Rules)-1])
		if err != nil {
			t.Fatal(err)
		}
		if text := string(rules[1 : len(rules)-1]); !sameFilters(t, text, test.want) {
			t.Errorf("%s: %s, want %s", name, text, test.want)
		}
		if off := got.Features["off"]; string(off.DefaultValue) != "null" || len(off.Rules) > 0 {
			t.Errorf("a flag that is off becomes %+v", off)
		}
	}
}
