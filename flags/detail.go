package flags

import (
	"strconv"
	"sync/atomic"
)

// A Detail is the value of one flag for one request: a [Result] that is not written out.
// The zero Detail is a flag that is off.
type Detail struct {
	snap    *Snapshot
	flag    int32
	decided decision
	written *Result // what the Snapshot does not have, such as RemoteResults; nil: it has all
}

// Detail is [Snapshot.Flag] without the texts of a Result. It is not ok where Flag returns
// an error.
func (s *Snapshot) Detail(key string, r *Request) (d Detail, ok bool) {
	return ByKey(key).Detail(s, r)
}

// Detail returns the value of the flag, see [Snapshot.Detail].
func (f Ref) Detail(s *Snapshot, r *Request) (d Detail, ok bool) {
	if s.isUnset() {
		return Detail{}, false
	}
	if r.hasRemote() {
		return s.writtenDetail(f.key, r)
	}
	i, ok := f.place(s)
	if !ok {
		return Detail{}, false
	}
	return s.detailAt(i, r)
}

// detailAt is Detail for flag i, and a request without RemoteResults.
func (s *Snapshot) detailAt(i int32, r *Request) (d Detail, ok bool) {
	f := &s.flags[i]
	if f.encrypted || !r.hidesNothing() && !r.Filter.Admits(f.requirement, f.tags(), f.tagMatch) {
		return Detail{}, false
	}
	decided := s.decideFlag(i, r)
	switch decided.value {
	case valueHidden:
		decided = decision{f.offValue, reasonDisabled}
	case valueOmitted: // no value of the flag is such a failure
		return s.writtenDetail(f.key(), r)
	}
	return Detail{snap: s.self, flag: i, decided: decided}, true
}

//go:noinline
func (s *Snapshot) writtenDetail(key string, r *Request) (d Detail, ok bool) {
	result, err := s.Flag(key, r)
	if err != nil {
		return Detail{}, false
	}
	return Detail{written: &result}, true
}

// Result writes the Detail out.
func (d Detail) Result() (r Result) {
	switch {
	case d.written != nil:
		return *d.written
	case d.snap != nil:
		d.snap.setResult(&r, d.flag, d.decided)
	}
	return r
}

// Key returns the key of the flag.
func (d Detail) Key() string {
	switch {
	case d.written != nil:
		return d.written.Key
	case d.snap != nil:
		return d.snap.flags[d.flag].key()
	}
	return ""
}

// Enabled is the field of the same name of [Result].
func (d Detail) Enabled() bool {
	if d.written != nil {
		return d.written.Enabled
	}
	return d.snap != nil && d.snap.values[d.decided.value].enabled
}

// Variant is the field of the same name of [Result].
func (d Detail) Variant() string {
	switch {
	case d.written != nil:
		return d.written.Variant
	case d.snap != nil:
		return d.snap.values[d.decided.value].variant
	}
	return ""
}

// Text is [Result.Text].
func (d Detail) Text() string {
	switch {
	case d.written != nil:
		return d.written.Text()
	case d.snap == nil:
	case d.snap.values[d.decided.value].hasVariant:
		return d.snap.values[d.decided.value].variant
	}
	return strconv.FormatBool(d.Enabled())
}

// Failed is the field of the same name of [Result].
func (d Detail) Failed() bool {
	if d.written != nil {
		return d.written.Failed
	}
	return d.snap != nil && d.snap.values[d.decided.value].failed
}

// Payload returns the payload of the value, "" if there is none.
func (d Detail) Payload() string {
	switch {
	case d.written != nil:
		return d.written.Metadata.Payload
	case d.snap != nil:
		return d.snap.payloads[d.snap.values[d.decided.value].payload].text
	}
	return ""
}

// Typed returns the value of a flag with a rule set: a text, or the number that it is; of
// another type its JSON. It is not ok for a flag with condition sets, for a failed one, and where
// the caller's fallback counts.
func (d Detail) Typed() (v TypedValue, ok bool) {
	switch {
	case d.written != nil:
		return d.written.Typed()
	case d.snap != nil && d.snap.flags[d.flag].ruled:
		v = d.snap.typed[d.snap.values[d.decided.value].typed].TypedValue
	}
	return v, v.JSON != "" && v.JSON != "null"
}

// Bool returns the value of a flag with a rule set that gives booleans, and the fallback for
// values of another type and where the caller's fallback counts.
func (d Detail) Bool(fallback bool) bool {
	if v, ok := d.Typed(); ok && v.Type == typeBoolean {
		return v.JSON == "true"
	}
	return fallback
}

// Rule is the field of the same name of [Result].
func (d Detail) Rule() *RuleResult {
	switch {
	case d.written != nil:
		return d.written.Rule
	case d.Ruled():
		f := &d.snap.flags[d.flag]
		return d.snap.ruleOf(f, &d.snap.values[d.decided.value], &d.snap.reasons[d.decided.reason])
	}
	return nil
}

// Ruled reports whether a rule set decides the flag, so that its value has a type.
func (d Detail) Ruled() bool {
	if d.written != nil {
		return d.written.typed != ""
	}
	return d.snap != nil && d.snap.flags[d.flag].ruled
}

// Multivariate is [Result.Multivariate].
func (d Detail) Multivariate() bool {
	if d.written != nil {
		return d.written.Multivariate()
	}
	return d.snap != nil && d.snap.flags[d.flag].form&formMultivariate != 0
}

