package server

import (
	"context"

	"github.com/flagstaff-go/flagstaff/capture"
)

// Capture takes events. [*capture.Collector] does.
type Capture interface {
	// Accept returns nil when the events are durable, and an error that is or
	// joins [*capture.EventError]s if only some cannot be stored. After any
	// other error the client is told to send all of them again.
	Accept(ctx context.Context, events ...capture.Event) error

	// Waiting returns how many events are not durable yet, for metrics.
	Waiting() int
}

// A Quota counts what organizations use. It must be safe for concurrent use and
// not block.
type Quota interface {
	// Take counts n evaluations and reports whether they are within the quota.
	Take(organization string, n int) bool
}
