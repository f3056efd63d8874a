package subject

import (
	"context"
	"iter"
	"net/netip"
	"time"
)

// A Store has what is known about persons and groups besides requests. Its methods
// are called concurrently. The memory of the strings that they are given is reused
// after the call. Errors are logged, so they should quote no properties.
type Store interface {
	// AppendPerson appends the properties of the person with a distinct ID to
	// dst, as a JSON object. For a person that does not exist it returns dst
	// as it is.
	AppendPerson(ctx context.Context, dst []byte, project int64, distinctID string) ([]byte, error)

	// PersonCreated returns when the person with a distinct ID was created, or
	// the zero Time if the person does not exist.
	PersonCreated(ctx context.Context, project int64, distinctID string) (time.Time, error)

	// AppendGroup appends the properties of the group of the type with the
	// given name, as AppendPerson does.
	AppendGroup(ctx context.Context, dst []byte, project int64, groupType, groupKey string) ([]byte, error)

	// AppendCohorts appends the IDs of the static cohorts that the person with
	// a distinct ID is a member of, in ascending order.
	AppendCohorts(ctx context.Context, dst []int64, project int64, distinctID string) ([]int64, error)

	// Overrides calls found for each hash key of experience continuity that is
	// stored for a flag and the person with a distinct ID (evaluation.md §12).
	// If anonymousID is not empty, the person was anonymous under that ID
	// before: where the persons of both IDs have no hash key for one of
	// flagKeys, anonymousID is stored as the hash key first. If both persons
	// have one, the hash key of distinctID's person counts.
	Overrides(ctx context.Context, project int64, distinctID, anonymousID string, flagKeys []string, found func(flagKey, hashKey string)) error
}

// A Locator knows where addresses are. Its method is called concurrently.
type Locator interface {
	// Properties iterates over the $geoip_* properties of an address. There
	// are none if the address is not known.
	Properties(addr netip.Addr) iter.Seq2[string, string]
}
