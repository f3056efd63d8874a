package management

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Definitions returns what evaluation needs of a project: its flags that are not
// deleted, of every kind, its cohorts and its group types. An error means that
// something is stored which no Service has written.
func Definitions(list []FeatureFlag, cohorts []Cohort, groupTypes map[int]string) (*flags.Definitions, error) {
	document := struct {
		Flags      []flagDefinition   `json:"flags"`
		GroupTypes map[int]string     `json:"group_type_mapping"`
		Cohorts    []cohortDefinition `json:"cohorts"`
	}{make([]flagDefinition, len(list)), groupTypes, make([]cohortDefinition, len(cohorts))}
	for i := range list {
		document.Flags[i] = definitionOf(&list[i])
	}
	for i := range cohorts {
		c := &cohorts[i]
		document.Cohorts[i] = cohortDefinition{ID: c.ID, Filters: c.Filters, Static: c.Static, Deleted: c.Deleted}
	}
	b, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("management: definitions: %w", err)
	}
	return flags.Decode(bytes.NewReader(b))
}

// A flagDefinition is a flag as flags.Decode reads it.
type flagDefinition struct {
	ID                int64           `json:"id"`
	Key               string          `json:"key"`
	Name              string          `json:"name"`
	Active            bool            `json:"active"`
	Version           int             `json:"version"`
	Filters           json.RawMessage `json:"filters,omitempty"`
	Continuity        *bool           `json:"ensure_experience_continuity"`
	Bucketing         string          `json:"bucketing_identifier,omitempty"`
	BucketingHash     string          `json:"bucketing_hash,omitempty"`
	Runtime           string          `json:"evaluation_runtime,omitempty"`
	Contexts          []string        `json:"evaluation_contexts"`
	RemoteConfig      bool            `json:"is_remote_configuration"`
	EncryptedPayloads bool            `json:"has_encrypted_payloads"`
	HasExperiment     bool            `json:"has_experiment"`
}

func definitionOf(f *FeatureFlag) flagDefinition {
	return flagDefinition{
		ID: f.ID, Key: f.Key, Name: f.Name, Active: f.Active && !f.Archived, Version: f.Version, Filters: f.Filters, Continuity: f.Continuity,
		Bucketing: f.Bucketing, BucketingHash: f.BucketingHash, Runtime: f.Runtime, Contexts: f.Contexts,
		RemoteConfig: f.RemoteConfig, EncryptedPayloads: f.EncryptedPayloads, HasExperiment: f.HasExperiment,
	}
}

type cohortDefinition struct {
	ID      int64           `json:"id"`
	Filters json.RawMessage `json:"filters,omitempty"`
	Static  bool            `json:"is_static"`
	Deleted bool            `json:"deleted"`
}
