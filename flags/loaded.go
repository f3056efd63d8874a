package flags

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/served"
)

// A Loaded is definitions in use: what was compiled last, and what of older definitions
// stays in force because newer ones break it (evaluation.md §1.9). The zero value has
// nothing. It does not change.
type Loaded struct {
	Definitions *Definitions // as they are in force
	Snapshot    *Snapshot    // of them

	// Kept has the first problem of each flag of which an older definition is in force,
	// and of each other part of a document: cohorts, the time zone and so on. They are among
	// the Problems of the Snapshot, too.
	Kept []Problem

	kept     Definitions               // what is kept, and nothing else
	reported map[*DefinitionError]bool // problems of what is not in force
}

// KeptDefinitions returns what is kept, to be stored: with them as the definitions in use, the
// same is kept of the same document. It is nil if there is nothing.
func (l *Loaded) KeptDefinitions() *Definitions {
	if len(l.Kept) == 0 {
		return nil
	}
	return &l.kept
}

// Next compiles newer definitions. A flag that worked and has a problem of level [SeverityError] in
// the newer definitions keeps its definition, unless they switch it off; and so do a
// cohort, the types of groups, the time zone and the bucketing hash. A flag that the newer
// definitions do not have is gone, unless there is one among them without a usable key,
// which may be it. What never worked is as the newer definitions say.
//
// The error is that of [Compile] with the newer definitions; then l stays in use.
func (l *Loaded) Next(d *Definitions, o CompileOptions) (*Loaded, error) {
	if !l.Snapshot.isUnset() {
		o.Previous = l.Snapshot
	}
	s, err := Compile(d, o)
	if err != nil {
		return nil, err
	}
	next := &Loaded{Definitions: d, Snapshot: s}
	if l.Definitions == nil || !hasErrors(s.problems) {
		return next, nil
	}
	r := repair{last: l.Definitions, useless: make(map[string]bool)}
	r.works(l)
	for range 3 { // what is not mended by an older definition is not kept
		out := r.of(d, s.problems)
		if out == d {
			return next, nil
		}
		o.Previous = s
		repaired, err := Compile(out, o)
		if err != nil {
			return next, nil // the newer definitions can be compiled
		}
		if r.mended(repaired.problems) {
			next = &Loaded{Definitions: out, Snapshot: repaired, Kept: r.kept, kept: r.parts, reported: r.reported}
			break
		}
	}
	return next, nil
}

func hasErrors(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == SeverityError })
}

// A repair puts parts of definitions that worked into newer ones.
type repair struct {
	last    *Definitions
	working map[string]*Flag // flags of last without an error, by key
	broken  map[string]bool  // other parts of last that have one, see partOf
	useless map[string]bool  // flags that have an error with their older definition, too

	kept     []Problem // of each part, the first
	reported map[*DefinitionError]bool
	notes    []Problem
	parts    Definitions
	done     map[string]bool // keys of flags, and parts as partOf has them with a slash in front
}

// partOf returns what of a document a problem outside of flags is about, "" for none of the
// parts that can be kept.
func partOf(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch parts[0] {
	case "timezone", "bucketing_hash", "group_type_mapping":
		return parts[0]
	case "flags":
		return "flags" // one of them has no usable key
	case "cohorts":
		if len(parts) > 1 {
			return "cohorts/" + parts[1]
		}
		return "cohorts"
	}
	return ""
}

// works notes which parts of the last definitions work.
func (r *repair) works(l *Loaded) {
	r.working, r.broken = make(map[string]*Flag), make(map[string]bool)
	faulty := make(map[string]bool)
	for _, p := range l.Snapshot.problems {
		switch {
		case p.Severity != SeverityError, l.reported[p.DefinitionError]:
		case p.Flag != "":
			faulty[p.Flag] = true
		default:
			r.broken[partOf(p.Path)] = true
		}
	}
	for i := range r.last.Flags {
		f := &r.last.Flags[i]
		if _, again := r.working[f.Key]; !again && !f.Deleted && !faulty[f.Key] && f.Key != "" {
			r.working[f.Key] = f
		}
	}
}

// of returns definitions with what works of the last ones in place of what the problems are
// about.
func (r *repair) of(d *Definitions, problems []Problem) *Definitions {
	r.kept, r.parts, r.done = nil, Definitions{Flags: []Flag{}}, make(map[string]bool)
	out := *d
	out.Flags = slices.Clone(d.Flags)
	first := make(map[string]*Problem)
	for i := range problems {
		if p := &problems[i]; p.Severity == SeverityError && p.Flag != "" && first[p.Flag] == nil {
			first[p.Flag] = p
		}
	}
	seen := make(map[string]bool, len(out.Flags))
	for i := range out.Flags {
		f := &out.Flags[i]
		if f.Deleted || seen[f.Key] {
			f.Deleted = f.Deleted || r.done[f.Key] // or the key would have two flags
			continue
		}
		seen[f.Key] = true
		older := r.working[f.Key]
		off := !f.Active && f.fault == nil // whatever else is wrong with it
		if first[f.Key] == nil || older == nil || off || r.useless[f.Key] {
			continue
		}
		*f = *older
		r.done[f.Key] = true
		r.parts.Flags = append(r.parts.Flags, *older)
	}
	for i := range problems {
		if p := &problems[i]; p.Severity == SeverityError && p.Flag == "" {
			r.part(&out, d, partOf(p.Path), seen)
		}
	}
	r.needed(&out)
	if len(r.done) == 0 {
		return d
	}
	r.tell(d, problems)
	out.notes = r.notes
	return &out
}

