package flags

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/flagstaff-go/flagstaff/flags/internal/reldate"
	"github.com/flagstaff-go/flagstaff/flags/internal/semver"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// An Input is the request of a server: it takes properties as the JSON they
// arrived in and is reused from request to request, so that in steady state
// nothing is allocated. The zero value is ready for Reset.
//
// An Input is bound to one Snapshot by Reset and serves one goroutine at a
// time. Strings and JSON that it is given must stay unchanged until the last
// evaluation with it is done; they are not copied.
//
// Properties may come from several sources, in any order. What the request says
// wins over what is stored, name by name (evaluation.md §8.4).
type Input struct {
	// AnonymousID and DeviceID are the request's $anon_distinct_id and
	// $device_id. Empty: the person properties of these names in PersonJSON.
	AnonymousID string
	DeviceID    string

	// SurveysOnly restricts evaluation to flags whose key starts with
	// "survey-targeting-".
	SurveysOnly bool

	snap     *Snapshot
	id       string // distinct ID, cut
	filter   runtime.Filter
	now      time.Time
	keys     []string
	someKeys bool // keys says which; false: all

	// The properties of a Go caller's Request are looked up when a check asks.
	// The maps are here and not the Request, which so need not leave the
	// caller's stack.
	lazy             bool
	failOverrides    bool // stored hash keys could not be read
	personProperties map[string]any
	groupProperties  map[string]map[string]any
	requestGroups    map[string]string
	requestOverrides map[string]string

	// Slots, groups, overrides and members count as empty unless their gen is
	// the Input's, so that Reset need not touch them. The same holds for memo,
	// cohorts and outcomes with run, which counts evaluations.
	gen, run  uint32
	slots     []property
	groups    []groupKey
	overrides []override
	members   []uint32
	memo      []uint32
	cohorts   []uint32
	decisions []decision
	ran       []uint32

	admitted, mask []uint64
	buf            []byte // decoded and folded texts of this request
	hash           []byte // text to be hashed, see bucket
	subjectInHash  string
	hashed         bool
	neededGroups   []string
	trace          *Trace
	current        int32 // condition set that is being traced
}

type groupKey struct {
	gen    uint32
	usable bool
	key    string
}

type override struct {
	gen uint32
	key string
}

// An origin ranks the sources of a property.
type origin uint8

const (
	fromStore origin = iota + 1
	fromID           // the injected distinct_id
	fromGeo
	fromRequest
	fromGroup // the injected $group_key
)

// A property is the value of one slot with its derived forms, each computed
// when a check first asks for it.
type property struct {
	gen    uint32
	kind   jsonscan.Kind // Invalid: known to be not set
	origin origin
	have   have
	how    goNumber // how a number came as a Go value, if raw is nil

	textual string         // str(P) of evaluation.md §4.1
	num     float64        // the number of a Go value, even before haveNumber
	raw     jsonscan.Value // the JSON, or nil if it came as a Go value
	bits    uint64         // a Go integer

	lowered    string
	loweredASC string
	numOK      bool
	dateOK     bool
	verOK      bool
	instant    time.Time
	semver     semver.Version
}

type have uint8

const (
	haveText    have = 1 << iota
	folded           // lower-casing of either kind does not change the text
	checkedFold      // folded is known
	haveLower
	haveASCII
	haveNumber
	haveDate
	haveVersion
)

// A goNumber is the kind of a number that came as a Go value. Its JSON is
// written only if a check wants the text.
type goNumber uint8

const (
	goNone goNumber = iota
	goInt
	goUint
	goFloat32
	goFloat64
)

// sharedString returns b as a string that shares its memory. The bytes must not change
// while the string is in use: they belong to the request, which the caller
// promised not to touch, or to in.buf, which only grows until the next Reset.
func sharedString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Reset binds the Input to a snapshot and a person and forgets everything else,
// AnonymousID, DeviceID, SurveysOnly and keys included. A zero now means
// time.Now(). The distinct ID is cut to 200 characters if it has more than 200
// bytes (evaluation.md §2.4).
func (in *Input) Reset(s *Snapshot, distinctID string, f runtime.Filter, now time.Time) {
	in.bindTo(s, distinctID, f, now)
	if s.idSlot >= 0 {
		in.setProperty(s.idSlot, property{kind: jsonscan.String, textual: in.id, have: haveText, origin: fromID})
	}
}

