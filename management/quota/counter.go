package quota

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
)

// A counter counts the usage of one organization in one period.
type counter struct {
	organization, period string

	// taken is the usage that this process has granted. A negative value means
	// that the counter is retired and had granted -1 - taken. taken may grow up
	// to room.
	taken, room atomic.Int64
	denied      atomic.Bool // something was denied since the last exchange

	others atomic.Int64 // the store's count without the part of this process
	limit  atomic.Int64 // None if there is no limit

	mu       sync.Mutex // held by exchanges
	known    bool       // the store was read since the last SetLimit
	total    int64      // the store's count at the last exchange
	added    int64      // the part of taken that the store has
	doubtful int64      // the amount of a failed AddUsage that the store may have counted
}

func newCounter(organization, period string, limit int64) *counter {
	c := &counter{organization: organization, period: period}
	c.limit.Store(limit)
	c.setRoom()
	return c
}

// take counts n if there is room for it. It reports retired if c is retired.
func (c *counter) take(n int64) (ok, retired bool) {
	for {
		taken := c.taken.Load()
		if taken < 0 {
			return false, true
		}
		if c.room.Load()-taken < n {
			if !c.denied.Load() {
				c.denied.Store(true)
			}
			return false, false
		}
		if c.taken.CompareAndSwap(taken, taken+n) {
			return true, false
		}
	}
}

// retire makes taken final.
func (c *counter) retire() {
	for {
		if taken := c.taken.Load(); taken < 0 || c.taken.CompareAndSwap(taken, -1-taken) {
			return
		}
	}
}

// granted returns the usage that c has granted, retired or not.
func (c *counter) granted() int64 {
	taken := c.taken.Load()
	if taken < 0 {
		return -1 - taken
	}
	return taken
}

// setRoom computes room from others and limit. Callers hold c.mu, or have not
// shared c yet.
func (c *counter) setRoom() {
	limit, others := c.limit.Load(), c.others.Load()
	switch {
	case limit < 0, others < 0 && limit > math.MaxInt64+others: // others is negative if the store's count was reset
		c.room.Store(math.MaxInt64)
	default:
		c.room.Store(max(limit-others, 0))
	}
}

// setLimit changes the limit. It returns false if c is retired.
func (c *counter) setLimit(limit int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit.Store(limit)
	c.setRoom()
	c.known = false // the store may have another limit if two calls overlap
	return c.taken.Load() >= 0
}

// written reports whether the store has all that c has granted.
func (c *counter) written() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.added == c.granted()
}

// due reports whether c has something to write, or is used up and waits for a
// higher limit. Other counters are not exchanged, which saves calls to the
// store.
func (c *counter) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.granted()
	return !c.known || c.added != taken || taken >= c.room.Load() || c.denied.Load()
}

// exchange adds to the store's count what it lacks, and reads that count.
func (c *counter) exchange(ctx context.Context, config *Config) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	denied := c.denied.Swap(false)
	err := c.exchangeLocked(ctx, config)
	if err != nil && denied {
		c.denied.Store(true)
	}
	return err
}

func (c *counter) exchangeLocked(ctx context.Context, config *Config) error {
	read := !c.known || c.doubtful > 0
	if read {
		if err := c.addLocked(ctx, config, 0); err != nil {
			return err
		}
	}
	if n := c.granted() - c.added; n > 0 || !read {
		return c.addLocked(ctx, config, n)
	}
	return nil
}

// addLocked adds n to the store's count. Unless n is 0, c.total must be known
// and c.doubtful must be 0.
func (c *counter) addLocked(ctx context.Context, config *Config, n int64) error {
	total, own, err := config.Store.AddUsage(ctx, c.organization, config.Resource, c.period, n)
	if err != nil {
		c.doubtful += n
		return err
	}
	if c.doubtful > 0 && total-c.total >= c.doubtful {
		c.added += c.doubtful
	}
	c.doubtful = 0
	c.added += n
	c.total, c.known = total, true
	c.others.Store(total - c.added)
	c.limit.Store(effective(own, config.Limit))
	c.setRoom()
	return nil
}
