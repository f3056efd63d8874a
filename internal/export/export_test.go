package export_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/export"
)

// A document is written record by record, and looks as if it was written at once.
func TestDocumentIsIndented(t *testing.T) {
	flag := func(text string) json.RawMessage { return json.RawMessage(text) }
	var many export.Project
	for i := range 250 {
		many.Flags = append(many.Flags, flag(fmt.Sprintf(`{"id":%d,"key":"flag-%[1]d","filters":{"groups":[{}]}}`, i)))
	}
	for name, p := range map[string]export.Project{
		"nothing": {},
		"many":    many,
		"records": {
			Flags: []json.RawMessage{
				flag(`{"id":2,"key":"b<&>","active":true,"tags":["x","y"],"filters":{"groups":[],"payloads":{"true":"[1, 2]"}}}`),
				flag(`{"id":1,"key":"a","filters":{"groups":[{"properties":[],"rollout_percentage":null}]},"experiment_set":[7]}`),
			},
			Cohorts:    []json.RawMessage{flag(`{"id":4,"name":"x","filters":{}}`), flag(`{"id":3,"name":"y","is_static":true,"filters":{"a":1}}`)},
			GroupTypes: map[string]string{"0": "company", "1": "team"},
			Timezone:   "Europe/Vienna",
		},
	} {
		document, _, err := p.Document()
		if err != nil {
			t.Fatal(err)
		}
		var compact, want bytes.Buffer
		if err := json.Compact(&compact, document); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := json.Indent(&want, compact.Bytes(), "", "  "); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String()+"\n", string(document)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