func (in *Input) bindTo(s *Snapshot, distinctID string, f runtime.Filter, now time.Time) {
	if in.gen++; in.gen == 0 {
		clear(in.slots[:cap(in.slots)])
		clear(in.groups[:cap(in.groups)])
		clear(in.overrides[:cap(in.overrides)])
		clear(in.members[:cap(in.members)])
		in.gen = 1
	}
	if in.snap != s {
		in.snap = s
		in.slots = resized(in.slots, len(s.slots))
		in.groups = resized(in.groups, len(s.groupNames))
		in.overrides = resized(in.overrides, len(s.continuityFlags))
		in.members = resized(in.members, len(s.storedCohorts))
		in.memo = resized(in.memo, len(s.checks))
		in.cohorts = resized(in.cohorts, len(s.cohorts))
		in.decisions = resized(in.decisions, len(s.flags))
		in.ran = resized(in.ran, len(s.flags))
		in.admitted = resized(in.admitted, len(s.evaluable))
		in.mask = resized(in.mask, len(s.evaluable))
	}
	in.AnonymousID, in.DeviceID, in.SurveysOnly = "", "", false
	in.id, in.filter, in.now = cutDistinctID(distinctID), f, now
	in.keys, in.someKeys = nil, false
	in.lazy, in.trace, in.hashed, in.failOverrides = false, nil, false, false
	in.buf = in.buf[:0]
}

// resized returns a slice of length n. What it held stays, which is harmless: it
// belongs to an older generation.
func resized[S ~[]E, E any](s S, n int) S {
	return slices.Grow(s[:0], n)[:n]
}

func cutDistinctID(id string) string {
	if !utf8.ValidString(id) {
		id = validUTF8(id)
	}
	if len(id) <= 200 {
		return id
	}
	n := 0
	for i := range id {
		if n == 200 {
			return id[:i]
		}
		n++
	}
	return id
}

// validUTF8 replaces each invalid byte by U+FFFD, as encoding/json does.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	b := make([]byte, 0, len(s)+8)
	for _, r := range s {
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

// fromRequest binds the Input to a Request of a Go caller. Its properties are
// looked up one by one when a check asks.
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
	if len(s.storedCohorts) > 0 {
		for _, id := range r.Cohorts {
			in.SetCohort(id)
		}
	}
}

var noRequest Request

// hidesNothing reports whether the Filter admits every flag.
func (r *Request) hidesNothing() bool {
	return r == nil || r.Filter.Kind == runtime.All && len(r.Filter.Tags) == 0
}

// SetKeys restricts evaluation to the flags with these keys and all that they
// depend on. No keys: no flag. The slice is not copied.
func (in *Input) SetKeys(keys []string) { in.keys, in.someKeys = keys, true }

// PersonJSON adds the request's person properties, a JSON object. Of duplicate
// members the last one counts.
func (in *Input) PersonJSON(object []byte) error {
	return in.addPerson(object, fromRequest)
}

// SetPerson adds the stored person properties, a JSON object. They count where
// the request has no property of the name.
func (in *Input) SetPerson(stored []byte) error {
	return in.addPerson(stored, fromStore)
}

func (in *Input) addPerson(object []byte, from origin) error {
	s := in.snap
	o := jsonscan.Value(object).Object()
	for o.Next() {
		name := in.memberName(&o)
		if i := s.personTable.find(name); i >= 0 {
			in.setJSON(i, o.Value(), from)
		}
		if s.createdSlot >= 0 && from == fromRequest && string(name) == metadataPrefix+createdAt {
			in.setJSON(s.createdSlot, o.Value(), from)
		}
	}
	if err := o.Err(); err != nil {
		return fmt.Errorf("flags: person properties: %w", err)
	}
	return nil
}

