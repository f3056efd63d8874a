package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Filters returns the rule set as JSON of a flag's filters.
func (f *Flag) Filters() (json.RawMessage, error) {
	filters := flags.Filters{Version: 2, RuleSet: &f.Rules}
	return filters.Encode()
}

// Document returns a definitions document with the flags and cohorts, and the names of group
// types by index. IDs of flags are numbers from 1, in their order.
func (p *Project) Document(groupTypes []string) ([]byte, error) {
	type flag struct {
		ID            int             `json:"id"`
		Key           string          `json:"key"`
		Name          string          `json:"name,omitempty"`
		Active        bool            `json:"active"`
		Archived      bool            `json:"archived,omitempty"`
		Tags          []string        `json:"tags,omitempty"`
		HasExperiment bool            `json:"has_experiment"`
		Filters       json.RawMessage `json:"filters"`
	}
	type cohort struct {
		ID          int64           `json:"id"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Static      bool            `json:"is_static"`
		Filters     json.RawMessage `json:"filters"`
	}
	document := struct {
		Flags      []flag            `json:"flags"`
		Cohorts    []cohort          `json:"cohorts"`
		GroupTypes map[string]string `json:"group_type_mapping"`
	}{Flags: []flag{}, Cohorts: []cohort{}, GroupTypes: make(map[string]string)}
	for i, name := range groupTypes {
		document.GroupTypes[strconv.Itoa(i)] = name
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
		document.Flags = append(document.Flags, flag{
			ID: id, Key: f.Key, Name: f.Description, Active: f.Active, Archived: f.Archived, Tags: f.Tags, HasExperiment: f.Experiment, Filters: filters,
		})
	}
	for i := range p.Cohorts {
		c := &p.Cohorts[i]
		tree, err := c.Criteria.Encode()
		if err != nil {
			return nil, fmt.Errorf("cohort %s: %w", c.Name, err)
		}
		document.Cohorts = append(document.Cohorts, cohort{
			ID: c.ID, Name: c.Name, Description: c.Description, Filters: tree,
		})
	}
	return json.Marshal(document)
}

// Definitions returns what [Project.Document] does, read.
func (p *Project) Definitions(groupTypes []string) (*flags.Definitions, error) {
	document, err := p.Document(groupTypes)
	if err != nil {
		return nil, err
	}
	return flags.Decode(bytes.NewReader(document))
}
