package capture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A parcel is a batch on its way.
type parcel struct {
	events    []Event
	analytics bool // it takes the route with a result for each event

	// What the attempts to deliver it have in common, and what tells them apart.
	id      uuid.UUID
	created time.Time
	attempt int // from 1 on
}

// A destination is where batches go.
type destination interface {
	// deliver sends the events of a parcel and says what became of them.
	deliver(ctx context.Context, p *parcel) verdict

	close()
}

// A verdict is what became of a parcel. The zero verdict says that it was delivered.
type verdict struct {
	err    error         // nil: all were delivered, except faults
	reason string        // of err, for the counts of ClientStats
	retry  bool          // the failure may pass
	after  time.Duration // the time before the retry, at least
	halve  bool          // the events may be delivered in two parcels

	faults []fault // events that can never be delivered
	rest   []Event // the events that err is about, if there are others; nil: all
}

// A fault is an event that can never be delivered.
type fault struct {
	name   string // of the event
	reason string // for the counts of ClientStats
	err    error
}

// A sender is the part of a Client that belongs to its goroutine.
type sender struct {
	*Client
	to destination
	encoder

	head  uint64 // the position of the next item
	batch []Event
	timer *time.Timer

	fullReported uint64 // how many of the client's DroppedFull were reported
	fullAt       time.Time
}

func newSender(c *Client) *sender {
	s := &sender{Client: c, encoder: newEncoder(&c.c)}
	s.timer = time.NewTimer(0)
	s.timer.Stop()
	if c.c.Sink != nil {
		s.to = sinkDestination{c.c.Sink}
	} else {
		s.to = newRemoteDestination(&c.c)
	}
	return s
}

// run sends until the client is closed and nothing is left. When ctx ends, it gives
// up what is left.
func (s *sender) run(ctx context.Context) {
	defer s.to.close()
	for s.wait() {
		items, bytes := s.collect()
		s.send(ctx, s.batch)
		clear(s.batch)
		s.head += items
		s.advance(s.head, bytes)
		s.reportFull(time.Second)
	}
	s.reportFull(0)
}

// wait returns true when there is a batch to send: one is full, or an event has
// waited long enough, or Flush asks for it. It returns false when nothing is left
// and the client is closed.
func (s *sender) wait() bool {
	defer s.timer.Stop()
	wakeAt := s.head + 1
	for ticking, overdue := false, false; ; {
		// A producer that publishes after this wakes the sender. Events that were
		// published before are seen below.
		s.queue.wakeAt.Store(wakeAt)
		end, closed := s.queue.end()
		n := end - s.head
		due := overdue || closed || n >= uint64(s.c.MaxBatch) || s.flush.Load() > s.head
		if due && n > 0 && s.queue.itemAt(s.head) != nil || closed && n == 0 {
			s.queue.wakeAt.Store(queueNever)
			return n > 0
		}
		next := s.head + 1
		if n > 0 && !due {
			next = s.head + uint64(s.c.MaxBatch)
			if !ticking {
				s.timer.Reset(s.c.MaxDelay)
				ticking = true
			}
		}
		if next != wakeAt {
			wakeAt = next
			continue
		}
		select {
		case <-s.queue.wake:
		case <-s.timer.C:
			overdue = true
		}
	}
}

// collect makes a batch of items that are ready, at least one, and returns how many
// it took and the size of their properties.
func (s *sender) collect() (items uint64, bytes int64) {
	s.batch = s.batch[:0]
	s.reset()
	now := time.Now()
	for items < uint64(s.c.MaxBatch) {
		item := s.queue.itemAt(s.head + items)
		if item == nil || items > 0 && (s.size()+len(item.properties) > maxRequestBytes || s.takesAnalytics(item) != s.analytics) {
			break
		}
		s.analytics = s.takesAnalytics(item)
		event, err := s.event(item, now)
		if err == nil {
			s.batch = append(s.batch, event)
		} else {
			s.lose(&s.invalid, 1, err)
		}
		items++
		bytes += int64(len(item.properties))
		*item = clientItem{}
	}
	s.place(s.batch)
	return items, bytes
}