// GroupJSON adds the request's properties of the group of the type with the
// given name, a JSON object. Group types that no flag uses are ignored.
func (in *Input) GroupJSON(name string, properties []byte) error {
	return in.addGroup(name, properties, fromRequest)
}

// SetGroup adds the stored properties of the group of the type with the given
// name, a JSON object. They count where the request has none of that name.
func (in *Input) SetGroup(name string, stored []byte) error {
	return in.addGroup(name, stored, fromStore)
}

func (in *Input) addGroup(name string, object []byte, from origin) error {
	s := in.snap
	ord, ok := s.groupIndex[name]
	if !ok {
		return nil
	}
	o := jsonscan.Value(object).Object()
	for o.Next() {
		if i := s.groupTables[ord].find(in.memberName(&o)); i >= 0 {
			in.setJSON(i, o.Value(), from)
		}
	}
	if err := o.Err(); err != nil {
		return fmt.Errorf("flags: properties of group type %q: %w", name, err)
	}
	return nil
}

// Group adds one entry of the request's groups: the group type's name and the
// group key as JSON. Keys other than strings that are not empty and numbers
// make no usable group, but filters still see them as $group_key
// (evaluation.md §6.2, §6.3).
func (in *Input) Group(name string, key []byte) error {
	s := in.snap
	v := jsonscan.Value(key)
	if v.Kind() == jsonscan.Invalid {
		return errors.New("flags: a group key must be JSON")
	}
	ord, ok := s.groupIndex[name]
	if !ok {
		return nil
	}
	if i := s.groupKeySlots[ord]; i >= 0 {
		in.setJSON(i, v, fromGroup)
	}
	g := &in.groups[ord]
	*g = groupKey{gen: in.gen}
	switch v.Kind() {
	case jsonscan.String:
		g.key = in.decodeText(v)
		g.usable = g.key != ""
	case jsonscan.Number:
		g.key = in.numberText(v)
		g.usable = true
	}
	return nil
}

// SetGeo adds a looked-up property such as $geoip_country_code. It counts where
// the request has none of the name, or null (evaluation.md §10).
func (in *Input) SetGeo(name, value string) {
	i := in.snap.personTable.find([]byte(name))
	if i < 0 {
		return
	}
	if p := &in.slots[i]; p.gen == in.gen && p.origin == fromRequest && p.kind != jsonscan.Null {
		return
	}
	in.slots[i].gen = in.gen - 1
	in.setProperty(i, property{kind: jsonscan.String, textual: value, have: haveText, origin: fromGeo})
}

// SetPersonCreated tells when the stored person was created, which conditions of
// type person_metadata ask for. What the request says about it wins.
func (in *Input) SetPersonCreated(t time.Time) {
	i := in.snap.createdSlot
	if i < 0 || in.slots[i].gen == in.gen {
		return
	}
	in.setProperty(i, property{kind: jsonscan.String, textual: t.UTC().Format(time.RFC3339Nano), have: haveText, origin: fromStore})
}

// SetOverride adds a stored hash key of experience continuity for a flag.
func (in *Input) SetOverride(flagKey, hashKey string) {
	if i, ok := in.snap.index[flagKey]; ok {
		if n := in.snap.flags[i].continuity; n >= 0 {
			in.overrides[n] = override{in.gen, hashKey}
		}
	}
}

// FailOverrides says that the stored hash keys could not be read. Flags whose
// bucket may depend on one fail with hash_key_override_error, others do not
// (evaluation.md §12).
func (in *Input) FailOverrides() { in.failOverrides = true }

// SetCohort says that the person is a member of a stored cohort.
func (in *Input) SetCohort(id int64) {
	if n, ok := in.snap.storedCohorts[id]; ok {
		in.members[n] = in.gen
	}
}

