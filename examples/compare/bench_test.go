package main_test

import (
	"runtime"
	"testing"
)

var (
	sinkBool   bool
	sinkString string
	sinkInt    int
)

const (
	// benchPersons take turns, so that in all libraries the same share of
	// persons is inside a rollout. It is a power of two.
	benchPersons = 64

	// eventsPerRound is the number of evaluations before a new engine replaces
	// the last one, outside of the measured time. So no queue is ever full: a
	// library that drops events would seem fast.
	eventsPerRound = 1 << 14
	eventQueue     = 2 * eventsPerRound

	loadedFlags = 10_000
)

func open(b *testing.B, l library, all []flag) engine {
	e := l.prepare(b, all, false)()
	b.Cleanup(e.close)
	return e
}

func subjects(e engine, n int, of func(int) person) []subject {
	all := make([]subject, n)
	for i := range all {
		all[i] = e.subject(of(i))
	}
	return all
}

func BenchmarkCompare(b *testing.B) {
	for _, row := range []struct {
		name string
		run  func(b *testing.B, l library)
		can  func(l library) bool
	}{
		{"boolean", enabled(booleanFlag), nil},
		{"conditions", enabled(conditionsFlag), nil},
		{"per-call", perCall, nil},
		{"variants", variants, nil},
		{"regexp", enabled(regexpFlag), func(l library) bool { return l.regexps }},
		{"semver", enabled(semverFlag), nil},
		{"all-100", evaluateAll(100), nil},
		{"all-1000", evaluateAll(1000), nil},
		{"events-repeated", events(benchPersons), func(l library) bool { return l.events }},
		{"events-new", events(eventsPerRound), func(l library) bool { return l.events }},
		{"load", load, nil},
	} {
		b.Run(row.name, func(b *testing.B) {
			for _, l := range libraries {
				if row.can == nil || row.can(l) {
					b.Run(l.name, func(b *testing.B) { row.run(b, l) })
				}
			}
		})
	}
}

func enabled(f flag) func(*testing.B, library) {
	return func(b *testing.B, l library) {
		all := subjects(open(b, l, []flag{f}), benchPersons, customer)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			sinkBool = all[i&(benchPersons-1)].enabled(flagKey)
			i++
		}
	}
}

// perCall evaluates conditionsFlag for persons whose properties are put together for the
// call, as in a service that asks for one flag in a request.
func perCall(b *testing.B, l library) {
	e := open(b, l, []flag{conditionsFlag})
	d, isDirect := e.(direct)
	ids := make([]string, benchPersons)
	for i := range ids {
		ids[i] = personID(i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if id := ids[i&(benchPersons-1)]; isDirect {
			sinkBool = d.enabledFor(flagKey, id)
		} else {
			sinkBool = e.subject(customerWith(id)).enabled(flagKey)
		}
		i++
	}
}

func variants(b *testing.B, l library) {
	all := subjects(open(b, l, []flag{variantsFlag}), benchPersons, customer)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		sinkString = all[i&(benchPersons-1)].variant(flagKey)
		i++
	}
}

func evaluateAll(n int) func(*testing.B, library) {
	return func(b *testing.B, l library) {
		all := subjects(open(b, l, manyFlags(n)), benchPersons, visitor)
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			sinkInt = all[i&(benchPersons-1)].all()
			i++
		}
	}
}

// events evaluates conditionsFlag and reports it, for n persons in turn. If n
// is small, all of them have been reported before.
func events(n int) func(*testing.B, library) {
	return func(b *testing.B, l library) {
		open := l.prepare(b, []flag{conditionsFlag}, true)
		var e engine
		var all []subject
		round := func() {
			if e != nil {
				e.close()
			}
			e = open()
			all = subjects(e, n, customer)
			for i := 0; n < eventsPerRound && i < n; i++ {
				sinkBool = all[i].enabled(flagKey)
			}
		}
		round()
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			sinkBool = all[i&(n-1)].enabled(flagKey)
			if i++; i%eventsPerRound == 0 {
				b.StopTimer()
				round()
				b.StartTimer()
			}
		}
		e.close()
	}
}

// load opens an engine from definitions that are already in the library's
// format.
func load(b *testing.B, l library) {
	open := l.prepare(b, manyFlags(loadedFlags), false)
	before := heap()
	e := open()
	size := heap() - before
	e.close()
	b.ReportAllocs()
	for b.Loop() {
		e = open()
		b.StopTimer()
		e.close()
		b.StartTimer()
	}
	b.ReportMetric(float64(size)/loadedFlags, "heap-B/flag")
}

// heap returns the size of the heap after a full collection. It collects twice,
// because pools release their content at the second collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
