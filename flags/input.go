package flags

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// An Input is the request of a server. It takes properties as the JSON in which
// they arrived, and one Input serves request after request: then nothing is
// allocated. The zero value is ready for Reset, which must come first.
//
// Reset binds an Input to one Snapshot; before that, methods panic. An Input serves
// one goroutine at a time.
// It does not copy the strings and the JSON that it is given: they must stay
// unchanged until the last evaluation with it is done.
//
// Properties may come from several sources, in any order. A property of the
// request wins over a stored one of the same name (evaluation.md §8.4).
type Input struct {
	// AnonymousID and DeviceID are the request's $anon_distinct_id and
	// $device_id. If one is empty, the person property of that name in PersonJSON
	// takes its place.
	AnonymousID string
	DeviceID    string

	// SurveysOnly restricts evaluation to flags whose key starts with
	// "survey-targeting-".
	SurveysOnly bool

	snap          *Snapshot
	id            string // distinct ID, cut
	uncut         string // the same, as it came
	filter        runtime.Filter
	now           time.Time
	keys          []string
	someKeys      bool // keys says which; false: all
	failOverrides bool // stored hash keys could not be read
	partial       bool // see Request.Partial

	// What a Go caller's Request says of stored data, and copies of its lists.
	hasOverrides bool
	hasCohorts   bool
	ownTags      []string
	ownKeys      []string

	// An entry of these counts as empty unless its gen (of members: its value)
	// is the Input's gen, which counts requests. So Reset need not clear them.
	gen       uint32
	slots     []slotValue
	groups    []groupKey
	overrides []override
	members   []uint32 // stored cohorts of the person

	// The same holds for these with run, which counts evaluations in steps of
	// runStep. An entry of memo and cohorts is the run plus the result;
	// decisions[i] counts if ran[i] is the run.
	run       uint32
	memo      []uint32 // verdicts of checks
	cohorts   []uint32 // memberships
	decisions []decision
	ran       []uint32

	admitted, mask flagSet
	namedTags      []uint64 // numbers of evaluation contexts, 64 per word
	neededGroups   []string
	sparse         []int32 // of sparseOrder

	buf           []byte // decoded and folded texts of this request
	hash          []byte // text to be hashed, see bucket
	subjectInHash string
	hashed        bool // hash has subjectInHash

	trace   *Trace
	current int32 // condition set that is being traced
}

// runStep leaves room for a verdict in the lower bits of Input.run.
const runStep = 4

// A groupKey is the request's group of one type.
type groupKey struct {
	gen    uint32
	usable bool // as a subject
	key    string
}

// An override is the stored hash key of one flag.
type override struct {
	gen uint32
	key string
}

// Reset binds the Input to a snapshot and a person and forgets everything else,
// AnonymousID, DeviceID, SurveysOnly and keys included. Relative dates count from
// now; zero means time.Now(). A nil Snapshot has no flags. A distinct ID of more than 200 bytes is cut to 200
// characters (evaluation.md §2.4).
func (in *Input) Reset(s *Snapshot, distinctID string, f runtime.Filter, now time.Time) {
	if s.isUnset() {
		s = emptySnapshot()
	}
	in.bindTo(s, cutDistinctID(distinctID), f, now)
	in.uncut = distinctID
	if s.idSlot >= 0 {
		in.setProperty(s.idSlot, slotValue{kind: jsonscan.String, textual: in.id, have: haveText, origin: fromID})
	}
}

// bindTo is Reset without the property distinct_id. The distinct ID has been cut.
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
		in.admitted = resized(in.admitted, len(s.untagged))
		in.mask = resized(in.mask, len(s.untagged))
		in.namedTags = resized(in.namedTags, (len(s.tagged)+63)/64)
	}
	in.AnonymousID, in.DeviceID, in.SurveysOnly = "", "", false
	in.id, in.filter, in.now = distinctID, f, now
	in.keys, in.someKeys = nil, false
	in.trace, in.hashed, in.failOverrides, in.hasOverrides, in.hasCohorts, in.partial = nil, false, false, false, false, false
	in.buf = in.buf[:0]
}