// takesAnalytics reports whether an event takes the route with a result for each
// event. Events about language models do not (wire.md §2.9).
func (s *sender) takesAnalytics(i *clientItem) bool {
	return s.c.Analytics && (i.exposure || !strings.HasPrefix(i.name, "$ai_"))
}

// send delivers events, or gives up.
func (s *sender) send(ctx context.Context, events []Event) {
	if len(events) == 0 {
		return
	}
	p := parcel{events: events, analytics: s.analytics, created: time.Now().UTC()}
	p.id = s.ids.next(p.created)
	delay := s.c.RetryDelay
	for p.attempt = 1; ; p.attempt++ {
		if ctx.Err() != nil {
			s.lose(&s.abandoned, len(p.events), context.Cause(ctx))
			return
		}
		v := s.attempt(ctx, &p)
		if v.err == nil || v.rest != nil {
			s.delivered.Add(uint64(len(p.events) - len(v.faults) - len(v.rest)))
			s.refuse(v.faults)
			p.events = v.rest
		}
		switch {
		case v.err == nil:
			return
		case ctx.Err() != nil:
			continue
		case v.halve && len(p.events) > 1:
			half := len(p.events) / 2
			s.send(ctx, p.events[:half])
			s.send(ctx, p.events[half:])
			return
		case !v.retry:
			s.countRefusals(v.reason, len(p.events))
			s.lose(&s.refused, len(p.events), v.err)
			return
		case p.attempt > s.c.MaxRetries:
			s.lose(&s.abandoned, len(p.events), v.err)
			return
		}
		s.sleep(ctx, max(delay-rand.N(delay/2+1), min(v.after, maxRetryDelay)))
		delay = min(2*delay, maxRetryDelay)
		s.retries.Add(1)
	}
}

// attempt delivers once. A panic of the Sink is an error like any other.
func (s *sender) attempt(ctx context.Context, p *parcel) (v verdict) {
	defer func() {
		if r := recover(); r != nil {
			v = verdict{err: fmt.Errorf("capture: sink panicked: %T", r), retry: true}
		}
	}()
	return s.to.deliver(ctx, p)
}

// sleep waits for d or until ctx ends.
func (s *sender) sleep(ctx context.Context, d time.Duration) {
	s.timer.Reset(d)
	defer s.timer.Stop()
	select {
	case <-s.timer.C:
	case <-ctx.Done():
	}
}

// refuse counts and reports single events that were not taken. Faults with the same
// text are one error.
func (s *sender) refuse(faults []fault) {
	if len(faults) == 0 {
		return
	}
	var texts []string
	alike := make(map[string][]fault)
	for _, f := range faults {
		text := f.err.Error()
		if alike[text] == nil {
			texts = append(texts, text)
		}
		alike[text] = append(alike[text], f)
		s.countRefusals(f.reason, 1)
	}
	errs := make([]error, len(texts))
	for i, text := range texts {
		f, more := alike[text][0], len(alike[text])-1
		if more == 0 {
			errs[i] = fmt.Errorf("%q: %w", f.name, f.err)
		} else {
			errs[i] = fmt.Errorf("%q and %d more: %w", f.name, more, f.err)
		}
	}
	s.lose(&s.refused, len(faults), errors.Join(errs...))
}

// sinkDestination delivers to a Sink.
type sinkDestination struct{ sink Sink }

func (d sinkDestination) deliver(ctx context.Context, p *parcel) (v verdict) {
	err := d.sink.Write(ctx, p.events)
	faults, only := Faults(err, len(p.events))
	if !only {
		return verdict{err: err, retry: true}
	}
	for _, f := range faults {
		v.faults = append(v.faults, fault{p.events[f.Index].Name, "sink", f.Err})
	}
	return v
}

func (sinkDestination) close() {}

// reportFull reports events that found no room, at most once in the interval.
func (s *sender) reportFull(interval time.Duration) {
	full := s.full.Load()
	if full == s.fullReported || interval > 0 && time.Since(s.fullAt) < interval {
		return
	}
	s.report(int(full-s.fullReported), ErrQueueFull)
	s.fullReported, s.fullAt = full, time.Now()
}
