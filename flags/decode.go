package flags

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// MaxDocument is how many bytes a definitions document may have.
const MaxDocument = 64 << 20

// Other limits of a definitions document. They are far above what a project has and
// low enough that a hostile document costs bounded memory and time.
const (
	maxDepth      = 200       // nesting of JSON
	maxFlags      = 100_000   // flags
	maxElements   = 2_000_000 // flags, conditions, filters, elements of lists, variants, payloads, contexts and cohort nodes together
	maxConditions = 10_000    // condition sets of one flag
)

// Decode reads a definitions document: JSON of evaluation.md §1.1, in the form
// of the definitions endpoint, of the server's cache or, for its flags, of the
// management API. Of duplicate members the last one counts, with an error among
// [Snapshot.Problems], and legacy forms (super_groups, holdout_groups, old cohorts) are
// converted, which is a note there. An unknown member is a note, too, unless its
// name stands for a member that is missing, such as "rollout" in a condition set
// without "rollout_percentage": then the flag cannot be understood
// (evaluation.md §1.8).
//
// A flag that cannot be understood does not hurt the others: it is kept, and
// fails with flag_data_parsing_error when it is evaluated. The error is not nil
// if reading fails, the document is not a JSON object with an array "flags", or it
// exceeds a limit ([ErrTooLarge]): 64 MiB, 200 levels of nesting, 100,000 flags,
// or 2,000,000 elements in all.
//
// The result shares no memory with the document.
func Decode(r io.Reader) (*Definitions, error) {
	if r == nil {
		return nil, errors.New("flags: Decode: the reader is nil")
	}
	d := decoder{out: new(Definitions)}
	if memory, ok := r.(*bytes.Reader); ok && 0 < memory.Len() && memory.Len() <= MaxDocument {
		err := errors.New("flags: Decode: the document was not read")
		_, _ = memory.WriteTo(writerFunc(func(document []byte) { err = d.document(document) })) // all of it, without a copy
		if err != nil {
			return nil, err
		}
		return d.out, nil
	}
	var buf bytes.Buffer
	if sized, ok := r.(interface{ Len() int }); ok {
		buf.Grow(min(sized.Len(), MaxDocument) + bytes.MinRead) // to grow while reading copies all of it several times
	}
	n, err := buf.ReadFrom(io.LimitReader(r, MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("flags: read definitions: %w", err)
	}
	if n > MaxDocument {
		return nil, fmt.Errorf("%w: the document has more than %d bytes", ErrTooLarge, MaxDocument)
	}
	if err := d.document(buf.Bytes()); err != nil {
		return nil, err
	}
	return d.out, nil
}

// A writerFunc takes what is written, which it must not keep.
type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// noObject says why a document is not a JSON object.
func noObject(document []byte) error {
	root, err := jsonscan.Parse(document, maxDepth)
	if err != nil {
		return fmt.Errorf("flags: definitions are not valid JSON: %w", err)
	}
	return fmt.Errorf("flags: definitions must be a JSON object with an array \"flags\", not %s", kindName(root))
}

// DecodeFilters reads the filters of one flag (evaluation.md §1.3), as they are
// stored or sent, just as [Decode] reads the filters of a document. key is the key
// of the flag, which the legacy form super_groups names; "" if that is not known.
//
// Unlike Decode it keeps in Extra what evaluation does not use.
//
// The error is the first *[DefinitionError] of the filters as a whole or of one of
// their condition sets' filters, or else the first thing that evaluation passes over
// and that cannot be what its author meant; its path is below the flag. The filters come
// with it all the same. If they have an error of their own ([Filters.Err], [Filter.Err]),
// a flag that has them fails, or fails where it reaches the filter, and the filters keep
// raw, which [Filters.Normal] writes in place of them. That there is no error does not mean
// that the filters make sense, which [Compile] and packages that store filters decide.
//
// The result shares the memory of raw, which must not change any more.
func DecodeFilters(raw []byte, key string) (Filters, error) {
	at := &path{name: "filters"}
	var f Filters
	var d decoder
	v, err := parseJSON(raw)
	if err == nil {
		err = d.filters(&f, key, at, v)
	}
	if err != nil {
		f = Filters{fault: &DefinitionError{Path: at.String(), Err: err}}
	}
	fault := f.firstFault()
	switch {
	case fault != nil:
		f.source = raw
	case d.doubt != nil:
		fault = d.doubt
	default:
		return f, nil
	}
	named := *fault
	named.Flag = key
	return f, &named
}

// firstFault returns the first fault of the filters and of each one of them, or nil.
func (f *Filters) firstFault() *DefinitionError {
	fault := f.fault
	for _, fl := range f.All() {
		if fault != nil {
			break
		}
		fault = fl.fault
	}
	return fault
}

// parseJSON checks JSON of a part of a document.
func parseJSON(raw []byte) (jsonscan.Value, error) {
	if len(raw) > MaxDocument {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxDocument)
	}
	v, err := jsonscan.Parse(raw, maxDepth)
	if err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	return v, nil
}

