package surveys

import "github.com/flagstaff-go/flagstaff/management/storage"

// EventStore is what a Service asks of the events in its store.
type EventStore = eventStore

// SetEvents replaces what a Service asks.
func SetEvents(s *Service, f func(EventStore) EventStore) { s.events = f(s.events) }

// DataOver are the surveys that a Tx reads.
func DataOver(tx storage.Tx) *Data { return &Data{tx} }
