package persons

import (
	"bytes"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// MaxProperties is the largest size of the properties of one person or group,
// in bytes. An update that would exceed it is not applied; Changes counts these
// updates.
const MaxProperties = 640 << 10

// A member is one property: its name, the name as it stands between the quotes
// in JSON, and its value.
type member struct {
	name, raw string
	value     jsonscan.Value
}

// A bag is a set of properties that can be changed. Members keep their order.
type bag struct {
	members []member       // deleted ones have the raw name deleted
	index   map[string]int // by name
	size    int            // of the JSON
	changed bool
}

const deleted = "\x00" // no name in JSON contains this byte

// membersOf returns the members of an object, or none for any other value.
func membersOf(v jsonscan.Value) []member {
	if v.Kind() != jsonscan.Object {
		return nil
	}
	var list []member
	for o := v.Object(); o.Next(); {
		raw := string(o.RawName())
		name := raw
		if decoded := o.Name(); string(decoded) != raw {
			name = string(decoded)
		}
		list = append(list, member{name, raw, o.Value()})
	}
	return list
}

// newBag reads a JSON object.
func newBag(properties []byte) *bag {
	b := &bag{size: len("{}")}
	list := membersOf(properties)
	b.members = make([]member, 0, len(list)+8)
	b.index = make(map[string]int, len(list)+8)
	for _, m := range list {
		b.put(m)
	}
	b.changed = false
	return b
}

// cost returns the number of bytes of a member in JSON.
func (m *member) cost() int { return len(m.raw) + len(m.value) + len(`"":,`) }

// members returns the member to set, and the member to set once.
func (a automaticValue) members() (set, once member) {
	return member{a.name, a.name, a.value}, member{a.initial, a.initial, a.value}
}

// put sets a property.
func (b *bag) put(m member) {
	if i, ok := b.index[m.name]; ok {
		old := &b.members[i]
		if !bytes.Equal(old.value, m.value) {
			b.size += len(m.value) - len(old.value)
			old.value = m.value
			b.changed = true
		}
		return
	}
	b.index[m.name] = len(b.members)
	b.members = append(b.members, m)
	b.size += m.cost()
	b.changed = true
}

// putOnce sets a property unless it exists.
func (b *bag) putOnce(m member) {
	if _, ok := b.index[m.name]; !ok {
		b.put(m)
	}
}

func (b *bag) remove(name string) {
	if i, ok := b.index[name]; ok {
		b.size -= b.members[i].cost()
		b.members[i] = member{raw: deleted}
		delete(b.index, name)
		b.changed = true
	}
}

// append appends the JSON object.
func (b *bag) append(dst []byte) []byte {
	dst = append(dst, '{')
	first := true
	for i := range b.members {
		m := &b.members[i]
		if m.raw == deleted {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(append(dst, '"'), m.raw...), `":`...), m.value...)
	}
	return append(dst, '}')
}

// update applies the updates of an event: $set_once and the like first, then
// $set, then $unset. If the properties would become too large, it reports false
// and changes nothing.
func (b *bag) update(u *updates) bool {
	most := b.size
	for _, list := range [][]member{u.once, u.set} {
		for i := range list {
			most += list[i].cost()
		}
	}
	for _, a := range u.auto {
		set, once := a.members()
		most += set.cost() + once.cost()
	}
	if most <= MaxProperties {
		b.apply(u)
		return true
	}
	trial := newBag(b.append(nil))
	trial.apply(u)
	if trial.size > MaxProperties && trial.size > b.size {
		return false
	}
	trial.changed = trial.changed || b.changed
	*b = *trial
	return true
}

func (b *bag) apply(u *updates) {
	// The last of several members with one name counts, so the order is reversed.
	for _, m := range slices.Backward(u.once) {
		b.putOnce(m)
	}
	for _, a := range u.auto {
		_, once := a.members()
		b.putOnce(once)
	}
	for _, a := range u.auto {
		set, _ := a.members()
		b.put(set)
	}
	for _, m := range u.set {
		b.put(m)
	}
	for _, name := range u.unset {
		b.remove(name)
	}
}