// A decoder walks the document. Methods that read one member report a value of
// the wrong type as a fault of what is being read and go on, so that the key,
// runtime and activity of a broken flag are still known.
type decoder struct {
	out      *Definitions     // nil if what is read is not a document, so that nobody sees notes
	doubt    *DefinitionError // the first note that is an error, without a document
	elements int
	flag     *Flag             // the flag being read, or nil
	fault    **DefinitionError // where the first fault of what is being read goes, or nil
	faults   int
	buf      []byte // scratch for strings with escapes
	noted    map[memberKey]bool

	values      jsonscan.Map // of the flag being read
	repeated    *textCache   // nil for what is not a document
	seen        seenFilters  // nil for what is not a document
	names       textSlab
	raw         slab[byte]
	groups      slab[Condition]
	properties  slab[Filter]
	variants    slab[Variant]
	percentages slab[float64]

	late flagMembers // of the flag
}

// errManyFaults stands for every fault after the first thousands.
var errManyFaults = &DefinitionError{Err: errors.New("it cannot be understood; correct the faults before it first")}

var errElements = fmt.Errorf("%w: the document has more than %d elements", ErrTooLarge, maxElements)

// A path is the place of a value, as a list that grows towards the root; it
// becomes text only when there is something to report.
type path struct {
	up   *path
	name string
	n    int // element number when name is ""
}

// member makes p the path of a member of the same object.
func (p *path) member(name string) *path {
	p.name = name
	return p
}

func (p *path) String() string { return string(p.append(nil)) }

