package flags

import (
	"errors"
	"fmt"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
)

// checkMembers reports the members of an object that are not known. Something that
// stands for a member which is not there is a fault of what is being read.
func (d *decoder) checkMembers(s *members.Shape, at *path, v jsonscan.Value) {
	for o := v.Object(); o.Next(); {
		if s.Knows(o.Name()) {
			continue
		}
		name, p := string(o.Name()), &path{up: at}
		p.name = name
		switch meant := s.Meant(name, v); {
		case meant == "":
			d.noteMember(s, name, p, o.Value(), "it is ignored here, and wherever else it is", members.ErrUnknown)
		case d.fault == nil:
			d.note(SeverityError, p, o.Value(), "write "+meant, members.ErrUnknown)
		default:
			d.fail(p, o.Value(), fmt.Errorf("%w, write %s", members.ErrUnknown, meant))
		}
	}
}

// An object is an object of a flag that is being read, member by member. It learns of its
// names what check reports.
type object struct {
	jsonscan.MappedMembers
	shape *members.Shape
	text  jsonscan.Value
	names nameSet
	odd   bool // it has a member that the shape does not know
}

// object begins to read an object of a kind.
func (d *decoder) object(s *members.Shape, v jsonscan.Value) object {
	return object{MappedMembers: d.values.Object(v), shape: s, text: v}
}

// next goes on to the next member.
func (o *object) next() bool {
	if !o.Next() {
		return false
	}
	o.names.add(o.Name())
	return true
}

// other is for a member that the caller does not read.
func (o *object) other() { o.odd = o.odd || !o.shape.Knows(o.Name()) }

// check reports what is wrong with the names of an object that was read.
func (d *decoder) check(o *object, at *path) {
	if o.odd {
		d.checkMembers(o.shape, at, o.text)
	}
	d.checkNames(&o.names, at, o.text)
}

// checkMembersOf reports what is wrong with the names in an object of which only one member
// is read.
func (d *decoder) checkMembersOf(s *members.Shape, at *path, v jsonscan.Value) {
	o := d.object(s, v)
	for o.next() {
		o.other()
	}
	d.check(&o, at)
}

// noteMember notes a member that means nothing, once in a document for each name: the
// public system may have a new one in every flag. The map must not take the name from p,
// see [path.append].
func (d *decoder) noteMember(s *members.Shape, name string, p *path, v jsonscan.Value, hint string, err error) {
	key := memberKey{s, name}
	if len(d.noted) >= maxNotedMembers || d.noted[key] {
		return
	}
	if d.noted == nil {
		d.noted = make(map[memberKey]bool)
	}
	d.noted[key] = true
	d.note(SeverityNote, p, v, hint, err)
}

// maxNotedMembers is how many unknown members are noted in a document.
const maxNotedMembers = 100

// A memberKey is a name in one kind of object.
type memberKey struct {
	shape *members.Shape
	name  string
}

// A nameSet has the names of the members of an object, well enough to tell at little cost
// that none is there twice.
type nameSet struct {
	seen     [4]uint64 // by hash
	doubtful bool      // two names are equal, or have equal hashes
}

func (n *nameSet) add(name []byte) {
	h := hashName(name)
	word, bit := &n.seen[h>>6&3], uint64(1)<<(h&63)
	n.doubtful = n.doubtful || *word&bit != 0
	*word |= bit
}

// checkNames reports the members of an object that are there more than once. The last one
// counts (evaluation.md §1), which is hardly what the author of two wants.
func (d *decoder) checkNames(names *nameSet, at *path, v jsonscan.Value) {
	if !names.doubtful || d.out == nil {
		return
	}
	seen := make(map[string]bool)
	for o := v.Object(); o.Next(); {
		name := string(o.Name())
		if seen[name] {
			d.note(SeverityError, &path{up: at, name: name}, o.Value(), "the last one counts; remove the others", errRepeated)
		}
		seen[name] = true
	}
}

// errRepeated says that an object has a member twice.
var errRepeated = errors.New("the member is there more than once")
