package flags_test

import (
	"bytes"
	goruntime "runtime"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/internal/bench"
)

// load reads and compiles a document.
func load(t testing.TB, document []byte) *flags.Snapshot {
	t.Helper()
	d, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLoadIsFrugal bounds what a load allocates, and what stays of it, per flag. The paths
// to the values of a document, which only problems need, stay on the stack.
func TestLoadIsFrugal(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector needs memory")
	}
	const (
		n              = 10_000
		maxAllocations = 0.25 // of a flag
		maxHeap        = 450  // bytes of a flag, without what is rendered
	)
	document := bench.Document(n)
	heap := func() int64 {
		goruntime.GC()
		goruntime.GC() // pools give up what they have at the second one
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	load(t, document) // what is made once
	before := heap()
	s := load(t, document)
	if size := (heap() - before - int64(flags.RenderedSize(s))) / n; size > maxHeap {
		t.Errorf("a flag takes %d bytes beside its results, want %d at most", size, maxHeap)
	}
	goruntime.KeepAlive(s)
	if got := testing.AllocsPerRun(2, func() { load(t, document) }) / n; got > maxAllocations {
		t.Errorf("to load a flag takes %.2f allocations, want %v at most", got, maxAllocations)
	}
	goruntime.KeepAlive(document)
}
