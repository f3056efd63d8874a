package flags

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// A slot is the place of a property that some flag looks at: of one name, and of
// one owner. A request fills its array of slots once, and skips the properties that
// no flag looks at unread.

// The owners of slots. A group type is its ordinal.
const (
	ownerPerson   = -1
	ownerMetadata = -2 // the record of the person
	ownerNobody   = -3 // a group type that does not exist: its properties are never set
)

// A slotDef is what a Snapshot knows about a slot.
type slotDef struct {
	name  string
	owner int

	// fallbacks are the slots whose value counts when this slot is not set: $os
	// and $os_name stand in for each other, and x for $initial_x (evaluation.md
	// §8.4).
	fallbacks []int32
	geo       bool // one of the $geoip_* properties
}

// A nameTable finds the slot of a property name. It is a hash table with open
// addressing, which finds a name in one or two probes, in a third of the time of a Go
// map.
type nameTable struct {
	mask    uint32
	entries []nameEntry
}

type nameEntry struct {
	name string
	slot int32 // slot number + 1; 0 is free
}

func hashName[T string | []byte](name T) uint32 {
	n := len(name)
	var a, b uint64
	switch {
	case n >= 8:
		a = load64(name, 0)
		for i := 8; i < n-8; i += 8 {
			hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, load64(name, i)^0xd1b54a32d192ed03)
			a = hi ^ lo
		}
		b = load64(name, n-8)
	case n >= 4:
		a, b = uint64(load32(name, 0)), uint64(load32(name, n-4))
	case n > 0:
		a = uint64(name[0])<<16 | uint64(name[n/2])<<8 | uint64(name[n-1])
	}
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^uint64(n)^0xd1b54a32d192ed03)
	return uint32(hi ^ lo ^ (hi^lo)>>32)
}

func load64[T string | []byte](s T, i int) uint64 {
	var b [8]byte
	copy(b[:], s[i:i+8])
	return binary.LittleEndian.Uint64(b[:])
}

func load32[T string | []byte](s T, i int) uint32 {
	var b [4]byte
	copy(b[:], s[i:i+4])
	return binary.LittleEndian.Uint32(b[:])
}

// newNameTable returns the table of an owner's slots.
func newNameTable(defs []slotDef, owner int) nameTable {
	n := 0
	for i := range defs {
		if defs[i].owner == owner {
			n++
		}
	}
	if n == 0 {
		return nameTable{}
	}
	size := 1 << bits.Len(uint(n*2))
	t := nameTable{mask: uint32(size - 1), entries: make([]nameEntry, size)}
	for i := range defs {
		if defs[i].owner != owner {
			continue
		}
		h := hashName(defs[i].name) & t.mask
		for t.entries[h].slot != 0 {
			h = (h + 1) & t.mask
		}
		t.entries[h] = nameEntry{defs[i].name, int32(i) + 1}
	}
	return t
}

// slotOf returns the slot of a name, or -1.
func (t *nameTable) slotOf(name []byte) int32 {
	if len(t.entries) == 0 {
		return -1
	}
	for h := hashName(name) & t.mask; ; h = (h + 1) & t.mask {
		e := &t.entries[h]
		if e.slot == 0 {
			return -1
		}
		if e.name == string(name) {
			return e.slot - 1
		}
	}
}

// A keyIndex finds flags by their keys. It is a hash table like nameTable, and has the
// places of the flags only, since these have their keys.
type keyIndex struct {
	mask   uint32
	places []int32 // place in a list of flags + 1; 0 is free
}

// emptyKeyIndex returns an index with room for n flags.
func emptyKeyIndex(n int) keyIndex {
	size := 1 << bits.Len(uint(n*2))
	return keyIndex{mask: uint32(size - 1), places: make([]int32, size)}
}

// newKeyIndex returns the index of flags with different keys.
func newKeyIndex(flags []compiledFlag) keyIndex {
	x := emptyKeyIndex(len(flags))
	for i := range flags {
		*x.seek(flags[i].key(), func(i int32) string { return flags[i].key() }) = int32(i) + 1
	}
	return x
}

// seek returns where the index has the place of a key, plus one, or would have it. keyAt
// returns the key at a place.
func (x *keyIndex) seek(key string, keyAt func(place int32) string) *int32 {
	for h := hashName(key) & x.mask; ; h = (h + 1) & x.mask {
		if p := &x.places[h]; *p == 0 || keyAt(*p-1) == key {
			return p
		}
	}
}

