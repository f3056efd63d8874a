package flags

import (
	"time"

	"github.com/flagstaff-go/flagstaff/internal/casefold"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// A Request says for whom flags are evaluated. It is the convenient form for Go
// callers; servers that hold JSON use [Input].
//
// Evaluation only reads a Request and keeps nothing of it, so one Request may
// serve any number of concurrent evaluations while nobody changes it.
//
// A property is any Go value. It counts as the JSON that encoding/json writes for
// it, which is what a remote call would send: float64(5) is 5, nil is a null that
// is present, time.Time is its RFC 3339 text. Strings, booleans, numbers,
// json.Number, nil and time.Time cost no encoding and no allocation. A value that
// cannot be encoded counts as missing (evaluation.md §8.6). A request whose properties
// are a list ([Property]) costs no allocation at all.
type Request struct {
	// DistinctID names the person. The empty string is inside every rollout
	// (evaluation.md §2.5); an ID of more than 200 bytes is cut to 200 characters.
	DistinctID string

	// Groups maps group type names to group keys.
	Groups map[string]string

	// PersonProperties and GroupProperties (by group type name) are what filters
	// compare. A property whose name is missing is not set.
	PersonProperties map[string]any
	GroupProperties  map[string]map[string]any

	// Partial says that the person and the groups may have properties that the request lacks.
	// A filter of a rule on such a property then fails the flag, instead of taking it as not set
	// (rules.md §3.2).
	Partial bool

	// Person and OfGroups say the same by lists, which cost no allocation where a
	// request is made for one call. A property that a list has counts in place of one of
	// the same name in the maps. Of several with one name the last counts.
	Person   []Property
	OfGroups []GroupProperty

	// AnonymousID is the ID before identification, for experience continuity
	// (evaluation.md §12). DeviceID is the subject of device bucketing. If one is
	// empty, the person property $anon_distinct_id or $device_id takes its place,
	// if that is a string.
	AnonymousID string
	DeviceID    string

	// Overrides are the stored hash keys of experience continuity by flag key. Nil
	// means that they are not known; evaluation takes it for none.
	Overrides map[string]string

	// Cohorts are the stored (static) cohorts of which the person is a member. Nil
	// means that they are not known; evaluation takes it for none.
	Cohorts []int64

	// RemoteResults are what a server has answered for this request, see
	// [Snapshot.MissingContext]. They count in place of what evaluation would come to. A
	// flag that the server should have answered for, and has not, is evaluated and
	// marked as [Result.Unconfirmed]. Nil means that no server was asked.
	RemoteResults *RemoteResults

	// Filter hides flags by runtime and evaluation contexts. The zero value
	// hides none.
	Filter runtime.Filter

	// Keys restricts Evaluate to these flags and all that they depend on. Nil
	// means all flags, empty but not nil means none. Flag and Explain do not look
	// at it.
	Keys []string

	// Now is the moment that relative dates count from. Zero means time.Now().
	Now time.Time
}

// noRequest stands for a Request that is nil.
var noRequest Request

// hidesNothing reports whether the Filter admits every flag.
func (r *Request) hidesNothing() bool {
	return r == nil || r.Filter.Kind == runtime.All && len(r.Filter.Tags) == 0
}

// The Input of a Go caller comes from a pool, and must not have anything that the
// Request refers to directly: for the compiler that would make all of it escape, and a
// list of properties could not be on the caller's stack. It is allowed to keep the texts
// in these lists and maps.

// bindRequest binds the Input to a snapshot and to a Request, without its properties,
// groups and overrides.
func (in *Input) bindRequest(s *Snapshot, r *Request) {
	in.ownTags = append(in.ownTags[:0], r.Filter.Tags...)
	var now time.Time
	if !r.Now.IsZero() {
		now = time.Unix(r.Now.Unix(), int64(r.Now.Nanosecond())) // without its location
	}
	self := s.self
	if self == nil { // it was not made by Compile
		self = emptySnapshot()
	}
	in.bindTo(self, "", runtime.Filter{Kind: r.Filter.Kind, Tags: in.ownTags}, now)
	in.id = in.copied(cutDistinctID(r.DistinctID))
	in.uncut = in.id
	if len(in.id) != len(r.DistinctID) {
		in.uncut = in.copied(r.DistinctID)
	}
	if s.anonymousSlot >= 0 {
		in.AnonymousID = in.copied(r.AnonymousID)
	}
	if s.deviceSlot >= 0 {
		in.DeviceID = in.copied(r.DeviceID)
	}
	in.hasOverrides, in.hasCohorts, in.partial = r.Overrides != nil, r.Cohorts != nil, r.Partial
	if len(s.storedCohorts) > 0 {
		for _, id := range r.Cohorts {
			in.SetCohort(id)
		}
	}
}

// copied returns a copy of a text of the Request.
func (in *Input) copied(s string) string {
	if s == "" {
		return ""
	}
	start := len(in.buf)
	in.buf = append(in.buf, s...)
	return sharedString(in.buf[start:])
}

// fromRequest binds the Input to all that a Request has.
func (in *Input) fromRequest(s *Snapshot, r *Request) {
	if r == nil {
		r = &noRequest
	}
	in.bindRequest(s, r)
	in.ownKeys = append(in.ownKeys[:0], r.Keys...)
	in.keys, in.someKeys = in.ownKeys, r.Keys != nil
	if len(r.Groups) > 0 {
		for ord := range s.groupNames {
			in.fillGroup(r, int32(ord))
		}
	}
	if len(r.Overrides) > 0 {
		for n, key := range s.continuityFlags {
			in.fillOverride(r, int32(n), key)
		}
	}
	// To look each property of the list up is faster than to search the list for each
	// slot.
	rest := *r
	rest.Person = nil
	for i := range r.Person {
		q := &r.Person[i]
		if slot := s.personTable.slotOf(sharedBytes(q.name)); slot >= 0 {
			in.setValue(&in.slots[slot], q)
		}
		if s.createdSlot >= 0 && q.name == metadataPrefix+createdAt {
			in.setValue(&in.slots[s.createdSlot], q)
		}
	}
	for i := range s.slots {
		in.fillSlot(&rest, int32(i))
	}
}

// fillFlag looks up what a flag needs. Properties that no flag needs are never looked at.
func (in *Input) fillFlag(r *Request, f *compiledFlag) {
	if f.state != normal || f.fixed.value != valueHidden {
		return
	}
	for _, i := range f.needs {
		if in.fillSlot(r, i); in.slots[i].kind == jsonscan.Invalid {
			for _, j := range in.snap.slots[i].fallbacks {
				in.fillSlot(r, j)
			}
		}
	}
	if len(r.Groups) > 0 {
		if f.aggregation >= 0 {
			in.fillGroup(r, f.aggregation)
		}
		for i := range f.conditions {
			if ord := f.conditions[i].aggregation; ord >= 0 {
				in.fillGroup(r, ord)
			}
		}
	}
	if f.byDevice && in.DeviceID == "" {
		in.fillSlot(r, in.snap.deviceSlot)
	}
	if f.continuity >= 0 {
		in.fillOverride(r, f.continuity, f.key())
		if in.AnonymousID == "" {
			in.fillSlot(r, in.snap.anonymousSlot)
		}
	}
}

func (in *Input) fillGroup(r *Request, ord int32) {
	if key, ok := r.Groups[in.snap.groupNames[ord]]; ok {
		in.groups[ord] = groupKey{in.gen, key != "", validUTF8(key)}
	}
}

func (in *Input) fillOverride(r *Request, n int32, flag string) {
	if key, ok := r.Overrides[flag]; ok {
		in.overrides[n] = override{in.gen, validUTF8(key)}
	}
}

// fillSlot looks up the property of a slot, once for each Request.
func (in *Input) fillSlot(r *Request, i int32) {
	p := &in.slots[i]
	if p.gen == in.gen {
		return
	}
	p.clear(in.gen)
	def := &in.snap.slots[i]
	var (
		q          *Property
		properties map[string]any
		name       = def.name
	)
	switch {
	case def.owner == ownerPerson:
		q, properties = find(r.Person, name), r.PersonProperties
	case i == in.snap.createdSlot:
		name = metadataPrefix + createdAt
		q, properties = find(r.Person, name), r.PersonProperties
	case def.owner >= 0:
		group := in.snap.groupNames[def.owner]
		if name == groupKeyName {
			if key, ok := r.Groups[group]; ok {
				setString(p, key)
				return
			}
		}
		q, properties = r.ofGroup(group, name), r.GroupProperties[group]
	}
	if q != nil {
		in.setValue(p, q)
		return
	}
	if v, ok := properties[name]; ok {
		var q Property
		q.set(v)
		in.setValue(p, &q)
	} else if i == in.snap.idSlot {
		setString(p, in.id)
	}
}

// clear makes a property of the Request one that is not set.
func (p *slotValue) clear(gen uint32) {
	p.gen, p.kind, p.have, p.raw, p.origin, p.how = gen, jsonscan.Invalid, 0, nil, fromRequest, goNone
}

// setString sets a property to a text that need not be valid UTF-8.
func setString(p *slotValue, s string) {
	p.kind = jsonscan.String
	if casefold.Folded(s) { // which is valid UTF-8 as well
		p.textual, p.have = s, haveText|checkedFold|folded
	} else {
		p.textual, p.have = validUTF8(s), haveText
	}
}

// setValue sets the property of a slot to a value of the Request. One that cannot be
// encoded is not set.
func (in *Input) setValue(p *slotValue, q *Property) {
	p.clear(in.gen)
	switch q.kind {
	case kindNull:
		p.kind = jsonscan.Null
	case kindBool:
		p.kind = jsonscan.False
		if q.bits != 0 {
			p.kind = jsonscan.True
		}
	case kindText:
		setString(p, q.text)
	case kindTime:
		start := len(in.buf)
		if b, err := q.moment().AppendText(in.buf); err == nil {
			in.buf = b
			p.kind, p.textual, p.have = jsonscan.String, sharedString(b[start:]), haveText
		}
	case kindJSON:
		p.raw = sharedBytes(q.text)
		p.kind = p.raw.Kind()
	case kindInt, kindUint, kindFloat32, kindFloat64:
		if q.isFinite() {
			p.kind, p.how, p.bits = jsonscan.Number, goNumber(q.kind-kindInt)+goInt, q.bits
			if p.num = q.number(); p.how != goFloat32 {
				p.numOK, p.have = true, haveNumber
			}
		}
	}
}
