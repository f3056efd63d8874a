package sqlstore

import (
	"context"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A Storage is all that a server needs of a store. It is safe for concurrent use.
type Storage interface {
	capture.Sink
	storage.Store
	storage.Data
	storage.Changes
	storage.Leader
	storage.Usage
	storage.Sealed

	// CacheReads returns how many reads for /flags the cache has answered since the
	// Storage was opened, and how many the database has. A request reads the person, and
	// each group, list of cohorts and set of hash keys that its flags look at.
	CacheReads() (hits, misses uint64)

	// SkippedEvents returns how many events this process was given since the Storage was
	// opened that Write had nothing to do for: events that were stored before, and those
	// older than the events that ExpireEvents has deleted of their projects.
	SkippedEvents() (repeated, tooOld uint64)

	// Ready returns an error if the storage does not answer.
	Ready(ctx context.Context) error

	// CanWrite returns an error if the storage cannot keep events at the moment:
	// it writes one and deletes it, so that nobody sees it.
	CanWrite(ctx context.Context) error

	// Close ends the Storage, which must not be used any more.
	Close() error
}
