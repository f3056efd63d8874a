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
	came    decision
	written *Result // what the Snapshot does not have, such as Answers; nil: it has all
}

// Detail is [Snapshot.Flag] without the texts of a Result. It is not ok where Flag returns
// an error.
func (s *Snapshot) Detail(key string, r *Request) (b Detail, ok bool) {
	return ByKey(key).Detail(s, r)
}

// Detail returns the value of the flag, see [Snapshot.Detail].
func (f Ref) Detail(s *Snapshot, r *Request) (b Detail, ok bool) {
	if s.isUnset() {
		return Detail{}, false
	}
	if r.hasAnswers() {
		return s.writtenDetail(f.key, r)
	}
	i, ok := f.place(s)
	if !ok {
		return Detail{}, false
	}
	return s.detailAt(i, r)
}

// detailAt is Detail for flag i, and a request without Answers.
func (s *Snapshot) detailAt(i int32, r *Request) (b Detail, ok bool) {
	f := &s.flags[i]
	if f.encrypted || !r.hidesNothing() && !r.Filter.Admits(f.requirement, f.tags(), f.tagMatch) {
		return Detail{}, false
	}
	came := s.decideFlag(i, r)
	switch came.value {
	case valueHidden:
		came = decision{f.offValue, reasonDisabled}
	case valueOmitted: // no value of the flag is such a failure
		return s.writtenDetail(f.key(), r)
	}
	return Detail{snap: s.self, flag: i, came: came}, true
}

//go:noinline
func (s *Snapshot) writtenDetail(key string, r *Request) (b Detail, ok bool) {
	result, err := s.Flag(key, r)
	if err != nil {
		return Detail{}, false
	}
	return Detail{written: &result}, true
}

// Result writes the Detail out.
func (b Detail) Result() (r Result) {
	switch {
	case b.written != nil:
		return *b.written
	case b.snap != nil:
		b.snap.setResult(&r, b.flag, b.came)
	}
	return r
}

// Key returns the key of the flag.
func (b Detail) Key() string {
	switch {
	case b.written != nil:
		return b.written.Key
	case b.snap != nil:
		return b.snap.flags[b.flag].key()
	}
	return ""
}

// Enabled is the field of the same name of [Result].
func (b Detail) Enabled() bool {
	if b.written != nil {
		return b.written.Enabled
	}
	return b.snap != nil && b.snap.values[b.came.value].enabled
}

// Variant is the field of the same name of [Result].
func (b Detail) Variant() string {
	switch {
	case b.written != nil:
		return b.written.Variant
	case b.snap != nil:
		return b.snap.values[b.came.value].variant
	}
	return ""
}

// Text is [Result.Text].
func (b Detail) Text() string {
	switch {
	case b.written != nil:
		return b.written.Text()
	case b.snap == nil:
	case b.snap.values[b.came.value].hasVariant:
		return b.snap.values[b.came.value].variant
	}
	return strconv.FormatBool(b.Enabled())
}

// Failed is the field of the same name of [Result].
func (b Detail) Failed() bool {
	if b.written != nil {
		return b.written.Failed
	}
	return b.snap != nil && b.snap.values[b.came.value].failed
}

// Payload returns the payload of the value, "" if there is none.
func (b Detail) Payload() string {
	switch {
	case b.written != nil:
		return b.written.Metadata.Payload
	case b.snap != nil:
		return b.snap.payloads[b.snap.values[b.came.value].payload].text
	}
	return ""
}

// Multivariate is [Result.Multivariate].
func (b Detail) Multivariate() bool {
	if b.written != nil {
		return b.written.Multivariate()
	}
	return b.snap != nil && b.snap.flags[b.flag].form&formMultivariate != 0
}

// Inactive reports whether the flag is inactive, so that nothing was evaluated.
func (b Detail) Inactive() bool {
	if b.written != nil {
		return b.written.Reason.Code == ReasonFlagDisabled
	}
	return b.snap != nil && b.came.reason == reasonDisabled
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
func (b *Detail) word() (w uint64, ok bool) {
	flag, reason := uint64(b.flag)+1, uint64(b.came.reason)
	value := uint64(b.came.value - b.snap.flags[b.flag].offValue)
	w = flag<<wordFlagAt | value<<wordValueAt | reason<<wordReasonAt
	return w, flag>>wordFlagBits == 0 && value>>wordValueBits == 0 && reason>>wordReasonBits == 0
}

// detailOf returns the Detail that a word stands for. It is not ok for a word of
// another Snapshot.
func (s *Snapshot) detailOf(w uint64) (b Detail, ok bool) {
	flag := int(w>>wordFlagAt) - 1
	value, reason := int32(w>>wordValueAt&(1<<wordValueBits-1)), int32(w>>wordReasonAt&(1<<wordReasonBits-1))
	if uint(flag) >= uint(len(s.flags)) || value >= s.flags[flag].valueCount || int(reason) >= len(s.reasons) {
		return Detail{}, false
	}
	return Detail{snap: s.self, flag: int32(flag), came: decision{s.flags[flag].offValue + value, reason}}, true
}

// Detail is [Snapshot.Detail], of which it remembers what is ok. Show says that the value
// is shown to the person; first, that it was not before. What a request with Answers comes
// to is not remembered, and is always shown first.
func (m *Memory) Detail(s *Snapshot, f Ref, r *Request, show bool) (b Detail, first, ok bool) {
	if s == nil {
		return Detail{}, false, false
	}
	for i := range m.words {
		w := m.words[i].Load()
		if w == 0 {
			break
		}
		if b, ok = s.detailOf(w); ok && b.Key() == f.key {
			first = show && w&wordShown == 0 && m.words[i].Or(wordShown)&wordShown == 0
			return b, first, true
		}
	}
	if m.words[len(m.words)-1].Load() != 0 {
		return m.detailMore(s, f, r, show)
	}
	if b, ok = f.Detail(s, r); !ok || b.written != nil {
		return b, show && ok, ok
	}
	w, fits := b.word()
	if show {
		w |= wordShown
	}
	for i := 0; fits && i < len(m.words); i++ {
		p := &m.words[i]
		if p.CompareAndSwap(0, w) {
			break
		}
		if p.Load()>>wordFlagAt == w>>wordFlagAt { // another goroutine was faster
			return b, show && p.Or(wordShown)&wordShown == 0, true
		}
	}
	return b, show, true
}

// detailMore is Detail for flags that the words have no room for.
//
//go:noinline
func (m *Memory) detailMore(s *Snapshot, f Ref, r *Request, show bool) (b Detail, first, ok bool) {
	if !m.busy.CompareAndSwap(false, true) {
		b, _, ok = f.detailWord(s, r, show)
		return b, show && ok, ok
	}
	defer m.busy.Store(false)
	if m.more == nil {
		m.more = new([]uint64)
	}
	for i, w := range *m.more {
		if b, ok = s.detailOf(w); ok && b.Key() == f.key {
			if show {
				(*m.more)[i] |= wordShown
			}
			return b, show && w&wordShown == 0, true
		}
	}
	b, w, ok := f.detailWord(s, r, show)
	if w != 0 {
		*m.more = append(*m.more, w)
	}
	return b, show && ok, ok
}

// detailWord is Detail that remembers nothing. The word is 0 if there is none.
func (f Ref) detailWord(s *Snapshot, r *Request, show bool) (b Detail, w uint64, ok bool) {
	if b, ok = f.Detail(s, r); !ok || b.written != nil {
		return b, 0, ok
	}
	if w, ok = b.word(); !ok {
		return b, 0, true
	}
	if show {
		w |= wordShown
	}
	return b, w, true
}
