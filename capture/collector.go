package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var (
	// ErrFull says that too many events wait to be written. The client should come
	// back later.
	ErrFull = errors.New("capture: too many events wait to be written")

	// ErrClosed says that the Collector has stopped.
	ErrClosed = errors.New("capture: collector is closed")
)

// CollectorConfig configures a [Collector]. Only Sink is required.
type CollectorConfig struct {
	// Sink stores the events.
	Sink Sink

	// MaxBatch is how many events are written at once, unless a single Accept
	// has more. Zero: 1,000.
	MaxBatch int

	// MaxEvents and MaxBytes bound the waiting events: their number, and the bytes
	// of their properties. Zero: 50,000 and 128 MiB.
	MaxEvents int
	MaxBytes  int64

	// WriteTimeout is how long a Write may take. Zero: 30 s.
	WriteTimeout time.Duration

	// OnAccept gets the events of each Accept, with its context, before others see them. It
	// may set their Trace. It must be safe for concurrent use and not block. Nil: it is not
	// called.
	OnAccept func(ctx context.Context, events []Event)

	// OnWrite gets for each Write, for metrics, how many events it had, how long it
	// took, and how it ended. It must not block. Nil: it is not called.
	OnWrite func(events int, d time.Duration, err error)
}

// A Collector gathers events of many requests and writes them together, so that
// durable answers are affordable: while one batch is being committed, the next one
// forms. It is safe for concurrent use.
//
// [NewCollector] makes a Collector; the zero value and nil are closed, which Run says at
// once. Accept works while Run does. Run must be called once.
type Collector struct {
	c CollectorConfig

	mu      sync.Mutex
	groups  []*group // waiting, in order of arrival
	events  int      // in groups and being written
	bytes   int64
	closed  bool
	arrived chan struct{} // holds a token if groups may not be empty
}

// A group is what one Accept brought.
type group struct {
	events []Event
	bytes  int64
	done   chan error // buffered
}

// NewCollector returns a Collector, or an error if the config makes no sense.
func NewCollector(c CollectorConfig) (*Collector, error) {
	if c.Sink == nil {
		return nil, errors.New("capture: CollectorConfig.Sink is missing")
	}
	if c.MaxBatch < 0 || c.MaxEvents < 0 || c.MaxBytes < 0 || c.WriteTimeout < 0 {
		return nil, errors.New("capture: CollectorConfig has a negative limit; zero means the default")
	}
	c.MaxBatch = cmp.Or(c.MaxBatch, 1000)
	c.MaxEvents = cmp.Or(c.MaxEvents, 50_000)
	c.MaxBytes = cmp.Or(c.MaxBytes, 128<<20)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	return &Collector{c: c, arrived: make(chan struct{}, 1)}, nil
}

// Accept returns nil when all events are durable. The error is [ErrFull] or [ErrClosed]
// if the Collector has not taken the events, and ctx.Err() if ctx ended first: then
// the events may be written all the same, which is harmless if the client sends
// them again with the same UUIDs. It joins [*EventError]s if only some cannot be
// stored, and otherwise is the error of the Sink.
//
// The events belong to the Collector from now on, also after an error.
func (c *Collector) Accept(ctx context.Context, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	if c.isUnset() {
		return ErrClosed
	}
	if c.c.OnAccept != nil {
		c.c.OnAccept(ctx, events)
	}
	g := &group{events: events, done: make(chan error, 1)}
	for i := range events {
		g.bytes += int64(len(events[i].Properties))
	}
	if err := c.enqueue(g); err != nil {
		return err
	}
	select {
	case err := <-g.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Collector) enqueue(g *group) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return ErrClosed
	case c.events+len(g.events) > c.c.MaxEvents, c.bytes+g.bytes > c.c.MaxBytes:
		// A group that is larger than the queue could never be taken. It may be,
		// alone.
		if c.events > 0 {
			return ErrFull
		}
	}
	c.groups = append(c.groups, g)
	c.events += len(g.events)
	c.bytes += g.bytes
	select {
	case c.arrived <- struct{}{}:
	default:
	}
	return nil
}