func (in *Input) memberName(o *jsonscan.Members) []byte {
	if o.KeyPlain() {
		return o.Key()
	}
	start := len(in.buf)
	in.buf = o.AppendKey(in.buf)
	return in.buf[start:]
}

func (in *Input) setJSON(i int32, v jsonscan.Value, from origin) {
	p := &in.slots[i]
	if p.gen == in.gen && (p.origin > from ||
		p.origin == fromGeo && from == fromRequest && v.Kind() == jsonscan.Null) {
		return
	}
	// Field by field: to assign the whole struct would clear the derived forms,
	// which have already makes unreachable.
	p.gen, p.kind, p.origin, p.have, p.raw, p.how = in.gen, v.Kind(), from, 0, v, goNone
}

func (in *Input) setProperty(i int32, v property) {
	p := &in.slots[i]
	if p.gen == in.gen && p.origin > v.origin {
		return
	}
	p.gen, p.kind, p.origin, p.have, p.raw, p.how, p.textual = in.gen, v.kind, v.origin, v.have, v.raw, goNone, v.textual
}

// property returns the property of a slot, or nil if it is not set.
func (in *Input) property(i int32) *property {
	if p := &in.slots[i]; p.gen == in.gen && p.kind != jsonscan.Invalid {
		return p
	}
	return in.absentProperty(i)
}

// absentProperty is property for a slot that has no value yet: it may be looked up, or
// others may stand in for it.
func (in *Input) absentProperty(i int32) *property {
	if p := in.ownProperty(i); p != nil {
		return p
	}
	for _, j := range in.snap.slots[i].fallbacks {
		if p := in.ownProperty(j); p != nil {
			return p
		}
	}
	return nil
}

// ownProperty is property without the derived and mirrored ones.
func (in *Input) ownProperty(i int32) *property {
	p := &in.slots[i]
	if p.gen != in.gen && (!in.lazy || !in.lookUp(i, p)) || p.kind == jsonscan.Invalid {
		return nil
	}
	return p
}

// lookUp reads a slot's property from the Request of a Go caller and reports
// whether it is set.
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

func setString(p *property, s string) {
	p.kind = jsonscan.String
	if text.Folded(s) { // which is valid UTF-8 as well
		p.textual, p.have = s, haveText|checkedFold|folded
	} else {
		p.textual, p.have = validUTF8(s), haveText
	}
}

// setGo takes a Go value as the JSON that encoding/json writes for it.
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

// numberLiteral returns the JSON of a number: as it came, or as encoding/json writes
// the Go value. An integer has no fraction, very large and very small numbers
// have an exponent.
func (in *Input) numberLiteral(p *property) jsonscan.Value {
	if p.raw != nil {
		return p.raw
	}
	start := len(in.buf)
	switch p.how {
	case goInt:
		in.buf = strconv.AppendInt(in.buf, int64(p.bits), 10)
	case goUint:
		in.buf = strconv.AppendUint(in.buf, p.bits, 10)
	default:
		size := 64
		abs := math.Abs(p.num)
		exponent := abs < 1e-6 || abs >= 1e21
		if p.how == goFloat32 {
			size, exponent = 32, float32(abs) < 1e-6 || float32(abs) >= 1e21
		}
		format := byte('f')
		if exponent && abs != 0 {
			format = 'e'
		}
		in.buf = strconv.AppendFloat(in.buf, p.num, format, -1, size)
	}
	p.raw = in.buf[start:]
	return p.raw
}

// marshalValue encodes a value of a kind that setGo does not know. A value that
// cannot be encoded, or whose own encoding panics, counts as missing.
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

// decodeText returns a JSON string's text, shared with the JSON when possible.
func (in *Input) decodeText(v jsonscan.Value) string {
	if b, ok := v.Plain(); ok {
		return sharedString(b)
	}
	start := len(in.buf)
	in.buf, _ = v.AppendString(in.buf)
	return sharedString(in.buf[start:])
}

