package management

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// DefinitionsAccess is who may read the definitions of a project.
type DefinitionsAccess struct {
	Project *Project

	// Principal is nil if the key is the project's secret key.
	Principal *Principal
}

// DefinitionsAccess returns the project whose definitions a key opens: the
// project's secret key, or a personal API key with scope feature_flag:read
// (wire.md §5.1). The project is the one that ref names, as [Service.Access] has
// it, or else the one with the API key, or else the key's own; what is empty names
// none.
func (s *Service) DefinitionsAccess(ctx context.Context, key, ref, apiKey string) (*DefinitionsAccess, error) {
	if key == "" {
		return nil, errNotAuthenticated
	}
	if strings.HasPrefix(key, secretKeyPrefix) {
		p, err := s.projectBySecret(ctx, key)
		switch {
		case err != nil:
			return nil, err
		case !names(p, ref, apiKey):
			return nil, forbidden("The secret API token is that of another project.")
		}
		return &DefinitionsAccess{Project: p}, nil
	}
	principal, err := s.Authenticate(ctx, key, InHeader)
	if errors.Is(err, ErrUnauthenticated) {
		return nil, &Error{Kind: ErrUnauthenticated, Code: "authentication_failed", Detail: "Personal API key is invalid."}
	}
	if err != nil {
		return nil, err
	}
	if ref == "" || ref == "@current" && apiKey != "" {
		if ref, err = s.refOf(ctx, apiKey); err != nil {
			return nil, err
		}
	}
	a, err := s.Access(ctx, principal, ref, "feature_flag:read")
	if err != nil {
		return nil, err
	}
	return &DefinitionsAccess{Project: a.Project, Principal: principal}, nil
}

// names reports whether a project is the one that ref or else an API key names.
func names(p *Project, ref, apiKey string) bool {
	if ref == "" || ref == "@current" {
		return apiKey == "" || apiKey == p.APIKey
	}
	return ref == strconv.FormatInt(p.ID, 10)
}

// refOf names the project with an API key for Access; without a key the current
// one.
func (s *Service) refOf(ctx context.Context, apiKey string) (string, error) {
	if apiKey == "" {
		return "@current", nil
	}
	p, err := s.store.ProjectByKey(ctx, apiKey)
	if errors.Is(err, ErrNotFound) {
		return "", forbidden("You don't have access to the project.")
	}
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(p.ID, 10), nil
}

// projectBySecret returns the project with a secret key.
func (s *Service) projectBySecret(ctx context.Context, key string) (*Project, error) {
	const longest = 100
	wrong := &Error{Kind: ErrUnauthenticated, Code: "authentication_failed", Detail: "Secret API token is invalid."}
	if len(key) > longest {
		return nil, wrong
	}
	p, err := s.store.ProjectBySecret(ctx, HashKey(key))
	if errors.Is(err, ErrNotFound) {
		return nil, wrong
	}
	return p, err
}