// Waiting returns how many events wait or are being written.
func (c *Collector) Waiting() int {
	if c.isUnset() {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.events
}

// isUnset reports whether the Collector is nil, or was not made by NewCollector.
func (c *Collector) isUnset() bool { return c == nil || c.arrived == nil }

// Run writes until ctx ends. Then it refuses new events, writes the events that it
// has taken, and returns nil.
func (c *Collector) Run(ctx context.Context) error {
	if c.isUnset() {
		return ErrClosed
	}
	writing := context.WithoutCancel(ctx)
	var batch []Event
	for {
		closing := ctx.Err() != nil
		groups := c.takeGroups(closing)
		switch {
		case len(groups) > 0:
			batch = c.write(writing, groups, batch)
			clear(groups) // the queue grows in the same memory
		case closing:
			return nil
		default:
			select {
			case <-c.arrived:
			case <-ctx.Done():
			}
		}
	}
}

// takeGroups takes the groups of one batch off the queue. If closing is true, Accept
// takes no more events.
func (c *Collector) takeGroups(closing bool) []*group {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = closing
	n, events := 0, 0
	for n < len(c.groups) && (n == 0 || events+len(c.groups[n].events) <= c.c.MaxBatch) {
		events += len(c.groups[n].events)
		n++
	}
	groups := c.groups[:n:n]
	if c.groups = c.groups[n:]; len(c.groups) == 0 {
		c.groups = nil
	}
	return groups
}

// write writes groups and tells their callers. buffer is memory for the batch;
// write returns it for the next time.
func (c *Collector) write(ctx context.Context, groups []*group, buffer []Event) []Event {
	batch := groups[0].events
	if len(groups) > 1 {
		buffer = buffer[:0]
		for _, g := range groups {
			buffer = append(buffer, g.events...)
		}
		batch = buffer
	}
	err := c.sink(ctx, batch)
	faults, only := Faults(err, len(batch))
	if !only && len(groups) > 1 && !transient(err) {
		// One of them may be at fault, and the others must not suffer from it.
		for _, g := range groups {
			if !transient(err) {
				err = c.sink(ctx, g.events)
			}
			faults, only = Faults(err, len(g.events))
			c.finish(g, outcome(err, faults, only, 0, len(g.events)))
		}
	} else {
		first := 0
		for _, g := range groups {
			c.finish(g, outcome(err, faults, only, first, len(g.events)))
			first += len(g.events)
		}
	}
	const maxKept = 10_000 // events; a single huge request needs more
	if cap(buffer) > maxKept {
		return nil
	}
	clear(buffer)
	return buffer[:0]
}

// sink calls the Sink. A panic of the Sink is an error like any other.
func (c *Collector) sink(ctx context.Context, batch []Event) (err error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.c.WriteTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("capture: sink panicked: %T", v)
		}
		if c.c.OnWrite != nil {
			c.c.OnWrite(len(batch), time.Since(start), err)
		}
	}()
	return c.c.Sink.Write(ctx, batch)
}

func (c *Collector) finish(g *group, err error) {
	c.mu.Lock()
	c.events -= len(g.events)
	c.bytes -= g.bytes
	c.mu.Unlock()
	g.done <- err
}

// ErrUnavailable says that the store itself does not work at the moment. Sinks wrap
// it, so that no single event is blamed.
var ErrUnavailable = errors.New("capture: store is not available")

func transient(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// outcome is what the error of a batch means for the n events from first on.
// Indexes of EventErrors then count from there.
func outcome(err error, faults []*EventError, only bool, first, n int) error {
	if !only {
		return err
	}
	var own []error
	for _, f := range faults {
		if i := f.Index - first; i >= 0 && i < n {
			own = append(own, &EventError{i, f.Err})
		}
	}
	return errors.Join(own...)
}
