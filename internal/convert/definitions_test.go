package convert

import (
	"strings"
	"testing"
)

// TestReadRefuses has documents of which an export would write something else.
func TestReadRefuses(t *testing.T) {
	for document, want := range map[string]string{
		`{"flags": [{"id": 1, "key": "f", "filters": {}}, {"id": 2, "key": "f", "filters": {}}]}`: `two flags have the key "f"`,
		`{"flags": 1}`: "flags",
	} {
		if _, err := Read([]byte(document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", document, err, want)
		}
	}
	// One of the two is not exported.
	for _, other := range []string{`"deleted": true`, `"archived": true`} {
		p, err := Read([]byte(`{"flags": [{"id": 1, "key": "f", "filters": {}}, {"id": 2, "key": "f", "filters": {}, ` + other + `}]}`))
		if err != nil || len(p.Flags) != 1 {
			t.Errorf("%s: %v", other, err)
		}
	}
}
