package jetstream

import (
	"context"
	"sync"
	"time"
)

// An intake asks for messages while others are being stored, so that the next batch
// is there when the last one is stored, and full if there is a backlog.
type intake struct {
	*worker
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	waiting []message // in the order of their deliveries
	bytes   int       // of waiting
	taken   int       // messages that were taken and are not settled
	err     error     // why it has stopped

	came chan struct{} // has a token after messages, or the error, have come
	room chan struct{} // has a token after there is more room
}

// partWait is the pause after a request that has brought fewer messages than it
// might, so that the next one brings several.
const partWait = 2 * time.Millisecond

func (w *worker) startIntake(ctx context.Context) *intake {
	in := &intake{worker: w, came: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	ctx, in.cancel = context.WithCancel(ctx)
	in.wg.Go(func() { in.ask(ctx) })
	in.wg.Go(func() {
		for sleep(ctx, w.heartbeat()) == nil {
			in.mu.Lock()
			waiting := in.waiting
			in.mu.Unlock()
			inProgress(waiting)
		}
	})
	return in
}

// ask asks for messages until something fails or ctx ends.
func (in *intake) ask(ctx context.Context) {
	for {
		n, bytes := in.space()
		if n == 0 {
			select {
			case <-in.room:
				continue
			case <-ctx.Done():
				in.put(nil, ctx.Err())
				return
			}
		}
		list, err := in.pull(ctx, n, bytes, idleWait)
		in.put(list, err)
		if err == nil && len(list) < n {
			err = sleep(ctx, partWait)
		}
		if err != nil {
			in.put(nil, err)
			return
		}
	}
}

// space returns how many more messages and bytes may come.
func (in *intake) space() (n, bytes int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n = min(in.c.MaxBatch-len(in.waiting), in.consumer.CachedInfo().Config.MaxAckPending-len(in.waiting)-in.taken)
	bytes = in.c.MaxBytes - in.bytes
	if len(in.waiting) > 0 && bytes < in.largest() {
		return 0, 0
	}
	return max(n, 0), bytes
}

func (in *intake) put(list []message, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.waiting = append(in.waiting, list...)
	for _, m := range list {
		in.bytes += len(m.Data())
	}
	if in.err == nil {
		in.err = err
	}
	wake(in.came)
}

// take returns what is waiting, as soon as there is something, or an error if ctx
// has ended.
func (in *intake) take(ctx context.Context) ([]message, error) {
	for ctx.Err() == nil {
		in.mu.Lock()
		list, err := in.waiting, in.err
		in.taken += len(list)
		in.waiting, in.bytes = nil, 0
		in.mu.Unlock()
		switch {
		case len(list) > 0:
			wake(in.room)
			return list, nil
		case err != nil:
			return nil, err
		}
		select {
		case <-in.came:
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

// settled makes room for n messages after as many that were taken are stored.
func (in *intake) settled(n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.taken -= n
	wake(in.room)
}

// stop ends it and returns what nobody has taken.
func (in *intake) stop() []message {
	in.cancel()
	in.wg.Wait()
	return in.waiting
}

// wake leaves a token in a channel with room for one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