// Inactive reports whether the flag is inactive, so that nothing was evaluated.
func (d Detail) Inactive() bool {
	if d.written != nil {
		return d.written.Reason.Code == ReasonFlagDisabled
	}
	return d.snap != nil && d.decided.reason == reasonDisabled
}

// A Memory keeps the Details of one Snapshot about one Request, so that a flag is evaluated
// once, and shown once. The zero value is ready. It is safe for concurrent use, and no
// goroutine waits for another: where several ask for the same flag at the same time, or for
// more than five flags, some evaluate a flag again. More than five flags cost allocations.
type Memory struct {
	words [5]atomic.Uint64 // the first ones are taken, see [Detail.word]

	// The goroutine that has set busy may use more. With a mutex, or a slice that is no
	// pointer, the compiler would let a Request escape that lies next to the Memory.
	busy atomic.Bool
	more *[]uint64
}

// The parts of a word, from its lowest bit. One that is 0 has no Detail.
const (
	wordShown      = 1
	wordReasonAt   = 1
	wordReasonBits = 23
	wordValueAt    = wordReasonAt + wordReasonBits
	wordValueBits  = 20 // of the value's place among the flag's values
	wordFlagAt     = wordValueAt + wordValueBits
	wordFlagBits   = 64 - wordFlagAt // of the flag's number plus one
)

// word returns a Detail of a Snapshot as a word. It is not ok if the bits do not suffice: for
// more than a million flags, or values or condition sets of one flag.
func (d *Detail) word() (w uint64, ok bool) {
	flag, reason := uint64(d.flag)+1, uint64(d.decided.reason)
	value := uint64(d.decided.value - d.snap.flags[d.flag].offValue)
	w = flag<<wordFlagAt | value<<wordValueAt | reason<<wordReasonAt
	return w, flag>>wordFlagBits == 0 && value>>wordValueBits == 0 && reason>>wordReasonBits == 0
}

// detailOf returns the Detail that a word stands for. It is not ok for a word of
// another Snapshot.
func (s *Snapshot) detailOf(w uint64) (d Detail, ok bool) {
	flag := int(w>>wordFlagAt) - 1
	value, reason := int32(w>>wordValueAt&(1<<wordValueBits-1)), int32(w>>wordReasonAt&(1<<wordReasonBits-1))
	if uint(flag) >= uint(len(s.flags)) || value >= s.flags[flag].valueCount || int(reason) >= len(s.reasons) {
		return Detail{}, false
	}
	return Detail{snap: s.self, flag: int32(flag), decided: decision{s.flags[flag].offValue + value, reason}}, true
}

// Detail is [Snapshot.Detail], of which it remembers what is ok. Show says that the value
// is shown to the person; first, that it was not before. What a request with RemoteResults comes
// to is not remembered, and is always shown first.
func (m *Memory) Detail(s *Snapshot, f Ref, r *Request, show bool) (d Detail, first, ok bool) {
	if s == nil {
		return Detail{}, false, false
	}
	for i := range m.words {
		w := m.words[i].Load()
		if w == 0 {
			break
		}
		if d, ok = s.detailOf(w); ok && d.Key() == f.key {
			first = show && w&wordShown == 0 && m.words[i].Or(wordShown)&wordShown == 0
			return d, first, true
		}
	}
	if m.words[len(m.words)-1].Load() != 0 {
		return m.detailMore(s, f, r, show)
	}
	if d, ok = f.Detail(s, r); !ok || d.written != nil {
		return d, show && ok, ok
	}
	w, fits := d.word()
	if show {
		w |= wordShown
	}
	for i := 0; fits && i < len(m.words); i++ {
		p := &m.words[i]
		if p.CompareAndSwap(0, w) {
			break
		}
		if p.Load()>>wordFlagAt == w>>wordFlagAt { // another goroutine was faster
			return d, show && p.Or(wordShown)&wordShown == 0, true
		}
	}
	return d, show, true
}

// detailMore is Detail for flags that the words have no room for.
//
//go:noinline
func (m *Memory) detailMore(s *Snapshot, f Ref, r *Request, show bool) (d Detail, first, ok bool) {
	if !m.busy.CompareAndSwap(false, true) {
		d, _, ok = f.detailWord(s, r, show)
		return d, show && ok, ok
	}
	defer m.busy.Store(false)
	if m.more == nil {
		m.more = new([]uint64)
	}
	for i, w := range *m.more {
		if d, ok = s.detailOf(w); ok && d.Key() == f.key {
			if show {
				(*m.more)[i] |= wordShown
			}
			return d, show && w&wordShown == 0, true
		}
	}
	d, w, ok := f.detailWord(s, r, show)
	if w != 0 {
		*m.more = append(*m.more, w)
	}
	return d, show && ok, ok
}

// detailWord is Detail that remembers nothing. The word is 0 if there is none.
func (f Ref) detailWord(s *Snapshot, r *Request, show bool) (d Detail, w uint64, ok bool) {
	if d, ok = f.Detail(s, r); !ok || d.written != nil {
		return d, 0, ok
	}
	if w, ok = d.word(); !ok {
		return d, 0, true
	}
	if show {
		w |= wordShown
	}
	return d, w, true
}
