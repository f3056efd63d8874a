package flags

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"
)

// Codes of a [Change] for results that no request ever gets.
const (
	// ReasonNoFlag: the snapshot has no such flag.
	ReasonNoFlag = "no_flag"

	// ReasonHidden: the request's Filter or Keys, or an encrypted payload, keep
	// the flag from it.
	ReasonHidden = "hidden"
)

// Limits of what a report keeps of a flag, however many subjects there are.
const (
	maxChanges  = 100
	maxExamples = 3
)

// A DiffReport says what a change of definitions does to subjects. Its String is
// for people.
type DiffReport struct {
	// Subjects is their number, and Changed that of those who get another
	// value of any flag.
	Subjects int
	Changed  int

	// Flags are those that only one of the snapshots has, or whose value or
	// payload changes for anyone: by share, from high to low, and then by key.
	Flags []FlagDiff

	flags int // of either snapshot
}

// A FlagDiff says what a change of definitions does to one flag.
type FlagDiff struct {
	Key string

	// Added and Removed say that only one of the snapshots has the flag.
	Added   bool
	Removed bool

	// Changed is the number of subjects who get another value, and Share their
	// part of all subjects, from 0 to 1.
	Changed int
	Share   float64

	// PayloadChanged is the number of subjects who keep the value and get
	// another payload.
	PayloadChanged int

	// Changes tells how the value changes, and PayloadChanges how the payload
	// does; what happens to most comes first. Of each there are up to 100:
	// subjects of further ones are only counted.
	Changes        []Change
	PayloadChanges []Change
}

// A Change is something that happens to a flag for a number of subjects: the
// value, the reason's code and its condition index are the same for all of them
// before, and again after.
type Change struct {
	// Before and After are the results of the first subject. The code of a
	// reason may be ReasonNoFlag or ReasonHidden.
	Before Result
	After  Result

	Subjects int

	// Examples are the first three subjects.
	Examples []Subject
}

// A Subject is one of those that a report is about. It is personal data.
type Subject struct {
	Number     int // in the order given, from 1
	DistinctID string
}

// Diff evaluates all flags before and after a change of definitions and reports
// for whom they differ, and why. Subjects are taken one by one, so that there may
// be any number of them; equal snapshots and subjects give equal reports.
//
// A value differs if the flag is enabled for only one of the two, if the variants
// differ, or if the flag fails for one only. A flag that a snapshot does not have,
// that is inactive or that the request may not see counts as disabled, without a
// payload. A snapshot that is nil has no flags. A request without Now has the
// moment at which Diff is called; one that is nil is that of nobody in
// particular.
func Diff(before, after *Snapshot, subjects iter.Seq[*Request]) *DiffReport {
	d := newDiffer(before, after)
	now := time.Now()
	if subjects != nil {
		for r := range subjects {
			var request Request
			if r != nil {
				request = *r
			}
			if request.Now.IsZero() {
				request.Now = now
			}
			d.subject(&request)
		}
	}
	return d.finish()
}

// A differ makes a report.
type differ struct {
	report        *DiffReport
	before, after side
	flags         []*flagDiffer
}

// A flagDiffer is a flag with its number in the programs of both sides, or -1.
type flagDiffer struct {
	FlagDiff
	before, after   int32
	values, payload changes
}

// changes finds a Change by what is the same for its subjects.
type changes map[[2]cause]*Change

// A cause is a value with the part of its reason by which subjects are summed up.
type cause struct {
	value answer
	code  string
	index int
}

// An answer is the value of a flag as clients see it.
type answer struct {
	enabled, failed, hasVariant bool
	variant                     string
}

// newDiffer lists the flags of the snapshot after, in its order, and then those
// that only the one before has.
func newDiffer(before, after *Snapshot) *differ {
	d := &differ{report: new(DiffReport), before: newSide(before), after: newSide(after)}
	add := func(key string) {
		f := &flagDiffer{before: d.before.find(key), after: d.after.find(key), values: changes{}, payload: changes{}}
		f.Key, f.Added, f.Removed = key, f.before < 0, f.after < 0
		d.flags = append(d.flags, f)
	}
	if after != nil {
		for key := range after.Keys() {
			add(key)
		}
	}
	if before != nil {
		for key := range before.Keys() {
			if d.after.find(key) < 0 {
				add(key)
			}
		}
	}
	return d
}

