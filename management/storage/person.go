package storage

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// A Person is somebody whom events are about.
type Person struct {
	ID          uuid.UUID
	DistinctIDs []string        // in ascending order
	Properties  json.RawMessage // a JSON object
	Identified  bool
	Created     time.Time
}

// A Group is a company, a team, or another thing that a project has as a group type.
type Group struct {
	TypeIndex  int
	Key        string
	Properties json.RawMessage // a JSON object
	Created    time.Time
}
