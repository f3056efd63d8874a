package flags

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/served"
)

// CompileOptions configure [Compile]. The zero value is ready.
type CompileOptions struct {
	// Strict makes Compile return an error if any Problem is of level Error.
	Strict bool

	// TimeZone is the zone of dates that have none. Nil means the zone that the
	// definitions name, or UTC.
	TimeZone *time.Location

	// Regexp compiles the patterns of regex filters, as they are written. An error
	// is a Problem, and the filter never matches. Nil means package regexp, and regexp2
	// for patterns that package regexp cannot read, with a limit of time
	// (evaluation.md §4.6). A goroutine of regexp2 keeps the time, up to a second
	// longer than the last match; so a test in a bubble of testing/synctest must set
	// Regexp if it matches such patterns.
	Regexp func(pattern string) (Matcher, error)

	// MaxBytes limits the rendered size of all results, in bytes. Zero means 256
	// MiB. More than 4 GiB counts as 4 GiB.
	MaxBytes int64

	// Previous is a Snapshot of earlier definitions of the project, or nil. If few
	// flags have changed since, what it has of the others is used again, which
	// makes Compile several times as fast; the result is the same. Previous stays as
	// it is. It must have been compiled with the same Regexp.
	Previous *Snapshot
}

const (
	defaultMaxBytes  = 256 << 20
	maxRenderedBytes = 1<<32 - 1
)

// Compile turns definitions into a Snapshot. It takes milliseconds for a
// thousand flags, has no side effects, and keeps no reference to d.
//
// A fault in one flag does not hurt the others, and is among
// [Snapshot.Problems]. Compile returns an error only if d is nil, if the rendered
// results exceed MaxBytes ([ErrTooLarge]), if a Problem is of level Error and
// Strict is set, or if the Go runtime refuses SHA-1.
func Compile(d *Definitions, o CompileOptions) (s *Snapshot, err error) {
	if d == nil {
		return nil, errors.New("flags: Compile: definitions are nil")
	}
	if err := recoverPanic(func() { kindSHA1.bucket(nil) }); err != nil {
		return nil, errors.New("flags: Compile: SHA-1 is not available in FIPS 140-only mode, and the rules of bucketing need it")
	}
	c := newCompiler(d, o)
	c.begin()
	c.hashContent()
	if s = c.patch(o.Previous); s == nil {
		if err := c.compile(); err != nil {
			return nil, err
		}
		s = c.s
	}
	if o.Strict {
		n := 0
		for _, p := range s.problems {
			if p.Severity == SeverityError {
				n++
			}
		}
		if n > 0 {
			return nil, fmt.Errorf("flags: strict: %d errors, the first: %w", n, s.problems[0].DefinitionError)
		}
	}
	return s, nil
}

func newCompiler(d *Definitions, o CompileOptions) *compiler {
	c := &compiler{
		d: d, o: o, maxBytes: o.MaxBytes, number: -1,
		slotOf:   make(map[slotKey]int32),
		checkOf:  make(map[checkKey]uint32),
		cohortOf: make(map[int64]*cohortBuild),
		s: &Snapshot{
			idSlot: -1, createdSlot: -1, deviceSlot: -1, anonymousSlot: -1,
			storedCohorts: make(map[int64]int32),
			minimal:       d.MinimalFlagCalledEvents,
		},
	}
	c.s.self = c.s
	if o.Previous != nil && o.Previous.timeouts != nil {
		c.s.timeouts = o.Previous.timeouts
	} else {
		c.s.timeouts = new(patternTimeouts)
	}
	c.regexps.timeouts = c.s.timeouts
	if c.maxBytes <= 0 {
		c.maxBytes = defaultMaxBytes
	}
	c.maxBytes = min(c.maxBytes, maxRenderedBytes)
	return c
}

