package quota

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// None stands for no limit.
const None = -1

// Config configures a Quota. Every field but Store has a default.
type Config struct {
	// Store keeps counts and limits.
	Store storage.Usage

	// Resource names what is counted. Empty means "feature_flags".
	Resource string

	// Limit applies to organizations without a limit of their own. Zero or
	// negative means no limit. To deny everything, set an organization's own
	// limit to 0.
	Limit int64

	// Period is the time that a limit covers. The zero value is all time.
	Period Period

	// Interval is how long counts wait before they are written, and how old the
	// known counts of other processes may be. Zero means 1 s.
	Interval time.Duration

	// Log receives warnings about the store. Nil discards them.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Resource = cmp.Or(c.Resource, "feature_flags")
	if c.Limit <= 0 {
		c.Limit = None
	}
	c.Interval = cmp.Or(c.Interval, time.Second)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// A Quota counts usage against limits. Its methods are safe for concurrent use.
type Quota struct {
	c Config

	// counters has a counter per organization. The map is replaced, never
	// changed, which suits organizations: they are few and seldom added.
	counters atomic.Pointer[map[string]*counter]

	mu      sync.Mutex // guards replacing counters, and retired
	retired []*counter // counters of earlier periods that are not yet written
}

// New returns a Quota whose counts are zero until [Quota.Load] or [Quota.Run]
// has read the store.
func New(c Config) (*Quota, error) {
	switch {
	case c.Store == nil:
		return nil, errors.New("quota: Store is missing")
	case c.Interval < 0:
		return nil, fmt.Errorf("quota: Interval is %v, want more than 0", c.Interval)
	case c.Period > Day:
		return nil, fmt.Errorf("quota: Period is %d, want Total, Month or Day", c.Period)
	}
	q := &Quota{c: c.withDefaults()}
	q.counters.Store(new(map[string]*counter))
	return q, nil
}

// Take counts n evaluations of an organization if they are within its limit,
// and reports whether they are. If not, none of them is counted. Take does not
// block or allocate, and does not keep the string.
func (q *Quota) Take(organization string, n int) bool {
	for {
		c := (*q.counters.Load())[organization]
		if c == nil {
			c = q.add(organization)[0]
		}
		if ok, retired := c.take(int64(max(n, 0))); !retired {
			return ok
		}
	}
}

// Usage returns the usage of an organization in this period, as far as this
// process knows it, and the limit, or [None].
func (q *Quota) Usage(organization string) (used, limit int64) {
	c := (*q.counters.Load())[organization]
	if c == nil {
		return 0, q.c.Limit
	}
	return c.others.Load() + c.granted(), c.limit.Load()
}

// add returns the counters of organizations and adds the missing ones.
func (q *Quota) add(organizations ...string) []*counter {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := make([]*counter, len(organizations))
	counters := *q.counters.Load()
	grown := false
	for i, name := range organizations {
		if counters[name] == nil {
			if !grown {
				counters, grown = maps.Clone(counters), true
				if counters == nil {
					counters = make(map[string]*counter)
				}
			}
			name = strings.Clone(name)
			counters[name] = newCounter(name, q.c.Period.name(time.Now()), q.c.Limit)
		}
		list[i] = counters[name]
	}
	if grown {
		q.counters.Store(&counters)
	}
	return list
}

// roll replaces the counters whose period has ended.
func (q *Quota) roll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	period := q.c.Period.name(time.Now())
	old := *q.counters.Load()
	var counters map[string]*counter
	var ended []*counter
	for name, c := range old {
		if c.period != period {
			if counters == nil {
				counters = maps.Clone(old)
			}
			counters[name] = newCounter(c.organization, period, c.limit.Load())
			ended = append(ended, c)
		}
	}
	if counters == nil {
		return
	}
	q.counters.Store(&counters)
	for _, c := range ended { // Take finds the new counters now
		c.retire()
	}
	q.retired = append(q.retired, ended...)
}

// Load reads the usage and the limits of organizations from the store. Call it
// at the start, with the known organizations. After an error, Run reads what is
// missing.
func (q *Quota) Load(ctx context.Context, organizations ...string) error {
	q.roll()
	return q.exchange(ctx, q.add(organizations...))
}

// Run exchanges counts with the store, every Interval and when a period begins,
// until ctx ends. Then it writes once more, for at most five seconds, and
// returns nil. Failures of the store are logged.
func (q *Quota) Run(ctx context.Context) error {
	failing := false
	flush := func(ctx context.Context) {
		err := q.Flush(ctx)
		switch {
		case err != nil && !failing:
			q.c.Log.WarnContext(ctx, "usage is not written; counting goes on in memory", "resource", q.c.Resource, "error", err)
		case err == nil && failing:
			q.c.Log.InfoContext(ctx, "usage is written again", "resource", q.c.Resource)
		}
		failing = err != nil
	}
	timer := time.NewTimer(q.pause())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			flush(ctx)
			timer.Reset(q.pause())
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			failing = false // log the failure of the last write too: it loses counts
			flush(last)
			return nil
		}
	}
}

// pause returns the time until the next exchange.
func (q *Quota) pause() time.Duration {
	now := time.Now()
	if next, ok := q.c.Period.next(now); ok {
		return min(q.c.Interval, next.Sub(now))
	}
	return q.c.Interval
}

// Flush exchanges counts with the store at once.
func (q *Quota) Flush(ctx context.Context) error {
	q.roll()
	q.mu.Lock()
	retired := q.retired
	q.retired = nil
	q.mu.Unlock()
	err := q.exchange(ctx, retired)
	var left []*counter
	for _, c := range retired {
		if !c.written() {
			left = append(left, c)
		}
	}
	q.mu.Lock()
	q.retired = append(q.retired, left...)
	q.mu.Unlock()
	if errors.Is(err, capture.ErrUnavailable) {
		return err
	}
	var due []*counter
	for _, c := range *q.counters.Load() {
		if c.due() {
			due = append(due, c)
		}
	}
	return errors.Join(err, q.exchange(ctx, due))
}

// exchange exchanges the counts of some counters. After an error it goes on,
// unless the error concerns the other counters as well.
func (q *Quota) exchange(ctx context.Context, list []*counter) error {
	var first error
	for _, c := range list {
		err := c.exchange(ctx, &q.c)
		if err == nil {
			continue
		}
		if first == nil {
			first = fmt.Errorf("quota: exchange the usage of organization %s: %w", c.organization, err)
		}
		if ctx.Err() != nil || errors.Is(err, capture.ErrUnavailable) {
			break
		}
	}
	return first
}

// SetLimit stores the limit of an organization. A negative limit removes it, so
// that the limit of the Config applies. The limit is in force in this process
// when SetLimit returns.
func (q *Quota) SetLimit(ctx context.Context, organization string, limit int64) error {
	if err := q.c.Store.SetQuota(ctx, organization, q.c.Resource, limit); err != nil {
		return fmt.Errorf("quota: set the limit of organization %s: %w", organization, err)
	}
	for {
		if c := q.add(organization)[0]; c.setLimit(effective(limit, q.c.Limit)) {
			return nil
		}
	}
}

// effective returns the organization's own limit, or the common one if own is
// negative.
func effective(own, common int64) int64 {
	if own < 0 {
		return common
	}
	return own
}