func (in *Input) numberText(v jsonscan.Value) string {
	if text.IsCanonicalInteger(v) {
		return sharedString(v)
	}
	start := len(in.buf)
	in.buf = text.AppendNumber(in.buf, v)
	return sharedString(in.buf[start:])
}

// text is str(P) of evaluation.md §4.1.
func (in *Input) text(p *property) string {
	if p.have&haveText != 0 {
		return p.textual
	}
	switch p.kind {
	case jsonscan.String:
		p.textual = in.decodeText(p.raw)
	case jsonscan.Number:
		p.textual = in.numberText(in.numberLiteral(p))
	case jsonscan.Null:
		p.textual = "null"
	case jsonscan.True:
		p.textual = "true"
	case jsonscan.False:
		p.textual = "false"
	default:
		start := len(in.buf)
		in.buf, _ = text.AppendJSON(in.buf, p.raw)
		p.textual = sharedString(in.buf[start:])
	}
	p.have |= haveText
	return p.textual
}

// lower is str(P) in full Unicode lower case.
func (in *Input) lower(p *property) string {
	if p.have&folded != 0 {
		return p.textual
	}
	return in.lowerSlow(p)
}

func (in *Input) lowerSlow(p *property) string {
	if s := in.text(p); in.isFolded(p, s) {
		return s
	} else if p.have&haveLower == 0 {
		start := len(in.buf)
		in.buf = text.AppendLower(in.buf, s)
		p.lowered = sharedString(in.buf[start:])
		p.have |= haveLower
	}
	return p.lowered
}

// lowerASCII is str(P) with A to Z in lower case.
func (in *Input) lowerASCII(p *property) string {
	if p.have&folded != 0 {
		return p.textual
	}
	if s := in.text(p); in.isFolded(p, s) {
		return s
	} else if p.have&haveASCII == 0 {
		start := len(in.buf)
		in.buf = text.AppendLowerASCII(in.buf, s)
		p.loweredASC = sharedString(in.buf[start:])
		p.have |= haveASCII
	}
	return p.loweredASC
}

// isFolded finds out once whether lower-casing changes the text.
func (in *Input) isFolded(p *property, s string) bool {
	if p.have&checkedFold == 0 {
		p.have |= checkedFold
		if text.Folded(s) {
			p.have |= folded
		}
	}
	return p.have&folded != 0
}

// number is P as evaluation.md §4.7 compares it.
func (in *Input) number(p *property) (float64, bool) {
	if p.have&haveNumber != 0 {
		return p.num, p.numOK
	}
	return in.numberSlow(p)
}

func (in *Input) numberSlow(p *property) (float64, bool) {
	switch p.kind {
	case jsonscan.Number:
		p.num, p.numOK = in.numberLiteral(p).Float()
	case jsonscan.String:
		p.num, p.numOK = text.Float(in.text(p))
	default:
		p.numOK = false
	}
	p.have |= haveNumber
	return p.num, p.numOK
}

// date is P as evaluation.md §4.9 compares it.
func (in *Input) date(p *property) (time.Time, bool) {
	if p.have&haveDate == 0 {
		p.have |= haveDate
		in.fixNow()
		switch p.kind {
		case jsonscan.Number:
			n, ok := in.number(p)
			p.instant, p.dateOK = time.Time{}, false
			if ok {
				p.instant, p.dateOK = reldate.FromSeconds(n)
			}
		case jsonscan.String:
			p.instant, p.dateOK = reldate.Property(in.text(p), in.now, in.snap.zone)
		default:
			p.dateOK = false
		}
	}
	return p.instant, p.dateOK
}

// fixNow fixes the moment of the request when a date is first needed.
func (in *Input) fixNow() {
	if in.now.IsZero() {
		in.now = time.Now()
	}
}

// version is P as evaluation.md §4.10 compares it.
func (in *Input) version(p *property) (semver.Version, bool) {
	if p.have&haveVersion == 0 {
		p.have |= haveVersion
		p.semver, p.verOK = semver.Parse(in.text(p))
	}
	return p.semver, p.verOK
}
