package serve

import (
	"runtime/debug"

	"github.com/flagstaff-go/flagstaff/internal/memlimit"
)

// limitMemory makes the garbage collector work harder before the container's limit
// of memory ends the process, unless GOMEMLIMIT says otherwise. A quarter is left for
// what is not the Go heap. Where there is little memory, the heap does not grow to
// twice what is in use, unless GOGC says otherwise.
func limitMemory(getenv func(string) string) {
	const little = 512 << 20
	if limit := memlimit.Container(); limit != memlimit.None && debug.SetMemoryLimit(-1) == memlimit.None {
		debug.SetMemoryLimit(limit / 4 * 3)
	}
	if memlimit.Process() <= little && getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// maxWaiting returns how many bytes of events may wait to be stored in so much memory,
// after the requests that brought them have ended.
func maxWaiting(limit int64) int64 { return min(128<<20, limit/8) }
