package server

import (
	"sync/atomic"

	"github.com/flagstaff-go/flagstaff/internal/memlimit"
	"github.com/flagstaff-go/flagstaff/server/internal/lz64"
)

// A budget bounds the memory that the bodies of all requests take together, with
// what is made of them. Bodies of a few kilobytes, which are nearly all, are not
// counted.
type budget struct {
	total int64
	left  atomic.Int64
}

// uncounted is how many bytes a buffer may have before it is charged to the budget.
const uncounted = 16 << 10

// maxUsualMemory is the default of Config.MaxBodyMemory if the process may have any
// amount of memory.
const maxUsualMemory = 512 << 20

// usualMemory returns the default of Config.MaxBodyMemory.
func usualMemory() int64 { return min(maxUsualMemory, memlimit.Process()/4) }

// charge takes n bytes for a new buffer, until the end of the request or until
// discharge gives them back. The error is errBusy if other requests have the memory,
// and errNoRoom if the request would not get it even without them.
//
// The last quarter is for requests with little, so that large ones do not keep all
// others out.
func (b *body) charge(n int64) error {
	const little = 256 << 10 // bytes
	if n < uncounted || b.budget == nil {
		return nil
	}
	var kept int64
	if b.charged+n > little {
		kept = b.budget.total / 4
	}
	if b.charged+n > b.budget.total-kept {
		return errNoRoom
	}
	if b.budget.left.Add(-n) < kept {
		b.budget.left.Add(n)
		return errBusy
	}
	b.charged += n
	return nil
}

// discharge gives back what a buffer of n bytes was charged.
func (b *body) discharge(n int64) {
	if n >= uncounted && b.charged >= n {
		b.charged -= n
		b.budget.left.Add(n)
	}
}

// release gives back what was charged.
func (b *body) release() {
	if b.charged != 0 {
		b.budget.left.Add(b.charged)
		b.charged = 0
	}
}

// hold charges the buffers that are kept from earlier requests.
func (b *body) hold() {
	if b.charge(int64(b.size())) != nil {
		b.drop()
	}
}

// drop frees all buffers.
func (b *body) drop() {
	b.raw, b.inflated, b.text, b.plain, b.inner, b.gzip, b.lz64 = nil, nil, nil, nil, nil, nil, lz64.Decoder{}
	b.release()
}
