package capture

import (
	"math"
	"sync/atomic"

	"github.com/google/uuid"
)

// A clientItem is a waiting event, or a waiting exposure that becomes one.
type clientItem struct {
	exposure     bool
	experiment   bool // of an exposure: to an experiment
	enabled      bool
	noExperiment bool
	minimal      bool
	answered     bool

	distinctID string
	name       string // of the event, or the flag's key
	variant    string
	reason     string
	id         int64
	version    int
	groups     map[string]string
	ruleSet    *RuleExposure
	properties []byte // of an event: an object, or empty
	uuid       uuid.UUID
	micros     int64 // since 1970
}

// A clientSlot holds the item of the positions p ≡ its index modulo the number of
// slots. It is published for position p when ready is p+1.
type clientSlot struct {
	ready atomic.Uint64
	item  clientItem
}

const (
	queueClosed = 1 << 63
	queueNever  = math.MaxUint64
)

// A clientQueue is a ring of slots with any number of producers and one consumer. A
// producer takes the next position by moving tail, fills the slot and publishes it.
// The consumer reads published slots in order, empties them, and moves done past
// them when it has dealt with their items. A position is given out only while it is
// less than the number of slots ahead of done; so its slot is empty, and moving
// done returns the slot.
//
// The consumer may have to wait for a producer that was interrupted between taking
// and publishing. Nothing else waits.
type clientQueue struct {
	slots []clientSlot
	wake  chan struct{} // has room for one signal; a stale one does no harm

	_ [64]byte
	// tail is the next position to give out. queueClosed is added when no more
	// positions are given out.
	tail atomic.Uint64
	_    [64]byte
	done atomic.Uint64
	_    [64]byte
	// wakeAt is the position up to which slots have to be published for the
	// consumer to be woken; queueNever while it is awake.
	wakeAt atomic.Uint64
	_      [64]byte
}

func newClientQueue(size int) *clientQueue {
	q := &clientQueue{slots: make([]clientSlot, size), wake: make(chan struct{}, 1)}
	q.wakeAt.Store(queueNever)
	return q
}

func (q *clientQueue) slot(pos uint64) *clientSlot { return &q.slots[pos%uint64(len(q.slots))] }

// reserve gives out a position. The caller fills the slot's item, which is zero,
// and must publish it.
func (q *clientQueue) reserve() (pos uint64, s *clientSlot, err error) {
	for {
		pos = q.tail.Load()
		if pos&queueClosed != 0 {
			return 0, nil, ErrClientClosed
		}
		// done may have passed an old tail, so the difference has a sign.
		if int64(pos-q.done.Load()) >= int64(len(q.slots)) {
			return 0, nil, ErrQueueFull
		}
		if q.tail.CompareAndSwap(pos, pos+1) {
			return pos, q.slot(pos), nil
		}
	}
}

func (q *clientQueue) publish(pos uint64, s *clientSlot) {
	s.ready.Store(pos + 1)
	if pos+1 >= q.wakeAt.Load() && q.wakeAt.Swap(queueNever) != queueNever {
		q.signal()
	}
}

// signal wakes the consumer, now or when it next goes to sleep.
func (q *clientQueue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close stops reserve from giving out positions.
func (q *clientQueue) close() {
	q.tail.Or(queueClosed)
	q.signal()
}

// end returns the position after the last one that was given out.
func (q *clientQueue) end() (pos uint64, closed bool) {
	t := q.tail.Load()
	return t &^ queueClosed, t&queueClosed != 0
}

// waiting returns how many positions were given out and are not done.
func (q *clientQueue) waiting() int {
	done := q.done.Load() // first: it never passes the tail
	end, _ := q.end()
	return int(end - done)
}

// itemAt returns the item at pos for the consumer, or nil if it is not published.
func (q *clientQueue) itemAt(pos uint64) *clientItem {
	s := q.slot(pos)
	if s.ready.Load() != pos+1 {
		return nil
	}
	return &s.item
}
