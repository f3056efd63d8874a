package judge

import (
	"bytes"
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// What is stored is read as the engine reads it.

// anyKey is the key of a flag where it does not matter.
const anyKey = "flag"

// modelOf returns filters as the engine reads them; what it does not understand is
// missing.
func modelOf(filters json.RawMessage, key string) flags.Filters {
	document := make([]byte, 0, len(filters)+len(key)+64)
	document = text.AppendQuoted(append(document, `{"flags":[{"id":1,"key":`...), key)
	document = append(append(append(document, `,"filters":`...), filters...), `}]}`...)
	d, err := flags.Decode(bytes.NewReader(document))
	if err != nil || len(d.Flags) != 1 {
		return flags.Filters{}
	}
	return d.Flags[0].Filters
}

// orEmpty returns an empty object for what is not JSON, or nested deeper than
// anything that this package returns.
func orEmpty(raw json.RawMessage) json.RawMessage {
	if _, err := jsonscan.Parse(raw, maxDepth); err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

// treeOf returns the tree of stored filters as the engine reads it, nil for none.
func treeOf(filters json.RawMessage) *flags.CohortNode {
	var c flags.Cohort
	if record, err := encode(map[string]any{"filters": orEmpty(filters)}); err == nil {
		_ = c.UnmarshalJSON(record) // what cannot be understood is missing
	}
	return c.Properties
}
