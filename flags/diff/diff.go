package diff

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/text"
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

// A Report says what a change of definitions does to subjects. String puts it
// into words.
type Report struct {
	// Subjects is the number of subjects, and Changed the number of subjects who
	// get another value of any flag.
	Subjects int
	Changed  int

	// Flags are the flags that only one of the snapshots has, or whose value or
	// payload changes for anyone: by share, from high to low, and then by key.
	Flags []Flag

	all int // flags of either snapshot
}

// A Flag says what a change of definitions does to one flag.
type Flag struct {
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
	Before flags.Result
	After  flags.Result

	Subjects int

	// Examples are the first three subjects.
	Examples []Subject
}

// A Subject is a subject of a report. It is personal data.
type Subject struct {
	Number     int // in the order given, from 1
	DistinctID string
}

// Compare evaluates all flags before and after a change of definitions and reports
// for whom they differ, and why. It takes the subjects one by one, so that there
// may be any number of them. Equal snapshots and subjects give equal reports.
//
// A value differs if the flag is enabled in only one of the snapshots, if the
// variants or the values of a rule set differ, or if the flag fails in only one. A flag that a snapshot does
// not have, that is inactive or that the request may not see counts as disabled,
// without a payload. A nil snapshot has no flags. For a request without Now, Now is
// the moment at which Compare was called. A nil request stands for an empty one.
func Compare(before, after *flags.Snapshot, subjects iter.Seq[*flags.Request]) *Report {
	d := newDiffer(before, after)
	now := time.Now()
	if subjects != nil {
		for r := range subjects {
			var request flags.Request
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
	report        *Report
	before, after side
	flags         []*flagDiffer
}

// A flagDiffer collects the changes of one flag.
type flagDiffer struct {
	Flag
	values, payload changes
}

// changes finds a Change by what all its subjects share, before and after.
type changes map[[2]cause]*Change

// A cause is a value with the part of its reason that the subjects of a Change
// share.
type cause struct {
	value value
	code  string
	index int
}

func causeOf(r *flags.Result) cause {
	return cause{valueOf(r), r.Reason.Code, r.Reason.ConditionIndex}
}

// A value is the value of a flag as clients see it.
type value struct {
	enabled, failed bool
	variant         any    // true or false if there is none
	typed           string // JSON of a rule set's value that is neither a boolean nor a text
}

func valueOf(r *flags.Result) value { return value{r.Enabled, r.Failed, r.Value(), typedText(r)} }

// typedText returns the value of a rule set that the other fields of a result do not say: a
// number, an object, or null.
func typedText(r *flags.Result) string {
	raw := string(r.JSON())
	if raw == "" || strings.ContainsAny(raw[:1], `tf"`) || r.Failed || r.Reason.Code == flags.ReasonFlagDisabled {
		return ""
	}
	return raw
}

// newDiffer lists the flags of the snapshot after the change, in its order, and
// then the flags that only the snapshot before has.
func newDiffer(before, after *flags.Snapshot) *differ {
	d := &differ{report: new(Report), before: side{snap: before}, after: side{snap: after}}
	add := func(key string) {
		f := &flagDiffer{values: changes{}, payload: changes{}}
		f.Key, f.Added, f.Removed = key, !before.Has(key), !after.Has(key)
		d.flags = append(d.flags, f)
	}
	for key := range after.Keys() {
		add(key)
	}
	for key := range before.Keys() {
		if !after.Has(key) {
			add(key)
		}
	}
	return d
}

// addSubject evaluates both snapshots for a subject and counts what differs.
func (d *differ) addSubject(r *flags.Request) {
	d.report.Subjects++
	d.before.evaluate(r)
	d.after.evaluate(r)
	changed := false
	for _, f := range d.flags {
		before, after := d.before.result(f.Key), d.after.result(f.Key)
		from, to := valueOf(&before), valueOf(&after)
		switch {
		case from != to:
			changed = true
			f.Changed++
			d.addChange(f.values, r, &before, &after)
		case before.Metadata.Payload != after.Metadata.Payload:
			f.PayloadChanged++
			d.addChange(f.payload, r, &before, &after)
		}
	}
	if changed {
		d.report.Changed++
	}
}

// addChange counts a subject whose value or payload of a flag changes.
func (d *differ) addChange(seen changes, r *flags.Request, before, after *flags.Result) {
	key := [2]cause{causeOf(before), causeOf(after)}
	c := seen[key]
	if c == nil {
		if len(seen) == maxChanges {
			return
		}
		c = &Change{Before: *before, After: *after}
		seen[key] = c
	}
	c.Subjects++
	if len(c.Examples) < maxExamples {
		c.Examples = append(c.Examples, Subject{d.report.Subjects, strings.Clone(text.Identifier(strings.ToValidUTF8(r.DistinctID, "\uFFFD"), 200))})
	}
}

// finishReport returns the report on all subjects so far.
func (d *differ) finishReport() *Report {
	d.report.all = len(d.flags)
	for _, f := range d.flags {
		if !f.Added && !f.Removed && f.Changed == 0 && f.PayloadChanged == 0 {
			continue
		}
		if d.report.Subjects > 0 {
			f.Share = float64(f.Changed) / float64(d.report.Subjects)
		}
		f.Changes, f.PayloadChanges = f.values.bySubjects(), f.payload.bySubjects()
		d.report.Flags = append(d.report.Flags, f.Flag)
	}
	slices.SortFunc(d.report.Flags, func(a, b Flag) int {
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
	snap    *flags.Snapshot // nil: no flags
	request *flags.Request
	results *flags.Results
}

// evaluate evaluates all flags for a request.
func (s *side) evaluate(r *flags.Request) { s.request, s.results = r, s.snap.Evaluate(r) }

// result returns what the last evaluation came to for a flag, with a reason of its own if
// the request does not see the flag.
func (s *side) result(key string) flags.Result {
	if r, ok := s.results.Get(key); ok {
		return r
	}
	if !s.snap.Has(key) {
		return flags.Result{Key: key, Reason: flags.Reason{Code: ReasonNoFlag, ConditionIndex: -1, Description: "No such flag"}}
	}
	r, err := s.snap.Flag(key, s.request)
	if err == nil && (r.Failed || r.Reason.Code == flags.ReasonFlagDisabled) {
		return r // of a dependency cycle, or inactive
	}
	return flags.Result{Key: key, Reason: flags.Reason{Code: ReasonHidden, ConditionIndex: -1, Description: "Hidden from the request"}}
}
