package flags

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"
)

// Reason codes that only the results of a [Change] have.
const (
	// ReasonNoFlag: the snapshot has no such flag.
	ReasonNoFlag = "no_flag"

	// ReasonHidden: the request's Filter or Keys, or an encrypted payload, keep
	// the flag from the request.
	ReasonHidden = "hidden"
)

// A report keeps no more than this, however many subjects there are.
const (
	maxChanges  = 100 // of the value, and again of the payload, of one flag
	maxExamples = 3   // of one change
)

// A DiffReport says what a change of definitions does to subjects. String puts it
// into words.
type DiffReport struct {
	// Subjects is the number of subjects, and Changed the number of subjects who
	// get another value of any flag.
	Subjects int
	Changed  int

	// Flags are the flags that only one of the snapshots has, or whose value or
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
	// does. The change of the most subjects comes first. Each list has up to 100
	// changes; subjects of further changes are only counted.
	Changes        []Change
	PayloadChanges []Change
}

// A Change is what happens to a flag for a number of subjects. All of them have the
// same value, reason code and condition index before, and all have the same after.
type Change struct {
	// Before and After are the results of the first subject. The code of a
	// reason may be [ReasonNoFlag] or [ReasonHidden].
	Before Result
	After  Result

	Subjects int

	// Examples are the first three subjects.
	Examples []Subject
}

// A Subject is a subject of a report. It is personal data.
type Subject struct {
	Number     int // in the order given, from 1
	DistinctID string
}

// Diff evaluates all flags before and after a change of definitions and reports
// for whom they differ, and why. It takes the subjects one by one, so that there
// may be any number of them. Equal snapshots and subjects give equal reports.
//
// A value differs if the flag is enabled in only one of the snapshots, if the
// variants differ, or if the flag fails in only one. A flag that a snapshot does
// not have, that is inactive or that the request may not see counts as disabled,
// without a payload. A nil snapshot has no flags. For a request without Now, Now is
// the moment at which Diff was called. A nil request stands for an empty one.
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
			d.addSubject(&request)
		}
	}
	return d.finishReport()
}

// A differ makes a report.
type differ struct {
	report        *DiffReport
	before, after side
	flags         []*flagDiffer
}

// A flagDiffer collects the changes of one flag.
type flagDiffer struct {
	FlagDiff
	before, after   int32 // number of the flag in either snapshot, or -1
	values, payload changes
}

// changes finds a Change by what all its subjects share, before and after.
type changes map[[2]cause]*Change

// A cause is a value with the part of its reason that the subjects of a Change
// share.
type cause struct {
	value seenValue
	code  string
	index int
}

// A seenValue is the value of a flag as clients see it.
type seenValue struct {
	enabled, failed, hasVariant bool
	variant                     string
}

// newDiffer lists the flags of the snapshot after the change, in its order, and
// then the flags that only the snapshot before has.
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

// addSubject evaluates both snapshots for a subject and counts what differs.
func (d *differ) addSubject(r *Request) {
	d.report.Subjects++
	d.before.decideAll(r)
	d.after.decideAll(r)
	changed := false
	for _, f := range d.flags {
		before, payloadBefore := d.before.value(f.before)
		after, payloadAfter := d.after.value(f.after)
		switch {
		case before != after:
			changed = true
			f.Changed++
			d.addChange(f, f.values, r, before, after)
		case payloadBefore != payloadAfter:
			f.PayloadChanged++
			d.addChange(f, f.payload, r, before, after)
		}
	}
	if changed {
		d.report.Changed++
	}
}

// addChange counts a subject whose value or payload of a flag changes.
func (d *differ) addChange(f *flagDiffer, seen changes, r *Request, before, after seenValue) {
	from, to := d.before.result(f.before, f.Key), d.after.result(f.after, f.Key)
	key := [2]cause{
		{before, from.Reason.Code, from.Reason.ConditionIndex},
		{after, to.Reason.Code, to.Reason.ConditionIndex},
	}
	c := seen[key]
	if c == nil {
		if len(seen) == maxChanges {
			return
		}
		c = &Change{Before: from, After: to}
		seen[key] = c
	}
	c.Subjects++
	if len(c.Examples) < maxExamples {
		c.Examples = append(c.Examples, Subject{d.report.Subjects, strings.Clone(cutDistinctID(r.DistinctID))})
	}
}

// finishReport returns the report on all subjects so far.
func (d *differ) finishReport() *DiffReport {
	d.report.flags = len(d.flags)
	for _, f := range d.flags {
		if !f.Added && !f.Removed && f.Changed == 0 && f.PayloadChanged == 0 {
			continue
		}
		if d.report.Subjects > 0 {
			f.Share = float64(f.Changed) / float64(d.report.Subjects)
		}
		f.Changes, f.PayloadChanges = f.values.bySubjects(), f.payload.bySubjects()
		d.report.Flags = append(d.report.Flags, f.FlagDiff)
	}
	slices.SortFunc(d.report.Flags, func(a, b FlagDiff) int {
		return cmp.Or(cmp.Compare(b.Changed, a.Changed), strings.Compare(a.Key, b.Key))
	})
	return d.report
}

// bySubjects returns the changes by their number of subjects, from high to low. Of
// changes with equally many the one that was seen first comes first; no two begin
// with the same subject.
func (cs changes) bySubjects() []Change {
	var list []Change
	for _, c := range cs {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Subjects, a.Subjects), cmp.Compare(a.Examples[0].Number, b.Examples[0].Number))
	})
	return list
}

// A side evaluates one of the two snapshots.
type side struct {
	snap *Snapshot // nil: no flags
	in   *Input
}

func newSide(s *Snapshot) side { return side{s, new(Input)} }

// find returns the number of a flag in the snapshot, or -1.
func (s side) find(key string) int32 {
	if s.snap != nil {
		if i, ok := s.snap.find(key); ok {
			return i
		}
	}
	return -1
}

// decideAll evaluates all flags for a request.
func (s side) decideAll(r *Request) {
	if s.snap != nil {
		s.in.fromRequest(s.snap, r)
		s.in.decideAll()
	}
}

// decision returns what the last evaluation came to for a flag.
func (s side) decision(i int32) decision {
	if i < 0 || s.in.ran[i] != s.in.run {
		return decision{value: valueHidden}
	}
	return s.in.decisions[i]
}

// value returns the value of a flag, and the text of its payload.
func (s side) value(i int32) (_ seenValue, payload string) {
	d := s.decision(i)
	switch {
	case d.value == valueOmitted:
		return seenValue{failed: true}, ""
	case d.value < 0:
		return seenValue{}, ""
	}
	v := &s.snap.values[d.value]
	return seenValue{v.enabled, v.failed, v.hasVariant, v.variant}, s.snap.payloads[v.payload].text
}

// result returns the whole result, with the reason if there is none.
func (s side) result(i int32, key string) Result {
	if i < 0 {
		return Result{Key: key, Reason: Reason{ReasonNoFlag, -1, "No such flag"}}
	}
	d, f := s.decision(i), &s.snap.flags[i]
	r := s.snap.resultOrDisabled(i, d)
	if d.value == valueHidden && (f.state != dormant || !s.in.maySee(f)) {
		r.Reason = Reason{ReasonHidden, -1, "Hidden from the request"}
	}
	return r
}
