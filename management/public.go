package management

import (
	"encoding/json"

	"github.com/google/uuid"
)

// A PublicEarlyAccess is an early access feature as clients receive it (wire.md §4.4).
type PublicEarlyAccess struct {
	ID               uuid.UUID       `json:"id"`
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	Stage            string          `json:"stage"`
	DocumentationURL string          `json:"documentationUrl"`
	Payload          json.RawMessage `json:"payload"`
	FlagKey          string          `json:"flagKey"`
}

// PublicEarlyAccessFeature returns a feature as clients receive it.
func PublicEarlyAccessFeature(f *EarlyAccessFeature, flagKey string) *PublicEarlyAccess {
	payload := f.Payload
	if payload == nil {
		payload = json.RawMessage("{}")
	}
	return &PublicEarlyAccess{f.ID, f.Name, f.Description, f.Stage, f.DocumentationURL, payload, flagKey}
}
