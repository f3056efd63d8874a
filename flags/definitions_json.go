package flags

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// Definitions marshal to the document that Decode reads. The types below need
// methods, since their JSON has three states or two forms.

// MarshalJSON writes null for ByPerson and an index for ByGroup. Inherited is
// an absent member, which the tag omitzero takes care of; alone it is null.
func (a Aggregation) MarshalJSON() ([]byte, error) {
	if i, ok := a.Index(); ok {
		return strconv.AppendInt(nil, int64(i), 10), nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Aggregation) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*a = ByPerson
		return nil
	}
	i, err := strconv.Atoi(string(b))
	if err != nil || i < 0 || i > 1<<20 {
		return fmt.Errorf("flags: aggregation_group_type_index: want null or an index, not %s", shorten(b))
	}
	*a = ByGroup(i)
	return nil
}

// MarshalJSON writes a property group, or a record for a stored cohort.
func (c Cohort) MarshalJSON() ([]byte, error) {
	switch {
	case c.Stored && c.Behavioral:
		return []byte(`{"cohort_type":"behavioral"}`), nil
	case c.Stored:
		return []byte(`{"is_static":true}`), nil
	case c.Properties == nil:
		return []byte(`{}`), nil
	}
	return json.Marshal(c.Properties)
}

// UnmarshalJSON reads every form of evaluation.md §5.1.
func (c *Cohort) UnmarshalJSON(b []byte) error {
	v, err := jsonscan.Parse(b, maxDepth)
	if err != nil {
		return fmt.Errorf("flags: cohort: %w", err)
	}
	d := decoder{out: new(Definitions)}
	if err := d.cohort(0, nil, v); err != nil {
		return err
	}
	*c = d.out.Cohorts[0]
	if c.fault != nil {
		return c.fault
	}
	return nil
}

// MarshalJSON writes a leaf as its filter and a group with its values.
func (n CohortNode) MarshalJSON() ([]byte, error) {
	if n.Leaf != nil {
		return json.Marshal(n.Leaf)
	}
	values := n.Values
	if values == nil {
		values = []CohortNode{}
	}
	return json.Marshal(struct {
		Type   string       `json:"type"`
		Values []CohortNode `json:"values"`
	}{n.Type, values})
}

// UnmarshalJSON reads a node of a cohort's tree.
func (n *CohortNode) UnmarshalJSON(b []byte) error {
	v, err := jsonscan.Parse(b, maxDepth)
	if err != nil {
		return fmt.Errorf("flags: cohort node: %w", err)
	}
	var fault *DefinitionError
	d := decoder{out: new(Definitions), fault: &fault}
	var out CohortNode
	if err := d.node(&out, nil, v, 0); err != nil {
		return err
	}
	if fault != nil {
		return fault
	}
	*n = out
	return nil
}
