package memstore

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
)

// throttle is the part of a Store that counts attempts. No transaction takes
// them back.
type throttle struct {
	mu      sync.Mutex
	buckets map[string]time.Time // when they will be full
	most    int                  // buckets until full ones are looked for
}

// Throttle implements [management.ThrottleStore].
func (t *throttle) Throttle(ctx context.Context, bucket string, l management.Limit, now time.Time) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	full, wait := l.Next(t.buckets[bucket], now)
	if wait > 0 {
		return wait, nil
	}
	if len(t.buckets) >= t.most {
		// Waiting until there are twice as many as are in use makes this
		// cheap on average.
		const few = 1000
		maps.DeleteFunc(t.buckets, func(_ string, full time.Time) bool { return !full.After(now) })
		t.most = max(few, 2*len(t.buckets))
	}
	if t.buckets == nil {
		t.buckets = make(map[string]time.Time)
	}
	t.buckets[bucket] = full
	return 0, nil
}
