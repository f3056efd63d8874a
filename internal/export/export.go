package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// A Project is what a document has. Flags and Cohorts are as the management API shows them,
// of this or of the public system.
type Project struct {
	Flags, Cohorts []json.RawMessage
	GroupTypes     map[string]string // by index
	Timezone       string            // "" if it is not known
}

// A flag is a flag of a document: what it is, without what it was, and without what is
// usual.
type flag struct {
	ID            int64           `json:"id"`
	Key           string          `json:"key"`
	Name          string          `json:"name,omitempty"`
	Active        bool            `json:"active"`
	Archived      bool            `json:"archived,omitempty"`
	Tags          []string        `json:"tags,omitempty"`
	Filters       json.RawMessage `json:"filters"`
	Continuity    bool            `json:"ensure_experience_continuity,omitempty"`
	Runtime       string          `json:"evaluation_runtime,omitempty"`
	Bucketing     string          `json:"bucketing_identifier,omitempty"`
	BucketingHash string          `json:"bucketing_hash,omitempty"`
	Contexts      []string        `json:"evaluation_contexts,omitempty"`
	ContextMatch  string          `json:"evaluation_contexts_match_mode,omitempty"`
	RemoteConfig  bool            `json:"is_remote_configuration,omitempty"`
	HasExperiment bool            `json:"has_experiment"`
}

type cohort struct {
	ID          int64           `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Static      bool            `json:"is_static"`
	Filters     json.RawMessage `json:"filters,omitempty"`
}

// Document returns the project as a definitions document, which depends on its content
// alone, and the keys of the flags that it leaves out: payloads that are encrypted cannot
// be read elsewhere. The error names the record that cannot be read.
func (p *Project) Document() (document []byte, leftOut []string, err error) {
	list := []flag{}
	for n, raw := range p.Flags {
		var f struct {
			flag
			Secret      bool              `json:"has_encrypted_payloads"`
			Experiments []json.RawMessage `json:"experiment_set"` // of the public system, which shows no more
		}
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, nil, fmt.Errorf("flag %d: %w", n+1, err)
		}
		if f.Secret {
			leftOut = append(leftOut, f.Key)
			continue
		}
		f.HasExperiment = f.HasExperiment || len(f.Experiments) > 0
		f.Runtime = unless("all", f.Runtime)
		f.Bucketing = unless("distinct_id", f.Bucketing)
		f.ContextMatch = unless("any", f.ContextMatch)
		list = append(list, f.flag)
	}
	slices.SortFunc(list, func(a, b flag) int { return cmp.Compare(a.Key, b.Key) })
	cohorts := []cohort{}
	for n, raw := range p.Cohorts {
		var c cohort
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, nil, fmt.Errorf("cohort %d: %w", n+1, err)
		}
		if c.Static {
			c.Filters = nil
		}
		cohorts = append(cohorts, c)
	}
	slices.SortFunc(cohorts, func(a, b cohort) int { return cmp.Compare(a.ID, b.ID) })
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(struct {
		Flags      []flag            `json:"flags"`
		Cohorts    []cohort          `json:"cohorts"`
		GroupTypes map[string]string `json:"group_type_mapping"`
		Timezone   string            `json:"timezone,omitempty"`
	}{list, cohorts, p.GroupTypes, p.Timezone})
	return b.Bytes(), leftOut, err
}

// unless returns a value, or "" if it is the usual one.
func unless(usual, value string) string {
	if value == usual {
		return ""
	}
	return value
}
