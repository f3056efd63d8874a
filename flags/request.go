package flags

import (
	"encoding/json"
	"math"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
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
// cannot be encoded counts as missing (evaluation.md §8.6).
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

	// Answers are what a server has answered for this request, see
	// [Snapshot.Lacking]. They count in place of what evaluation would come to. A
	// flag that the server should have answered for, and has not, is evaluated and
	// marked as [Result.Unconfirmed]. Nil means that no server was asked.
	Answers *Answers

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

// fromRequest binds the Input to the Request of a Go caller. Properties are
// looked up one by one, when a check asks for them.
func (in *Input) fromRequest(s *Snapshot, r *Request) {
	if r == nil {
		r = &noRequest
	}
	in.bindTo(s, r.DistinctID, r.Filter, r.Now)
	in.lazy = true
	in.personProperties, in.groupProperties = r.PersonProperties, r.GroupProperties
	in.requestGroups, in.requestOverrides = r.Groups, r.Overrides
	in.AnonymousID, in.DeviceID = r.AnonymousID, r.DeviceID
	in.keys, in.someKeys = r.Keys, r.Keys != nil
	in.hasCohorts = r.Cohorts != nil
	if len(s.storedCohorts) > 0 {
		for _, id := range r.Cohorts {
			in.SetCohort(id)
		}
	}
}

// hidesNothing reports whether the Filter admits every flag.
func (r *Request) hidesNothing() bool {
	return r == nil || r.Filter.Kind == runtime.All && len(r.Filter.Tags) == 0
}

// lookUp reads the property of a slot from the Request of a Go caller, and
// reports whether it is set.
func (in *Input) lookUp(i int32, p *property) bool {
	p.gen, p.kind, p.have, p.raw, p.origin, p.how = in.gen, jsonscan.Invalid, 0, nil, fromRequest, goNone
	def := &in.snap.slots[i]
	var v any
	var ok bool
	switch {
	case def.owner == ownerPerson:
		if v, ok = in.personProperties[def.name]; !ok && i == in.snap.idSlot {
			setString(p, in.id)
		}
	case def.owner == ownerMetadata:
		v, ok = in.personProperties[metadataPrefix+def.name]
	case def.owner >= 0:
		name := in.snap.groupNames[def.owner]
		if def.name == groupKeyName {
			if key, given := in.requestGroups[name]; given {
				setString(p, key)
				break
			}
		}
		v, ok = in.groupProperties[name][def.name]
	}
	if ok {
		in.setGo(p, v)
	}
	return p.kind != jsonscan.Invalid
}

// setString sets a property to a text that need not be valid UTF-8.
func setString(p *property, s string) {
	p.kind = jsonscan.String
	if text.Folded(s) { // which is valid UTF-8 as well
		p.textual, p.have = s, haveText|checkedFold|folded
	} else {
		p.textual, p.have = validUTF8(s), haveText
	}
}

// setGo sets a property to what encoding/json would write for a Go value. If that
// cannot be encoded, the property stays not set.
func (in *Input) setGo(p *property, v any) {
	switch v := v.(type) {
	case string:
		setString(p, v)
	case bool:
		p.kind = jsonscan.False
		if v {
			p.kind = jsonscan.True
		}
	case nil:
		p.kind = jsonscan.Null
	case int:
		in.setInt(p, int64(v))
	case int8:
		in.setInt(p, int64(v))
	case int16:
		in.setInt(p, int64(v))
	case int32:
		in.setInt(p, int64(v))
	case int64:
		in.setInt(p, v)
	case uint:
		in.setUint(p, uint64(v))
	case uint8:
		in.setUint(p, uint64(v))
	case uint16:
		in.setUint(p, uint64(v))
	case uint32:
		in.setUint(p, uint64(v))
	case uint64:
		in.setUint(p, v)
	case float32:
		in.setFloat(p, float64(v), goFloat32)
	case float64:
		in.setFloat(p, v, goFloat64)
	case json.Number:
		// encoding/json writes an empty json.Number as 0 and refuses what is
		// no number.
		if v == "" {
			v = "0"
		}
		start := len(in.buf)
		in.buf = append(in.buf, v...)
		raw, err := jsonscan.Parse(in.buf[start:], 1)
		if err == nil && raw.Kind() == jsonscan.Number && len(raw) == len(v) {
			p.kind, p.raw = jsonscan.Number, raw
		}
	case time.Time:
		start := len(in.buf)
		b, err := v.AppendText(in.buf)
		if err == nil {
			in.buf = b
			p.kind, p.textual, p.have = jsonscan.String, sharedString(b[start:]), haveText
		}
	default:
		if raw, ok := marshalValue(v); ok {
			p.kind, p.raw = raw.Kind(), raw
		}
	}
}

func (in *Input) setInt(p *property, n int64) {
	p.kind, p.how, p.bits = jsonscan.Number, goInt, uint64(n)
	p.num, p.numOK, p.have = float64(n), true, haveNumber
}

func (in *Input) setUint(p *property, n uint64) {
	p.kind, p.how, p.bits = jsonscan.Number, goUint, n
	p.num, p.numOK, p.have = float64(n), true, haveNumber
}

func (in *Input) setFloat(p *property, f float64, kind goNumber) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return // cannot be encoded
	}
	p.kind, p.how, p.num = jsonscan.Number, kind, f
	if kind == goFloat64 {
		p.numOK, p.have = true, haveNumber
	}
}

// marshalValue encodes a value of a type that setGo does not know. It is not ok
// if the value cannot be encoded, or if its own encoding panics.
func marshalValue(v any) (raw jsonscan.Value, ok bool) {
	defer func() {
		if recover() != nil {
			raw, ok = nil, false
		}
	}()
	b, err := json.Marshal(v)
	if err != nil {
		return nil, false
	}
	raw, err = jsonscan.Parse(b, jsonscan.MaxDepth)
	return raw, err == nil
}