func (d *differ) subject(r *Request) {
	d.report.Subjects++
	d.before.evaluate(r)
	d.after.evaluate(r)
	changed := false
	for _, f := range d.flags {
		before, payloadBefore := d.before.answer(f.before)
		after, payloadAfter := d.after.answer(f.after)
		switch {
		case before != after:
			changed = true
			f.Changed++
			d.note(f, f.values, r, before, after)
		case payloadBefore != payloadAfter:
			f.PayloadChanged++
			d.note(f, f.payload, r, before, after)
		}
	}
	if changed {
		d.report.Changed++
	}
}

// note counts a subject whose value or payload changes.
func (d *differ) note(f *flagDiffer, all changes, r *Request, before, after answer) {
	from, to := d.before.result(f.before, f.Key), d.after.result(f.after, f.Key)
	key := [2]cause{
		{before, from.Reason.Code, from.Reason.ConditionIndex},
		{after, to.Reason.Code, to.Reason.ConditionIndex},
	}
	c := all[key]
	if c == nil {
		if len(all) == maxChanges {
			return
		}
		c = &Change{Before: from, After: to}
		all[key] = c
	}
	c.Subjects++
	if len(c.Examples) < maxExamples {
		c.Examples = append(c.Examples, Subject{d.report.Subjects, strings.Clone(cutDistinctID(r.DistinctID))})
	}
}

func (d *differ) finish() *DiffReport {
	d.report.flags = len(d.flags)
	for _, f := range d.flags {
		if !f.Added && !f.Removed && f.Changed == 0 && f.PayloadChanged == 0 {
			continue
		}
		if d.report.Subjects > 0 {
			f.Share = float64(f.Changed) / float64(d.report.Subjects)
		}
		f.Changes, f.PayloadChanges = f.values.sorted(), f.payload.sorted()
		d.report.Flags = append(d.report.Flags, f.FlagDiff)
	}
	slices.SortFunc(d.report.Flags, func(a, b FlagDiff) int {
		return cmp.Or(cmp.Compare(b.Changed, a.Changed), strings.Compare(a.Key, b.Key))
	})
	return d.report
}

// sorted returns the changes of most subjects first, and of equally many the one
// that was seen first. No two begin with the same subject.
func (all changes) sorted() []Change {
	var list []Change
	for _, c := range all {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Subjects, a.Subjects), cmp.Compare(a.Examples[0].Number, b.Examples[0].Number))
	})
	return list
}

// A side evaluates one of the snapshots.
type side struct {
	snap *Snapshot // nil: no flags
	in   *Input
}

func newSide(s *Snapshot) side { return side{s, new(Input)} }

// find returns the number of a flag in the program, or -1.
func (s side) find(key string) int32 {
	if s.snap != nil {
		if i, ok := s.snap.index[key]; ok {
			return i
		}
	}
	return -1
}

func (s side) evaluate(r *Request) {
	if s.snap != nil {
		s.in.fromRequest(s.snap, r)
		s.in.decideAll()
	}
}

// decision is what the last evaluation came to for a flag.
func (s side) decision(i int32) decision {
	if i < 0 || s.in.ran[i] != s.in.run {
		return decision{value: valueHidden}
	}
	return s.in.decisions[i]
}

func (s side) answer(i int32) (a answer, payload string) {
	out := s.decision(i)
	switch {
	case out.value == valueOmitted:
		return answer{failed: true}, ""
	case out.value < 0:
		return answer{}, ""
	}
	v := &s.snap.values[out.value]
	return answer{v.enabled, v.failed, v.hasVariant, v.variant}, v.text
}

// result is the result for answer, with the reason why there is none.
func (s side) result(i int32, key string) Result {
	if i < 0 {
		return Result{Key: key, Reason: Reason{ReasonNoFlag, -1, "No such flag"}}
	}
	out, f := s.decision(i), &s.snap.flags[i]
	r := s.snap.resultOrDisabled(i, out)
	if out.value == valueHidden && (f.state != dormant || f.encrypted) {
		r.Reason = Reason{ReasonHidden, -1, "Hidden from the request"}
	}
	return r
}
