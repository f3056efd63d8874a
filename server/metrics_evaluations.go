package server

import (
	"maps"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagstaff-go/flagstaff/flags"
)

// How many series show how often flags had which value: for one project, and for all
// projects together. A value that comes early gets a series; the others are counted
// together, so that definitions cannot fill the memory of whatever scrapes.
const (
	maxProjectValues = 200   // series of values
	maxValues        = 1_000 // series, with those for the others
)

const (
	otherName  = "(other)"  // a project, flag or value without a series of its own
	failedName = "(failed)" // the value of a flag that could not be computed
)

// maxShards is how many requests of one project may count at the same time.
const maxShards = 8

// evaluations count how often flags had which value, and how often a flag was asked for that
// does not exist. No key of those is a label: anybody who has a project's key sends them.
type evaluations struct {
	projects atomic.Pointer[map[int64]*projectEvaluations]
	mu       sync.Mutex    // held to change projects
	free     atomic.Int64  // series that nothing has yet; it may fall below 0 for a moment
	other    atomic.Uint64 // of projects without a series
	unknown  atomic.Uint64 // flags that do not exist, of projects without a series
}

// projectEvaluations are the evaluations of one project. Requests count in shards, by
// numbers; what is in a shard is added to the series when somebody scrapes, and when the
// definitions change.
type projectEvaluations struct {
	shards  []evaluationShard
	free    *atomic.Int64
	unknown atomic.Uint64 // flags that were asked for and do not exist

	mu     sync.Mutex // taken after the mu of a shard
	series map[flagValue]uint64
	other  uint64
}

type evaluationShard struct {
	mu    sync.Mutex
	tally *flags.Tally // nil before the first use
	_     [64]byte     // so that no two shards share a cache line
}

// A flagValue is a value of a flag.
type flagValue struct{ flag, value string }

func newEvaluations() *evaluations {
	e := new(evaluations)
	e.projects.Store(&map[int64]*projectEvaluations{})
	e.free.Store(maxValues)
	return e
}

// add counts the last answer of an Input for all flags: the n values of a project. hint is
// kept by the caller for its next call.
func (e *evaluations) add(project int64, s *flags.Snapshot, in *flags.Input, n int, hint *uint32) {
	p := e.of(project)
	if p == nil {
		e.other.Add(uint64(n))
		return
	}
	shard := p.take(s, hint)
	shard.tally.Add(in)
	shard.mu.Unlock()
}

// addResult counts the answer for one flag.
func (e *evaluations) addResult(project int64, s *flags.Snapshot, r *flags.Result, hint *uint32) {
	p := e.of(project)
	if p == nil {
		e.other.Add(1)
		return
	}
	shard := p.take(s, hint)
	shard.tally.AddResult(r)
	shard.mu.Unlock()
}

// addUnknown counts a flag that was asked for and does not exist.
func (e *evaluations) addUnknown(project int64) {
	if p := e.of(project); p != nil {
		p.unknown.Add(1)
		return
	}
	e.unknown.Add(1)
}

// of returns the evaluations of a project, nil if there is no series left for it.
func (e *evaluations) of(project int64) *projectEvaluations {
	if p := (*e.projects.Load())[project]; p != nil {
		return p
	}
	if e.free.Load() <= 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	projects := *e.projects.Load()
	if p := projects[project]; p != nil {
		return p
	}
	if !takeOne(&e.free) { // for projectEvaluations.other
		return nil
	}
	p := &projectEvaluations{
		shards: make([]evaluationShard, min(runtime.GOMAXPROCS(0), maxShards)),
		free:   &e.free, series: make(map[flagValue]uint64),
	}
	projects = maps.Clone(projects)
	projects[project] = p
	e.projects.Store(&projects)
	return p
}

func takeOne(free *atomic.Int64) bool {
	if free.Add(-1) >= 0 {
		return true
	}
	free.Add(1)
	return false
}

// take returns a shard, locked, whose tally counts the answers of a Snapshot. Most callers
// find the shard free that they had before.
func (p *projectEvaluations) take(s *flags.Snapshot, hint *uint32) *evaluationShard {
	n := uint32(len(p.shards))
	first := *hint % n
	at := first
	for !p.shards[at].mu.TryLock() {
		if at = (at + 1) % n; at == first {
			p.shards[at].mu.Lock()
			break
		}
	}
	*hint = at
	shard := &p.shards[at]
	if !shard.tally.Counts(s) {
		p.drain(shard)
		shard.tally = flags.NewTally(s)
	}
	return shard
}

// drain adds what a shard has counted to the series. The shard is locked.
func (p *projectEvaluations) drain(shard *evaluationShard) {
	if shard.tally == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range shard.tally.Drain() {
		key := flagValue{c.Key, c.Value}
		if c.Failed {
			key.value = failedName
		}
		switch _, known := p.series[key]; {
		case known:
			p.series[key] += c.Count
		case len(p.series) < maxProjectValues && takeOne(p.free):
			// The Snapshot, whose memory the texts are in, does not live as long.
			p.series[flagValue{strings.Clone(key.flag), strings.Clone(key.value)}] = c.Count
		default:
			p.other += c.Count
		}
	}
}

var descUnknown = prometheus.NewDesc("flagstaff_flags_unknown_total",
	"Flags that clients asked for by their keys and that do not exist. Projects without a series of their own are counted as "+otherName+".",
	[]string{"project"}, nil)

var descEvaluations = prometheus.NewDesc("flagstaff_flag_evaluations_total",
	"Evaluations of flags in answers, by value. What has no series of its own is counted as "+otherName+", and a flag that could not be computed as "+failedName+".",
	[]string{"project", "flag", "value"}, nil)

// Describe implements [prometheus.Collector].
func (e *evaluations) Describe(ch chan<- *prometheus.Desc) {
	ch <- descEvaluations
	ch <- descUnknown
}

// Collect implements [prometheus.Collector].
func (e *evaluations) Collect(ch chan<- prometheus.Metric) {
	send := func(n uint64, project, flag, value string) {
		if n > 0 {
			ch <- prometheus.MustNewConstMetric(descEvaluations, prometheus.CounterValue, float64(n), project, labelOf(flag), labelOf(value))
		}
	}
	unknown := func(n uint64, project string) {
		if n > 0 {
			ch <- prometheus.MustNewConstMetric(descUnknown, prometheus.CounterValue, float64(n), project)
		}
	}
	for id, p := range *e.projects.Load() {
		for i := range p.shards {
			shard := &p.shards[i]
			shard.mu.Lock()
			p.drain(shard)
			shard.mu.Unlock()
		}
		p.mu.Lock()
		series, other := maps.Clone(p.series), p.other
		p.mu.Unlock()
		project := strconv.FormatInt(id, 10)
		for key, n := range series {
			send(n, project, key.flag, key.value)
		}
		send(other, project, otherName, otherName)
		unknown(p.unknown.Load(), project)
	}
	send(e.other.Load(), otherName, otherName, otherName)
	unknown(e.unknown.Load(), otherName)
}

// labelOf returns a text as the value of a label, which must be valid UTF-8.
func labelOf(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strconv.QuoteToASCII(s)
}
