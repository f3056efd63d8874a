package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
)

// A batch is the messages that a worker has in hand and writes together.
type batch struct {
	*worker
	left []item // to be written
	bad  []item // that become dead letters

	// outliers says that the sink has failed for some events, without saying that
	// they are at fault, and stored others at the same time. Before that, a sink
	// that fails for all counts as one that does not work.
	outliers bool
}

// An item is a message and its event.
type item struct {
	message
	event    capture.Event
	refusals int   // how often the sink has refused it
	reason   error // why the sink did, or why the message cannot be decoded
}

// store returns nil when all events in hand are stored or dead letters. If ctx ends before,
// it returns what is left, for the caller to give back, and an error.
func (w *worker) store(ctx context.Context, hand []message) (left []message, err error) {
	if len(hand) == 0 {
		return nil, nil
	}
	defer w.heartbeats(ctx, hand)()
	w.stall.storing.Store(time.Now().UnixNano())
	defer w.stall.storing.Store(0)
	b := &batch{worker: w}
	for _, m := range hand {
		e, err := decodeEvent(m.Data())
		e.Trace = m.trace
		if err != nil {
			b.bad = append(b.bad, item{message: m, reason: err})
		} else {
			b.left = append(b.left, item{message: m, event: e})
		}
	}
	failing, pause := "", minBackoff
	for len(b.left)+len(b.bad) > 0 {
		refused, err := b.pass(ctx)
		switch {
		case err == nil && failing != "":
			w.log.InfoContext(ctx, "events are stored again")
			failing, pause = "", minBackoff
		case err != nil && err.Error() != failing:
			failing = err.Error()
			w.log.ErrorContext(ctx, "events are not stored; trying again", "events", len(b.left)+len(b.bad), "error", err)
		}
		if err == nil && !refused && ctx.Err() == nil || len(b.left)+len(b.bad) == 0 {
			continue
		}
		if err := sleep(ctx, jitter(pause)); err != nil {
			for _, it := range slices.Concat(b.left, b.bad) {
				left = append(left, it.message)
			}
			return left, err
		}
		pause = min(2*pause, w.c.MaxBackoff)
	}
	return nil, nil
}

// pass writes some of what is left and makes what is bad dead letters. It reports whether
// the sink has refused events. After an error nothing is known about any event.
func (b *batch) pass(ctx context.Context) (refusals bool, err error) {
	if n := min(len(b.left), b.c.MaxBatch); n > 0 {
		refused, err := b.write(ctx, b.left[:n])
		if err != nil && !transient(err) {
			refused, err = b.writeEach(ctx, b.left[:n])
		}
		if err != nil {
			return false, err
		}
		b.settle(ctx, n, refused)
		refusals = len(refused) > 0
	}
	for len(b.bad) > 0 {
		if err := b.addDeadLetter(ctx, &b.bad[0]); err != nil {
			return refusals, err
		}
		b.acknowledge(ctx, []message{b.bad[0].message})
		b.bad = b.bad[1:]
	}
	return refusals, nil
}

// settle acknowledges the stored ones of the first n messages that are left. Of the
// refused ones, by index, some are tried again and some are bad.
func (b *batch) settle(ctx context.Context, n int, refused map[int]error) {
	var stored []message
	var again []item
	for i, it := range b.left[:n] {
		reason, bad := refused[i]
		if !bad {
			stored = append(stored, it.message)
			continue
		}
		it.refusals++
		it.reason = reason
		if it.refusals < b.c.Attempts {
			again = append(again, it)
		} else {
			b.bad = append(b.bad, it)
		}
	}
	b.left = append(again, b.left[n:]...)
	b.stored.Add(uint64(len(stored)))
	b.acknowledge(ctx, stored)
}

// write writes events and returns the ones that the sink refuses, by index.
func (b *batch) write(ctx context.Context, items []item) (refused map[int]error, err error) {
	events := make([]capture.Event, len(items))
	for i := range items {
		events[i] = items[i].event
	}
	// A Write that has begun is finished, also when the program ends.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.c.WriteTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			refused, err = nil, fmt.Errorf("the sink panicked: %T", v)
		}
		if err != nil || len(refused) > 0 {
			b.failures.Add(1)
		}
	}()
	err = b.c.Sink.Write(ctx, events)
	faults, only := capture.Faults(err, len(events))
	if !only {
		return nil, err
	}
	refused = make(map[int]error)
	for _, f := range faults {
		refused[f.Index] = f.Err
	}
	return refused, nil
}

// writeEach writes events one by one, after an error that does not say which event
// is at fault.
func (b *batch) writeEach(ctx context.Context, items []item) (refused map[int]error, err error) {
	refused = make(map[int]error)
	var last error
	unnamed := 0 // events for which the sink fails without refusing them
	for i := range items {
		one, err := b.write(ctx, items[i:i+1])
		switch {
		case err == nil && len(one) == 0:
		case err == nil:
			refused[i] = one[0]
		case transient(err) || ctx.Err() != nil:
			return nil, err
		default:
			refused[i], last = err, err
			unnamed++
		}
	}
	if unnamed > 0 && len(refused) < len(items) {
		b.outliers = true
	}
	if unnamed > 0 && !b.outliers {
		return nil, last
	}
	return refused, nil
}

// transient reports whether an error says that the sink does not work at the
// moment, and nothing about events.
func transient(err error) bool {
	return errors.Is(err, capture.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// heartbeats keeps messages in hand until ctx ends or the caller calls the function
// that it returns.
func (w *worker) heartbeats(ctx context.Context, hand []message) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for sleep(ctx, w.heartbeat()) == nil {
			inProgress(hand)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// heartbeat is the time between two signs of life.
func (w *worker) heartbeat() time.Duration {
	return max(w.consumer.CachedInfo().Config.AckWait/3, time.Millisecond)
}
