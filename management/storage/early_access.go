package storage

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// An EarlyAccessFeature is something unfinished that persons can enrol in
// (management.md §13.9).
type EarlyAccessFeature struct {
	ID               uuid.UUID
	Project          int64
	Flag             int64 // unique
	Name             string
	Description      string
	Stage            string
	DocumentationURL string
	Payload          json.RawMessage // an object, or nil
	Created          time.Time
}

// Public returns the feature as clients receive it, as JSON (wire.md §4.4).
func (f *EarlyAccessFeature) Public(flagKey string) ([]byte, error) {
	payload := f.Payload
	if payload == nil {
		payload = json.RawMessage("{}")
	}
	return json.Marshal(struct {
		ID               uuid.UUID       `json:"id"`
		Name             string          `json:"name"`
		Description      string          `json:"description"`
		Stage            string          `json:"stage"`
		DocumentationURL string          `json:"documentationUrl"`
		Payload          json.RawMessage `json:"payload"`
		FlagKey          string          `json:"flagKey"`
	}{f.ID, f.Name, f.Description, f.Stage, f.DocumentationURL, payload, flagKey})
}