// resized returns the slice with length n. The old entries may stay: they belong
// to an older generation.
func resized[S ~[]E, E any](s S, n int) S {
	return slices.Grow(s[:0], n)[:n]
}

// cutDistinctID returns the distinct ID that is hashed and compared
// (evaluation.md §2.4).
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

// SetKeys restricts evaluation to the flags with these keys and all that they
// depend on. No keys: no flag. The slice is not copied.
func (in *Input) SetKeys(keys []string) { in.keys, in.someKeys = keys, true }

// PersonJSON adds the request's person properties, a JSON object. If a name
// comes twice, the last value counts. An error says that it is not an object.
func (in *Input) PersonJSON(object []byte) error {
	return in.addPerson(object, fromRequest)
}

// SetPerson adds the stored person properties, a JSON object. A stored property
// counts where the request has none of its name.
func (in *Input) SetPerson(stored []byte) error {
	return in.addPerson(stored, fromStore)
}

func (in *Input) addPerson(object []byte, from origin) error {
	s := in.snap
	o := jsonscan.Value(object).Object()
	for o.Next() {
		name := o.NameIn(&in.buf)
		if i := s.personTable.slotOf(name); i >= 0 {
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

// GroupJSON adds the request's properties of its group of the named type, a JSON
// object. Group types that no flag uses are ignored.
func (in *Input) GroupJSON(name string, properties []byte) error {
	return in.addGroup(name, properties, fromRequest)
}

// SetGroup adds the stored properties of the group of the named type, a JSON
// object. A stored property counts where the request has none of its name.
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
		if i := s.groupTables[ord].slotOf(o.NameIn(&in.buf)); i >= 0 {
			in.setJSON(i, o.Value(), from)
		}
	}
	if err := o.Err(); err != nil {
		return fmt.Errorf("flags: properties of group type %q: %w", name, err)
	}
	return nil
}

// Group adds one entry of the request's groups: the group type's name, and the
// group key as JSON. Only a number, or a string that is not empty, makes a usable
// group; filters see any other key too, as $group_key (evaluation.md §6.2, §6.3).
// The error says that the key is not JSON.
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

// SetGeo adds a property that was looked up from the client's address, such as
// $geoip_country_code. It counts where the request has no property of that name,
// or null (evaluation.md §10).
func (in *Input) SetGeo(name, value string) {
	i := in.snap.personTable.slotOf([]byte(name))
	if i < 0 {
		return
	}
	if p := &in.slots[i]; p.gen == in.gen && p.origin == fromRequest && p.kind != jsonscan.Null {
		return
	}
	in.slots[i].gen = in.gen - 1 // so that a null of the request does not win
	in.setProperty(i, slotValue{kind: jsonscan.String, textual: value, have: haveText, origin: fromGeo})
}

// SetPersonCreated tells when the stored person was created, for filters of type
// person_metadata. A created_at of the request wins.
func (in *Input) SetPersonCreated(t time.Time) {
	i := in.snap.createdSlot
	if i < 0 || in.slots[i].gen == in.gen {
		return
	}
	in.setProperty(i, slotValue{kind: jsonscan.String, textual: t.UTC().Format(time.RFC3339Nano), have: haveText, origin: fromStore})
}

// SetOverride adds a stored hash key of experience continuity for a flag.
func (in *Input) SetOverride(flagKey, hashKey string) {
	if i, ok := in.snap.find(flagKey); ok {
		if n := in.snap.flags[i].continuity; n >= 0 {
			in.overrides[n] = override{in.gen, hashKey}
		}
	}
}

// FailOverrides says that the stored hash keys could not be read. A flag whose
// bucket may depend on one fails with hash_key_override_error (evaluation.md
// §12).
func (in *Input) FailOverrides() { in.failOverrides = true }

// SetCohort says that the person is a member of a stored cohort.
func (in *Input) SetCohort(id int64) {
	if n, ok := in.snap.storedCohorts[id]; ok {
		in.members[n] = in.gen
	}
}