// append writes a JSON pointer. Nothing of p may outlive the call, or every path
// would have to be allocated: hence no strings.Replacer.
func (p *path) append(dst []byte) []byte {
	if p == nil {
		return dst
	}
	dst = append(p.up.append(dst), '/')
	if p.name == "" {
		return strconv.AppendInt(dst, int64(p.n), 10)
	}
	for i := range len(p.name) {
		switch c := p.name[i]; c {
		case '~':
			dst = append(dst, "~0"...)
		case '/':
			dst = append(dst, "~1"...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func (d *decoder) count(n int) error {
	if d.elements += n; d.elements > maxElements {
		return errElements
	}
	return nil
}

func (d *decoder) note(s Severity, p *path, value jsonscan.Value, hint string, err error) {
	switch {
	case d.out == nil && (s != SeverityError || d.doubt != nil), d.out != nil && len(d.out.notes) == served.MaxProblems:
		return
	}
	e := &DefinitionError{Path: p.String(), Value: shownValue(value), Err: err, Hint: hint}
	if d.flag != nil {
		e.Flag = d.flag.Key
	}
	if d.out == nil {
		d.doubt = e
		return
	}
	d.out.notes = append(d.out.notes, Problem{s, e})
}

// noteCount returns how many notes there are.
func (d *decoder) noteCount() int {
	if d.out == nil {
		return 0
	}
	return len(d.out.notes)
}

// wrong records that v is not what was wanted.
func (d *decoder) wrong(p *path, v jsonscan.Value, want string) {
	if d.fault != nil {
		d.fail(p, v, wrongType(v, want))
	}
}

func wrongType(v jsonscan.Value, want string) error {
	if v.Kind() == jsonscan.Invalid {
		return fmt.Errorf("is required and must be %s", want)
	}
	return fmt.Errorf("must be %s, not %s", want, kindName(v))
}

// fail records a fault of what is being read. The first one is why it fails; those after
// it are only reported.
func (d *decoder) fail(p *path, v jsonscan.Value, err error) {
	switch {
	case d.fault == nil:
		return
	case *d.fault != nil:
		d.note(SeverityError, p, v, "it is not the only fault", err)
		return
	}
	// A fault costs more memory than what it is about.
	if d.faults++; d.faults > served.MaxProblems {
		*d.fault = errManyFaults
		return
	}
	*d.fault = &DefinitionError{Path: p.String(), Value: shownValue(v), Err: err}
}

// shownValue returns JSON in a length fit for a message. That a value is null, the message
// says.
func shownValue(v jsonscan.Value) string {
	if v.Kind() == jsonscan.Null {
		return ""
	}
	return shorten(v)
}

// ignored reports a value of a wrong type that decides nothing, or that counts as if it
// were not there, whatever the rest says (evaluation.md §1.7).
func (d *decoder) ignored(p *path, v jsonscan.Value, want string) {
	d.note(SeverityError, p, v, "it is ignored", wrongType(v, want))
}

// expect is ignored for a value that may be null, or of one kind.
func (d *decoder) expect(kind jsonscan.Kind, p *path, v jsonscan.Value) {
	if k := v.Kind(); k != kind && k != jsonscan.Null && k != jsonscan.Invalid {
		d.ignored(p, v, kindNames[kind])
	}
}

// expectBool is expect for true and false.
func (d *decoder) expectBool(p *path, v jsonscan.Value) {
	switch v.Kind() {
	case jsonscan.True, jsonscan.False, jsonscan.Null:
	default:
		d.ignored(p, v, "true or false")
	}
}

// expectTexts is expect for a list of texts.
func (d *decoder) expectTexts(p *path, v jsonscan.Value) {
	d.expect(jsonscan.Array, p, v)
	i := 0
	for a := v.Array(); a.Next(); i++ {
		if a.Value().Kind() != jsonscan.String {
			d.ignored(&path{up: p, n: i}, a.Value(), kindNames[jsonscan.String])
		}
	}
}

var kindNames = [...]string{
	jsonscan.Invalid: "nothing",
	jsonscan.Null:    "null",
	jsonscan.False:   "a boolean",
	jsonscan.True:    "a boolean",
	jsonscan.Number:  "a number",
	jsonscan.String:  "a string",
	jsonscan.Array:   "an array",
	jsonscan.Object:  "an object",
}

func kindName(v jsonscan.Value) string { return kindNames[v.Kind()] }

func (d *decoder) text(v jsonscan.Value) string { return string(d.bytes(v)) }

// name is text for a text of which each flag has one.
func (d *decoder) name(v jsonscan.Value) string { return d.names.text(d.bytes(v)) }

// json returns a value to keep. Definitions share no memory with their document, but
// filters that are read alone do.
func (d *decoder) json(v jsonscan.Value) json.RawMessage {
	if d.out == nil {
		return json.RawMessage(v[:len(v):len(v)])
	}
	if len(v) > slabSize/8 {
		return bytes.Clone(v)
	}
	kept := d.raw.list(len(v))
	copy(kept, v)
	return kept
}

// bytes is text for what is not kept.
func (d *decoder) bytes(v jsonscan.Value) []byte {
	if b, ok := v.Plain(); ok {
		return b
	}
	d.buf, _ = v.AppendString(d.buf[:0])
	return d.buf
}

// words are the strings that documents repeat for every filter, which all documents
// share.
var words = func() map[string]string {
	m := make(map[string]string)
	for _, w := range []string{"person", "person_metadata", "group", "cohort", "flag", "id", "AND", "OR", "property", "true", "any", "all", "client", "server", "sha1", "xxhash64"} {
		m[w] = w
	}
	for name := range operators.Names() {
		m[name] = name
	}
	return m
}()

// word is text for a text that is likely to be repeated.
func (d *decoder) word(v jsonscan.Value) string { return d.repeated.text(d.bytes(v)) }

// is reports whether v is of the wanted kind. Null and nothing are not, which is
// fine; anything else is a fault.
func (d *decoder) is(kind jsonscan.Kind, p *path, v jsonscan.Value) bool {
	switch v.Kind() {
	case kind:
		return true
	case jsonscan.Null, jsonscan.Invalid:
	case jsonscan.Array, jsonscan.Object, jsonscan.String, jsonscan.Number, jsonscan.True, jsonscan.False:
		d.wrong(p, v, kindNames[kind])
	}
	return false
}

// The next methods read v into dst unless it is null.

func (d *decoder) str(dst *string, p *path, v jsonscan.Value) {
	if d.is(jsonscan.String, p, v) {
		*dst = d.word(v)
	}
}

func (d *decoder) bool(dst *bool, p *path, v jsonscan.Value) {
	switch v.Kind() {
	case jsonscan.True:
		*dst = true
	case jsonscan.False:
		*dst = false
	case jsonscan.Null:
	default:
		d.wrong(p, v, "true or false")
	}
}

// optionalBool reads true or false. A null changes nothing, also after another
// member of the same name.
func (d *decoder) optionalBool(dst **bool, p *path, v jsonscan.Value) {
	b := false
	if v.Kind() == jsonscan.Null {
		return
	}
	d.bool(&b, p, v)
	*dst = &b
}

// shown reads a text that only people look at. It may be anything, and what is no
// text says nothing (evaluation.md §1.4).
func (d *decoder) shown(v jsonscan.Value) string {
	if v.Kind() != jsonscan.String {
		return ""
	}
	return d.text(v)
}

func (d *decoder) float(dst *float64, p *path, v jsonscan.Value) bool {
	if v.Kind() == jsonscan.Null {
		return false
	}
	f, ok := v.Float()
	if !ok {
		d.wrong(p, v, "a number")
		return false
	}
	*dst = f
	return true
}

func (d *decoder) integer(dst *int64, p *path, v jsonscan.Value) bool {
	if v.Kind() == jsonscan.Null {
		return false
	}
	if v.Kind() == jsonscan.Number {
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			*dst = n
			return true
		}
		if f, ok := v.Float(); ok && f == float64(int64(f)) && f > -1<<53 && f < 1<<53 {
			*dst = int64(f)
			return true
		}
	}
	d.wrong(p, v, "an integer")
	return false
}

func (d *decoder) index(p *path, v jsonscan.Value) (int, bool) {
	var n int64
	if !d.integer(&n, p, v) {
		return 0, false
	}
	if n < 0 || n > served.MaxGroupTypeIndex {
		d.fail(p, v, errors.New("group type index out of range, want 0 to 1048576"))
		return 0, false
	}
	return int(n), true
}

func (d *decoder) texts(dst *[]string, p *path, v jsonscan.Value) error {
	if !d.is(jsonscan.Array, p, v) {
		return nil
	}
	*dst = nil
	a := d.values.Array(v)
	for i := 0; a.Next(); i++ {
		if err := d.count(1); err != nil {
			return err
		}
		if a.Value().Kind() != jsonscan.String {
			d.wrong(&path{up: p, n: i}, a.Value(), "a string")
			continue
		}
		*dst = append(*dst, d.word(a.Value()))
	}
	return nil
}

// document reads a document. To walk over it checks it.
func (d *decoder) document(root jsonscan.Value) error {
	done, err := d.members(root, true)
	if done {
		return err
	}
	*d = decoder{out: new(Definitions)}
	_, err = d.members(root, false)
	return err
}

// members reads the members of a document. early says to read the flags when they come,
// so that nothing walks over them twice. That is not done if it could have another result
// than to read them after the members that describe all flags: because of a second list,
// of notes, or of an error.
func (d *decoder) members(root jsonscan.Value, early bool) (done bool, err error) {
	var flagList, cohorts, static jsonscan.Value
	var odd, read bool
	notes := 0
	d.repeated, d.seen = new(textCache), newSeenFilters(len(root))
	o := root.ObjectWithin(maxDepth)
	var names nameSet
	for o.NextName() {
		names.add(o.Name())
		if string(o.Name()) == "flags" && early && !odd {
			if read || len(d.out.notes) > 0 {
				return false, nil
			}
			if a, ok := o.Elements(); ok {
				if d.list(&a, len(root)) != nil {
					return false, nil
				}
				read, notes = o.Behind(&a), len(d.out.notes)
				continue
			}
		}
		if !o.Read() {
			break
		}
		v := o.Value()
		switch string(o.Name()) {
		case "flags":
			flagList = v
		case "cohorts":
			cohorts = v
		case "static_cohorts":
			static = v
		case "timezone":
			at := &path{name: "timezone"}
			switch v.Kind() {
			case jsonscan.String:
				d.out.TimeZone = d.text(v)
			case jsonscan.Null:
			default:
				d.note(SeverityError, at, v, hintZone, wrongType(v, kindNames[jsonscan.String]))
			}
		case "group_type_mapping":
			d.groupTypes(&path{name: "group_type_mapping"}, v)
		case "property_matching_version":
			// Anything but the number 2 is version 1 (evaluation.md §4.4).
			d.out.PropertyMatchingVersion = 1
			at := &path{name: "property_matching_version"}
			switch f, ok := v.Float(); {
			case f == 2:
				d.out.PropertyMatchingVersion = 2
			case ok && f != 1:
				d.note(SeverityWarning, at, v, "want 1 or 2", errors.New("unknown version, it counts as 1"))
			default:
				d.expect(jsonscan.Number, at, v)
			}
		case "minimal_flag_called_events":
			d.out.MinimalFlagCalledEvents = v.Kind() == jsonscan.True
			d.expectBool(&path{name: "minimal_flag_called_events"}, v)
		case "bucketing_hash":
			if v.Kind() == jsonscan.String {
				d.out.BucketingHash = d.word(v)
			} else if v.Kind() != jsonscan.Null {
				d.note(SeverityError, &path{name: "bucketing_hash"}, v, hintHash, wrongType(v, kindNames[jsonscan.String]))
			}
		default:
			odd = odd || !members.Document.Knows(o.Name())
		}
	}
	switch {
	case o.Err() != nil:
		return true, noObject(root)
	case read && (odd || names.doubtful || flagList != nil || len(d.out.notes) != notes):
		return false, nil
	case odd:
		d.checkMembers(members.Document, nil, root)
	}
	d.checkNames(&names, nil, root)
	if !read {
		if flagList.Kind() != jsonscan.Array {
			return true, fmt.Errorf("flags: definitions must have an array \"flags\", not %s", kindName(flagList))
		}
		a := flagList.Array()
		if err := d.list(&a, len(flagList)); err != nil {
			return true, err
		}
	}
	if err := d.cohorts(cohorts); err != nil {
		return true, err
	}
	return true, d.staticCohorts(static)
}

// list reads the list of flags, which has at most so many bytes.
func (d *decoder) list(a *jsonscan.Elements, size int) error {
	d.out.Flags = []Flag{}
	for i := 0; d.values.Next(a); i++ {
		if i == maxFlags {
			return fmt.Errorf("%w: the document has more than %d flags", ErrTooLarge, maxFlags)
		}
		if n := len(d.out.Flags); n == cap(d.out.Flags) {
			// To grow the list is dear. What is left is perhaps like the flags so far.
			more := 8
			if at := a.Offset(); n > 0 {
				more = max(int(int64(size-at)*int64(n)/int64(at)*17/16), n/4)
			}
			d.out.Flags = slices.Grow(d.out.Flags, min(more+1, maxFlags))
		}
		if err := d.element(i, a.Value()); err != nil {
			return err
		}
	}
	if cap(d.out.Flags) > 2*len(d.out.Flags) { // most of the document is cohorts
		d.out.Flags = slices.Clone(d.out.Flags)
	}
	return nil
}

// element reads element i of the list of flags.
func (d *decoder) element(i int, v jsonscan.Value) error {
	if err := d.count(1); err != nil {
		return err
	}
	at := &path{up: &path{name: "flags"}, n: i}
	if v.Kind() == jsonscan.Object {
		return d.decodeFlag(v, at)
	}
	d.note(SeverityError, at, v, "the element is left out", wrongType(v, kindNames[jsonscan.Object]))
	return nil
}

func (d *decoder) groupTypes(p *path, v jsonscan.Value) {
	if v.Kind() == jsonscan.Null {
		return
	}
	if v.Kind() != jsonscan.Object {
		d.note(SeverityError, p, v, "group conditions cannot match without it", wrongType(v, kindNames[jsonscan.Object]))
		return
	}
	d.out.GroupTypes = make(map[int]string)
	o := d.object(nil, v)
	for o.next() {
		key := string(o.Name())
		n, err := strconv.Atoi(key)
		if err != nil || n < 0 || n > served.MaxGroupTypeIndex || o.Value().Kind() != jsonscan.String {
			d.note(SeverityError, &path{up: p, name: key}, o.Value(), "the entry is left out", errors.New("want a group type index as the name and a string as the value"))
			continue
		}
		if len(d.out.GroupTypes) < 1000 {
			d.out.GroupTypes[n] = d.text(o.Value())
		}
	}
	d.check(&o, p)
}

func (d *decoder) decodeFlag(v jsonscan.Value, at *path) error {
	n := len(d.out.Flags)
	d.out.Flags = slices.Grow(d.out.Flags, 1)[:n+1]
	f := &d.out.Flags[n]
	d.flag, d.fault = f, &f.fault
	defer func() { d.flag, d.fault = nil, nil }()

	notes := d.noteCount()
	m := &d.late
	*m = flagMembers{flag: f}
	o := d.object(members.Flag, v)
	for o.next() {
		if field := flagFieldNamed[string(o.Name())]; field != nil {
			m.place.name = field.name
			field.read(d, m, &m.place, o.Value())
		} else {
			o.other()
		}
	}
	d.check(&o, nil)

	if m.key.Kind() != jsonscan.String || len(m.key) == len(`""`) {
		d.flag = nil
		d.nameNotes(notes, "", at.String())
		if !f.Deleted {
			d.note(SeverityError, &path{up: at, name: "key"}, m.key, "the flag is left out; give it a key", errors.New("a flag's key must be a string that is not empty"))
		}
		*f = Flag{} // its place is for the next one
		d.out.Flags = d.out.Flags[:n]
		return nil
	}
	f.Key = d.name(m.key)
	d.nameNotes(notes, f.Key, "")
	if m.remote {
		// Continuity is there for SDKs alone, so that they ask the server.
		f.EnsureExperienceContinuity = false
	}
	if !m.hasID && f.fault == nil && !f.Deleted {
		d.note(SeverityWarning, &path{name: "id"}, nil, "results will say id 0", errors.New("the flag has no id"))
	}
	if m.contexts.Kind() != jsonscan.Null && m.contexts != nil {
		if err := d.texts(&f.EvaluationContexts, &path{name: "evaluation_contexts"}, m.contexts); err != nil {
			return err
		}
		d.expectTexts(&path{name: "evaluation_tags"}, m.tags)
	} else if m.tags != nil {
		if err := d.texts(&f.EvaluationContexts, &path{name: "evaluation_tags"}, m.tags); err != nil {
			return err
		}
	}
	at = &path{name: "filters"}
	if m.filters.Kind() == jsonscan.Null {
		// A flag has no filters only if the member is absent.
		d.wrong(at, m.filters, kindNames[jsonscan.Object])
	}
	err := d.filters(&f.Filters, f.Key, at, m.filters)
	if f.HasExperiment != nil && *f.HasExperiment && f.Filters.RuleSet == nil {
		f.HasExperiment = nil // which says the same
	}
	if f.Filters.firstFault() != nil {
		f.Filters.source = bytes.Clone(m.filters)
	}
	return err
}

// nameNotes says of the notes from the n-th on, which were made before the key of the flag
// was known, which flag they are about. Their paths are below a place.
func (d *decoder) nameNotes(n int, key, place string) {
	for ; n < d.noteCount(); n++ {
		e := d.out.notes[n].DefinitionError
		e.Flag, e.Path = key, place+e.Path
	}
}

// filters reads the filters of the flag with a key. Their faults are their own.
func (d *decoder) filters(f *Filters, key string, at *path, v jsonscan.Value) error {
	outer := d.fault
	d.fault = &f.fault
	defer func() { d.fault = outer }()

	if !d.is(jsonscan.Object, at, v) {
		return nil
	}
	var groups, multivariate, payloads, holdout, superGroups, holdoutGroups jsonscan.Value
	var hasEnrollment bool
	p := &path{up: at}
	o := d.object(members.Filters, v)
	for o.next() {
		v := o.Value()
		switch string(o.Name()) {
		case "groups":
			groups = v
		case "multivariate":
			multivariate = v
		case "aggregation_group_type_index":
			f.AggregationGroupTypeIndex = d.aggregation(p.member("aggregation_group_type_index"), v)
		case "payloads":
			payloads = v
		case "early_exit":
			d.optionalBool(&f.EarlyExit, p.member("early_exit"), v)
		case "feature_enrollment":
			p.name = "feature_enrollment"
			hasEnrollment = v.Kind() != jsonscan.Null
			d.optionalBool(&f.FeatureEnrollment, p, v)
		case "holdout":
			holdout = v
		case "holdout_groups":
			holdoutGroups = v
		case "super_groups":
			superGroups = v
		case "version":
			p.name = "version"
			var n int64
			switch {
			case v.Kind() == jsonscan.Null && d.out != nil:
				d.wrong(p, v, "an integer")
			case d.integer(&n, p, v):
				f.Version = int(min(max(n, -1), 1<<30))
			}
		default:
			o.other()
		}
	}
	o.odd = o.odd && (f.Version == 0 || f.Version == 1) // other versions may know more
	d.check(&o, at)
	if f.Version == ruleVersion && (f.fault == nil || d.out == nil) {
		f.fault, d.doubt = nil, nil // of members that a rule set does not have
		d.ruleSet(f, key, at, v)
		return nil
	}
	if err := d.conditions(f, &path{up: at, name: "groups"}, groups); err != nil {
		return err
	}
	defer func() { f.Extra = d.extra(v, f.has) }()
	if err := d.multivariate(f, &path{up: at, name: "multivariate"}, multivariate); err != nil {
		return err
	}
	if err := d.payloads(f, &path{up: at, name: "payloads"}, payloads); err != nil {
		return err
	}
	d.expect(jsonscan.Array, &path{up: at, name: "holdout_groups"}, holdoutGroups)
	d.expect(jsonscan.Array, &path{up: at, name: "super_groups"}, superGroups)
	if holdout != nil && holdout.Kind() != jsonscan.Null {
		d.holdout(f, &path{up: at, name: "holdout"}, holdout)
	} else if holdoutGroups.Kind() == jsonscan.Array {
		d.holdoutGroups(f, &path{up: at, name: "holdout_groups"}, holdoutGroups)
	}
	if !hasEnrollment && superGroups.Kind() == jsonscan.Array {
		d.superGroups(f, key, &path{up: at, name: "super_groups"}, superGroups)
	}
	return nil
}

func (d *decoder) aggregation(p *path, v jsonscan.Value) Aggregation {
	if v.Kind() == jsonscan.Null {
		return ByPerson
	}
	n, ok := d.index(p, v)
	if !ok {
		return ByPerson
	}
	return ByGroup(n)
}

func (d *decoder) conditions(f *Filters, at *path, v jsonscan.Value) error {
	if !d.is(jsonscan.Array, at, v) {
		return nil
	}
	var list []Condition
	a := d.values.Array(v)
	for i := 0; a.Next(); i++ {
		if i == maxConditions {
			d.fail(at, nil, fmt.Errorf("%w: more than %d condition sets", ErrTooLarge, maxConditions))
			d.groups.done(list)
			return nil
		}
		if err := d.count(1); err != nil {
			return err
		}
		at := &path{up: at, n: i}
		if a.Value().Kind() != jsonscan.Object {
			d.wrong(at, a.Value(), "an object")
			continue
		}
		list = d.groups.next(list)
		c := &list[len(list)-1]
		p := &path{up: at}
		o := d.object(members.Condition, a.Value())
		for o.next() {
			v := o.Value()
			switch string(o.Name()) {
			case "properties":
				if err := d.filterList(&c.Properties, p.member("properties"), v); err != nil {
					return err
				}
			case "rollout_percentage":
				p.name = "rollout_percentage"
				var pct float64
				c.RolloutPercentage = nil
				if d.float(&pct, p, v) {
					c.RolloutPercentage = d.percentages.put(pct)
				}
			case "variant":
				p.name = "variant"
				var s string
				c.Variant = nil
				if v.Kind() != jsonscan.Null {
					d.str(&s, p, v)
					c.Variant = &s
				}
			case "aggregation_group_type_index":
				c.AggregationGroupTypeIndex = d.aggregation(p.member("aggregation_group_type_index"), v)
			case "description":
				c.Description = d.shown(v)
			case "sort_key":
				c.SortKey = d.shown(v)
			default:
				o.other()
			}
		}
		d.check(&o, at)
		c.Extra = d.extra(a.Value(), c.has)
	}
	if f.Groups = d.groups.done(list); f.Groups == nil {
		f.Groups = []Condition{}
	}
	return nil
}

func (d *decoder) filterList(dst *[]Filter, at *path, v jsonscan.Value) error {
	*dst = nil
	if !d.is(jsonscan.Array, at, v) {
		return nil
	}
	var list []Filter
	a := d.values.Array(v)
	for i := 0; a.Next(); i++ {
		if err := d.count(1); err != nil {
			return err
		}
		at := &path{up: at, n: i}
		if a.Value().Kind() != jsonscan.Object {
			d.wrong(at, a.Value(), "an object")
			continue
		}
		list = d.properties.next(list)
		f := &list[len(list)-1]
		places := d.seen.places(a.Value())
		if n, ok := d.copySeen(f, places, a.Value()); ok {
			if err := d.count(n); err != nil {
				return err
			}
			continue
		}
		elements, notes := d.elements, d.noteCount()
		if err := d.decodeFilter(f, members.Filter, at, a.Value()); err != nil {
			return err
		}
		if f.Type == "" && f.fault == nil && *d.fault == nil {
			d.note(SeverityWarning, &path{up: at, name: "type"}, nil, hintType, errNoType)
		}
		if f.fault == nil && *d.fault == nil && notes == d.noteCount() {
			keepSeen(f, places, a.Value(), d.elements-elements)
		}
	}
	if *dst = d.properties.done(list); *dst == nil {
		*dst = []Filter{}
	}
	return nil
}

const hintType = `say "person" if that is meant`

var errNoType = errors.New("the filter has no type and counts as one on the person")

// decodeFilter reads one filter. Its faults are its own: they fail the flag
// only where the filter is reached.
func (d *decoder) decodeFilter(f *Filter, shape *members.Shape, at *path, v jsonscan.Value) error {
	outer := d.fault
	d.fault = &f.fault
	defer func() { d.fault = outer }()

	var key jsonscan.Value
	p := &path{up: at}
	o := d.object(shape, v)
	for o.next() {
		v := o.Value()
		switch string(o.Name()) {
		case "key":
			key = v
		case "value":
			f.Value = d.json(v)
			if v.Kind() == jsonscan.Array {
				// About the number of elements, which compilation copies.
				if err := d.count(bytes.Count(v, []byte{','})); err != nil {
					return err
				}
			}
		case "operator":
			d.str(&f.Operator, p.member("operator"), v)
		case "type":
			d.str(&f.Type, p.member("type"), v)
		case "group_type_index":
			p.name = "group_type_index"
			f.GroupTypeIndex = nil
			if v.Kind() == jsonscan.Null {
				continue
			}
			if n, ok := d.index(p, v); ok {
				f.GroupTypeIndex = &n
			}
		case "negation":
			d.bool(&f.Negation, p.member("negation"), v)
		case "cohort_name":
			if d.out == nil {
				f.CohortName = d.shown(v)
			}
		case "dependency_chain":
			if v.Kind() == jsonscan.Array {
				chain := []string{}
				if err := d.texts(&chain, p.member("dependency_chain"), v); err != nil {
					return err
				}
				f.DependencyChain = &chain
			} else {
				d.expect(jsonscan.Array, p.member("dependency_chain"), v)
			}
		default:
			if shape == members.Leaf {
				d.comparison(&f.Comparison, p.member(string(o.Name())), v)
			}
			o.other()
		}
	}
	o.odd = o.odd && operators.KindOf(f.Type) != operators.UnknownFilter
	d.fault = outer // what has the filter cannot be understood
	d.check(&o, at)
	d.fault = &f.fault
	if name := currentOperator(f.Operator); name != f.Operator {
		d.note(SeverityNote, &path{up: at, name: "operator"}, quote(f.Operator), fmt.Sprintf("replace it by %q", name), errors.New("the legacy operator was converted"))
		f.Operator = name
	}
	switch k := key.Kind(); {
	case k == jsonscan.String:
		f.Key = d.word(key)
	case k == jsonscan.Number && f.Type == "flag":
		if _, err := strconv.ParseInt(string(key), 10, 64); err == nil {
			f.Key = string(key)
		}
	case f.Type == "flag" || f.Type == "cohort":
		// Without a usable key a dependency never matches; a cohort needs none.
	case k == jsonscan.Number:
		f.Key, _ = text.Str(key)
		if d.out != nil { // a client of the management API may send it
			d.wrong(&path{up: at, name: "key"}, key, "a string")
		}
	default:
		d.wrong(&path{up: at, name: "key"}, key, "a string")
	}
	if operators.KindOf(f.Type) == operators.UnknownFilter {
		f.Extra = extraMembers(v, f.has)
	} else {
		f.Extra = d.extra(v, f.has)
	}
	return nil
}

// currentOperator returns the name that an operator has now (evaluation.md §4.2).
func currentOperator(name string) string {
	if o, ok := operators.Named(name); ok {
		return o.Name
	}
	return name
}

func (d *decoder) multivariate(f *Filters, at *path, v jsonscan.Value) error {
	var variants jsonscan.Value
	if !d.is(jsonscan.Object, at, v) {
		return nil
	}
	o := d.object(members.Multivariate, v)
	for o.next() {
		if string(o.Name()) == "variants" {
			variants = o.Value()
		} else {
			o.other()
		}
	}
	d.check(&o, at)
	f.Multivariate = new(Multivariate)
	defer func() { f.Multivariate.Extra = d.extra(v, f.Multivariate.has) }()
	at = &path{up: at, name: "variants"}
	if !d.is(jsonscan.Array, at, variants) {
		return nil
	}
	var list []Variant
	a := d.values.Array(variants)
	for i := 0; a.Next(); i++ {
		if err := d.count(1); err != nil {
			return err
		}
		at := &path{up: at, n: i}
		if a.Value().Kind() != jsonscan.Object {
			d.wrong(at, a.Value(), "an object")
			continue
		}
		list = d.variants.next(list)
		w := &list[len(list)-1]
		hasKey, hasPct := false, false
		p := &path{up: at}
		o := d.object(members.Variant, a.Value())
		for o.next() {
			v := o.Value()
			switch string(o.Name()) {
			case "key":
				p.name = "key"
				hasKey = v.Kind() == jsonscan.String
				d.str(&w.Key, p, v)
			case "name":
				w.Name = nil
				d.expect(jsonscan.String, p.member("name"), v)
				if v.Kind() == jsonscan.String {
					w.Name = new(d.text(v))
				}
			case "rollout_percentage":
				hasPct = d.float(&w.RolloutPercentage, p.member("rollout_percentage"), v)
			default:
				o.other()
			}
		}
		d.check(&o, at)
		if !hasKey {
			d.fail(&path{up: at, name: "key"}, a.Value(), errors.New("a variant's key must be a string"))
		}
		if !hasPct && d.out == nil {
			d.note(SeverityError, &path{up: at, name: "rollout_percentage"}, nil, "", errors.New("a variant needs a percentage"))
		}
		w.Extra = d.extra(a.Value(), w.has)
	}
	if f.Multivariate.Variants = d.variants.done(list); f.Multivariate.Variants == nil {
		f.Multivariate.Variants = []Variant{}
	}
	return nil
}

func (d *decoder) payloads(f *Filters, at *path, v jsonscan.Value) error {
	if !d.is(jsonscan.Object, at, v) {
		return nil
	}
	f.Payloads = make(map[string]json.RawMessage)
	o := d.object(nil, v)
	for o.next() {
		if err := d.count(1); err != nil {
			return err
		}
		f.Payloads[string(o.Name())] = d.json(o.Value())
	}
	d.check(&o, at)
	return nil
}

func (d *decoder) holdout(f *Filters, at *path, v jsonscan.Value) {
	if !d.is(jsonscan.Object, at, v) {
		return
	}
	var h Holdout
	var hasID, hasPct bool
	o := d.object(members.Holdout, v)
	for o.next() {
		switch string(o.Name()) {
		case "id":
			hasID = d.integer(&h.ID, &path{up: at, name: "id"}, o.Value())
		case "exclusion_percentage":
			hasPct = d.float(&h.ExclusionPercentage, &path{up: at, name: "exclusion_percentage"}, o.Value())
		default:
			o.other()
		}
	}
	d.check(&o, at)
	if hasID && hasPct {
		h.Extra = d.extra(v, h.has)
		f.Holdout = &h
		return
	}
	d.note(SeverityError, at, v, "no subject is held out", errors.New("a holdout needs an id and an exclusion_percentage"))
}

// holdoutGroups converts the older form of a holdout (evaluation.md §13.3).
func (d *decoder) holdoutGroups(f *Filters, at *path, v jsonscan.Value) {
	a := d.values.Array(v)
	if !a.Next() {
		return
	}
	first, pct, variant := a.Value(), 100.0, ""
	for o := first.Object(); o.Next(); {
		switch string(o.Name()) {
		case "rollout_percentage":
			if n, ok := o.Value().Float(); ok {
				pct = n
			} else if o.Value().Kind() != jsonscan.Null {
				d.ignored(&path{up: &path{up: at, n: 0}, name: "rollout_percentage"}, o.Value(), kindNames[jsonscan.Number])
				return
			}
		case "variant":
			if o.Value().Kind() == jsonscan.String {
				variant = d.text(o.Value())
			}
		}
	}
	digits, ok := strings.CutPrefix(variant, "holdout-")
	id, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil {
		d.note(SeverityWarning, at, first, "it is ignored; use holdout", errors.New("holdout_groups does not name a variant holdout-<id>"))
		return
	}
	f.Holdout = &Holdout{ID: id, ExclusionPercentage: pct}
	d.note(SeverityNote, at, nil, "replace it by holdout", errors.New("the legacy holdout_groups was converted"))
}

// superGroups converts the older form of early access (evaluation.md §3.3).
func (d *decoder) superGroups(f *Filters, flagKey string, at *path, v jsonscan.Value) {
	a := d.values.Array(v)
	if !a.Next() {
		return
	}
	var properties jsonscan.Value
	for o := d.values.Object(a.Value()); o.Next(); {
		if string(o.Name()) == "properties" {
			properties = o.Value()
		}
	}
	n, matches := 0, false
	for p := properties.Array(); p.Next(); n++ {
		for o := p.Value().Object(); o.Next(); {
			if string(o.Name()) == "key" && o.Value().Kind() == jsonscan.String {
				matches = d.text(o.Value()) == enrollmentPrefix+flagKey
			}
		}
	}
	if n != 1 || !matches {
		d.note(SeverityWarning, at, nil, "it is ignored; use feature_enrollment or a condition set", errors.New("super_groups is not a plain early access condition"))
		return
	}
	f.FeatureEnrollment = new(true)
	d.note(SeverityNote, at, nil, "replace it by feature_enrollment", errors.New("the legacy super_groups was converted"))
}