// find returns the place of the flag with a key. A Snapshot that is unset has none.
func (s *Snapshot) find(key string) (place int32, ok bool) {
	if len(s.index.places) == 0 {
		return 0, false
	}
	for h := hashName(key) & s.index.mask; ; h = (h + 1) & s.index.mask {
		i := s.index.places[h] - 1
		if i < 0 {
			return 0, false
		}
		if s.flags[i].key() == key {
			return i, true
		}
	}
}

// initialNames has the person properties that stand in for their initial value, by
// the name of that, such as $initial_os for $os (evaluation.md §8.4).
var initialNames = func() map[string]string {
	m := make(map[string]string)
	for _, name := range []string{
		"$app_build", "$app_name", "$app_namespace", "$app_version", "$browser", "$browser_version",
		"$device_type", "$current_url", "$pathname", "$os", "$os_version", "$referring_domain",
		"$referrer", "$screen_height", "$screen_width", "$viewport_height", "$viewport_width",
		"$raw_user_agent",
	} {
		m["$initial_"+name[1:]] = name
	}
	for _, name := range []string{
		"utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term", "gclid", "gad_source",
		"gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "twclid", "li_fat_id", "mc_cid",
		"igshid", "ttclid", "rdt_cid", "epik", "qclid", "sccid", "irclid", "_kx",
	} {
		m["$initial_"+name] = name
	}
	return m
}()

// geoNames are the properties that a GeoIP look-up sets (evaluation.md §10).
var geoNames = map[string]bool{
	"$geoip_city_name": true, "$geoip_country_name": true, "$geoip_country_code": true,
	"$geoip_continent_name": true, "$geoip_continent_code": true, "$geoip_postal_code": true,
	"$geoip_time_zone": true,
}

const (
	groupKeyName     = "$group_key"
	enrollmentPrefix = "$feature_enrollment/"
	surveyPrefix     = "survey-targeting-"

	// metadataPrefix is how a request names properties of the person's record.
	metadataPrefix = "__posthog_person_metadata__"
	createdAt      = "created_at"
)

// slot returns the slot of a property that the current flag reads. It has slots for
// the properties that stand in, too.
func (c *compiler) slot(owner int, name string) int32 {
	i := c.rawSlot(owner, name)
	c.read = append(c.read, i)
	if owner != ownerPerson || c.s.slots[i].fallbacks != nil {
		return i
	}
	var names []string
	source := initialNames[name]
	switch {
	case name == "$os":
		names = []string{"$os_name"}
	case name == "$os_name":
		names = []string{"$os"}
	case source == "$os":
		names = []string{"$os", "$os_name"}
	case source != "":
		names = []string{source}
	}
	var slots []int32
	for _, name := range names {
		slots = append(slots, c.rawSlot(ownerPerson, name))
	}
	c.s.slots[i].fallbacks = slots
	return i
}

// rawSlot returns the slot of a property that nothing stands in for.
func (c *compiler) rawSlot(owner int, name string) int32 {
	if i, ok := c.slotOf[slotKey{owner, name}]; ok {
		return i
	}
	name = strings.Clone(name)
	i := int32(len(c.s.slots))
	c.slotOf[slotKey{owner, name}] = i
	c.s.slots = append(c.s.slots, slotDef{name: name, owner: owner, geo: owner == ownerPerson && geoNames[name]})
	return i
}

// buildNameTables builds the look-up tables of property names.
func (c *compiler) buildNameTables() {
	s := c.s
	find := func(owner int, name string) int32 {
		if i, ok := c.slotOf[slotKey{owner, name}]; ok {
			return i
		}
		return -1
	}
	s.idSlot = find(ownerPerson, "distinct_id")
	s.createdSlot = find(ownerMetadata, createdAt)
	s.personTable = newNameTable(s.slots, ownerPerson)
	s.groupTables, s.groupKeySlots = nil, nil
	for ord := range s.groupNames {
		s.groupTables = append(s.groupTables, newNameTable(s.slots, ord))
		s.groupKeySlots = append(s.groupKeySlots, find(ord, groupKeyName))
	}
}
