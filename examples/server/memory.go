package main

import (
	"runtime/debug"

	"github.com/flagstaff-go/flagstaff/internal/memlimit"
)

// limitMemory makes the garbage collector work harder before the container's limit
// of memory ends the process, unless GOMEMLIMIT says otherwise. A tenth is left for
// what is not the Go heap.
func limitMemory() {
	if debug.SetMemoryLimit(-1) != memlimit.None {
		return
	}
	if limit := memlimit.Container(); limit != memlimit.None {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}
