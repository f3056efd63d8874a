package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A lease is the right to store the events of a partition, for as long as it is
// renewed. It keeps machines from disturbing each other; the order of events does
// not depend on it (see worker).
type lease struct {
	bucket   jetstream.KeyValue
	key      string
	owner    string
	lasts    time.Duration
	revision uint64
}

// acquire returns when the lease is held, or with an error.
func (l *lease) acquire(ctx context.Context) (until time.Time, err error) {
	for {
		until, held, err := l.try(ctx)
		if held || err != nil {
			return until, err
		}
		if err := sleep(ctx, jitter(l.lasts/4)); err != nil {
			return until, err
		}
	}
}

// try takes the lease unless another owner has it. The lease is certainly held
// until the returned time.
func (l *lease) try(ctx context.Context) (until time.Time, held bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.lasts/2)
	defer cancel()
	until = l.heldUntil(time.Now())
	l.revision, err = l.bucket.Create(ctx, l.key, []byte(l.owner))
	if !errors.Is(err, jetstream.ErrKeyExists) {
		return until, err == nil, err
	}
	entry, err := l.bucket.Get(ctx, l.key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return until, false, nil // it ended just now
	case err != nil || string(entry.Value()) != l.owner:
		return until, false, err
	}
	// The lease is this owner's, from before the connection was lost.
	l.revision, err = l.bucket.Update(ctx, l.key, []byte(l.owner), entry.Revision())
	return until, err == nil, err
}

// heldUntil returns until when a lease is certainly held that was taken or renewed
// at t. The rest of its time allows for clocks that differ.
func (l *lease) heldUntil(t time.Time) time.Time { return t.Add(l.lasts * 3 / 4) }

// keep renews the lease until ctx ends, or returns before another owner may get it.
func (l *lease) keep(ctx context.Context, until time.Time) {
	for {
		if sleep(ctx, min(l.lasts/4, time.Until(until))) != nil {
			return
		}
		start := time.Now()
		if start.After(until) {
			return
		}
		attempt, cancel := context.WithDeadline(ctx, until)
		revision, err := l.bucket.Update(attempt, l.key, []byte(l.owner), l.revision)
		cancel()
		switch {
		case err == nil:
			l.revision, until = revision, l.heldUntil(start)
		case errors.Is(err, jetstream.ErrKeyRevisionMismatch):
			return
		}
	}
}

// release lets others have the lease at once.
func (l *lease) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.lasts/4)
	defer cancel()
	// Otherwise it ends by itself.
	_ = l.bucket.Delete(ctx, l.key, jetstream.LastRevision(l.revision))
}
