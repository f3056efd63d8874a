package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/export"
)

// Filters returns the rule set as JSON of a flag's filters.
func (f *Flag) Filters() (json.RawMessage, error) {
	filters := flags.Filters{Version: 2, RuleSet: &f.Rules}
	return filters.Encode()
}

// Document returns a definitions document with the flags and cohorts, and the names of group
// types by index. IDs of flags are numbers from 1, in their order.
func (p *Project) Document(groupTypes []string) ([]byte, error) {
	out := export.Project{GroupTypes: make(map[string]string)}
	for i, name := range groupTypes {
		out.GroupTypes[strconv.Itoa(i)] = name
	}
	keys := make(map[string]bool) // of which none may be the ID of another flag
	for i := range p.Flags {
		keys[p.Flags[i].Key] = true
	}
	id := 0
	for i := range p.Flags {
		f := &p.Flags[i]
		for id++; keys[strconv.Itoa(id)]; id++ {
		}
		filters, err := f.Filters()
		if err != nil {
			return nil, fmt.Errorf("flag %s: %w", f.Key, err)
		}
		raw, err := json.Marshal(map[string]any{
			"id": id, "key": f.Key, "name": f.Description, "active": f.Active, "archived": f.Archived, "tags": f.Tags,
			"has_experiment": f.Experiment, "filters": filters,
		})
		if err != nil {
			return nil, fmt.Errorf("flag %s: %w", f.Key, err)
		}
		out.Flags = append(out.Flags, raw)
	}
	for i := range p.Cohorts {
		c := &p.Cohorts[i]
		tree, err := c.Criteria.Encode()
		if err != nil {
			return nil, fmt.Errorf("cohort %s: %w", c.Name, err)
		}
		raw, err := json.Marshal(map[string]any{"id": c.ID, "name": c.Name, "description": c.Description, "is_static": false, "filters": json.RawMessage(tree)})
		if err != nil {
			return nil, fmt.Errorf("cohort %s: %w", c.Name, err)
		}
		out.Cohorts = append(out.Cohorts, raw)
	}
	document, _, err := out.Document()
	return document, err
}

// Definitions returns what [Project.Document] does, read.
func (p *Project) Definitions(groupTypes []string) (*flags.Definitions, error) {
	document, err := p.Document(groupTypes)
	if err != nil {
		return nil, err
	}
	return flags.Decode(bytes.NewReader(document))
}
