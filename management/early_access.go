package management

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