// begin settles what is not about one flag, and reports it first.
func (c *compiler) begin() {
	c.problems = append(c.problems, c.d.notes[:min(len(c.d.notes), served.MaxProblems)]...)
	c.findZone()
	if c.d.BucketingHash != "" {
		if _, ok := parseHash(c.d.BucketingHash); !ok {
			c.problem(SeverityError, &path{name: "bucketing_hash"}, quote(c.d.BucketingHash), hintHash, "unknown bucketing hash, sha1 is used")
		}
	}
	c.numberGroupTypes()
}

// compile fills the Snapshot. The only error is ErrTooLarge.
func (c *compiler) compile() error {
	before, found := len(c.problems), &c.s.found
	c.orderFlags()
	found.order, found.flags, found.room = slices.Clone(c.problems[before:]), make(map[int32][]Problem), new(atomic.Bool)
	// Most flags are boolean: they have two values, which are of about this size.
	c.s.values = make([]value, 0, 2*len(c.s.flags))
	c.s.edges = make([]edges, 0, 2*len(c.s.flags))
	c.s.payloads = make([]payload, 1)
	c.arena = make([]byte, 0, c.renderedSize())
	for i := range c.s.flags {
		c.compileFound(int32(i))
		if err := c.checkSize(); err != nil {
			return err
		}
	}
	c.flag = nil
	c.tryCohorts()
	c.renderReasons(found.conditions)
	if err := c.checkSize(); err != nil {
		return err
	}
	c.lintGroupTypes()
	c.buildNameTables()
	c.s.arena, c.s.values, c.s.edges, c.s.checks = trimmed(c.arena), trimmed(c.s.values), trimmed(c.s.edges), trimmed(c.s.checks)
	c.s.payloads = trimmed(c.s.payloads)
	found.cohorts, found.regexps = c.cohortOf, c.regexps.regexpBudget
	c.buildFlagSets()
	c.findRemote()
	c.finish()
	return nil
}

// compileFound is compileFlag for a flag of which is kept what a patch needs.
func (c *compiler) compileFound(i int32) {
	before := len(c.problems)
	c.compileFlag(i)
	f, found := &c.s.flags[i], &c.s.found
	f.digest = c.digests[c.place[i]].digest
	found.conditions = max(found.conditions, len(f.conditions))
	if before == len(c.problems) {
		return
	}
	found.flags[i] = slices.Clone(c.problems[before:])
	found.outside = found.outside || slices.ContainsFunc(found.flags[i], func(p Problem) bool { return p.Flag == "" })
}

// finish completes the Snapshot.
func (c *compiler) finish() {
	c.s.findPlaces()
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return int(b.Severity) - int(a.Severity) })
	c.s.problems = c.problems
	c.s.memos = new(atomic.Pointer[memo]) // a Snapshot that is made of another has values of its own
}

const hintZone = `want the name of a zone, such as "Europe/Berlin"; dates without a zone are in UTC`

// findZone settles the zone of dates that have none.
func (c *compiler) findZone() {
	zone := c.o.TimeZone
	if name := c.d.TimeZone; zone == nil && name != "" {
		var err error
		if zone, err = time.LoadLocation(name); err != nil || name == "Local" {
			zone = nil
			c.problem(SeverityError, &path{name: "timezone"}, quote(name), hintZone, "unknown time zone")
		}
	}
	zone = cmp.Or(zone, time.UTC)
	c.o.TimeZone, c.s.zone = zone, zone
}

// trimmed returns a list that wastes little memory.
func trimmed[E any](list []E) []E {
	const part = 16
	if cap(list)-len(list) <= len(list)/part {
		return list
	}
	return slices.Clone(list)
}

// numberGroupTypes gives each name of a group type an ordinal.
func (c *compiler) numberGroupTypes() {
	c.groupOf, c.s.groupIndex = make(map[int]int32, len(c.d.GroupTypes)), make(map[string]int32)
	for _, i := range slices.Sorted(maps.Keys(c.d.GroupTypes)) {
		name := c.d.GroupTypes[i]
		ord, ok := c.s.groupIndex[name]
		if !ok {
			ord = int32(len(c.s.groupNames))
			c.s.groupIndex[name] = ord
			c.s.groupNames = append(c.s.groupNames, name)
		}
		c.groupOf[i] = ord
	}
}
