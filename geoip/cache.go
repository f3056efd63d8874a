package geoip

import (
	"iter"
	"math/bits"
	"sync/atomic"
)

// A record is a decoded data record. It never changes.
type record struct {
	offset   uintptr // in the data section of its file
	known    bool    // the location is not empty
	location Location

	// properties is location.Properties(). It is made once, because making it
	// allocates.
	properties iter.Seq2[string, string]
}

// A cache maps the offsets of one file to records. Readers and writers need no
// lock: a slot holds a whole record or nothing, and a record that is lost
// between two writers is merely decoded again.
//
// The slots form pairs. A new record takes the first slot of its pair, and the
// record that was there moves to the second slot. So two popular records do not
// take turns in evicting each other.
type cache struct {
	slots []atomic.Pointer[record] // a power of two, or none
	shift uint                     // turns a hash of 64 bits into an index
}

func newCache(size int) cache {
	if size <= 0 {
		return cache{}
	}
	n := bits.Len(uint(max(size, 2) - 1)) // slots are 1<<n
	return cache{slots: make([]atomic.Pointer[record], 1<<n), shift: uint(64 - n)}
}

// first returns the first slot of an offset's pair.
func (c *cache) first(offset uintptr) int {
	// Fibonacci hashing: offsets may be evenly spaced, the high bits of the
	// product are not.
	return int(uint64(offset)*0x9e3779b97f4a7c15>>c.shift) &^ 1
}

// get returns the record at an offset, nil if the cache does not have it.
func (c *cache) get(offset uintptr) *record {
	if len(c.slots) == 0 {
		return nil
	}
	i := c.first(offset)
	if r := c.slots[i].Load(); r != nil && r.offset == offset {
		return r
	}
	if r := c.slots[i+1].Load(); r != nil && r.offset == offset {
		return r
	}
	return nil
}

// put adds a record.
func (c *cache) put(r *record) {
	if len(c.slots) == 0 {
		return
	}
	i := c.first(r.offset)
	if old := c.slots[i].Swap(r); old != nil && old.offset != r.offset {
		c.slots[i+1].Store(old)
	}
}
