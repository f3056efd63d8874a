package server

import (
	"context"
	"iter"
	"net/netip"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
)

// The interfaces to what a server may know besides definitions and requests. All
// are optional. Their methods are called for requests, concurrently, and only
// when the answer can depend on them. The memory of strings that they are given
// is reused after the call. An error does not fail the request: it is logged,
// so that it should quote no properties, and the answer says that it is partial.

// A PropertyStore has the stored properties of persons and groups.
type PropertyStore interface {
	// AppendPerson appends the properties of the person with a distinct id to
	// dst, as a JSON object. For a person that does not exist it returns dst
	// as it is.
	AppendPerson(ctx context.Context, dst []byte, project int64, distinctID string) ([]byte, error)

	// AppendGroup does the same for the group of the type with the given name.
	AppendGroup(ctx context.Context, dst []byte, project int64, groupType, groupKey string) ([]byte, error)

	// PersonCreated returns when the person with a distinct id was created, or
	// the zero Time if it does not exist.
	PersonCreated(ctx context.Context, project int64, distinctID string) (time.Time, error)
}

// An OverrideStore has the hash keys of experience continuity (evaluation.md
// §12).
type OverrideStore interface {
	// Overrides calls found for each hash key that is stored for a flag and
	// the person with the distinct id. If anonymousID is not empty, the person
	// was anonymous under that id before: where the persons of both ids have
	// no hash key for one of flagKeys, it is stored first. Of two hash keys
	// that of distinctID's person counts.
	Overrides(ctx context.Context, project int64, distinctID, anonymousID string, flagKeys []string, found func(flagKey, hashKey string)) error
}

// A CohortStore has memberships in cohorts that cannot be computed from
// properties.
type CohortStore interface {
	// AppendCohorts appends the ids of the cohorts that the person with a
	// distinct id is a member of.
	AppendCohorts(ctx context.Context, dst []int64, project int64, distinctID string) ([]int64, error)
}

// Capture takes events. [*capture.Collector] does.
type Capture interface {
	// Accept returns nil when the events are durable, and an error that is or
	// joins [*capture.EventError]s if only some cannot be stored. After any
	// other error the client is told to send all of them again.
	Accept(ctx context.Context, events ...capture.Event) error

	// Waiting returns how many events are not durable yet, for metrics.
	Waiting() int
}

// A Locator knows where addresses are.
type Locator interface {
	// Properties iterates over the $geoip_* properties of an address. There
	// are none if it is not known.
	Properties(addr netip.Addr) iter.Seq2[string, string]
}

// A Quota counts what organizations use. It must be safe for concurrent use and
// not block.
type Quota interface {
	// Take counts n evaluations and reports whether they are within the quota.
	Take(organization string, n int) bool
}