// tell collects the problems of what is not in force, with those of the rest that Decode has
// found.
func (r *repair) tell(d *Definitions, problems []Problem) {
	r.reported = make(map[*DefinitionError]bool)
	first := make(map[string]bool)
	of := func(p *Problem) string {
		if p.Flag != "" {
			return p.Flag
		}
		return "/" + partOf(p.Path)
	}
	var notes []Problem
	for _, k := range r.kept { // flags that the document may have
		notes = append(notes, k)
		r.reported[k.DefinitionError] = true
	}
	for i := range problems {
		p := problems[i]
		part := of(&p)
		if !r.done[part] {
			continue
		}
		if p.Severity == SeverityError && !first[part] {
			first[part] = true
			e := *p.DefinitionError
			e.Hint = "its last good definition stays in force"
			p.DefinitionError = &e
			r.kept = append(r.kept, p)
		}
		notes = append(notes, p)
		r.reported[p.DefinitionError] = true
	}
	for _, p := range d.notes {
		if !r.done[of(&p)] {
			notes = append(notes, p)
		}
	}
	r.notes = notes[:min(len(notes), served.MaxProblems)]
}

// part keeps one of the other parts of a document. seen has the keys of its flags.
func (r *repair) part(out, d *Definitions, part string, seen map[string]bool) {
	isCohort := strings.HasPrefix(part, "cohorts") // whose places may be others in another document
	if part == "" || r.broken[part] && !isCohort || r.done["/"+part] {
		return
	}
	switch part {
	case "timezone":
		out.TimeZone, r.parts.TimeZone = r.last.TimeZone, r.last.TimeZone
	case "bucketing_hash":
		out.BucketingHash, r.parts.BucketingHash = r.last.BucketingHash, r.last.BucketingHash
	case "group_type_mapping":
		out.GroupTypes, r.parts.GroupTypes = r.last.GroupTypes, r.last.GroupTypes
	case "flags":
		for i := range r.last.Flags {
			f := &r.last.Flags[i]
			if f != r.working[f.Key] || seen[f.Key] {
				continue
			}
			seen[f.Key] = true
			out.Flags, r.parts.Flags = append(out.Flags, *f), append(r.parts.Flags, *f)
			r.kept = append(r.kept, Problem{SeverityError, &DefinitionError{
				Flag: f.Key, Err: errors.New("it is not in the document, in which a flag has no usable key"),
				Hint: "that may be this one, so it stays in force until the key is mended",
			}})
			r.done[f.Key] = true
		}
		return
	default:
		if !r.cohorts(out, d, strings.TrimPrefix(strings.TrimPrefix(part, "cohorts"), "/")) {
			return
		}
	}
	r.done["/"+part] = true
}

// cohorts keeps the cohort at a place of the document, and all of them if the place is of
// none that the document has. It reports whether there is any to keep.
func (r *repair) cohorts(out, d *Definitions, place string) (some bool) {
	known := false
	for id := range d.Cohorts {
		c := d.Cohorts[id]
		if c.path(id).name == place {
			known = true
			some = r.cohort(out, id)
		}
	}
	if known {
		return some
	}
	for id := range r.last.Cohorts {
		if _, ok := out.Cohorts[id]; !ok {
			some = r.cohort(out, id) || some
		}
	}
	return some
}

// cohort keeps one cohort.
func (r *repair) cohort(out *Definitions, id int64) bool {
	c, ok := r.last.Cohorts[id]
	if !ok || r.broken["cohorts/"+c.path(id).name] {
		return false
	}
	if len(r.parts.Cohorts) == 0 { // the maps are those of others
		out.Cohorts, r.parts.Cohorts = maps.Clone(out.Cohorts), make(map[int64]Cohort)
	}
	if out.Cohorts == nil {
		out.Cohorts = make(map[int64]Cohort)
	}
	out.Cohorts[id], r.parts.Cohorts[id] = c, c
	return true
}

// needed keeps what the kept flags refer to and the newer definitions do not have: cohorts
// and types of groups.
func (r *repair) needed(out *Definitions) {
	for i := range r.parts.Flags {
		ids := slices.Collect(r.parts.Flags[i].Filters.CohortIDs())
		for len(ids) > 0 {
			id := ids[0]
			ids = ids[1:]
			if _, ok := out.Cohorts[id]; !ok && r.cohort(out, id) {
				c := out.Cohorts[id]
				ids = slices.AppendSeq(ids, c.Properties.CohortIDs())
			}
		}
	}
	types := maps.Clone(out.GroupTypes)
	for index, name := range r.last.GroupTypes {
		if _, ok := types[index]; !ok && len(r.parts.Flags) > 0 {
			if types == nil {
				types = make(map[int]string)
			}
			types[index] = name
		}
	}
	if len(types) != len(out.GroupTypes) {
		out.GroupTypes, r.parts.GroupTypes = types, r.last.GroupTypes
	}
}

// mended reports whether all flags that are kept work. Those that do not are not kept when
// the repair is done again.
func (r *repair) mended(problems []Problem) bool {
	mended := true
	for _, p := range problems {
		if p.Severity == SeverityError && p.Flag != "" && r.done[p.Flag] && !r.reported[p.DefinitionError] {
			r.useless[p.Flag], mended = true, false
		}
	}
	return mended
}
