package storage

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
)

// IdentifyEvents returns one event for each distinct ID that is not blank. The events have
// no name, and their only effect is that a person exists for the distinct ID. They are
// for stores, which pass them through a persons.Unit and do not keep them.
func IdentifyEvents(project int64, distinctIDs []string) []capture.Event {
	now := time.Now().UTC().Truncate(time.Microsecond)
	list := make([]capture.Event, 0, len(distinctIDs))
	for _, id := range distinctIDs {
		if strings.TrimSpace(id) != "" {
			list = append(list, capture.Event{Project: project, DistinctID: id, Time: now, Received: now, Properties: json.RawMessage("{}")})
		}
	}
	return list
}
