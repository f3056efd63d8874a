package persons_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
)

// The store has one person, and gets two events.
func ExampleUnit() {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	known := persons.Load(persons.Person{ID: uuid.New(), Properties: json.RawMessage(`{"plan":"free"}`), Created: now})
	events := []capture.Event{
		{Project: 1, Name: "$identify", DistinctID: "ann", Time: now, Received: now, Properties: json.RawMessage(`{"$anon_distinct_id":"anon-1"}`)},
		{Project: 1, Name: "upgraded", DistinctID: "ann", Time: now, Received: now, Properties: json.RawMessage(`{"$set":{"plan":"pro"}}`)},
	}

	u := persons.NewUnit(events)
	for id := range u.DistinctIDs() {
		if id.ID == "anon-1" {
			u.SetPerson(id, known)
		}
	}
	for i := range events {
		u.Apply(i)
	}
	changes := u.Changes()
	for _, l := range changes.Links {
		fmt.Println("new distinct ID:", l.ID)
	}
	for _, p := range changes.Persons {
		fmt.Printf("new %v, identified %v, %s\n", p.New, p.Identified, p.Properties)
	}
	// Output:
	// new distinct ID: ann
	// new false, identified true, {"plan":"pro"}
}
