package quota

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
)

// A counter counts for one organization in one period.
type counter struct {
	organization, period string

	// taken is what this process has let through; if negative, the counter
	// is retired and it was -1 - taken. Room is what it may grow to.
	taken, room atomic.Int64
	denied      atomic.Bool // since the last exchange

	others atomic.Int64 // what the store has counted, without this process
	limit  atomic.Int64 // or None

	mu       sync.Mutex // held by exchanges
	known    bool       // the store was read, and the limit is confirmed
	total    int64      // what the store had counted
	added    int64      // how much of taken is in it
	doubtful int64      // what an AddUsage that failed may have added
}

func newCounter(organization, period string, limit int64) *counter {
	c := &counter{organization: organization, period: period}
	c.limit.Store(limit)
	c.setRoom()
	return c
}

// take counts n, if there is room. Of a retired counter it says so.
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

// granted is what was taken.
func (c *counter) granted() int64 {
	taken := c.taken.Load()
	if taken < 0 {
		return -1 - taken
	}
	return taken
}

// setRoom is to be called when others or limit have changed, with c.mu held or
// before anybody else has c.
func (c *counter) setRoom() {
	limit, others := c.limit.Load(), c.others.Load()
	switch {
	case limit < 0, others < 0 && limit > math.MaxInt64+others: // somebody has reset the store
		c.room.Store(math.MaxInt64)
	default:
		c.room.Store(max(limit-others, 0))
	}
}

// setLimit changes the limit. It reports false if c is retired.
func (c *counter) setLimit(limit int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit.Store(limit)
	c.setRoom()
	c.known = false // another call may have come in between
	return c.taken.Load() >= 0
}

// written reports whether the store has all of c.
func (c *counter) written() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.added == c.granted()
}

// due reports whether there is anything to write, or to ask for: those that
// have used up everything wait for a higher limit. What is not asked for here is
// left alone.
func (c *counter) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.granted()
	return !c.known || c.added != taken || taken >= c.room.Load() || c.denied.Load()
}

// exchange adds to the store what it lacks, and learns what it has.
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

// addLocked adds n to the store's counter. Before, total is known, unless n is
// 0, and nothing is doubtful.
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
